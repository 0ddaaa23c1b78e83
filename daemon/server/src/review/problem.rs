//! Problems of edits that a decision, an undo or a checkpoint made, in the form of the protocol.

use cairn_protocol::{DecideResult, RestoreCheckpointResult, ReviewProblem};

use crate::{edit_problem, ports::Proposed};

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

/// English text of a problem, for clients that do not know its code.
pub(super) fn english(problem: &ReviewProblem) -> String {
    match problem {
        ReviewProblem::FileChanged { file } => {
            format!("{file} changed meanwhile; it was left as it is")
        }
        ReviewProblem::EditRefused { file, reason } => {
            format!("{file}: {}", edit_problem::english(reason))
        }
        ReviewProblem::EditDelayed { file, reason } => {
            let reason = edit_problem::english(reason);
            format!("{file}: not yet applied, but it may still come: {reason}")
        }
        ReviewProblem::EditAbandoned { file } => format!("{file}: the edit was dropped"),
        ReviewProblem::NothingToUndo => "There is no decision to undo.".to_owned(),
    }
}

/// Answers that list what was not done.
pub(super) trait Failures {
    fn lists(&mut self) -> (&mut Vec<String>, &mut Vec<ReviewProblem>);

    /// Adds a problem with its English line.
    fn add(&mut self, problem: ReviewProblem) {
        let (lines, problems) = self.lists();
        lines.push(english(&problem));
        problems.push(problem);
    }
}

impl Failures for DecideResult {
    fn lists(&mut self) -> (&mut Vec<String>, &mut Vec<ReviewProblem>) {
        (&mut self.failed, &mut self.problems)
    }
}

impl Failures for RestoreCheckpointResult {
    fn lists(&mut self) -> (&mut Vec<String>, &mut Vec<ReviewProblem>) {
        (&mut self.failed, &mut self.problems)
    }
}

#[cfg(test)]
mod tests {
    use cairn_protocol::EditProblem;

    use super::*;

    #[test]
    fn each_line_has_its_problem_at_the_same_index() {
        let outcomes = [
            Some(Proposed::Applied { added: 1, removed: 0 }),
            Some(Proposed::Stale),
            Some(Proposed::Refused(EditProblem::FileReadOnly)),
            Some(Proposed::Late(EditProblem::EditorTimedOut)),
            None,
        ];
        let mut result = DecideResult::default();
        for problem in outcomes.into_iter().filter_map(|outcome| of_outcome("a.py", outcome)) {
            result.add(problem);
        }
        let expected = [
            "a.py changed meanwhile; it was left as it is",
            "a.py: the file is read-only",
            "a.py: not yet applied, but it may still come: the editor did not answer in time",
            "a.py: the edit was dropped",
        ];
        assert_eq!(result.failed, expected);
        assert_eq!(result.problems.iter().map(english).collect::<Vec<_>>(), expected);
    }
}
