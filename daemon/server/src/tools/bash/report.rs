//! Words about the end of a command: its output, its exit, and hints about missing rights.

use cairn_core::{
    marks::{EXIT_CODE, ModelText},
    policy::sandbox::Needs,
    sanitize,
};

use crate::exec::{Captured, CommandOutcome, Exit, HEAD_BYTES, TAIL_BYTES};

/// Bytes at the end of the output that tell why a command failed although its exit code is 0.
const END_BYTES: usize = 2 * 1024;

/// Output of a command that may name a missing right: of one with the exit code 0 only the end, and only if the exit
/// code may be that of another part (`npm install | tail`).
pub(super) fn telling<'a>(command: &str, exit: &Exit, output: &'a str) -> &'a str {
    match exit {
        Exit::Code(0) if !command.contains(['|', ';', '\n']) => "",
        Exit::Code(0) => {
            &output[output.ceil_char_boundary(output.len().saturating_sub(END_BYTES))..]
        }
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => output,
    }
}

/// Words of programs without a network, and of Cargo that was told not to look for one.
const NO_NETWORK: [&str; 19] = [
    "Network is unreachable",
    "network is unreachable",
    "ENETUNREACH",
    "Could not resolve host",
    "Couldn't resolve host",
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "EAI_AGAIN",
    "ENOTFOUND",
    "no such host",
    "dial tcp: lookup",
    "failed to lookup address",
    "NameResolutionError",
    "No matching distribution found",
    "UnknownHostException",
    "offline mode (--offline)",
    "but --offline was specified",
    "could not be found in registry index",
];
const REFUSED: [&str; 3] = ["Connection refused", "connection refused", "ECONNREFUSED"];
const READ_ONLY: [&str; 3] = ["Read-only file system", "EROFS", "read-only file system"];
const DOCKER: [&str; 2] = ["Cannot connect to the Docker daemon", "docker.sock"];

/// Hints about missing rights or paths, from the output of a command.
pub(super) fn hints(output: &str, needs: Needs, (home, cwd): (&str, &str)) -> Vec<&'static str> {
    let says = |words: &[&str]| words.iter().any(|words| output.contains(words));
    let no_network = !needs.network && says(&NO_NETWORK);
    let read_only = says(&READ_ONLY);
    let git = read_only && !needs.git && says(&[".git/", ".git'"]);
    let all = [
        (
            no_network,
            "The sandbox gives a command no network. If it cannot do without, call bash again with needs: [\"network\"]; the user is asked.",
        ),
        (
            !needs.network && !no_network && says(&REFUSED),
            "A command reaches the servers that run in the same session without needs: [\"network\"], and no other servers of the machine. Start the server with background: true, or, if it is the user's, call bash again with needs: [\"network\"]; the user is asked.",
        ),
        (
            git,
            "The sandbox keeps .git from being written. If the command must, call bash again with needs: [\"git\"]; the user is asked.",
        ),
        (
            read_only && !git,
            "The sandbox lets a command write in the workspace and in /tmp only, and not what decides what runs outside of it: .git hooks and config, settings of editors and agents. The user can allow more folders with cairn.sandbox.writable.",
        ),
        (
            says(&DOCKER),
            "The sandbox does not have Docker's socket, because who starts containers controls the machine. Tell the user which command to run.",
        ),
        (
            misses_something_below(home, cwd, output),
            "In the sandbox the home folder is empty but for the workspace, toolchains and their caches, without credentials. The user can show more of it with cairn.sandbox.readable.",
        ),
    ];
    all.into_iter().filter_map(|(applies, hint)| applies.then_some(hint)).collect()
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
        Exit::Code(code) => format!("{EXIT_CODE}{code}, {seconds:.1} s"),
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
