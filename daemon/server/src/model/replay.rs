//! The `replay` provider: it answers from a script instead of a model.
//!
//! For the demo without a network, for tests, and for bug reports. A faulty script or an unmet
//! expectation fails the request with file, step and fault; it is never an answer.
//!
//! # The script format
//!
//! ```json
//! {
//!   "cairnReplay": 1,
//!   "name": "what this script shows",
//!   "steps": [
//!     {
//!       "expect": { "contains": ["…"], "lastContains": ["…"] },
//!       "thinking": "…",
//!       "text": "…",
//!       "calls": [{ "name": "read_file", "arguments": { "path": "a.rs" } }],
//!       "chunkChars": 12,
//!       "delayMs": 20,
//!       "stop": "toolUse"
//!     },
//!     { "fail": { "kind": "rateLimited", "message": "…", "retryAfterMs": 500 } }
//!   ],
//!   "subagents": [{ "prompt": "…", "steps": [] }]
//! }
//! ```
//!
//! Every request of a session takes the next step. All members of a step are optional.
//! - `expect`: text that must occur in what is sent: `contains` anywhere in the system prompt and
//!   the conversation, `lastContains` in its newest item. The conversation is one line of JSON per
//!   item (see `encode`); the text may be given as it reads or as it stands in the JSON.
//! - `chunkChars`: the size of the streamed pieces, 0 for all at once; `delayMs`: the pause before
//!   each piece.
//! - `fail`: the answer fails after the text so far. `kind` is one of `connect`, `timeout`,
//!   `rateLimited`, `server`, `streamCut`, `protocol`, `auth`, `rejected`, `contextOverflow`,
//!   `unusable`.
//! - `subagents`: a conversation whose first message contains `prompt` plays these steps instead, so
//!   that a `task` call plays like any other.
//! - `stop`: `endTurn`, `toolUse`, `maxTokens`, `refusal`, `contextOverflow`, `pause`, or any other
//!   word for an unknown reason. Without it `toolUse` where there are calls, else `endTurn`.

mod script;

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use cairn_core::{
    conversation::{AssistantMessage, Block, Item, ToolArguments, ToolCall},
    ids::SessionId,
    model::{Advice, Failure, FailureKind, ModelEvent, Reply, Stop, Usage},
};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    io::AsyncReadExt,
    sync::{OnceCell, mpsc},
};

pub use script::{
    Expectation, Fail, Script, ScriptError, ScriptedCall, ScriptedStep, SubagentScript,
};

use super::{
    ModelRequest, Provider,
    encoding::{CallIds, IdRule},
};

/// Script for the demo, when no model is configured. It works in any workspace.
const DEMO: &str = include_str!("demo.json");
const MAX_SCRIPT_BYTES: u64 = 16 * 1024 * 1024;

const ENDED: &str = "This replay has ended: its script has no further step. To work with a real \
    model, set an API key, or point `cairn.model.provider` and `cairn.model.baseUrl` to a server of \
    your own.";

/// Plays a script. Each session has its own position in it.
pub struct ReplayProvider(Arc<Player>);

struct Player {
    source: Source,
    script: OnceCell<Arc<Script>>,
    places: Mutex<HashMap<SessionId, usize>>,
}

enum Source {
    Ready(Arc<Script>),
    Demo,
    File(PathBuf),
}

impl ReplayProvider {
    pub fn new(script: Arc<Script>) -> Self {
        Self::from_source(Source::Ready(script))
    }

    /// The built-in script.
    pub fn demo() -> Self {
        Self::from_source(Source::Demo)
    }

    /// Plays a file. It is read at the first request, and again until it holds a valid script.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::from_source(Source::File(path.into()))
    }

    fn from_source(source: Source) -> Self {
        Self(Arc::new(Player {
            source,
            script: OnceCell::new(),
            places: Mutex::new(HashMap::new()),
        }))
    }
}

impl Provider for ReplayProvider {
    fn reads_images(&self) -> bool {
        false
    }

    /// One line of JSON per item, in the form of the journal.
    fn encode(&self, _previous: Option<&Item>, item: &Item, out: &mut Vec<u8>) {
        if !out.is_empty() {
            out.extend_from_slice(b",\n");
        }
        // Strings and JSON values: encoding them cannot fail.
        out.extend_from_slice(&serde_json::to_vec(item).unwrap_or_default());
    }

    fn answer(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let player = Arc::clone(&self.0);
        Box::pin(async move {
            let end = match player.play(&request, &events).await {
                Ok(reply) => ModelEvent::Finished(reply),
                Err(failure) => ModelEvent::Failed(failure),
            };
            // Fails only if the receiver was dropped; then nobody waits for the end.
            let _ = events.send(end).await;
        })
    }
}

