//! State of a whole file under review, as it is now and as it was: before a decision, before a turn.
//!
//! The store writes these types with hashes in place of their texts, which it finds by [`RecordPart`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{FileReview, HunkId, Origin, OwnText};
use crate::{
    ids::{FileKey, SessionId, TurnId},
    plan::Plan,
    text::{FileForm, Text},
};

/// Undecided operation on a whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOperation {
    #[serde(flatten)]
    pub kind: FileOperationKind,
    pub origin: Origin,
    /// Unique among all operations of a workspace.
    pub number: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OperationFields", into = "OperationFields")]
pub enum FileOperationKind {
    Deleted,
    /// The file was at the path of this key.
    MovedFrom(FileKey),
}

/// Fields of a [`FileOperationKind`] in a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OperationFields {
    deleted: bool,
    moved_from: Option<FileKey>,
}

/// Undecided changes of a file: its review, and the operation on the file as a whole.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FileState {
    pub review: Option<FileReview>,
    #[serde(rename = "fate")]
    pub operation: Option<FileOperation>,
    #[serde(flatten)]
    pub form: FileForm,
}

/// State of a file before a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DecisionUndo {
    pub key: FileKey,
    #[serde(rename = "standing")]
    pub state: FileState,
    /// Text after the decision, the only one that can be undone. `None`: the file does not exist.
    pub after: Option<Text>,
    #[serde(rename = "rest")]
    pub effects: DecisionEffects,
}

/// Effects of a decision, as far as its undo needs them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionEffects {
    /// Key of the path to which the decision moved the file back.
    pub moved_to: Option<FileKey>,
    /// Sessions whose model was notified that the change is gone.
    #[serde(rename = "told")]
    pub notified: BTreeSet<SessionId>,
    /// Accepted hunks. `None`: it was a rejection.
    pub accepted: Option<Vec<HunkId>>,
    /// Sessions whose turns a restored checkpoint took back, each with the first of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub restored: BTreeMap<SessionId, TurnId>,
}

/// State of a file before the agent changed it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileSnapshot {
    #[serde(rename = "standing")]
    pub state: FileState,
    /// `None`: the file did not exist.
    pub text: Option<Text>,
    /// Text after the agent's last change or the last decision. `None`: the file does not exist.
    pub left: Option<Text>,
    /// True if the user or another program changed the file since.
    pub touched: bool,
}

/// States before a turn of all files that the agent changed in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checkpoint {
    pub turn: TurnId,
    pub session: SessionId,
    /// Text of the user's task.
    pub task: String,
    pub plan: Plan,
    pub files: BTreeMap<FileKey, FileSnapshot>,
}

/// Part of a record that holds texts.
pub enum RecordPart<'a> {
    Review(&'a mut FileReview),
    Text(&'a mut Text),
}

impl RecordPart<'_> {
    pub fn texts(&mut self) -> Vec<&mut Text> {
        match self {
            Self::Review(review) => vec![&mut review.state.baseline, &mut review.state.current],
            Self::Text(text) => vec![text],
        }
    }
}

impl FileOperation {
    #[must_use]
    pub fn id(&self) -> String {
        format!("file-{}", self.number)
    }

    #[must_use]
    pub fn is_deletion(&self) -> bool {
        self.kind == FileOperationKind::Deleted
    }
}

impl From<OperationFields> for FileOperationKind {
    fn from(OperationFields { deleted, moved_from }: OperationFields) -> Self {
        match moved_from {
            Some(key) if !deleted => FileOperationKind::MovedFrom(key),
            Some(_) | None => FileOperationKind::Deleted,
        }
    }
}

impl From<FileOperationKind> for OperationFields {
    fn from(kind: FileOperationKind) -> Self {
        match kind {
            FileOperationKind::Deleted => Self { deleted: true, moved_from: None },
            FileOperationKind::MovedFrom(key) => Self { deleted: false, moved_from: Some(key) },
        }
    }
}

impl FileState {
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.operation.is_none() && self.review.as_ref().is_none_or(FileReview::is_settled)
    }
}

impl FileReview {
    /// Returns review and text after the rejection of all proposals, with the text of the user. The
    /// rejection of a deletion restores them.
    #[must_use]
    pub fn without_proposals(&self) -> (FileReview, Text) {
        let mut review = self.clone();
        review.reject(&review.ids(), OwnText::Keep);
        let text = review.current().clone();
        (review, text)
    }
}

impl FileState {
    pub fn parts(&mut self) -> Vec<RecordPart<'_>> {
        self.review.iter_mut().map(RecordPart::Review).collect()
    }
}

impl DecisionUndo {
    pub fn parts(&mut self) -> Vec<RecordPart<'_>> {
        let after = self.after.iter_mut().map(RecordPart::Text);
        self.state.parts().into_iter().chain(after).collect()
    }
}

impl FileSnapshot {
    fn parts(&mut self) -> Vec<RecordPart<'_>> {
        let texts = self.text.iter_mut().chain(&mut self.left).map(RecordPart::Text);
        self.state.parts().into_iter().chain(texts).collect()
    }
}

impl Checkpoint {
    pub fn parts(&mut self) -> Vec<RecordPart<'_>> {
        self.files.values_mut().flat_map(FileSnapshot::parts).collect()
    }
}
