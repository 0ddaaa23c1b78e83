//! Review states as they are recorded: from and to the types of `store::reviews`.

use std::collections::BTreeSet;

use cairn_core::{
    review::{FileReview, HunkId, Origin, Outdated},
    text::{FileEncoding, Text},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file_state::{Fate, FateKind, Former, Standing};
use crate::store::reviews;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeptFate {
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

pub(super) fn kept_standing(standing: &Standing) -> reviews::Standing<Text> {
    let fate = standing.fate.as_ref().map(kept_fate);
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

pub(super) fn kept_fate(Fate { kind, origin, number }: &Fate) -> KeptFate {
    KeptFate {
        deleted: *kind == FateKind::Deleted,
        moved_from: match kind {
            FateKind::Deleted => None,
            FateKind::MovedFrom(key) => Some(key.clone()),
        },
        origin: origin.clone(),
        number: *number,
    }
}

pub(super) fn known_standing(kept: &reviews::Standing<Text>) -> Result<Standing, String> {
    let review = kept.review.clone().map(FileReview::restore).transpose()?;
    let fate: Option<KeptFate> =
        serde_json::from_value(kept.fate.clone()).map_err(|error| error.to_string())?;
    let encoding = known_encoding(kept.encoding.as_ref())?;
    Ok(Standing { review, fate: fate.map(known_fate), encoding })
}

pub(super) fn known_fate(KeptFate { deleted, moved_from, origin, number }: KeptFate) -> Fate {
    let kind = match moved_from {
        Some(key) if !deleted => FateKind::MovedFrom(key),
        Some(_) | None => FateKind::Deleted,
    };
    Fate { kind, origin, number }
}

pub(super) fn kept_former(former: &Former) -> reviews::Former<Text> {
    let rest = KeptDecision {
        moved_to: former.moved_to.clone(),
        told: former.told.clone(),
        accepted: former.accepted.clone(),
    };
    reviews::Former {
        key: former.key.clone(),
        standing: kept_standing(&former.standing),
        after: former.after.clone(),
        rest: serde_json::to_value(rest).unwrap_or(Value::Null),
    }
}

pub(super) fn known_former(kept: reviews::Former<Text>) -> Result<Former, String> {
    let standing = known_standing(&kept.standing)?;
    let KeptDecision { moved_to, told, accepted } =
        serde_json::from_value(kept.rest).map_err(|error| error.to_string())?;
    Ok(Former { key: kept.key, standing, after: kept.after, moved_to, told, accepted })
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
