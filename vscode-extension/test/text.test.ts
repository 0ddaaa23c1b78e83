import { describe, expect, it, vi } from "vitest";

import { renderConversation } from "../src/conversation/render";
import { KeyedQueue } from "../src/edits/queue";
import { discover } from "../src/daemon/discover";
import { versionFault } from "../src/daemon/version";
import { PROTOCOL_VERSION } from "../src/protocol";
import { Countdown } from "../src/status/countdown";
import { type Facts, statusLabel } from "../src/status/label";
import { meter } from "../src/status/meter";
import type { Entry } from "../src/stores/transcript";
import { approvalNotice, previewName } from "../src/text/approval";
import { plainText, oneLine, sentences, visible } from "../src/text/display";
import { textHash } from "../src/text/hash";
import { fenced } from "../src/text/fence";
import { ruleRows } from "../src/text/rules";
import { matchRows, sessionGroups, sessionText } from "../src/text/sessions";
import { call, end, message, said } from "./entries";

describe("text in labels", () => {
  it.each([
    ["plain text, ünï¢ode and 🙂 stay", "plain text, ünï¢ode and 🙂 stay"],
    ["a\tb\nc", "a\tb\nc"],
    ["a\r\nb", "a\nb"],
    ["over\rwrite", "over\\x0dwrite"],
    ["\u001b[31mred", "\\x1b[31mred"],
    ["rm \u202ecod.txt", "rm \\u{202e}cod.txt"],
    ["zero\u200bwidth", "zero\\u{200b}width"],
    ["tag\u{e0041}", "tag\\u{e0041}"],
  ])("%j is shown as %j", (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it("is one line, cut between characters", () => {
    expect(oneLine("  a\n  b\tc ")).toBe("a ⏎ b c");
    expect(oneLine("🙂🙂🙂🙂", 3)).toBe("🙂🙂…");
  });

  it("is spoken as sentences with one mark each", () => {
    expect(sentences(["Cairn: idle", "Commands run in a sandbox (bubblewrap).", "Go on?"])).toBe(
      "Cairn: idle. Commands run in a sandbox (bubblewrap). Go on?",
    );
  });

  it("holds no link and no icon", () => {
    expect(plainText("[Allow](command:evil) $(check)")).toBe("[Allow]\u2060(command:evil) $\u2060(check)");
  });
});

describe("a session in the list", () => {
  const DAY = 24 * 3_600_000;
  const session = {
    sessionId: "s-1",
    task: "Fix $(it)\nnow",
    updatedMs: 0,
    turns: 2,
    running: false,
    doneItems: 4,
    openItems: 1,
    current: false,
    lockedElsewhere: false,
  };

  it.each([
    [{}, 3 * DAY, "3 days ago", "4/5 done"],
    [{ doneItems: 0, openItems: 0, end: "completed" }, 90 * 60_000, "Done · 1 hour ago", "2 turns"],
    [{ doneItems: 0, openItems: 0, turns: 1, running: true }, 5 * 60_000, "Running · 5 minutes ago", "1 turn"],
    [{ running: true, state: "waiting", pendingEdits: 1, current: true }, DAY, "Waits for you · 1 day ago · in view", "1 edit to review · 4/5 done"],
    [{ end: "failed", lastLine: "No $(key)" }, DAY, "Failed · 1 day ago", "4/5 done · No $\u2060(key)"],
    [{ pendingEdits: 2, queued: 3, costMicros: 120_000 }, DAY, "1 day ago", "2 edits to review · 3 queued · 4/5 done · $0.12"],
    [{ lockedElsewhere: true }, -5, "just now · open in another window", "4/5 done"],
  ] as const)("%j is described", (change, now, description, detail) => {
    expect(sessionText({ ...session, ...change }, now)).toMatchObject({ description, detail });
  });

  it.each([
    [{}, "comment-discussion"],
    [{ end: "completed" }, "check"],
    [{ end: "needsInput" }, "question"],
    [{ end: "interrupted" }, "debug-disconnect"],
    [{ end: "completed", lockedElsewhere: true }, "lock"],
    [{ running: true, state: "running" }, "loading~spin"],
    [{ running: true, state: "waiting" }, "warning"],
  ] as const)("%j has a sign of its state", (change, sign) => {
    expect(sessionText({ ...session, ...change }, 0).label).toBe(`$(${sign}) Fix $\u2060(it) ⏎ now`);
  });

  it("has its name in place of its task", () => {
    expect(sessionText({ ...session, name: "The $(fix)" }, 0).label).toBe("$(comment-discussion) The $\u2060(fix)");
  });

  it("is found by its text, unless its row has the words", () => {
    const other = { ...session, sessionId: "s-2" };
    const matches = [session, other].map((one) => ({ session: one, line: "It $(rounds) now" }));
    const known = new Map([["s-1", session]]);
    const rows = (query: string) => matchRows(matches, query, known, 0).map(({ session: { sessionId }, text }) => [sessionId, text.detail]);
    expect(rows("ROUNDS")).toEqual([
      ["s-1", "It $\u2060(rounds) now"],
      ["s-2", "It $\u2060(rounds) now"],
    ]);
    // The editor's own filter shows the first by its task; the second is not on a page yet.
    expect(rows("NOW")).toEqual([["s-2", "It $\u2060(rounds) now"]]);
  });

  it("without a message says so", () => {
    expect(sessionText({ ...session, task: "" }, 0).label).toBe("$(comment-discussion) Nothing said yet");
  });

  it("is below what runs or waits, and below the day of its last change", () => {
    const now = new Date(2026, 10, 23, 9).getTime();
    const at = (sessionId: string, days: number, state: "running" | "waiting" | "ended" = "ended") => ({
      ...session,
      sessionId,
      updatedMs: now - days * DAY,
      running: state !== "ended",
      state,
    });
    const listed = [
      at("later", -1),
      at("new", 0),
      at("run", 1, "running"),
      at("old", 1),
      at("wait", 3, "waiting"),
      at("older", 3),
      at("oldest", 400),
    ];
    const groups = sessionGroups(listed, now, "en").map(({ heading, sessions }) => [heading, sessions.map(({ sessionId }) => sessionId)]);
    expect(groups).toEqual([
      ["Running and waiting", ["wait", "run"]],
      ["Today", ["later", "new"]],
      ["Yesterday", ["old"]],
      ["Friday, November 20", ["older"]],
      ["Sunday, October 19, 2025", ["oldest"]],
    ]);
  });
});

describe("the notification of an approval", () => {
  it.each([
    ["npm test", "npm test"],
    ["npm test\n", "npm test"],
    ["x".repeat(240), "x".repeat(240)],
    ["x".repeat(300), `${"x".repeat(239)}…`],
    ["npm test\nrm -r src", "npm test ⏎ rm -r src"],
    ["echo \u202ecod", "echo \\u{202e}cod"],
  ])("of %j shows %j", (command, shown) => {
    expect(approvalNotice({ title: "Run a command", command, risk: "" })).toBe(`Run a command? ${shown}`);
  });

  it.each([
    "Run a command without a sandbox",
    "Run a command that may change .git (except hooks and config)",
    "Run with network access; may change .git (except hooks and config)",
  ])("says what is granted, uncut: %s", (title) => {
    expect(approvalNotice({ title, command: "ls", risk: "" })).toBe(`${title}? ls`);
  });

  it("names what a command deletes, discards or needs", () => {
    expect(approvalNotice({ title: "Run a command", command: "rm -r x", risk: "deletes files" })).toBe("Run a command? rm -r x (deletes files)");
  });
});

describe("the document that previews a change", () => {
  it.each([
    ["Change package.json", "Change package.json"],
    ["Change a/.env", "Change a∕.env"],
    ["Change /ws/\u202eb?c#d", "Change ∕ws∕∕u{202e}b∕c∕d"],
  ])("of %j has a name without a path: %j", (command, name) => {
    expect(previewName({ command })).toBe(name);
  });
});

describe("removed lines as a block of code", () => {
  const rest = (lines: number): string => `… ${lines} more lines`;

  it("are as they were, in the language of the file", () => {
    expect(fenced("let a;\n  let b;", "typescript", rest)).toBe("```typescript\nlet a;\n  let b;\n```");
  });

  it("cannot end the block, whatever they hold", () => {
    const text = "````\n</code><img src=x>\n[l](command:x)\n``````";
    expect(fenced(text, "markdown", rest)).toBe(`\`\`\`\`\`\`\`markdown\n${text}\n\`\`\`\`\`\`\``);
    expect(fenced("a\u202eb", "x y\n", rest)).toBe("```\na\\u{202e}b\n```");
  });

  it("are cut when they are many, which is said", () => {
    expect(fenced("x\n".repeat(50).trimEnd(), "c", rest)).toMatch(/```\n\n… 10 more lines$/u);
  });
});

describe("the hash of a text", () => {
  it("ignores a byte order mark", () => {
    expect(textHash("\ufeffä\n")).toBe(textHash("ä\n"));
    expect(textHash("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });
});

describe("jobs of one key", () => {
  it("run in order, also after a failure", async () => {
    const queue = new KeyedQueue();
    const order: string[] = [];
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = queue.run("a", async () => {
      await gate;
      order.push("first");
      throw new Error("no");
    });
    const second = queue.run("a", () => Promise.resolve(order.push("second")));
    await queue.run("b", () => Promise.resolve(order.push("other key")));
    release();
    await expect(first).rejects.toThrow("no");
    await second;
    expect(order).toEqual(["other key", "first", "second"]);
  });
});

describe("finding the daemon", () => {
  const find = (setting: string, ...present: string[]): string => {
    const found = discover({
      setting,
      extension: "/ext",
      path: "node_modules/.bin:/usr/bin:/opt/bin",
      platform: "linux",
      isExecutable: (path) => present.includes(path),
    });
    return found.kind === "found" ? `${found.from} ${found.path}` : found.message;
  };

  it("prefers the setting, then the package, then the PATH", () => {
    expect(find("/my/cairn", "/my/cairn", "/ext/bin/cairn")).toBe("setting /my/cairn");
    expect(find("", "/ext/bin/cairn", "/opt/bin/cairn")).toBe("bundle /ext/bin/cairn");
    expect(find("", "/opt/bin/cairn")).toBe("path /opt/bin/cairn");
  });

  it("ignores relative folders of the PATH", () => {
    expect(find("", "node_modules/.bin/cairn")).toContain("was not found");
  });

  it("leads to WSL on Windows, whatever is installed", () => {
    const found = discover({ setting: "/my/cairn", extension: "/ext", path: "/usr/bin", platform: "win32", isExecutable: () => true });
    expect(found).toEqual({ kind: "missing", message: "Cairn runs on Windows inside WSL: open the folder with “WSL: Reopen Folder in WSL”." });
  });

  it("does not fall back if the setting is wrong", () => {
    expect(find("/my/cairn", "/ext/bin/cairn")).toContain("cairn.daemon.path names /my/cairn");
    expect(find("")).toContain("was not found");
  });
});

describe("the status bar", () => {
  const idle: Facts = {
    link: { kind: "running", version: "1" },
    model: { provider: "anthropic", name: "m", replay: false },
    connection: { kind: "idle" },
    retryInMs: 0,
    waitsFor: "",
    running: false,
    plan: undefined,
    step: "",
    failed: false,
    asks: false,
    planReady: false,
    untrusted: false,
  };
  const replay = { provider: "replay", name: "r", replay: true };
  const waiting = { kind: "retrying", attempt: 2, delayMs: 12_000, reason: said("busy") } as const;

  it.each([
    [{}, "$(layers) Cairn"],
    [{ running: true }, "$(loading~spin) Cairn"],
    [{ running: true, plan: { completed: 2, total: 5 } }, "$(loading~spin) Cairn 2/5"],
    [{ running: true, plan: { completed: 2, total: 5 }, step: "Adding tests" }, "$(loading~spin) 2/5 Adding tests"],
    [{ running: true, connection: { kind: "working" } }, "$(loading~spin) Cairn"],
    [{ running: true, connection: waiting, retryInMs: 11_001 }, "$(sync~spin) Cairn: retrying in 12 s"],
    [{ running: true, connection: waiting }, "$(sync~spin) Cairn: retrying"],
    [{ running: true, waitsFor: "Allow? node --test", model: replay }, "$(warning) Cairn: Allow? node --test · replay"],
    [{ model: replay }, "$(layers) Cairn · replay"],
    [{ asks: true }, "$(question) Cairn: reply"],
    [{ asks: true, planReady: true }, "$(checklist) Cairn: plan ready"],
    [{ failed: true }, "$(error) Cairn"],
    [{ link: { kind: "failed", message: "gone" }, waitsFor: "Allow? ls" }, "$(error) Cairn: not running"],
  ] satisfies [Partial<Facts>, string][])("%j is %s", (facts, text) => {
    expect(statusLabel({ ...idle, ...facts }).text).toBe(text);
  });
});

describe("a retry", () => {
  const facts = { link: { kind: "running", version: "1" }, model: undefined, retryInMs: 0, waitsFor: "", plan: undefined, step: "" } as const;
  const none = { running: true, failed: false, asks: false, planReady: false, untrusted: false };

  it("names its reason, with the words of the server", () => {
    const reason = said("the model server reported an error: {said}", { said: "overloaded" });
    const { state } = statusLabel({ ...facts, ...none, connection: { kind: "retrying", attempt: 2, delayMs: 0, reason } });
    expect(state).toBe("attempt 2: the model server reported an error: overloaded");
  });
});

describe("the meter", () => {
  const none = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  const usage = (used: number, window: number, costMicros?: number) =>
    meter({
      sessionId: "s",
      turnId: "t",
      rev: 1,
      rounds: 1,
      turn: none,
      session: { inputTokens: 12_000, outputTokens: 800, cachedTokens: 9_000 },
      context: { used, window },
      ...(costMicros === undefined ? {} : { costMicros }),
    });

  it.each([
    [usage(34_000, 200_000, 123_456), "$(dashboard) 34k/200k · ≈ $0.12", "none"],
    [usage(999, 32_000), "$(dashboard) 999/32k", "none"],
    [usage(160_000, 200_000, 4_000), "$(dashboard) 160k/200k · < $0.01", "warning"],
    [usage(200_000, 1_000_000), "$(dashboard) 200k/1M", "none"],
  ])("%j is %s", (shown, text, severity) => {
    expect(shown).toMatchObject({ text, severity });
  });

  it("shows the cached part, and that the cost is an estimate", () => {
    expect(usage(34_000, 200_000, 123_456)?.lines.join("\n")).toMatch(
      /17 % of 200k[^]*12,000 in \(75 % from the cache\), 800 out[^]*about \$0\.12, an estimate/u,
    );
    expect(usage(1, 0)).toBeUndefined();
  });
});

describe("the countdown to the next attempt", () => {
  it("starts only with a new wait, and ends", () => {
    vi.useFakeTimers();
    const ticks = vi.fn();
    const countdown = new Countdown(ticks);
    const waiting = (attempt: number) => ({ kind: "retrying", attempt, delayMs: 2500, reason: said("busy") }) as const;
    expect(countdown.left(waiting(2))).toBe(2500);
    vi.advanceTimersByTime(500);
    expect(ticks).toHaveBeenCalledTimes(1);
    expect(countdown.left(waiting(2))).toBe(2000);
    vi.advanceTimersByTime(2100);
    expect(countdown.left(waiting(2))).toBe(0);
    vi.advanceTimersByTime(5000);
    expect(ticks).toHaveBeenCalledTimes(2);
    expect(countdown.left(waiting(3))).toBe(2500);
    expect(countdown.left({ kind: "streaming" })).toBe(0);
    expect(countdown.left(waiting(3))).toBe(2500);
    countdown.dispose();
    vi.useRealTimers();
  });
});

describe("the allowed commands", () => {
  it("are listed under their folder", () => {
    const rule = (folder: string, command: string, here: boolean) => ({ folder, command, here });
    const shown = (...rules: ReturnType<typeof rule>[]): string[] =>
      ruleRows(rules).map((row) => ("separator" in row ? `-- ${row.separator}` : `${row.label} ${row.description}`.trim()));
    expect(shown(rule("/a", "npm test", true), rule("/b", "make", false))).toEqual([
      "-- In this workspace",
      "npm test /a",
      "-- In other folders",
      "make /b",
    ]);
    expect(shown(rule("/a", "npm test", true), rule("/b", "make", true))).toEqual(["-- In this workspace", "npm test /a", "make /b"]);
    expect(shown()).toEqual([]);
  });
});

describe("the conversation as text", () => {
  it("marks who speaks and what was done, without the reminders to the model", () => {
    const entries: Entry[] = [
      message("1", "user", "Fix it\nplease"),
      message("2", "reminder", "Plan first."),
      message("3", "assistant", "I look.", { incomplete: true }),
      call("4", "Read a"),
      call("5", "Run x", { state: "awaitingApproval", command: "x \u202e" }),
      end("6", "completed"),
    ];
    expect(renderConversation(entries)).toBe(
      [
        "❯ Fix it",
        "  please",
        "",
        "I look.",
        "[cut off: not part of the conversation]",
        "",
        "✓ Read a",
        "? Run x  (waits for approval)",
        "  $ x \\u{202e}",
        "",
        "■ Done",
        "",
      ].join("\n"),
    );
  });
});

describe("a daemon of another release", () => {
  it.each([
    [PROTOCOL_VERSION, undefined],
    [PROTOCOL_VERSION + 1, `The Cairn daemon speaks protocol ${PROTOCOL_VERSION + 1}, and this extension speaks`],
    [undefined, "The Cairn daemon does not say which protocol it speaks, and this extension speaks"],
  ])("that says protocol %j is told as %j", (theirs, told) => {
    const fault = versionFault(theirs);
    expect(fault?.slice(0, told?.length)).toBe(told);
    if (told !== undefined) {
      expect(fault).toContain("Install the two of the same release.");
    }
  });
});
