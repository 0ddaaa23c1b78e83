//! Processes of one command, and the registry of all running commands.
//!
//! The shell leads a process group. Waiting does not reap it: its zombie keeps the number, so a
//! signal to the group cannot hit another process. [`proc`] finds processes that left the group
//! (`setsid`).
//!
//! On Linux the leader of a command without a sandbox is a guard: parent of the shell, which
//! reports how the shell ended. In a sandbox the leader is the launcher; the first process inside
//! reports. None of these gets SIGTERM; they only get SIGKILL.

#[cfg(not(target_os = "linux"))]
use std::convert::Infallible;
use std::{
    ffi::OsStr,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::task::{JoinHandle, spawn_blocking};

use super::{Ended, input};
use crate::exec::{
    Exit, Spec, environment,
    sandbox::{PreparedSandbox, exit_report, private_folders},
};

#[cfg(target_os = "linux")]
pub(in crate::exec) mod guard;
pub(super) mod pipe;
#[cfg(target_os = "linux")]
mod proc;
mod spawner;

/// Kills all processes of all commands, and prevents new ones. For the end of the process: blocks
/// for little more than a second at most.
pub fn kill_all() {
    let groups = {
        let mut live = lock(&LIVE);
        live.closed = true;
        live.groups.clone()
    };
    let deadline = Instant::now() + KILL_LIMIT;
    for group in &groups {
        group.kill_now();
    }
    for group in &groups {
        group.kill(deadline);
    }
    private_folders::clear_up();
}

/// Owner of all processes of a command. Dropping it kills them.
pub(in crate::exec) struct Group {
    processes: Arc<Processes>,
}

impl Group {
    pub(in crate::exec) fn start(spec: &Spec, output: io::PipeWriter) -> io::Result<Self> {
        // Held until the child is registered, so that it is not taken for a stray.
        let mut live = lock(&LIVE);
        if live.closed {
            return Err(io::Error::other("Cairn is closing"));
        }
        #[cfg(target_os = "linux")]
        if !live.adopts {
            // This process adopts orphans of commands, so that it can find them.
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
            live.adopts = true;
        }
        let mark = format!("{}-{}", std::process::id(), live.next);
        live.next += 1;
        let (child, parent) = match &spec.sandbox {
            #[cfg(target_os = "linux")]
            None if guard::is_available() => {
                let (child, reports) = spawn_guarded(spec, &mark, &output)?;
                (child, Parent::Guard { reports })
            }
            None => (spawn_bare(spec, &mark, &output)?, Parent::Cairn),
            Some(prepared) => {
                let (child, reports) = spawn_boxed(prepared, spec, &mark, output)?;
                let parent = reports
                    .map(|reports| Parent::Sandbox { reports, _prepared: Arc::clone(prepared) });
                (child, parent.unwrap_or(Parent::Cairn))
            }
        };
        let processes = Arc::new(Processes {
            leader: Pid::from_child(&child),
            mark,
            parent,
            state: Mutex::new(State::Running(child)),
        });
        live.groups.push(Arc::clone(&processes));
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
    pub(in crate::exec) async fn end(self) -> io::Result<Ended> {
        let processes = Arc::clone(&self.processes);
        let ended = spawn_blocking(move || processes.kill(Instant::now() + KILL_LIMIT)).await;
        ended.ok().flatten().ok_or_else(|| io::Error::other("the command could not be killed"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.processes.kill(Instant::now() + KILL_LIMIT);
        lock(&LIVE).groups.retain(|other| !Arc::ptr_eq(other, &self.processes));
    }
}

static LIVE: Mutex<Live> =
    Mutex::new(Live { closed: false, adopts: false, next: 0, groups: Vec::new() });

/// Time for killed processes to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(5);

struct Live {
    /// Set once this process is about to end.
    closed: bool,
    /// Set once this process adopts orphans.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "they cannot be"))]
    adopts: bool,
    next: u64,
    groups: Vec<Arc<Processes>>,
}

struct Processes {
    leader: Pid,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody is looked for by it"))]
    mark: String,
    parent: Parent,
    state: Mutex<State>,
}

/// Parent of the shell.
enum Parent {
    /// This process: the shell is the leader.
    Cairn,
    /// The leader is a guard, whose descendants are all that the command started.
    #[cfg(target_os = "linux")]
    Guard { reports: io::PipeReader },
    /// The leader is the launcher of a sandbox.
    Sandbox {
        reports: io::PipeReader,
        /// Keeps the temporary folder alive.
        _prepared: Arc<PreparedSandbox>,
    },
}

impl Parent {
    fn report(&self) -> Option<exit_report::Report> {
        match self {
            Self::Cairn => None,
            #[cfg(target_os = "linux")]
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
    /// The leader is not reaped, so its number is not reused.
    Running(Child),
    Ended(Ended),
}

impl Processes {
    /// Sends a signal to the command's processes, but not to a guard or a launcher, whose end would
    /// kill everything at once. False if no process is left.
    #[cfg(target_os = "linux")]
    fn signal(&self, signal: Signal) -> bool {
        let command = match self.parent {
            Parent::Cairn => return kill_process_group(self.leader, signal).is_ok(),
            Parent::Guard { .. } => proc::below(self.leader.as_raw_pid()),
            Parent::Sandbox { .. } => proc::behind_first(self.leader),
        };
        for process in &command {
            process.signal(signal);
        }
        !command.is_empty()
    }

    #[cfg(not(target_os = "linux"))]
    fn signal(&self, signal: Signal) -> bool {
        kill_process_group(self.leader, signal).is_ok()
    }

    fn terminate(&self) {
        if let State::Running(_) = *lock(&self.state)
            && !self.signal(Signal::TERM)
        {
            // The command has not started yet.
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }

    /// Kills processes without waiting for their end.
    fn kill_now(&self) {
        if let State::Running(_) = *lock(&self.state) {
            if self.parent.is_sandbox() {
                // The kernel kills a sandbox with its launcher.
                let _ = kill_process_group(self.leader, Signal::KILL);
            } else {
                self.signal(Signal::KILL);
            }
        }
    }

    /// Kills all processes, waits until they are gone, and reaps the leader. `None` if one does not
    /// go. A second call returns the same result.
    fn kill(&self, deadline: Instant) -> Option<Ended> {
        let mut state = lock(&self.state);
        if let State::Running(child) = &mut *state {
            let report = self.parent.report();
            let told = report.as_ref().is_some_and(|report| report.end.is_some());
            // The kernel kills a sandbox with its first process.
            let counts = !told && !self.parent.is_sandbox();
            let left_running = if counts { self.count_alive() } else { 0 };
            let first = if told { Vec::new() } else { self.first_behind_walls() };
            // The guard is killed last: its descendants are found through it.
            while self.has_guard() && !told && !self.kill_strays() && Instant::now() < deadline {
                std::thread::sleep(POLL);
            }
            let _ = kill_process_group(self.leader, Signal::KILL);
            while !(told || (all_gone(&first) & self.kill_strays())) && Instant::now() < deadline {
                std::thread::sleep(POLL);
            }
            let status = loop {
                match child.try_wait() {
                    Ok(Some(status)) => break status,
                    Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
                    Ok(None) | Err(_) => return None,
                }
            };
            let ended = match report {
                Some(report) => reported(report, status, left_running, self.parent.name()),
                None => {
                    Ended { exit: exit_of(status), left_running, crowded: false, never_began: None }
                }
            };
            *state = State::Ended(ended);
        }
        match &*state {
            State::Running(_) => None,
            State::Ended(ended) => Some(ended.clone()),
        }
    }

    #[cfg(target_os = "linux")]
    fn first_behind_walls(&self) -> Vec<proc::Process> {
        if self.parent.is_sandbox() { proc::children(self.leader) } else { Vec::new() }
    }

    #[cfg(target_os = "linux")]
    fn has_guard(&self) -> bool {
        matches!(self.parent, Parent::Guard { .. })
    }

    #[cfg(not(target_os = "linux"))]
    fn has_guard(&self) -> bool {
        false
    }

    /// Counts running processes other than the shell.
    #[cfg(target_os = "linux")]
    fn count_alive(&self) -> usize {
        let members = proc::members(self.leader, &self.mark);
        let alive = members.iter().filter(|one| one.is_alive()).count();
        // Below a guard the shell is counted too.
        alive.saturating_sub(usize::from(self.has_guard()))
    }

    /// Kills processes that left the group. True when none is left.
    #[cfg(target_os = "linux")]
    fn kill_strays(&self) -> bool {
        let members = proc::members(self.leader, &self.mark);
        // A process without the mark that left its session is attributed only if one command runs.
        let live = lock(&LIVE);
        let alone = live.groups.iter().all(|group| group.leader == self.leader);
        let adopted = proc::adopted(self.leader);
        // During `exec` a process shows no mark for a moment; it may belong to this command.
        let mut none_left = alone || !adopted.iter().any(proc::Process::is_changing);
        let strays = if alone { adopted } else { Vec::new() };
        for process in members.into_iter().chain(strays) {
            if process.is_alive() {
                none_left = false;
            }
            process.kill_and_reap();
        }
        none_left
    }

    /// On other systems a sandbox has no first process of Cairn's.
    #[cfg(not(target_os = "linux"))]
    fn first_behind_walls(&self) -> Vec<Infallible> {
        Vec::new()
    }

    #[cfg(not(target_os = "linux"))]
    fn count_alive(&self) -> usize {
        0
    }

    #[cfg(not(target_os = "linux"))]
    fn kill_strays(&self) -> bool {
        true
    }
}

/// End of a command as its guard or the first process in its sandbox reported it.
fn reported(
    report: exit_report::Report,
    status: ExitStatus,
    left_running: usize,
    parent: &str,
) -> Ended {
    let (exit, left_running) = report.end.unwrap_or((exit_of(status), left_running));
    let never_began = (!report.begun).then(|| {
        let words = report.words.trim();
        let words = if words.is_empty() { "it said nothing" } else { words };
        format!("{parent} could not be started: {words}")
    });
    Ended { exit, left_running, crowded: report.crowded, never_began }
}

fn spawn_bare(spec: &Spec, mark: &str, output: &io::PipeWriter) -> io::Result<Child> {
    let shell = |shell: &str, flags: &[&str]| {
        let mut command = command(OsStr::new(shell), spec);
        command.args(flags).arg(&spec.command);
        command.envs(environment::for_command(std::env::vars_os(), &spec.env, mark));
        command.stdout(output.try_clone()?).stderr(output.try_clone()?);
        command.stdin(input(&spec.input)?).spawn()
    };
    match shell("bash", &["--noprofile", "--norc", "-c"]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => shell("sh", &["-c"]),
        result => result,
    }
}

/// Starts the command below a guard. The guard's stdout is the command's stdout and stderr.
#[cfg(target_os = "linux")]
fn spawn_guarded(
    spec: &Spec,
    mark: &str,
    output: &io::PipeWriter,
) -> io::Result<(Child, io::PipeReader)> {
    let (reports, reporting) = exit_report::pipe()?;
    let mut command = command(OsStr::new(guard::PROGRAM), spec);
    command.args(guard::arguments(&spec.command));
    command.envs(environment::for_command(std::env::vars_os(), &spec.env, mark));
    command.stdin(input(&spec.input)?).stdout(output.try_clone()?).stderr(reporting);
    Ok((command.spawn()?, reports))
}

/// Starts the command in a sandbox. The launcher's stderr carries its errors and the report of the
/// command's end. The launcher's stdout is the command's stdout and stderr.
fn spawn_boxed(
    prepared: &PreparedSandbox,
    spec: &Spec,
    mark: &str,
    output: io::PipeWriter,
) -> io::Result<(Child, Option<io::PipeReader>)> {
    let (reports, reporting) = if prepared.reports {
        let (reports, reporting) = exit_report::pipe()?;
        (Some(reports), reporting)
    } else {
        (None, output.try_clone()?.into())
    };
    let mut command = command(prepared.program.as_os_str(), spec);
    command.args(&prepared.arguments);
    command.envs(environment::for_command(std::env::vars_os(), &spec.env, mark));
    command.envs(prepared.environment());
    command.stdin(input(&spec.input)?).stdout(output).stderr(reporting);
    let child = spawner::spawn(command).map_err(|error| {
        let (program, cwd) = (prepared.program.display(), spec.cwd.display());
        let named = format!("the sandbox could not be started: {program} in {cwd}: {error}");
        io::Error::new(error.kind(), named)
    })?;
    Ok((child, reports))
}

#[allow(clippy::disallowed_methods, reason = "this is the module that starts processes")]
fn command(program: &OsStr, spec: &Spec) -> Command {
    let mut command = Command::new(program);
    command.current_dir(&spec.cwd).env_clear().process_group(0);
    command
}

/// Kills and reaps processes. Orphans are children of this process, which can reap them.
#[cfg(target_os = "linux")]
fn all_gone(processes: &[proc::Process]) -> bool {
    processes.iter().filter(|process| !process.has_ended()).count() == 0
}

#[cfg(not(target_os = "linux"))]
fn all_gone(none: &[Infallible]) -> bool {
    none.is_empty()
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
