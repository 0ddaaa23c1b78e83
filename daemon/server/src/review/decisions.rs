//! Decisions of the user about the edits of one file.
//!
//! An accept changes only the baseline. A reject is an ordinary edit through the editor.

use std::collections::BTreeSet;

use cairn_core::{
    context::REJECTED,
    ids::{FileKey, SessionId},
    review::{
        DecisionEffects, DecisionUndo, FileOperationKind, FileReview, HunkId, OwnText,
        StaysAccepted,
    },
};
use cairn_protocol::{DecideResult, EditProblem, StillAcceptedEdit};

use super::tracked_file::TrackedFile;
use crate::services::Services;

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

/// Hunks of one file that a decision is about.
pub(super) struct Target {
    pub(super) key: FileKey,
    pub(super) ids: Vec<HunkId>,
    /// Proposals of which nothing stands in the text.
    pub(super) outdated: Vec<HunkId>,
    /// And about what was done to the file as a whole.
    pub(super) operation: bool,
}

impl Target {
    pub(super) fn count(&self) -> u32 {
        (self.ids.len() + self.outdated.len()) as u32 + u32::from(self.operation)
    }
}

impl TrackedFile {
    /// Accepts edits. Returns the state before them. `None`: nothing is to be accepted.
    pub(super) fn accept(
        &mut self,
        target: &Target,
        result: &mut DecideResult,
    ) -> Option<DecisionUndo> {
        if target.ids.is_empty() && !target.operation {
            return None;
        }
        let state = self.state.clone();
        let review = self.state.review.as_mut()?;
        let former = DecisionUndo {
            key: target.key.clone(),
            state,
            after: (!self.absent).then(|| review.current().clone()),
            effects: DecisionEffects {
                accepted: Some(target.ids.clone()),
                ..DecisionEffects::default()
            },
        };
        let accepted = review.accept_many(&target.ids) as u32;
        result.applied += accepted;
        result.stale += target.ids.len() as u32 - accepted;
        if target.operation
            && self.state.operation.take().is_some_and(|operation| operation.is_deletion())
        {
            self.state.review = None;
        }
        result.applied += u32::from(target.operation);
        self.dirty = true;
        Some(former)
    }

    /// Forgets outdated edits. Returns their number.
    pub(super) fn forget_outdated(&mut self, ids: &[HunkId]) -> u32 {
        let before = self.outdated.len();
        self.outdated.retain(|outdated| !ids.contains(&outdated.id));
        let mut forgotten = before - self.outdated.len();
        if let Some(review) = self.state.review.as_mut().filter(|_| self.absent) {
            forgotten += review.accept_many(ids);
        }
        self.dirty = true;
        forgotten as u32
    }

    /// Returns the rejection of edits, with the notice for the model. `None`: they are stale.
    pub(super) fn rejection(
        &self,
        target: &Target,
        own: OwnText,
        feedback: Option<&str>,
        services: &Services,
    ) -> Option<Rejection> {
        let (review, path) = (self.state.review.as_ref()?, &self.path);
        let mut notified: BTreeSet<SessionId> = review
            .hunks()
            .iter()
            .filter(|hunk| target.ids.contains(&hunk.id))
            .flat_map(|hunk| hunk.origin.sessions().cloned())
            .collect();
        let mut after = review.current().clone();
        let (mut notices, mut moved_to) = (Vec::new(), None);
        if !target.ids.is_empty() {
            after = review.rejection(&target.ids, own)?.apply(&after).ok()?;
            let patch = bounded(patch_for_model(services, review, &target.ids, path));
            notices.push(format!(
                "{REJECTED} this change of yours in {path}; it is no longer in the file. Do not propose it again unless they ask:\n{patch}"
            ));
        }
        let of_lines = notices.concat() + &reason(feedback);
        if let Some(operation) = self.state.operation.as_ref().filter(|_| target.operation) {
            notified.extend(operation.origin.sessions().cloned());
            notices.push(match &operation.kind {
                FileOperationKind::Deleted => {
                    after = review.without_proposals().1;
                    format!("{REJECTED} that you deleted {path}: the file is there again. Do not delete it again unless they ask.")
                }
                FileOperationKind::MovedFrom(key) => {
                    moved_to = Some(key.clone());
                    let from = services.display_key(key);
                    format!("{REJECTED} that you moved {from} to {path}: it is {from} again. Do not move it again unless they ask.")
                }
            });
        }
        let hunks = target.count();
        let (path, notice) = (path.clone(), notices.join("\n") + &reason(feedback));
        let former = DecisionUndo {
            key: target.key.clone(),
            state: self.state.clone(),
            after: Some(after),
            effects: DecisionEffects { moved_to, notified, ..DecisionEffects::default() },
        };
        Some(Rejection { former, path, hunks, notice, of_lines })
    }
}

/// Returns a change as a patch for a model. Not for a file that may hold secrets, whose lines around
/// the change would be in it: who approved the change did not approve to read them.
pub(super) fn patch_for_model(
    services: &Services,
    review: &FileReview,
    ids: &[HunkId],
    path: &str,
) -> String {
    let resolved = services.workspace.as_ref().and_then(|it| it.resolve(path).ok());
    match resolved.is_some_and(|path| !path.is_secret()) {
        true => review.unified_patch(Some(ids), path),
        false => format!("[not shown: {path} may hold secrets]\n"),
    }
}

/// Problem of an undo that leaves edits accepted.
pub(super) fn still_accepted(
    former: &FileReview,
    stays: &[(HunkId, StaysAccepted)],
) -> EditProblem {
    const MOST_NAMED: usize = 3;
    const MOST_CHARS: usize = 40;
    let named = stays.iter().take(MOST_NAMED).map(|(id, why)| {
        let lines = former.hunk(*id).map(|hunk| match former.new_text(hunk) {
            text if text.is_empty() => former.old_text(hunk),
            text => text,
        });
        let lines = lines.unwrap_or_default();
        let line: String =
            lines.lines().next().unwrap_or_default().trim().chars().take(MOST_CHARS).collect();
        match why {
            StaysAccepted::NotAccepted => StillAcceptedEdit::EditNotAccepted { line },
            StaysAccepted::Changed => StillAcceptedEdit::EditChangedSince { line },
            StaysAccepted::Covered => StillAcceptedEdit::EditCovered { line },
        }
    });
    let more = u32::try_from(stays.len().saturating_sub(MOST_NAMED)).unwrap_or(u32::MAX);
    EditProblem::EditsStayAccepted { edits: named.collect(), more }
}

/// The user's reason for a rejection, for the model.
fn reason(feedback: Option<&str>) -> String {
    const MOST_CHARS: usize = 2_000;
    match feedback.map(str::trim) {
        None | Some("") => String::new(),
        Some(words) => {
            let words: String = words.chars().take(MOST_CHARS).collect();
            format!("The user's reason: {words}\n")
        }
    }
}

/// A notice stays in the conversation for good: what the model proposed itself, it need not read
/// again in full.
fn bounded(patch: String) -> String {
    const MOST_CHARS: usize = 4_000;
    match patch.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{}\n[the patch goes on]\n", &patch[..at]),
        None => patch,
    }
}
