//! Events of the reviews, and their messages for sessions.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::{
    ids::{FileKey, SessionId, TurnId},
    plan::Plan,
    review::{DecisionUndo, HunkId},
    text::Text,
};
use cairn_protocol::{
    ApplyEditResult, DecideResult, EditProblem, RestoreCheckpointParams, RestoreCheckpointResult,
    ReviewProblem, UndoDecisionResult,
};
use tokio::sync::oneshot;

use crate::{
    event::Responder,
    ports::{Proposal, Proposed},
};

/// Events for the reviews from tools and background tasks.
#[derive(Debug)]
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
    Rejected(Rejected),
    Restored(Restored),
    CheckpointTexts(Box<CheckpointTexts>),
    CheckpointRestored(Box<CheckpointRestored>),
    OutdatedReapplied(Box<OutdatedReapplied>),
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

/// A rejection on its way through the editor.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(super) former: DecisionUndo,
    pub(super) path: String,
    pub(super) hunks: u32,
    /// For the model.
    pub(super) notice: String,
    /// The part of it about lines: those are rejected by a separate edit.
    pub(super) of_lines: String,
}

/// Outcome of the rejections of one decision.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(super) number: u64,
    pub(super) keys: Vec<FileKey>,
    pub(super) done: Vec<Rejection>,
    pub(super) result: DecideResult,
    pub(super) reply: Responder<DecideResult>,
}

/// Outcome of the undo of a decision.
#[derive(Debug)]
pub(crate) struct Restored {
    /// Path and sessions of each restored file.
    pub(super) done: Vec<(String, BTreeSet<SessionId>)>,
    /// First turn of each session that the decision had taken back.
    pub(super) redone: BTreeMap<SessionId, TurnId>,
    pub(super) problem: Option<ReviewProblem>,
    pub(super) reply: Responder<UndoDecisionResult>,
}

/// Outdated proposals that are in the text again. The client is answered when they are forgotten.
#[derive(Debug)]
pub(crate) struct OutdatedReapplied {
    pub(super) done: Vec<(FileKey, HunkId)>,
    pub(super) result: DecideResult,
    pub(super) reply: Responder<DecideResult>,
}

/// Present texts of the files of a checkpoint.
#[derive(Debug)]
pub(crate) struct CheckpointTexts {
    pub(super) params: RestoreCheckpointParams,
    /// Texts of files that are not open, by key. `None`: no file.
    pub(super) disk: BTreeMap<FileKey, Option<Text>>,
    pub(super) reply: Responder<RestoreCheckpointResult>,
}

/// Outcome of the restoration of a checkpoint.
#[derive(Debug)]
pub(crate) struct CheckpointRestored {
    pub(super) turn: TurnId,
    pub(super) done: Vec<DecisionUndo>,
    pub(super) result: RestoreCheckpointResult,
    pub(super) reply: Responder<RestoreCheckpointResult>,
}
