//! What asks a process to end. It must not just die of that: commands it started would live on.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::asked_to_end;
#[cfg(windows)]
pub use windows::asked_to_end;
