//! Problems of edits that a decision, an undo or a checkpoint made, in the form of the protocol.

use cairn_protocol::ReviewProblem;

use crate::ports::Proposed;

/// Converts the outcome of an edit; `None` if it was applied. `None` as the outcome: the edit was
/// dropped without one.
pub(super) fn of_outcome(file: &str, outcome: Option<Proposed>) -> Option<ReviewProblem> {
    let file = file.to_owned();
    Some(match outcome {
        Some(Proposed::Applied { .. }) => return None,
        Some(Proposed::Stale | Proposed::Astray) => ReviewProblem::FileChanged { file },
        Some(Proposed::Refused(reason)) => ReviewProblem::EditRefused { file, reason },
        Some(Proposed::Late(reason)) => ReviewProblem::EditDelayed { file, reason },
        None => ReviewProblem::EditAbandoned { file },
    })
}
