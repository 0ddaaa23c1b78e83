//! Baseline and live text of a file, and the hunks between them.
//!
//! The baseline is what the user has accepted, the current text is what the editor shows. A hunk
//! is known by its id alone: ids survive edits, line numbers do not. Nothing here writes a file or
//! a buffer: a rejection is an ordinary change that the editor performs and then reports back.
//!
//! Must never lose a line that the user typed, nor count a line as accepted that the user did not accept.

use std::{ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    change::{Change, Edit, LengthMismatch},
    ids::{CallId, SessionId, TurnId},
    text::Text,
};
pub use file_state::{
    Checkpoint, DecisionEffects, DecisionUndo, FileOperation, FileOperationKind, FileSnapshot,
    FileState, RecordPart,
};
pub use intent::Intent;
use memory::Memory;
pub use record::{EditPurpose, EditRecord, FileRecord};
pub use snapshot::{Outdated, ReviewSnapshot};
use state::ReviewState;
pub use transition::{Cause, Transition};
pub use unaccept::StaysAccepted;

mod file_state;
mod intent;
mod lineage;
mod memory;
mod parts;
pub mod patch;
mod propose;
mod record;
#[cfg(any(test, feature = "reference"))]
#[path = "review/tests/reference.rs"]
pub mod reference;
mod snapshot;
mod state;
mod transition;
mod unaccept;
mod window;

/// Session, turn, call and plan item that made a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    pub session: SessionId,
    pub turn: TurnId,
    pub call: CallId,
    /// The plan item that was in progress.
    pub plan_item: Option<String>,
    /// Its text at that time: the plan may change, and may be of a session that is not in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_item_text: Option<String>,
    /// The subagent that made it, if one did. The fields above then name the call that started it:
    /// the subagent has ended when its work is decided.
    /// Stored as `child`, the name in the journals of earlier versions.
    #[serde(rename = "child", default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Box<SubagentCall>>,
}

/// A call of a subagent, and the subagent's own plan item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SubagentCall {
    pub session: SessionId,
    pub turn: TurnId,
    pub call: CallId,
    pub plan_item: Option<String>,
}

impl Origin {
    /// Returns session, turn and call that made the edit: those of the subagent, or its own.
    pub fn doer(&self) -> (&SessionId, &TurnId, &CallId) {
        match &self.subagent {
            Some(subagent) => (&subagent.session, &subagent.turn, &subagent.call),
            None => (&self.session, &self.turn, &self.call),
        }
    }

    /// Returns the sessions whose models must know the decision.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        std::iter::once(&self.session).chain(self.subagent.iter().map(|subagent| &subagent.session))
    }
}

/// Id of a hunk, unique in its file and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HunkId(pub u64);

/// Lines of the baseline, and the lines of the current text that are proposed instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub id: HunkId,
    /// Lines of the baseline.
    pub old: Range<usize>,
    /// Lines of the current text.
    pub new: Range<usize>,
    /// The newest agent edit in it.
    pub origin: Arc<Origin>,
    /// True if the user edited it, too.
    pub mixed: bool,
    /// True if the user typed inside a line of the agent's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    typed_inside: bool,
    /// For each new line, true if the user typed text in it. A rejection keeps these lines.
    user: Vec<bool>,
    /// Ids that this hunk was ever joined with or split from.
    kin: Vec<HunkId>,
}

/// Fate of the text that the user typed in a rejected hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnText {
    /// The lines that hold it stay.
    Keep,
    /// Goes with the hunk: the old lines stand there again, and nothing else.
    Drop,
}

/// Author of a change of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The user, or anything other than Cairn: a formatter, another extension, an undo.
    User,
    Agent(Origin),
}

/// The review of one file.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "ReviewSnapshot")]
pub struct FileReview {
    state: ReviewState,
    memory: Memory,
    existed: bool,
    next_id: u64,
}

