//! What this process asks of the system before it reads a key: that nobody looks into its memory.
//!
//! It must run before any other thread and any child. A failure is told, not fatal: without it the
//! daemon is as safe as any other program of the user.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix::close;
#[cfg(windows)]
use windows::close;

/// Set to 1 it leaves the process open, for a debugger, a profiler, and tests that weigh it.
pub const TRACEABLE: &str = "CAIRN_TRACEABLE";

/// What could not be had, for the log.
pub fn begin(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if variable(TRACEABLE).as_deref() == Some("1") {
        return vec![format!("{TRACEABLE} is set: other programs of this user can read the keys")];
    }
    close()
}
