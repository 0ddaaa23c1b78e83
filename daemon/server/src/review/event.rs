//! Results of reads for the reviews, and messages of the reviews for sessions.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::{
    ids::{FileKey, SessionId, TurnId},
    plan::Plan,
    text::Text,
};
use cairn_protocol::RestoreCheckpointResult;

use crate::event::Responder;

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
