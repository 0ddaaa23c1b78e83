//! Instruction files: read before a session starts, and sent later for folders that the agent
//! visits.
//!
//! Never changes the system prompt of a session.

use cairn_core::{
    ids::{SessionId, TurnId},
    prompt::instructions::{Instructions, found_later, loaded},
    turn::Input,
};
use cairn_protocol::MessageRole;

use super::Sessions;

/// Maximum number of instruction files sent to a session after its start.
const MOST_LATER: usize = 20;

impl Sessions {
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
    pub(super) fn add_nearby_instructions(
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
                self.steps.input(session_id, turn_id, Input::Notice { text });
            }
        }
    }
}
