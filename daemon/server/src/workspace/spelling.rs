//! System-specific spelling of paths, so that equal paths compare equal.
//!
//! A result must never lead to another place than the given path.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{absolute, link_target, shown};
#[cfg(windows)]
pub(super) use windows::{absolute, link_target, shown};

#[cfg(unix)]
pub use unix::canonical;
#[cfg(windows)]
pub use windows::canonical;

/// Environment variable of the home folder.
pub(super) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
