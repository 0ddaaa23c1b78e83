//! Review states as they are recorded: from and to the types of `store::reviews`.

use std::collections::BTreeSet;

use cairn_core::{
    review::{FileReview, HunkId, Origin, Outdated},
    text::{FileEncoding, Text},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file_state::{DecisionUndo, FileOperation, FileOperationKind, ReviewState};
use crate::store::reviews;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedOperation {
    pub(super) deleted: bool,
    moved_from: Option<String>,
    origin: Origin,
    number: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeptOutdated {
    id: HunkId,
    origin: Origin,
    old_text: String,
    new_text: String,
    line: usize,
}

/// The rest of a decision.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct KeptDecision {
    moved_to: Option<String>,
    told: BTreeSet<String>,
    accepted: Option<Vec<HunkId>>,
}

pub(super) fn recorded_state(standing: &ReviewState) -> reviews::Standing<Text> {
    let fate = standing.fate.as_ref().map(recorded_operation);
    reviews::Standing {
        review: standing.review.as_ref().map(FileReview::snapshot),
        fate: serde_json::to_value(fate).unwrap_or_default(),
        encoding: kept_encoding(standing.encoding),
    }
}

fn kept_encoding(encoding: FileEncoding) -> Option<reviews::Encoding> {
    let kept = || reviews::Encoding { name: encoding.label(), bom: encoding.has_bom() };
    (encoding != FileEncoding::UTF_8).then(kept)
}

fn known_encoding(kept: Option<&reviews::Encoding>) -> Result<FileEncoding, String> {
    let Some(reviews::Encoding { name, bom }) = kept else { return Ok(FileEncoding::UTF_8) };
    FileEncoding::of_label(name, *bom).ok_or_else(|| format!("the encoding {name} is not known"))
}

pub(super) fn recorded_operation(
    FileOperation { kind, origin, number }: &FileOperation,
) -> RecordedOperation {
    RecordedOperation {
        deleted: *kind == FileOperationKind::Deleted,
        moved_from: match kind {
            FileOperationKind::Deleted => None,
            FileOperationKind::MovedFrom(key) => Some(key.clone()),
        },
        origin: origin.clone(),
        number: *number,
    }
}

pub(super) fn state_of(kept: &reviews::Standing<Text>) -> Result<ReviewState, String> {
    let review = kept.review.clone().map(FileReview::restore).transpose()?;
    let fate: Option<RecordedOperation> =
        serde_json::from_value(kept.fate.clone()).map_err(|error| error.to_string())?;
    let encoding = known_encoding(kept.encoding.as_ref())?;
    Ok(ReviewState { review, fate: fate.map(operation_of), encoding })
}

pub(super) fn operation_of(
    RecordedOperation { deleted, moved_from, origin, number }: RecordedOperation,
) -> FileOperation {
    let kind = match moved_from {
        Some(key) if !deleted => FileOperationKind::MovedFrom(key),
        Some(_) | None => FileOperationKind::Deleted,
    };
    FileOperation { kind, origin, number }
}

pub(super) fn recorded_undo(former: &DecisionUndo) -> reviews::Former<Text> {
    let rest = KeptDecision {
        moved_to: former.moved_to.clone(),
        told: former.told.clone(),
        accepted: former.accepted.clone(),
    };
    reviews::Former {
        key: former.key.clone(),
        standing: recorded_state(&former.standing),
        after: former.after.clone(),
        rest: serde_json::to_value(rest).unwrap_or(Value::Null),
    }
}

pub(super) fn undo_of(kept: reviews::Former<Text>) -> Result<DecisionUndo, String> {
    let standing = state_of(&kept.standing)?;
    let KeptDecision { moved_to, told, accepted } =
        serde_json::from_value(kept.rest).map_err(|error| error.to_string())?;
    Ok(DecisionUndo { key: kept.key, standing, after: kept.after, moved_to, told, accepted })
}

impl KeptOutdated {
    pub(super) fn of(outdated: &Outdated) -> Self {
        let Outdated { id, origin, old_text, new_text, line } = outdated.clone();
        Self { id, origin: (*origin).clone(), old_text, new_text, line }
    }

    pub(super) fn known(self) -> Outdated {
        let Self { id, origin, old_text, new_text, line } = self;
        Outdated { id, origin: origin.into(), old_text, new_text, line }
    }
}
