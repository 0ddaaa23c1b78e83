//! Processes of sessions: every command of the agent runs as a separate task, so that it can continue
//! after the call that started it. Owns these tasks, the output of the commands and their input.
//!
//! A command ends with its call, unless the call hands it over ([`Command::keep`]). Then it is a
//! process of the session and ends at the latest with the session or the daemon.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use cairn_core::{
    ids::SessionId,
    process::{ProcessEntry, ProcessExit, ProcessId, ProcessTable, Start, StoppedBy},
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::exec::{self, CommandSpec, InputWriter, sandbox};

mod command;
mod log;
mod output;
#[cfg(test)]
mod tests;

use command::Running;
pub use command::{Command, Ended, Handle, OngoingProcess, ProcessSnapshot, Waited, Written};
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
    running: HashMap<ProcessId, Arc<Running>>,
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Processes")
    }
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
            let changed =
                std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
            if !changed.is_empty() {
                return changed;
            }
            self.changes.notified().await;
        }
    }

    fn changed(&self, session: &SessionId) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
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
        live: Option<exec::live::LiveOutput>,
    ) -> Command {
        let cancel = self.shutdown.child_token();
        let running = Arc::new(Running::new(spec.sandbox.clone(), input, cancel.clone()));
        let (collects, grows) = (Arc::clone(&running), Arc::clone(self));
        spec.tap = Some(exec::OutputTap::new(move |bytes| {
            if let Some(live) = &live {
                live.push(bytes);
            }
            if let Some(session) = collects.push(bytes) {
                grows.changed(&session);
            }
        }));
        let (ends, all) = (Arc::clone(&running), Arc::clone(self));
        self.tasks.spawn(async move {
            let ended = command::run_watched(spec, watching, &ends).await;
            all.ended(&ends, ended).await;
        });
        Command { running, end_on_drop: Some(cancel.drop_guard()) }
    }

    /// True if the session may have another process.
    pub fn has_room(&self, session: &SessionId) -> bool {
        self.lock().of.get(session).is_none_or(|of| of.table.has_room())
    }

    /// Makes a command a process of the session, with a log of its whole output. `None` if as many run
    /// as may; then the command ends.
    pub fn keep(
        &self,
        command: Command,
        session: &SessionId,
        start: Start,
    ) -> Option<(ProcessId, ProcessHandle, OngoingProcess)> {
        let Command { running, end_on_drop } = command;
        running.output().begin_log();
        let mut sessions = self.lock();
        let of = sessions.of.entry(session.clone()).or_default();
        let id = of.table.add(start)?;
        of.running.insert(id, Arc::clone(&running));
        running.keep(session, id);
        if running.has_ended() {
            end_entry(of, id, &running);
        }
        drop(sessions);
        end_on_drop.map(DropGuard::disarm);
        self.changed(session);
        Some((id, ProcessHandle(Arc::clone(&running)), OngoingProcess(running)))
    }

    /// Words about the file with the whole output, for a result that was cut. The file is kept.
    pub fn keep_log(&self, command: &Handle) -> Option<String> {
        let log = command.take_log()?;
        let words = log.words();
        let mut sessions = self.lock();
        sessions.logs.push_back(log);
        if sessions.logs.len() > LOGS_KEPT {
            sessions.logs.pop_front();
        }
        Some(words)
    }

    async fn ended(&self, running: &Arc<Running>, ended: Ended) {
        let kept = {
            let mut sessions = self.lock();
            running.set_ended(ended);
            let kept = running.kept();
            if let Some((session, id)) = &kept
                && let Some(of) = sessions.of.get_mut(session)
            {
                end_entry(of, *id, running);
            }
            kept
        };
        running.run_at_end().await;
        if let Some((session, _)) = kept {
            self.changed(&session);
        }
    }

    /// Returns a process that runs, or that ended and is still kept.
    pub fn get(&self, session: &SessionId, id: ProcessId) -> Option<(ProcessEntry, ProcessHandle)> {
        let sessions = self.lock();
        let of = sessions.of.get(session)?;
        let entry = of.table.get(id)?.clone();
        Some((entry, ProcessHandle(Arc::clone(of.running.get(&id)?))))
    }

    /// Ids of the processes of a session, those that run first.
    pub fn ids(&self, session: &SessionId) -> Vec<ProcessId> {
        let sessions = self.lock();
        let entries = sessions.of.get(session).map(|of| of.table.entries()).unwrap_or_default();
        let (running, ended): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| entry.is_running());
        running.into_iter().chain(ended).map(|entry| entry.id).collect()
    }

    /// Asks a process to end. False if it does not run.
    pub fn stop(&self, session: &SessionId, id: ProcessId, by: StoppedBy) -> bool {
        let mut sessions = self.lock();
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
        let sessions: Vec<SessionId> = self.lock().of.keys().cloned().collect();
        for session in sessions {
            self.stop_all(&session, |table| table.running().map(|entry| entry.id).collect());
        }
    }

    fn stop_all(&self, session: &SessionId, which: impl Fn(&ProcessTable) -> Vec<ProcessId>) {
        let mut sessions = self.lock();
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
        let of = self.lock().of.remove(session);
        of.iter().flat_map(|of| of.running.values()).for_each(|it| it.cancel.cancel());
        if of.is_some() {
            self.changed(session);
        }
    }

    /// True if a process of the session runs.
    pub fn has_running(&self, session: &SessionId) -> bool {
        self.lock().of.get(session).is_some_and(|of| of.table.running().next().is_some())
    }

    /// Records that the agent knows of the end of a process.
    pub fn end_told(&self, session: &SessionId, id: ProcessId) {
        if let Some(of) = self.lock().of.get_mut(session) {
            of.table.end_told(id);
        }
    }

    /// Ended processes of an agent of this session that it does not know of. Counts them as told.
    pub fn take_untold_ends(
        &self,
        session: &SessionId,
        agent: &SessionId,
    ) -> Vec<(ProcessId, ProcessExit)> {
        let mut sessions = self.lock();
        let of = sessions.of.get_mut(session);
        of.map(|of| of.table.take_untold_ends(agent)).unwrap_or_default()
    }

    /// Returns the processes of a session, oldest first.
    pub fn snapshots(&self, session: &SessionId) -> Vec<ProcessSnapshot> {
        let sessions = self.lock();
        let Some(of) = sessions.of.get(session) else { return Vec::new() };
        let entries = of.table.entries().iter();
        entries
            .filter_map(|entry| {
                let running = of.running.get(&entry.id)?;
                Some(running.snapshot(entry.clone()))
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfSession {
    fn stop(&mut self, id: ProcessId, by: StoppedBy) -> bool {
        let stopped = self.table.stop(id, by);
        if stopped && let Some(running) = self.running.get(&id) {
            running.cancel.cancel();
        }
        stopped
    }
}

/// Records the end of a process, and drops the output of processes that ended long ago.
fn end_entry(of: &mut OfSession, id: ProcessId, running: &Running) {
    for dropped in of.table.ended(id, running.exit()) {
        of.running.remove(&dropped);
    }
}

/// Handle to a process of a session.
#[derive(Debug, Clone)]
pub struct ProcessHandle(Arc<Running>);

impl ProcessHandle {
    /// Returns the output from a position on, by default what the agent has not read yet, and marks it
    /// as read.
    pub fn read(&self, since: Option<u64>) -> Progress {
        self.0.read(since)
    }

    /// Waits until the output since a position satisfies `until`, the process has ended, or the time is
    /// over. True unless the time was over.
    pub async fn wait(
        &self,
        since: Option<u64>,
        mut until: impl FnMut(&str) -> bool,
        limit: Duration,
    ) -> bool {
        let (deadline, mut from) =
            (Instant::now() + limit, since.unwrap_or_else(|| self.0.unread()));
        let mut grown = self.0.grown();
        loop {
            grown.borrow_and_update();
            // Asked for before the output, so that the last output is not missed.
            let ended = self.0.has_ended();
            if until(&self.0.text_since(from)) {
                return true;
            }
            if ended {
                return true;
            }
            from = from.max(self.0.written().saturating_sub(LOOK_BACK));
            if timeout_at(deadline, grown.changed()).await.is_err() {
                return false;
            }
            // A flood of output is looked at in steps.
            tokio::time::sleep(LOOK_INTERVAL.min(deadline - Instant::now())).await;
        }
    }

    /// Number of bytes that it wrote.
    pub fn written(&self) -> u64 {
        self.0.written()
    }

    pub async fn ended(&self, limit: Duration) -> bool {
        self.wait(None, |_| false, limit).await
    }

    /// Text for a terminal that a user watches, from a position on.
    pub fn watch(&self, since: u64) -> Progress {
        self.0.watch(since, self.0.has_ended())
    }

    /// Waits until there is output after a position, the process has ended, or the time is over. Then
    /// returns the text for a terminal, and true if no more will come.
    pub async fn watch_on(&self, since: u64, limit: Duration) -> (Progress, bool) {
        let mut grown = self.0.grown();
        let comes = async {
            while self.0.written() <= since && !self.0.has_ended() {
                if grown.changed().await.is_err() {
                    return;
                }
            }
            // What a program writes in pieces is sent in one.
            if !self.0.has_ended() {
                tokio::time::sleep(WATCH_INTERVAL).await;
            }
        };
        // At the end of the time there is no new text.
        drop(timeout(limit, comes).await);
        let ended = self.0.has_ended();
        (self.0.watch(since, ended), ended)
    }

    /// Sends input. Waits for a process that does not read it, but not for long.
    pub async fn write(&self, text: &str, eof: bool) -> Written {
        self.0.write(text, eof).await
    }

    /// Words about the file with the whole output.
    pub fn log(&self) -> Option<String> {
        self.0.log_words()
    }

    /// Takes the texts about the control files that the process made or changed.
    pub fn take_told(&self) -> Vec<String> {
        self.0.take_told()
    }
}

/// Bytes before new output that are looked at again, for a text that came in parts.
const LOOK_BACK: u64 = 4 * 1024;
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Least time between two pieces of text for a terminal.
const WATCH_INTERVAL: Duration = Duration::from_millis(20);
