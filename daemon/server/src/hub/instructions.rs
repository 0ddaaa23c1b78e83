//! Instructions beside the code: read before a session begins, and told later where the agent
//! comes upon more of them.
//!
//! Must never change what a session was told at its beginning: its system prompt stays as it is.

use std::sync::Arc;

use cairn_core::{
    prompt::instructions::{Instructions, found_later, loaded},
    text::Text,
    turn::Input,
};
use cairn_protocol::{MessageRole, RunTaskParams, RunTaskResult};

use super::{Event, Hub, sessions::Opening};
use crate::{
    event::Reply,
    instructions::{self, Sources},
    model::choose::Environment,
    workspace::path_of,
};

/// A task whose instructions were read.
#[derive(Debug)]
pub(crate) struct Instructed {
    params: RunTaskParams,
    reply: Reply<RunTaskResult>,
    instructions: Vec<Instructions>,
}

/// Told in one session beside those it began with, at most.
const MOST_LATER: usize = 20;

pub(super) fn sources_of(environment: &Environment) -> Arc<Sources> {
    Arc::new(Sources::new(environment.state_dir.clone()))
}

impl Hub {
    /// A session of its own waits until the instructions for it were read.
    pub(super) fn begin_task(&mut self, params: RunTaskParams, reply: Reply<RunTaskResult>) {
        let (None, Some(workspace)) = (&params.session_id, self.workspace.clone()) else {
            return self.began(params, Opening::default(), reply);
        };
        let (docs, handle) = (Arc::clone(&self.docs), self.handle.clone());
        let sources = Arc::clone(&self.sources);
        let config = self.environment.config_dir.clone();
        let trusted = self.trusted;
        self.spawn(async move {
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
            handle.send(Event::Instructed(Box::new(Instructed { params, reply, instructions })));
        });
    }

    pub(super) fn instructed(&mut self, Instructed { params, reply, instructions }: Instructed) {
        let opening = Opening { instructions, ..Opening::default() };
        self.began(params, opening, reply);
    }

    fn began(&mut self, params: RunTaskParams, opening: Opening, reply: Reply<RunTaskResult>) {
        let began = self.run_task(params, opening);
        let session = began.as_ref().map(|began| began.session_id.clone()).unwrap_or_default();
        self.answer_saved(&session, began, reply);
    }

    /// The agent changed this file, or something of its is pending there: what it says is data.
    pub(super) fn agent_changed(&self, key: &str) {
        if let Some(path) = path_of(key) {
            self.sources.agent_changed(&path);
        }
    }

    /// Nothing of the agent's is pending in this file any more.
    pub(super) fn user_decided(&self, key: &str, reviewed: Option<Text>) {
        if let Some(path) = path_of(key) {
            let open = self.docs.get(key).map(|document| document.text.clone());
            let text = open.or(reviewed).map(|text| text.to_string());
            self.sources.user_decided(&path, text.as_deref());
        }
    }

    /// The person sees what the model was told of at the beginning.
    pub(super) fn show_instructions(&mut self, session_id: &str, turn_id: &str) {
        let Some(session) = self.sessions.get(session_id) else { return };
        let told = &session.surroundings.instructions;
        if !told.is_empty() {
            let line = loaded(told);
            self.message(session_id, turn_id, MessageRole::Reminder, line);
        }
    }

    /// Those of the folders above a file the agent has worked on, nearest first.
    pub(super) fn came_upon(&mut self, session_id: &str, turn_id: &str, found: Vec<Instructions>) {
        for instructions in found.into_iter().rev() {
            let Some(session) = self.sessions.get_mut(session_id) else { return };
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
