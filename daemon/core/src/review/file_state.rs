//! State of a whole file under review, as it is now and as it was: before a decision, before a turn.
//!
//! In memory a state holds a [`FileReview`] and texts. The store keeps the same types with snapshots
//! of reviews and hashes of texts in their place; [`Convert`] leads from one to the other.

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileState<R = FileReview> {
    pub review: Option<R>,
    #[serde(rename = "fate")]
    pub operation: Option<FileOperation>,
    #[serde(flatten)]
    pub form: FileForm,
}

/// State of a file before a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionUndo<R = FileReview, T = Text> {
    pub key: FileKey,
    #[serde(rename = "standing")]
    pub state: FileState<R>,
    /// Text after the decision, the only one that can be undone. `None`: the file does not exist.
    pub after: Option<T>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileSnapshot<R = FileReview, T = Text> {
    #[serde(rename = "standing")]
    pub state: FileState<R>,
    /// `None`: the file did not exist.
    pub text: Option<T>,
    /// Text after the agent's last change or the last decision. `None`: the file does not exist.
    pub left: Option<T>,
    /// True if the user or another program changed the file since.
    pub touched: bool,
}

/// States before a turn of all files that the agent changed in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint<R = FileReview, T = Text> {
    pub turn: TurnId,
    pub session: SessionId,
    /// Text of the user's task.
    pub task: String,
    pub plan: Plan,
    pub files: BTreeMap<FileKey, FileSnapshot<R, T>>,
}

/// Conversion of states between memory and the store: of their reviews and of their texts.
pub trait Convert<R, T> {
    type Review;
    type Text;
    type Error;

    /// # Errors
    /// Why this review has no other form.
    fn review(&mut self, review: &R) -> Result<Self::Review, Self::Error>;

    /// # Errors
    /// Why this text has no other form.
    fn text(&mut self, text: &T) -> Result<Self::Text, Self::Error>;
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
    /// State of a file without anything to decide.
    #[must_use]
    pub fn settled() -> FileState {
        FileState { review: None, operation: None, form: FileForm::default() }
    }

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

impl<R> FileState<R> {
    /// # Errors
    /// The first one of the conversion.
    pub fn convert<T, C: Convert<R, T>>(
        &self,
        to: &mut C,
    ) -> Result<FileState<C::Review>, C::Error> {
        Ok(FileState {
            review: self.review.as_ref().map(|review| to.review(review)).transpose()?,
            operation: self.operation.clone(),
            form: self.form,
        })
    }
}

impl<R, T> DecisionUndo<R, T> {
    /// # Errors
    /// The first one of the conversion.
    pub fn convert<C: Convert<R, T>>(
        &self,
        to: &mut C,
    ) -> Result<DecisionUndo<C::Review, C::Text>, C::Error> {
        Ok(DecisionUndo {
            key: self.key.clone(),
            state: self.state.convert(to)?,
            after: self.after.as_ref().map(|text| to.text(text)).transpose()?,
            effects: self.effects.clone(),
        })
    }
}

impl<R, T> FileSnapshot<R, T> {
    fn convert<C: Convert<R, T>>(
        &self,
        to: &mut C,
    ) -> Result<FileSnapshot<C::Review, C::Text>, C::Error> {
        Ok(FileSnapshot {
            state: self.state.convert(to)?,
            text: self.text.as_ref().map(|text| to.text(text)).transpose()?,
            left: self.left.as_ref().map(|text| to.text(text)).transpose()?,
            touched: self.touched,
        })
    }
}

impl<R, T> Checkpoint<R, T> {
    /// # Errors
    /// The first one of the conversion.
    pub fn convert<C: Convert<R, T>>(
        &self,
        to: &mut C,
    ) -> Result<Checkpoint<C::Review, C::Text>, C::Error> {
        let files = self.files.iter();
        let files = files.map(|(key, before)| Ok((key.clone(), before.convert(to)?)));
        Ok(Checkpoint {
            turn: self.turn.clone(),
            session: self.session.clone(),
            task: self.task.clone(),
            plan: self.plan.clone(),
            files: files.collect::<Result<_, _>>()?,
        })
    }
}
