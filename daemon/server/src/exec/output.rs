//! Output of a command in bounded memory: its beginning and its end, as plain text.

use std::collections::VecDeque;

const HEAD: usize = 10 * 1024;
const TAIL: usize = 20 * 1024;

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

#[derive(Debug, Default)]
pub(super) struct Collector {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Collector {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
    }

    pub(super) fn finish(self) -> Captured {
        let Self { head, tail, total, .. } = self;
        let mut tail = Vec::from(tail);
        let dropped = total - (head.len() + tail.len()) as u64;
        if head.contains(&0) || tail.contains(&0) {
            return Captured { total_bytes: total, binary: true, ..Captured::default() };
        }
        if dropped == 0 {
            let mut all = head;
            all.append(&mut tail);
            return Captured { head: plain(&all), total_bytes: total, ..Captured::default() };
        }
        // A character cut at the gap counts as dropped.
        let start = tail.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
        let end = match std::str::from_utf8(&head) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => head.len(),
        };
        Captured {
            head: plain(&head[..end]),
            tail: plain(&tail[start..]),
            total_bytes: total,
            dropped: dropped + (head.len() - end + start) as u64,
            binary: false,
        }
    }
}

/// Lossy text without escape sequences and control characters. A lone `\r`, as progress bars write
/// it, starts a new line.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_until_final(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Skips what follows an ESC: a CSI sequence, a string up to its terminator, or a short sequence.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_until_final(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    return;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    return;
                }
            }
        }
        _ => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

fn skip_until_final(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn collect(chunks: &[&[u8]]) -> Captured {
        let mut collector = Collector::default();
        for chunk in chunks {
            collector.push(chunk);
        }
        collector.finish()
    }

    fn check(input: &[u8], expect: Expect) {
        expect.assert_eq(&format!("{:?}", collect(&[input]).text()));
    }

    #[test]
    fn makes_plain_text() {
        check(b"a\x1b[1;31mred\x1b[0m b", expect![[r#""ared b""#]]);
        check(b"\x1b]8;;https://e\x1b\\link\x1b]8;;\x07!", expect![[r#""link!""#]]);
        check(b"\x1b(Bx\x1b=y\x1b7z", expect![[r#""xyz""#]]);
        check(b"10%\r20%\r\ndone\x08\x07", expect![[r#""10%\n20%\ndone""#]]);
        check(b"caf\xc3\xa9 \xff", expect![[r#""café �""#]]);
        check(b"ELF\x00\x01", expect![[r#""[5 bytes of binary output]""#]]);
        check(b"\x1b[", expect![[r#""""#]]);
        check(b"\x1b]never closed", expect![[r#""""#]]);
    }

    #[test]
    fn keeps_both_ends() {
        let all_fits = vec![b'x'; HEAD + TAIL];
        assert_eq!(collect(&[&all_fits]).dropped, 0);
        assert_eq!(collect(&[&all_fits]).head.len(), HEAD + TAIL);

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
    fn cuts_between_chars() {
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
