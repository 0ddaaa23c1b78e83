//! Checkpoints of the newest turns: the state of each file before the agent changed it.

use std::collections::BTreeMap;

use cairn_core::{plan::Plan, text::Text};

use super::{
    file_state::FileSnapshot,
    records::{recorded_state, state_of},
};
use crate::store::reviews;

/// Oldest first.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    pub(super) known: Vec<Checkpoint>,
}

#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) turn: String,
    pub(super) session: String,
    pub(super) task: String,
    pub(super) plan: Plan,
    /// By canonical URI.
    pub(super) files: BTreeMap<String, FileSnapshot>,
}

impl Checkpoints {
    /// Somebody else than the agent changed a file.
    pub(super) fn touched(&mut self, key: &str) -> Vec<usize> {
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
    pub(super) fn before(&self, turn: &str) -> Option<BTreeMap<String, FileSnapshot>> {
        let at = self.known.iter().position(|checkpoint| checkpoint.turn == turn)?;
        let mut files: BTreeMap<String, FileSnapshot> = BTreeMap::new();
        for (key, before) in self.known[at..].iter().flat_map(|checkpoint| &checkpoint.files) {
            match files.get_mut(key) {
                Some(oldest) => oldest.left.clone_from(&before.left),
                None => drop(files.insert(key.clone(), before.clone())),
            }
        }
        Some(files)
    }
}

impl Checkpoint {
    pub(super) fn kept(&self) -> reviews::Checkpoint<Text> {
        let before = |before: &FileSnapshot| reviews::Before {
            standing: recorded_state(&before.standing),
            text: before.text.clone(),
            left: before.left.clone(),
            touched: before.touched,
        };
        reviews::Checkpoint {
            turn: self.turn.clone(),
            session: self.session.clone(),
            task: self.task.clone(),
            plan: self.plan.clone(),
            files: self.files.iter().map(|(key, it)| (key.clone(), before(it))).collect(),
        }
    }

    pub(super) fn known(kept: reviews::Checkpoint<Text>) -> Result<Self, String> {
        let reviews::Checkpoint { turn, session, task, plan, files } = kept;
        let mut known = BTreeMap::new();
        for (key, reviews::Before { standing, text, left, touched }) in files {
            let standing = state_of(&standing)?;
            known.insert(key, FileSnapshot { standing, text, left, touched });
        }
        Ok(Self { turn, session, task, plan, files: known })
    }
}