impl FileReview {
    /// Creates the review of a file in which everything is accepted.
    #[must_use]
    pub fn new(current: Text) -> FileReview {
        FileReview {
            state: ReviewState { baseline: current.clone(), current, hunks: Vec::new() },
            memory: Memory::default(),
            existed: true,
            next_id: 0,
        }
    }

    /// Creates the review of a proposed new file.
    #[must_use]
    pub fn created() -> FileReview {
        FileReview { existed: false, ..FileReview::new(Text::default()) }
    }

    /// Returns the hunks, sorted by line. At least one equal line lies between two of them, or they are
    /// parts of one replacement, such as a new function above a changed one.
    #[must_use]
    pub fn hunks(&self) -> &[Hunk] {
        &self.state.hunks
    }

    #[must_use]
    pub fn hunk(&self, id: HunkId) -> Option<&Hunk> {
        self.state.hunks.iter().find(|hunk| hunk.id == id)
    }

    #[must_use]
    pub fn baseline(&self) -> &Text {
        &self.state.baseline
    }

    #[must_use]
    pub fn current(&self) -> &Text {
        &self.state.current
    }

    /// Returns true if the user has a file here, rather than only the proposal of one. If not, a
    /// rejection of everything that leaves no text means to delete the file.
    #[must_use]
    pub fn existed(&self) -> bool {
        self.existed
    }

