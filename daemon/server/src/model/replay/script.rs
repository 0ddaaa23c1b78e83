//! Parser of replay scripts. It is written by hand to report all faults at once, each with its path.
//!
//! Pure.

use std::time::Duration;

use cairn_core::model::{FailureKind, Stop};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// File or other source of the script, for messages.
    pub origin: String,
    pub name: String,
    pub steps: Vec<ScriptedStep>,
    pub subagents: Vec<SubagentScript>,
}

/// Steps for a subagent, selected by its prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentScript {
    /// Text that occurs in the prompt.
    pub prompt: String,
    pub steps: Vec<ScriptedStep>,
}

/// Scripted answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedStep {
    pub expect: Expectation,
    pub thinking: String,
    pub text: String,
    pub calls: Vec<ScriptedCall>,
    pub delay: Duration,
    pub chunk_chars: usize,
    pub fail: Option<Fail>,
    pub stop: Stop,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expectation {
    pub contains: Vec<String>,
    pub last_contains: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedCall {
    pub name: String,
    /// Always a JSON object.
    pub arguments: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    pub kind: FailureKind,
    pub message: String,
    pub retry_after: Option<Duration>,
}

/// All faults of a script, each with its path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The script {origin} cannot be played: {}", faults.join("; "))]
pub struct ScriptError {
    pub origin: String,
    pub faults: Vec<String>,
}

const MAX_DELAY_MS: u64 = 60_000;

/// Name of `subagents` in the exports of earlier versions.
const EARLIER_SUBAGENTS: &str = "children";

impl Script {
    pub fn parse(text: &str, origin: &str) -> Result<Script, ScriptError> {
        let mut faults = Faults::default();
        let script = match serde_json::from_str::<Value>(text) {
            Ok(value) => faults.script(&value, origin),
            Err(error) => {
                faults.add("", &format!("not JSON: {error}"));
                None
            }
        };
        match script {
            Some(script) if faults.0.is_empty() => Ok(script),
            Some(_) | None => Err(ScriptError { origin: origin.to_owned(), faults: faults.0 }),
        }
    }
}

/// Collector of faults. The value of a faulty member does not matter, because the script is refused.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, path: &str, what: &str) {
        self.0.push(if path.is_empty() { what.to_owned() } else { format!("{path}: {what}") });
    }

    fn script(&mut self, value: &Value, origin: &str) -> Option<Script> {
        let known = ["cairnReplay", "name", "steps", "subagents", EARLIER_SUBAGENTS];
        let members = self.object(value, "", &known)?;
        match members.get("cairnReplay") {
            Some(Value::Number(version)) if version.as_u64() == Some(1) => {}
            Some(_) => self.add("cairnReplay", "must be 1"),
            None => self.add("cairnReplay", "missing"),
        }
        if !members.contains_key("steps") {
            self.add("steps", "missing");
        }
        let name = self.text(members, "", "name");
        let steps = self.list(members, "", "steps", Self::step);
        let mut subagents = self.list(members, "", "subagents", Self::subagent);
        subagents.extend(self.list(members, "", EARLIER_SUBAGENTS, Self::subagent));
        Some(Script { origin: origin.to_owned(), name, steps, subagents })
    }

    fn subagent(&mut self, value: &Value, path: &str) -> Option<SubagentScript> {
        let members = self.object(value, path, &["prompt", "steps"])?;
        let prompt = self.text(members, path, "prompt");
        if prompt.is_empty() {
            self.add(&at(path, "prompt"), "missing");
        }
        Some(SubagentScript { prompt, steps: self.list(members, path, "steps", Self::step) })
    }

    fn step(&mut self, value: &Value, path: &str) -> Option<ScriptedStep> {
        const MEMBERS: [&str; 8] =
            ["expect", "thinking", "text", "calls", "delayMs", "chunkChars", "fail", "stop"];
        let members = self.object(value, path, &MEMBERS)?;
        let expect = members.get("expect").and_then(|v| self.expectation(v, &at(path, "expect")));
        let thinking = self.text(members, path, "thinking");
        let text = self.text(members, path, "text");
        let calls = self.list(members, path, "calls", Self::call);
        let delay = self.number(members, path, "delayMs").unwrap_or(0);
        if delay > MAX_DELAY_MS {
            self.add(&at(path, "delayMs"), &format!("at most {MAX_DELAY_MS}"));
        }
        let chunk_chars = self.number(members, path, "chunkChars").unwrap_or(0);
        let fail = members.get("fail").and_then(|v| self.fail(v, &at(path, "fail")));
        let stop = match self.text(members, path, "stop").as_str() {
            "" if calls.is_empty() => Stop::EndTurn,
            "" => Stop::ToolUse,
            word => stop(word),
        };
        if fail.is_some() && !calls.is_empty() {
            self.add(path, "a step that fails has no calls");
        }
        Some(ScriptedStep {
            expect: expect.unwrap_or_default(),
            thinking,
            text,
            calls,
            delay: Duration::from_millis(delay),
            chunk_chars: usize::try_from(chunk_chars).unwrap_or(usize::MAX),
            fail,
            stop,
        })
    }

    fn expectation(&mut self, value: &Value, path: &str) -> Option<Expectation> {
        let members = self.object(value, path, &["contains", "lastContains"])?;
        let contains = self.list(members, path, "contains", Self::plain_text);
        let last_contains = self.list(members, path, "lastContains", Self::plain_text);
        Some(Expectation { contains, last_contains })
    }

    fn call(&mut self, value: &Value, path: &str) -> Option<ScriptedCall> {
        let members = self.object(value, path, &["name", "arguments"])?;
        let name = self.text(members, path, "name");
        if name.is_empty() {
            self.add(&at(path, "name"), "missing");
        }
        let arguments = members.get("arguments").cloned().unwrap_or_else(|| Map::new().into());
        if !arguments.is_object() {
            self.add(&at(path, "arguments"), "must be an object");
        }
        Some(ScriptedCall { name, arguments })
    }

    fn fail(&mut self, value: &Value, path: &str) -> Option<Fail> {
        let members = self.object(value, path, &["kind", "message", "retryAfterMs"])?;
        let word = self.text(members, path, "kind");
        let Some(kind) = failure_kind(&word) else {
            let known: Vec<&str> = FAILURE_KINDS.iter().map(|(word, _)| *word).collect();
            self.add(&at(path, "kind"), &format!("must be one of {}", known.join(", ")));
            return None;
        };
        let message = match self.text(members, path, "message") {
            message if message.is_empty() => format!("The script fails here ({word})."),
            message => message,
        };
        let retry_after = self.number(members, path, "retryAfterMs").map(Duration::from_millis);
        Some(Fail { kind, message, retry_after })
    }

    fn plain_text(&mut self, value: &Value, path: &str) -> Option<String> {
        let text = value.as_str().map(str::to_owned);
        if text.is_none() {
            self.add(path, "must be a string");
        }
        text
    }

    fn object<'a>(
        &mut self,
        value: &'a Value,
        path: &str,
        known: &[&str],
    ) -> Option<&'a Map<String, Value>> {
        let Some(members) = value.as_object() else {
            self.add(path, "must be an object");
            return None;
        };
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            self.add(&at(path, name), &format!("unknown; known are {}", known.join(", ")));
        }
        Some(members)
    }

    fn text(&mut self, members: &Map<String, Value>, path: &str, name: &str) -> String {
        let value = members.get(name);
        value.and_then(|value| self.plain_text(value, &at(path, name))).unwrap_or_default()
    }

    fn number(&mut self, members: &Map<String, Value>, path: &str, name: &str) -> Option<u64> {
        let value = members.get(name)?;
        let number = value.as_u64();
        if number.is_none() {
            self.add(&at(path, name), "must be a whole number, zero or more");
        }
        number
    }

    fn list<T>(
        &mut self,
        members: &Map<String, Value>,
        path: &str,
        name: &str,
        item: fn(&mut Self, &Value, &str) -> Option<T>,
    ) -> Vec<T> {
        let path = at(path, name);
        match members.get(name) {
            None => Vec::new(),
            Some(Value::Array(values)) => values
                .iter()
                .enumerate()
                .filter_map(|(index, value)| item(self, value, &format!("{path}[{index}]")))
                .collect(),
            Some(_) => {
                self.add(&path, "must be a list");
                Vec::new()
            }
        }
    }
}

fn at(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn stop(word: &str) -> Stop {
    match word {
        "endTurn" => Stop::EndTurn,
        "toolUse" => Stop::ToolUse,
        "maxTokens" => Stop::MaxTokens,
        "refusal" => Stop::Refusal,
        "contextOverflow" => Stop::ContextOverflow,
        "pause" => Stop::Pause,
        other => Stop::Other(other.to_owned()),
    }
}

const FAILURE_KINDS: [(&str, FailureKind); 10] = [
    ("connect", FailureKind::Connect),
    ("timeout", FailureKind::Timeout),
    ("rateLimited", FailureKind::RateLimited),
    ("server", FailureKind::Server),
    ("streamCut", FailureKind::StreamCut),
    ("protocol", FailureKind::Protocol),
    ("auth", FailureKind::Auth),
    ("rejected", FailureKind::Rejected),
    ("contextOverflow", FailureKind::ContextOverflow),
    ("unusable", FailureKind::Unusable),
];

fn failure_kind(word: &str) -> Option<FailureKind> {
    FAILURE_KINDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}
