//! Shortens the conversation of a session.

use cairn_core::{ids::SessionId, turn::Input};
use cairn_protocol::{RequestProblem, RunTaskResult, SessionParams, TurnPhase};

use crate::{event::RequestError, session::Sessions};

/// First text of a turn that exists only to compact.
const COMPACT: &str = "Compact the conversation";

/// Compacts on request of the user: between two rounds of the running turn, otherwise at once
/// in a separate turn.
pub(crate) fn handle(
    sessions: &mut Sessions,
    params: SessionParams,
) -> Result<RunTaskResult, RequestError> {
    let session_id = SessionId::from(params.session_id);
    let session = sessions.entries.get_mut(&session_id).ok_or(RequestProblem::SessionUnknown)?;
    if !session.machine.can_compact() {
        return Err(RequestProblem::NothingToCompact.into());
    }
    if session.turn.is_none() {
        session.begin_turn(&sessions.config, false);
        session.write_turn(COMPACT.into(), None, Vec::new());
        session.publish_turn(TurnPhase::Started { text: COMPACT.into(), attachments: Vec::new() });
        sessions.status.dirty = true;
    }
    let turn_id = session.newest_turn();
    sessions.steps.input(&session_id, &turn_id, Input::Compact);
    Ok(RunTaskResult { session_id: session_id.into(), turn_id: turn_id.into() })
}
