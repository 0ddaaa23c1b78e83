//! Positions in the units in which an editor counts columns.

use super::{Position, Text};

/// Units of a column, as LSP negotiates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Units {
    Utf8,
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl Units {
    /// Length of a part of a line in these units.
    #[must_use]
    pub fn len(self, text: &str) -> usize {
        match self {
            Units::Utf8 => text.len(),
            Units::Utf16 => text.encode_utf16().count(),
            Units::Utf32 => text.chars().count(),
        }
    }
}

impl Text {
    /// Offset of a position with its column in these units; clamped as in [`Text::char_of`].
    #[must_use]
    pub fn char_of_in(&self, position: Position, units: Units) -> usize {
        if units == Units::Utf16 {
            return self.char_of(position);
        }
        let Some((start, end)) = self.content_of(position.line as usize) else {
            return self.len_chars();
        };
        let column = position.character as usize;
        match units {
            Units::Utf8 => {
                let first = self.0.char_to_byte(start);
                let last = self.0.char_to_byte(end);
                // A column inside a char is the one before it.
                self.0.byte_to_char(first.saturating_add(column).min(last))
            }
            Units::Utf16 | Units::Utf32 => start.saturating_add(column).min(end),
        }
    }

    /// Position of an offset, with its column in these units.
    #[must_use]
    pub fn position_in(&self, offset: usize, units: Units) -> Position {
        let position = self.position_of(offset);
        if units == Units::Utf16 {
            return position;
        }
        let offset = offset.min(self.len_chars());
        let start = self.0.line_to_char(position.line as usize);
        let column = match units {
            Units::Utf8 => self.0.char_to_byte(offset) - self.0.char_to_byte(start),
            Units::Utf16 | Units::Utf32 => offset - start,
        };
        Position { character: u32::try_from(column).unwrap_or(u32::MAX), ..position }
    }

    /// Range of chars of a line without its ending; `None` beyond the last line.
    pub(super) fn content_of(&self, line: usize) -> Option<(usize, usize)> {
        if line >= self.len_lines() {
            return None;
        }
        let content = self.0.line(line);
        let mut end = content.len_chars();
        while end > 0 && matches!(content.char(end - 1), '\n' | '\r') {
            end -= 1;
        }
        let start = self.0.line_to_char(line);
        Some((start, start + end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_the_negotiated_units() {
        let text = Text::new("a😀é b\r\nx");
        let at = |line, character| Position { line, character };
        for (units, column, offset) in [
            (Units::Utf8, 0, 0),
            (Units::Utf8, 1, 1),
            (Units::Utf8, 3, 1),
            (Units::Utf8, 5, 2),
            (Units::Utf8, 7, 3),
            (Units::Utf8, 99, 5),
            (Units::Utf16, 3, 2),
            (Units::Utf16, 4, 3),
            (Units::Utf16, 99, 5),
            (Units::Utf32, 2, 2),
            (Units::Utf32, 3, 3),
            (Units::Utf32, 99, 5),
        ] {
            assert_eq!(text.char_of_in(at(0, column), units), offset, "{units:?} {column}");
        }
        for units in [Units::Utf8, Units::Utf16, Units::Utf32] {
            assert_eq!(text.char_of_in(at(1, 9), units), 8);
            assert_eq!(text.char_of_in(at(2, 0), units), 8);
            assert_eq!(text.char_of_in(at(0, u32::MAX), units), 5);
            for offset in [0, 1, 2, 3, 4, 5, 7, 8] {
                let position = text.position_in(offset, units);
                assert_eq!(text.char_of_in(position, units), offset, "{units:?} {offset}");
            }
            assert_eq!(text.position_in(99, units), at(1, 1));
        }
        assert_eq!(text.position_in(3, Units::Utf8), at(0, 7));
        assert_eq!(text.position_in(3, Units::Utf32), at(0, 3));
        assert_eq!([Units::Utf8, Units::Utf16, Units::Utf32].map(|it| it.len("😀é")), [6, 3, 2]);
    }
}
