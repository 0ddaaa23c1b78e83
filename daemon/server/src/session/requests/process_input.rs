//! Sends the user's text to a process of a session.

use cairn_protocol::{InputTaken, ProcessInputParams, ProcessInputResult, RequestProblem};

use crate::{
    event::{RequestError, Responder},
    processes::Written,
    session::{Sessions, processes},
};

/// Longest input in bytes.
const MAX_INPUT_BYTES: usize = 16 * 1024;

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: ProcessInputParams,
    reply: Responder<ProcessInputResult>,
) {
    if params.text.len() > MAX_INPUT_BYTES {
        let limit = MAX_INPUT_BYTES as u32;
        return reply.send(Err(RequestError::from(RequestProblem::ProcessInputTooLong { limit })));
    }
    match processes::find(&sessions.services, &params.session_id.as_str().into(), params.id) {
        Err(error) => reply.send(Err(error)),
        Ok(process) => sessions.services.spawn(async move {
            let taken = match process.write(&params.text, false).await {
                Written::All => InputTaken::All,
                Written::Part(_) => InputTaken::Part,
                Written::Closed => InputTaken::None,
            };
            reply.send(Ok(ProcessInputResult { taken }));
        }),
    }
}
