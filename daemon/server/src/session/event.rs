//! Events of the sessions.

use std::{collections::HashSet, io};

use cairn_core::{
    ids::{SessionId, TurnId},
    prompt::instructions::Instructions,
    subagent::SubagentReport,
};
use tokio::sync::oneshot;

use super::Sessions;
use crate::{
    ports::{SubagentRequest, TurnNews},
    review::{FoundReviews, Reviews},
    store::{journal, session_list::Newest},
};

type Continuation = Box<dyn FnOnce(&mut Sessions, &mut Reviews) + Send>;

/// Events for the sessions from the runner, tools, hooks and background tasks.
pub(crate) enum SessionEvent {
    Turn(SessionId, TurnId, TurnNews),
    /// Request of a call for a subagent, answered with its report.
    Subagent {
        request: Box<SubagentRequest>,
        reply: oneshot::Sender<SubagentReport>,
    },
    /// Sessions with a process that started, wrote or ended.
    Processes(HashSet<SessionId>),
    /// Text of this session's answer is written to its journal.
    StreamDue(SessionId),
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
