//! Events of the sessions.

use std::{collections::HashSet, io};

use cairn_core::{
    conversation::Attached,
    ids::{CallId, SessionId, TurnId},
    policy::Access,
    prompt::instructions::Instructions,
    subagent::SubagentReport,
    turn::Input,
};
use cairn_protocol::{
    ApproveParams, ApproveResult, OpenSessionResult, OutputNotification, QueueAddParams,
    QueueAddResult, RunTaskParams, RunTaskResult, SteerParams, SteerResult, TurnNotice,
};
use tokio::sync::oneshot;

use crate::{
    event::{RequestError, Responder},
    exec::sandbox::{QuarantineReport, SandboxBackend},
    ports::{SubagentRequest, ToolUpdate},
    review::FoundReviews,
    store::{
        journal,
        session_list::Newest,
        sessions::{Loaded, Page},
    },
};

/// Events for the sessions from the runner, tools, hooks and background tasks.
#[derive(Debug)]
pub(crate) enum SessionEvent {
    Turn {
        session: SessionId,
        turn: TurnId,
        input: Input,
    },
    Tool {
        session: SessionId,
        turn: TurnId,
        call_id: CallId,
        update: Box<ToolUpdate>,
    },
    /// Request of a call for a subagent, answered with its report.
    Subagent {
        request: Box<SubagentRequest>,
        reply: oneshot::Sender<SubagentReport>,
    },
    Approve {
        params: Box<ApproveParams>,
        /// Key of an approval for the session.
        access: Box<Access>,
        /// File behind a command that the agent changed since the user allowed it: a session approval does
        /// not hold.
        changed: Option<String>,
        reply: oneshot::Sender<ApproveResult>,
    },
    Approved {
        approval_id: String,
        result: ApproveResult,
    },
    /// Sessions with a process that started, wrote or ended.
    Processes(HashSet<SessionId>),
    /// Text of this session's answer is written to its journal.
    StreamDue(SessionId),
    /// Piece of the output of a running command.
    Output(OutputNotification),
    /// Notice for the user in a turn, with its English text.
    Tell {
        session: SessionId,
        turn: TurnId,
        notice: TurnNotice,
    },
    /// Sessions and edits that an earlier process stored for this workspace.
    Found(Box<SavedState>),
    /// The instructions for a task were read.
    InstructionsLoaded(Box<InstructionsLoaded>),
    /// The attachments of a message were read.
    AttachmentsRead(WithAttachments, Result<Vec<Attached>, RequestError>),
    /// A session, or a page of one, was read from disk.
    Loaded(LoadResult),
    /// State of the journal: writable or failed.
    Storage(journal::State),
    /// Backend of the sandbox, or the reason for having none.
    Sandbox(Result<SandboxBackend, String>),
    /// Files left by a command whose daemon was killed.
    Recovered(Box<QuarantineReport>),
}

/// State that earlier processes stored for a workspace.
#[derive(Debug, Default)]
pub(crate) struct SavedState {
    pub(super) session: Option<Newest>,
    pub(super) pending: Option<io::Result<FoundReviews>>,
}

/// Result of a background read of a session.
#[derive(Debug)]
pub(crate) struct LoadResult {
    pub(super) what: LoadedPart,
    pub(super) reply: Responder<OpenSessionResult>,
}

#[derive(Debug)]
pub(super) enum LoadedPart {
    /// A whole session.
    Session(Box<Loaded>),
    /// The newest page of the transcript of a session in memory.
    Newest(SessionId, Page),
}

/// Request whose attachments are read in the background.
#[derive(Debug)]
pub(crate) enum WithAttachments {
    Steer(SteerParams, Responder<SteerResult>),
    QueueAdd(QueueAddParams, Responder<QueueAddResult>),
}

/// A new task with the instructions that were read for it.
#[derive(Debug)]
pub(crate) struct InstructionsLoaded {
    pub(super) params: RunTaskParams,
    pub(super) reply: Responder<RunTaskResult>,
    pub(super) found: FoundAtStart,
    pub(super) attached: Result<Vec<Attached>, RequestError>,
}

/// Facts for the system prompt of a new session; empty for an existing one.
#[derive(Debug, Default)]
pub(crate) struct FoundAtStart {
    pub(super) instructions: Vec<Instructions>,
    pub(super) project: String,
}
