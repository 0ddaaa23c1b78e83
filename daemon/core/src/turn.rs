//! The agent loop as a state machine: `step(input) -> effects`.
//!
//! A session holds what lasts (conversation, plan, reminder counters); a turn is the time between
//! the user's message and the end of the agent's work on it; a round is one model answer and the
//! results of the tools it called. The machine performs nothing: effects go out, what came of
//! them comes back as inputs. Inputs that belong to a call or a request that is over are ignored,
//! so the shell may deliver late.
//!
//! Invariant: tools run only after a `Finished` reply that asks for them.
//! Invariant: every tool call gets exactly one result, whatever happens, before the turn ends.

use std::collections::VecDeque;

use crate::{
    conversation::{
        Arguments, AssistantMessage, Block, Item, Note, NoteKind, ToolCall, ToolResult, UserMessage,
    },
    marks,
    model::{Failure, FailureKind, ModelEvent, Reply, Stop, Usage},
    plan::{
        self, Accepted, Dialect, ListDialect, Plan, TodoItem,
        reminder::{ReminderSettings, ReminderState},
    },
};

mod context;
mod memory;
mod question;
mod retry;
mod signals;
mod tools;

pub use memory::{Memo, Record, Restored};
use question::asks_something;
pub use retry::MAX_SERVER_WAIT_MS;
pub use signals::{Effect, End, EndReason, Input, Panel};
use tools::Batch;

/// What may change between turns.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// Model answers with tool calls in one turn, at most.
    pub max_rounds: u32,
    pub dialect: Dialect,
    pub reminders: ReminderSettings,
    /// Tools the shell can run, with their parallelism. The todo tool of a list dialect is the
    /// machine's own; those of the task graph are among these.
    pub tools: Vec<ToolKind>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolKind {
    pub name: String,
    pub parallel: bool,
}

/// A conversation with its plan.
#[derive(Debug)]
pub struct Session {
    settings: TurnSettings,
    conversation: Vec<Item>,
    plan: Plan,
    panel: Panel,
    reminders: ReminderState,
    /// Facts waiting for the next safe point.
    notices: Vec<String>,
    /// The last turn ended before its work was done.
    interrupted: bool,
    usage: Usage,
    /// Rounds and tokens of the last turn that ended: they are told after its last step.
    ended_usage: (u32, Usage),
    requests: u32,
    context: context::ContextState,
    turn: Option<Turn>,
    /// Items of the conversation that were given out to be written down.
    recorded: usize,
    /// The memo that was given out last.
    remembered: Memo,
}

#[derive(Debug)]
struct Turn {
    rounds: u32,
    tool_calls: u32,
    phase: Phase,
    steers: Vec<String>,
    usage: Usage,
    retries: retry::Retries,
    /// Times the model was asked to write shorter calls.
    splits: u32,
    repeat: tools::Repeat,
    compaction: context::CompactionState,
    /// Items of the conversation when the running request was made.
    asked_items: usize,
}

#[derive(Debug)]
enum Phase {
    /// Request number `request` is on its way; `text` streamed so far.
    Calling {
        request: u32,
        text: String,
    },
    Waiting {
        request: u32,
    },
    Tools(Batch),
    /// There is a summary, if that could be had; what is proposed in files is still to be told.
    PendingEdits {
        summary: Option<String>,
    },
}

impl Turn {
    fn new() -> Self {
        Self {
            rounds: 0,
            tool_calls: 0,
            phase: Phase::Waiting { request: 0 },
            steers: Vec::new(),
            usage: Usage::default(),
            retries: retry::Retries::default(),
            splits: 0,
            repeat: tools::Repeat::default(),
            compaction: context::CompactionState::default(),
            asked_items: 0,
        }
    }
}

impl Session {
    pub fn new(settings: TurnSettings) -> Self {
        Self {
            settings,
            conversation: Vec::new(),
            plan: Plan::default(),
            panel: Panel::Hidden,
            reminders: ReminderState::default(),
            notices: Vec::new(),
            interrupted: false,
            usage: Usage::default(),
            ended_usage: (0, Usage::default()),
            requests: 0,
            context: context::ContextState::default(),
            turn: None,
            recorded: 0,
            remembered: Memo::default(),
        }
    }

