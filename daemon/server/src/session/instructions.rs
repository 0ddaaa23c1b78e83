//! Instruction files: read before a session starts, and sent later for folders that the agent
//! visits.
//!
//! Never changes the system prompt of a session.

use std::sync::Arc;

use cairn_core::{
    ids::{SessionId, TurnId},
    prompt::instructions::{Instructions, found_later, loaded},
    turn::Input,
};
use cairn_protocol::{MessageRole, RunTaskParams, RunTaskResult};

use super::{
    Sessions,
    entry::{FoundAtStart, TurnStart},
    event::{InstructionsLoaded, SessionEvent},
};
use crate::{event::Responder, instructions, orientation, review::Reviews};

/// Maximum number of instruction files sent to a session after its start.
const MOST_LATER: usize = 20;

impl Sessions {
    /// Starts a task, once its attachments and the instructions of a new session were read.
    pub(crate) fn begin_task(
        &mut self,
        params: RunTaskParams,
        reply: Responder<RunTaskResult>,
        reviews: &mut Reviews,
    ) {
        let new = params.session_id.is_none();
        let Some(workspace) =
            self.services.workspace.clone().filter(|_| new || !params.attachments.is_empty())
        else {
            return self.began(params, TurnStart::default(), reply, reviews);
        };
        let reader = self.attachment_reader();
        let (docs, mailbox) = (Arc::clone(&self.services.docs), self.mailbox.clone());
        let sources = Arc::clone(&self.services.sources);
        let config = self.config.environment.config_dir.clone();
        let trusted = self.config.trusted;
        let sandbox = self.sandbox_config();
        self.services.spawn(async move {
            let active = params.context.as_ref().and_then(|context| context.active_file.clone());
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
            let attached = reader.read_in_background(params.attachments.clone()).await;
            mailbox.send(SessionEvent::InstructionsLoaded(Box::new(InstructionsLoaded {
                params,
                reply,
                found,
                attached,
            })));
        });
    }

    pub(super) fn instructed(
        &mut self,
        InstructionsLoaded { params, reply, found, attached }: InstructionsLoaded,
        reviews: &mut Reviews,
    ) {
        match attached {
            Ok(attached) => {
                let opening = TurnStart { found, attached, ..TurnStart::default() };
                self.began(params, opening, reply, reviews);
            }
            Err(refused) => reply.send(Err(refused)),
        }
    }

    fn began(
        &mut self,
        params: RunTaskParams,
        opening: TurnStart,
        reply: Responder<RunTaskResult>,
        reviews: &mut Reviews,
    ) {
        let began = self.run_task(params, opening);
        self.settle(reviews);
        let session =
            began.as_ref().map(|began| began.session_id.as_str().into()).unwrap_or_default();
        self.answer_saved(&session, began, reply);
    }

    /// Shows the user the instructions that the model received at the start.
    pub(super) fn show_instructions(&mut self, session_id: &SessionId, turn_id: &TurnId) {
        let Some(session) = self.entries.get(session_id) else { return };
        let told = &session.surroundings.instructions;
        if !told.is_empty() {
            let line = loaded(told);
            self.message(session_id, turn_id, MessageRole::Reminder, line);
        }
    }

    /// Sends the instructions of the folders above a file that the agent used, nearest first.
    pub(super) fn came_upon(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        found: Vec<Instructions>,
    ) {
        for instructions in found.into_iter().rev() {
            let Some(session) = self.entries.get_mut(session_id) else { return };
            let at_start = &session.surroundings.instructions;
            let known = at_start.iter().any(|one| one.name == instructions.name)
                || session.instructed.len() >= MOST_LATER;
            if !known && session.instructed.insert(instructions.name.clone()) {
                let text = found_later(&instructions);
                self.turn_input(session_id, turn_id, Input::Notice { text });
            }
        }
    }
}
