//! Records of a session, from which it is restored after its process has ended.
//!
//! The server writes records in the order in which they come and reads them back into a
//! [`RestoredSession`]. Must never make the model believe that a call did not run when it may have.

use serde::{Deserialize, Serialize};

use super::{
    Item, Phase, Session, ToolResult, Turn, TurnSettings, Usage, context::ContextState,
    signals::Steering,
};
use crate::{
    context::{Cost, Epoch, Meter, Shortened},
    conversation::Note,
    ids::CallId,
    plan::{Plan, reminder::ReminderState},
};

/// One record of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// Item added to the conversation.
    Item(Item),
    /// A call begins to run, and may have effects from here on. The server writes it durably before
    /// the call has any effect.
    Begun { call_id: CallId },
    /// A result whose round is not closed yet.
    Result(ToolResult),
    /// The conversation was shortened: another part of it is sent from here on. Comes after the
    /// digest.
    Shortened(Shortened),
    /// All other state; the newest one counts.
    Memo(Memo),
}

/// State of a session besides its conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Memo {
    pub plan: Plan,
    reminders: ReminderState,
    /// Notices and messages of the user that the model has not got yet.
    notices: Vec<String>,
    steers: Vec<Steering>,
    running: bool,
    interrupted: bool,
    usage: Usage,
    #[serde(default)]
    meter: Meter,
    #[serde(default)]
    cost: Cost,
}

impl Memo {
    /// Returns the messages of the user that the running turn has not read.
    pub fn unread(&self) -> impl ExactSizeIterator<Item = Note> {
        self.steers.iter().cloned().map(Note::from)
    }
}

/// Records read back, in order.
#[derive(Debug, Default)]
pub struct RestoredSession {
    conversation: Vec<Item>,
    /// Results of the newest message.
    results: Vec<ToolResult>,
    begun: Vec<CallId>,
    epoch: Epoch,
    digests: Vec<usize>,
    memo: Memo,
}

const MAY_HAVE_RUN: &str = "May have run: Cairn ended while this call ran, and its result is lost. It was not run again. Look at what it did before you repeat it.";
const NOT_RUN: &str = "Not run: Cairn ended before it began.";

impl RestoredSession {
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Item(item) => {
                self.conversation.push(item);
                self.results.clear();
                self.begun.clear();
            }
            Record::Begun { call_id } => self.begun.push(call_id),
            Record::Result(result) => self.results.push(result),
            Record::Shortened(Shortened { epoch, .. }) => {
                if epoch.start > self.epoch.start {
                    self.digests.push(epoch.start);
                }
                self.epoch = epoch;
                // Only until the next memo: the old count is of the former epoch.
                self.memo.meter = Meter::begin(epoch);
            }
            Record::Memo(memo) => self.memo = memo,
        }
    }

    pub fn conversation(&self) -> &[Item] {
        &self.conversation
    }

    /// Returns the results of the newest message, if the conversation lacks them.
    fn missing_results(&mut self) -> Option<Item> {
        let Some(Item::Assistant(message)) = self.conversation.last() else { return None };
        let results: Vec<ToolResult> = message
            .tool_calls()
            .map(|call| {
                let known = self.results.iter().position(|result| result.call_id == call.id);
                match known {
                    Some(at) => self.results.swap_remove(at),
                    None => ToolResult {
                        call_id: call.id.clone(),
                        content: if self.begun.contains(&call.id) { MAY_HAVE_RUN } else { NOT_RUN }
                            .into(),
                        is_error: true,
                    },
                }
            })
            .collect();
        if results.is_empty() {
            None
        } else {
            Some(Item::ToolResults { results, notes: Vec::new() })
        }
    }
}

impl Session {
    /// Restores a session from its records. A turn that ran has ended, and each of its open calls
    /// gets a result.
    pub fn restore(settings: TurnSettings, mut restored: RestoredSession) -> Self {
        let recorded = restored.conversation.len();
        let missing = restored.missing_results();
        restored.conversation.extend(missing);
        let remembered = restored.memo.clone();
        let Memo { plan, reminders, mut notices, steers, running, interrupted, usage, meter, cost } =
            restored.memo;
        let RestoredSession { epoch, digests, .. } = restored;
        notices.extend(steers.iter().map(unheard));
        Self {
            expanded: false,
            conversation: restored.conversation,
            recorded,
            plan,
            reminders,
            notices,
            interrupted: interrupted || running,
            usage,
            context: ContextState { epoch, digests, meter, cost, ..ContextState::default() },
            remembered,
            settings,
            ended_usage: (0, Usage::default()),
            requests: 0,
            turn: None,
            effects: Vec::new(),
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Restores an earlier plan. Does nothing while a turn runs.
    pub fn restore_plan(&mut self, plan: Plan) {
        if self.turn.is_none() {
            self.expanded = false;
            self.plan = plan;
        }
    }

    /// Returns the records that were added since the last call, in the order in which they must be
    /// written.
    pub fn take_records(&mut self) -> Vec<Record> {
        let items = self.conversation.get(self.recorded..).unwrap_or_default();
        let mut records: Vec<Record> = items.iter().cloned().map(Record::Item).collect();
        self.recorded = self.conversation.len();
        if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
            records.extend(batch.unrecorded.drain(..).map(Record::Result));
        }
        records.extend(self.context.unrecorded.drain(..).map(Record::Shortened));
        let memo = self.memo();
        if memo != self.remembered {
            records.push(Record::Memo(memo.clone()));
            self.remembered = memo;
        }
        records
    }

    fn memo(&self) -> Memo {
        Memo {
            plan: self.plan.clone(),
            reminders: self.reminders,
            notices: self.notices.clone(),
            steers: self.turn.as_ref().map(|turn| turn.steers.clone()).unwrap_or_default(),
            running: self.turn.is_some(),
            interrupted: self.interrupted,
            usage: self.usage,
            meter: self.context.meter,
            cost: self.context.cost,
        }
    }
}

/// Repeats a message of the user that the model has not read.
pub(super) fn unheard(steering: &Steering) -> String {
    let said = Note::from(steering.clone());
    format!("The user had also said: {}", said.wire_text())
}
