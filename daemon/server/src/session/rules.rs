//! Requests of clients about the rules of "always": lists and revokes them.
//!
//! Background tasks read and write the file. Only `runner/consent` creates rules, when a question is
//! answered.

use cairn_protocol::RequestProblem;

use crate::event::RequestError;

pub(super) fn unreadable(error: &anyhow::Error) -> RequestError {
    RequestError::from(RequestProblem::RulesUnreadable { reason: format!("{error:#}") })
}