    /// Takes effect with the next turn; a running one keeps what it began with.
    pub fn configure(&mut self, settings: TurnSettings) {
        if self.turn.is_none() {
            self.settings = settings;
        }
    }

    /// The plan is a list that each call replaces.
    pub fn keeps_a_list(&self) -> bool {
        matches!(self.settings.dialect, Dialect::List(_))
    }

    pub fn conversation(&self) -> &[Item] {
        &self.conversation
    }

    /// The items as people should see them: nothing is in progress when nothing runs.
    pub fn plan_items(&self) -> Vec<TodoItem> {
        if self.turn.is_some() { self.plan.items().to_vec() } else { self.plan.reconciled() }
    }

    pub fn panel(&self) -> Panel {
        self.panel
    }

    pub fn is_running(&self) -> bool {
        self.turn.is_some()
    }

    /// Tokens of the whole session.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Rounds and tokens of the newest turn, also once it is over.
    pub fn turn_usage(&self) -> (u32, Usage) {
        self.turn.as_ref().map_or(self.ended_usage, |turn| (turn.rounds, turn.usage))
    }

    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::UserMessage { text } => self.start(text, &mut effects),
            Input::Model { request, event } => self.model(request, event, &mut effects),
            Input::RetryDue { request } => {
                if matches!(&self.turn, Some(Turn { phase: Phase::Waiting { request: due }, .. }) if *due == request)
                {
                    self.call_model(&mut effects);
                }
            }
            Input::TaskList { items, updated } => self.task_list(items, updated, &mut effects),
            Input::ToolDone { call_id, content, is_error } => {
                self.tool_done(&call_id, content, is_error, &mut effects)
            }
            Input::ChildSpent { usage } => {
                if let Some(turn) = &mut self.turn {
                    turn.usage += usage;
                    self.usage += usage;
                    effects.push(Effect::Spent);
                }
            }
            Input::Steer { text } => {
                if let Some(turn) = &mut self.turn {
                    turn.steers.push(text);
                }
            }
            Input::Notice { text } => self.notices.push(text),
            Input::Compact => self.compact_asked(&mut effects),
            Input::PendingEdits { proposals } => self.compact(&proposals, &mut effects),
            Input::Cancel => self.cancel(&mut effects),
        }
        effects
    }

    fn start(&mut self, text: String, effects: &mut Vec<Effect>) {
        if self.turn.is_some() {
            return;
        }
        self.reminders.turn_started();
        let mut notes = Vec::new();
        if std::mem::take(&mut self.interrupted) && self.plan.open_count() > 0 {
            let list = plan::render(&self.plan.reconciled());
            self.notices
                .push(format!("The last turn ended before its work was done. What was in progress is open again:\n{list}"));
        }
        self.take_notices(&mut notes);
        if let Some(text) = self.reminders.initial(&self.settings.reminders) {
            notes.push(Note { kind: NoteKind::Reminder, text });
        }
        effects.extend(notes.iter().cloned().map(Effect::NoteAdded));
        self.conversation.push(Item::User(UserMessage { text, notes }));
        self.turn = Some(Turn::new());
        self.call_model(effects);
    }

    fn call_model(&mut self, effects: &mut Vec<Effect>) {
        let compaction = self.ensure_capacity(effects);
        let Some(turn) = &mut self.turn else { return };
        self.requests += 1;
        let request = self.requests;
        turn.phase = Phase::Calling { request, text: String::new() };
        turn.asked_items = self.conversation.len();
        effects.push(match compaction {
            None => Effect::CallModel { request },
            Some(why) => {
                Effect::Summarize { request, shortest: why == context::Compaction::Overflow }
            }
        });
    }

    fn model(&mut self, request: u32, event: ModelEvent, effects: &mut Vec<Effect>) {
        // A summary is for the model; the user is told that one is made.
        let compacting = self.is_compacting();
        let Some(Turn { phase: Phase::Calling { request: current, text }, .. }) = &mut self.turn
        else {
            return;
        };
        if *current != request {
            return;
        }
        match event {
            ModelEvent::Text(_) | ModelEvent::Thinking(_) | ModelEvent::CallStarted { .. }
                if compacting => {}
            ModelEvent::Text(delta) => {
                text.push_str(&delta);
                effects.push(Effect::Text { delta });
            }
            ModelEvent::Thinking(delta) => effects.push(Effect::Thinking { delta }),
            ModelEvent::CallStarted { id, name } => {
                effects.push(Effect::CallAnnounced { id, name })
            }
            ModelEvent::Finished(reply) => self.finished(reply, effects),
            ModelEvent::Failed(failure) => self.failed(failure, effects),
        }
    }

    fn finished(&mut self, reply: Reply, effects: &mut Vec<Effect>) {
        self.spent(reply.usage, effects);
        if self.is_compacting() {
            return self.summarized(&reply, effects);
        }
        if reply.stop != Stop::ContextOverflow {
            self.fitted();
        }
        let Some(turn) = &mut self.turn else { return };
        let text = reply.message.text();
        let calls: VecDeque<ToolCall> = reply.message.tool_calls().cloned().collect();
        match reply.stop {
            Stop::EndTurn | Stop::Pause if !calls.is_empty() => {
                self.failed(calls_without_asking(&reply.stop), effects)
            }
            Stop::ToolUse if !calls.is_empty() => {
                turn.retries.succeeded();
                turn.rounds += 1;
                turn.tool_calls += calls.len() as u32;
                turn.phase = Phase::Tools(Batch::new(calls));
                self.say(reply.message, text, effects);
                self.advance(effects);
            }
            Stop::EndTurn | Stop::ToolUse if text.trim().is_empty() => {
                self.failed(empty_answer(), effects)
            }
            Stop::EndTurn | Stop::ToolUse => {
                turn.retries.succeeded();
                self.say(reply.message, text.clone(), effects);
                if self.push_steers(effects) {
                    self.call_model(effects);
                } else {
                    let reason = if asks_something(&text) {
                        EndReason::NeedsInput
                    } else {
                        EndReason::Completed
                    };
                    self.end(reason, text, effects);
                }
            }
            Stop::Pause => {
                turn.rounds += 1;
                let limit_reached = turn.rounds >= self.settings.max_rounds;
                self.say(reply.message, text, effects);
                if limit_reached { self.end_at_limit(effects) } else { self.call_model(effects) }
            }
            Stop::MaxTokens => {
                self.cut_at_output_limit(reply.message, text, !calls.is_empty(), effects)
            }
            Stop::Refusal => {
                effects.push(Effect::MessageDropped { reason: "the model refused".into() });
                self.end(EndReason::Failed, "The model refused to answer. Nothing was run. Say it differently, or choose another model with Agent: choose model.".into(), effects);
            }
            Stop::ContextOverflow => self.failed(
                Failure {
                    kind: FailureKind::ContextOverflow,
                    message: "The conversation no longer fits the model's context".into(),
                    hint: String::new(),
                    retry_after_ms: None,
                },
                effects,
            ),
            Stop::Other(reason) => {
                self.say(without_calls(reply.message), text, effects);
                effects.push(Effect::CallsDropped);
                self.end(EndReason::Failed, format!("The model stopped for a reason Cairn does not know ({reason}). Nothing further was run."), effects);
            }
        }
    }

    /// A call that was cut must not run; the model is asked to write less at once, twice at most.
    fn cut_at_output_limit(
        &mut self,
        message: AssistantMessage,
        text: String,
        in_call: bool,
        effects: &mut Vec<Effect>,
    ) {
        const MOST_SPLITS: u32 = 2;
        self.say(without_calls(message), text, effects);
        if in_call {
            effects.push(Effect::CallsDropped);
        }
        let Some(turn) = &mut self.turn else { return };
        turn.rounds += 1;
        if in_call && turn.splits < MOST_SPLITS && turn.rounds < self.settings.max_rounds {
            turn.splits += 1;
            let note = Note {
                kind: NoteKind::Notice,
                text: "Your last tool call was cut off at the output limit and was not run. Do the same in smaller steps: write less text in each call.".into(),
            };
            effects.push(Effect::NoteAdded(note.clone()));
            self.conversation
                .push(Item::User(UserMessage { text: String::new(), notes: vec![note] }));
            self.call_model(effects);
        } else {
            self.end(EndReason::Limit, "The answer was cut at the output limit. Raise cairn.model.maxTokens, or reply to let the agent go on.".into(), effects);
        }
    }

    /// Makes a message part of the conversation. One without content is not stored: providers
    /// refuse an empty assistant message.
    fn say(&mut self, message: AssistantMessage, text: String, effects: &mut Vec<Effect>) {
        if !message.blocks.is_empty() {
            self.conversation.push(Item::Assistant(message));
        }
        effects.push(Effect::MessageDone { text });
    }

    fn failed(&mut self, failure: Failure, effects: &mut Vec<Effect>) {
        let compacting = self.is_compacting();
        if failure.kind == FailureKind::ContextOverflow && !compacting {
            return self.overflow(failure, effects);
        }
        let Some(turn) = &mut self.turn else { return };
        effects.push(Effect::MessageDropped { reason: failure.message.clone() });
        match turn.retries.next(&failure) {
            Some((attempt, delay_ms)) => {
                let request = self.requests;
                turn.phase = Phase::Waiting { request };
                effects.push(Effect::Wait { request, attempt, delay_ms, reason: failure.message });
            }
            None if compacting => self.summary_failed(&failure, effects),
            None => {
                let mut summary = format!("{}.", failure.message.trim_end_matches('.'));
                if let Some(wait) = retry::too_long(&failure) {
                    summary.push_str(&format!(
                        " It asks to wait {} s before the next try, which is longer than Cairn waits by itself: reply then.",
                        wait.div_ceil(1000)
                    ));
                }
                if !failure.hint.is_empty() {
                    summary.push(' ');
                    summary.push_str(&failure.hint);
                }
                self.end(EndReason::Failed, summary, effects);
            }
        }
    }

    fn tool_done(
        &mut self,
        call_id: &str,
        content: String,
        is_error: bool,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn else { return };
        if batch.complete(call_id, content, is_error) {
            self.advance(effects);
        }
    }

    /// Starts what may start now; when every call has its result, closes the round.
    fn advance(&mut self, effects: &mut Vec<Effect>) {
        loop {
            let Some(Turn { phase: Phase::Tools(batch), repeat, .. }) = &mut self.turn else {
                return;
            };
            let Some(call) = batch.next(&self.settings) else { break };
            let plan_item = self.plan.in_progress().map(|item| item.id.clone());
            let repeats = repeat.count(&call);
            if repeats >= tools::REPEATS_STOP {
                return self.stop_loop(&call, effects);
            }
            match tools::answer_without_running(&call, &self.settings) {
                tools::Answer::Run => effects.push(Effect::RunTool { call, plan_item }),
                tools::Answer::Wrong(content) => {
                    let content = marks::escape(&content).into_owned();
                    batch.answer(&call.id, content.clone(), tools::IsError::Yes);
                    effects.push(Effect::ToolAnswered { call, plan_item, content, is_error: true });
                }
                tools::Answer::Todo(dialect, arguments) => {
                    self.todo(call, dialect, &arguments, effects)
                }
            }
        }
        if matches!(&self.turn, Some(Turn { phase: Phase::Tools(batch), .. }) if batch.is_done()) {
            self.close_round(effects);
        }
    }

    fn todo(
        &mut self,
        call: ToolCall,
        dialect: ListDialect,
        arguments: &serde_json::Value,
        effects: &mut Vec<Effect>,
    ) {
        let outcome = plan::apply_call(&mut self.plan, dialect, arguments);
        let mut content = marks::escape(&outcome.content).into_owned();
        let mut dropped = None;
        if let Some(accepted) = outcome.accepted {
            if let Some(reminder) = self.ask_for_proof(&accepted, effects) {
                content.push_str(&reminder);
            }
            dropped = Some(accepted.dropped);
        }
        let plan_item = self.plan.in_progress().map(|item| item.id.clone());
        if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
            batch.answer(&call.id, content.clone(), tools::IsError::from(outcome.is_error));
        }
        if let Some(dropped) = dropped {
            self.plan_updated(dropped, effects);
        }
        effects.push(Effect::ToolAnswered { call, plan_item, content, is_error: outcome.is_error });
    }

    /// The task graph is kept by the shell; what is shown of it follows.
    fn task_list(&mut self, items: Vec<TodoItem>, updated: bool, effects: &mut Vec<Effect>) {
        if !matches!(&self.turn, Some(Turn { phase: Phase::Tools(_), .. })) {
            return;
        }
        if updated {
            let accepted = self.plan.show(items);
            let postscript = self.ask_for_proof(&accepted, effects);
            if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
                batch.postscript = postscript;
            }
            self.plan_updated(accepted.dropped, effects);
        } else if items != self.plan.items() {
            self.plan.show(items);
            self.publish_plan(Vec::new(), effects);
        }
    }

    /// What to add to the result of the call that completed the list.
    fn ask_for_proof(&mut self, accepted: &Accepted, effects: &mut Vec<Effect>) -> Option<String> {
        let text = self.reminders.verification(&self.settings.reminders, &self.plan, accepted)?;
        let note = Note { kind: NoteKind::Reminder, text };
        let addition = format!("\n\n{}", note.wire_text());
        effects.push(Effect::NoteAdded(note));
        Some(addition)
    }

    fn plan_updated(&mut self, dropped: Vec<String>, effects: &mut Vec<Effect>) {
        if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
            batch.plan_updated = true;
        }
        self.publish_plan(dropped, effects);
    }

    fn publish_plan(&mut self, dropped: Vec<String>, effects: &mut Vec<Effect>) {
        self.panel = if self.plan.is_empty() { Panel::Hidden } else { Panel::Expanded };
        effects.push(Effect::PublishPlan { dropped });
    }

    fn close_round(&mut self, effects: &mut Vec<Effect>) {
        let Some(turn) = &mut self.turn else { return };
        let Phase::Tools(batch) = &mut turn.phase else { return };
        let results = batch.take_results();
        let updated = batch.plan_updated;
        let multi_step = turn.tool_calls >= MULTI_STEP_CALLS;
        let rounds = turn.rounds;
        let mut notes = Vec::new();
        if turn.repeat.take_warning() {
            notes.push(Note { kind: NoteKind::Notice, text: tools::REPEAT_WARNING.into() });
        }
        notes.extend(turn.steers.drain(..).map(|text| Note { kind: NoteKind::Steer, text }));
        self.take_notices(&mut notes);
        if let Some(text) =
            self.reminders.after_round(&self.settings.reminders, &self.plan, updated, multi_step)
        {
            notes.push(Note { kind: NoteKind::Reminder, text });
        }
        effects.extend(notes.iter().cloned().map(Effect::NoteAdded));
        self.conversation.push(Item::ToolResults { results, notes });
        if rounds >= self.settings.max_rounds {
            self.end_at_limit(effects)
        } else {
            self.call_model(effects)
        }
    }

    fn end_at_limit(&mut self, effects: &mut Vec<Effect>) {
        let limit = self.settings.max_rounds;
        self.end(EndReason::Limit, format!("Stopped after {limit} rounds. Reply to let the agent go on, or raise cairn.limits.rounds."), effects);
    }

    fn stop_loop(&mut self, call: &ToolCall, effects: &mut Vec<Effect>) {
        let name = call.name.clone();
        self.pair_open_calls("Not run: the same call was made again and again.");
        self.end(EndReason::Failed, format!("Stopped: the model kept making the same call of {name}. Reply with a hint on what to do differently."), effects);
    }

    fn cancel(&mut self, effects: &mut Vec<Effect>) {
        let Some(turn) = &self.turn else { return };
        match &turn.phase {
            Phase::Calling { text, .. } => {
                let said = text.trim_end().to_owned();
                if said.is_empty() {
                    effects.push(Effect::MessageDropped { reason: "stopped".into() });
                } else {
                    let message = AssistantMessage { blocks: vec![Block::Text(said.clone())] };
                    self.say(message, said, effects);
                }
            }
            Phase::Waiting { .. } | Phase::PendingEdits { .. } => {}
            Phase::Tools(_) => self.pair_open_calls(
                "Cancelled by the user; it may have had effects before it was stopped.",
            ),
        }
        self.end(EndReason::Cancelled, "Stopped.".into(), effects);
    }

    /// Gives every call that has no result this one, so that the conversation stays legal.
    fn pair_open_calls(&mut self, content: &str) {
        if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
            let results = batch.close(content);
            self.conversation.push(Item::ToolResults { results, notes: Vec::new() });
        }
    }

    fn push_steers(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        if turn.steers.is_empty() {
            return false;
        }
        let text = std::mem::take(&mut turn.steers).join("\n\n");
        let mut notes = Vec::new();
        self.take_notices(&mut notes);
        effects.push(Effect::NoteAdded(Note { kind: NoteKind::Steer, text: text.clone() }));
        effects.extend(notes.iter().cloned().map(Effect::NoteAdded));
        let text = marks::escape(&text).into_owned();
        self.conversation.push(Item::User(UserMessage { text, notes }));
        true
    }

    fn take_notices(&mut self, notes: &mut Vec<Note>) {
        notes.extend(self.notices.drain(..).map(|text| Note { kind: NoteKind::Notice, text }));
    }

    fn end(&mut self, reason: EndReason, summary: String, effects: &mut Vec<Effect>) {
        let Some(turn) = self.turn.take() else { return };
        self.ended_usage = (turn.rounds, turn.usage);
        self.notices.extend(turn.steers.iter().map(|text| memory::unheard(text)));
        if !turn.compaction.is_all() {
            self.interrupted = !matches!(reason, EndReason::Completed | EndReason::NeedsInput);
        }
        if self.panel == Panel::Expanded {
            self.panel = Panel::Collapsed;
            effects.push(Effect::PublishPlan { dropped: Vec::new() });
        }
        effects.push(Effect::EndTurn(End { reason, summary }));
    }
}

/// From here on a turn counts as multi-step even without a plan.
const MULTI_STEP_CALLS: u32 = 3;

fn empty_answer() -> Failure {
    Failure {
        kind: FailureKind::Protocol,
        message: "The model answered with nothing".into(),
        hint: "Try again, or choose another model with Agent: choose model.".into(),
        retry_after_ms: None,
    }
}

/// A provider reports `ToolUse` where its format asks for the calls to be run, and nothing else.
fn calls_without_asking(stop: &Stop) -> Failure {
    let how = if *stop == Stop::Pause { "paused" } else { "ended its turn" };
    Failure {
        kind: FailureKind::Protocol,
        message: format!("The model called a tool but {how} in the same answer; nothing was run"),
        hint: "The model server breaks the rules of its format. Try again, or choose another model with Agent: choose model.".into(),
        retry_after_ms: None,
    }
}

fn without_calls(message: AssistantMessage) -> AssistantMessage {
    let blocks = message
        .blocks
        .into_iter()
        .filter(|block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            // Thinking without the call it led to is refused by the provider that made it.
            Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::Reasoning { .. }
            | Block::ToolCall(_) => false,
        })
        .collect();
    AssistantMessage { blocks }
}

#[cfg(test)]
mod tests;
