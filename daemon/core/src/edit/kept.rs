//! Replacement of text in a file in which each line keeps its line ending.

use std::{borrow::Cow, hash::Hash, iter, ops::Range};

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

/// Returns a file with some ranges of its text replaced, which ascend. `lf` is its text with `\n` for
/// each line ending; the ranges are in it.
///
/// A line that stays keeps its line ending, and so does a line that takes the place of another one.
/// Any other new line takes the line ending of the line before it.
pub(super) fn replace(file: &str, lf: &str, edits: &[(Range<usize>, &str)]) -> String {
    if !file.contains('\r') {
        return spliced(file, edits);
    }
    let lines = lines_of(file);
    let mut starts = vec![0];
    starts.extend(lf.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    let is_open = lines.last().is_some_and(|line| ending(line).is_empty());
    let line_at = |offset: usize| {
        let line = starts.partition_point(|start| *start <= offset).saturating_sub(1);
        line.min(lines.len().saturating_sub(usize::from(is_open)))
    };
    let mut out = String::with_capacity(file.len());
    let mut kept = 0;
    let mut edits = edits.iter().peekable();
    while let Some((range, text)) = edits.next() {
        let first = line_at(range.start);
        let mut new = lf[starts[first]..range.start].to_owned() + text;
        let mut end = range.end;
        while let Some((range, text)) =
            edits.next_if(|(next, _)| line_at(next.start) <= line_at(end))
        {
            new += &lf[end..range.start];
            new += text;
            end = range.end;
        }
        let mut last = line_at(end);
        let mut behind = "";
        if starts[last] < end || !(new.is_empty() || new.ends_with('\n')) {
            // The rest of the line belongs to the last new one.
            last = (last + 1).min(lines.len());
            new += &lf[end..starts[last]];
            behind = lines[..last].last().map_or("", |line| ending(line));
        }
        lines[kept..first].iter().for_each(|line| out.push_str(line));
        let before = lines.get(first.saturating_sub(1)).map_or("", |line| ending(line));
        push_lines(&mut out, &lines[first..last], &new, (before, behind));
        kept = last;
    }
    lines[kept..].iter().for_each(|line| out.push_str(line));
    out
}

/// Returns a text with ranges replaced, which ascend. Holds no list of its lines, of which there may be
/// millions.
fn spliced(file: &str, edits: &[(Range<usize>, &str)]) -> String {
    let mut out = String::with_capacity(file.len());
    let mut kept = 0;
    for (range, text) in edits {
        out.push_str(&file[kept..range.start]);
        out.push_str(text);
        kept = range.end;
    }
    out.push_str(&file[kept..]);
    out
}

/// Appends new lines, which take the place of `lines`. `before` is the line ending of the line before.
/// `behind` is that of the last new line, if it was no part of the change.
fn push_lines(
    out: &mut String,
    lines: &[&str],
    new: &str,
    (mut before, behind): (&'static str, &'static str),
) {
    let old: Vec<Line<'_>> = lines.iter().map(|line| Line::new(line, ending(line))).collect();
    let new: Vec<Line<'_>> = new.split_inclusive('\n').map(|line| Line::new(line, "\n")).collect();
    let mut endings: Vec<&'static str> = sources(&old, &new)
        .into_iter()
        .map(|source| source.map_or("", |index| ending(lines[index])))
        .collect();
    if let Some(last) = endings.last_mut().filter(|_| !behind.is_empty()) {
        *last = behind;
    }
    for (own, line) in endings.into_iter().zip(&new) {
        out.push_str(line.text);
        if line.has_break {
            let known = [own, before].into_iter().find(|ending| !ending.is_empty());
            before = known.unwrap_or("\n");
            out.push_str(before);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Line<'a> {
    text: &'a str,
    has_break: bool,
}

impl<'a> Line<'a> {
    fn new(line: &'a str, ending: &str) -> Self {
        let text = line.strip_suffix(ending).unwrap_or(line);
        Self { text, has_break: text.len() < line.len() }
    }
}

/// Returns the text with `\n` for each line ending: `\r\n`, and a lone `\r`.
pub(super) fn to_lf(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

fn lines_of(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = match rest.find(['\r', '\n']) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, behind) = rest.split_at(end);
        lines.push(line);
        rest = behind;
    }
    lines
}

/// Line ending of a line; empty at the end of a text.
fn ending(line: &str) -> &'static str {
    ["\r\n", "\n", "\r"].into_iter().find(|ending| line.ends_with(ending)).unwrap_or("")
}

/// For each new line, the index of the old line that it is, or whose place it takes.
fn sources(old: &[Line<'_>], new: &[Line<'_>]) -> Vec<Option<usize>> {
    let mut sources = Vec::with_capacity(new.len());
    for (before, after) in pieces(old, new) {
        let added = after.len().saturating_sub(before.len());
        // Of more lines than there are new ones, the last stay in place: text behind a change is none
        // of its business.
        let removed = before.len().saturating_sub(after.len());
        sources.extend(before.skip(removed).map(Some).chain(iter::repeat_n(None, added)));
    }
    sources
}

/// Runs of lines that together are both texts: equal ones, then some that differ, and so on.
pub(super) fn pieces<T: Hash + Eq + Copy>(
    old: &[T],
    new: &[T],
) -> Vec<(Range<usize>, Range<usize>)> {
    let mut input = InternedInput {
        before: Vec::with_capacity(old.len()),
        after: Vec::with_capacity(new.len()),
        interner: Interner::new(old.len() + new.len()),
    };
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut pieces = Vec::new();
    let (mut before, mut after) = (0, 0);
    for hunk in Diff::compute(Algorithm::Histogram, &input).hunks() {
        let (removed, added) = (hunk.before, hunk.after);
        pieces.push((before..removed.start as usize, after..added.start as usize));
        (before, after) = (removed.end as usize, added.end as usize);
        pieces.push((removed.start as usize..before, added.start as usize..after));
    }
    pieces.push((before..old.len(), after..new.len()));
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_keep_their_endings_and_new_ones_take_that_of_the_line_before() {
        let table = [
            ("a\r\nb\nc\r\nd\r\n", "A\nb\nC\nd\n", "A\r\nb\nC\r\nd\r\n"),
            ("a\nb\r\nc\nd\n", "a\nb\nc\nD\n", "a\nb\r\nc\nD\n"),
            ("a\r\nb\nc\r\n", "a\nb\nb2\nc\n", "a\r\nb\nb2\nc\r\n"),
            ("a\r\nb\nc\r\n", "a\na2\nb\nc\n", "a\r\na2\r\nb\nc\r\n"),
            ("a\r\nb\n", "x\na\nb\n", "x\r\na\r\nb\n"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
            ("a\r\nb\n", "a\nb", "a\r\nb"),
            ("a\nb\r\n", "", ""),
            ("a", "b\nc", "b\nc"),
            ("", "b\n", "b\n"),
            ("a\rb\rc\n", "a\nB\nb2\nc\n", "a\rB\rb2\rc\n"),
        ];
        for (file, new, expected) in table {
            let lf = to_lf(file);
            assert_eq!(replace(file, &lf, &[(0..lf.len(), new)]), expected, "{file:?} {new:?}");
        }
    }

    /// The lines around the changes keep their bytes, and nothing but line endings differs from the new
    /// text.
    fn check(
        parts: [String; 3],
        old: &[String; 2],
        new: &[String; 2],
    ) -> Result<(), TestCaseError> {
        let [before, between, after] = &parts;
        let file = [before, &old[0], between, &old[1], after].map(String::as_str).concat();
        let length = |part: &str| to_lf(part).len();
        let first = length(before)..length(before) + length(&old[0]);
        let second = first.end + length(between);
        let second = second..second + length(&old[1]);
        let got = replace(&file, &to_lf(&file), &[(first, &new[0]), (second, &new[1])]);
        prop_assert!(got.starts_with(before) && got.ends_with(after), "{got:?}");
        let wanted = [before, &new[0], between, &new[1], after].map(String::as_str).concat();
        prop_assert_eq!(to_lf(&got), to_lf(&wanted));
        Ok(())
    }

    proptest! {
        #[test]
        fn only_changed_lines_change(
            parts in prop::array::uniform3("([ab]{0,2}(\r\n|\n)){0,4}"),
            old in prop::array::uniform2("([ac]{0,2}(\r\n|\n)){0,3}"),
            new in prop::array::uniform2("([ac]{0,2}\n){0,3}"),
        ) {
            check(parts, &old, &new)?;
        }

        /// An empty line behind a `\r` would be one line ending with it.
        #[test]
        fn only_changed_lines_change_with_three_kinds_of_line_endings(
            parts in prop::array::uniform3("([ab]{1,2}(\r\n|\n|\r)){0,4}"),
            old in prop::array::uniform2("([ac]{1,2}(\r\n|\n|\r)){0,3}"),
            new in prop::array::uniform2("([ac]{1,2}\n){0,3}"),
        ) {
            check(parts, &old, &new)?;
        }
    }
}
