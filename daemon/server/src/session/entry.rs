//! A session in memory, and the turn that runs in it.
//!
//! An entry publishes and writes its own changes. It knows no other session: [`super::Sessions`]
//! passes on what concerns several.

use std::{collections::HashSet, sync::Arc, time::Instant};

use cairn_core::{
    conversation::Attached,
    ids::{SessionId, TurnId},
    model::ToolSpec,
    plan::PlanForm,
    policy::Access,
    prompt::Surroundings,
    turn::{Input, Session},
};
use cairn_protocol::{
    CompletedItem, MessageNotification, MessageRole, PlanNotification, ReadOnly, RequestProblem,
    ReviewMode, SessionFacts, SessionNews, ToolKind, ToolNotification, ToolState, TranscriptEntry,
    TurnNotification, TurnPhase,
};
use tokio_util::sync::CancellationToken;

use super::{
    configuration::ToolBox,
    encoding::EncodedConversation,
    event::FoundAtStart,
    subagent::{ShownSubagent, Subagent},
    work::PlanWork,
};
use crate::{
    event::RequestError,
    ports::{EditPolicy, Mailbox, TurnMailbox, TurnNews},
    services::Services,
    store::{
        journal::Writer,
        sessions::{self, Digest, FollowUpLine},
    },
};

pub(super) struct SessionEntry {
    pub(super) services: Services,
    pub(super) mailbox: Mailbox<(SessionId, TurnId, TurnNews)>,
    pub(super) machine: Session,
    pub(super) id: SessionId,
    /// `None`: the session is one of the user.
    pub(super) subagent: Option<Subagent>,
    /// Its subagents that wait for their start.
    pub(super) waiting: Vec<Subagent>,
    /// Its subagents that clients show, oldest first.
    pub(super) shown: Vec<ShownSubagent>,
    pub(super) turn: Option<RunningTurn>,
    /// `None`: no turn began in this process.
    pub(super) began: Option<TurnBegan>,
    pub(super) encoded: Option<EncodedConversation>,
    pub(super) surroundings: Surroundings,
    /// Names of the instructions sent after the start of the session.
    pub(super) instructed: HashSet<String>,
    pub(super) mode: ReviewMode,
    /// Trust of the workspace as last sent to the model. Initially trusted.
    pub(super) trusted: bool,
    /// Approvals for this session. A command is keyed byte for byte, with its folder, and by the
    /// title of its question, which names its sandbox. A question about a file never matches
    /// a command.
    pub(super) allowed: HashSet<(Access, String)>,
    pub(super) news: SessionNews,
    /// First text of the newest turn.
    pub(super) task: Option<String>,
    /// First text of the session, shortened.
    pub(super) title: Option<String>,
    pub(super) facts: SessionFacts,
    pub(super) turns: u32,
    pub(super) plan: Option<PlanNotification>,
    /// True if the work under the plan changed since the last notification.
    pub(super) plan_stale: bool,
    /// Items that the call in progress completed.
    pub(super) completed_items: Vec<CompletedItem>,
    pub(super) work: PlanWork,
    pub(super) tools: Vec<ToolNotification>,
    pub(super) queue: Queue,
    pub(super) stream: Option<Stream>,
    pub(super) messages: u32,
    /// Words for the running task that its model has not read.
    pub(super) unread: Vec<MessageNotification>,
    /// `None`: the session is not stored.
    pub(super) journal: Option<Arc<Writer>>,
    /// Conversation of earlier processes, for clients that request it.
    pub(super) before: Vec<TranscriptEntry>,
    /// Cursor of the entries before these, if there are any.
    pub(super) earlier: Option<String>,
    /// Reason for which no turn can start in it.
    pub(super) read_only: Option<ReadOnly>,
}

pub(super) struct RunningTurn {
    pub(super) id: TurnId,
    pub(super) cancel: CancellationToken,
    pub(super) system: Arc<str>,
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) tools: ToolBox,
    pub(super) max_tokens: Option<u32>,
}

impl RunningTurn {
    /// Effect of calls of this tool. A planning tool need not be offered.
    pub(super) fn kind_of(&self, name: &str) -> Option<ToolKind> {
        let tool = self.tools.iter().find(|tool| tool.spec.name == name);
        tool.map(|tool| tool.kind).or_else(|| PlanForm::named(name).map(|_| ToolKind::Plan))
    }
}

/// Start of the newest turn, to tell what the turn took.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnBegan {
    pub(super) at: Instant,
    /// Cost of the session until then, in millionths of a dollar.
    pub(super) cost_micros: u64,
}

