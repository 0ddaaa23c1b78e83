//! Report of the program inside a sandbox, or of a guard, to the daemon: the command began, and how
//! it ended.
//!
//! The report arrives through the launcher's stderr, together with the launcher's own errors. The
//! command never has that stream, so nothing in it is output of the command.

use std::{
    io::{self, Read},
    os::fd::OwnedFd,
};

use rustix::fs::OFlags;

use crate::exec::Exit;

#[cfg(target_os = "linux")]
pub(in crate::exec) mod tell;

const SIGN: &str = "cairn-box:";
/// Bytes of a report; a launcher writes far fewer.
const LONGEST: u64 = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::exec) struct Report {
    pub(in crate::exec) begun: bool,
    /// Exit of the command, and the number of its processes that still ran.
    pub(in crate::exec) end: Option<(Exit, usize)>,
    /// Set if the command started too many processes.
    pub(in crate::exec) crowded: bool,
    /// Other lines, such as errors of the launcher.
    pub(in crate::exec) words: String,
}

/// Reads the report written so far. Never blocks.
pub(in crate::exec) fn read(pipe: &io::PipeReader) -> Report {
    let mut text = Vec::new();
    let nonblocking = rustix::fs::fcntl_getfl(pipe)
        .and_then(|old| rustix::fs::fcntl_setfl(pipe, old | OFlags::NONBLOCK));
    if nonblocking.is_ok() {
        // An error means that no more is there.
        let _ = pipe.take(LONGEST).read_to_end(&mut text);
    }
    parse(&String::from_utf8_lossy(&text))
}

/// Creates a pipe: the end to read from, which does not block, and the end for the launcher.
pub(in crate::exec) fn pipe() -> io::Result<(io::PipeReader, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader, writer.into()))
}

fn parse(text: &str) -> Report {
    let mut report = Report::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(told) = line.strip_prefix(SIGN) else {
            if !report.words.is_empty() {
                report.words.push('\n');
            }
            report.words.push_str(line);
            continue;
        };
        let words: Vec<&str> = told.split_whitespace().collect();
        match words.as_slice() {
            ["begun"] => report.begun = true,
            ["crowded"] => report.crowded = true,
            [how, number, left] => {
                let exit = match (*how, number.parse()) {
                    ("exited", Ok(code)) => Some(Exit::Code(code)),
                    ("killed", Ok(signal)) => Some(Exit::Signal(signal)),
                    (_, Ok(_) | Err(_)) => None,
                };
                report.end = exit.map(|exit| (exit, left.parse().unwrap_or(0)));
            }
            _ => {}
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_launchers_words_are_told_from_the_report() {
        let report = parse("bwrap: no\nbwrap: way\n");
        assert_eq!(report, Report { words: "bwrap: no\nbwrap: way".into(), ..Report::default() });
        let report = parse("\ncairn-box: begun\n\ncairn-box: killed 9 2\n");
        let end = Some((Exit::Signal(9), 2));
        assert_eq!(report, Report { begun: true, end, ..Report::default() });
        assert_eq!(parse("\ncairn-box: exited 3 0\n").end, Some((Exit::Code(3), 0)));
        assert!(parse("\ncairn-box: crowded\n").crowded);
        assert_eq!(parse("cairn-box: exited x 0").end, None);
    }

    #[test]
    fn what_is_there_is_read_without_waiting() {
        let (reader, writer) = pipe().unwrap();
        std::fs::File::from(writer.try_clone().unwrap()).write_all(b"a").unwrap();
        assert_eq!(read(&reader).words, "a");
        drop(writer);
        assert_eq!(read(&reader), Report::default());
    }
}
