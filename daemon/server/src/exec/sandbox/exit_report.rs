//! Report to the daemon that the command began, and how it ended. The first process in a sandbox or
//! a guard writes it.
//!
//! The report arrives through the launcher's stderr, together with the launcher's own errors. The
//! command never has that stream, so nothing in it is output of the command.

use std::{
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
};

use serde::{Deserialize, Serialize};

use crate::exec::Exit;

/// Start of each line of the report. Other lines are errors of the launcher.
const PREFIX: &str = "cairn-box:";
/// Bytes of a report; a launcher writes far fewer.
const MAX_BYTES: u64 = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::exec) struct ExitReport {
    pub(in crate::exec) begun: bool,
    /// Exit of the command, and the number of its processes that still ran.
    pub(in crate::exec) end: Option<(Exit, usize)>,
    /// Set if the command started more processes than allowed.
    pub(in crate::exec) too_many_processes: bool,
    /// Lines that are not part of the report, such as errors of the launcher.
    pub(in crate::exec) errors: String,
}

/// Line of the report.
#[derive(Serialize, Deserialize)]
pub(in crate::exec) enum ReportLine {
    Begun,
    /// The command started more processes than allowed.
    Crowded,
    /// Exit of the command, and the number of its processes that still ran.
    Ended(Exit, usize),
}

/// Reads the report written so far. Never blocks.
pub(in crate::exec) fn read(channel: &UnixStream) -> ExitReport {
    let mut text = Vec::new();
    if channel.set_nonblocking(true).is_ok() {
        // Ends with an error when the channel is empty.
        let _ = channel.take(MAX_BYTES).read_to_end(&mut text);
    }
    parse(&String::from_utf8_lossy(&text))
}

/// Creates a channel: the end for [`read`], and the end for the launcher. A pair of sockets, because a pipe carries
/// no namespaces to the launcher.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
pub(in crate::exec) fn channel() -> io::Result<(UnixStream, OwnedFd)> {
    let (reader, writer) = UnixStream::pair()?;
    Ok((reader, writer.into()))
}

/// Writes a line to stderr, the channel to the daemon. It begins with a line break, because an error
/// before it may lack one.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
pub(in crate::exec) fn write(line: &ReportLine) -> io::Result<()> {
    let line = serde_json::to_string(line)?;
    io::stderr().write_all(format!("\n{PREFIX} {line}\n").as_bytes())
}

fn parse(text: &str) -> ExitReport {
    let (mut report, mut errors) = (ExitReport::default(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match line.strip_prefix(PREFIX).map(serde_json::from_str) {
            Some(Ok(ReportLine::Begun)) => report.begun = true,
            Some(Ok(ReportLine::Crowded)) => report.too_many_processes = true,
            Some(Ok(ReportLine::Ended(exit, left_running))) => {
                report.end = Some((exit, left_running))
            }
            Some(Err(_)) => {}
            None => errors.push(line),
        }
    }
    report.errors = errors.join("\n");
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_separates_errors_of_the_launcher_from_the_report() {
        let report = parse("bwrap: no\nbwrap: way\n");
        let errors = "bwrap: no\nbwrap: way".into();
        assert_eq!(report, ExitReport { errors, ..ExitReport::default() });
        let report = parse("\ncairn-box: \"Begun\"\n\ncairn-box: {\"Ended\":[{\"Signal\":9},2]}\n");
        let end = Some((Exit::Signal(9), 2));
        assert_eq!(report, ExitReport { begun: true, end, ..ExitReport::default() });
        let ended = parse("\ncairn-box: {\"Ended\":[{\"Code\":3},0]}\n");
        assert_eq!(ended.end, Some((Exit::Code(3), 0)));
        assert!(parse("\ncairn-box: \"Crowded\"\n").too_many_processes);
        assert_eq!(parse("cairn-box: {\"Ended\":[{\"Code\":\"x\"},0]}").end, None);
    }

    #[test]
    fn read_returns_without_waiting_for_the_writer() {
        let (reader, writer) = channel().unwrap();
        std::fs::File::from(writer.try_clone().unwrap()).write_all(b"a").unwrap();
        assert_eq!(read(&reader).errors, "a");
        drop(writer);
        assert_eq!(read(&reader), ExitReport::default());
    }
}
