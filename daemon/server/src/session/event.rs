//! Events of the sessions.

use std::{collections::HashSet, io};

use cairn_core::{
    ids::{CallId, SessionId, TurnId},
    policy::Access,
    prompt::instructions::Instructions,
    subagent::SubagentReport,
    turn::Input,
};
use cairn_protocol::{ApproveParams, ApproveResult, OutputNotification, TurnNotice};
use tokio::sync::oneshot;

use super::Sessions;
use crate::{
    ports::{SubagentRequest, ToolUpdate},
    review::{FoundReviews, Reviews},
    store::{journal, session_list::Newest},
};

type Continuation = Box<dyn FnOnce(&mut Sessions, &mut Reviews) + Send>;

/// Events for the sessions from the runner, tools, hooks and background tasks.
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
    /// Rest of a request, or of the start, after what it waits for.
    Then(Continuation),
    /// State of the journal: writable or failed.
    Storage(journal::State),
}

/// State that earlier processes stored for a workspace.
#[derive(Debug, Default)]
pub(crate) struct SavedState {
    pub(super) session: Option<Newest>,
    pub(super) pending: Option<io::Result<FoundReviews>>,
}

/// Facts for the system prompt of a new session; empty for an existing one.
#[derive(Debug, Default)]
pub(crate) struct FoundAtStart {
    pub(super) instructions: Vec<Instructions>,
    pub(super) project: String,
}
