//! Baseline and live text of a file, and the hunks between them.
//!
//! The baseline is what the user has accepted, the current text is what the editor shows. A hunk
//! is known by its id alone: ids survive edits, line numbers do not. Nothing here writes a file or
//! a buffer: a rejection is an ordinary change that the editor performs and then reports back.
//!
//! Must never lose a line that the user typed, nor take one for accepted that nobody accepted.

use std::{collections::HashSet, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    change::{Change, Edit, LengthMismatch},
    text::Text,
};
pub use intent::Intent;
use memory::Memory;
pub use snapshot::{HunkSnapshot, Outdated, Snapshot};
use state::State;
pub use unaccept::StaysAccepted;

mod intent;
mod memory;
pub mod patch;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod unaccept;
mod window;

/// Under which call a hunk was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    pub session: String,
    pub turn: String,
    pub call: String,
    /// The plan item that was in progress.
    pub plan_item: Option<String>,
    /// The child that made it, if one did. Everything above is then of the call that started it:
    /// the child is gone when its work is decided about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<ChildCall>>,
}

/// A call of a child, and the child's own plan item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChildCall {
    pub session: String,
    pub turn: String,
    pub call: String,
    pub plan_item: Option<String>,
}

impl Origin {
    /// The session, the turn and the call that did it: a child's, or its own.
    pub fn doer(&self) -> (&str, &str, &str) {
        match &self.child {
            Some(child) => (&child.session, &child.turn, &child.call),
            None => (&self.session, &self.turn, &self.call),
        }
    }

    /// Whose model must know what becomes of it.
    pub fn sessions(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.session).chain(self.child.iter().map(|child| &child.session))
    }
}

/// Names a hunk of one file, and never another one of that file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HunkId(pub u64);

/// Lines of the baseline, and the lines of the current text that are proposed instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub id: HunkId,
    /// Lines of the baseline.
    pub old: Range<usize>,
    /// Lines of the current text.
    pub new: Range<usize>,
    /// The newest agent edit in it.
    pub origin: Arc<Origin>,
    /// The user edited it, too.
    pub mixed: bool,
    /// Which of the new lines hold text that the user typed: a rejection keeps those.
    user: Vec<bool>,
    /// Ids that this hunk was ever joined with or split from.
    kin: Vec<HunkId>,
}

/// Who changed the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The user, or anything else that is not us: a formatter, another extension, an undo.
    User,
    Agent(Origin),
    /// The user's rejection: the change that [`FileReview::reject`] gave comes back.
    Decision,
}

/// Which hunks a patch shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hunks<'a> {
    All,
    Only(&'a [HunkId]),
}

/// The review of one file.
#[derive(Debug, Clone)]
pub struct FileReview {
    state: State,
    memory: Memory,
    existed: bool,
    next_id: u64,
}

impl FileReview {
    /// A file of which everything is accepted.
    #[must_use]
    pub fn new(current: Text) -> FileReview {
        FileReview {
            state: State { baseline: current.clone(), current, hunks: Vec::new() },
            memory: Memory::default(),
            existed: true,
            next_id: 0,
        }
    }

    /// A file that is not there yet: its creation is what is reviewed.
    #[must_use]
    pub fn created() -> FileReview {
        FileReview { existed: false, ..FileReview::new(Text::default()) }
    }

    /// Sorted by line, with at least one equal line between two of them.
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

    /// Whether the user has a file here, rather than only the proposal of one. Where it did not
    /// exist, a rejection of everything that leaves no text means to delete the file.
    #[must_use]
    pub fn existed(&self) -> bool {
        self.existed
    }

