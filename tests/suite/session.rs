//! Sessions on disk: list, restore, crash recovery.

mod crash_recovery;
mod panics;
mod pending_restore;
mod session_list;
mod sessions;
mod soak;
mod state_formats;
