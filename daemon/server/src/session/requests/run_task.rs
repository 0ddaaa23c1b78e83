//! Starts a turn, in a new session or in one that is known.

use std::sync::Arc;

use cairn_protocol::{RunTaskParams, RunTaskResult};

use crate::{
    event::Responder,
    instructions, orientation,
    review::Reviews,
    session::{Sessions, attachments::AttachmentReader, entry::TurnStart, event::FoundAtStart},
};

/// Starts a task, once its attachments and the instructions of a new session were read.
pub(crate) fn handle(
    sessions: &mut Sessions,
    params: RunTaskParams,
    reply: Responder<RunTaskResult>,
    reviews: &mut Reviews,
) {
    let new = params.session_id.is_none();
    let Some(workspace) =
        sessions.services.workspace.clone().filter(|_| new || !params.attachments.is_empty())
    else {
        return start_and_reply(sessions, params, TurnStart::default(), reply, reviews);
    };
    let reader = AttachmentReader::new(&sessions.services, &sessions.config);
    let docs = Arc::clone(&sessions.services.docs);
    let sources = Arc::clone(&sessions.services.sources);
    let config = sessions.config.environment.config_dir.clone();
    let trusted = sessions.config.trusted;
    let sandbox = sessions.config.sandbox_config();
    let active = params.context.as_ref().and_then(|context| context.active_file.clone());
    let attachments = params.attachments.clone();
    let reading = async move {
        let asked = Arc::clone(&workspace);
        let found = tokio::task::spawn_blocking(move || {
            if !new {
                FoundAtStart::default()
            } else if trusted {
                let (active, config) = (active.as_deref(), config.as_deref());
                let instructions =
                    instructions::at_start(&workspace, &docs, &sources, active, config);
                FoundAtStart { instructions, project: orientation::facts(&workspace) }
            } else {
                let instructions = instructions::users_own(config.as_deref());
                FoundAtStart { instructions, ..FoundAtStart::default() }
            }
        });
        let mut found = found.await.unwrap_or_default();
        if new && trusted {
            let said = orientation::programs_say(&asked, &sandbox).await;
            found.project = format!("{}\n{said}", found.project).trim().to_owned();
        }
        (found, reader.read_in_background(attachments).await)
    };
    sessions.after(reading, move |sessions, (found, attached), reviews| match attached {
        Ok(attached) => {
            let opening = TurnStart { found, attached, ..TurnStart::default() };
            start_and_reply(sessions, params, opening, reply, reviews);
        }
        Err(refused) => reply.send(Err(refused)),
    });
}

fn start_and_reply(
    sessions: &mut Sessions,
    params: RunTaskParams,
    opening: TurnStart,
    reply: Responder<RunTaskResult>,
    reviews: &mut Reviews,
) {
    let began = sessions.run_task(params, opening);
    let session_id = began.as_ref().map(|began| began.session_id.clone()).unwrap_or_default();
    sessions.settle(reviews);
    sessions.reply_when_saved(&session_id.into(), began, reply);
}
