//! Format of replay scripts.
//!
//! Pure.

use cairn_core::model::{FailureKind, Stop};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    cairn_replay: u32,
    /// File or other source of the script, for messages.
    #[serde(skip)]
    pub origin: String,
    #[serde(default)]
    pub name: String,
    pub steps: Vec<ScriptedStep>,
    /// Named `children` in the exports of earlier versions.
    #[serde(default, alias = "children")]
    pub subagents: Vec<SubagentScript>,
}

/// Steps for a subagent, selected by its prompt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubagentScript {
    /// Text that occurs in the prompt.
    pub prompt: String,
    #[serde(default)]
    pub steps: Vec<ScriptedStep>,
}

/// Scripted answer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptedStep {
    pub expect: Expectation,
    pub thinking: String,
    pub text: String,
    pub calls: Vec<ScriptedCall>,
    pub delay_ms: u64,
    pub chunk_chars: usize,
    pub fail: Option<Fail>,
    stop: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Expectation {
    pub contains: Vec<String>,
    pub last_contains: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    pub name: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fail {
    pub kind: FailureKind,
    #[serde(default = "default_message")]
    pub message: String,
    pub retry_after_ms: Option<u64>,
}

fn default_message() -> String {
    "The script fails here.".to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The script {origin} cannot be played: {fault}")]
pub struct ScriptError {
    pub origin: String,
    pub fault: String,
}

const MAX_DELAY_MS: u64 = 60_000;

impl Script {
    pub fn parse(text: &str, origin: &str) -> Result<Script, ScriptError> {
        let origin = origin.to_owned();
        let read = serde_json::from_str(text).map_err(|error| error.to_string());
        match read.and_then(|script: Script| script.fault().map_or(Ok(script), Err)) {
            Ok(script) => Ok(Script { origin, ..script }),
            Err(fault) => Err(ScriptError { origin, fault }),
        }
    }

    /// Fault that the types allow.
    fn fault(&self) -> Option<String> {
        let of_subagents = self.subagents.iter().flat_map(|subagent| &subagent.steps);
        let mut steps = self.steps.iter().chain(of_subagents);
        if self.cairn_replay != 1 {
            return Some("`cairnReplay` must be 1".to_owned());
        }
        if self.subagents.iter().any(|subagent| subagent.prompt.is_empty()) {
            return Some("the `prompt` of a subagent is empty".to_owned());
        }
        steps.find_map(|step| match step {
            _ if step.delay_ms > MAX_DELAY_MS => {
                Some(format!("`delayMs` is at most {MAX_DELAY_MS}"))
            }
            _ if step.fail.is_some() && !step.calls.is_empty() => {
                Some("a step that fails has no calls".to_owned())
            }
            _ => None,
        })
    }
}

impl ScriptedStep {
    pub fn stop(&self) -> Stop {
        match self.stop.as_str() {
            "" if self.calls.is_empty() => Stop::EndTurn,
            "" | "toolUse" => Stop::ToolUse,
            "endTurn" => Stop::EndTurn,
            "maxTokens" => Stop::MaxTokens,
            "refusal" => Stop::Refusal,
            "contextOverflow" => Stop::ContextOverflow,
            "pause" => Stop::Pause,
            other => Stop::Other(other.to_owned()),
        }
    }
}