impl Player {
    async fn play(
        &self,
        request: &ModelRequest,
        events: &mpsc::Sender<ModelEvent>,
    ) -> Result<Reply, Failure> {
        let script = self.script.get_or_try_init(|| self.load()).await?;
        let place = self.place(request);
        let (part, steps) = script.part(&request.messages);
        let Some(step) = steps.get(place) else {
            let _ = events.send(ModelEvent::Text(ENDED.to_owned())).await;
            let message = AssistantMessage { blocks: vec![Block::Text(ENDED.to_owned())] };
            return Ok(Reply { message, stop: Stop::EndTurn, usage: Usage::default() });
        };
        let unmet = step.expect.unmet(&request.system, &request.messages);
        if !unmet.is_empty() {
            return Err(unusable(format!(
                "{}: {part}steps[{place}]: the request does not meet the expectation: {}",
                script.origin,
                unmet.join("; ")
            )));
        }
        self.advance(&request.session, place);
        step.stream(&step.thinking, ModelEvent::Thinking, events).await;
        step.stream(&step.text, ModelEvent::Text, events).await;
        if let Some(fail) = &step.fail {
            return Err(fail.failure());
        }
        let mut blocks = Vec::new();
        if !step.thinking.is_empty() {
            blocks.push(Block::Thinking { text: step.thinking.clone(), signature: None });
        }
        if !step.text.is_empty() {
            blocks.push(Block::Text(step.text.clone()));
        }
        // A resumed session may already contain the ids of this script.
        let mut ids = CallIds::new(
            super::http::call_id_prefix(),
            request.messages.clone(),
            IdRule::RESPONSES,
        );
        for (number, call) in step.calls.iter().enumerate() {
            let wanted = format!("replay_{place}_{number}");
            let id = ids.admit(Some(&wanted)).unwrap_or_else(|_| wanted.into());
            let (name, arguments) = (call.name.clone(), call.arguments.clone().into());
            let started = ModelEvent::CallStarted { id: id.clone(), name: name.clone() };
            let _ = events.send(started).await;
            let arguments = ToolArguments::Object(arguments);
            blocks.push(Block::ToolCall(ToolCall { id, name, arguments }));
        }
        let message = AssistantMessage { blocks };
        Ok(Reply { message, stop: step.stop(), usage: Usage::default() })
    }

    async fn load(&self) -> Result<Arc<Script>, Failure> {
        let parsed = match &self.source {
            Source::Ready(script) => return Ok(Arc::clone(script)),
            Source::Demo => Script::parse(DEMO, "the built-in demo"),
            Source::File(path) => {
                let text = read(path).await.map_err(|error| {
                    unusable(format!("The script {} cannot be read: {error}", path.display()))
                })?;
                Script::parse(&text, &path.display().to_string())
            }
        };
        parsed.map(Arc::new).map_err(|error| unusable(error.to_string()))
    }

    fn place(&self, request: &ModelRequest) -> usize {
        let places = self.places.lock();
        places.get(&request.session).copied().unwrap_or_else(|| {
            // A resumed session continues at its position: each answer in it was one step.
            let answers = request.messages.split(|&byte| byte == b'\n');
            answers.filter(|line| line.starts_with(br#"{"Assistant":"#)).count()
        })
    }

    fn advance(&self, session: &SessionId, place: usize) {
        let mut places = self.places.lock();
        places.insert(session.to_owned(), place + 1);
    }
}

impl Script {
    /// Steps of this conversation, with the prefix of their path in the script.
    fn part(&self, messages: &[u8]) -> (String, &[ScriptedStep]) {
        let first = messages.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        let mut subagents = self.subagents.iter().enumerate();
        match subagents.find(|(_, subagent)| occurs(&subagent.prompt, &first)) {
            Some((index, subagent)) => (format!("subagents[{index}]."), &subagent.steps),
            None => (String::new(), &self.steps),
        }
    }
}

impl ScriptedStep {
    async fn stream(
        &self,
        text: &str,
        event: fn(String) -> ModelEvent,
        events: &mpsc::Sender<ModelEvent>,
    ) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = match rest.char_indices().nth(self.chunk_chars) {
                Some((end, _)) if self.chunk_chars > 0 => end,
                Some(_) | None => rest.len(),
            };
            let (piece, after) = rest.split_at(end);
            rest = after;
            if self.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(self.delay_ms)).await;
            }
            if events.send(event(piece.to_owned())).await.is_err() {
                return;
            }
        }
    }
}

impl Expectation {
    /// Descriptions of the expected texts that do not occur.
    fn unmet(&self, system: &str, messages: &[u8]) -> Vec<String> {
        let messages = String::from_utf8_lossy(messages);
        let last = messages.rsplit('\n').next().unwrap_or_default();
        let all = self
            .contains
            .iter()
            .filter(|text| !system.contains(text.as_str()) && !occurs(text, &messages));
        let newest = self.last_contains.iter().filter(|text| !occurs(text, last));
        all.map(|text| format!("no {text:?} in it"))
            .chain(
                newest
                    .map(|text| format!("no {text:?} in its newest item, which is {}", cut(last))),
            )
            .collect()
    }
}

fn occurs(text: &str, json: &str) -> bool {
    let quoted = Value::from(text).to_string();
    json.contains(text) || json.contains(quoted.trim_matches('"'))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Fail {
    fn failure(&self) -> Failure {
        let retry_after_ms = self.retry_after_ms;
        Failure { retry_after_ms, ..Failure::new(self.kind, self.message.clone()) }
    }
}

fn unusable(message: String) -> Failure {
    Failure::new(FailureKind::Unusable, message).advise(Advice::CorrectScript)
}

async fn read(path: &std::path::Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = tokio::fs::File::open(path).await?;
    file.take(MAX_SCRIPT_BYTES).read_to_string(&mut text).await?;
    Ok(text)
}

#[cfg(test)]
mod tests;
