//! Returns output of a process as soon as it has some.

use std::{sync::Arc, time::Duration};

use cairn_core::{
    ids::SessionId,
    process::{ProcessExit, ProcessState},
};
use cairn_protocol::{ProcessOutputParams, ProcessOutputResult};

use crate::{
    event::Responder,
    session::{
        Sessions,
        processes::{end, find},
    },
};

/// Longest wait for output.
const OUTPUT_WAIT: Duration = Duration::from_secs(10);

/// Answers once there is output, the process has ended, or the wait is over.
pub(crate) fn handle(
    sessions: &mut Sessions,
    params: ProcessOutputParams,
    reply: Responder<ProcessOutputResult>,
) {
    let session = SessionId::from(params.session_id.as_str());
    let processes = Arc::clone(&sessions.services.processes);
    match find(&sessions.services, &session, params.id) {
        Err(error) => reply.send(Err(error)),
        Ok(process) => sessions.services.spawn(async move {
            let (progress, is_last) = process.watch_on(params.since, OUTPUT_WAIT).await;
            let entry = processes.get(&session, params.id);
            let exit = match entry.map(|(entry, _)| entry.state) {
                Some(ProcessState::Ended(exit)) => exit,
                Some(ProcessState::Running { .. }) | None => ProcessExit::Lost,
            };
            let ended = is_last.then(|| end(exit));
            let (text, missed, end) = (progress.text, progress.missed, progress.end);
            reply.send(Ok(ProcessOutputResult { text, missed, end, ended }));
        }),
    }
}
