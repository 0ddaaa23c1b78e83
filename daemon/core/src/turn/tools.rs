//! Calls of one message: their order, their results, and the answers of the machine itself.

use super::*;
use crate::{
    ids::CallId,
    plan::{PlanForm, graph::TaskTool},
};

/// Calls in message order with their results. Calls that change something run alone and in order;
/// neighbours that only read run together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    waiting: VecDeque<ToolCall>,
    /// With whether each may run beside others.
    running: Vec<(CallId, bool)>,
    /// In call order; `None` until answered.
    slots: Vec<(CallId, Option<ToolResult>)>,
    /// Fingerprint of the names and arguments of all calls.
    pub(super) fingerprint: u64,
    /// A todo call of this round was accepted.
    pub(super) plan_updated: bool,
    /// True for a call that may change something, besides those of the plan.
    pub(super) had_effects: bool,
    /// Commands and edits that run, for the reminder to verify.
    work: HashMap<CallId, Work>,
    /// Text to append to the result of the running call, which runs alone.
    pub(super) postscript: Option<String>,
    /// Images that calls of this round have read.
    pub(super) images: Vec<Attached>,
    /// End of what a running call has printed so far.
    printed: HashMap<CallId, String>,
    /// Texts for the model about arguments of a call that its tool does not know.
    ignored: HashMap<CallId, String>,
    /// The call of the model that each part of a call belongs to. The first part has its id.
    part_of: HashMap<CallId, CallId>,
    /// Results so far of the calls that have parts.
    parts: HashMap<CallId, String>,
    /// Results that [`Session::take_records`] has not returned yet.
    pub(super) unrecorded: Vec<ToolResult>,
}

/// Work of a call that the reminder to verify looks at.
#[derive(Debug)]
pub(super) enum Work {
    Command(String),
    /// Path of the file.
    Edit(String),
    Subagent,
}

impl Work {
    fn of(call: &ToolCall) -> Option<Self> {
        let ToolArguments::Object(arguments) = &call.arguments else { return None };
        let argument = |name| Some(arguments.get(name)?.as_str()?.to_owned());
        match call.name.as_str() {
            "bash" => argument("command").map(Self::Command),
            "edit_file" | "write_file" | "delete_file" => argument("path").map(Self::Edit),
            "move_file" => argument("to").map(Self::Edit),
            "task" => Some(Self::Subagent),
            _ => None,
        }
    }
}

/// Most bytes of the output of a call that are kept for a cancellation.
const MOST_PRINTED: usize = 4 * 1024;

impl Batch {
    pub(super) fn new(written: VecDeque<ToolCall>, settings: &TurnSettings) -> Self {
        let slots: Vec<_> = written.iter().map(|call| (call.id.clone(), None)).collect();
        let (mut calls, mut ignored) = (VecDeque::new(), HashMap::new());
        let (mut part_of, mut parts) = (HashMap::new(), HashMap::new());
        for call in written {
            let id = call.id.clone();
            let is_free = |id: &CallId| slots.iter().all(|(taken, _)| taken != id);
            let (own, words) = own_calls(call, settings, is_free);
            ignored.extend(words.map(|words| (id.clone(), words)));
            if own.len() > 1 {
                parts.insert(id.clone(), String::new());
                part_of.extend(own.iter().map(|part| (part.id.clone(), id.clone())));
            }
            calls.extend(own);
        }
        let named: Vec<_> = calls.iter().map(|call| (&call.name, &call.arguments)).collect();
        let fingerprint = fingerprint(&named);
        let work: HashMap<CallId, Work> =
            calls.iter().filter_map(|call| Some((call.id.clone(), Work::of(call)?))).collect();
        let had_effects = calls.iter().any(|call| has_effects(&call.name, settings));
        Self {
            had_effects,
            work,
            waiting: calls,
            ignored,
            part_of,
            parts,
            fingerprint,
            slots,
            ..Self::default()
        }
    }

    /// Keeps a piece of the output of a running call, in case it is cancelled.
    pub(super) fn printed(&mut self, id: &CallId, piece: &str) {
        if self.running.iter().any(|(running, _)| running == id) {
            let printed = self.printed.entry(id.to_owned()).or_default();
            printed.push_str(piece);
            let excess = printed.len().saturating_sub(MOST_PRINTED);
            printed.drain(..printed.ceil_char_boundary(excess));
        }
    }

