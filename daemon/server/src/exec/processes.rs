//! Processes of commands, by operating system: start, wait, kill to the last one.
//!
//! A [`Group`] owns all processes of one command, and dropping it kills them. An [`OutputReader`]
//! reads their output.

mod input;
mod output_pipe;
#[cfg(any(windows, test))]
mod powershell;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub(super) use output_pipe::{OutputReader, output_of};
#[cfg(unix)]
pub(super) use unix::Group;
#[cfg(unix)]
pub use unix::kill_all;
#[cfg(target_os = "linux")]
pub(super) use unix::{guard, stat};
#[cfg(windows)]
pub(super) use windows::Group;
#[cfg(windows)]
pub use windows::kill_all;
