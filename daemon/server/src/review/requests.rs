//! Handlers of the requests about reviews, one file for each method.

mod baseline;
mod checkpoints;
mod decide;
mod restore_checkpoint;
mod undo_decision;

pub(crate) use baseline::baseline;
pub(crate) use checkpoints::checkpoints;
pub(crate) use decide::decide;
pub(crate) use restore_checkpoint::restore_checkpoint;
pub(crate) use undo_decision::undo_decision;
