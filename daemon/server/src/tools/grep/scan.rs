//! Search of one text, line by line, in blocks of bounded size.
//!
//! Memory does not depend on the text. Between two steps of bounded cost it checks for cancellation.

use std::{
    collections::VecDeque,
    io::{self, Read},
    ops::Range,
};

use memchr::{memchr, memchr_iter, memrchr};

use super::pattern::Pattern;

const BLOCK: usize = 128 * 1024;
/// Bytes around a part of a long line that decide anchors and word boundaries.
const LOOK_AROUND: usize = 8;
/// Characters of a line that are shown, and bytes that are kept for them.
pub(super) const MAX_LINE_CHARS: usize = 300;
const SHOWN: usize = 4 * MAX_LINE_CHARS + 4;

/// End of a search of one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scanned {
    /// The whole text was searched. `pieces`: a line was longer than a block, so a match as long may be
    /// missing.
    All { pieces: bool },
    /// The search was stopped, or the answer is full.
    Stopped,
    /// The text has a NUL byte.
    Binary,
    /// The text is not UTF-8.
    NotUtf8,
}

/// Receiver of the found lines.
pub(super) trait Lines {
    /// `false`: no more lines.
    fn matched(&mut self, number: u64, line: &[u8]) -> bool;
    fn context(&mut self, number: u64, line: &[u8]) -> bool;
    /// Lines are left out between the last one and the next.
    fn gap(&mut self);
}

/// Numbers of lines to show before and after each match.
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
    /// Bytes that are not UTF-8 are searched, too.
    pub(super) any_bytes: bool,
    pub(super) stop: &'a dyn Fn() -> bool,
    pub(super) lines: &'a mut dyn Lines,
}

/// Position in the text, and the earlier lines that are still needed.
#[derive(Default)]
struct LinePosition {
    /// Number of lines before this position.
    number: u64,
    before: VecDeque<(u64, Vec<u8>)>,
    /// Remaining lines of context after the last match.
    after: usize,
    /// Number of the last line that was shown.
    shown: Option<u64>,
}

