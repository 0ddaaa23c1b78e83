//! Which program a name is, as the shell will find it.
//!
//! Never a lock: a program may be another one when the command runs. But whoever can change what
//! lies outside the workspace runs programs already.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::lies_outside;
#[cfg(windows)]
pub(super) use windows::lies_outside;
