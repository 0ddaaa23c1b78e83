//! Requests of clients about the rules of "always": lists and revokes them.
//!
//! Background tasks read and write the file. Only `runner/consent` creates rules, when a question is
//! answered.

use cairn_protocol::RequestProblem;

use super::Sessions;
use crate::{event::RequestError, store::allowed::Allowed};

impl Sessions {
    /// `None`: there is no state folder.
    pub(super) fn allowed(&self) -> Option<Allowed> {
        self.config.environment.state_dir.as_deref().map(Allowed::new)
    }
}

pub(super) fn unreadable(error: &anyhow::Error) -> RequestError {
    RequestError::from(RequestProblem::RulesUnreadable { reason: format!("{error:#}") })
}
