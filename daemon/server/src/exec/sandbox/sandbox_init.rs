//! First process in a sandbox: restricts it from inside, runs the command, and reaps. The kernel
//! kills all processes of the sandbox with this one.
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
        DumpableBehavior, Pid, Signal, WaitOptions, getuid, set_dumpable_behavior,
        set_parent_process_death_signal, setpriority_process, setsid, wait,
    },
};

use super::{exit_report, landlock_seccomp};
use crate::exec::Exit;

/// Limit of processes for a user without a kernel limit, checked at intervals.
const MOST_PROCESSES: usize = 1024;
/// Niceness of commands, so that typing stays responsive during a build. Must differ much from this
/// process's own: among a thousand runnable processes the counting thread would wait for seconds.
const NICE: i32 = 10;
const COUNT_EVERY: Duration = Duration::from_millis(50);

pub(super) struct Job {
    /// Folders that the command may write.
    pub(super) writable: Vec<PathBuf>,
    pub(super) command: OsString,
}

impl Job {
    /// Converts the job to arguments for this program inside the sandbox.
    pub(super) fn arguments(self) -> impl Iterator<Item = OsString> {
        let writable =
            self.writable.into_iter().flat_map(|path| ["--write".into(), path.into_os_string()]);
        writable.chain(["--".into(), self.command])
    }

    fn parse(mut words: impl Iterator<Item = OsString>) -> anyhow::Result<Self> {
        let mut writable = Vec::new();
        loop {
            let word = words.next().context("no command")?;
            match word.to_str() {
                Some("--write") => writable.push(words.next().context("no folder")?.into()),
                Some("--") => break,
                Some(_) | None => anyhow::bail!("an unknown word: {}", word.display()),
            }
        }
        Ok(Self { writable, command: words.next().context("no command")? })
    }
}

pub(super) fn run(words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let job = Job::parse(words)?;
    die_with_parent()?;
    // Leaves the launcher's process group and the user's terminal.
    let _ = setsid();
    // Without free memory, the kernel kills the command before Cairn and the editor.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    landlock_seccomp::limit()?;
    let limited = !getuid().is_root() || landlock_seccomp::restrain_superuser()?;
    landlock_seccomp::drop_privileges()?;
    landlock_seccomp::write_only_below(&job.writable)?;
    landlock_seccomp::forbid_calls()?;
    if !limited {
        // Ends with this process.
        std::thread::spawn(watch);
    }
    let shell = start(job.command)?;
    exit_report::tell::begun()?;
    let exit = reap_until(shell)?;
    let left = count();
    exit_report::tell::end(exit, left)?;
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

/// Kills this process when its parent dies, so that nothing in a sandbox outlives the daemon. The
/// reader of the reports is the daemon: it may have died before this call took effect.
pub(super) fn die_with_parent() -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let stderr = io::stderr();
    let mut reports = [PollFd::new(&stderr, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut reports, Some(&now))?;
    let gone = PollFlags::ERR | PollFlags::HUP;
    anyhow::ensure!(!reports[0].revents().intersects(gone), "the daemon is gone");
    Ok(())
}

fn start(command: OsString) -> anyhow::Result<Pid> {
    // A thread of its own starts the shell, because niceness belongs to a thread: this process must
    // keep its priority to be able to end.
    let starting = std::thread::spawn(move || {
        setpriority_process(None, NICE)?;
        spawn_shell(&command)
    });
    let shell = starting.join().unwrap_or_else(|_| Err(io::Error::other("it crashed")));
    shell.context("no shell could be started")
}

/// Starts the shell of a command as the leader of a process group, with the stdout of this process
/// as its stdout and stderr.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
pub(in crate::exec) fn spawn_shell(command: &OsStr) -> io::Result<Pid> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let spawn = |shell: &str, flags: &[&str]| {
        let output = Stdio::from(output.try_clone()?);
        Command::new(shell).args(flags).arg(command).stderr(output).process_group(0).spawn()
    };
    let child = match spawn("bash", &["--noprofile", "--norc", "-c"]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => spawn("sh", &["-c"]),
        result => result,
    };
    child.map(|child| Pid::from_child(&child))
}

/// Reaps children until the shell is among them. Orphans come to this process.
pub(in crate::exec) fn reap_until(shell: Pid) -> anyhow::Result<Exit> {
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

/// Counts live processes in the sandbox, without this one.
fn count() -> usize {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|&pid| pid > 1)
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
            !matches!(state, None | Some('Z' | 'X'))
        })
        .count()
}

/// Ends the sandbox if it has too many processes. Needed for the superuser, to whom the kernel's
/// limit does not apply.
fn watch() {
    let mut newest = 0;
    loop {
        std::thread::sleep(COUNT_EVERY);
        // Reads the newest process id first: as long as it is small, there cannot be many
        // processes.
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let now: usize =
            load.split_whitespace().next_back().and_then(|word| word.parse().ok()).unwrap_or(0);
        if now.abs_diff(newest) < MOST_PROCESSES / 4 {
            continue;
        }
        let numbers = fs::read_dir("/proc").map(|all| {
            all.flatten().filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit())
        });
        let alive = numbers.map(Iterator::count).unwrap_or(0);
        if alive > MOST_PROCESSES {
            let _ = exit_report::tell::crowded();
            #[expect(clippy::exit, reason = "the end of the box, from a thread beside")]
            std::process::exit(1);
        }
        if alive < MOST_PROCESSES / 2 {
            newest = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_as_it_is_written() {
        let job =
            || Job { writable: vec!["/a b".into(), "--".into()], command: "--write x".into() };
        let read = Job::parse(job().arguments()).unwrap();
        assert_eq!((read.writable, read.command), (job().writable, job().command));
        for wrong in [&["--write"][..], &["ls"], &["--"]] {
            assert!(Job::parse(wrong.iter().map(Into::into)).is_err(), "{wrong:?}");
        }
    }
}
