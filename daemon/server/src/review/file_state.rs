//! Review state of one file, as it is now and as it was: what is proposed in it, and what the agent did
//! to it as a whole.

use std::{collections::BTreeSet, ops::Range};

use cairn_core::{
    review::{Author, FileReview, HunkId, Origin, Outdated},
    text::{FileEncoding, Text},
};

/// Undecided operation on a whole file.
#[derive(Debug, Clone)]
pub(super) struct FileOperation {
    pub(super) kind: FileOperationKind,
    pub(super) origin: Origin,
    /// Names it among all fates.
    pub(super) number: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileOperationKind {
    Deleted,
    /// The file was at the path of this key.
    MovedFrom(String),
}

/// All that is to be decided about a file.
#[derive(Debug, Clone)]
pub(super) struct ReviewState {
    pub(super) review: Option<FileReview>,
    pub(super) fate: Option<FileOperation>,
    /// Encoding in which the file is created again.
    pub(super) encoding: FileEncoding,
}

impl ReviewState {
    /// State of a file without anything to decide.
    pub(super) fn nothing() -> Self {
        Self { review: None, fate: None, encoding: FileEncoding::UTF_8 }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.fate.is_none() && self.review.as_ref().is_none_or(FileReview::is_settled)
    }
}

impl FileOperation {
    pub(super) fn id(&self) -> String {
        format!("file-{}", self.number)
    }

    pub(super) fn is_deletion(&self) -> bool {
        self.kind == FileOperationKind::Deleted
    }
}

/// Review and text that the rejection of a deletion restores: without the agent's proposals, with the
/// user's text.
pub(super) fn brought_back(review: &FileReview) -> (FileReview, Text) {
    let mut review = review.clone();
    if let Some(change) = review.reject_all()
        && let Err(error) = review.apply(&change, &Author::Decision)
    {
        tracing::error!("a deleted file could not be restored: {error}");
    }
    let text = review.current().clone();
    (review, text)
}

/// A file as it was before a decision.
#[derive(Debug)]
pub(super) struct DecisionUndo {
    pub(super) key: String,
    pub(super) standing: ReviewState,
    /// The text the decision left: only that can be taken back. `None`: no file.
    pub(super) after: Option<Text>,
    /// Where the decision moved the file back to.
    pub(super) moved_to: Option<String>,
    /// Sessions whose model was told that the change is gone.
    pub(super) told: BTreeSet<String>,
    /// Accepted hunks. `None`: it was a rejection.
    pub(super) accepted: Option<Vec<HunkId>>,
}

/// A file before the agent changed it.
#[derive(Debug, Clone)]
pub(super) struct FileSnapshot {
    pub(super) standing: ReviewState,
    /// `None`: there was no file.
    pub(super) text: Option<Text>,
    /// Text that the agent or a decision left last.
    pub(super) left: Option<Text>,
    /// Somebody else wrote in it since.
    pub(super) touched: bool,
}

/// Where the old lines of an outdated proposal stand now: where it was, or else in one place only.
pub(super) fn place(text: &Text, outdated: &Outdated) -> Option<Range<usize>> {
    let at = text.line_to_char(outdated.line.min(text.filled_lines()));
    let old = &outdated.old_text;
    let length = old.chars().count();
    if at + length <= text.len_chars() && text.slice(at..at + length) == *old {
        return Some(at..at + length);
    }
    let whole = text.to_string();
    let mut places = whole.match_indices(old.as_str());
    match (places.next(), places.next()) {
        (Some((byte, _)), None) if !old.is_empty() => {
            let at = whole[..byte].chars().count();
            Some(at..at + length)
        }
        _ => None,
    }
}
