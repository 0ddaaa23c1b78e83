//! Table of the processes of one session.

use crate::policy::sandbox::Needs;

/// Processes of a session that may run at the same time.
pub const RUNNING_LIMIT: usize = 8;
/// Ended processes whose output is kept.
pub const ENDED_KEPT: usize = 16;

/// Number of a process in its session, from 1. Never used again.
pub type ProcessId = u32;

/// Processes of one session, in the order of their ids.
#[derive(Debug, Default)]
pub struct ProcessTable {
    last_id: ProcessId,
    entries: Vec<ProcessEntry>,
}

/// Description of a command that continues as a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub command: String,
    /// Session of the agent that started it: this one, or a subagent.
    pub owner: String,
    /// Plan item in progress when it was started.
    pub plan_item: Option<String>,
    /// True if the agent asked for a process. False if a command outlived its time.
    pub background: bool,
    /// True if it takes input.
    pub input: bool,
    /// True if it has a terminal.
    pub terminal: bool,
    /// Grants of its sandbox.
    pub needs: Needs,
    /// Milliseconds since 1970.
    pub started_at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEntry {
    pub id: ProcessId,
    pub start: Start,
    pub state: ProcessState,
    /// True once the agent knows of its end.
    pub end_told: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// With the first request to stop it.
    Running {
        stopping: Option<StoppedBy>,
    },
    Ended(ProcessExit),
}

/// Author of a request to stop a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedBy {
    Agent,
    User,
    /// The turn was cancelled, or the subagent that started the process ended.
    Turn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    Code(i32),
    Signal(i32),
    /// Stopped on request.
    Stopped(StoppedBy),
    /// Killed because it started more processes than allowed.
    TooManyProcesses,
    /// Cairn lost it.
    Lost,
}

impl ProcessExit {
    /// Words for the agent after the name of the process.
    pub fn words(self) -> String {
        match self {
            Self::Code(code) => format!("ended with exit code {code}"),
            Self::Signal(signal) => format!("was ended by signal {signal}"),
            Self::Stopped(StoppedBy::Agent) => "was stopped by you".to_owned(),
            Self::Stopped(StoppedBy::User) => "was stopped by the user".to_owned(),
            Self::Stopped(StoppedBy::Turn) => "was ended with its turn".to_owned(),
            Self::TooManyProcesses => {
                "was ended: it had started more than a thousand processes".to_owned()
            }
            Self::Lost => "was ended by a fault of Cairn".to_owned(),
        }
    }
}

impl ProcessTable {
    /// True if another process may run.
    pub fn has_room(&self) -> bool {
        self.running().count() < RUNNING_LIMIT
    }

    /// Adds a running process. `None` if as many run as may.
    pub fn add(&mut self, start: Start) -> Option<ProcessId> {
        if !self.has_room() {
            return None;
        }
        self.last_id += 1;
        let (id, state) = (self.last_id, ProcessState::Running { stopping: None });
        self.entries.push(ProcessEntry { id, start, state, end_told: false });
        Some(id)
    }

    /// Records a request to stop. False if the process does not run. The first request counts.
    pub fn stop(&mut self, id: ProcessId, by: StoppedBy) -> bool {
        let Some(ProcessState::Running { stopping }) = self.state_mut(id) else { return false };
        stopping.get_or_insert(by);
        true
    }

    /// Records the end of a process. `exit` is `None` if it was killed on request. Returns the ids of
    /// ended processes that are no longer kept.
    pub fn ended(&mut self, id: ProcessId, exit: Option<ProcessExit>) -> Vec<ProcessId> {
        if let Some(state) = self.state_mut(id)
            && let ProcessState::Running { stopping } = *state
        {
            let stopped = stopping.map(ProcessExit::Stopped);
            *state = ProcessState::Ended(exit.or(stopped).unwrap_or(ProcessExit::Lost));
        }
        let ended = self.entries.iter().filter(|entry| !entry.is_running()).count();
        let mut excess = ended.saturating_sub(ENDED_KEPT);
        let mut dropped = Vec::new();
        self.entries.retain(|entry| {
            let drops = excess > 0 && !entry.is_running();
            if drops {
                excess -= 1;
                dropped.push(entry.id);
            }
            !drops
        });
        dropped
    }

