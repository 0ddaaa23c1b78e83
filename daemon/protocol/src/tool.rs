//! Tool calls of the model, as the user sees them.

use macro_rules_attribute::apply;

use crate::{ApprovalDecision, ParentCall, Range, UiMessage};

/// Tool call of the model.
#[apply(wire)]
#[derive(Default)]
pub struct ToolNotification {
    pub session_id: String,
    pub turn_id: String,
    pub rev: u32,
    pub call_id: String,
    pub name: String,
    /// One line, such as `Read src/cart.mjs` or `Run npm test`. Code `named`: the name of the tool,
    /// until the arguments of the call are read.
    pub title: Box<UiMessage>,
    pub state: ToolState,
    /// Plan item in progress when the call was made.
    pub plan_item: Option<String>,
    /// Bounded text: output of a command, or the whole command. Of a failed or declined call: the text
    /// that the model got, word for word and so in English.
    pub detail: Option<String>,
    /// File that the call touched.
    pub uri: Option<String>,
    /// For a subagent's call: the call that started the subagent.
    pub parent: Option<ParentCall>,
    /// Effect that the call is about to have, or had; absent for an unknown tool and in calls of
    /// earlier versions.
    pub tool_kind: Option<ToolKind>,
    /// File that the call is about, and the lines that it read.
    pub target: Option<ToolTarget>,
    /// Numbers about what it did.
    pub stats: Option<ToolStats>,
    /// Time at which it began to run, in milliseconds since 1970.
    #[ts(optional, type = "number")]
    pub started_at: Option<u64>,
    /// Time at which it was over, likewise.
    #[ts(optional, type = "number")]
    pub ended_at: Option<u64>,
    /// Decision that let it run, or not; absent for a call that needs none.
    pub decision: Option<Box<CallDecision>>,
    /// Plan items that this call completed, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<CompletedItem>>")]
    pub completed: Vec<CompletedItem>,
}

/// Plan item that a call completed. Its text is that of this time: the item may have left the plan since.
#[apply(wire)]
pub struct CompletedItem {
    pub id: String,
    pub content: String,
    /// Number of completed items of the plan, with this one.
    pub place: u32,
    /// Number of items of the plan.
    pub total: u32,
}

/// Decision about a tool call.
#[apply(wire)]
pub struct CallDecision {
    pub decision: ApprovalDecision,
    pub by: DecidedBy,
    /// Words of the user to the model.
    pub words: Option<String>,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub at: u64,
}

/// Origin of a decision about a tool call.
#[apply(wire)]
#[derive(Copy)]
pub enum DecidedBy {
    /// Answer to a question about this call.
    Answer,
    /// Earlier answer for the whole session.
    Session,
    /// Rule of an earlier "always".
    Rule,
    /// Options of a run in which nobody can answer, as `cairn run` without a terminal.
    Nobody,
}

/// Effect of a tool call.
#[apply(wire)]
#[derive(Copy)]
pub enum ToolKind {
    Read,
    /// Searches texts, or names of files.
    Search,
    Edit,
    Create,
    Delete,
    Move,
    /// Runs a command.
    Run,
    /// Reads or changes the plan.
    Plan,
    /// Starts a subagent.
    Task,
    /// Asks the user.
    Ask,
}

/// Part of a file.
#[apply(wire)]
pub struct ToolTarget {
    pub uri: String,
    /// Whole lines. Absent: the file as a whole.
    pub range: Option<Range>,
}

/// Numbers about a tool call that is over; each is absent where it has no meaning.
#[apply(wire)]
#[derive(Copy, Default)]
pub struct ToolStats {
    /// Lines that an edit added.
    pub added: Option<u32>,
    /// Lines that an edit removed.
    pub removed: Option<u32>,
    /// Lines or files that a search found.
    pub matches: Option<u32>,
    /// Lines that were read.
    pub lines: Option<u32>,
    /// Exit code of a command; absent if it was ended by a signal.
    pub exit_code: Option<i32>,
}

#[apply(wire)]
#[derive(Copy, Default)]
pub enum ToolState {
    #[default]
    Queued,
    AwaitingApproval,
    Running,
    Done,
    Failed,
    Declined,
    Cancelled,
}

impl ToolState {
    pub fn is_over(self) -> bool {
        match self {
            ToolState::Queued | ToolState::AwaitingApproval | ToolState::Running => false,
            ToolState::Done | ToolState::Failed | ToolState::Declined | ToolState::Cancelled => {
                true
            }
        }
    }
}

/// Output of a running command, as text without control characters. Sent only to a client that
/// asked for it with `experimental.cairn.output` at `initialize`.
#[apply(wire)]
pub struct OutputNotification {
    pub session_id: String,
    pub turn_id: String,
    pub call_id: String,
    /// Number of this piece, from 0. A missing number stands for output that came too fast and was
    /// left out; the `detail` of the call has it if it fits there.
    pub seq: u32,
    pub text: String,
}
