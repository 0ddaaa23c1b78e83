//! Guard: parent process of a command without a sandbox. It kills all descendants of the command when
//! the shell ends or the daemon dies. (A command in a sandbox needs none: the kernel kills the
//! sandbox with the daemon.)
//!
//! The guard is a child subreaper: every descendant of the shell stays a descendant of the guard,
//! even if it changes its session, process group and environment. The guard signals only its own
//! descendants.

use std::{
    ffi::OsString,
    io,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::Context;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{
        DumpableBehavior, WaitOptions, getpid, set_child_subreaper, set_dumpable_behavior, wait,
    },
};

use crate::exec::{
    processes::proc,
    sandbox::{
        exit_report::{self, ReportLine},
        linux::sandbox_init,
        settings::SUBCOMMAND,
    },
};

/// Role of the guard: the argument after [`SUBCOMMAND`].
pub(in crate::exec) const ROLE: &str = "guard";
/// Path of this program, valid even if its file was replaced since it started.
pub(super) const PROGRAM: &str = "/proc/self/exe";

/// Longest time to wait for processes that do not end, such as one in a stuck system call.
const KILL_LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// Set by the program itself. False in tests that use this crate as a library: there
/// `/proc/self/exe` is the test program.
static ENABLED: AtomicBool = AtomicBool::new(false);

pub(in crate::exec) fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
    // In a container whose first process reaps nothing, ended launchers would leave zombies.
    let _ = set_child_subreaper(Some(getpid()));
}

pub(super) fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Arguments of this program that run a command below a guard.
pub(super) fn arguments(command: &str) -> [&str; 3] {
    [SUBCOMMAND, ROLE, command]
}

/// Runs the guard. Its stderr is the pipe for reports; its stdout is the output of the command.
pub(in crate::exec) fn run(
    mut arguments: impl Iterator<Item = OsString>,
) -> anyhow::Result<ExitCode> {
    let command = arguments.next().context("no command")?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    let shell = sandbox_init::spawn_shell(&command, true).context("no shell could be started")?;
    // Started after the shell, so that no process is started after the thread killed all. It also
    // notices a daemon that died before.
    let watching = std::thread::Builder::new().spawn(end_with_daemon);
    let begun = watching.and_then(|_| exit_report::write(&ReportLine::Begun));
    let ended = begun.map_err(Into::into).and_then(|()| sandbox_init::reap_until_exit(shell));
    let mut left_running = 0;
    if reap() {
        let descendants = proc::descendants(getpid().as_raw_pid());
        left_running = descendants.iter().filter(|process| process.is_alive()).count();
        kill_descendants();
    }
    let exit = ended?;
    exit_report::write(&ReportLine::Ended(exit, left_running))?;
    Ok(sandbox_init::exit_code(exit))
}

/// Waits until the reader of the reports, the daemon, has closed the pipe; then kills all
/// descendants.
fn end_with_daemon() {
    let stderr = io::stderr();
    let mut reports = [PollFd::new(&stderr, PollFlags::empty())];
    while let Err(Errno::INTR) = poll(&mut reports, None) {}
    kill_descendants();
    #[expect(clippy::exit, reason = "the end of the guard, from another thread")]
    std::process::exit(1);
}

/// Kills until no child is left. Then there is no descendant either: one without a living parent is
/// a child of this process.
fn kill_descendants() {
    let deadline = Instant::now() + KILL_LIMIT;
    loop {
        for process in proc::descendants(getpid().as_raw_pid()) {
            process.kill_and_reap();
        }
        if !reap() || Instant::now() > deadline {
            return;
        }
        std::thread::sleep(POLL);
    }
}

/// Reaps all dead children. False if no child is left.
fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
