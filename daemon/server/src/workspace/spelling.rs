//! How paths are written on this system, so that one place has one spelling to compare by.
//!
//! Must never lead to another place than the path it was given.

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

/// The variable that names the user's own folder.
pub(super) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
