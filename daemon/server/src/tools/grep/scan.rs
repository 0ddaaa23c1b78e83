//! Search of a text line by line.
//!
//! Knows no files and no results. A search is interrupted within a few milliseconds, also in one long line.

use std::{collections::VecDeque, ops::Range};

use memchr::{memchr, memchr_iter, memrchr};

use super::pattern::Pattern;

/// Gets the lines that were found.
pub(super) trait Lines {
    /// Takes a line with a match. False if no more lines of this text are needed.
    fn matched(&mut self, number: u64, line: &[u8]) -> bool;
    fn context(&mut self, number: u64, line: &[u8]) -> bool;
    /// Lines between two that are shown are left out.
    fn gap(&mut self);
}

/// Lines shown around each match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Around {
    pub(super) before: usize,
    pub(super) after: usize,
}

impl Around {
    fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Search of one text.
pub(super) struct LineSearch<'a> {
    pub(super) pattern: &'a mut Pattern,
    pub(super) around: Around,
    pub(super) stop: &'a dyn Fn() -> bool,
    pub(super) lines: &'a mut dyn Lines,
}

/// Place in the text.
#[derive(Default)]
struct LinePosition<'t> {
    /// Number of the line before.
    number: u64,
    before: VecDeque<(u64, &'t [u8])>,
    /// Lines of context still to show.
    after: usize,
    /// Number of the last line shown.
    shown: Option<u64>,
}

