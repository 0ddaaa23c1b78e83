//! Processes of a command on Linux, and the registry of all running commands.
//!
//! The process that Cairn starts for a command is its *leader*: it leads a process group. It is not
//! reaped before all is killed: as a zombie it keeps its process id, so a signal to the group cannot
//! reach another process. [`proc`] finds processes that left the group (`setsid`).
//!
//! The leader is the shell, or without a sandbox a [`guard`], or in a sandbox the launcher.
//! The guard, or the first process in the sandbox, reports how the shell ended. Guard and launcher
//! never get SIGTERM, only SIGKILL.

use std::{
    ffi::OsStr,
    io,
    os::unix::{
        net::UnixStream,
        process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::task::{JoinHandle, spawn_blocking};

use super::input::stdin;
use crate::exec::{
    command::{CommandSpec, Exit, ProcessEnd},
    environment,
    sandbox::{exit_report, prepared::PreparedSandbox, private_folders},
};

pub(in crate::exec) mod guard;
mod proc;
pub(in crate::exec) use proc::stat;
mod spawner;

/// Kills all processes of all commands, and prevents new ones. Called when the daemon ends. Blocks for
/// little more than a second at most.
pub fn kill_all() {
    let groups = {
        let mut registry = lock(&REGISTRY);
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
    private_folders::remove_all();
}

/// Owner of all processes of a command. Dropping it kills them.
pub(in crate::exec) struct Group {
    processes: Arc<Processes>,
}

impl Group {
    pub(in crate::exec) fn start(spec: &CommandSpec, output: io::PipeWriter) -> io::Result<Self> {
        // Locked until the child is registered, so that no other command takes it for its own.
        let mut registry = lock(&REGISTRY);
        if registry.closed {
            return Err(io::Error::other("Cairn is closing"));
        }
        if !registry.adopts_orphans {
            // This process adopts orphans of commands, so that it can find them.
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
            registry.adopts_orphans = true;
        }
        let mark = format!("{}-{}", std::process::id(), registry.next_mark);
        registry.next_mark += 1;
        let (child, parent) = match &spec.sandbox {
            None if guard::is_enabled() => {
                let (child, reports) = spawn_guarded(spec, &mark, &output)?;
                (child, Parent::Guard { reports })
            }
            None => (spawn_shell(spec, &mark, &output)?, Parent::Cairn),
            Some(prepared) => {
                let (child, reports) = spawn_in_sandbox(prepared, spec, &mark, output)?;
                (child, Parent::Sandbox { reports, _prepared: Arc::clone(prepared) })
            }
        };
        let processes = Arc::new(Processes {
            leader: Pid::from_child(&child),
            mark,
            parent,
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
        lock(&REGISTRY).groups.retain(|other| !Arc::ptr_eq(other, &self.processes));
    }
}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { closed: false, adopts_orphans: false, next_mark: 0, groups: Vec::new() });

/// Time for killed processes to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(5);

/// Running commands.
struct Registry {
    /// Set when this process is about to end.
    closed: bool,
    /// Set when this process adopts orphans.
    adopts_orphans: bool,
    next_mark: u64,
    groups: Vec<Arc<Processes>>,
}

struct Processes {
    leader: Pid,
    /// Value of [`environment::MARK`] in all processes of the command.
    mark: String,
    parent: Parent,
    state: Mutex<State>,
}

/// Parent process of the shell.
enum Parent {
    /// This process: the shell is the leader.
    Cairn,
    /// A guard, which is the leader. All processes of the command are its descendants.
    Guard { reports: UnixStream },
    /// The first process in a sandbox. The leader is the launcher.
    Sandbox {
        reports: UnixStream,
        /// Keeps the temporary folder of the sandbox.
        _prepared: Arc<PreparedSandbox>,
    },
}

impl Parent {
    fn report(&self) -> Option<exit_report::ExitReport> {
        match self {
            Self::Cairn => None,
            Self::Guard { reports } => Some(exit_report::read(reports)),
            Self::Sandbox { reports, .. } => Some(exit_report::read(reports)),
        }
    }

    fn name(&self) -> &'static str {
        if self.is_sandbox() { "the sandbox" } else { "the command" }
    }

    fn is_sandbox(&self) -> bool {
        matches!(self, Self::Sandbox { .. })
    }
}

enum State {
    /// The leader is not reaped, so its process id is not reused.
    Running(Child),
    Ended(ProcessEnd),
}

impl Processes {
    /// Sends a signal to the command's processes, but not to a guard or a launcher: when one of these
    /// ends, everything is killed at once. False if no process was found.
    fn signal(&self, signal: Signal) -> bool {
        let processes = match self.parent {
            Parent::Cairn => return kill_process_group(self.leader, signal).is_ok(),
            Parent::Guard { .. } => proc::descendants(self.leader.as_raw_pid()),
            Parent::Sandbox { .. } => proc::inside_sandbox(self.leader),
        };
        for process in &processes {
            process.signal(signal);
        }
        !processes.is_empty()
    }

    fn terminate(&self) {
        if let State::Running(_) = *lock(&self.state)
            && !self.signal(Signal::TERM)
        {
            // The guard or the launcher has not started the command yet.
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }

    /// Sends SIGKILL to the processes, and does not wait for their end.
    fn kill_now(&self) {
        if let State::Running(_) = *lock(&self.state) {
            if self.parent.is_sandbox() {
                // When the launcher ends, the kernel kills all processes in the sandbox.
                let _ = kill_process_group(self.leader, Signal::KILL);
            } else {
                self.signal(Signal::KILL);
            }
        }
    }

    /// Kills all processes, waits until they are gone, and reaps the leader. `None` if a process still
    /// exists at the deadline. A second call returns the same result.
    fn kill(&self, deadline: Instant) -> Option<ProcessEnd> {
        let mut state = lock(&self.state);
        if let State::Running(child) = &mut *state {
            let report = self.parent.report();
            // A guard kills all processes before it reports the end. In a sandbox the kernel kills them
            // when the reporting process ends.
            let reported = report.as_ref().is_some_and(|report| report.end.is_some());
            let must_count = !reported && !self.parent.is_sandbox();
            let left_running = if must_count { self.count_alive() } else { 0 };
            let first = if reported { Vec::new() } else { self.first_in_sandbox() };
            // The guard is killed after its descendants, which are found through it.
            while self.has_guard() && !reported && !self.kill_others() && Instant::now() < deadline
            {
                std::thread::sleep(POLL);
            }
            let _ = kill_process_group(self.leader, Signal::KILL);
            while !(reported || (all_gone(&first) & self.kill_others()))
                && Instant::now() < deadline
            {
                std::thread::sleep(POLL);
            }
            let status = loop {
                match child.try_wait() {
                    Ok(Some(status)) => break status,
                    Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
                    Ok(None) | Err(_) => return None,
                }
            };
            let end = match report {
                Some(report) => end_from_report(report, status, left_running, self.parent.name()),
                None => ProcessEnd {
                    exit: exit_of(status),
                    left_running,
                    too_many_processes: false,
                    start_error: None,
                },
            };
            *state = State::Ended(end);
        }
        match &*state {
            State::Running(_) => None,
            State::Ended(end) => Some(end.clone()),
        }
    }

    /// Returns the first process in the sandbox.
    fn first_in_sandbox(&self) -> Vec<proc::Process> {
        if self.parent.is_sandbox() { proc::children(self.leader) } else { Vec::new() }
    }

    fn has_guard(&self) -> bool {
        matches!(self.parent, Parent::Guard { .. })
    }

    /// Counts running processes other than the shell.
    fn count_alive(&self) -> usize {
        let members = proc::members(self.leader, &self.mark);
        let alive = members.iter().filter(|process| process.is_alive()).count();
        // With a guard, the shell is not the leader and is among the members.
        alive.saturating_sub(usize::from(self.has_guard()))
    }

    /// Kills the processes of the command except the leader. True when none is left.
    fn kill_others(&self) -> bool {
        let members = proc::members(self.leader, &self.mark);
        // An adopted orphan without the mark belongs to this command for sure only if no other
        // command runs.
        let registry = lock(&REGISTRY);
        let only_command = registry.groups.iter().all(|group| group.leader == self.leader);
        let adopted = proc::adopted(self.leader);
        // During `exec` a process shows no mark for a moment, so it may be of this command.
        let mut none_left = only_command || !adopted.iter().any(proc::Process::may_be_in_exec);
        let orphans = if only_command { adopted } else { Vec::new() };
        for process in members.into_iter().chain(orphans) {
            if process.is_alive() {
                none_left = false;
            }
            process.kill_and_reap();
        }
        none_left
    }
}

/// Returns the end of a command as its guard or the first process in its sandbox reported it.
fn end_from_report(
    report: exit_report::ExitReport,
    status: ExitStatus,
    left_running: usize,
    parent: &str,
) -> ProcessEnd {
    let (exit, left_running) = report.end.unwrap_or((exit_of(status), left_running));
    let start_error = (!report.begun).then(|| {
        let errors = report.errors.trim();
        let errors = if errors.is_empty() { "it reported no error" } else { errors };
        format!("{parent} could not be started: {errors}")
    });
    ProcessEnd { exit, left_running, too_many_processes: report.too_many_processes, start_error }
}

/// Starts the shell as the leader.
fn spawn_shell(spec: &CommandSpec, mark: &str, output: &io::PipeWriter) -> io::Result<Child> {
    let shell = |shell: &str, flags: &[&str]| {
        let mut command = command(OsStr::new(shell), spec);
        command.args(flags).arg(&spec.command);
        command.envs(environment::for_command(std::env::vars_os(), spec, mark));
        command.stdout(output.try_clone()?).stderr(output.try_clone()?);
        command.stdin(stdin(&spec.input)?).spawn()
    };
    match shell("bash", &["--noprofile", "--norc", "-c"]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => shell("sh", &["-c"]),
        result => result,
    }
}

/// Starts the command below a guard. The guard's stdout is the command's stdout and stderr; its
/// stderr carries the report.
fn spawn_guarded(
    spec: &CommandSpec,
    mark: &str,
    output: &io::PipeWriter,
) -> io::Result<(Child, UnixStream)> {
    let (reports, report_writer) = exit_report::channel()?;
    let mut command = command(OsStr::new(guard::PROGRAM), spec);
    command.args(guard::arguments(&spec.command));
    command.envs(environment::for_command(std::env::vars_os(), spec, mark));
    command.stdin(stdin(&spec.input)?).stdout(output.try_clone()?).stderr(report_writer);
    Ok((command.spawn()?, reports))
}

/// Starts the command in a sandbox. The launcher's stdout is the command's stdout and stderr; its
/// stderr carries its errors and the report.
fn spawn_in_sandbox(
    prepared: &PreparedSandbox,
    spec: &CommandSpec,
    mark: &str,
    output: io::PipeWriter,
) -> io::Result<(Child, UnixStream)> {
    let (reports, report_writer) = exit_report::channel()?;
    if let Some(loopback) = prepared.loopback() {
        loopback.send(&reports)?;
    }
    let mut command = command(prepared.program.as_os_str(), spec);
    command.args(&prepared.arguments);
    command.envs(environment::for_command(std::env::vars_os(), spec, mark));
    command.envs(prepared.environment());
    command.stdin(stdin(&spec.input)?).stdout(output).stderr(report_writer);
    let child = spawner::spawn(command).map_err(|error| {
        let (program, cwd) = (prepared.program.display(), spec.cwd.display());
        let message = format!("the sandbox could not be started: {program} in {cwd}: {error}");
        io::Error::new(error.kind(), message)
    })?;
    Ok((child, reports))
}

#[allow(clippy::disallowed_methods, reason = "this is the module that starts processes")]
fn command(program: &OsStr, spec: &CommandSpec) -> Command {
    let mut command = Command::new(program);
    command.current_dir(&spec.cwd).env_clear().process_group(0);
    command
}

/// Kills and reaps processes. True when all are gone.
fn all_gone(processes: &[proc::Process]) -> bool {
    processes.iter().filter(|process| !process.kill_and_check()).count() == 0
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

/// Locks a mutex even after a panic elsewhere, so that commands are still killed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
