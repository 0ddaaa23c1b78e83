//! A process of ours beside the daemon that ends commands without a sandbox when the daemon was killed
//! before it could. (The kernel ends a sandbox with the daemon, but nothing else.)
//!
//! The daemon tells it on a pipe which process groups are alive; the end of that pipe is the end of the
//! daemon. It must never signal a process that no command of this daemon started.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::{self, BufRead, Write},
    process::{ChildStdin, Command, ExitCode, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use rustix::process::{Pid, setsid};

use super::{lock, proc};
use crate::exec::sandbox::SUBCOMMAND;

/// The name of this part among those of the program.
pub(in crate::exec) const PART: &str = "guard";

/// Longest time in which it tries to end what does not go, such as a process in a stuck system call.
const LIMIT: Duration = Duration::from_secs(5);
/// Time between two looks below the daemon while a command runs.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const POLL: Duration = Duration::from_millis(5);

/// Tells whether this process is the program itself, and may start its parts.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);
static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

pub(in crate::exec) fn allow() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Starts the guard if there is none. Before the first command, so that none is without it.
pub(super) fn ensure() -> io::Result<()> {
    let mut pipe = lock(&PIPE);
    if pipe.is_some() || !IS_PROGRAM.load(Ordering::Relaxed) {
        return Ok(());
    }
    // This very program, also when its file was replaced meanwhile.
    #[allow(clippy::disallowed_methods, reason = "this is the module that starts processes")]
    let mut command = Command::new("/proc/self/exe");
    let daemon = std::process::id().to_string();
    command.args([SUBCOMMAND, PART, &daemon]).env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Nobody waits for it: it ends after this process.
    *pipe = command.spawn()?.stdin;
    Ok(())
}

pub(super) fn began(leader: Pid) {
    tell('+', leader);
}

pub(super) fn ended(leader: Pid) {
    tell('-', leader);
}

fn tell(sign: char, leader: Pid) {
    let mut pipe = lock(&PIPE);
    if let Some(open) = pipe.as_mut()
        && let Err(error) = writeln!(open, "{sign}{}", leader.as_raw_pid())
    {
        tracing::warn!("the guard of commands is gone: {error}");
        *pipe = None;
    }
}

/// The guard itself.
pub(in crate::exec) fn run(mut words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let daemon: i32 =
        words.next().as_deref().and_then(OsStr::to_str).context("no number")?.parse()?;
    // Out of reach of what kills the daemon's process group.
    let _ = setsid();
    let (heard, lines) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if heard.send(line).is_err() {
                return;
            }
        }
    });
    let (mut leaders, mut known) = (BTreeSet::new(), Vec::new());
    loop {
        let line = if leaders.is_empty() {
            lines.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            lines.recv_timeout(LOOK_EVERY)
        };
        match line {
            Ok(line) => {
                let leader = line.get(1..).and_then(|number| number.parse::<i32>().ok());
                match (line.chars().next(), leader) {
                    (Some('+'), Some(leader)) => drop(leaders.insert(leader)),
                    (Some('-'), Some(leader)) => drop(leaders.remove(&leader)),
                    _ => {}
                }
            }
            // What clears its environment and leaves its session has only its parent to be known by,
            // until the daemon, which adopts it, is gone.
            Err(RecvTimeoutError::Timeout) => known = proc::below(daemon),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if leaders.is_empty() {
            known.clear();
        }
    }
    let marks = format!("{daemon}-");
    let deadline = Instant::now() + LIMIT;
    loop {
        let left = proc::started_by(&marks, &leaders, &known);
        if left.is_empty() || Instant::now() > deadline {
            return Ok(ExitCode::SUCCESS);
        }
        for process in left {
            process.kill_and_reap();
        }
        std::thread::sleep(POLL);
    }
}