    /// Returns the next call, if it may start while others run. It is treated as running until
    /// it is answered.
    pub(super) fn next(&mut self, settings: &TurnSettings) -> Option<ToolCall> {
        let parallel = parallel(&self.waiting.front()?.name, settings);
        let free = self.running.is_empty()
            || (parallel && self.running.iter().all(|(_, parallel)| *parallel));
        if !free {
            return None;
        }
        let call = self.waiting.pop_front()?;
        self.running.push((call.id.clone(), parallel));
        Some(call)
    }

    /// Stores a result. Returns false if the call is unknown or already answered.
    pub(super) fn complete(&mut self, id: &CallId, mut content: String, is_error: bool) -> bool {
        let Some(at) = self.running.iter().position(|(running, _)| running == id) else {
            return false;
        };
        self.running.remove(at);
        let slot = self.part_of.get(id).cloned().unwrap_or_else(|| id.clone());
        if let Some(earlier) = self.parts.remove(&slot) {
            content = earlier + &content;
            if let Some(rest) = self.skip_parts(&slot, is_error) {
                content.push_str(&rest);
            } else if self.waiting.iter().any(|call| self.part_of.get(&call.id) == Some(&slot)) {
                self.parts.insert(slot, content + "\n");
                return true;
            }
        }
        if let Some(ignored) = self.ignored.remove(id) {
            content.push('\n');
            content.push_str(&marks::own(&ignored));
        }
        if let Some(postscript) = self.postscript.take() {
            content.push_str(&postscript);
        }
        match self.slots.iter_mut().find(|(id, result)| *id == slot && result.is_none()) {
            Some((_, result)) => {
                let answer = ToolResult { call_id: slot, content, is_error };
                self.unrecorded.push(answer.clone());
                *result = Some(answer);
                true
            }
            None => false,
        }
    }

    /// After an error, takes away the parts of a call that have not run. Returns words about them for the model.
    fn skip_parts(&mut self, slot: &CallId, is_error: bool) -> Option<String> {
        let before = self.waiting.len();
        let part_of = &self.part_of;
        self.waiting.retain(|call| !is_error || part_of.get(&call.id) != Some(slot));
        let skipped = before - self.waiting.len();
        let words = format!("The patch ends here: its other changes ({skipped}) were not made.");
        (skipped > 0).then(|| format!("\n{}", marks::own(&words)))
    }

    /// Takes the work of a call that has ended.
    pub(super) fn take_work(&mut self, id: &CallId) -> Option<Work> {
        self.work.remove(id)
    }

    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Returns all results. Calls without one get this text as an error, with their output so far.
    pub(super) fn close(&mut self, missing: &str) -> Vec<ToolResult> {
        let mut printed = std::mem::take(&mut self.printed);
        let mut parts = std::mem::take(&mut self.parts);
        let mut unanswered = |id: &CallId| {
            let done = parts.remove(id).unwrap_or_default();
            match printed.remove(id) {
                None => format!("{done}{missing}"),
                Some(text) => format!("{done}{missing} It had printed:\n{}", marks::escape(&text)),
            }
        };
        self.waiting.clear();
        self.running.clear();
        std::mem::take(&mut self.slots)
            .into_iter()
            .map(|(call_id, result)| {
                result.unwrap_or_else(|| ToolResult {
                    content: unanswered(&call_id),
                    call_id,
                    is_error: true,
                })
            })
            .collect()
    }
}

/// True for a call that may change something, besides those of the plan.
fn has_effects(name: &str, settings: &TurnSettings) -> bool {
    let is_plan = TaskTool::named(name).is_some() || plan_form(name, settings).is_some();
    !is_plan && !parallel(name, settings)
}

/// Planning tool that a call means, whichever is offered. Another tool of the name comes first.
fn plan_form(name: &str, settings: &TurnSettings) -> Option<PlanForm> {
    if settings.tools.iter().any(|tool| tool.name == name) {
        return None;
    }
    PlanForm::named(call_forms::bare_name(name))
}

fn parallel(name: &str, settings: &TurnSettings) -> bool {
    settings.tools.iter().any(|tool| tool.name == name && tool.parallel)
}

