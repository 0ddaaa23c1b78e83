//! Check of a model: three small requests show whether the agent can work with it and its server.
//!
//! The requests hold no text of the user. What the server refuses changes the form of its next requests,
//! as in a turn. Each answer has a time limit, and dropping the future ends the check.

mod findings;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use cairn_core::{
    conversation::{
        AssistantMessage, Block, Item, Note, NoteKind, ToolArguments, ToolCall, ToolResult,
        UserMessage,
    },
    model::{Failure, FailureKind, ModelEvent, Reply, ToolSpec},
};
use cairn_protocol::{CheckedPart, ModelCheckRow, ModelFinding, TurnProblem};
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    ModelRequest, Provider,
    choose::Choice,
    problem,
    window::{self, ContextSettings},
};
use crate::secrets;

/// Time limit for an answer. A server on this machine loads the model at its first request.
const ANSWER: Duration = Duration::from_secs(120);
/// Pause before a request is sent again to a server that is not ready.
const PAUSE: Duration = Duration::from_secs(1);
/// Most tokens of an answer. A model that thinks needs some hundred.
const MOST_TOKENS: u32 = 1_024;
/// Queue of the events of an answer.
const EVENTS: usize = 64;

const SYSTEM: &str =
    "You are an assistant with one tool. Call it when the user asks for it, and answer briefly.";
const ONE_CALL: &str = "Call the tool `add` with a = 2 and b = 3.";
const TWO_CALLS: &str = "Call the tool `add` twice in one answer: with a = 2 and b = 3, and with \
    a = 4 and b = 5.";
const AFTERWARDS: &str =
    "Say in one sentence of about twenty words what you did and what came out.";
const TOOL: &str = "add";

/// Context window that the daemon works with.
#[derive(Debug, Clone, Copy)]
pub struct CheckedWindow {
    pub tokens: u64,
    /// False for the size of an unknown model.
    pub is_known: bool,
}

/// Window for a chosen model, by its settings.
pub fn window(choice: &Choice, settings: &ContextSettings) -> CheckedWindow {
    let stated = window::stated(&choice.info.name, choice.is_ollama, settings);
    CheckedWindow { tokens: stated.unwrap_or(window::UNKNOWN_TOKENS), is_known: stated.is_some() }
}

/// Answer to a request of the check.
struct Answer {
    outcome: Result<Reply, Failure>,
    elapsed: Duration,
    /// Number of pieces of the text and the thinking, and their length in bytes.
    pieces: usize,
    text_bytes: usize,
}

/// Checks a model and returns a row for each part. `tell` gets the rows so far after each answer.
pub async fn check(
    choice: &Choice,
    window: CheckedWindow,
    mut tell: impl FnMut(&[ModelCheckRow]),
) -> Vec<ModelCheckRow> {
    let mut rows = Rows::new();
    rows.add(CheckedPart::PartContextWindow, findings::window(window));
    if let Some(problem) = &choice.unusable {
        rows.not_answered(CheckedPart::PartAnswer, problem.clone());
        return rows.shown();
    }
    let provider = &choice.provider;
    let failed = |rows: &mut Rows, part, failure: &Failure| {
        rows.not_answered(part, problem::of_failure(failure, &choice.info.provider));
    };

    let question = user(ONE_CALL);
    let first = ask(provider, &[&question]).await;
    match &first.outcome {
        Ok(reply) => {
            let seconds = format!("{:.1}", first.elapsed.as_secs_f64().max(0.1));
            rows.add(CheckedPart::PartAnswer, ModelFinding::Answered { seconds });
            rows.add(CheckedPart::PartToolCall, findings::call(reply));
            rows.add(CheckedPart::PartTokenCounts, findings::token_counts(reply.usage));
        }
        Err(failure) => {
            failed(&mut rows, CheckedPart::PartAnswer, failure);
            if !may_answer_others(failure) {
                return rows.shown();
            }
        }
    }
    tell(&rows.shown());

    let second = ask(provider, &[&user(TWO_CALLS)]).await;
    match &second.outcome {
        Ok(reply) => rows.add(CheckedPart::PartParallelCalls, findings::parallel_calls(reply)),
        Err(failure) => failed(&mut rows, CheckedPart::PartParallelCalls, failure),
    }
    tell(&rows.shown());

    let message = first.outcome.as_ref().map_or_else(|_| made_up(), |it| it.message.clone());
    let history = after(message);
    let items: Vec<&Item> = std::iter::once(&question).chain(&history).collect();
    let third = ask(provider, &items).await;
    match &third.outcome {
        Ok(reply) => rows.add(CheckedPart::PartHistory, findings::history(reply)),
        Err(failure) => failed(&mut rows, CheckedPart::PartHistory, failure),
    }
    rows.add(CheckedPart::PartStreaming, findings::streaming(&[first, second, third]));
    rows.add(CheckedPart::PartRequestForm, findings::form(choice.known.lessons()));
    rows.shown()
}

/// True if the server can be reached, so that another request may have an answer.
fn may_answer_others(failure: &Failure) -> bool {
    matches!(
        failure.kind,
        FailureKind::Server
            | FailureKind::StreamCut
            | FailureKind::Protocol
            | FailureKind::Rejected
    )
}

