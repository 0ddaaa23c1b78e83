//! Events of the reviews, and their messages for sessions.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::{
    ids::{FileKey, SessionId, TurnId},
    plan::Plan,
    text::Text,
};
use cairn_protocol::{ApplyEditResult, EditProblem, RestoreCheckpointResult};
use tokio::sync::oneshot;

use super::Reviews;
use crate::{
    event::Responder,
    ports::{Proposal, Proposed},
};

/// Events for the reviews from tools and background tasks.
pub(crate) enum ReviewEvent {
    Propose {
        proposal: Proposal,
        reply: oneshot::Sender<Proposed>,
    },
    Flush {
        reply: oneshot::Sender<Vec<String>>,
    },
    /// A command ran: files under review may have other texts by now.
    CommandRan,
    /// The editor's answer to the edit with this edit_id.
    Applied {
        edit_id: u64,
        /// A problem if the edit was not sent.
        result: Result<ApplyEditResult, EditProblem>,
    },
    /// The document does not show the edit with this edit_id yet, which is on disk.
    Unseen {
        edit_id: u64,
    },
    /// The edit with this edit_id should have been seen by now.
    Overdue {
        edit_id: u64,
    },
    /// The file of this key was read.
    DiskText {
        key: FileKey,
        purpose: DiskPurpose,
        /// Counts the reads in the order they began.
        read: u64,
        found: DiskFound,
    },
    /// Rest of a request, after the edits or texts that it waits for.
    Then(Box<dyn FnOnce(&mut Reviews) + Send>),
}

/// Result of a read of a file on disk.
#[derive(Debug, Default)]
pub(crate) struct DiskFound {
    /// `None`: the file is gone, or not text.
    pub(super) text: Option<Text>,
    /// Git wrote this text, and another text was there before.
    pub(super) is_gits: bool,
    /// Present place of the file, with the text that holds its proposals.
    pub(super) moved_to: Option<(FileKey, Text)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskPurpose {
    /// Check whether the edit with this edit_id has arrived.
    Confirm(u64),
    /// The file changed or was closed without a notification.
    Reconcile,
}

/// Message for sessions about their files.
#[derive(Debug)]
pub(crate) enum SessionNotice {
    /// Text for the models of these sessions.
    Tell { sessions: BTreeSet<SessionId>, text: String },
    /// Files were restored to a checkpoint. Plans follow, then the client is answered.
    CheckpointRestored {
        plans: Vec<PlanBefore>,
        result: RestoreCheckpointResult,
        reply: Responder<RestoreCheckpointResult>,
    },
    /// The restoration of a checkpoint was undone: the first turn of each session that it had taken back.
    Redone { turns: BTreeMap<SessionId, TurnId> },
}

/// Plan of a session before a turn, with text for its model.
#[derive(Debug)]
pub(crate) struct PlanBefore {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) plan: Plan,
    pub(crate) text: String,
}
