//! Instruction files: read before a session starts, and sent later for folders that the agent
//! visits.
//!
//! Never changes the system prompt of a session.

use cairn_core::prompt::instructions::{Instructions, found_later, loaded};
use cairn_protocol::MessageRole;

use super::entry::SessionEntry;

/// Maximum number of instruction files sent to a session after its start.
const MOST_LATER: usize = 20;

impl SessionEntry {
    /// Shows the user the instructions that the model received at the start.
    pub(super) fn show_instructions(&mut self) {
        let told = &self.surroundings.instructions;
        if !told.is_empty() {
            self.message(MessageRole::Reminder, loaded(told));
        }
    }

    /// Returns the texts for the model of the instructions that it does not know. They are of the
    /// folders above a file that the agent used; the nearest comes first.
    pub(super) fn nearby_instructions(&mut self, found: Vec<Instructions>) -> Vec<String> {
        let mut texts = Vec::new();
        for instructions in found.into_iter().rev() {
            let at_start = &self.surroundings.instructions;
            let known = at_start.iter().any(|one| one.name == instructions.name)
                || self.instructed.len() >= MOST_LATER;
            if !known && self.instructed.insert(instructions.name.clone()) {
                texts.push(found_later(&instructions));
            }
        }
        texts
    }
}
