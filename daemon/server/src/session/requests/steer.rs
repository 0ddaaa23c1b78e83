//! Sends words to the running turn.

use cairn_core::{
    conversation::Attached,
    ids::{SessionId, TurnId},
    turn::Input,
};
use cairn_protocol::{RequestProblem, SteerParams, SteerResult};

use crate::{
    event::{RequestError, Responder},
    review::Reviews,
    session::{Sessions, event::WithAttachments},
};

/// Sends a message to the running turn, once its attachments were read.
pub(crate) fn steer(
    sessions: &mut Sessions,
    params: SteerParams,
    reply: Responder<SteerResult>,
    reviews: &mut Reviews,
) {
    sessions.with_attachments(WithAttachments::Steer(params, reply), reviews);
}

pub(in crate::session) fn steer_now(
    sessions: &mut Sessions,
    params: SteerParams,
    attached: Vec<Attached>,
) -> Result<SteerResult, RequestError> {
    let session_id = SessionId::from(params.session_id);
    let session = sessions.known(&session_id)?;
    if !session.is_turn(&params.expected_turn_id.as_str().into()) {
        return Err(RequestProblem::TurnEnded.into());
    }
    let turn_id = TurnId::from(params.expected_turn_id);
    sessions.steering(&session_id, &turn_id, params.text.clone(), &attached);
    sessions.steps.input(&session_id, &turn_id, Input::Steer { text: params.text, attached });
    Ok(SteerResult { queued: true })
}
