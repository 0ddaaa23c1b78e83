//! Interfaces between the engine and its environment.
//!
//! The engine uses an editor through [`Editor`]. The runner, the tools and the hooks use the engine
//! through [`Edits`], [`Subagents`] and [`TurnMailbox`]. No side knows the implementing type of the
//! other.

use std::{fmt, ops::Range, path::PathBuf, sync::Arc};

use cairn_core::{
    ids::{CallId, FileKey, SessionId, TurnId},
    policy::{Access, AccessKind},
    prompt::instructions::Instructions,
    review::Origin,
    subagent::SubagentReport,
    text::Text,
    turn::Input,
};
use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, ApproveParams, ApproveResult, AskParams, CallDecision,
    EditProblem, Notice, SaveParams, SaveResult, ToolKind, ToolLabel, ToolState, ToolStats,
    TurnNotice,
};
use futures_util::future::{BoxFuture, Shared};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::workspace::Workspace;

/// Editor of the user. The LSP outbox and the headless run implement it; it knows no session and no
/// tool.
pub trait Editor: Questions {
    /// Sends a notice to the user. Never blocks; a closed editor drops it.
    fn notify(&self, notice: Notice);

    /// Changes one file. A refusal without a `reason` and a `message` means a timeout: the edit
    /// may still be applied. The engine does not rely on `applied: true` but on the text. An applied edit with the
    /// `reason` `Closed` was made on disk, in `workspace`.
    fn apply(
        &self,
        params: ApplyEditParams,
        workspace: Arc<Workspace>,
    ) -> BoxFuture<'static, ApplyEditResult>;

    fn save(&self, params: SaveParams) -> BoxFuture<'static, SaveResult>;

    /// Asks the user and waits without a limit. An editor that cannot ask, or is closed, answers
    /// `Deny` with the reason in `feedback`.
    fn approve(&self, params: ApproveParams) -> BoxFuture<'static, ApproveResult>;
}

/// Questions of the agent to the user.
pub trait Questions: Send + Sync + 'static {
    /// Asks the user and waits without a limit.
    fn ask(&self, params: AskParams) -> BoxFuture<'static, UserAnswer>;
}

/// Answer of the user to a question of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAnswer {
    Text(String),
    Dismissed,
    /// The client cannot ask, or is closed.
    Unavailable,
}

/// SHA-256 of a text as UTF-8, in hexadecimal digits: identifies the expected text in an edit.
pub fn text_hash(text: &Text) -> String {
    let mut hasher = Sha256::new();
    for chunk in text.chunks() {
        hasher.update(chunk.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Changes of files by tools, which never write to disk themselves.
pub trait Edits: Send + Sync + 'static {
    /// Proposes to change, delete or move one file. Answers `Stale` without a change if the live
    /// text differs from the proposal's `base`.
    fn propose(&self, proposal: Proposal) -> BoxFuture<'static, Proposed>;

    /// Saves files that the agent changed before a command reads them. Returns the
    /// workspace-relative paths that stay unsaved, because they hold unsaved text of the user.
    fn flush(&self) -> BoxFuture<'static, Vec<String>>;

    /// Reports that a command ran and files may have changed.
    fn on_command_end(&self);
}

/// Resolves when a record is on the disk, or with the reason why it is not.
pub type Saved = Shared<BoxFuture<'static, Result<(), String>>>;

/// Proposed change of one file.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub path: PathBuf,
    /// The text before the change. `None`: the file must not exist yet.
    pub base: Option<Text>,
    pub wanted: Wanted,
    pub origin: Origin,
    pub policy: EditPolicy,
    /// Record that the call began. The editor gets the change after it.
    pub begun: Saved,
    /// Token of the turn: after its cancellation the proposal is refused.
    pub cancel: CancellationToken,
}

/// Proposed state of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    Text(String),
    Gone,
    /// The same text at another path, which must be free.
    At(PathBuf),
}

