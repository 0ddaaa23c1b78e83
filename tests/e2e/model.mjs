// A model server in the hands of a test: each request waits until the test answers it, so that the
// agent does what the test wants, when it wants it. Speaks Chat Completions, on loopback.

import { once } from "node:events";
import { createServer } from "node:http";

/** Longest time between the wait for a request and the request, in milliseconds. */
const LONGEST_WAIT = 120_000;

/** @param {string} [key]  the key that requests must carry */
export async function openModel(key) {
  const waiting = [];
  const takers = [];
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let numbers = 0;

  return {
    /** Settings that make it the model. */
    settings: {
      "cairn.model.provider": "openai",
      "cairn.model.name": "scripted",
      "cairn.model.baseUrl": `http://127.0.0.1:${server.address().port}/v1`,
      // However long a test is, nobody asks this model for a summary.
      "cairn.model.contextTokens": 100_000_000,
    },
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    url: `http://127.0.0.1:${server.address().port}/v1/chat/completions`,
    /** The next request, which then waits for `call` or `say`. */
    next: () => (waiting.length > 0 ? Promise.resolve(waiting.shift()) : request()),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  function request() {
    return new Promise((take, fail) => {
      const late = setTimeout(() => {
        takers.splice(takers.indexOf(taker), 1);
        fail(new Error(`The agent asked the model nothing for ${LONGEST_WAIT / 1_000} s.`));
      }, LONGEST_WAIT);
      const taker = (exchange) => {
        clearTimeout(late);
        take(exchange);
      };
      takers.push(taker);
    });
  }

  async function receive(request, response) {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) {
      body += chunk;
    }
    if (key !== undefined && request.headers.authorization !== `Bearer ${key}`) {
      json(response, 401, { error: { message: "Incorrect API key." } });
      return;
    }
    if (request.method === "GET" && request.url.endsWith("/models")) {
      json(response, 200, { object: "list", data: [{ id: "scripted", context_length: 100_000_000 }, { id: "another" }] });
      return;
    }
    if (request.method !== "POST" || !request.url.endsWith("/chat/completions")) {
      response.writeHead(404).end();
      return;
    }
    const exchange = new Exchange(JSON.parse(body), response, () => (numbers += 1));
    const taker = takers.shift();
    if (taker === undefined) {
      waiting.push(exchange);
    } else {
      taker(exchange);
    }
  }
}

function json(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

class Exchange {
  constructor(body, response, number) {
    this.body = body;
    this.response = response;
    this.number = number;
  }

  /** Results of the calls of the previous answer. */
  get results() {
    const { messages } = this.body;
    // On this machine words of the assistant's may stand between results and notes; they call nothing.
    const last = messages.findLastIndex(({ role, tool_calls: calls }) => role === "assistant" && calls !== undefined);
    return messages
      .slice(last + 1)
      .filter(({ role }) => role === "tool")
      .map(({ content }) => content);
  }

  /** Answers with calls of tools. */
  async call(...calls) {
    await this.send(this.eventsOf(...calls));
  }

  /** The answer that does so, event by event. */
  eventsOf(...calls) {
    const parts = calls.map(({ name, arguments: given }, index) => ({
      index,
      id: `call_${this.number()}`,
      type: "function",
      function: { name, arguments: JSON.stringify(given) },
    }));
    return [{ role: "assistant", content: null }, ...parts.map((part) => ({ tool_calls: [part] }))]
      .map((delta) => event({ delta, finish_reason: null }))
      .concat(event({ delta: {}, finish_reason: "tool_calls" }), "data: [DONE]\n\n");
  }

  /** The beginning of an answer with words, piece by piece. */
  eventsOfWords(...pieces) {
    return [{ role: "assistant", content: "" }, ...pieces.map((content) => ({ content }))].map((delta) => event({ delta, finish_reason: null }));
  }

  /** The end of an answer with words, which ends the turn. */
  eventsOfEnd(content) {
    return [event({ delta: { content }, finish_reason: null }), event({ delta: {}, finish_reason: "stop" }), "data: [DONE]\n\n"];
  }

  /** Answers with an error of the server; without a status with one that the user can mend. */
  refuse(message, status = 401) {
    json(this.response, status, { error: { message } });
  }

  /** Answers with words, which ends the turn. `usage`: what the server counted. */
  async say(text, usage) {
    await this.send([
      event({ delta: { role: "assistant", content: text }, finish_reason: null }),
      event({ delta: {}, finish_reason: "stop" }),
      ...(usage === undefined
        ? []
        : [`data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [], usage })}\n\n`]),
      "data: [DONE]\n\n",
    ]);
  }

  async send(events) {
    this.begin(events);
    await this.end([]);
  }

  /** The first part of an answer; `end` sends the rest. */
  begin(events) {
    this.response.writeHead(200, { "content-type": "text/event-stream" });
    this.response.flushHeaders();
    this.response.write(events.join(""));
  }

  async end(events) {
    const gone = once(this.response, "close");
    this.response.end(events.join(""));
    await gone;
  }
}

function event(choice) {
  const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, ...choice }] };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** A call that replaces a text of a file. */
export function editFile(path, old, text) {
  return { name: "edit_file", arguments: { path, old_text: old, new_text: text } };
}
