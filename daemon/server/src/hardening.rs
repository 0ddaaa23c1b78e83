//! Protection of this process's memory from other programs, set up before it reads a key.
//!
//! Must run before any other thread or child starts. A failure is logged, not fatal: without the
//! protection the daemon is as safe as any other program of the user.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix::close;
#[cfg(windows)]
use windows::close;

/// Environment variable that turns the protection off with the value 1, for debuggers, profilers,
/// and tests that measure memory.
pub const TRACEABLE: &str = "CAIRN_TRACEABLE";

/// Sets up the protection. Returns failures for the log.
pub fn begin(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if variable(TRACEABLE).as_deref() == Some("1") {
        return vec![format!("{TRACEABLE} is set: other programs of this user can read the keys")];
    }
    close()
}
