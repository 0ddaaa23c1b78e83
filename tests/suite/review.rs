//! Proposed edits: how they are sent, decided, undone, and restored from checkpoints.

mod checkpoints;
mod decisions;
mod edits;
mod encodings;
mod file_operations;
mod late_edits;
mod outside;
