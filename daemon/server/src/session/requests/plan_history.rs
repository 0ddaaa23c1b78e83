//! Returns the plans of earlier turns.

use cairn_protocol::{PlanHistoryResult, RequestProblem, SessionParams};

use crate::{event::RequestError, session::Sessions};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: SessionParams,
) -> Result<PlanHistoryResult, RequestError> {
    match sessions.entries.get(&params.session_id.as_str().into()) {
        Some(session) => Ok(PlanHistoryResult { turns: session.work.history.clone() }),
        None => Err(RequestError::from(RequestProblem::SessionUnknown)),
    }
}
