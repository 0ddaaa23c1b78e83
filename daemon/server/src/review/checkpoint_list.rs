//! Checkpoints of the newest turns: the state of each file before the agent changed it.

use std::collections::BTreeMap;

use cairn_core::{
    ids::{FileKey, TurnId},
    review::{Checkpoint, FileSnapshot},
};

/// Oldest first.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    pub(super) known: Vec<Checkpoint>,
}

impl Checkpoints {
    /// Marks a file that another author than the agent changed; returns the changed checkpoints.
    pub(super) fn touched(&mut self, key: &FileKey) -> Vec<usize> {
        let mut changed = Vec::new();
        for (index, checkpoint) in self.known.iter_mut().enumerate() {
            if let Some(before) = checkpoint.files.get_mut(key).filter(|before| !before.touched) {
                before.touched = true;
                changed.push(index);
            }
        }
        changed
    }

    /// Every file as it was before this turn: the oldest memory of it since counts.
    pub(super) fn before(&self, turn: &TurnId) -> Option<BTreeMap<FileKey, FileSnapshot>> {
        let at = self.known.iter().position(|checkpoint| checkpoint.turn == *turn)?;
        let mut files: BTreeMap<FileKey, FileSnapshot> = BTreeMap::new();
        for (key, before) in self.known[at..].iter().flat_map(|checkpoint| &checkpoint.files) {
            match files.get_mut(key) {
                Some(oldest) => oldest.left.clone_from(&before.left),
                None => drop(files.insert(key.clone(), before.clone())),
            }
        }
        Some(files)
    }
}
