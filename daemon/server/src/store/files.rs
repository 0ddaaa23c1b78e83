//! File operations that differ by system: private files, opened without following links.
//!
//! Only for Cairn's own files, never for files of the user.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{appending, create_folder, is_removed, private, read_exact_at, sync_folder};
#[cfg(windows)]
pub(super) use windows::{
    appending, create_folder, is_removed, private, read_exact_at, sync_folder,
};
