//! Shortens the conversation of a session.

use cairn_core::{
    ids::{SessionId, TurnId},
    turn::Input,
};
use cairn_protocol::{CompactParams, CompactResult, RequestProblem, TurnPhase};

use crate::{
    event::RequestError,
    session::{Sessions, entry::new_id},
    store::sessions::{Line, TurnLine},
};

/// First text of a turn that exists only to compact.
const COMPACT: &str = "Compact the conversation";

/// Compacts on request of the user: between two rounds of the running turn, otherwise at once
/// in a separate turn.
pub(crate) fn compact(
    sessions: &mut Sessions,
    params: CompactParams,
) -> Result<CompactResult, RequestError> {
    let session_id = SessionId::from(params.session_id);
    let nothing = || RequestError::from(RequestProblem::NothingToCompact);
    let session = sessions.known(&session_id)?;
    if !session.machine.can_compact() {
        return Err(nothing());
    }
    let running = session.turn.as_ref().map(|turn| turn.id.clone());
    let turn_id = match running {
        Some(turn_id) => turn_id,
        None => {
            let turn_id = TurnId::from(new_id("t"));
            sessions.begin_turn(&session_id, &turn_id, false)?;
            let Some(session) = sessions.entries.get(&session_id) else { return Err(nothing()) };
            let mode = session.mode;
            let line = TurnLine {
                turn_id: turn_id.clone(),
                task: COMPACT.into(),
                mode,
                follow_up: None,
                attachments: Vec::new(),
            };
            sessions.write(&session_id, &Line::Turn(line));
            let phase = TurnPhase::Started { text: COMPACT.into(), attachments: Vec::new() };
            sessions.publish_turn(&session_id, &turn_id, phase);
            sessions.status.dirty = true;
            turn_id
        }
    };
    sessions.steps.input(&session_id, &turn_id, Input::Compact);
    Ok(CompactResult { session_id: session_id.into(), turn_id: turn_id.into() })
}
