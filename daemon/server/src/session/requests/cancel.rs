//! Ends a turn, or a subagent that waits.

use cairn_core::{ids::SessionId, turn::Input};
use cairn_protocol::{Empty, TurnParams};

use crate::{event::RequestError, session::Sessions};

pub(crate) fn handle(sessions: &mut Sessions, params: TurnParams) -> Result<Empty, RequestError> {
    let session_id = SessionId::from(params.session_id.as_str());
    if !sessions.drop_waiting(|subagent| subagent.session == session_id) {
        sessions.known(&session_id)?;
        sessions.steps.input(&session_id, &params.turn_id.as_str().into(), Input::Cancel);
    }
    Ok(Empty {})
}
