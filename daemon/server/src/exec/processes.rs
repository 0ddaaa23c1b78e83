//! Processes of commands, by operating system: start, wait, kill to the last one.
//!
//! A [`Group`] owns all processes of one command, and dropping it kills them. An [`OutputReader`]
//! reads their output.

mod input;
#[cfg(target_os = "linux")]
mod linux;
mod output_pipe;
#[cfg(not(target_os = "linux"))]
mod portable;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub(super) use linux::{guard, stat};
pub(super) use output_pipe::{OutputReader, output_of};
#[cfg(not(target_os = "linux"))]
use portable as system;
pub(super) use system::Group;
pub use system::kill_all;
