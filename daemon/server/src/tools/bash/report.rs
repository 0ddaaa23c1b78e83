//! Words about the end of a command: its output, its exit, and hints about missing rights.

use cairn_core::{marks::ModelText, policy::sandbox::Needs, sanitize};

use crate::exec::{Captured, CommandOutcome, Exit, HEAD_BYTES, TAIL_BYTES};

/// Hint about a missing right or path, from the output of a failed command.
pub(super) fn hint(output: &str, needs: Needs, (home, cwd): (&str, &str)) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|words| output.contains(words));
    let no_network = [
        "Network is unreachable",
        "network is unreachable",
        "ENETUNREACH",
        "Could not resolve host",
        "Couldn't resolve host",
        "Temporary failure in name resolution",
        "Name or service not known",
        "EAI_AGAIN",
        "ENOTFOUND",
        "no such host",
        "failed to lookup address",
        "NameResolutionError",
    ];
    let read_only = says(&["Read-only file system", "EROFS", "read-only file system"]);
    if !needs.network && says(&no_network) {
        Some(
            "The sandbox gives a command no network. If it cannot do without, call bash again with needs: [\"network\"]; the user is asked.",
        )
    } else if !needs.git && read_only && says(&[".git/", ".git'"]) {
        Some(
            "The sandbox keeps .git from being written. If the command must, call bash again with needs: [\"git\"]; the user is asked.",
        )
    } else if read_only {
        Some(
            "The sandbox lets a command write in the workspace and in /tmp only, and not what decides what runs outside of it: .git hooks and config, settings of editors and agents. The user can allow more folders with cairn.sandbox.writable.",
        )
    } else if misses_something_below(home, cwd, output) {
        Some(
            "In the sandbox the home folder is empty but for the workspace, toolchains and their caches, without credentials. The user can show more of it with cairn.sandbox.readable.",
        )
    } else {
        None
    }
}

/// True if a line of the output reports a missing path in the home folder, outside of the working
/// directory.
fn misses_something_below(home: &str, cwd: &str, output: &str) -> bool {
    let missing = ["No such file or directory", "ENOENT", "os error 2", "not found"];
    let says = |line: &str| missing.iter().any(|words| line.contains(words));
    home.len() > 1
        && output.lines().any(|line| line.contains(home) && !line.contains(cwd) && says(line))
}

pub(super) fn report(
    outcome: &CommandOutcome,
    command: &str,
    log: Option<&str>,
    out: &mut ModelText,
) {
    let Captured { head, tail, total_bytes, dropped, binary } = &outcome.output;
    out.add(head);
    if *binary {
        out.own(&format!("{total_bytes} bytes of binary output"));
    } else if *dropped > 0 {
        let log = log.map(|log| format!("; {log}")).unwrap_or_default();
        out.own(&format!(
            "… {dropped} bytes left out: a result has the first {} and the last {} KiB{log} …",
            HEAD_BYTES / 1024,
            TAIL_BYTES / 1024
        ));
        out.add(tail);
    }
    let seconds = outcome.duration.as_secs_f64();
    let ended = match outcome.exit {
        Exit::Code(code) => format!("exit code {code}, {seconds:.1} s"),
        Exit::Signal(signal) => format!("ended by signal {signal}, {seconds:.1} s"),
        Exit::TimedOut | Exit::Cancelled => format!("cancelled after {seconds:.1} s"),
    };
    out.own(&ended);
    if outcome.too_many_processes {
        out.own("ended: it had started more than a thousand processes");
    }
    if outcome.left_running > 0 && matches!(outcome.exit, Exit::Code(_) | Exit::Signal(_)) {
        let jobs: Vec<String> = jobs(command).iter().map(|job| format!("`{job}`")).collect();
        let names = if jobs.is_empty() { String::new() } else { format!(" ({})", jobs.join(", ")) };
        out.own(&format!(
            "{} left in the background, ended{names}: call bash again with `background: true` for what should stay, without `&`",
            outcome.left_running
        ));
    }
}

/// Most background jobs that are named, and most characters of each.
const MOST_JOBS: usize = 4;
const MOST_JOB_CHARS: usize = 60;

/// Commands that a script starts with `&`, as it writes them. Follows quotes. Takes the text of a
/// here-document for script, so the list may name a job of that text.
fn jobs(script: &str) -> Vec<String> {
    let mut jobs = Vec::new();
    let mut job = String::new();
    let mut quote = None;
    let mut characters = script.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        match character {
            '\'' | '"' if quote.is_none() => quote = Some(character),
            _ if quote == Some(character) => quote = None,
            '&' if quote.is_none() && before != '>' && !matches!(next, Some('&' | '>')) => {
                if before != '&' && jobs.len() < MOST_JOBS {
                    jobs.push(sanitize::one_line(job.trim(), MOST_JOB_CHARS));
                }
                job.clear();
                before = character;
                continue;
            }
            '&' | ';' | '|' | '\n' | '(' | '{' if quote.is_none() && before != '>' => {
                job.clear();
                before = character;
                continue;
            }
            _ => {}
        }
        job.push(character);
        before = character;
    }
    jobs.retain(|job| !job.is_empty());
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_a_script_are_named() {
        for (script, names) in [
            ("python3 -m http.server 8000 &", vec!["python3 -m http.server 8000"]),
            ("cd web && npm start > log 2>&1 & sleep 1; curl x", vec!["npm start > log 2>&1"]),
            ("sleep 60 & setsid sleep 61 & echo left", vec!["sleep 60", "setsid sleep 61"]),
            ("(sleep 60 &)\nls", vec!["sleep 60"]),
            ("echo 'a & b' && ls &> log", vec![]),
            ("ls && ls", vec![]),
        ] {
            assert_eq!(jobs(script), names, "{script}");
        }
    }
}
