//! First process in a sandbox: restricts it from inside, runs the command, and reaps its processes.
//! When this process ends, the kernel kills all others of the sandbox.
//!
//! Its stderr carries reports only (`exit_report`). Its stdout is the command's stdout and stderr.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::{fd::AsFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::Context;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{
        DumpableBehavior, Pid, Signal, WaitOptions, getpriority_process, getuid, ioctl_tiocsctty,
        set_dumpable_behavior, set_parent_process_death_signal, setpriority_process, setsid, wait,
    },
    termios::isatty,
};

use super::landlock_seccomp;
use crate::exec::{
    Exit,
    processes::stat,
    sandbox::exit_report::{self, ReportLine},
};

/// Limit of processes for the superuser, to whom the kernel's limit does not apply. Checked at
/// intervals.
const MAX_PROCESSES: usize = 1024;
const COUNT_INTERVAL: Duration = Duration::from_millis(50);
/// Niceness of commands, so that typing stays responsive during a build. Must differ much from this
/// process's own: among a thousand runnable processes the counting thread would wait for seconds.
const COMMAND_NICENESS: i32 = 10;

pub(super) fn run(mut arguments: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let command = arguments.next().context("no command")?;
    // Folders that the command may write.
    let writable: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    die_with_parent()?;
    // Leaves the launcher's process group and the user's terminal.
    let _ = setsid();
    let has_terminal = isatty(io::stdin());
    if has_terminal {
        // Without it, programs could not tell Ctrl+C from input.
        let _ = ioctl_tiocsctty(io::stdin());
    }
    // When memory runs out, the kernel kills the command before Cairn and the editor.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    landlock_seccomp::set_resource_limits()?;
    let kernel_limits_processes = !getuid().is_root() || landlock_seccomp::restrict_superuser()?;
    landlock_seccomp::drop_privileges()?;
    landlock_seccomp::allow_writes_only_below(&writable)?;
    landlock_seccomp::forbid_system_calls()?;
    if !kernel_limits_processes {
        std::thread::spawn(limit_processes);
    }
    let shell = spawn_nice_shell(command, !has_terminal)?;
    exit_report::write(&ReportLine::Begun)?;
    let exit = reap_until_exit(shell)?;
    exit_report::write(&ReportLine::Ended(exit, count_other_processes()))?;
    Ok(exit_code(exit))
}

/// Exit code by which a shell reports the end of a command.
pub(in crate::exec) fn exit_code(exit: Exit) -> ExitCode {
    let code = match exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
        Exit::TimedOut | Exit::Cancelled => 1,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Asks the kernel to kill this process when its parent dies, so that nothing in a sandbox outlives
/// the daemon. Fails if the daemon, which reads the reports, died before.
pub(super) fn die_with_parent() -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let stderr = io::stderr();
    let mut reports = [PollFd::new(&stderr, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut reports, Some(&now))?;
    let closed = PollFlags::ERR | PollFlags::HUP;
    anyhow::ensure!(!reports[0].revents().intersects(closed), "the daemon is gone");
    Ok(())
}

/// Starts the shell from another thread, because niceness belongs to a thread. This thread keeps its
/// priority, so that it can end the sandbox.
fn spawn_nice_shell(command: OsString, own_group: bool) -> anyhow::Result<Pid> {
    let starting = std::thread::spawn(move || {
        // A process may not take back niceness that it has.
        setpriority_process(None, COMMAND_NICENESS.max(getpriority_process(None)?))?;
        spawn_shell(&command, own_group)
    });
    let shell = starting
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts it crashed")));
    shell.context("no shell could be started")
}

/// Starts the shell of a command, with the stdin of this process, and its stdout as stdout and stderr.
/// With `own_group` it leads a process group. With a terminal it must not: only the group of this
/// process may read from the terminal.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
pub(in crate::exec) fn spawn_shell(command: &OsStr, own_group: bool) -> io::Result<Pid> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let spawn = |shell: &str, flags: &[&str]| {
        let output = Stdio::from(output.try_clone()?);
        let mut shell = Command::new(shell);
        if own_group {
            shell.process_group(0);
        }
        shell.args(flags).arg(command).stderr(output).spawn()
    };
    let child = match spawn("bash", &["--noprofile", "--norc", "-c"]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => spawn("sh", &["-c"]),
        result => result,
    };
    child.map(|child| Pid::from_child(&child))
}

/// Reaps children until the shell is among them, and returns how it ended. This process is also the
/// parent of orphans in the sandbox or below the guard.
pub(in crate::exec) fn reap_until_exit(shell: Pid) -> anyhow::Result<Exit> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => {
                let code = status.exit_status().map(Exit::Code);
                let signal = status.terminating_signal().map(Exit::Signal);
                if let Some(exit) = code.or(signal) {
                    return Ok(exit);
                }
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("the command was lost"),
        }
    }
}

/// Ids of the processes in the sandbox, without this one.
fn others() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| *pid > 1)
}

/// Counts live processes in the sandbox, without this one.
fn count_other_processes() -> usize {
    let is_alive = |pid: &i32| {
        let stat = stat(*pid).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        !matches!(state, None | Some('Z' | 'X'))
    };
    others().filter(is_alive).count()
}

/// Ends the sandbox if it has more processes than allowed. Runs until this process ends.
fn limit_processes() {
    while others().count() < MAX_PROCESSES {
        std::thread::sleep(COUNT_INTERVAL);
    }
    let _ = exit_report::write(&ReportLine::Crowded);
    #[expect(clippy::exit, reason = "the end of the sandbox, from another thread")]
    std::process::exit(1);
}