/// Answer to the first request as another model would give it.
fn made_up() -> AssistantMessage {
    let arguments = ToolArguments::Object(json!({ "a": 2, "b": 3 }));
    let call = ToolCall { id: "call_1".into(), name: TOOL.to_owned(), arguments };
    AssistantMessage { blocks: vec![Block::ToolCall(call)] }
}

/// Items after the first answer: itself, and results with a reminder, as in a turn with a plan.
fn after(message: AssistantMessage) -> Vec<Item> {
    let results: Vec<ToolResult> = message
        .tool_calls()
        .map(|call| ToolResult {
            call_id: call.id.clone(),
            content: sum(&call.arguments),
            is_error: false,
        })
        .collect();
    let next = if results.is_empty() {
        user(AFTERWARDS)
    } else {
        Item::ToolResults { results, notes: vec![Note::new(NoteKind::Reminder, AFTERWARDS)] }
    };
    vec![Item::Assistant(message), next]
}

fn sum(arguments: &ToolArguments) -> String {
    let ToolArguments::Object(object) = arguments else { return "No arguments came.".to_owned() };
    let number = |name: &str| object[name].as_f64();
    match (number("a"), number("b")) {
        (Some(a), Some(b)) => (a + b).to_string(),
        _ => "a and b must be numbers.".to_owned(),
    }
}

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.to_owned(), ..UserMessage::default() })
}

/// Sends the items until the server answers. A refusal that changes the form of the next request leads
/// to that request; a server that is not ready is asked again.
async fn ask(provider: &Arc<dyn Provider>, items: &[&Item]) -> Answer {
    let began = Instant::now();
    let attempts = async {
        loop {
            let answer = send(provider, items, began).await;
            match &answer.outcome {
                // Each change is learned once, so their number is bounded.
                Err(failure) if failure.kind == FailureKind::Adapted => {}
                Err(failure) if is_not_ready(failure) => sleep(PAUSE).await,
                Ok(_) | Err(_) => return answer,
            }
        }
    };
    timeout(ANSWER, attempts).await.unwrap_or_else(|_| {
        let seconds = ANSWER.as_secs();
        let message = format!("The model server did not finish its answer in {seconds} seconds.");
        let failure = Failure::new(FailureKind::Timeout, message);
        Answer { outcome: Err(failure), elapsed: began.elapsed(), pieces: 0, text_bytes: 0 }
    })
}

/// True if the server loads the model, or wants a pause.
fn is_not_ready(failure: &Failure) -> bool {
    let status = failure.said.as_ref().and_then(|said| said.status);
    failure.kind == FailureKind::RateLimited || status == Some(503)
}

async fn send(provider: &Arc<dyn Provider>, items: &[&Item], began: Instant) -> Answer {
    let mut messages = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let previous = index.checked_sub(1).map(|before| items[before]);
        provider.encode(previous, item, &mut messages);
    }
    secrets::clean_from(&mut messages, 0);
    let request = ModelRequest {
        system: SYSTEM.into(),
        tools: [tool()].into(),
        messages: Bytes::from(messages),
        session: "model-check".into(),
        max_tokens: Some(MOST_TOKENS),
    };
    let (events, mut incoming) = mpsc::channel::<ModelEvent>(EVENTS);
    let read = async {
        let (mut pieces, mut text_bytes, mut end) = (0, 0, None);
        while let Some(event) = incoming.recv().await {
            text_bytes += event.text_bytes();
            match event {
                ModelEvent::Text(_) | ModelEvent::Thinking(_) => pieces += 1,
                ModelEvent::TextWasThinking | ModelEvent::CallStarted { .. } => {}
                ModelEvent::Finished(reply) => end = Some(Ok(reply)),
                ModelEvent::Failed(failure) => end = Some(Err(failure)),
            }
        }
        (pieces, text_bytes, end)
    };
    let ((), (pieces, text_bytes, end)) = tokio::join!(provider.answer(request, events), read);
    let early = || Failure::new(FailureKind::StreamCut, "The model's answer ended too early");
    let outcome = end.unwrap_or_else(|| Err(early()));
    Answer { outcome, elapsed: began.elapsed(), pieces, text_bytes }
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: TOOL.to_owned(),
        description: "Adds two numbers.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
            "required": ["a", "b"],
        }),
        parallel: true,
    }
}

/// Table of a check.
struct Rows(BTreeMap<CheckedPart, ModelFinding>);

impl Rows {
    fn new() -> Self {
        Self(CheckedPart::ALL.iter().map(|part| (*part, ModelFinding::NotChecked)).collect())
    }

    fn add(&mut self, part: CheckedPart, finding: ModelFinding) {
        self.0.insert(part, finding);
    }

    fn not_answered(&mut self, part: CheckedPart, reason: TurnProblem) {
        self.add(part, ModelFinding::NotAnswered { reason });
    }

    /// Returns one row for each part, in the order of the table.
    fn shown(&self) -> Vec<ModelCheckRow> {
        let row = |(part, finding): (&CheckedPart, &ModelFinding)| ModelCheckRow {
            part: part.message(),
            state: finding.kind().message(),
            finding: finding.message(),
        };
        self.0.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests;
