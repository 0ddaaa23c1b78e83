//! Search in `/proc` for processes of a command. Finds none on another system than Linux.

use std::{collections::HashMap, fs};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pid: Pid,
    parent: i32,
    zombie: bool,
    /// Start time in clock ticks since boot.
    started: u64,
}

impl Process {
    pub(super) fn is_alive(&self) -> bool {
        !self.zombie
    }

    pub(super) fn signal(&self, signal: Signal) {
        // Fails if the process is gone.
        let _ = kill_process(self.pid, signal);
    }

    /// Kills the process if it still exists. True if it is dead.
    pub(super) fn kill_and_check(&self) -> bool {
        let pid = self.pid.as_raw_pid();
        // Another start time: the process is gone, and its number was given to another one.
        let Some(now) = read(pid).filter(|now| now.started == self.started) else {
            return true;
        };
        now.kill_and_reap();
        !now.is_alive()
    }

    pub(super) fn kill_and_reap(&self) {
        // Errors are ignored: the process may be gone, or cannot be reaped yet. Callers check again.
        let _ = kill_process(self.pid, Signal::KILL);
        if self.parent == getpid().as_raw_pid() {
            let _ = waitpid(Some(self.pid), WaitOptions::NOHANG);
        }
    }
}

pub(super) fn children(parent: Pid) -> Vec<Process> {
    let parent = parent.as_raw_pid();
    all().into_iter().filter(|process| process.parent == parent).collect()
}

/// Returns the live processes of a command in a sandbox: descendants of the launcher, except its only
/// child, the first process in the sandbox.
pub(super) fn inside_sandbox(launcher: Pid) -> Vec<Process> {
    let launcher = launcher.as_raw_pid();
    let mut inside = descendants(launcher);
    inside.retain(|process| process.parent != launcher && process.is_alive());
    inside
}

/// Returns the descendants of a process, parents before their children.
pub(super) fn descendants(root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(&process.pid.as_raw_pid()).unwrap_or_default());
        next += 1;
    }
    found
}

fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let pid: i32 = name.to_str()?.parse().ok()?;
            read(pid)
        })
        .collect()
}

fn read(pid: i32) -> Option<Process> {
    parse(pid, &stat(pid)?)
}

/// Reads `/proc/PID/stat`. Replaces invalid UTF-8: a process chooses its own name, and a read error would
/// hide it.
pub(in crate::exec) fn stat(pid: i32) -> Option<String> {
    Some(String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned())
}

/// Parses `/proc/PID/stat`: `pid (name) state ppid pgrp session …`, the start time as the 22nd
/// field. The name may hold any character, including parentheses.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    Some(Process {
        pid: Pid::from_raw(pid)?,
        parent: number()?,
        zombie: matches!(state, "Z" | "X"),
        started: fields.nth(17)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_stat_are_parsed() {
        let rest = "0 -1 4194560 89 0 0 0 0 1 0 0 20 0 1 0 8815 3133440 419";
        let process = parse(7, &format!("7 (a) b (c) S 3 4 5 {rest}")).expect("a process");
        assert_eq!((process.parent, process.started), (3, 8815));
        assert!(process.is_alive());
        assert!(!parse(7, &format!("7 (x) Z 3 4 5 {rest}")).expect("a zombie").is_alive());
        assert_eq!(parse(7, "7 (x"), None);
    }
}
