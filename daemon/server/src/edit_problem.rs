//! English texts of the reasons why an edit was not made, for models and for clients without texts of
//! their own.

use cairn_protocol::{EditProblem, StillAcceptedEdit, StillAcceptedReason};

/// Returns the text of a reason, as a part of a sentence.
pub(crate) fn english(problem: &EditProblem) -> String {
    let text = match problem {
        EditProblem::FileReadOnly => "the file is read-only",
        EditProblem::NotebookUnsaved => {
            "the user has it open as a notebook with unsaved cells. Ask the user to save it, then try again"
        }
        EditProblem::FileNotOpened => "the file is gone or cannot be read as text",
        EditProblem::EditorFailed { reason } | EditProblem::PathRefused { reason } => reason,
        EditProblem::EditorGaveNoReason => "the editor gave no reason",
        EditProblem::EncodingLacksCharacter => {
            "the encoding in which the file is open has no bytes for a character of the edit"
        }
        EditProblem::EditorTimedOut => "the editor did not answer in time",
        EditProblem::EditNotSeen => {
            "the editor said it applied the edit, but the text does not show it"
        }
        EditProblem::EditorGone => "the editor is gone",
        EditProblem::TurnOver => "the turn is over",
        EditProblem::PathWithoutUri => "the path cannot be written as a URI",
        EditProblem::PathBusy => "something is happening at that path",
        EditProblem::PathRedirected => "a link leads from there to another file by now",
        EditProblem::FolderNotOpen => "no workspace folder is open",
        EditProblem::EditNotRecorded { reason } => {
            return format!("it cannot be written down what is proposed ({reason})");
        }
        EditProblem::LinesGone => {
            "the lines it was made for are not there any more; copy what you need from it"
        }
        EditProblem::EditMismatch => "the edit was made for another text",
        EditProblem::EditsStayAccepted { edits, more } => return stay_accepted(edits, *more),
    };
    text.to_owned()
}

fn stay_accepted(edits: &[StillAcceptedEdit], more: u32) -> String {
    let named = edits.iter().map(|StillAcceptedEdit { line, reason }| {
        let reason = match reason {
            StillAcceptedReason::NotAccepted => "it is not accepted",
            StillAcceptedReason::Changed => "its lines changed since",
            StillAcceptedReason::Covered => "a newer proposal changes its lines",
        };
        format!("the edit “{line}” stays accepted: {reason}")
    });
    let more = (more > 0).then(|| format!("and {more} more stay accepted"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}
