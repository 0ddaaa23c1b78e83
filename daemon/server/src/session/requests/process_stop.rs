//! Stops a process of a session.

use cairn_core::{ids::SessionId, process::StoppedBy};
use cairn_protocol::{Empty, ProcessStopParams};

use crate::{
    event::RequestError,
    session::{Sessions, processes::find},
};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: ProcessStopParams,
) -> Result<Empty, RequestError> {
    let session = SessionId::from(params.session_id.as_str());
    find(&sessions.services, &session, params.id)?;
    sessions.services.processes.stop(&session, params.id, StoppedBy::User);
    Ok(Empty {})
}
