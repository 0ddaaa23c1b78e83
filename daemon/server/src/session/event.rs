//! Events of the sessions.

use std::io;

use cairn_core::{
    policy::Access, prompt::instructions::Instructions, subagent::SubagentReport, turn::Input,
};
use cairn_protocol::{
    ApproveParams, ApproveResult, OpenSessionResult, RunTaskParams, RunTaskResult,
};
use tokio::sync::oneshot;

use crate::{
    approval::definitions::Definitions,
    event::Reply,
    exec::sandbox::{LeftBehind, SandboxBackend},
    ports::{SubagentRequest, ToolUpdate},
    review::FoundReviews,
    store::{
        journal,
        sessions::{Loaded, Newest, Page},
    },
};

/// Everything that comes back to the sessions from the runner, tools, hooks and background tasks.
#[derive(Debug)]
pub(crate) enum SessionEvent {
    Turn {
        session: String,
        turn: String,
        input: Input,
    },
    Tool {
        session: String,
        turn: String,
        call_id: String,
        update: Box<ToolUpdate>,
    },
    /// A call wants a subagent started; its report is the answer.
    Subagent {
        request: Box<SubagentRequest>,
        reply: oneshot::Sender<SubagentReport>,
    },
    Approve {
        params: Box<ApproveParams>,
        /// Key of an approval for the session.
        access: Box<Access>,
        /// Files behind a command as they are; a yes for the session holds while they stay so.
        definitions: Definitions,
        reply: oneshot::Sender<ApproveResult>,
    },
    Approved {
        approval_id: String,
        result: ApproveResult,
    },
    /// Text for the user in a turn.
    Tell {
        session: String,
        turn: String,
        text: String,
    },
    /// Sessions and edits that an earlier process has left in this workspace.
    Found(Box<Found>),
    /// The instructions for a task were read.
    InstructionsLoaded(Box<InstructionsLoaded>),
    /// A session, or a part of one, was read from the disk.
    Read(Read),
    /// State of the journal: writable or failed.
    Storage(journal::State),
    /// The sandbox of commands here, or why there is none.
    Sandbox(Result<SandboxBackend, String>),
    /// Files left by a command whose daemon was killed.
    Recovered(Box<LeftBehind>),
}

/// State that the last process left for a workspace.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(super) session: Option<Newest>,
    pub(super) pending: Option<io::Result<FoundReviews>>,
}

/// A session that a task has read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(super) what: What,
    pub(super) reply: Reply<OpenSessionResult>,
}

#[derive(Debug)]
pub(super) enum What {
    /// All of a session.
    Session(Box<Loaded>),
    /// The newest of what was said in one that is in memory.
    Newest(String, Page),
}

/// A task whose instructions were read.
#[derive(Debug)]
pub(crate) struct InstructionsLoaded {
    pub(super) params: RunTaskParams,
    pub(super) reply: Reply<RunTaskResult>,
    pub(super) instructions: Vec<Instructions>,
}
