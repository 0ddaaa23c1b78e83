//! Output of one command: the newest part in memory, and the whole in a log once it is needed.

use std::sync::Arc;

use cairn_core::{
    process::{OutputRing, Piece},
    terminal_text::{complete_length, for_terminal, plain},
};

use super::log::Log;
use crate::exec::sandbox::PreparedSandbox;

/// Bytes of output in memory.
const RING_BYTES: usize = 256 * 1024;
/// Bytes of one answer to the agent.
const ANSWER_BYTES: usize = crate::exec::HEAD_BYTES + crate::exec::TAIL_BYTES;
/// Bytes of one piece for a terminal.
const WATCH_BYTES: usize = 64 * 1024;
/// Most bytes of a piece of live output. More than a window shows.
const LIVE_BYTES: usize = 8 * 1024;
/// Bytes from which the end of the output is made that lists show.
const TAIL_BYTES: usize = 2 * 1024;
/// Lines of that end.
const TAIL_LINES: usize = 5;

/// Part of the output as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub text: String,
    /// Number of bytes before it that were asked for and left out.
    pub missed: u64,
    /// Position after it, in bytes from the beginning of the output.
    pub end: u64,
}

pub(super) struct Output {
    ring: OutputRing,
    log: Option<Log>,
    /// Reason why there is no log.
    fault: Option<String>,
    sandbox: Option<Arc<PreparedSandbox>>,
    /// Position up to which the agent has read.
    read: u64,
}

impl Output {
    pub(super) fn new(sandbox: Option<Arc<PreparedSandbox>>) -> Self {
        Self { ring: OutputRing::new(RING_BYTES), log: None, fault: None, sandbox, read: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // The log begins while the ring still has the whole output.
        if self.ring.end() + bytes.len() as u64 > ANSWER_BYTES as u64 {
            self.begin_log();
        }
        if let Some(log) = &mut self.log {
            log.push(bytes);
        }
        self.ring.push(bytes);
    }

    /// Creates the log, with the output so far.
    pub(super) fn begin_log(&mut self) {
        if self.log.is_some() || self.fault.is_some() {
            return;
        }
        match Log::create(self.sandbox.as_deref()) {
            Ok(mut log) => {
                log.push(&self.ring.since(0, RING_BYTES).bytes);
                self.log = Some(log);
            }
            Err(error) => {
                tracing::warn!("the output of a command is not written to a file: {error}");
                self.fault = Some(error.to_string());
            }
        }
    }

    pub(super) fn take_log(&mut self) -> Option<Log> {
        self.log.take()
    }

    pub(super) fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    pub(super) fn written(&self) -> u64 {
        self.ring.end()
    }

    pub(super) fn unread(&self) -> u64 {
        self.read
    }

    pub(super) fn read(&mut self, since: Option<u64>) -> Progress {
        let piece = self.ring.since(since.unwrap_or(self.read), ANSWER_BYTES);
        self.read = piece.end;
        progress(piece, plain)
    }

    pub(super) fn text_since(&self, position: u64) -> String {
        plain(&self.ring.since(position, RING_BYTES).bytes)
    }

    /// Text for a terminal. Unless the command has ended, it ends before a character or an escape
    /// sequence that is not complete.
    pub(super) fn watch(&self, since: u64, ended: bool) -> Progress {
        let mut piece = self.ring.since(since, WATCH_BYTES);
        if !ended {
            let complete = complete_length(&piece.bytes);
            piece.end -= (piece.bytes.len() - complete) as u64;
            piece.bytes.truncate(complete);
        }
        progress(piece, for_terminal)
    }

    /// Takes the newest output from a position on, with its number: whole lines, or else the complete
    /// characters of a line. The number of output that came too fast to be taken is missing.
    pub(super) fn live(&self, at: &mut u64, seq: &mut u32) -> Option<(u32, String)> {
        let Piece { mut bytes, missed, end } = self.ring.since(*at, LIVE_BYTES);
        if missed > 0 {
            // Whole lines are left out, so that no character and no word is cut.
            let line_end = bytes.iter().position(|&byte| byte == b'\n');
            bytes.drain(..line_end.map_or(0, |at| at + 1));
            *seq = seq.saturating_add(1);
        }
        let line_end = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let complete = line_end.map_or_else(|| complete_length(&bytes), |at| at + 1);
        *at = end - (bytes.len() - complete) as u64;
        bytes.truncate(complete);
        let mut text = plain(&bytes);
        // The next piece is shown below this one, not over it.
        if bytes.ends_with(b"\r") && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let number = *seq;
        *seq = number.saturating_add(u32::from(!text.is_empty()));
        (!text.is_empty()).then_some((number, text))
    }

    pub(super) fn tail(&self) -> String {
        let text = plain(&self.ring.since(0, TAIL_BYTES).bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }
}

fn progress(Piece { bytes, missed, end }: Piece, text: impl Fn(&[u8]) -> String) -> Progress {
    let text = match bytes.contains(&0) {
        true => format!("[{} bytes of binary output]\n", bytes.len()),
        false => text(&bytes),
    };
    Progress { text, missed, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(chunks: &[&[u8]]) -> Vec<(u32, String)> {
        let (mut output, mut at, mut seq) = (Output::new(None), 0, 0);
        let pass = |chunk: &&[u8]| {
            output.push(chunk);
            output.live(&mut at, &mut seq)
        };
        chunks.iter().filter_map(pass).collect()
    }

    #[test]
    fn lines_are_passed_on_with_numbers() {
        let told = pieces(&[b"one\ntw", b"o\n", b"thr", b"ee\n"]);
        let expected = [(0, "one\n"), (1, "two\n"), (2, "thr"), (3, "ee\n")];
        assert_eq!(told, expected.map(|(seq, text)| (seq, text.to_owned())));
    }

    #[test]
    fn no_character_and_no_escape_sequence_is_cut() {
        assert_eq!(pieces(&[b"caf\xc3", b"\xa9"]), [(0, "caf".into()), (1, "é".into())]);
        assert_eq!(pieces(&[b"a\x1b[3", b"1mred"]), [(0, "a".into()), (1, "red".into())]);
    }

    #[test]
    fn what_comes_too_fast_leaves_a_gap_in_the_numbers_and_bounded_memory() {
        let line = format!("{}\n", "x".repeat(99));
        let many = line.repeat(1_000);
        let told = pieces(&[b"first\n", many.as_bytes(), b"last\n"]);
        assert_eq!(told[0], (0, "first\n".into()));
        assert_eq!(told[1].0, 2, "a number is missing");
        assert!(told[1].1.len() <= LIVE_BYTES);
        assert!(told[1].1.lines().all(|it| it.len() == 99), "lines are whole");
        assert_eq!(told[2], (3, "last\n".into()));
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let told = pieces(&[&[b'x'; 1_000_000], b"y"]);
        assert_eq!(told[0], (1, "x".repeat(LIVE_BYTES)));
        assert_eq!(told[1], (2, "y".into()));
    }
}