    /// Returns true if no hunk is left to decide. Says nothing about a proposed empty file.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state.hunks.is_empty()
    }

    #[must_use]
    pub fn old_text(&self, hunk: &Hunk) -> String {
        self.state.baseline.lines_slice(hunk.old.clone())
    }

    /// Returns the first line that a rejection would keep only in part: the user typed inside a line
    /// of the agent's, and the rest of it is the agent's still.
    #[must_use]
    pub fn line_typed_in(&self, hunk: &Hunk) -> Option<String> {
        let line = hunk.new.start + hunk.user.iter().position(|&user| user)?;
        hunk.typed_inside.then(|| self.state.current.lines_slice(line..line + 1))
    }

    #[must_use]
    pub fn new_text(&self, hunk: &Hunk) -> String {
        self.state.current.lines_slice(hunk.new.clone())
    }

    /// Applies a change of the text.
    ///
    /// # Errors
    /// When the change was made for a text of another length. The review is unchanged then.
    pub fn apply(&mut self, change: &Change, author: &Author) -> Result<(), LengthMismatch> {
        let after = change.apply(&self.state.current)?;
        match author {
            // An undo or redo arrives as an ordinary change; only its text shows the former state.
            // Mirroring the change would accept the lines that it restores.
            Author::User => match self.memory.step_to(&after, &self.state.baseline) {
                Some(known) => self.state = known,
                None => self.apply_user(change),
            },
            Author::Agent(_) => {
                let before = self.state.clone();
                self.edit(&self.minimal(change), author);
                self.memory.remember(before);
                self.memory.remember(self.state.clone());
            }
        }
        Ok(())
    }

    /// Follows an undo or redo that came as several changes: between them are texts that never were.
    /// False, and nothing has happened, if `after` is no text that one step leads to.
    pub fn step_to(&mut self, after: &Text) -> bool {
        match self.memory.step_to(after, &self.state.baseline) {
            Some(known) => self.state = known,
            None => return false,
        }
        true
    }

    /// Follows a change that was not observed: on disk, by a reload, or while the file was closed.
    pub fn reconcile(&mut self, new_current: &Text) {
        match self.memory.jump_to(new_current, &self.state.baseline) {
            Some(known) => self.state = known,
            None => self.apply_user(&Change::between(&self.state.current, new_current)),
        }
    }

    /// Accepts hunks. Returns the number of those that were found.
    pub fn accept_many(&mut self, ids: &[HunkId]) -> usize {
        let accepted = self.state.accept(&ids.iter().copied().collect());
        if !accepted.is_empty() {
            self.existed = true;
            self.memory.accept(&accepted);
            self.memory.remember(self.state.clone());
        }
        accepted.len()
    }

    /// Accepts all hunks, and the existence of an empty proposed file.
    pub fn accept_all(&mut self) {
        self.accept_many(&self.ids());
        self.existed = true;
    }

    /// Returns the edit that rejects these hunks: it removes the agent's lines, restores the old ones, and
    /// keeps the user's own. It is empty when none of the agent's lines is left. `None`: none of the hunks is.
    #[must_use]
    pub fn rejection(&self, ids: &[HunkId], own: OwnText) -> Option<Change> {
        let hunks: Vec<&Hunk> = self.hunks().iter().filter(|hunk| ids.contains(&hunk.id)).collect();
        if hunks.is_empty() { None } else { self.state.rejection(&hunks, own) }
    }

    /// Rejects hunks, after the editor has made the edit that [`FileReview::rejection`] gives. Returns the
    /// number of those that were found.
    pub fn reject(&mut self, ids: &[HunkId], own: OwnText) -> usize {
        let before = self.state.clone();
        let rejected = self.state.reject(&ids.iter().copied().collect(), own);
        if rejected > 0 {
            self.state.settle_own_lines();
            self.memory.remember(before);
            self.memory.remember(self.state.clone());
        }
        rejected
    }

    /// Returns the ids of all hunks.
    #[must_use]
    pub fn ids(&self) -> Vec<HunkId> {
        self.hunks().iter().map(|hunk| hunk.id).collect()
    }

    /// Returns the proposal as a unified diff from the baseline. `None`: all of it.
    #[must_use]
    pub fn unified_patch(&self, only: Option<&[HunkId]>, path: &str) -> String {
        let is_shown = |hunk: &&Hunk| only.is_none_or(|ids| ids.contains(&hunk.id));
        let shown: Vec<&Hunk> = self.hunks().iter().filter(is_shown).collect();
        patch::unified(self, &shown, path)
    }

    /// Checks the invariants, and returns the first violation.
    ///
    /// # Errors
    /// When the hunks are not a correct difference of baseline and current text.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.state.check()?;
        match self.hunks().iter().flat_map(Hunk::lineage).find(|id| id.0 >= self.next_id) {
            Some(id) => Err(format!("id {} was never given out", id.0)),
            None => Ok(()),
        }
    }

    fn apply_user(&mut self, change: &Change) {
        let before = self.state.clone();
        let edits = self.minimal(change);
        self.edit(&edits, &Author::User);
        self.memory.disown(&mut self.state);
        if let Some(known) = self.memory.with_more_pending(&self.state) {
            self.state = known;
            return;
        }
        // Other keystrokes need no remembered state: their undo is mirrored too. But if an edit
        // changes the lines of a hunk or their owners, only the former state can restore them:
        // otherwise a returning line of the agent is treated as the user's. Next to a hunk, only that
        // state knows on which side of deleted lines a line belongs.
        let moves_lines = edits.iter().any(|edit| before.moves_lines_beside_hunk(edit));
        if moves_lines || !before.same_hunks(&self.state) {
            self.memory.remember(before);
            self.memory.remember(self.state.clone());
        }
    }

    fn edit(&mut self, edits: &[Edit], author: &Author) {
        // From the last to the first, so that the offsets of the others stay valid.
        for edit in edits.iter().rev() {
            self.state.edit(edit, author, &mut || {
                self.next_id += 1;
                HunkId(self.next_id - 1)
            });
        }
    }

    /// Reduces a change to the differing text: formatters and file watchers replace more than that.
    fn minimal(&self, change: &Change) -> Vec<Edit> {
        change.edits().iter().flat_map(|edit| minimal(&self.state.current, edit)).collect()
    }
}

fn minimal(text: &Text, edit: &Edit) -> Vec<Edit> {
    if edit.range.is_empty() || edit.insert.is_empty() {
        return vec![edit.clone()];
    }
    let start = edit.range.start;
    let change =
        Change::between(&Text::new(&text.slice(edit.range.clone())), &Text::new(&edit.insert));
    let shift = |edit: &Edit| edit.shifted(start);
    change.edits().iter().map(shift).collect()
}

#[cfg(test)]
mod tests;
