//! Requests to end this process. It must not die of them at once: its commands would survive.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::asked_to_end;
#[cfg(windows)]
pub use windows::asked_to_end;
