//! Tools that a model can call. Each parses its arguments, declares its [`Access`] and runs.
//!
//! No tool changes anything without an [`Approved`] value, which `approval` makes from the policy's verdict or
//! the user's answer. A failure is reported to the model or ends the turn.

use std::{ops::Range, sync::Arc};

pub use cairn_core::policy::Access;
use cairn_core::{
    conversation::Attached, marks::ModelText, model::ToolSpec, plan::TodoItem,
    policy::command::CommandRules,
};
use cairn_protocol::{Preview, ToolKind, ToolLabel, ToolStats};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::approval::Approved;
use crate::{
    approval::ChangedFiles,
    docs::Docs,
    exec::{
        CommandLimits,
        live::LiveOutput,
        sandbox::{QuarantineReport, SandboxConfig},
    },
    hooks::HookContext,
    instructions::Sources,
    ports::{
        EditPolicy, Edits, Proposal, Proposed, Questions, ReadText, SubagentRequest, SubagentTools,
        Subagents, Wanted,
    },
    processes::{OngoingProcess, Processes},
    store::{allowed::Allowed, journal::Writer},
    workspace::Workspace,
};
use arguments::ArgumentReader;
pub use failure::ToolFailure;
pub use searches::Searches;

mod arguments;
pub(crate) mod ask_user;
mod bash;
mod delete_file;
mod edit_file;
mod edited_lines;
mod failure;
mod glob;
mod grep;
pub(crate) mod label;
mod move_file;
mod outside;
mod process_input;
mod process_output;
mod process_stop;
mod processes;
mod propose;
mod read_file;
mod searches;
mod snapshot;
pub(crate) mod task;
pub mod tasks;
#[cfg(test)]
mod testing;
mod write_file;

/// Every tool that acts on the workspace, in the order in which the model gets them.
pub fn all(limits: CommandLimits) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_file::ReadFile),
        Arc::new(glob::Glob),
        Arc::new(grep::Grep),
        Arc::new(edit_file::EditFile),
        Arc::new(write_file::WriteFile),
        Arc::new(delete_file::DeleteFile),
        Arc::new(move_file::MoveFile),
        Arc::new(bash::Bash { limits }),
        Arc::new(process_output::ProcessOutput),
        Arc::new(process_input::ProcessInput),
        Arc::new(process_stop::ProcessStop),
        Arc::new(task::StartSubagent),
        Arc::new(ask_user::AskUser),
    ]
}

/// Tool with its specification and the parser of its arguments.
pub trait Tool: Send + Sync + 'static {
    fn spec(&self) -> ToolSpec;
    /// Effect of its calls, for the user. A call may have another one.
    fn kind(&self) -> ToolKind;

    /// Parses the arguments. An error names every wrong field and goes to the model.
    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure>;
}

/// Call with valid arguments.
pub trait Call: Send + 'static {
    /// Title for people, as a code. The words of the model among its arguments are bounded.
    fn label(&self) -> ToolLabel;
    fn access(&self) -> Access;
    /// Change of a file, to be shown with the question. The call changes nothing if the file has
    /// another text when it runs. An error skips the question. Blocks.
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
    /// Text for the model; bounded by the tool.
    pub content: ModelText,
    /// Text for people: bounded output, a diff summary. `None`: the title is enough.
    pub detail: Option<String>,
    /// The call ran and reports a failure, such as a command with exit code 1.
    pub is_error: bool,
    /// Effect of the call, if it is another than that of its tool.
    pub kind: Option<ToolKind>,
    /// Lines that were read, counted from 0, without the last.
    pub lines: Option<Range<u32>>,
    pub stats: Option<ToolStats>,
    /// Text of a file that the model has read or written.
    pub read_text: Option<ReadText>,
    /// State of the task graph after a call that used it.
    pub tasks: Option<TaskNews>,
    /// Control files that a command made or changed; they are in quarantine.
    pub left: QuarantineReport,
    /// Process that the call left.
    pub ongoing: Option<OngoingProcess>,
    /// Image that the model gets with the result.
    pub image: Option<Attached>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNews {
    pub items: Vec<TodoItem>,
    /// The call changed the graph.
    pub updated: bool,
}

/// Resources of a running call.
#[derive(Clone)]
pub struct ToolContext {
    pub workspace: Arc<Workspace>,
    pub docs: Arc<Docs>,
    pub edits: Arc<dyn Edits>,
    /// Handling of the call's edits.
    pub edit_policy: EditPolicy,
    pub subagents: Arc<dyn Subagents>,
    pub questions: Arc<dyn Questions>,
    /// Slots for searches.
    pub searches: Arc<Searches>,
    /// Cancelled with the turn.
    pub cancel: CancellationToken,
    /// True if the user trusts the workspace. Otherwise only reading is allowed.
    pub trusted: bool,
    /// A person answers questions.
    pub is_answered: bool,
    /// The model takes images.
    pub reads_images: bool,
    /// Authors of instruction files.
    pub(crate) sources: Arc<Sources>,
    /// Rules for commands that run without approval, and for those that never run.
    pub commands: Arc<CommandRules>,
    /// Stored "always" rules. `None`: none can be stored.
    pub allowed: Option<Allowed>,
    /// Files that the agent changed since the user allowed a command.
    pub changed: Arc<ChangedFiles>,
    /// Sandbox of commands.
    pub sandbox_config: SandboxConfig,
    /// Time limits of a command.
    pub command_limits: CommandLimits,
    /// Processes of all sessions.
    pub processes: Arc<Processes>,
    /// Gets the output of a command while it runs.
    pub live: Option<LiveOutput>,
    pub origin: cairn_core::review::Origin,
    /// The user's hooks around calls.
    pub(crate) hooks: Option<HookContext>,
    /// Journal that records the start of a call before it has an effect.
    pub journal: Option<Arc<Writer>>,
}

impl SubagentTools {
    /// True if a subagent has the tool of this name. Subagents start no subagents and ask no
    /// questions.
    pub fn have(self, name: &str) -> bool {
        match self {
            SubagentTools::Read => matches!(name, "read_file" | "glob" | "grep"),
            SubagentTools::All => name != task::NAME && name != ask_user::NAME,
        }
    }
}