impl LineSearch<'_> {
    pub(super) fn run(mut self, text: &mut dyn Read) -> io::Result<Scanned> {
        let mut source = Source::new(text, self.any_bytes);
        let (mut place, mut pieces) = (LinePosition::default(), false);
        loop {
            if (self.stop)() {
                return Ok(Scanned::Stopped);
            }
            if let Some(fault) = source.fill()? {
                return Ok(fault);
            }
            let ended = match source.lines() {
                Some(0) => return Ok(Scanned::All { pieces }),
                Some(end) => {
                    let more = self.lines(&mut place, &source.buffer[..end]);
                    source.forget(end);
                    if more { None } else { Some(Scanned::Stopped) }
                }
                None => {
                    pieces = true;
                    self.long_line(&mut place, &mut source)?
                }
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    /// Searches whole lines. `false`: the search is over.
    fn lines(&mut self, place: &mut LinePosition, text: &[u8]) -> bool {
        let mut at = 0;
        while at < text.len() {
            if (self.stop)() {
                return false;
            }
            let limit = text.len().min(at + self.pattern.window());
            let end = match memrchr(b'\n', &text[at..limit]) {
                Some(newline) => at + newline + 1,
                None if limit == text.len() => limit,
                // One line, which is longer than what is searched at once.
                None => memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1),
            };
            // Many lines at once: most have no match. A match over several lines is none.
            let may_skip = self.around.is_empty() && end <= limit;
            if may_skip && !self.pattern.is_match(text, at..end) {
                place.number += memchr_iter(b'\n', &text[at..end]).count() as u64;
                at = end;
                continue;
            }
            while at < end {
                let line_end = memchr(b'\n', &text[at..end]).map_or(end, |newline| at + newline);
                let Some(matched) = self.search(text, at..line_end) else { return false };
                if !self.line(place, &text[at..line_end], matched) {
                    return false;
                }
                at = line_end + 1;
            }
        }
        true
    }

    /// Searches a line that fills the buffer, to its end, in pieces that overlap by half.
    fn long_line(
        &mut self,
        place: &mut LinePosition,
        source: &mut Source<'_>,
    ) -> io::Result<Option<Scanned>> {
        let head = source.have()[..SHOWN].to_vec();
        let (mut from, mut matched) = (0, false);
        loop {
            let have = source.have();
            let newline = memchr(b'\n', &have[from..]).map(|at| from + at);
            let to = match newline {
                Some(newline) => newline,
                None if source.ended => have.len(),
                None => have.len() - LOOK_AROUND,
            };
            if !matched {
                match self.search(have, from..to) {
                    Some(found) => matched = found,
                    None => return Ok(Some(Scanned::Stopped)),
                }
            }
            if newline.is_some() || source.ended {
                source.forget(newline.map_or(to, |newline| newline + 1));
                let more = self.line(place, &head, matched);
                return Ok((!more).then_some(Scanned::Stopped));
            }
            source.forget(BLOCK / 2);
            from = LOOK_AROUND;
            if let Some(fault) = source.fill()? {
                return Ok(Some(fault));
            }
        }
    }

    /// Searches a part of one line. `None`: stopped.
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

    /// Goes to the next line. `false`: the search is over.
    fn line(&mut self, place: &mut LinePosition, line: &[u8], matched: bool) -> bool {
        place.number += 1;
        let number = place.number;
        if !matched && place.after == 0 {
            if self.around.before > 0 {
                if place.before.len() == self.around.before {
                    place.before.pop_front();
                }
                place.before.push_back((number, line[..line.len().min(SHOWN)].to_vec()));
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

/// Reader with a buffer of fixed size that checks the encoding.
struct Source<'a> {
    text: &'a mut dyn Read,
    buffer: Vec<u8>,
    filled: usize,
    /// Number of checked bytes.
    checked: usize,
    ended: bool,
    any_bytes: bool,
    started: bool,
}

impl<'a> Source<'a> {
    fn new(text: &'a mut dyn Read, any_bytes: bool) -> Self {
        let buffer = vec![0; BLOCK];
        Self { text, buffer, filled: 0, checked: 0, ended: false, any_bytes, started: false }
    }

    fn have(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// End of the last whole line in the buffer. `None`: it holds none.
    fn lines(&self) -> Option<usize> {
        match self.ended {
            true => Some(self.filled),
            false => memrchr(b'\n', self.have()).map(|newline| newline + 1),
        }
    }

    fn forget(&mut self, bytes: usize) {
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
        self.checked = self.checked.saturating_sub(bytes);
    }

    /// Fills the buffer. Returns the reason why the text cannot be searched, if any.
    fn fill(&mut self) -> io::Result<Option<Scanned>> {
        while !self.ended && self.filled < BLOCK {
            match self.text.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if !self.started && self.have().starts_with(b"\xef\xbb\xbf") {
            self.forget(3);
        }
        self.started = true;
        let new = &self.buffer[self.checked..self.filled];
        if memchr(0, new).is_some() {
            return Ok(Some(Scanned::Binary));
        }
        match str::from_utf8(new) {
            Ok(_) => self.checked = self.filled,
            Err(_) if self.any_bytes => self.checked = self.filled,
            // The end of the buffer is inside a character.
            Err(error) if error.error_len().is_none() && !self.ended => {
                self.checked += error.valid_up_to();
            }
            Err(_) => return Ok(Some(Scanned::NotUtf8)),
        }
        Ok(None)
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

    fn scan(pattern: &str, lines: usize, text: &[u8]) -> (Vec<String>, Scanned) {
        scan_around(pattern, Around { before: lines, after: lines }, text)
    }

    fn scan_around(pattern: &str, around: Around, text: &[u8]) -> (Vec<String>, Scanned) {
        let mut pattern = Pattern::compile(pattern, false).expect("a pattern");
        let mut found = Found::default();
        let search = LineSearch {
            pattern: &mut pattern,
            around,
            any_bytes: false,
            stop: &|| false,
            lines: &mut found,
        };
        let mut text = text;
        let scanned = search.run(&mut text).expect("reading memory");
        (found.0, scanned)
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
                let (found, scanned) = scan(pattern, 0, text.as_bytes());
                assert_eq!(
                    (found, scanned),
                    (expected, Scanned::All { pieces: false }),
                    "{pattern}"
                );
            }
            let (found, _) = scan("^ab$|e", 1, text.as_bytes());
            let mut expected = vec![at(1, ":ab"), at(2, "-"), at(3, "-cd"), at(4, ":e")];
            if lines > 0 {
                expected.insert(0, at(0, "-xxxxxxxxx"));
            }
            assert_eq!(found, expected);
        }
        let (found, _) = scan("a", 1, b"a\nb\nc\nd\na\n");
        assert_eq!(found, ["1:a", "2-b", "--", "4-d", "5:a"]);
        let text = b"a\nb\nc\nd\na\ne\n";
        for (before, after, lines) in [
            (0, 1, vec!["1:a", "2-b", "--", "5:a", "6-e"]),
            (1, 0, vec!["1:a", "--", "4-d", "5:a"]),
            (2, 1, vec!["1:a", "2-b", "3-c", "4-d", "5:a", "6-e"]),
        ] {
            let (found, _) = scan_around("a", Around { before, after }, text);
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
                let (found, scanned) = scan("needle", 0, &text);
                assert_eq!((found.len(), scanned), (2, Scanned::All { pieces: length >= BLOCK }));
                assert!(found[0].starts_with("2:") && found[1] == "3:last need", "{found:?}");
                // Only the real ends of the line are ends.
                let (found, _) = scan("^needle|needle$", 0, &text);
                let ends = at == 0 || at + 6 == length;
                assert_eq!(found.len(), 1 + usize::from(ends), "{length} {at}");
            }
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_detected() {
        let long = format!("{}é", "é".repeat(BLOCK / 2));
        for (text, expected) in [
            ("é".as_bytes(), Scanned::All { pieces: false }),
            (long.as_bytes(), Scanned::All { pieces: true }),
            (&long.as_bytes()[1..], Scanned::NotUtf8),
            (b"\xef\xbb\xbfa\n", Scanned::All { pieces: false }),
            (b"caf\xe9\n", Scanned::NotUtf8),
            (b"a\xc3", Scanned::NotUtf8),
            (b"a\0b", Scanned::Binary),
        ] {
            assert_eq!(scan("^b", 0, text).1, expected);
        }
        assert_eq!(scan("^a", 0, b"\xef\xbb\xbfa\n").0, ["1:a"]);
    }
}
