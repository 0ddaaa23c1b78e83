//! Output of a program as text: as a person would read it in a terminal, or safe for a terminal.
//!
//! A program may print any byte. [`plain`] is for the model and for lists; [`for_terminal`] is for a
//! terminal that the user watches.

/// Longest run of parameters of an escape sequence that [`for_terminal`] keeps, in bytes.
const MAX_PARAMETERS: usize = 32;
/// Longest escape sequence that [`complete_length`] keeps together, in bytes.
const ESCAPE_BYTES: usize = 64;

/// Decodes lossily, without escape sequences and control characters. A line that the program wrote
/// over (`\r`, backspace, `ESC [ K`), as progress bars do, keeps its last state.
pub fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut line = Line::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => line.erase(skip_escape(&mut chars)),
            '\u{9b}' => line.erase(skip_csi(&mut chars)),
            '\r' => line.column = 0,
            '\u{8}' => line.column = line.column.saturating_sub(1),
            '\n' => {
                line.end(&mut out);
                out.push('\n');
            }
            c if c == '\t' || !c.is_control() => line.put(c),
            _ => {}
        }
    }
    line.end(&mut out);
    out
}

/// Returns the output with what moves the cursor in its line, erases and colours; without sequences
/// that could do more, such as set the clipboard, rename the window or imitate the shell.
pub fn for_terminal(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let sequence = match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\r' | '\n' | '\t' | '\u{8}' => {
                out.push(c);
                continue;
            }
            c if c.is_control() => continue,
            c => {
                out.push(c);
                continue;
            }
        };
        let harmless = |end: char| "ABCDEFGHJKdfm".contains(end);
        if let Some(Csi { parameters, end }) = sequence
            && harmless(end)
            && parameters.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
        {
            out.push_str("\u{1b}[");
            out.push_str(&parameters);
            out.push(end);
        }
    }
    out
}

/// Length of the bytes without a character or an escape sequence at their end that is not complete.
pub fn complete_length(bytes: &[u8]) -> usize {
    let end = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    };
    let from = end.saturating_sub(ESCAPE_BYTES);
    let escape = bytes[from..end].iter().rposition(|&byte| byte == 0x1b).map(|at| from + at);
    // Text after the sequence shows that it is complete.
    escape.filter(|&at| plain(&bytes[at..end]).is_empty()).unwrap_or(end)
}

/// Line under construction.
#[derive(Debug, Default)]
struct Line {
    chars: Vec<char>,
    column: usize,
}

impl Line {
    fn put(&mut self, c: char) {
        match self.chars.get_mut(self.column) {
            Some(old) => *old = c,
            None => self.chars.push(c),
        }
        self.column += 1;
    }

    /// Applies a sequence that erases in the line; ignores every other one.
    fn erase(&mut self, sequence: Option<Csi>) {
        let Some(Csi { parameters, end: 'K' }) = sequence else { return };
        match parameters.as_str() {
            "" | "0" => self.chars.truncate(self.column),
            "1" => self.blank(),
            "2" => {
                self.chars.truncate(self.column);
                self.blank();
            }
            _ => {}
        }
    }

    fn blank(&mut self) {
        let end = self.column.min(self.chars.len());
        if let Some(before) = self.chars.get_mut(..end) {
            before.fill(' ');
        }
    }

    fn end(&mut self, out: &mut String) {
        out.extend(self.chars.drain(..));
        self.column = 0;
    }
}

/// Control sequence: its parameters and its last character.
struct Csi {
    parameters: String,
    end: char,
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Skips the rest of an escape sequence after ESC: a control sequence, which is returned, a string up
/// to its terminator, or a short sequence.
fn skip_escape(chars: &mut Chars<'_>) -> Option<Csi> {
    match chars.peek() {
        Some('[') => {
            chars.next();
            return skip_csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    return None;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    return None;
                }
            }
        }
        _ => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
    }
    None
}

/// Skips the rest of a control sequence. `None` if it is incomplete or too long.
fn skip_csi(chars: &mut Chars<'_>) -> Option<Csi> {
    let mut parameters = String::new();
    while let Some(c) = chars.next_if(|c| matches!(c, ' '..='?')) {
        if parameters.len() <= MAX_PARAMETERS {
            parameters.push(c);
        }
    }
    let end = chars.next_if(|c| matches!(c, '@'..='~'))?;
    (parameters.len() <= MAX_PARAMETERS).then_some(Csi { parameters, end })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_and_control_characters_are_removed() {
        for (input, text) in [
            (&b"a\x1b[1;31mred\x1b[0m b"[..], "ared b"),
            (b"\x1b]8;;https://e\x1b\\link\x1b]8;;\x07!", "link!"),
            (b"\x1b(Bx\x1b=y\x1b7z", "xyz"),
            (b"caf\xc3\xa9 \xff", "caf\u{e9} \u{fffd}"),
            (b"\x1b[", ""),
            (b"\x1b]never closed", ""),
            (b"done\x08\x07", "done"),
        ] {
            assert_eq!(plain(input), text, "{input:?}");
        }
    }

    #[test]
    fn a_progress_bar_keeps_the_last_state_of_its_line() {
        for (input, text) in [
            ("10%\r20%\r\ndone", "20%\ndone"),
            ("  1/300\r  2/300\r300/300", "300/300"),
            ("downloading\rok\u{1b}[K\n", "ok\n"),
            ("downloading\r\u{1b}[2Kok\n", "ok\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("|\u{8}/\u{8}-", "-"),
            ("abc\r", "abc"),
            ("abc\rx", "xbc"),
        ] {
            assert_eq!(plain(input.as_bytes()), text, "{input:?}");
        }
    }

    #[test]
    fn a_terminal_gets_colours_and_moves_but_nothing_that_reaches_outside_of_it() {
        for (input, text) in [
            ("\u{1b}[1;32mok\u{1b}[0m\r\n", "\u{1b}[1;32mok\u{1b}[0m\r\n"),
            ("10%\r\u{1b}[K20%", "10%\r\u{1b}[K20%"),
            ("\u{1b}]52;c;aGk=\u{7}x", "x"),
            ("\u{1b}]633;A\u{7}x\u{1b}P1$r\u{1b}\\y", "xy"),
            ("\u{1b}[?1049hx\u{1b}[6ny\u{1b}[21t", "xy"),
            ("\u{7}\u{0}x", "x"),
        ] {
            assert_eq!(for_terminal(input.as_bytes()), text, "{input:?}");
        }
    }

    proptest! {
        #[test]
        fn plain_text_has_no_control_characters_and_stays_as_it_is(bytes: Vec<u8>) {
            let once = plain(&bytes);
            prop_assert!(once.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert_eq!(plain(once.as_bytes()), once);
        }

        #[test]
        fn a_second_pass_for_the_terminal_changes_nothing(bytes: Vec<u8>) {
            let once = for_terminal(&bytes);
            prop_assert_eq!(for_terminal(once.as_bytes()), once);
        }
    }
}
