//! Interfaces between the engine and what is around it.
//!
//! [`Editor`] is what the engine needs from an editor. [`Edits`], [`Subagents`] and [`Notices`] are
//! what the runner, the tools and the hooks need from the engine. Nobody on either side knows the
//! type on the other.

use std::{fmt, path::PathBuf, sync::Arc};

use cairn_core::{
    policy::Access, prompt::instructions::Instructions, review::Origin, subagent::SubagentReport,
    text::Text, turn::Input,
};
use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, ApproveParams, ApproveResult, Notice, SaveParams, SaveResult,
    ToolState,
};
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{approval::definitions::Definitions, workspace::Workspace};

/// Editor of the user. The LSP outbox and the headless run implement it; it knows no session and no
/// tool.
pub trait Editor: Send + Sync + 'static {
    /// Tell the user something. Never blocks; an editor that is gone swallows it.
    fn notify(&self, notice: Notice);

    /// Change one file. A refusal without a `reason` says that no answer came within a bound: the
    /// edit may still be applied. `applied: true` is a claim; the engine believes the text.
    /// `workspace`: for an editor whose buffer is the disk.
    fn apply(
        &self,
        params: ApplyEditParams,
        workspace: Arc<Workspace>,
    ) -> BoxFuture<'static, ApplyEditResult>;

    fn save(&self, params: SaveParams) -> BoxFuture<'static, SaveResult>;

    /// Ask the user; pending for as long as they think. An editor that cannot ask, or is gone,
    /// answers `Deny` with the reason in `feedback`.
    fn approve(&self, params: ApproveParams) -> BoxFuture<'static, ApproveResult>;
}

/// SHA-256 of a text as UTF-8, in hexadecimal digits: the name of a text in an [`Editor`]'s edits.
pub fn text_hash(text: &Text) -> String {
    let mut hasher = Sha256::new();
    for chunk in text.chunks() {
        hasher.update(chunk.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Changes of files for tools: only through this, never on disk.
pub trait Edits: Send + Sync + 'static {
    /// Proposes to change one file, to delete or to move it. If the live text is another than the
    /// proposal's `base` by now, the answer is `Stale` and nothing was changed.
    fn propose(&self, proposal: Proposal) -> BoxFuture<'static, Proposed>;

    /// Makes sure that text the agent changed is on disk before a command reads it. Returns the
    /// paths (workspace-relative) that stay unsaved because they hold the user's own unsaved text.
    fn flush(&self) -> BoxFuture<'static, Vec<String>>;

    /// A command ran: files may have other texts by now.
    fn command_ran(&self);
}

/// A wanted change of one file.
#[derive(Debug, Clone)]
pub struct Proposal {
    pub path: PathBuf,
    /// The text the change was made from. `None`: the file must not exist yet.
    pub base: Option<Text>,
    pub wanted: Wanted,
    pub origin: Origin,
    pub policy: EditPolicy,
    /// Cancelled with the turn: a later proposal is refused.
    pub cancel: CancellationToken,
}

/// Wanted state of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    Text(String),
    Gone,
    /// The same text at another path, where nothing is.
    At(PathBuf),
}

/// Handling of an edit of the agent once it is in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditPolicy {
    /// It is a proposal, and the agent goes on.
    Propose,
    /// It is a proposal, and the agent waits until it is decided.
    Wait,
    /// It is accepted.
    Accept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposed {
    /// The text is there. Counts of lines for the title.
    Applied { added: u32, removed: u32 },
    /// Someone changed the text since it was read: read again and retry.
    Stale,
    /// The editor changed the text, but not to the one that was wanted. The user can reject it.
    Astray,
    /// The editor would not, with the reason.
    Refused(String),
    /// The editor did not apply it in time, with the reason. It may still do so.
    Late(String),
}

/// Subagents for tools.
pub trait Subagents: Send + Sync + 'static {
    /// Has a child do it, when there is room for one more. `None`: the turn is over.
    fn run(&self, request: SubagentRequest) -> BoxFuture<'static, Option<SubagentReport>>;
}

/// Task, tools and limits of a new subagent.
#[derive(Debug, Clone)]
pub struct SubagentRequest {
    /// In a few words, for people.
    pub title: String,
    pub prompt: String,
    pub tools: SubagentTools,
    pub max_rounds: Option<u32>,
    /// The call that starts it.
    pub origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentTools {
    Read,
    All,
}

/// News of a turn for its session: answers of the model, progress of calls, questions.
pub trait Notices: fmt::Debug + Send + Sync + 'static {
    /// Input of the turn machine. Ignored when the turn is over.
    fn input(&self, session: &str, turn: &str, input: Input);

    /// Progress of a call.
    fn tool(&self, session: &str, turn: &str, call_id: &str, update: ToolUpdate);

    /// Text for the user in a turn.
    fn tell(&self, session: &str, turn: &str, text: String);

    /// Asks the user. The sender is dropped without an answer when the turn ends. `access` is what a
    /// yes for the session is remembered by; it holds while the files behind a command stay as they are.
    fn ask(
        &self,
        params: ApproveParams,
        access: Access,
        definitions: Definitions,
    ) -> oneshot::Receiver<ApproveResult>;
}

/// Progress of a tool call, for the user.
#[derive(Debug, Clone, Default)]
pub struct ToolUpdate {
    pub state: Option<ToolState>,
    pub title: Option<String>,
    pub detail: Option<String>,
    pub uri: Option<String>,
    /// With the title: what the call is going to touch.
    pub access: Option<AccessKind>,
    /// With the final state: the file it changed.
    pub edited: Option<String>,
    /// With the final state: the text the model knows now.
    pub saw: Option<Saw>,
    /// With the final state: the instructions of the folders above that file.
    pub near: Vec<Instructions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Edit,
    Command,
}

/// A text of a file that a model has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saw {
    /// Canonical URI of the file.
    pub key: String,
    pub text: Text,
}
