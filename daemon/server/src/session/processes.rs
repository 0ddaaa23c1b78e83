//! Processes of sessions: what the client learns of them, and what the user does with them.

use std::{collections::HashSet, sync::Arc, time::Duration};

use cairn_core::{
    ids::SessionId,
    process::{ProcessExit, ProcessState, StoppedBy},
};
use cairn_protocol::{
    Notice, ProcessEnd, ProcessInfo, ProcessPhase, ProcessStopper, ProcessesNotification,
    RequestProblem,
};

use super::{SessionEvent, entry::SessionEntry};
use crate::{
    event::RequestError,
    ports::Mailbox,
    processes::{ProcessHandle, ProcessSnapshot},
    services::Services,
};

/// Least time between two notifications.
const INTERVAL: Duration = Duration::from_millis(200);

impl SessionEntry {
    /// Words about processes of this agent that ended, and that it does not know of.
    pub(super) fn ended_processes(&self) -> Option<String> {
        let ended = self.services.processes.take_untold_ends(self.root(), &self.id);
        let words = |(id, exit): &(u32, ProcessExit)| format!("Process {id} {}.", exit.words());
        let lines: Vec<String> = ended.iter().map(words).collect();
        let hint = "process_output reads its last output.";
        (!lines.is_empty()).then(|| format!("{} {hint}", lines.join(" ")))
    }
}

/// Reports changes of processes as events, until the hub ends.
pub(super) fn follow(services: &Services, mailbox: Mailbox<SessionEvent>) {
    let processes = Arc::clone(&services.processes);
    services.spawn(async move {
        loop {
            mailbox.send(SessionEvent::Processes(processes.changes().await));
            tokio::time::sleep(INTERVAL).await;
        }
    });
}

pub(super) fn publish(services: &Services, sessions: HashSet<SessionId>) {
    for id in sessions {
        let processes = infos(services, &id);
        let (session_id, rev) = (id.into(), services.next_rev());
        services.notify(Notice::Processes(ProcessesNotification { session_id, rev, processes }));
    }
}

pub(super) fn infos(services: &Services, session: &SessionId) -> Vec<ProcessInfo> {
    services.processes.snapshots(session).into_iter().map(info).collect()
}

pub(super) fn find(
    services: &Services,
    session: &SessionId,
    id: u32,
) -> Result<ProcessHandle, RequestError> {
    let found = services.processes.get(session, id).map(|(_, process)| process);
    found.ok_or_else(|| RequestProblem::ProcessUnknown { id }.into())
}

fn info(ProcessSnapshot { entry, ended_at, written, tail }: ProcessSnapshot) -> ProcessInfo {
    let start = entry.start;
    let phase = match entry.state {
        ProcessState::Running { stopping } => {
            ProcessPhase::Running { stopping: stopping.is_some() }
        }
        ProcessState::Ended(exit) => {
            ProcessPhase::Ended { end: end(exit), at: ended_at.unwrap_or(start.started_at) }
        }
    };
    ProcessInfo {
        id: entry.id,
        command: start.command,
        plan_item: start.plan_item,
        input: start.input,
        terminal: start.terminal,
        started_at: start.started_at,
        phase,
        written,
        tail,
    }
}

pub(super) fn end(exit: ProcessExit) -> ProcessEnd {
    match exit {
        ProcessExit::Code(code) => ProcessEnd::Code { code },
        ProcessExit::Signal(signal) => ProcessEnd::Signal { signal },
        ProcessExit::Stopped(by) => ProcessEnd::Stopped {
            by: match by {
                StoppedBy::Agent => ProcessStopper::Agent,
                StoppedBy::User => ProcessStopper::User,
                StoppedBy::Turn => ProcessStopper::Turn,
            },
        },
        ProcessExit::TooManyProcesses => ProcessEnd::TooManyProcesses,
        ProcessExit::Lost => ProcessEnd::Lost,
    }
}