    /// Whether nothing is left to decide. Of a proposed file that is empty, this says nothing.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state.hunks.is_empty()
    }

    #[must_use]
    pub fn old_text(&self, hunk: &Hunk) -> String {
        self.state.baseline.lines_slice(hunk.old.clone())
    }

    #[must_use]
    pub fn new_text(&self, hunk: &Hunk) -> String {
        self.state.current.lines_slice(hunk.new.clone())
    }

    /// The text changed.
    ///
    /// # Errors
    /// When the change was made for a text of another length; nothing has happened then.
    pub fn apply(&mut self, change: &Change, author: &Author) -> Result<(), LengthMismatch> {
        let after = change.apply(&self.state.current)?;
        match author {
            // An undo or redo comes as an ordinary change; only the text says where it leads. To
            // mirror it would accept what it brings back.
            Author::User => match self.memory.step_to(&after, &self.state.baseline) {
                Some(known) => self.state = known,
                None => self.apply_user(change),
            },
            Author::Agent(_) | Author::Decision => {
                let before = self.state.clone();
                self.edit(&self.minimal(change), author);
                if matches!(author, Author::Decision) {
                    self.state.settle_own_lines();
                }
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

    /// The text became another one out of our sight: on disk, by a reload, while it was closed.
    pub fn reconcile(&mut self, new_current: &Text) {
        match self.memory.jump_to(new_current, &self.state.baseline) {
            Some(known) => self.state = known,
            None => self.apply_user(&Change::between(&self.state.current, new_current)),
        }
    }

    /// Keeps a hunk. Says whether there was one.
    pub fn accept(&mut self, id: HunkId) -> bool {
        self.accept_many(&[id]) == 1
    }

    /// Keeps hunks. Says how many of them there were.
    pub fn accept_many(&mut self, ids: &[HunkId]) -> usize {
        let accepted = self.state.accept(&ids.iter().copied().collect());
        if !accepted.is_empty() {
            self.existed = true;
            self.memory.accept(&accepted);
            self.memory.remember(self.state.clone());
        }
        accepted.len()
    }

    /// Keeps everything, also the mere existence of an empty proposed file.
    pub fn accept_all(&mut self) {
        let ids: Vec<HunkId> = self.hunks().iter().map(|hunk| hunk.id).collect();
        self.accept_many(&ids);
        self.existed = true;
    }

    /// The edit that takes a hunk back: the agent's lines go, the old ones return, the user's own
    /// stay. To be performed by the editor and reported as [`Author::Decision`].
    ///
    /// It is empty when nothing of the agent's is left to take away: report it all the same.
    #[must_use]
    pub fn reject(&self, id: HunkId) -> Option<Change> {
        self.hunk(id).and_then(|hunk| self.state.reject(std::slice::from_ref(hunk)))
    }

    /// The edit that takes these hunks back, as one change; `None` when none of them is left.
    #[must_use]
    pub fn reject_many(&self, ids: &[HunkId]) -> Option<Change> {
        let ids: HashSet<HunkId> = ids.iter().copied().collect();
        let hunks: Vec<Hunk> =
            self.hunks().iter().filter(|hunk| ids.contains(&hunk.id)).cloned().collect();
        if hunks.is_empty() { None } else { self.state.reject(&hunks) }
    }

    /// The edit that takes all hunks back.
    #[must_use]
    pub fn reject_all(&self) -> Option<Change> {
        if self.is_settled() { None } else { self.state.reject(&self.state.hunks) }
    }

    /// The proposal as a unified diff from the baseline.
    #[must_use]
    pub fn unified_patch(&self, hunks: Hunks<'_>, path: &str) -> String {
        let shown: Vec<&Hunk> = self
            .hunks()
            .iter()
            .filter(|hunk| match hunks {
                Hunks::All => true,
                Hunks::Only(ids) => ids.contains(&hunk.id),
            })
            .collect();
        patch::unified(self, &shown, path)
    }

    /// What must hold after every step: the first thing that does not.
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
        if let Some(known) = self.memory.with_more_pending(&self.state) {
            self.state = known;
            return;
        }
        // Other keystrokes are not worth remembering: their undo is mirrored as they were. But what
        // changes a hunk in its lines, and whose they are, only the state before can take back:
        // a line of the agent's that comes back is else the user's. And beside a hunk, only that
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

    /// What a change really changes: formatters and file watchers like to replace more than that.
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
