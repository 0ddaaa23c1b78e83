//! Processes of a command, and the registry of all running commands.
//!
//! The process that Cairn starts for a command is its *leader*: it leads a process group. It is not
//! reaped before all is killed: as a zombie it keeps its process id, so a signal to the group cannot
//! reach another process.
//!
//! The leader is the shell, or on Linux without a sandbox a guard, or in a sandbox the launcher.
//! The guard, or the first process in the sandbox, reports how the shell ended. Guard and launcher
//! never get SIGTERM, only SIGKILL.

use parking_lot::Mutex;
use std::{
    io,
    os::unix::{net::UnixStream, process::ExitStatusExt},
    process::{Child, ExitStatus},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use tokio::task::{JoinHandle, spawn_blocking};

#[cfg(target_os = "linux")]
use super::linux::spawn;
use super::proc::{self, Process};
#[cfg(not(target_os = "linux"))]
use super::spawn::spawn;
use crate::exec::{
    command::{CommandSpec, Exit, ProcessEnd},
    sandbox::{
        PreparedSandbox,
        exit_report::{self, ExitReport},
    },
};

/// Kills all processes of all commands, and prevents new ones. Called when the daemon ends. Blocks for
/// little more than a second at most.
pub fn kill_all() {
    let groups = {
        let mut registry = REGISTRY.lock();
        registry.closed = true;
        registry.groups.clone()
    };
    let deadline = Instant::now() + KILL_LIMIT;
    for group in &groups {
        group.kill_now();
    }
    for group in &groups {
        group.kill(deadline);
    }
    #[cfg(target_os = "linux")]
    crate::exec::sandbox::linux::private_folders::remove_all();
}

/// Owner of all processes of a command. Dropping it kills them.
pub(in crate::exec) struct Group {
    processes: Arc<Processes>,
}

impl Group {
    pub(in crate::exec) fn start(spec: &CommandSpec, output: io::PipeWriter) -> io::Result<Self> {
        // Locked until the child is registered, so that none starts after the last was killed.
        let mut registry = REGISTRY.lock();
        if registry.closed {
            return Err(io::Error::other("Cairn is closing"));
        }
        let (child, reports) = spawn(spec, output)?;
        let processes = Arc::new(Processes {
            leader: Pid::from_child(&child),
            reports,
            sandbox: spec.sandbox.clone(),
            state: Mutex::new(State::Running(child)),
        });
        registry.groups.push(Arc::clone(&processes));
        Ok(Self { processes })
    }

    /// Completes when the shell has ended.
    pub(in crate::exec) fn exited(&self) -> JoinHandle<()> {
        let leader = self.processes.leader;
        spawn_blocking(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
        })
    }

    /// Sends SIGTERM to the command.
    pub(in crate::exec) fn terminate(&self) {
        self.processes.terminate();
    }

    /// Kills the remaining processes and returns how the shell ended.
    pub(in crate::exec) async fn end(self) -> io::Result<ProcessEnd> {
        let processes = Arc::clone(&self.processes);
        let ended = spawn_blocking(move || processes.kill(Instant::now() + KILL_LIMIT)).await;
        ended.ok().flatten().ok_or_else(|| io::Error::other("the command could not be killed"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.processes.kill(Instant::now() + KILL_LIMIT);
        REGISTRY.lock().groups.retain(|other| !Arc::ptr_eq(other, &self.processes));
    }
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { closed: false, groups: Vec::new() });

/// Time for killed processes to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(5);

/// Running commands.
struct Registry {
    /// Set when this process is about to end.
    closed: bool,
    groups: Vec<Arc<Processes>>,
}

struct Processes {
    leader: Pid,
    /// `None`: the leader is the shell.
    reports: Option<UnixStream>,
    /// Keeps the temporary folder of the sandbox.
    sandbox: Option<Arc<PreparedSandbox>>,
    state: Mutex<State>,
}

enum State {
    /// The leader is not reaped, so its process id is not reused.
    Running(Child),
    Ended(ProcessEnd),
}

impl Processes {
    fn has_guard(&self) -> bool {
        self.reports.is_some() && self.sandbox.is_none()
    }

    /// Sends a signal to the command's processes, but not to a guard or a launcher: when one of these
    /// ends, everything is killed at once. False if no process was found.
    fn signal(&self, signal: Signal) -> bool {
        if self.reports.is_none() {
            return kill_process_group(self.leader, signal).is_ok();
        }
        let processes = match self.sandbox {
            None => proc::descendants(self.leader.as_raw_pid()),
            Some(_) => proc::inside_sandbox(self.leader),
        };
        processes.iter().for_each(|process| process.signal(signal));
        !processes.is_empty()
    }

    fn terminate(&self) {
        if let State::Running(_) = *self.state.lock()
            && !self.signal(Signal::TERM)
        {
            // The guard or the launcher has not started the command yet.
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }

    /// Sends SIGKILL to the processes, and does not wait for their end.
    fn send_kill(&self, has_reported: bool) {
        if self.has_guard() && !has_reported {
            // The guard is killed after its descendants, which are found through it. One without a
            // descendant is about to start the shell or to end.
            let found = proc::descendants(self.leader.as_raw_pid());
            found.iter().for_each(|process| process.signal(Signal::KILL));
            if found.is_empty() || found.iter().any(Process::is_alive) {
                return;
            }
        }
        // When the launcher ends, the kernel kills all processes in the sandbox.
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    fn kill_now(&self) {
        if let State::Running(_) = *self.state.lock() {
            self.send_kill(false);
        }
    }

    /// Kills all processes, waits until they are gone, and reaps the leader. `None` if a process still
    /// exists at the deadline. A second call returns the same result.
    fn kill(&self, deadline: Instant) -> Option<ProcessEnd> {
        let mut state = self.state.lock();
        if let State::Running(child) = &mut *state {
            let report = self.reports.as_ref().map(exit_report::read).unwrap_or_default();
            // A guard kills all processes before it reports the end. In a sandbox the kernel kills them
            // when the reporting process ends.
            let has_reported = report.end.is_some();
            let first = match self.sandbox {
                Some(_) if !has_reported => proc::children(self.leader),
                _ => Vec::new(),
            };
            let status = loop {
                self.send_kill(has_reported);
                // The leader is reaped last.
                let left = first.iter().filter(|process| !process.kill_and_check()).count();
                let ended = if left == 0 { child.try_wait() } else { Ok(None) };
                match ended {
                    Ok(Some(status)) => break status,
                    Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
                    Ok(None) | Err(_) => {
                        let _ = kill_process_group(self.leader, Signal::KILL);
                        return None;
                    }
                }
            };
            // Nothing else waits for the others in the shell's group.
            let is_shell = self.reports.is_none();
            while is_shell
                && test_kill_process_group(self.leader).is_ok()
                && Instant::now() < deadline
            {
                std::thread::sleep(POLL);
            }
            *state = State::Ended(self.end_of(report, status));
        }
        match &*state {
            State::Running(_) => None,
            State::Ended(end) => Some(end.clone()),
        }
    }

    fn end_of(&self, report: ExitReport, status: ExitStatus) -> ProcessEnd {
        let (exit, left_running) = report.end.unwrap_or((exit_of(status), 0));
        let start_error = (self.reports.is_some() && !report.begun).then(|| {
            let parent = if self.has_guard() { "the command" } else { "the sandbox" };
            let errors = report.errors.trim();
            let errors = if errors.is_empty() { "it reported no error" } else { errors };
            format!("{parent} could not be started: {errors}")
        });
        let too_many_processes = report.too_many_processes;
        ProcessEnd { exit, left_running, too_many_processes, start_error }
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}
