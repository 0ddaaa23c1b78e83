//! Words about the end of a command: its output, its exit, and hints about missing rights.

use cairn_core::{marks::ModelText, policy::sandbox::Needs};

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

pub(super) fn report(outcome: &CommandOutcome, log: Option<&str>, out: &mut ModelText) {
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
        out.own(&format!(
            "{} left in the background, ended: start what should stay with `background`, without `&`",
            outcome.left_running
        ));
    }
}
