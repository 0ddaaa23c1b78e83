//! Handlers of the requests about reviews, one file for each method.

mod baseline;
mod checkpoints;
mod decide;
mod restore_checkpoint;
mod undo_decision;

pub(crate) use baseline::baseline;
pub(crate) use checkpoints::checkpoints;
pub(crate) use decide::decide;
pub(super) use decide::{on_outdated_reapplied, on_rejected};
pub(crate) use restore_checkpoint::restore_checkpoint;
pub(super) use restore_checkpoint::{on_checkpoint_restored, on_checkpoint_texts};
pub(super) use undo_decision::on_restored;
pub(crate) use undo_decision::undo_decision;
