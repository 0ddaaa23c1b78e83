//! Lookup of programs by name, as the shell does it.
//!
//! Not a lock: the program may be replaced before the command runs. But code that can write outside of
//! the workspace can already run programs.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::lies_outside;
#[cfg(windows)]
pub(super) use windows::lies_outside;
