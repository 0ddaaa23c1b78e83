//! A session in memory, and the turn that runs in it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use cairn_core::turn::End;
use cairn_core::{
    model::ToolSpec,
    policy::Access,
    prompt::{Surroundings, instructions::Instructions},
    turn::{Input, Session},
};
use cairn_protocol::{
    ErrorKind, FollowUp, MessageRole, PlanNotification, ReadOnly, ReviewMode, ToolNotification,
    TranscriptEntry, TurnNotification,
};
use tokio_util::sync::CancellationToken;

use super::{configuration::ToolBox, encoding::EncodedConversation, work::PlanWork};
use crate::{
    approval::definitions::Definitions,
    event::RequestError,
    ports::EditPolicy,
    store::{journal::Writer, sessions::Digest},
};

pub(super) struct SessionEntry {
    pub(super) machine: Session,
    pub(super) id: String,
    pub(super) turn: Option<RunningTurn>,
    pub(super) encoded: Option<EncodedConversation>,
    pub(super) surroundings: Surroundings,
    /// Names of the instructions it was told of after its beginning.
    pub(super) instructed: HashSet<String>,
    pub(super) mode: ReviewMode,
    /// Trust of the workspace as the model was told last. Initially trusted.
    pub(super) trusted: bool,
    /// Approvals for this session. A command is keyed byte for byte, with its folder, and by the
    /// title of its question, which names its sandbox. A question about a file never matches
    /// a command. The value holds the hashes of the files behind the command.
    pub(super) allowed: HashMap<(Access, String), Definitions>,
    pub(super) last_turn: Option<TurnNotification>,
    /// The words the newest turn began with.
    pub(super) task: Option<String>,
    /// The words the session began with, cut.
    pub(super) title: Option<String>,
    pub(super) turns: u32,
    pub(super) plan: Option<PlanNotification>,
    /// The work under the plan changed since it was shown.
    pub(super) plan_stale: bool,
    pub(super) work: PlanWork,
    pub(super) tools: Vec<ToolNotification>,
    pub(super) queue: Queue,
    pub(super) stream: Option<Stream>,
    pub(super) messages: u32,
    /// `None`: it is not written down.
    pub(super) journal: Option<Arc<Writer>>,
    /// Conversation of earlier processes, for clients that request it.
    pub(super) before: Vec<TranscriptEntry>,
    /// The number of the first of these, if more was said before it.
    pub(super) earlier: Option<u64>,
    /// Why no turn can start in it.
    pub(super) read_only: Option<ReadOnly>,
}

pub(super) struct RunningTurn {
    pub(super) id: String,
    pub(super) cancel: CancellationToken,
    pub(super) system: Arc<str>,
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) tools: ToolBox,
    pub(super) max_tokens: Option<u32>,
}

impl SessionEntry {
    /// In which nothing has happened yet, and which is not written down.
    pub(super) fn new(
        id: String,
        machine: Session,
        surroundings: Surroundings,
        mode: ReviewMode,
    ) -> Self {
        Self {
            machine,
            id,
            turn: None,
            encoded: None,
            surroundings,
            instructed: HashSet::new(),
            mode,
            trusted: true,
            allowed: HashMap::new(),
            last_turn: None,
            task: None,
            title: None,
            turns: 0,
            plan: None,
            plan_stale: false,
            work: PlanWork::default(),
            tools: Vec::new(),
            queue: Queue::default(),
            stream: None,
            messages: 0,
            journal: None,
            read_only: None,
            before: Vec::new(),
            earlier: None,
        }
    }

    pub(super) fn is_turn(&self, turn_id: &str) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.id == turn_id)
    }

    pub(super) fn edit_policy(&self) -> EditPolicy {
        match self.mode {
            ReviewMode::Auto => EditPolicy::Accept,
            ReviewMode::Ask => EditPolicy::Wait,
            // Plan mode lets no edit come this far.
            ReviewMode::Review | ReviewMode::Plan => EditPolicy::Propose,
        }
    }
}

impl SessionEntry {
    pub(super) fn digest(&self) -> Digest {
        let items = self.machine.plan_items();
        let open = items.iter().filter(|item| item.is_open()).count() as u32;
        Digest {
            task: self.title.clone().unwrap_or_default(),
            turns: self.turns,
            running: self.machine.is_running(),
            done: items.len() as u32 - open,
            open,
        }
    }

    /// Why no turn may start in it.
    pub(super) fn locked(&self) -> Option<RequestError> {
        let ReadOnly { text, .. } = self.read_only.as_ref()?;
        Some(RequestError::new(
            ErrorKind::SessionLocked,
            format!("This session can only be read here: {text}"),
            "Open it again when that has changed, or fork it and go on in the fork.",
        ))
    }
}

/// Inputs of a new turn besides the user's text.
#[derive(Debug, Default)]
pub(super) struct TurnStart {
    /// For a session that begins.
    pub(super) instructions: Vec<Instructions>,
    /// The follow-up it was.
    pub(super) follow_up: Option<String>,
}

/// Follow-ups that wait in a session.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) items: Vec<FollowUp>,
    pub(super) held: bool,
    /// Revision of the last notification.
    pub(super) rev: u32,
}

impl Queue {
    /// As it was when the process before this one ended: nothing begins by itself.
    pub(super) fn restored(items: Vec<FollowUp>) -> Self {
        Self { held: !items.is_empty(), items, rev: 0 }
    }
}

/// A message being shown as it comes.
pub(super) struct Stream {
    pub(super) item_id: String,
    pub(super) role: MessageRole,
    pub(super) text: String,
    /// Not yet published.
    pub(super) delta: String,
}

/// PlanWork that an event has caused and that is still to be done.
pub(super) enum Step {
    /// Input of a turn's machine.
    Input { session: String, turn: String, input: Input },
    /// A turn begins: the state of the files is remembered.
    Checkpoint { session: String, turn: String, task: String },
    /// The subagents of a turn have ended, and the turn is over.
    TurnEnded { session: String, turn: String, end: End },
}

/// Ids sort by time of creation; the prefix says of what.
pub(super) fn new_id(prefix: &str) -> String {
    format!("{prefix}-{}", uuid::Uuid::now_v7().simple())
}