/// Handling of an edit of the agent once it is in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditPolicy {
    /// Proposes the edit; the agent continues at once.
    Propose,
    /// Proposes the edit; the agent waits for the decision.
    Wait,
    /// Accepts the edit.
    Accept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposed {
    /// The file has the new text. Line counts for the title of the call.
    Applied { added: u32, removed: u32 },
    /// The text changed after it was read: read again and retry.
    Stale,
    /// The editor changed the text to something else than the edit. The user can reject it.
    Astray,
    /// The edit was refused.
    Refused(EditProblem),
    /// The editor did not apply it in time. It may still do so.
    Late(EditProblem),
}

/// Subagents for tools.
pub trait Subagents: Send + Sync + 'static {
    /// Runs a subagent as soon as the limit of running ones allows it. `None`: the turn has ended.
    fn run(&self, request: SubagentRequest) -> BoxFuture<'static, Option<SubagentReport>>;
}

/// Task, tools and limits of a new subagent.
#[derive(Debug, Clone)]
pub struct SubagentRequest {
    /// Short title for the user.
    pub title: String,
    pub prompt: String,
    pub tools: SubagentTools,
    pub max_rounds: Option<u32>,
    /// Origin of the `task` call.
    pub origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentTools {
    Read,
    All,
}

/// News of a turn for its session.
#[derive(Debug)]
pub(crate) enum TurnNews {
    /// Input for the turn machine. Ignored after the end of the turn.
    Input(Input),
    /// Progress of a call.
    Tool {
        call_id: CallId,
        update: Box<ToolUpdate>,
    },
    /// Piece of the output of a running command.
    Output {
        call_id: CallId,
        seq: u32,
        text: String,
    },
    /// The text that streamed is due for the journal.
    StreamDue,
    /// Notice for the user.
    Tell(TurnNotice),
    Ask(Box<OpenQuestion>),
}

/// Question of a call to the user. The sender is dropped without an answer when the turn ends. An
/// approval for the session is keyed by `access`.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    pub(crate) params: ApproveParams,
    pub(crate) access: Access,
    /// File behind a command that the agent changed since the user allowed it: an approval for the
    /// session does not hold.
    pub(crate) changed: Option<String>,
    pub(crate) reply: oneshot::Sender<ApproveResult>,
}

/// Sender of the news of one turn.
#[derive(Debug, Clone)]
pub(crate) struct TurnMailbox {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) mailbox: Mailbox<(SessionId, TurnId, TurnNews)>,
}

impl TurnMailbox {
    pub(crate) fn send(&self, news: TurnNews) {
        self.mailbox.send((self.session.clone(), self.turn.clone(), news));
    }

    pub(crate) fn input(&self, input: Input) {
        self.send(TurnNews::Input(input));
    }
}

/// Sender of events of one component to the hub's loop, for tasks and ports.
pub(crate) struct Mailbox<E>(Arc<dyn Fn(E) + Send + Sync>);

impl<E> Mailbox<E> {
    pub(crate) fn new(send: impl Fn(E) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    /// Sends an event. Does nothing after the hub has ended.
    pub(crate) fn send(&self, event: E) {
        (self.0)(event);
    }
}

impl<E> Clone for Mailbox<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E> fmt::Debug for Mailbox<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mailbox")
    }
}

/// Progress of a tool call, for the user.
#[derive(Debug, Clone, Default)]
pub struct ToolUpdate {
    pub state: Option<ToolState>,
    /// Title of the call.
    pub label: Option<ToolLabel>,
    pub detail: Option<String>,
    pub uri: Option<String>,
    /// Sent as soon as it is known whether the call may run.
    pub decision: Option<Box<CallDecision>>,
    /// Sent if it is another than that of the tool.
    pub kind: Option<ToolKind>,
    /// Sent with the final state: the lines that the call read, counted from 0, without the last.
    pub lines: Option<Range<u32>>,
    /// Sent with the final state.
    pub stats: Option<ToolStats>,
    /// Sent with the label: files that the call is about to change.
    pub access: Option<AccessKind>,
    /// Sent with the final state: the changed file.
    pub edited: Option<String>,
    /// Sent with the final state: the text that the model has now read.
    pub read_text: Option<ReadText>,
    /// Sent with the final state: the instructions of the folders above that file.
    pub near: Vec<Instructions>,
}

/// Text of a file that a model has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadText {
    pub key: FileKey,
    pub text: Text,
}
