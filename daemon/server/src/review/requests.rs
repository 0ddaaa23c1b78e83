//! Handlers of the requests about reviews, one file for each method with the function `handle`.

pub(crate) mod baseline;
pub(crate) mod checkpoints;
pub(crate) mod decide;
pub(crate) mod restore_checkpoint;
pub(crate) mod undo_decision;
