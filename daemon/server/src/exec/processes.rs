//! Processes of commands: start, wait, kill to the last one.
//!
//! A [`Group`] owns all processes of one command, and dropping it kills them. An [`OutputReader`]
//! reads their output.

mod group;
mod input;
#[cfg(target_os = "linux")]
mod linux;
mod output_pipe;
mod proc;
mod spawn;

pub(super) use group::Group;
pub use group::kill_all;
#[cfg(target_os = "linux")]
pub(super) use linux::guard;
pub(super) use output_pipe::{OutputReader, output_of};
#[cfg(target_os = "linux")]
pub(super) use proc::stat;