    /// Records that the agent knows of the end of a process.
    pub fn end_told(&mut self, id: ProcessId) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.end_told = true;
        }
    }

    /// Ended processes of this agent that it does not know of. Counts them as told.
    pub fn take_untold_ends(&mut self, owner: &str) -> Vec<(ProcessId, ProcessExit)> {
        let of_owner = self.entries.iter_mut().filter(|entry| entry.start.owner == owner);
        of_owner
            .filter_map(|entry| match entry.state {
                ProcessState::Ended(exit) if !std::mem::replace(&mut entry.end_told, true) => {
                    Some((entry.id, exit))
                }
                ProcessState::Ended(_) | ProcessState::Running { .. } => None,
            })
            .collect()
    }

    pub fn get(&self, id: ProcessId) -> Option<&ProcessEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    pub fn entries(&self) -> &[ProcessEntry] {
        &self.entries
    }

    pub fn running(&self) -> impl Iterator<Item = &ProcessEntry> {
        self.entries.iter().filter(|entry| entry.is_running())
    }

    /// Running processes that end with a cancelled turn: those that the agent did not ask for.
    pub fn ending_with_turn(&self) -> impl Iterator<Item = ProcessId> {
        self.running().filter(|entry| !entry.start.background).map(|entry| entry.id)
    }

    /// Running processes that this agent started.
    pub fn owned_by<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = ProcessId> + 'a {
        self.running().filter(move |entry| entry.start.owner == owner).map(|entry| entry.id)
    }

    fn state_mut(&mut self, id: ProcessId) -> Option<&mut ProcessState> {
        self.entries.iter_mut().find(|entry| entry.id == id).map(|entry| &mut entry.state)
    }
}

impl ProcessEntry {
    pub fn is_running(&self) -> bool {
        matches!(self.state, ProcessState::Running { .. })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn start(background: bool) -> Start {
        Start {
            command: "sleep 1".into(),
            owner: "s".into(),
            plan_item: None,
            background,
            input: false,
            terminal: false,
            needs: Needs::NONE,
            started_at: 0,
        }
    }

    #[test]
    fn a_cancelled_turn_ends_only_processes_that_nobody_asked_for() {
        let mut table = ProcessTable::default();
        let asked = table.add(start(true));
        let outlived = table.add(start(false));
        assert_eq!((asked, outlived), (Some(1), Some(2)));
        assert_eq!(table.ending_with_turn().collect::<Vec<_>>(), [2]);
        assert_eq!(table.owned_by("s").count(), 2);
        assert_eq!(table.owned_by("other").count(), 0);
    }

    #[test]
    fn the_first_request_to_stop_counts_and_an_exit_of_its_own_counts_more() {
        let mut table = ProcessTable::default();
        for _ in 0..3 {
            table.add(start(true));
        }
        assert!(table.stop(1, StoppedBy::User) && table.stop(1, StoppedBy::Agent));
        table.ended(1, None);
        assert!(table.stop(2, StoppedBy::Agent));
        table.ended(2, Some(ProcessExit::Code(0)));
        table.ended(3, None);
        let states: Vec<_> = table.entries().iter().map(|entry| entry.state).collect();
        let ended =
            [ProcessExit::Stopped(StoppedBy::User), ProcessExit::Code(0), ProcessExit::Lost];
        assert_eq!(states, ended.map(ProcessState::Ended));
        assert!(!table.stop(1, StoppedBy::User) && !table.stop(9, StoppedBy::User));
    }

    #[test]
    fn the_agent_is_told_once_of_an_end_that_it_has_not_read() {
        let mut table = ProcessTable::default();
        for _ in 0..3 {
            table.add(start(true));
        }
        assert_eq!(table.take_untold_ends("s"), []);
        table.ended(1, Some(ProcessExit::Code(1)));
        table.ended(2, Some(ProcessExit::Code(0)));
        table.end_told(2);
        assert_eq!(table.take_untold_ends("other"), []);
        assert_eq!(table.take_untold_ends("s"), [(1, ProcessExit::Code(1))]);
        assert_eq!(table.take_untold_ends("s"), []);
    }

    proptest! {
        #[test]
        fn the_table_is_bounded_and_ids_are_never_used_again(steps: Vec<(u8, bool)>) {
            let (mut table, mut given, mut dropped) = (ProcessTable::default(), Vec::new(), Vec::new());
            for (choice, adds) in steps {
                if adds {
                    given.extend(table.add(start(true)));
                } else if !given.is_empty() {
                    let id = given[usize::from(choice) % given.len()];
                    dropped.extend(table.ended(id, Some(ProcessExit::Code(0))));
                }
                prop_assert!(table.running().count() <= RUNNING_LIMIT);
                prop_assert!(table.entries().len() <= RUNNING_LIMIT + ENDED_KEPT);
            }
            prop_assert!(given.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(table.entries().len() + dropped.len(), given.len());
        }
    }
}
