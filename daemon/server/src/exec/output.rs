//! Output of a command in bounded memory: its beginning and its end, as plain text.

use std::{io, sync::Arc};

use cairn_core::{
    process::{OutputRing, Piece},
    terminal_text::plain,
};
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver};

use super::input::CommandInput;

/// Bytes kept from the beginning and from the end.
pub const HEAD_BYTES: usize = 10 * 1024;
pub const TAIL_BYTES: usize = 20 * 1024;

const CHUNK_BYTES: usize = 8192;

/// Receiver of the output of a command while it runs.
pub type OutputTap = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Output of a command, stdout and stderr in order of arrival.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    pub head: String,
    /// End of the output; empty if nothing was dropped.
    pub tail: String,
    pub total_bytes: u64,
    /// Number of bytes dropped between `head` and `tail`.
    pub dropped: u64,
    /// Set if the output holds a zero byte; `head` and `tail` are empty then.
    pub binary: bool,
}

impl Captured {
    /// Returns the text, with a marker in place of dropped bytes.
    pub fn text(&self) -> String {
        if self.binary {
            return format!("[{} bytes of binary output]", self.total_bytes);
        }
        if self.dropped == 0 {
            return self.head.clone();
        }
        format!("{}\n[… {} bytes left out …]\n{}", self.head, self.dropped, self.tail)
    }
}

/// Reader of the output of a command as it arrives.
pub(super) struct OutputReader {
    pipe: Receiver,
    buffer: [u8; CHUNK_BYTES],
}

impl OutputReader {
    /// Creates the output of a command with this input: the end to read from, and the end for the
    /// command. Both are a pipe's, or those of the terminal.
    pub(super) fn of(input: &CommandInput) -> io::Result<(Self, io::PipeWriter)> {
        let (pipe, writer) = match input {
            CommandInput::Text(_) | CommandInput::Pipe(_) => {
                let (reader, writer) = io::pipe()?;
                (Receiver::from_owned_fd(reader.into())?, writer)
            }
            CommandInput::Terminal(terminal) => {
                let pipe = Receiver::from_file_unchecked(terminal.user_end()?)?;
                (pipe, terminal.command_end()?.into())
            }
        };
        Ok((Self { pipe, buffer: [0; CHUNK_BYTES] }, writer))
    }

    /// Returns the next bytes; `None` when all writers are gone. Cancel safe: no bytes are lost.
    pub(super) async fn next(&mut self) -> Option<&[u8]> {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(&self.buffer[..count]),
        }
    }
}

/// Collector of output: keeps the first and the last bytes.
pub(super) struct Collector {
    head: Vec<u8>,
    tail: OutputRing,
    tap: Option<OutputTap>,
}

impl Collector {
    /// Creates a collector that passes on what it gets.
    pub(super) fn new(tap: Option<OutputTap>) -> Self {
        Self { head: Vec::new(), tail: OutputRing::new(TAIL_BYTES), tap }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Some(receive) = &self.tap {
            receive(bytes);
        }
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.push(rest);
    }

    pub(super) fn total(&self) -> u64 {
        self.head.len() as u64 + self.tail.end()
    }

    pub(super) fn finish(self) -> Captured {
        let total_bytes = self.total();
        // Without a part of a character at its beginning.
        let Piece { bytes: tail, missed, .. } = self.tail.since(0, TAIL_BYTES);
        let mut head = self.head;
        if head.contains(&0) || tail.contains(&0) {
            return Captured { total_bytes, binary: true, ..Captured::default() };
        }
        if missed == 0 {
            head.extend(tail);
            return Captured { head: plain(&head), total_bytes, ..Captured::default() };
        }
        // A character that was cut at the gap is dropped too.
        let end = match std::str::from_utf8(&head) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => head.len(),
        };
        Captured {
            head: plain(&head[..end]),
            tail: plain(&tail),
            total_bytes,
            dropped: missed + (head.len() - end) as u64,
            binary: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn collect(chunks: &[&[u8]]) -> Captured {
        let mut collector = Collector::new(None);
        for chunk in chunks {
            collector.push(chunk);
        }
        collector.finish()
    }

    fn check(input: &[u8], expect: Expect) {
        expect.assert_eq(&format!("{:?}", collect(&[input]).text()));
    }

    #[test]
    fn escape_sequences_and_control_characters_are_removed() {
        check(b"a\x1b[1;31mred\x1b[0m b", expect![[r#""ared b""#]]);
        check(b"\x1b]8;;https://e\x1b\\link\x1b]8;;\x07!", expect![[r#""link!""#]]);
        check(b"\x1b(Bx\x1b=y\x1b7z", expect![[r#""xyz""#]]);
        check(b"10%\r20%\r\ndone\x08\x07", expect![[r#""20%\ndone""#]]);
        check(b"caf\xc3\xa9 \xff", expect![[r#""café �""#]]);
        check(b"ELF\x00\x01", expect![[r#""[5 bytes of binary output]""#]]);
        check(b"\x1b[", expect![[r#""""#]]);
        check(b"\x1b]never closed", expect![[r#""""#]]);
    }

    #[test]
    fn beginning_and_end_are_kept() {
        let all_fits = vec![b'x'; HEAD_BYTES + TAIL_BYTES];
        assert_eq!(collect(&[&all_fits]).dropped, 0);
        assert_eq!(collect(&[&all_fits]).head.len(), HEAD_BYTES + TAIL_BYTES);

        let mut long = b"first ".to_vec();
        long.extend(vec![b'x'; 100_000]);
        long.extend(b" last");
        for chunk in [1, 7, 4096, 200_000] {
            let captured = collect(&long.chunks(chunk).collect::<Vec<_>>());
            assert!(captured.head.starts_with("first "));
            assert!(captured.tail.ends_with(" last"));
            assert_eq!(captured.total_bytes, long.len() as u64);
            let kept = (captured.head.len() + captured.tail.len()) as u64;
            assert_eq!(kept + captured.dropped, captured.total_bytes);
        }
    }

    #[test]
    fn no_character_is_cut() {
        let long = "é".repeat(40_000);
        let mut shifted = b"x".to_vec();
        shifted.extend(long.as_bytes());
        for input in [long.as_bytes(), &shifted] {
            let captured = collect(&[input]);
            assert!(!captured.text().contains('\u{fffd}'));
            let kept = (captured.head.len() + captured.tail.len()) as u64;
            assert_eq!(kept + captured.dropped, captured.total_bytes);
        }
    }
}
