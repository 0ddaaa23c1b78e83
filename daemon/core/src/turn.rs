//! The agent loop as a state machine: `step(input) -> effects`.
//!
//! A session holds the conversation, the plan and the reminder counters. A turn runs from a message
//! of the user to the end of the agent's work on it. A round is one answer of the model and the
//! results of its tool calls. The machine has no side effects: it returns effects, and the server
//! performs them and sends the outcomes as inputs. Inputs for a finished call or request are
//! ignored, so late ones do no harm.
//!
//! Invariant: tools run only after a `Finished` reply that asks for them.
//! Invariant: every tool call gets exactly one result, whatever happens, before the turn ends.

use std::collections::{HashMap, VecDeque};

use crate::{
    call_forms::{self, OfferedTool},
    conversation::{
        AssistantMessage, Attached, Block, Item, Note, NoteKind, ToolArguments, ToolCall,
        ToolResult, UserMessage,
    },
    marks,
    model::{Advice, Failure, FailureKind, ModelEvent, Reply, Stop, Usage},
    plan::{
        self, Accepted, Dialect, Plan, TodoItem,
        reminder::{ReminderSettings, ReminderState},
    },
};

mod context;
mod end;
mod memory;
mod question;
mod replies;
mod retry;
mod rounds;
mod signals;
mod tools;

pub use end::{End, EndCause, EndReason};
pub use memory::{Memo, Record, RestoredSession};
use question::asks_something;
pub use retry::MAX_SERVER_WAIT_MS;
use signals::Steering;
pub use signals::{Effect, Input};
use tools::Batch;

/// Settings of a session that may change between turns.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// Maximum number of answers with tool calls in one turn.
    pub max_rounds: u32,
    pub dialect: Dialect,
    pub reminders: ReminderSettings,
    /// Tools that the server can run. The machine runs the todo tool of a
    /// list dialect itself; the tools of the task graph are among these.
    pub tools: Vec<OfferedTool>,
    /// The turn ends with a plan for the user's approval: open items are not left work.
    pub plans_only: bool,
}

/// A conversation with its plan.
#[derive(Debug)]
pub struct Session {
    settings: TurnSettings,
    conversation: Vec<Item>,
    plan: Plan,
    /// The plan is shown whole, until the end of the turn that changed it.
    expanded: bool,
    reminders: ReminderState,
    /// Notices for the model, added at the next safe point.
    notices: Vec<String>,
    /// The last turn ended before its work was done.
    interrupted: bool,
    usage: Usage,
    /// Rounds and tokens of the last turn. The server reports them after the turn has ended.
    ended_usage: (u32, Usage),
    requests: u32,
    context: context::ContextState,
    turn: Option<Turn>,
    /// Number of items that [`Session::take_records`] has returned.
    recorded: usize,
    /// Memo that [`Session::take_records`] returned last.
    remembered: Memo,
    /// Effects of the step that runs.
    effects: Vec<Effect>,
}

#[derive(Debug, Default)]
struct Turn {
    rounds: u32,
    tool_calls: u32,
    /// The turn updated the plan, or made a call with effects.
    worked: bool,
    phase: Phase,
    steers: Vec<Steering>,
    usage: Usage,
    retries: retry::Retries,
    /// Number of times that the model was asked to write shorter calls.
    splits: u32,
    /// The newest answer had a call in its text.
    called_in_text: bool,
    repeat: tools::Repeat,
    compaction: context::CompactionState,
    /// Number of items in the conversation when the running request was made.
    asked_items: usize,
    /// State before images were left out, while it is not known whether the server refused these.
    tried_without_images: Option<context::WithImages>,
}

#[derive(Debug)]
enum Phase {
    /// Request number `request` is running. `text` is the text streamed so far.
    Calling {
        request: u32,
        text: String,
    },
    Waiting {
        request: u32,
    },
    Tools(Box<Batch>),
    /// The summary has arrived, or could not be made. The list of pending edits is requested.
    PendingEdits {
        summary: Option<String>,
    },
}

impl Default for Phase {
    fn default() -> Self {
        Self::Waiting { request: 0 }
    }
}

impl Session {
    pub fn new(settings: TurnSettings) -> Self {
        Self::restore(settings, RestoredSession::default())
    }

    /// Sets the settings of the next turn. A running turn keeps its own.
    pub fn configure(&mut self, settings: TurnSettings) {
        if self.turn.is_none() {
            self.settings = settings;
        }
    }

    /// Returns true if the plan is a list that each call replaces.
    pub fn keeps_a_list(&self) -> bool {
        matches!(self.settings.dialect, Dialect::List(_))
    }

    pub fn conversation(&self) -> &[Item] {
        &self.conversation
    }

    /// Returns the items of the plan. One in progress while no turn runs was begun.
    pub fn plan_items(&self) -> Vec<TodoItem> {
        self.plan.items().to_vec()
    }

    /// True from the first change of a plan in a turn to the end of the turn.
    pub fn is_expanded(&self) -> bool {
        self.expanded
    }

