//! Findings from the answers of a check. Pure.

use std::collections::HashSet;

use cairn_core::{
    call_forms,
    conversation::ToolArguments,
    model::{Reply, Stop, Usage},
    sanitize::one_line,
};
use cairn_protocol::{FormChange, ModelFinding};

use super::{Answer, CheckedWindow, MOST_TOKENS, TOOL};

/// Shortest text, in bytes, that a server which streams sends in more than one piece.
const LONG_TEXT: usize = 40;
/// Longest name or error of a call that is shown, in characters.
const SHOWN: usize = 80;

/// Finding about the answer that should call the tool once.
pub(super) fn call(reply: &Reply) -> ModelFinding {
    let Some(call) = reply.message.tool_calls().next() else {
        return match &reply.stop {
            Stop::MaxTokens => ModelFinding::AnswerTooLong { tokens: MOST_TOKENS },
            _ if call_forms::is_written(&reply.message.text()) => ModelFinding::CallAsText,
            _ => ModelFinding::NoCall,
        };
    };
    if call_forms::bare_name(&call.name) != TOOL {
        return ModelFinding::CallOfUnknownTool { name: shown(&call.name) };
    }
    match &call.arguments {
        ToolArguments::Invalid { .. } if reply.stop == Stop::MaxTokens => {
            ModelFinding::AnswerTooLong { tokens: MOST_TOKENS }
        }
        ToolArguments::Invalid { error, .. } => ModelFinding::CallArguments { error: shown(error) },
        ToolArguments::Object(_) if call.name != TOOL => {
            ModelFinding::CallRenamed { name: shown(&call.name) }
        }
        ToolArguments::Object(_) => ModelFinding::CallsTool,
    }
}

/// Finding about the answer that should call the tool twice.
pub(super) fn parallel_calls(reply: &Reply) -> ModelFinding {
    match reply.message.tool_calls().count() {
        0 => call(reply),
        1 => ModelFinding::CallsOneByOne,
        count => ModelFinding::CallsTogether { count: u32::try_from(count).unwrap_or(u32::MAX) },
    }
}

/// Finding about the answer to the request with history.
pub(super) fn history(reply: &Reply) -> ModelFinding {
    let says_something =
        !reply.message.text().trim().is_empty() || reply.message.tool_calls().next().is_some();
    match reply.stop {
        _ if says_something => ModelFinding::HistoryTaken,
        Stop::MaxTokens => ModelFinding::AnswerTooLong { tokens: MOST_TOKENS },
        _ => ModelFinding::NothingSaid,
    }
}

/// Finding about the longest text.
pub(super) fn streaming(answers: &[Answer]) -> ModelFinding {
    let longest = answers.iter().max_by_key(|answer| answer.text_bytes);
    match longest {
        Some(answer) if answer.pieces > 1 => ModelFinding::Streamed,
        Some(answer) if answer.text_bytes > LONG_TEXT => ModelFinding::InOnePiece,
        Some(_) | None => ModelFinding::TooShortToTell,
    }
}

pub(super) fn token_counts(usage: Usage) -> ModelFinding {
    let count = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
    match usage.input_tokens {
        0 => ModelFinding::NoTokenCounts,
        input => {
            ModelFinding::CountsTokens { input: count(input), output: count(usage.output_tokens) }
        }
    }
}

pub(super) fn form(changes: HashSet<FormChange>) -> ModelFinding {
    let mut changes: Vec<FormChange> = changes.into_iter().collect();
    changes.sort();
    if changes.is_empty() { ModelFinding::UsualForm } else { ModelFinding::OtherForm { changes } }
}

pub(super) fn window(window: CheckedWindow) -> ModelFinding {
    let tokens = u32::try_from(window.tokens).unwrap_or(u32::MAX);
    match window.is_known {
        true => ModelFinding::WindowKnown { tokens },
        false => {
            let setting = "cairn.model.contextTokens".to_owned();
            ModelFinding::WindowAssumed { tokens, setting }
        }
    }
}

fn shown(text: &str) -> String {
    one_line(text, SHOWN)
}
