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
    session::{Sessions, attachments, event::WithAttachments},
};

/// Sends a message to the running turn, once its attachments were read.
pub(crate) fn steer(
    sessions: &mut Sessions,
    params: SteerParams,
    reply: Responder<SteerResult>,
    reviews: &mut Reviews,
) {
    let attachments = params.attachments.clone();
    if attachments.is_empty() {
        steer_with(sessions, params, Ok(Vec::new()), reply, reviews);
    } else {
        attachments::read(sessions, attachments, WithAttachments::Steer(params, reply));
    }
}

/// Handles the request with its attachments.
pub(in crate::session) fn steer_with(
    sessions: &mut Sessions,
    params: SteerParams,
    attached: Result<Vec<Attached>, RequestError>,
    reply: Responder<SteerResult>,
    reviews: &mut Reviews,
) {
    let session_id = params.session_id.as_str().into();
    let answer = attached.and_then(|attached| steer_now(sessions, params, attached));
    sessions.settle(reviews);
    sessions.reply_when_saved(&session_id, answer, reply);
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
