//! Ends a turn, or a subagent that waits.

use cairn_core::turn::Input;
use cairn_protocol::{CancelParams, Empty};

use crate::{event::RequestError, session::Sessions};

pub(crate) fn cancel(
    sessions: &mut Sessions,
    params: &CancelParams,
) -> Result<Empty, RequestError> {
    if sessions.cancel_waiting_subagent(params) {
        return Ok(Empty {});
    }
    let session_id = params.session_id.as_str().into();
    sessions.known(&session_id)?;
    sessions.steps.input(&session_id, &params.turn_id.as_str().into(), Input::Cancel);
    Ok(Empty {})
}
