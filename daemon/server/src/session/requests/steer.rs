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
    session::{Sessions, attachments},
};

/// Sends a message to the running turn, once its attachments were read.
pub(crate) fn handle(
    sessions: &mut Sessions,
    params: SteerParams,
    reply: Responder<SteerResult>,
    reviews: &mut Reviews,
) {
    let (id, attachments) = (params.session_id.as_str().into(), params.attachments.clone());
    attachments::with(sessions, reviews, id, attachments, reply, move |sessions, attached| {
        steer_now(sessions, params, attached)
    });
}

/// Sends a message whose attachments were read.
pub(in crate::session) fn steer_now(
    sessions: &mut Sessions,
    params: SteerParams,
    attached: Vec<Attached>,
) -> Result<SteerResult, RequestError> {
    let session_id = SessionId::from(params.session_id);
    let session = sessions.known(&session_id)?;
    let turn_id = TurnId::from(params.expected_turn_id);
    if !session.is_turn(&turn_id) {
        return Err(RequestProblem::TurnEnded.into());
    }
    session.steering(params.text.clone(), &attached);
    sessions.steps.input(&session_id, &turn_id, Input::Steer { text: params.text, attached });
    Ok(SteerResult { queued: true })
}
