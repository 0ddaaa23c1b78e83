//! Findings of a check in English, for the terminal and for clients without texts of their own.

use cairn_protocol::{CheckState, CheckedPart, FormChange, ModelFinding};

/// Heading of a row.
#[must_use]
pub fn of_part(part: CheckedPart) -> &'static str {
    match part {
        CheckedPart::Answer => "Answers",
        CheckedPart::ToolCall => "Calls tools",
        CheckedPart::ParallelCalls => "Several calls at once",
        CheckedPart::History => "Second request",
        CheckedPart::Streaming => "Streams its answers",
        CheckedPart::TokenCounts => "Counts tokens",
        CheckedPart::RequestForm => "Form of requests",
        CheckedPart::ContextWindow => "Context window",
    }
}

#[must_use]
pub fn of_state(state: CheckState) -> &'static str {
    match state {
        CheckState::Works => "works",
        CheckState::Adapted => "adapted",
        CheckState::Limited => "limited",
        CheckState::Broken => "broken",
        CheckState::Unknown => "unknown",
    }
}

/// Text of a finding. A failed request has the words of its failure instead.
pub(super) fn of(finding: &ModelFinding) -> String {
    let text = match finding {
        ModelFinding::Answered { milliseconds } => {
            let seconds = (f64::from(*milliseconds) / 1_000.0).max(0.1);
            return format!("the first answer took {seconds:.1} s");
        }
        ModelFinding::CallRenamed { name } => return format!("the name came as {name}"),
        ModelFinding::CallOfUnknownTool { name } => return format!("the model called {name}"),
        ModelFinding::CallArguments { error } => {
            return format!("the arguments are no JSON object: {error}");
        }
        ModelFinding::AnswerTooLong { tokens } => {
            return format!("the answer was not complete after {tokens} tokens");
        }
        ModelFinding::CallsTogether { count } => return format!("{count} calls in one answer"),
        ModelFinding::CountsTokens { input, output } => {
            return format!("{input} in, {output} out for the first request");
        }
        ModelFinding::OtherForm { changes } => {
            let changes: Vec<_> = changes.iter().map(|change| of_change(*change)).collect();
            return format!("the server needs other requests: {}", changes.join("; "));
        }
        ModelFinding::WindowKnown { tokens } => return format!("{tokens} tokens"),
        ModelFinding::WindowAssumed { tokens, setting } => {
            return format!("not known; Cairn assumes {tokens} tokens. {setting} sets the size");
        }
        ModelFinding::NotAnswered { .. } => "",
        ModelFinding::NotChecked => "not checked",
        ModelFinding::CallsTool => "the call is complete",
        ModelFinding::CallAsText => {
            "the call came as text: the server's chat template does not fit the model"
        }
        ModelFinding::NoCall => "the model did not call the tool",
        ModelFinding::CallsOneByOne => "one call in each answer",
        ModelFinding::HistoryTaken => "the server accepts its own answers",
        ModelFinding::NothingSaid => "the answer was empty",
        ModelFinding::Streamed => "the text comes in pieces",
        ModelFinding::InOnePiece => "the text comes in one piece, at its end",
        ModelFinding::TooShortToTell => "the text was too short to tell",
        ModelFinding::NoTokenCounts => "the server sends no counts; Cairn estimates",
        ModelFinding::UsualForm => "as usual",
    };
    text.to_owned()
}

fn of_change(change: FormChange) -> &'static str {
    match change {
        FormChange::AlwaysReasoning => "earlier reasoning with each call",
        FormChange::NeverReasoning => "no earlier reasoning",
        FormChange::NoUnknownMembers => "no unknown members in earlier answers",
        FormChange::SignedCalls => "a signature with each call",
        FormChange::NoStreamOptions => "no stream_options",
        FormChange::OtherLimitName => "the other name of the answer's limit",
        FormChange::StrictTurns => "user and assistant by turns",
        FormChange::NoModelOptions => "no thinking or effort options",
    }
}
