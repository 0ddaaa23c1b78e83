//! Processes of sessions: every command of the agent runs as a separate task, so that it can continue
//! after the call that started it. Owns these tasks, the output of the commands and their input.
//!
//! A command ends with its call, unless the call hands it over ([`Processes::keep`]). Then it is a
//! process of the session and ends at the latest with the session or the daemon.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use cairn_core::{
    ids::SessionId,
    process::{ProcessEntry, ProcessExit, ProcessId, ProcessTable, Start, StoppedBy},
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::exec::{CommandSpec, InputWriter, sandbox};

mod command;
mod log;
mod output;
#[cfg(test)]
mod tests;

pub use command::{Command, Ended, LiveSink, ProcessHandle, ProcessSnapshot, Waited, Written};
pub use output::Progress;

/// Logs of commands that ended in their call, kept so that the agent can read them.
const LOGS_KEPT: usize = 32;

/// Processes of all sessions.
pub struct Processes {
    sessions: Mutex<Sessions>,
    /// Sessions whose processes changed since [`Processes::changes`] told it.
    changed: Mutex<HashSet<SessionId>>,
    changes: Notify,
    tasks: TaskTracker,
    /// Cancelled when the daemon ends.
    shutdown: CancellationToken,
}

#[derive(Default)]
struct Sessions {
    of: HashMap<SessionId, OfSession>,
    logs: std::collections::VecDeque<log::Log>,
}

#[derive(Default)]
struct OfSession {
    table: ProcessTable,
    running: HashMap<ProcessId, ProcessHandle>,
}

impl Processes {
    pub fn new(tasks: TaskTracker, shutdown: CancellationToken) -> Self {
        Self {
            sessions: Mutex::default(),
            changed: Mutex::default(),
            changes: Notify::new(),
            tasks,
            shutdown,
        }
    }

    /// Waits until a process starts, writes, or ends. Returns the sessions of all that did since the last
    /// call.
    pub async fn changes(&self) -> HashSet<SessionId> {
        loop {
            let changed = std::mem::take(&mut *self.changed.lock());
            if !changed.is_empty() {
                return changed;
            }
            self.changes.notified().await;
        }
    }

    fn changed(&self, session: &SessionId) {
        let mut changed = self.changed.lock();
        if !changed.contains(session) {
            changed.insert(session.clone());
            drop(changed);
            self.changes.notify_one();
        }
    }

    /// Starts a command. It ends when the returned value is dropped.
    pub fn start(
        self: &Arc<Self>,
        mut spec: CommandSpec,
        watching: Option<sandbox::Watching>,
        input: Option<InputWriter>,
    ) -> Command {
        let cancel = self.shutdown.child_token();
        let process = ProcessHandle::new(spec.sandbox.clone(), input, cancel.clone());
        let (collects, grows) = (process.clone(), Arc::clone(self));
        spec.tap = Some(Arc::new(move |bytes: &[u8]| {
            if let Some(session) = collects.push(bytes) {
                grows.changed(&session);
            }
        }));
        let (ends, all) = (process.clone(), Arc::clone(self));
        self.tasks.spawn(async move {
            let ended = command::run_watched(spec, watching, &ends).await;
            all.ended(&ends, ended).await;
        });
        Command { process, end_on_drop: Some(cancel.drop_guard()) }
    }

    /// True if the session may have another process.
    pub fn has_room(&self, session: &SessionId) -> bool {
        self.sessions.lock().of.get(session).is_none_or(|of| of.table.has_room())
    }

    /// Makes a command a process of the session, with a log of its whole output. `None` if as many run
    /// as may; then the command ends.
    pub fn keep(
        &self,
        command: Command,
        session: &SessionId,
        start: Start,
    ) -> Option<(ProcessId, ProcessHandle)> {
        let Command { process, end_on_drop } = command;
        process.output().begin_log();
        let mut sessions = self.sessions.lock();
        let of = sessions.of.entry(session.clone()).or_default();
        let id = of.table.add(start)?;
        of.running.insert(id, process.clone());
        process.lock().kept = Some((session.clone(), id));
        if process.has_ended() {
            end_entry(of, id, &process);
        }
        drop(sessions);
        end_on_drop.map(DropGuard::disarm);
        self.changed(session);
        Some((id, process))
    }

    /// Words about the file with the whole output, for a result that was cut. The file is kept.
    pub fn keep_log(&self, process: &ProcessHandle) -> Option<String> {
        let log = process.output().take_log()?;
        let words = log.words();
        let mut sessions = self.sessions.lock();
        sessions.logs.push_back(log);
        if sessions.logs.len() > LOGS_KEPT {
            sessions.logs.pop_front();
        }
        Some(words)
    }

