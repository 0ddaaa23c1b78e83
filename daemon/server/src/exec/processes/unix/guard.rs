//! Guard: parent of a command without a sandbox. It adopts and reaps orphans of the command, and
//! kills all descendants when the shell ends or the daemon dies. (The kernel kills a sandbox with
//! the daemon, but nothing else.)
//!
//! The guard is a child subreaper: every descendant of the shell stays a descendant of the guard,
//! even if it changes its session, process group and environment. It never signals another process
//! than its own descendants.

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

use super::proc;
use crate::exec::sandbox::{SUBCOMMAND, exit_report::tell, sandbox_init};

/// The name of this part among those of the program.
pub(in crate::exec) const PART: &str = "guard";
/// This program, even if its file was replaced since it started.
pub(super) const PROGRAM: &str = "/proc/self/exe";

/// Longest time to wait for processes that do not end, such as one in a stuck system call.
const LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// True in the program itself, which may start its parts; false in tests that use it as a library.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

pub(in crate::exec) fn allow() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

pub(super) fn is_available() -> bool {
    IS_PROGRAM.load(Ordering::Relaxed)
}

/// Words after the name of the program that run a command under a guard.
pub(super) fn arguments(command: &str) -> [&str; 3] {
    [SUBCOMMAND, PART, command]
}

/// Runs the guard. Its stderr is the pipe for reports; its stdout is the output of the command.
pub(in crate::exec) fn run(mut words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let command = words.next().context("no command")?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    let shell = sandbox_init::spawn_shell(&command).context("no shell could be started")?;
    // Started after the shell: a daemon that died before is noticed too, and nothing starts later.
    let watching = std::thread::Builder::new().spawn(end_with_daemon);
    let begun = watching.and_then(|_| tell::begun());
    let ended = begun.map_err(Into::into).and_then(|()| sandbox_init::reap_until(shell));
    let mut left = 0;
    if reap() {
        left = proc::below(getpid().as_raw_pid()).iter().filter(|one| one.is_alive()).count();
        kill_descendants();
    }
    let exit = ended?;
    tell::end(exit, left)?;
    Ok(sandbox_init::exit_code(exit))
}

/// Waits until the reader of the reports, the daemon, has closed the pipe; then kills all
/// descendants.
fn end_with_daemon() {
    let stderr = io::stderr();
    let mut reports = [PollFd::new(&stderr, PollFlags::empty())];
    while let Err(Errno::INTR) = poll(&mut reports, None) {}
    kill_descendants();
    #[expect(clippy::exit, reason = "the end of the guard, from a thread beside")]
    std::process::exit(1);
}

/// Kills until no child is left. A descendant without a living parent is a child of this process, so
/// without a child there is no descendant.
fn kill_descendants() {
    let deadline = Instant::now() + LIMIT;
    loop {
        for process in proc::below(getpid().as_raw_pid()) {
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
