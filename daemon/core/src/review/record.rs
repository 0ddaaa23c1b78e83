//! Record of a file with pending changes: its state, and the edits that may still reach its text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FileOperation, FileState, HunkId, Origin, Outdated, RecordPart};
use crate::{ids::FileKey, text::Text};

/// Record of a file with pending changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    pub key: FileKey,
    pub saveable: bool,
    #[serde(rename = "standing")]
    pub state: FileState,
    /// Edit that was sent to the editor and has not appeared in the text yet.
    pub under_way: Option<EditRecord>,
    /// Edits that timed out and may still reach the text.
    #[serde(default)]
    pub late: Vec<EditRecord>,
    #[serde(rename = "rest", default)]
    pub outdated: Vec<Outdated>,
}

/// Record of an edit that was sent to the editor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EditRecord {
    /// Text before the edit; `None`: there is no file.
    pub before: Option<Text>,
    /// Text after the edit; empty if it deletes the file.
    pub expected: Text,
    /// State after the edit, where the text alone does not determine it.
    pub after: Option<FileState>,
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

impl FileRecord {
    pub fn parts(&mut self) -> Vec<RecordPart<'_>> {
        let edits = self.under_way.iter_mut().chain(&mut self.late);
        self.state.parts().into_iter().chain(edits.flat_map(EditRecord::parts)).collect()
    }
}

impl EditRecord {
    fn parts(&mut self) -> Vec<RecordPart<'_>> {
        let texts = self.before.iter_mut().chain([&mut self.expected]).map(RecordPart::Text);
        texts.chain(self.after.iter_mut().flat_map(FileState::parts)).collect()
    }
}
