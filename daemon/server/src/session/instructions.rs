//! Instructions beside the code: read before a session begins, and told later where the agent
//! comes upon more of them.
//!
//! Must never change what a session was told at its beginning: its system prompt stays as it is.

use std::sync::Arc;

use cairn_core::{
    prompt::instructions::{Instructions, found_later, loaded},
    turn::Input,
};
use cairn_protocol::{MessageRole, RunTaskParams, RunTaskResult};

use super::{
    Sessions,
    entry::TurnStart,
    event::{InstructionsLoaded, SessionEvent},
};
use crate::{event::Reply, instructions, review::Reviews};

/// Told in one session beside those it began with, at most.
const MOST_LATER: usize = 20;

impl Sessions {
    /// A session of its own waits until the instructions for it were read.
    pub(crate) fn begin_task(
        &mut self,
        params: RunTaskParams,
        reply: Reply<RunTaskResult>,
        reviews: &mut Reviews,
    ) {
        let (None, Some(workspace)) = (&params.session_id, self.services.workspace.clone()) else {
            return self.began(params, TurnStart::default(), reply, reviews);
        };
        let (docs, mailbox) = (Arc::clone(&self.services.docs), self.mailbox.clone());
        let sources = Arc::clone(&self.services.sources);
        let config = self.config.environment.config_dir.clone();
        let trusted = self.config.trusted;
        self.services.spawn(async move {
            let active = params.context.as_ref().and_then(|context| context.active_file.clone());
            let found = tokio::task::spawn_blocking(move || {
                if trusted {
                    let (active, config) = (active.as_deref(), config.as_deref());
                    instructions::at_start(&workspace, &docs, &sources, active, config)
                } else {
                    instructions::users_own(config.as_deref())
                }
            });
            let instructions = found.await.unwrap_or_default();
            mailbox.send(SessionEvent::InstructionsLoaded(Box::new(InstructionsLoaded {
                params,
                reply,
                instructions,
            })));
        });
    }

    pub(super) fn instructed(
        &mut self,
        InstructionsLoaded { params, reply, instructions }: InstructionsLoaded,
        reviews: &mut Reviews,
    ) {
        let opening = TurnStart { instructions, ..TurnStart::default() };
        self.began(params, opening, reply, reviews);
    }

    fn began(
        &mut self,
        params: RunTaskParams,
        opening: TurnStart,
        reply: Reply<RunTaskResult>,
        reviews: &mut Reviews,
    ) {
        let began = self.run_task(params, opening);
        self.settle(reviews);
        let session = began.as_ref().map(|began| began.session_id.clone()).unwrap_or_default();
        self.answer_saved(&session, began, reply);
    }

    /// The person sees what the model was told of at the beginning.
    pub(super) fn show_instructions(&mut self, session_id: &str, turn_id: &str) {
        let Some(session) = self.entries.get(session_id) else { return };
        let told = &session.surroundings.instructions;
        if !told.is_empty() {
            let line = loaded(told);
            self.message(session_id, turn_id, MessageRole::Reminder, line);
        }
    }

    /// Those of the folders above a file the agent has worked on, nearest first.
    pub(super) fn came_upon(&mut self, session_id: &str, turn_id: &str, found: Vec<Instructions>) {
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
