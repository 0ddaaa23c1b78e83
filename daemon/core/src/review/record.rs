//! Record of a file with pending changes: its state, and the edits that may still reach its text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Convert, FileOperation, FileReview, FileState, HunkId, Origin, Outdated};
use crate::{ids::FileKey, text::Text};

/// Record of a file with pending changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord<R = FileReview, T = Text> {
    pub key: FileKey,
    pub saveable: bool,
    #[serde(rename = "standing")]
    pub state: FileState<R>,
    /// Edit that was sent to the editor and has not appeared in the text yet.
    pub under_way: Option<EditRecord<R, T>>,
    /// Edits that timed out and may still reach the text.
    #[serde(default = "Vec::new")]
    pub late: Vec<EditRecord<R, T>>,
    #[serde(rename = "rest", default)]
    pub outdated: Vec<Outdated>,
}

/// Record of an edit that was sent to the editor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EditRecord<R = FileReview, T = Text> {
    /// Text before the edit; `None`: there is no file.
    pub before: Option<T>,
    /// Text after the edit; empty if it deletes the file.
    pub expected: T,
    /// State after the edit, where the text alone does not determine it.
    pub after: Option<FileState<R>>,
    #[serde(rename = "what")]
    pub purpose: EditPurpose,
    /// Number of restarts since it was sent.
    #[serde(default)]
    pub restarts: u32,
}

/// Meaning of a recorded edit for the review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EditPurpose {
    Agent {
        origin: Origin,
        accepted: bool,
        created: bool,
    },
    /// The agent deletes the file.
    Deletion {
        origin: Origin,
    },
    /// The file goes to the path of this key.
    Moved {
        to: FileKey,
        #[serde(rename = "fate")]
        operation: Option<FileOperation>,
    },
    /// A rejection in the records of earlier versions, which do not name the hunks. Nobody waits for it; its text
    /// passes for the user's.
    User,
    /// A rejection of hunks.
    Rejected {
        ids: Vec<HunkId>,
        drops: bool,
    },
    /// A rejection that deletes the file which the agent created.
    Uncreated,
    /// A decision is undone, or a checkpoint restored.
    Restored {
        deletes: bool,
        is_undo: bool,
    },
    /// A purpose that this version does not know. The edit is not waited for.
    #[serde(untagged)]
    Unknown(Value),
}

impl<R, T> FileRecord<R, T> {
    /// # Errors
    /// The first one of the conversion.
    pub fn convert<C: Convert<R, T>>(
        &self,
        to: &mut C,
    ) -> Result<FileRecord<C::Review, C::Text>, C::Error> {
        Ok(FileRecord {
            key: self.key.clone(),
            saveable: self.saveable,
            state: self.state.convert(to)?,
            under_way: self.under_way.as_ref().map(|edit| edit.convert(to)).transpose()?,
            late: self.late.iter().map(|edit| edit.convert(to)).collect::<Result<_, _>>()?,
            outdated: self.outdated.clone(),
        })
    }
}

impl<R, T> EditRecord<R, T> {
    fn convert<C: Convert<R, T>>(
        &self,
        to: &mut C,
    ) -> Result<EditRecord<C::Review, C::Text>, C::Error> {
        Ok(EditRecord {
            before: self.before.as_ref().map(|text| to.text(text)).transpose()?,
            expected: to.text(&self.expected)?,
            after: self.after.as_ref().map(|state| state.convert(to)).transpose()?,
            purpose: self.purpose.clone(),
            restarts: self.restarts,
        })
    }
}
