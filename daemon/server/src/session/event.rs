//! Facts that background tasks find for sessions.

use std::io;

use cairn_core::prompt::instructions::Instructions;

use crate::{review::FoundReviews, store::session_list::Newest};

/// State that earlier processes stored for a workspace.
#[derive(Debug, Default)]
pub(crate) struct SavedState {
    pub(super) session: Option<Newest>,
    pub(super) pending: Option<io::Result<FoundReviews>>,
}

/// Facts for the system prompt of a new session; empty for an existing one.
#[derive(Debug, Default)]
pub(crate) struct FoundAtStart {
    pub(super) instructions: Vec<Instructions>,
    pub(super) project: String,
}
