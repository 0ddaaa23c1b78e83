//! Processes of commands: start, wait, kill to the last one.
//!
//! A [`Group`] owns all processes of one command, and dropping it kills them.

mod group;
#[cfg(target_os = "linux")]
mod linux;
mod proc;
mod spawn;

pub(super) use group::Group;
pub use group::kill_all;
#[cfg(target_os = "linux")]
pub(super) use linux::guard;
#[cfg(target_os = "linux")]
pub(super) use proc::stat;