/// The calls of Cairn's tools that a call means, usually one, and a text for the model about arguments that the tool
/// does not know.
///
/// The conversation keeps the call as the model wrote it.
fn own_calls(
    mut call: ToolCall,
    settings: &TurnSettings,
    is_free: impl Fn(&CallId) -> bool,
) -> (Vec<ToolCall>, Option<String>) {
    if let Some(form) = plan_form(&call.name, settings) {
        if settings.dialect == Dialect::Tasks {
            call.name = form.task_tool().name().to_owned();
        }
        return (vec![call], None);
    }
    let forms = match &call.arguments {
        ToolArguments::Object(serde_json::Value::Object(arguments)) => {
            call_forms::translate(&call.name, arguments, &settings.tools)
        }
        ToolArguments::Object(_) | ToolArguments::Invalid { .. } => None,
    };
    let Some(forms) = forms else { return (vec![call], None) };
    let words = forms.iter().find(|form| !form.ignored.is_empty()).and_then(|form| {
        let tool = settings.tools.iter().find(|tool| tool.name == form.name)?;
        Some(call_forms::ignored_text(&form.ignored, tool))
    });
    let part = |number: u32| CallId::from(format!("{}/{number}", call.id));
    let ids = [call.id.clone()].into_iter().chain((2..).map(part).filter(is_free));
    let own = |(id, form): (CallId, call_forms::Translated)| ToolCall {
        id,
        name: form.name,
        arguments: ToolArguments::Object(form.arguments.into()),
    };
    (ids.zip(forms).map(own).collect(), words)
}

pub(super) enum Answer {
    Run,
    Todo(PlanForm, serde_json::Value),
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
    // The server runs the calls of the task graph, because the graph is on disk.
    if let Some(form) = plan_form(&call.name, settings) {
        return Answer::Todo(form, arguments.clone());
    }
    if let Some(text) = call_forms::patch::refusal(&call.name, arguments) {
        return Answer::Wrong(text);
    }
    if settings.tools.iter().any(|tool| tool.name == call.name) {
        return Answer::Run;
    }
    let mut names: Vec<&str> = settings.tools.iter().map(|tool| tool.name.as_str()).collect();
    match settings.dialect {
        Dialect::List(list) => names.push(list.tool_name()),
        Dialect::Tasks => {}
    }
    let instead = call_forms::similar_text(&call.name, &settings.tools);
    let text = format!(
        "There is no tool named {}. The tools are: {}. {instead}",
        call.name,
        names.join(", ")
    );
    Answer::Wrong(text.trim_end().to_owned())
}

/// Rounds in a row with the same calls and the same results.
///
/// A call whose result differs is no loop: it may wait for something. Calls of one round never count
/// against each other.
#[derive(Debug, Default)]
pub(super) struct Repeat {
    /// Fingerprints of the calls of the last round, and of these with their results.
    last: Option<(u64, u64)>,
    times: u32,
}

/// Rounds after which the model is warned, and after which it is asked for its last answer.
const REPEATS_WARN: u32 = 3;
const REPEATS_LAST: u32 = 5;
const REPEAT_WARNING: &str = "You made the same call with the same arguments three times in a row. Its result will not change: do something else.";
const REPEAT_LAST: &str = "You made the same call five times in a row, always with the same result. The next time it is not run, and your work ends. Do something else, or answer now: say what is done, what is missing, and why you cannot go on.";

impl Repeat {
    /// True if the calls are those of the last rounds once more, although the model was asked for its
    /// last answer.
    pub(super) fn is_loop(&self, batch: &Batch) -> bool {
        self.times >= REPEATS_LAST && self.last.is_some_and(|(calls, _)| calls == batch.fingerprint)
    }

    /// Counts a round that ended with these results. Returns a warning for the model.
    pub(super) fn count(&mut self, calls: u64, results: &[ToolResult]) -> Option<&'static str> {
        let told: Vec<_> =
            results.iter().map(|result| (&result.content, result.is_error)).collect();
        let round = (calls, fingerprint(&told));
        self.times = if self.last == Some(round) { self.times + 1 } else { 1 };
        self.last = Some(round);
        match self.times {
            REPEATS_WARN => Some(REPEAT_WARNING),
            REPEATS_LAST => Some(REPEAT_LAST),
            _ => None,
        }
    }
}

/// Hash of a value by its debug form; equal values have equal ones.
fn fingerprint(value: &impl std::fmt::Debug) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(format!("{value:?}").as_bytes());
    hasher.finish()
}
