//! Text document: a rope with UTF-16 positions, char offsets and line endings.
//!
//! Offsets count chars (Unicode scalar values). Lines end at `\n`, `\r\n` or `\r`, as in LSP.
//! Never panics on a position, offset or line from outside: each is clamped.

use std::{borrow::Cow, fmt, ops::Range};

use ropey::Rope;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod encoding;
mod units;

pub use units::Units;

pub use encoding::{FileEncoding, FileForm, Unencodable, decode, encode};

/// Zero-based line and UTF-16 code unit, as in LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

/// Text without a byte order mark. Cloning is cheap, equality is by content.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text(Rope);

/// Text of a file with its encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    pub text: Text,
    pub encoding: FileEncoding,
}

/// Reason for which bytes are not a text that can be edited and written back without loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    #[error("the file begins as UTF-16 and is not valid as such")]
    InvalidUtf16,
    #[error("the file is binary: it has a NUL byte at offset {offset}")]
    Nul { offset: usize },
    #[error(
        "the file is not valid UTF-8 at byte offset {offset}, and no other encoding is certain. \
         Opened in the editor, in its encoding, it can be used"
    )]
    InvalidUtf8 { offset: usize },
    #[error("the file seems to be {encoding}, but would not be the same when written back")]
    Ambiguous { encoding: FileEncoding },
}

impl Text {
    #[must_use]
    pub fn new(text: &str) -> Text {
        Text(Rope::from_str(text))
    }

    #[must_use]
    pub fn rope(&self) -> &Rope {
        &self.0
    }

    #[must_use]
    pub fn len_chars(&self) -> usize {
        self.0.len_chars()
    }

    /// Length as UTF-8.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.len_bytes()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len_chars() == 0
    }

    /// Number of lines as in an editor: an empty text has one, and a final line ending starts
    /// another one.
    #[must_use]
    pub fn len_lines(&self) -> usize {
        self.0.len_lines()
    }

    /// Number of lines as in a diff: those with any character, a line ending included.
    #[must_use]
    pub fn filled_lines(&self) -> usize {
        let last = self.len_lines() - 1;
        if self.0.line_to_char(last) == self.len_chars() { last } else { last + 1 }
    }

    /// Char offset at which a line starts; the end of the text for lines beyond it.
    #[must_use]
    pub fn line_to_char(&self, line: usize) -> usize {
        self.0.line_to_char(line.min(self.len_lines()))
    }

    /// Line of an offset. An offset between `\r` and `\n` is on the line that they end.
    #[must_use]
    pub fn char_to_line(&self, offset: usize) -> usize {
        self.0.char_to_line(offset.min(self.len_chars()))
    }

    /// Char at an offset; `None` at the end of the text.
    #[must_use]
    pub fn char_at(&self, offset: usize) -> Option<char> {
        self.0.get_char(offset)
    }

    /// Offset of a position. A position past the end of a line is clamped to before its line
    /// ending, one past the last line to the end of the text, and one inside a surrogate pair to
    /// before it.
    #[must_use]
    pub fn char_of(&self, position: Position) -> usize {
        let line = position.line as usize;
        let Some((start, end)) = self.content_of(line) else { return self.len_chars() };
        let content = self.0.slice(start..end);
        let column = (position.character as usize).min(content.len_utf16_cu());
        start + content.utf16_cu_to_char(column)
    }

    #[must_use]
    pub fn position_of(&self, offset: usize) -> Position {
        let offset = offset.min(self.len_chars());
        let line = self.0.char_to_line(offset);
        let start = self.0.char_to_utf16_cu(self.0.line_to_char(line));
        let units = self.0.char_to_utf16_cu(offset) - start;
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(units).unwrap_or(u32::MAX),
        }
    }

    pub fn replace(&mut self, range: Range<usize>, insert: &str) {
        let range = self.clamp(range);
        if !range.is_empty() {
            self.0.remove(range.clone());
        }
        if !insert.is_empty() {
            self.0.insert(range.start, insert);
        }
    }

    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> String {
        self.0.slice(self.clamp(range)).to_string()
    }

    /// Whole lines with their line endings.
    #[must_use]
    pub fn lines_slice(&self, lines: Range<usize>) -> String {
        self.slice(self.lines_to_chars(&lines))
    }

    /// Lines from this one on, with their line endings.
    pub fn lines_from(&self, line: usize) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.lines_at(line.min(self.len_lines())).map(Cow::from)
    }

    /// Range of chars of whole lines.
    #[must_use]
    pub fn lines_to_chars(&self, lines: &Range<usize>) -> Range<usize> {
        self.line_to_char(lines.start)..self.line_to_char(lines.end)
    }

    /// Pieces of the text, to hash or write it without a copy.
    pub fn chunks(&self) -> impl Iterator<Item = &str> {
        self.0.chunks()
    }

    fn clamp(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.len_chars());
        range.start.min(end)..end
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chunks().try_for_each(|chunk| f.write_str(chunk))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({:?})", self.to_string())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::new(text)
    }
}

/// In JSON a text is its content. The store puts a name in its place first.
impl Serialize for Text {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Text::new(&text))
    }
}

/// Line ending of most lines; `\n` if none prevails.
#[must_use]
pub fn line_ending(text: &Text) -> &'static str {
    let (mut lf, mut crlf) = (0_usize, 0_usize);
    let mut after_cr = false;
    for byte in text.chunks().flat_map(str::bytes) {
        if byte == b'\n' {
            if after_cr { crlf += 1 } else { lf += 1 }
        }
        after_cr = byte == b'\r';
    }
    if crlf > lf { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests;
