//! Files of ours as each system has them: for nobody else to see, reached through no link.
//!
//! The one place of `store` that knows systems apart. Must never be used for files of the user.

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
