//! Output of a command while it runs: pieces of bounded size at a bounded rate.
//!
//! Output that comes faster is left out in the middle; the number of its piece is then missing.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cairn_core::terminal_text::{complete_length, plain};

/// Time between two pieces.
const INTERVAL: Duration = Duration::from_millis(100);
/// Most bytes of a piece. More than a window shows.
const PIECE_BYTES: usize = 8 * 1024;

/// Receiver of pieces: a number and a text.
type Send = dyn Fn(u32, String) + std::marker::Send + Sync;

/// Passes the output of one command on while it runs.
#[derive(Clone)]
pub struct LiveOutput(Arc<Shared>);

struct Shared {
    pending: Mutex<Pending>,
    send: Box<Send>,
}

/// Output that was not passed on yet.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Number of the next piece.
    seq: u32,
}

impl LiveOutput {
    pub fn new(send: impl Fn(u32, String) + std::marker::Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { pending: Mutex::default(), send: Box::new(send) }))
    }

    pub fn push(&self, bytes: &[u8]) {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }

    /// Passes on what came, again and again, until it is dropped.
    pub async fn pass_on(&self) -> std::convert::Infallible {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let piece = self.0.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((seq, text)) = piece {
                (self.0.send)(seq, text);
            }
        }
    }
}

impl Pending {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(PIECE_BYTES)..]);
        let excess = self.bytes.len().saturating_sub(PIECE_BYTES);
        if excess > 0 || bytes.len() > PIECE_BYTES {
            // Whole lines are left out, so that no character and no word is cut.
            let line_end = self.bytes[excess..].iter().position(|&byte| byte == b'\n');
            self.bytes.drain(..excess + line_end.map_or(0, |at| at + 1));
            self.seq = self.seq.saturating_add(1);
        }
    }

    /// Takes the text up to the end of a line; if there is none, what is complete of a line.
    fn take(&mut self) -> Option<(u32, String)> {
        let line_end = self.bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let end = line_end.map_or_else(|| complete_length(&self.bytes), |at| at + 1);
        let bytes: Vec<u8> = self.bytes.drain(..end).collect();
        let mut text = plain(&bytes);
        // The next piece is shown below this one, not over it.
        if bytes.ends_with(b"\r") && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if text.is_empty() {
            return None;
        }
        let seq = self.seq;
        self.seq = seq.saturating_add(1);
        Some((seq, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(chunks: &[&[u8]]) -> Vec<(u32, String)> {
        let mut pending = Pending::default();
        let pass = |chunk: &&[u8]| {
            pending.push(chunk);
            pending.take()
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
        assert!(told[1].1.len() <= PIECE_BYTES);
        assert!(told[1].1.lines().all(|it| it.len() == 99), "lines are whole");
        assert_eq!(told[2], (3, "last\n".into()));
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let mut pending = Pending::default();
        for _ in 0..1_000 {
            pending.push(&[b'x'; 1_000]);
        }
        assert!(pending.bytes.len() <= PIECE_BYTES);
    }
}
