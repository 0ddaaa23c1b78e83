//! The tools a model can call. Each parses its arguments, says what it will touch, and runs.
//!
//! Nothing is changed without an `Approved` value, and only `policy`'s verdict or the user's
//! answer makes one (in `approval`). Two kinds of failure: tell the model, or end the turn.

use std::{sync::Arc, time::Duration};

pub use cairn_core::policy::Access;
use cairn_core::{
    marks::ModelText, model::ToolSpec, plan::TodoItem, policy::command::CommandRules,
};
use cairn_protocol::Preview;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::approval::Approved;
use crate::{
    docs::Docs,
    exec::sandbox::{LeftBehind, SandboxConfig},
    hooks::HookContext,
    instructions::Sources,
    ports::{
        EditPolicy, Edits, Proposal, Proposed, Saw, SubagentRequest, SubagentTools, Subagents,
        Wanted,
    },
    store::{allowed::Allowed, journal::Writer},
    workspace::Workspace,
};
pub use searches::Searches;

mod arguments;
mod bash;
mod delete_file;
mod edit_file;
mod glob;
mod grep;
mod move_file;
mod propose;
mod read_file;
mod searches;
mod snapshot;
pub(crate) mod task;
pub mod tasks;
#[cfg(test)]
mod testing;
mod write_file;

/// Every tool that acts on the workspace, in the order the model is told of them.
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_file::ReadFile),
        Arc::new(glob::Glob),
        Arc::new(grep::Grep),
        Arc::new(edit_file::EditFile),
        Arc::new(write_file::WriteFile),
        Arc::new(delete_file::DeleteFile),
        Arc::new(move_file::MoveFile),
        Arc::new(bash::Bash),
        Arc::new(task::Task),
    ]
}

/// A kind of call.
pub trait Tool: Send + Sync + 'static {
    fn spec(&self) -> ToolSpec;

    /// Checks the arguments; an error names every wrong field and goes to the model.
    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure>;
}

/// A call whose arguments are right.
pub trait Call: Send + 'static {
    /// One line for people: `Read src/cart.mjs`, `Run npm test`.
    fn title(&self) -> String;
    fn access(&self) -> Access;
    /// What would become of a file, for a user who is asked. When another text is there by the
    /// time it runs, the call changes nothing. A call that cannot succeed asks nobody. Blocks.
    fn preview(&mut self, _context: &ToolContext) -> Result<Option<Preview>, ToolFailure> {
        Ok(None)
    }
    fn run(
        self: Box<Self>,
        context: ToolContext,
        approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>>;
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolOutput {
    /// For the model; bounded by the tool.
    pub content: ModelText,
    /// For people: bounded output, a diff summary. `None`: the title says it all.
    pub detail: Option<String>,
    /// The call did its work and the news is bad (a command that exited with 1).
    pub is_error: bool,
    /// The text of a file that the model knows now.
    pub saw: Option<Saw>,
    /// How the task graph stands, of a call that dealt with it.
    pub tasks: Option<TaskNews>,
    /// Control files that a command left; they are in quarantine.
    pub left: LeftBehind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNews {
    pub items: Vec<TodoItem>,
    /// The call was an update, not a look.
    pub updated: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ToolFailure {
    /// The model made a mistake or met an obstacle; it is told and goes on.
    #[error("{0}")]
    Tell(String),
    /// Cairn itself cannot go on; the turn fails.
    #[error("{0:#}")]
    Fatal(anyhow::Error),
}

impl ToolFailure {
    fn tell(message: impl ToString) -> Self {
        Self::Tell(message.to_string())
    }
}

/// What a running call may use.
#[derive(Clone)]
pub struct ToolContext {
    pub workspace: Arc<Workspace>,
    pub docs: Arc<Docs>,
    pub edits: Arc<dyn Edits>,
    /// Handling of the call's edits.
    pub edit_policy: EditPolicy,
    pub subagents: Arc<dyn Subagents>,
    /// Slots for searches.
    pub searches: Arc<Searches>,
    /// Cancelled with the turn.
    pub cancel: CancellationToken,
    /// Without it nothing but reading is allowed.
    pub trusted: bool,
    /// Makers of the files that instruct the agent.
    pub(crate) sources: Arc<Sources>,
    /// Which commands run unasked, and which never.
    pub commands: Arc<CommandRules>,
    /// What the user allowed for good; `None`: nothing is kept.
    pub allowed: Option<Allowed>,
    /// What commands run in.
    pub walls: SandboxConfig,
    /// Limit for a command.
    pub timeout: Duration,
    pub origin: cairn_core::review::Origin,
    /// The user's own commands around calls.
    pub(crate) hooks: Option<HookContext>,
    /// Where it is written that a call begins, before it has an effect.
    pub journal: Option<Arc<Writer>>,
}

impl SubagentTools {
    /// A child starts no children.
    pub fn have(self, name: &str) -> bool {
        match self {
            SubagentTools::Read => matches!(name, "read_file" | "glob" | "grep"),
            SubagentTools::All => name != task::NAME,
        }
    }
}
