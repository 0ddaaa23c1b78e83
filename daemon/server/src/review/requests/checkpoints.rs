//! Lists the checkpoints of turns that changed files.

use cairn_core::{ids::FileKey, review};
use cairn_protocol::{Checkpoint, CheckpointsResult};

use crate::{review::Reviews, workspace::path_of};

pub(crate) fn handle(reviews: &Reviews) -> CheckpointsResult {
    let display = |key: &FileKey| path_of(key).map(|path| reviews.services.display(&path));
    let shown = |checkpoint: &review::Checkpoint| Checkpoint {
        session_id: checkpoint.session.clone().into(),
        turn_id: checkpoint.turn.clone().into(),
        task: checkpoint.task.clone(),
        files: checkpoint.files.keys().filter_map(display).collect(),
    };
    CheckpointsResult { checkpoints: reviews.checkpoints.with_files().map(shown).collect() }
}
