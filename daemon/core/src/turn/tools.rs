//! Calls of one message: their order, their results, and the answers of the machine itself.

use super::*;
use crate::ids::CallId;

/// Calls in message order with their results. Calls that change something run alone and in order;
/// neighbours that only read run together.
#[derive(Debug)]
pub(super) struct Batch {
    waiting: VecDeque<ToolCall>,
    running: Vec<(CallId, Parallel)>,
    /// In call order; `None` until answered.
    slots: Vec<(CallId, Option<ToolResult>)>,
    /// A todo call of this round was accepted.
    pub(super) plan_updated: bool,
    /// Text to append to the result of the running call, which runs alone.
    pub(super) postscript: Option<String>,
    /// Results that [`Session::take_records`] has not returned yet.
    pub(super) unrecorded: Vec<ToolResult>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parallel {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IsError {
    Yes,
    No,
}

impl From<bool> for IsError {
    fn from(is_error: bool) -> Self {
        if is_error { IsError::Yes } else { IsError::No }
    }
}

impl Batch {
    pub(super) fn new(calls: VecDeque<ToolCall>) -> Self {
        let slots = calls.iter().map(|call| (call.id.clone(), None)).collect();
        Self {
            waiting: calls,
            running: Vec::new(),
            slots,
            plan_updated: false,
            postscript: None,
            unrecorded: Vec::new(),
        }
    }

    /// Returns the next call, if it may start beside the running ones. It counts as running until
    /// it is answered.
    pub(super) fn next(&mut self, settings: &TurnSettings) -> Option<ToolCall> {
        let parallel = parallel(&self.waiting.front()?.name, settings);
        let free = self.running.is_empty()
            || (parallel == Parallel::Yes
                && self.running.iter().all(|(_, running)| *running == Parallel::Yes));
        if !free {
            return None;
        }
        let call = self.waiting.pop_front()?;
        self.running.push((call.id.clone(), parallel));
        Some(call)
    }

    pub(super) fn answer(&mut self, id: &CallId, content: String, is_error: IsError) {
        self.complete(id, content, is_error == IsError::Yes);
    }

    /// Stores a result. Returns false if the call is unknown or already answered.
    pub(super) fn complete(&mut self, id: &CallId, mut content: String, is_error: bool) -> bool {
        let Some(at) = self.running.iter().position(|(running, _)| running == id) else {
            return false;
        };
        self.running.remove(at);
        if let Some(postscript) = self.postscript.take() {
            content.push_str(&postscript);
        }
        match self.slots.iter_mut().find(|(slot, result)| slot == id && result.is_none()) {
            Some((_, result)) => {
                let answer = ToolResult { call_id: id.to_owned(), content, is_error };
                self.unrecorded.push(answer.clone());
                *result = Some(answer);
                true
            }
            None => false,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    pub(super) fn take_results(&mut self) -> Vec<ToolResult> {
        self.close("No result.")
    }

    /// Returns all results. Calls without one get this text as an error.
    pub(super) fn close(&mut self, missing: &str) -> Vec<ToolResult> {
        self.waiting.clear();
        self.running.clear();
        std::mem::take(&mut self.slots)
            .into_iter()
            .map(|(call_id, result)| {
                result.unwrap_or_else(|| ToolResult {
                    call_id,
                    content: missing.to_owned(),
                    is_error: true,
                })
            })
            .collect()
    }
}

fn parallel(name: &str, settings: &TurnSettings) -> Parallel {
    match settings.tools.iter().find(|tool| tool.name == name) {
        Some(ToolKind { parallel: true, .. }) => Parallel::Yes,
        _ => Parallel::No,
    }
}

pub(super) enum Answer {
    Run,
    Todo(ListDialect, serde_json::Value),
    /// Error text for the model about its faulty call.
    Wrong(String),
}

pub(super) fn answer_without_running(call: &ToolCall, settings: &TurnSettings) -> Answer {
    let arguments = match &call.arguments {
        ToolArguments::Object(value) => value,
        ToolArguments::Invalid { error, .. } => {
            return Answer::Wrong(format!(
                "The arguments of {} are not a JSON object ({error}). Nothing was run. Send the call again with valid JSON.",
                call.name
            ));
        }
    };
    match settings.dialect {
        Dialect::List(list) if list.tool_name() == call.name => {
            return Answer::Todo(list, arguments.clone());
        }
        // The server runs the calls of the task graph, because the graph is on disk.
        Dialect::List(_) | Dialect::Tasks => {}
    }
    if settings.tools.iter().any(|tool| tool.name == call.name) {
        return Answer::Run;
    }
    let mut names: Vec<&str> = settings.tools.iter().map(|tool| tool.name.as_str()).collect();
    match settings.dialect {
        Dialect::List(list) => names.push(list.tool_name()),
        Dialect::Tasks => {}
    }
    Answer::Wrong(format!(
        "There is no tool named {}. The tools are: {}.",
        call.name,
        names.join(", ")
    ))
}

/// Counter of equal calls in a row.
#[derive(Debug, Default)]
pub(super) struct Repeat {
    last: Option<(String, ToolArguments)>,
    times: u32,
    warn: bool,
}

const REPEATS_WARN: u32 = 3;
pub(super) const REPEATS_STOP: u32 = 5;
pub(super) const REPEAT_WARNING: &str = "You made the same call with the same arguments three times in a row. Its result will not change: do something else.";

impl Repeat {
    /// Counts a call, and returns how often it was made in a row.
    pub(super) fn count(&mut self, call: &ToolCall) -> u32 {
        let same = self
            .last
            .as_ref()
            .is_some_and(|(name, arguments)| *name == call.name && *arguments == call.arguments);
        if same {
            self.times += 1;
        } else {
            self.last = Some((call.name.clone(), call.arguments.clone()));
            self.times = 1;
        }
        self.warn |= self.times == REPEATS_WARN;
        self.times
    }

    pub(super) fn take_warning(&mut self) -> bool {
        std::mem::take(&mut self.warn)
    }
}