    pub fn is_running(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns the tokens of the whole session.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the rounds and tokens of the newest turn, also after its end.
    pub fn turn_usage(&self) -> (u32, Usage) {
        self.turn.as_ref().map_or(self.ended_usage, |turn| (turn.rounds, turn.usage))
    }

    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::UserMessage { text, attached } => self.start(text, attached),
            Input::Model { request, event } => self.model(request, event),
            Input::RetryDue { request } => {
                if matches!(&self.turn, Some(Turn { phase: Phase::Waiting { request: due }, .. }) if *due == request)
                {
                    self.call_model();
                }
            }
            Input::TaskList { items, updated } => self.task_list(items, updated),
            Input::ToolDone { call_id, content, is_error } => {
                self.tool_done(&call_id, content, is_error)
            }
            Input::Printed { call_id, text } => {
                if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
                    batch.printed(&call_id, &text);
                }
            }
            Input::Image { image } => {
                if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
                    batch.images.push(image);
                }
            }
            Input::SubagentSpent { usage } => {
                if let Some(turn) = &mut self.turn {
                    turn.usage += usage;
                    self.usage += usage;
                    self.effects.push(Effect::Spent);
                }
            }
            Input::Steer { text, attached } => {
                if let Some(turn) = &mut self.turn {
                    turn.steers.push(Steering { text, attached });
                }
            }
            Input::Notice { text } => self.notices.push(text),
            Input::Compact => self.compact_asked(),
            Input::PendingEdits { proposals } => self.compact(&proposals),
            Input::Cancel => self.cancel(),
        }
        std::mem::take(&mut self.effects)
    }

    fn start(&mut self, text: String, attached: Vec<Attached>) {
        if self.turn.is_some() {
            return;
        }
        self.reminders.turn_started();
        self.plan.turn_started();
        let mut notes = Vec::new();
        if std::mem::take(&mut self.interrupted) && self.plan.open_count() > 0 {
            let list = self.plan.render();
            self.notices
                .push(format!("The last turn ended before its work was done. The step in progress was begun, and may be done in part:\n{list}"));
        }
        self.take_notices(&mut notes);
        if let Some(text) = self.reminders.initial(&self.settings.reminders) {
            notes.push(Note::new(NoteKind::Reminder, text));
        }
        self.effects.extend(notes.iter().cloned().map(Effect::NoteAdded));
        self.conversation.push(Item::User(UserMessage { text, notes, attached }));
        self.turn = Some(Turn::default());
        self.call_model();
    }

    fn call_model(&mut self) {
        let compaction = self.ensure_capacity();
        let Some(turn) = &mut self.turn else { return };
        self.requests += 1;
        let request = self.requests;
        turn.phase = Phase::Calling { request, text: String::new() };
        turn.asked_items = self.conversation.len();
        self.effects.push(match compaction {
            None => Effect::CallModel { request },
            Some(why) => {
                Effect::Summarize { request, shortest: why == context::Compaction::Overflow }
            }
        });
    }

    fn end_at_limit(&mut self) {
        let limit = self.settings.max_rounds;
        self.end(EndCause::RoundLimit(limit));
    }

    fn cancel(&mut self) {
        let Some(turn) = &self.turn else { return };
        match &turn.phase {
            Phase::Calling { text, .. } => {
                let said = text.trim_end().to_owned();
                if said.is_empty() {
                    self.effects.push(Effect::MessageDropped { reason: "stopped".into() });
                } else {
                    let message = AssistantMessage { blocks: vec![Block::Text(said.clone())] };
                    self.say(message, said);
                }
            }
            Phase::Waiting { .. } | Phase::PendingEdits { .. } => {}
            Phase::Tools(_) => self.pair_open_calls(
                "Cancelled by the user; it may have had effects before it was stopped.",
            ),
        }
        self.end(End::new(EndReason::Cancelled, "Stopped."));
    }

    fn push_steers(&mut self) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        if turn.steers.is_empty() {
            return false;
        }
        let mut notes: Vec<Note> = turn.steers.drain(..).map(Note::from).collect();
        self.take_notices(&mut notes);
        self.effects.extend(notes.iter().cloned().map(Effect::NoteAdded));
        self.conversation.push(Item::User(UserMessage { notes, ..UserMessage::default() }));
        true
    }

    fn take_notices(&mut self, notes: &mut Vec<Note>) {
        notes.extend(self.notices.drain(..).map(|text| Note::new(NoteKind::Notice, text)));
    }

    fn end(&mut self, end: impl Into<End>) {
        let Some(turn) = self.turn.take() else { return };
        self.restore_images(&turn);
        let mut end = end.into();
        end.open_items = match turn.worked && !self.settings.plans_only {
            true => self.plan.open_count() as u32,
            false => 0,
        };
        end.unchecked_edits = self.reminders.lacks_check();
        self.ended_usage = (turn.rounds, turn.usage);
        self.notices.extend(turn.steers.iter().map(memory::unheard));
        if !turn.compaction.only {
            self.interrupted = !matches!(end.reason, EndReason::Completed | EndReason::NeedsInput);
        }
        if std::mem::take(&mut self.expanded) {
            self.effects.push(Effect::PublishPlan { dropped: Vec::new() });
        }
        self.effects.push(Effect::EndTurn(end));
    }
}

#[cfg(test)]
mod tests;