impl LineSearch<'_> {
    /// Searches the text, until its end, until the search is over, or until no more lines are needed.
    pub(super) fn run(mut self, text: &[u8]) {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let (mut place, mut at) = (LinePosition::default(), 0);
        while at < text.len() {
            if (self.stop)() {
                return;
            }
            let limit = text.len().min(at + self.pattern.window());
            let end = match memrchr(b'\n', &text[at..limit]) {
                Some(newline) => at + newline + 1,
                None if limit == text.len() => limit,
                // A line longer than the window.
                None => memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1),
            };
            // Most lines have no match: they are skipped together.
            let may_skip = self.around.is_empty() && end <= limit;
            if may_skip && !self.pattern.is_match(text, at..end) {
                place.number += memchr_iter(b'\n', &text[at..end]).count() as u64;
                at = end;
                continue;
            }
            while at < end {
                let line_end = memchr(b'\n', &text[at..end]).map_or(end, |newline| at + newline);
                let Some(matched) = self.search(text, at..line_end) else { return };
                if !self.line(&mut place, &text[at..line_end], matched) {
                    return;
                }
                at = line_end + 1;
            }
        }
    }

    /// Searches a part of a text in windows that overlap by half. `None`: the search is over.
    fn search(&mut self, text: &[u8], part: Range<usize>) -> Option<bool> {
        let window = self.pattern.window();
        let mut at = part.start;
        loop {
            let end = part.end.min(at + window);
            if self.pattern.is_match(text, at..end) {
                return Some(true);
            }
            if end == part.end {
                return Some(false);
            }
            if (self.stop)() {
                return None;
            }
            at += window / 2;
        }
    }

    /// Passes a line on if it is shown. False if no more lines are needed.
    fn line<'t>(&mut self, place: &mut LinePosition<'t>, line: &'t [u8], matched: bool) -> bool {
        place.number += 1;
        let number = place.number;
        if !matched && place.after == 0 {
            place.before.push_back((number, line));
            if place.before.len() > self.around.before {
                place.before.pop_front();
            }
            return true;
        }
        let first = place.before.front().map_or(number, |(number, _)| *number);
        if !self.around.is_empty() && place.shown.is_some_and(|shown| shown + 1 < first) {
            self.lines.gap();
        }
        place.shown = Some(number);
        let before = std::mem::take(&mut place.before);
        if matched {
            place.after = self.around.after;
            before.iter().all(|(number, line)| self.lines.context(*number, line))
                && self.lines.matched(number, line)
        } else {
            place.after -= 1;
            self.lines.context(number, line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line for each that was found.
    #[derive(Default)]
    struct Found(Vec<String>);

    impl Found {
        fn push(&mut self, number: u64, mark: char, line: &[u8]) -> bool {
            let line: String = String::from_utf8_lossy(line).trim_end().chars().take(9).collect();
            self.0.push(format!("{number}{mark}{line}"));
            true
        }
    }

    impl Lines for Found {
        fn matched(&mut self, number: u64, line: &[u8]) -> bool {
            self.push(number, ':', line)
        }

        fn context(&mut self, number: u64, line: &[u8]) -> bool {
            self.push(number, '-', line)
        }

        fn gap(&mut self) {
            self.0.push("--".into());
        }
    }

    const BLOCK: usize = 128 * 1024;

    fn scan(pattern: &str, lines: usize, text: &[u8]) -> Vec<String> {
        scan_around(pattern, Around { before: lines, after: lines }, text)
    }

    fn scan_around(pattern: &str, around: Around, text: &[u8]) -> Vec<String> {
        let mut pattern = Pattern::compile(pattern, false).expect("a pattern");
        let mut found = Found::default();
        let search =
            LineSearch { pattern: &mut pattern, around, stop: &|| false, lines: &mut found };
        search.run(text);
        found.0
    }

    #[test]
    fn lines_and_their_context_are_found_wherever_a_block_ends() {
        let filler = format!("{}\n", "x".repeat(99));
        for lines in [0, 1, 1310, 1311, 5000] {
            let text = format!("{}ab\n\ncd\r\ne", filler.repeat(lines));
            let at = |offset: usize, rest: &str| format!("{}{rest}", lines + offset);
            for (pattern, expected) in [
                ("^ab$", vec![at(1, ":ab")]),
                ("^$", vec![at(2, ":")]),
                ("d$", vec![at(3, ":cd")]),
                ("^e$", vec![at(4, ":e")]),
                ("b\\s+c", vec![]),
                ("[^x]c|e", vec![at(4, ":e")]),
            ] {
                assert_eq!(scan(pattern, 0, text.as_bytes()), expected, "{pattern}");
            }
            let found = scan("^ab$|e", 1, text.as_bytes());
            let mut expected = vec![at(1, ":ab"), at(2, "-"), at(3, "-cd"), at(4, ":e")];
            if lines > 0 {
                expected.insert(0, at(0, "-xxxxxxxxx"));
            }
            assert_eq!(found, expected);
        }
        let found = scan("a", 1, b"a\nb\nc\nd\na\n");
        assert_eq!(found, ["1:a", "2-b", "--", "4-d", "5:a"]);
        let text = b"a\nb\nc\nd\na\ne\n";
        for (before, after, lines) in [
            (0, 1, vec!["1:a", "2-b", "--", "5:a", "6-e"]),
            (1, 0, vec!["1:a", "--", "4-d", "5:a"]),
            (2, 1, vec!["1:a", "2-b", "3-c", "4-d", "5:a", "6-e"]),
        ] {
            let found = scan_around("a", Around { before, after }, text);
            assert_eq!(found, lines, "{before} before, {after} after");
        }
    }

    #[test]
    fn lines_longer_than_a_block_are_searched_whole() {
        for length in [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            for at in [0, BLOCK / 2 - 3, BLOCK - 9, BLOCK - 3, length - 6] {
                let mut line = vec![b'x'; length];
                let at = at.min(length - 6);
                line[at..at + 6].copy_from_slice(b"needle");
                let mut text = b"first\n".to_vec();
                text.extend(&line);
                text.extend(b"\nlast needle\n");
                let found = scan("needle", 0, &text);
                assert_eq!(found.len(), 2, "{found:?}");
                assert!(found[0].starts_with("2:") && found[1] == "3:last need", "{found:?}");
                // Only the real ends of the line are ends.
                let found = scan("^needle|needle$", 0, &text);
                let ends = at == 0 || at + 6 == length;
                assert_eq!(found.len(), 1 + usize::from(ends), "{length} {at}");
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_not_text() {
        assert_eq!(scan("^a", 0, b"\xef\xbb\xbfa\n"), ["1:a"]);
    }
}
