//! Lines of a session in its journal.
//!
//! Never waits for the disk: each journal has a writer thread. Before an effect, the `runner` waits
//! until the records that led to it are durable.

use std::sync::Arc;

use cairn_core::turn::Record;

use super::entry::SessionEntry;
use crate::store::{
    journal::Writer,
    sessions::{Line, SubagentStep},
};

impl SessionEntry {
    /// Journal of the session of the user: of the parent of a subagent, or its own.
    pub(super) fn root_journal(&self) -> Option<&Arc<Writer>> {
        match &self.subagent {
            Some(subagent) => subagent.journal.as_ref(),
            None => self.journal.as_ref(),
        }
    }

    pub(super) fn write(&self, line: &Line) {
        write(self.journal.as_ref(), line);
    }

    pub(super) fn write_to_root(&self, line: &Line) {
        write(self.root_journal(), line);
    }

    /// Writes the records of the turn machine since the last call.
    pub(super) fn write_steps(&mut self) {
        let mut records = self.machine.take_records();
        if self.subagent.is_some() {
            return self.write_subagent_steps(records);
        }
        let has_memo = records.iter().any(|record| matches!(record, Record::Memo(_)));
        match (records.pop(), records.is_empty()) {
            (None, _) => return,
            (Some(record), true) => self.write(&Line::Step(record)),
            (Some(last), false) => {
                records.push(last);
                self.write(&Line::Steps(records));
            }
        }
        if has_memo {
            // In each round, so that one is near the end of the file.
            self.write_digest();
        }
    }

    pub(super) fn write_digest(&self) {
        self.write(&Line::Digest(self.digest()));
    }

    /// Writes the conversation of a subagent into the journal of its parent. It is never continued,
    /// but the cause of every effect is recorded.
    fn write_subagent_steps(&self, records: Vec<Record>) {
        for step in records.into_iter().filter(|record| matches!(record, Record::Item(_))) {
            let line = SubagentStep { session_id: self.id.clone(), step };
            self.write_to_root(&Line::SubagentStep(line));
        }
    }
}

pub(super) fn write(journal: Option<&Arc<Writer>>, line: &Line) {
    let Some(journal) = journal else { return };
    let written = serde_json::to_vec(line).map_err(|error| error.to_string());
    if let Err(reason) =
        written.and_then(|bytes| journal.append(bytes).map_err(|it| it.to_string()))
    {
        tracing::error!("a line of a session was not written: {reason}");
    }
}