    async fn ended(&self, process: &ProcessHandle, ended: Ended) {
        let kept = {
            let mut sessions = self.sessions.lock();
            process.set_ended(ended);
            let kept = process.lock().kept.clone();
            if let Some((session, id)) = &kept
                && let Some(of) = sessions.of.get_mut(session)
            {
                end_entry(of, *id, process);
            }
            kept
        };
        process.run_at_end().await;
        if let Some((session, _)) = kept {
            self.changed(&session);
        }
    }

    /// Returns a process that runs, or that ended and is still kept.
    pub fn get(&self, session: &SessionId, id: ProcessId) -> Option<(ProcessEntry, ProcessHandle)> {
        let sessions = self.sessions.lock();
        let of = sessions.of.get(session)?;
        let entry = of.table.get(id)?.clone();
        Some((entry, of.running.get(&id)?.clone()))
    }

    /// Ids of the processes of a session, those that run first.
    pub fn ids(&self, session: &SessionId) -> Vec<ProcessId> {
        let sessions = self.sessions.lock();
        let entries = sessions.of.get(session).map(|of| of.table.entries()).unwrap_or_default();
        let (running, ended): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| entry.is_running());
        running.into_iter().chain(ended).map(|entry| entry.id).collect()
    }

    /// Asks a process to end. False if it does not run.
    pub fn stop(&self, session: &SessionId, id: ProcessId, by: StoppedBy) -> bool {
        let mut sessions = self.sessions.lock();
        let stopped = sessions.of.get_mut(session).is_some_and(|of| of.stop(id, by));
        drop(sessions);
        if stopped {
            self.changed(session);
        }
        stopped
    }

    /// Ends the processes that the agent did not ask for, after the turn was cancelled.
    pub fn turn_cancelled(&self, session: &SessionId) {
        self.stop_all(session, |table| table.ending_with_turn().collect());
    }

    /// Ends the processes of a subagent.
    pub fn subagent_ended(&self, session: &SessionId, subagent: &str) {
        self.stop_all(session, |table| table.owned_by(subagent).collect());
    }

    /// Ends all processes: the user no longer trusts the workspace.
    pub fn stop_every(&self) {
        let sessions: Vec<SessionId> = self.sessions.lock().of.keys().cloned().collect();
        for session in sessions {
            self.stop_all(&session, |table| table.running().map(|entry| entry.id).collect());
        }
    }

    fn stop_all(&self, session: &SessionId, which: impl Fn(&ProcessTable) -> Vec<ProcessId>) {
        let mut sessions = self.sessions.lock();
        let Some(of) = sessions.of.get_mut(session) else { return };
        let ids = which(&of.table);
        ids.iter().for_each(|id| {
            of.stop(*id, StoppedBy::Turn);
        });
        drop(sessions);
        if !ids.is_empty() {
            self.changed(session);
        }
    }

    /// Ends all processes of a session, and forgets them.
    pub fn forget(&self, session: &SessionId) {
        let of = self.sessions.lock().of.remove(session);
        of.iter().flat_map(|of| of.running.values()).for_each(ProcessHandle::cancel);
        if of.is_some() {
            self.changed(session);
        }
    }

    /// True if a process of the session runs.
    pub fn has_running(&self, session: &SessionId) -> bool {
        self.sessions.lock().of.get(session).is_some_and(|of| of.table.running().next().is_some())
    }

    /// Records that the agent knows of the end of a process.
    pub fn end_told(&self, session: &SessionId, id: ProcessId) {
        if let Some(of) = self.sessions.lock().of.get_mut(session) {
            of.table.end_told(id);
        }
    }

    /// Ended processes of an agent of this session that it does not know of. Counts them as told.
    pub fn take_untold_ends(
        &self,
        session: &SessionId,
        agent: &SessionId,
    ) -> Vec<(ProcessId, ProcessExit)> {
        let mut sessions = self.sessions.lock();
        let of = sessions.of.get_mut(session);
        of.map(|of| of.table.take_untold_ends(agent)).unwrap_or_default()
    }

    /// Returns the processes of a session, oldest first.
    pub fn snapshots(&self, session: &SessionId) -> Vec<ProcessSnapshot> {
        let sessions = self.sessions.lock();
        let Some(of) = sessions.of.get(session) else { return Vec::new() };
        let entries = of.table.entries().iter();
        entries
            .filter_map(|entry| {
                let running = of.running.get(&entry.id)?;
                Some(running.snapshot(entry.clone()))
            })
            .collect()
    }
}

impl OfSession {
    fn stop(&mut self, id: ProcessId, by: StoppedBy) -> bool {
        let stopped = self.table.stop(id, by);
        if stopped && let Some(running) = self.running.get(&id) {
            running.cancel();
        }
        stopped
    }
}

/// Records the end of a process, and drops the output of processes that ended long ago.
fn end_entry(of: &mut OfSession, id: ProcessId, process: &ProcessHandle) {
    for dropped in of.table.ended(id, process.lock().exit) {
        of.running.remove(&dropped);
    }
}
