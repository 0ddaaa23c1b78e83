//! Sessions on disk: list, restore, crash recovery.

mod crash_recovery;
mod decisions;
mod edit_crash_recovery;
mod pending_restore;
mod session_changes;
mod session_formats;
mod session_list;
mod sessions;
mod soak;
mod state_folder;
mod state_formats;
mod steering;
mod transcript_pages;
