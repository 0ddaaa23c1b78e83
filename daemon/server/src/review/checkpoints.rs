//! Checkpoints of the newest turns: the state of each file before the agent changed it.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::{
    context::WENT_BACK,
    ids::{FileKey, TurnId},
    review::{Checkpoint, FileSnapshot},
    text::Text,
};

use super::{event::PlanBefore, files::Files};
use crate::store::reviews::{CHECKPOINTS_KEPT, ReviewLine};

/// Oldest first.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    known: Vec<Checkpoint>,
}

impl Checkpoints {
    /// Checkpoints from before this process, oldest first.
    pub(super) fn remember_older(&mut self, older: Vec<Checkpoint>) {
        self.known.splice(0..0, older);
    }

    pub(super) fn begin(&mut self, checkpoint: Checkpoint) {
        self.known.push(checkpoint);
        if self.known.len() > CHECKPOINTS_KEPT {
            self.known.remove(0);
        }
    }

    /// Checkpoints of turns that changed files, newest first.
    pub(super) fn with_files(&self) -> impl Iterator<Item = &Checkpoint> {
        self.known.iter().rev().filter(|checkpoint| !checkpoint.files.is_empty())
    }

    /// Records a file that the agent is about to change.
    pub(super) fn record_before(
        &mut self,
        key: &FileKey,
        turn: &TurnId,
        text: Option<&Text>,
        files: &Files,
    ) {
        let Some(at) = self.position(turn) else { return };
        let (text, left) = (text.cloned(), text.cloned());
        let snapshot = || FileSnapshot { state: files.state(key), text, left, touched: false };
        self.known[at].files.entry(key.to_owned()).or_insert_with(snapshot);
        self.store(at, files);
    }

    /// Records the text that the agent, or a decision, left.
    pub(super) fn record_left(&mut self, key: &FileKey, text: Option<&Text>, files: &Files) {
        let mut newest = None;
        for (index, checkpoint) in self.known.iter_mut().enumerate() {
            if let Some(before) = checkpoint.files.get_mut(key) {
                before.left = text.cloned();
                newest = Some(index);
            }
        }
        // The others are older: the newest alone is asked for what was left.
        newest.into_iter().for_each(|index| self.store(index, files));
    }

    /// Marks a file that another author than the agent changed.
    pub(super) fn record_touched(&mut self, key: &FileKey, files: &Files) {
        for index in 0..self.known.len() {
            let before = self.known[index].files.get_mut(key);
            if let Some(before) = before.filter(|before| !before.touched) {
                before.touched = true;
                self.store(index, files);
            }
        }
    }

    fn store(&self, index: usize, files: &Files) {
        let checkpoint = self.known.get(index).filter(|it| !it.files.is_empty());
        if let (Some(store), Some(checkpoint)) = (&files.store, checkpoint) {
            store.write(ReviewLine::Checkpoint(Box::new(checkpoint.clone())));
        }
    }

    fn position(&self, turn: &TurnId) -> Option<usize> {
        self.known.iter().position(|checkpoint| checkpoint.turn == *turn)
    }

    /// Returns each file as it was before this turn: its oldest snapshot since.
    pub(super) fn before(&self, turn: &TurnId) -> Option<BTreeMap<FileKey, FileSnapshot>> {
        let at = self.position(turn)?;
        let mut files: BTreeMap<FileKey, FileSnapshot> = BTreeMap::new();
        for (key, before) in self.known[at..].iter().flat_map(|checkpoint| &checkpoint.files) {
            match files.get_mut(key) {
                Some(oldest) => oldest.left.clone_from(&before.left),
                None => drop(files.insert(key.clone(), before.clone())),
            }
        }
        Some(files)
    }

    /// Forgets a turn whose files were restored, and all later ones. Returns the plans of the sessions
    /// as they were before the oldest of their turns.
    pub(super) fn forget_since(
        &mut self,
        turn: TurnId,
        restored: &[String],
        files: &Files,
    ) -> Vec<PlanBefore> {
        let Some(at) = self.position(&turn) else { return Vec::new() };
        let gone = self.known.split_off(at);
        if let Some(store) = &files.store {
            store.write(ReviewLine::CheckpointRestored(turn));
        }
        let mut known = BTreeSet::new();
        let oldest = gone.into_iter().filter(|it| known.insert(it.session.clone()));
        let plan = |Checkpoint { session, turn, task, plan, .. }: Checkpoint| {
            let text = format!(
                "{WENT_BACK} to how everything was before you began with: {task}\nThese files are as they were then: {}. The plan is too. Read a file again before you change it.",
                restored.join(", ")
            );
            PlanBefore { session, turn, plan, text }
        };
        oldest.map(plan).collect()
    }
}

#[cfg(test)]
mod tests {
    use cairn_core::plan::Plan;

    use super::*;

    #[test]
    fn a_file_is_restored_to_its_oldest_text_since_the_turn() {
        let (mut checkpoints, files) = (Checkpoints::default(), Files::default());
        let (key, text) = (FileKey::from("file:///a"), Text::new);
        for turn in ["t1", "t2"] {
            let (turn, session) = (TurnId::from(turn), "s".into());
            let (task, plan, known) = (String::new(), Plan::default(), BTreeMap::new());
            checkpoints.begin(Checkpoint { turn, session, task, plan, files: known });
        }
        for turn in ["t1", "t2"] {
            checkpoints.record_before(&key, &turn.into(), Some(&text(turn)), &files);
            checkpoints.record_before(&key, &turn.into(), Some(&text("later")), &files);
            checkpoints.record_left(&key, Some(&text("left")), &files);
        }
        let before = |turn: &str| checkpoints.before(&turn.into())?.remove(&key);
        let seen = |turn: &str| before(turn).map(|it| (it.text, it.left));
        assert_eq!(seen("t1"), Some((Some(text("t1")), Some(text("left")))));
        assert_eq!(seen("t2"), Some((Some(text("t2")), Some(text("left")))));
        assert_eq!(seen("t3"), None);
        let plans = checkpoints.forget_since("t1".into(), &[], &files);
        assert_eq!(plans.len(), 1, "one session");
        assert_eq!(checkpoints.with_files().count(), 0);
    }
}