impl SessionEntry {
    pub(super) fn is_turn(&self, turn_id: &TurnId) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.id == *turn_id)
    }

    /// Id of the session of the user: of the parent of a subagent, or its own.
    pub(super) fn root(&self) -> &SessionId {
        self.subagent.as_ref().map_or(&self.id, |subagent| &subagent.parent.session)
    }

    /// Sender of the news of its newest turn.
    pub(super) fn turn_mailbox(&self) -> TurnMailbox {
        let mailbox = self.mailbox.clone();
        TurnMailbox { session: self.id.clone(), turn: self.newest_turn(), mailbox }
    }

    /// Sends the model a text of the daemon.
    pub(super) fn tell_model(&mut self, text: &str) {
        self.machine.step(Input::Notice { text: text.to_owned() });
    }

    pub(super) fn edit_policy(&self) -> EditPolicy {
        match self.mode {
            ReviewMode::Auto => EditPolicy::Accept,
            ReviewMode::Ask => EditPolicy::Wait,
            // Plan mode refuses an edit before this point.
            ReviewMode::Review | ReviewMode::Plan => EditPolicy::Propose,
        }
    }

    pub(super) fn digest(&self) -> Digest {
        let open = self.open_items();
        let ended = match self.news.turn.as_ref().map(|turn| &turn.phase) {
            Some(TurnPhase::Ended { reason, summary, .. }) => Some((*reason, summary)),
            Some(TurnPhase::Started { .. }) | None => None,
        };
        Digest {
            task: self.title.clone().unwrap_or_default(),
            turns: self.turns,
            running: self.machine.is_running(),
            done: self.machine.plan_items().len() as u32 - open,
            open,
            end: ended.map(|(reason, _)| reason),
            last_line: ended.and_then(|(_, summary)| sessions::last_line(summary)),
            queued: Some(self.queue.items.len() as u32),
            cost_micros: self.machine.cost().micro_dollars().filter(|cost| *cost > 0),
            facts: self.facts.clone(),
        }
    }

    pub(super) fn open_items(&self) -> u32 {
        self.machine.plan_items().iter().filter(|item| item.is_open()).count() as u32
    }

    /// Id of the newest turn, empty before the first.
    pub(super) fn newest_turn(&self) -> TurnId {
        match (&self.turn, &self.news.turn) {
            (Some(turn), _) => turn.id.clone(),
            (None, Some(turn)) => turn.turn_id.as_str().into(),
            (None, None) => TurnId::default(),
        }
    }

    /// Takes the end of the newest turn of an earlier process.
    pub(super) fn restore_turn(
        &mut self,
        turn: &TurnId,
        rev: u32,
        phase: TurnPhase,
        interrupted: bool,
    ) {
        let (session_id, turn_id) = (self.id.clone().into(), turn.into());
        let turn = TurnNotification { session_id, turn_id, rev, phase };
        // The journal does not contain its end.
        if interrupted && self.read_only.is_none() {
            self.before.push(TranscriptEntry::Turn(turn.clone()));
        }
        self.news.turn = Some(turn);
    }

    /// True if a call waits for an approval or an answer of the user.
    pub(super) fn asks_user(&self) -> bool {
        self.tools.iter().any(|tool| {
            tool.state == ToolState::AwaitingApproval
                || (tool.tool_kind == Some(ToolKind::Ask) && tool.state == ToolState::Running)
        })
    }

    /// The error for a request that would start a turn in a read-only session.
    pub(super) fn locked(&self) -> Option<RequestError> {
        let reason = self.read_only.as_ref()?.message.clone();
        Some(RequestError::from(RequestProblem::SessionReadOnly { reason }))
    }
}

/// Inputs of a new turn besides the user's text.
#[derive(Debug, Default)]
pub(super) struct TurnStart {
    pub(super) found: FoundAtStart,
    /// Id of the follow-up that started the turn.
    pub(super) follow_up: Option<String>,
    /// Content sent with the task.
    pub(super) attached: Vec<Attached>,
}

/// Follow-ups that wait in a session.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) items: Vec<FollowUpLine>,
    pub(super) held: bool,
    /// Revision of the last notification.
    pub(super) rev: u32,
}

impl Queue {
    /// Creates the queue of an earlier process. It is held until the user starts it.
    pub(super) fn restored(items: Vec<FollowUpLine>) -> Self {
        Self { held: !items.is_empty(), items, rev: 0 }
    }
}

/// A message that is streaming to the client.
pub(super) struct Stream {
    pub(super) item_id: String,
    pub(super) role: MessageRole,
    pub(super) text: String,
    /// Text since the last notification.
    pub(super) delta: String,
    /// Time at which it began, in milliseconds since 1970.
    pub(super) at: u64,
    /// Length of the text that is in the journal, in bytes.
    pub(super) written: usize,
    /// The rest will be written when its time has come.
    pub(super) is_due: bool,
}

/// Creates an id. Ids sort by time of creation; the prefix names the kind.
pub(super) fn new_id(prefix: &str) -> String {
    format!("{prefix}-{}", uuid::Uuid::now_v7().simple())
}
