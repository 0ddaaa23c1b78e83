//! Processes of commands, by operating system: start, wait, kill to the last one.
//!
//! A [`Group`] owns all processes of one command, and dropping it kills them. `pipe` carries their
//! output.

#[cfg(any(windows, test))]
mod powershell;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{
    Group,
    pipe::{Reader, pipe},
};
#[cfg(windows)]
pub(super) use windows::{
    Group,
    pipe::{Reader, pipe},
};

#[cfg(target_os = "linux")]
pub(super) use unix::guard;
#[cfg(unix)]
pub use unix::kill_all;
#[cfg(windows)]
pub use windows::kill_all;

use std::{
    fs::File,
    io::{self, Seek, Write},
    process::Stdio,
};

use super::Exit;

#[derive(Clone)]
pub(super) struct Ended {
    pub(super) exit: Exit,
    pub(super) left_running: usize,
    pub(super) crowded: bool,
    /// Reason why the sandbox was not built, or the command not started in it.
    pub(super) never_began: Option<String>,
}

/// Standard input as a temporary file. Unlike a pipe, it needs no writer while the command runs.
fn input(text: &str) -> io::Result<Stdio> {
    if text.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file: File = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}
