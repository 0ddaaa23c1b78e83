//! Tools that a model can call. Each parses the arguments of a call, which declares its [`Access`] and runs.
//!
//! No tool changes anything without an [`Approved`] value, which `approval` makes from the policy's verdict or
//! the user's answer. A failure is reported to the model or ends the turn.

use std::{ops::Range, sync::Arc};

pub use cairn_core::policy::Access;
use cairn_core::{
    marks::ModelText, model::ToolSpec, policy::command::CommandRules,
    prompt::instructions::Instructions, turn::Input,
};
use cairn_protocol::{Preview, ToolKind, ToolLabel, ToolStats};
use futures_util::future::{BoxFuture, FutureExt, ready};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub use crate::approval::Approved;
use crate::{
    approval::ChangedFiles,
    docs::Docs,
    exec::{
        CommandLimits,
        sandbox::{QuarantineReport, SandboxConfig},
    },
    hooks::HookContext,
    instructions::Sources,
    ports::{
        EditPolicy, Edits, Proposal, Proposed, Questions, ReadText, Saved, SubagentRequest,
        SubagentTools, Subagents, Wanted,
    },
    processes::{LiveSink, ProcessHandle, Processes},
    store::{allowed::Allowed, journal::Writer, sessions},
    workspace::Workspace,
};
use arguments::Arguments;
pub use failure::ToolFailure;
pub(crate) use failure::blocking;
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

/// Longest part of a title that the model wrote, in characters.
const MAX_LABEL: usize = 80;

/// Every tool that acts on the workspace, in the order in which the model gets them.
pub fn all(limits: CommandLimits) -> Vec<Arc<Tool>> {
    let tools = [
        read_file::tool(),
        glob::tool(),
        grep::tool(),
        edit_file::tool(),
        write_file::tool(),
        delete_file::tool(),
        move_file::tool(),
        bash::tool(limits),
        process_output::tool(),
        process_input::tool(),
        process_stop::tool(),
        task::tool(),
        ask_user::tool(),
    ];
    tools.map(Arc::new).into()
}

/// Tool with its specification and the parser of its arguments.
pub struct Tool {
    pub spec: ToolSpec,
    /// Effect of its calls, for the user. A call may have another one.
    pub kind: ToolKind,
    parse: Box<ParseCall>,
}

type ParseCall = dyn Fn(Value, &ToolContext) -> Result<Call, ToolFailure> + Send + Sync;

impl Tool {
    /// Tool whose arguments are these properties of an object.
    fn new(
        name: &'static str,
        kind: ToolKind,
        description: &str,
        properties: Value,
        required: &[&str],
        parse: fn(Arguments, &ToolContext) -> Result<Call, ToolFailure>,
    ) -> Self {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let known = schema.clone();
        let parse = move |arguments, context: &ToolContext| {
            parse(Arguments::checked(name, arguments, &known)?, context)
        };
        let (name, description) = (name.to_owned(), description.to_owned());
        let spec = ToolSpec { name, description, schema, parallel: false };
        Self { spec, kind, parse: Box::new(parse) }
    }

    /// Tool whose calls in one message may run at the same time.
    fn parallel(mut self) -> Self {
        self.spec.parallel = true;
        self
    }

    /// Parses the arguments. An error names every wrong field and goes to the model.
    pub fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Call, ToolFailure> {
        (self.parse)(arguments, context)
    }
}

/// Call with valid arguments.
pub struct Call {
    /// Title for people, as a code. The words of the model among its arguments are bounded.
    pub label: ToolLabel,
    pub access: Access,
    preview: Option<Box<ShowChange>>,
    run: Box<dyn FnOnce(ToolContext) -> Running + Send>,
}

type ShowChange = dyn Fn(&ToolContext) -> Result<Option<Preview>, ToolFailure> + Send;
type Running = BoxFuture<'static, Result<ToolOutput, ToolFailure>>;

impl Call {
    fn new<F>(
        label: ToolLabel,
        access: Access,
        run: impl FnOnce(ToolContext) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolFailure>> + Send + 'static,
    {
        Self { label, access, preview: None, run: Box::new(|context| run(context).boxed()) }
    }

    /// Change of a file, to be shown with the question. The call changes nothing if the file has
    /// another text when it runs. An error skips the question. Blocks.
    pub fn preview(&self, context: &ToolContext) -> Result<Option<Preview>, ToolFailure> {
        self.preview.as_ref().map_or(Ok(None), |preview| preview(context))
    }

    /// True for a change of a file: the record that the call began is saved while the change is computed.
    pub fn is_change(&self) -> bool {
        self.preview.is_some()
    }

    pub async fn run(
        self,
        context: ToolContext,
        _approved: Approved,
    ) -> Result<ToolOutput, ToolFailure> {
        (self.run)(context).await
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
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
    /// Instructions around the file that was read.
    pub near: Vec<Instructions>,
    /// Control files that a command made or changed; they are in quarantine.
    pub left: QuarantineReport,
    /// Process that the call left.
    pub ongoing: Option<ProcessHandle>,
    /// News for the turn besides the result: the task graph after a call that used it, or an image.
    pub news: Vec<Input>,
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
    pub live: Option<LiveSink>,
    pub origin: cairn_core::review::Origin,
    /// The user's hooks around calls.
    pub(crate) hooks: Option<HookContext>,
    /// Journal that records the start of a call before it has an effect.
    pub journal: Option<Arc<Writer>>,
}

impl ToolContext {
    /// Saves a record that the call began. No effect may come before it: a restored session would not
    /// know that the call may have had one.
    pub fn begin(&self) -> Saved {
        let Some(journal) = &self.journal else { return ready(Ok(())).boxed().shared() };
        let appended = journal.append(sessions::begun(&self.origin));
        let synced = journal.sync();
        let saved = async move {
            appended?;
            synced.await.unwrap_or_else(|_| Err("the journal is closed".into()))
        };
        saved.boxed().shared()
    }
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
