//! Replacement of lines that differ from the given old text only in white space.
//!
//! Models miscount indentation, or take tabs for blanks. If the old text fits in exactly one place but
//! for blanks and tabs, that place is meant. There, only the lines change that differ between the old
//! and the new text, with the indentation of the file. White space inside quotes counts, and so does
//! any other character than a blank and a tab. Where the indentation would be a guess, nothing changes.

use std::{collections::VecDeque, iter, ops::Range};

use super::kept;

/// Text from the start of a line to the end of one, and what to put in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) range: Range<usize>,
    pub(super) new: String,
}

/// Finds the one place whose lines are those of `old` but for blanks and tabs. `None`: no place or
/// several places fit, the new text would be a guess, or the file has the new text already.
pub(super) fn find(text: &str, old: &str, new: &str) -> Option<Place> {
    let old: Vec<&str> = old.lines().collect();
    if old.iter().all(|line| is_blank(line)) {
        return None;
    }
    let (mut range, file) = only_place(text, &old)?;
    let new: Vec<&str> = new.lines().collect();
    let new = Lines { old: &old, file: &file }.changed_to(&new)?;
    if new.is_empty() && range.end < text.len() {
        // No line is left, so its line break goes, too.
        range.end += 1;
    }
    let new = new.join("\n");
    (text[range.clone()] != new).then_some(Place { range, new })
}

/// Returns the range of the one place that fits, without its last line break, and its lines. Holds
/// the lines of one place alone, because a text may have millions.
fn only_place<'t>(text: &'t str, old: &[&str]) -> Option<(Range<usize>, Vec<&'t str>)> {
    let mut found = None;
    let mut window = VecDeque::with_capacity(old.len() + 1);
    // Start of the window and end of its last line break.
    let (mut start, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        window.push_back(line);
        end += line.len();
        if window.len() > old.len() {
            start += window.pop_front().map_or(0, str::len);
        }
        let bare = |line: &&'t str| line.strip_suffix('\n').unwrap_or(line);
        if window.len() == old.len()
            && window.iter().map(bare).zip(old).all(|(line, old)| is_same(old, line))
        {
            let stop = end - (line.len() - bare(&line).len());
            if found.replace((start..stop, window.iter().map(bare).collect())).is_some() {
                return None;
            }
        }
    }
    found
}

/// Lines as a model gave them, and as the file has them.
#[derive(Clone, Copy)]
struct Lines<'a> {
    old: &'a [&'a str],
    file: &'a [&'a str],
}

impl Lines<'_> {
    /// Returns the lines of the file with what differs between the old and the new lines. `None`: some
    /// of it would be a guess.
    fn changed_to(self, new: &[&str]) -> Option<Vec<String>> {
        let mut out = Vec::with_capacity(new.len());
        for (before, after) in kept::pieces(self.old, new) {
            let here = Lines { old: &self.old[before.clone()], file: &self.file[before] };
            let new = &new[after];
            if here.old == new {
                out.extend(here.file.iter().map(|line| (*line).to_owned()));
            } else if here.old.len() == new.len() {
                for (at, new) in new.iter().enumerate() {
                    let line = Lines { old: &here.old[at..=at], file: &here.file[at..=at] };
                    let indentation = indentation_for(new, &[line, here, self])?;
                    out.push(retyped(here.old[at], here.file[at], new, &indentation)?);
                }
            } else {
                for new in new {
                    let rest = new.trim_start_matches(BLANKS);
                    out.push(indentation_for(new, &[here, self])? + rest);
                }
            }
        }
        Some(out)
    }

    /// Indentations of the lines: that which the model gave, and that in the file.
    fn indentations(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let pairs = self.old.iter().zip(self.file);
        pairs
            .filter(|(old, _)| !is_blank(old))
            .map(|(old, file)| (indentation(old), indentation(file)))
    }
}

const BLANKS: [char; 2] = [' ', '\t'];
/// Blanks at the end of a line that are a line break in Markdown.
const HARD_BREAK: &str = "  ";

fn is_blank(line: &str) -> bool {
    line.trim_matches(BLANKS).is_empty()
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(BLANKS).len()]
}

/// Splits a line without its indentation: a text, the blanks behind it, the next text, and so on. What
/// stands in quotes is one text with its blanks.
fn texts_and_gaps(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim_start_matches(BLANKS);
    let (mut start, mut in_gap) = (Some(0), false);
    let (mut quote, mut before) = (None, ' ');
    let mut chars = line.char_indices();
    iter::from_fn(move || {
        let from = start?;
        for (at, char) in chars.by_ref() {
            let gap = quote.is_none() && BLANKS.contains(&char);
            let is_cut = gap != in_gap;
            in_gap = gap;
            let escaped = before == '\\';
            // The apostrophe of a word opens nothing.
            let opens = matches!(char, '"' | '`') || (char == '\'' && !before.is_alphanumeric());
            if !escaped {
                match quote {
                    Some(open) if open == char => quote = None,
                    None if opens => quote = Some(char),
                    Some(_) | None => {}
                }
            }
            before = if escaped { ' ' } else { char };
            if is_cut {
                start = Some(at);
                return Some(&line[from..at]);
            }
        }
        // A line that ends with a text has an empty gap behind it.
        start = (!in_gap).then_some(line.len());
        in_gap = true;
        Some(&line[from..])
    })
}

fn is_same(old: &str, file: &str) -> bool {
    let texts = |line| texts_and_gaps(line).step_by(2);
    texts(old).eq(texts(file))
}

/// Returns the line of the file with what differs between the old and the new line.
fn retyped(old: &str, file: &str, new: &str, indentation: &str) -> Option<String> {
    let [old, file, new] = [old, file, new].map(|line| texts_and_gaps(line).collect::<Vec<_>>());
    let (old_end, file_end) = (old.last()?, file.last()?);
    if file_end.starts_with(HARD_BREAK) && old_end != file_end {
        return None;
    }
    let mut out = indentation.to_owned();
    for (before, after) in kept::pieces(&old, &new) {
        let is_kept = old[before.clone()] == new[after.clone()];
        out.extend(if is_kept { &file[before] } else { &new[after] }.iter().copied());
    }
    Some(out)
}

/// Returns the indentation in the file of a new line. It follows that of the nearest lines from which
/// it can be told.
fn indentation_for(new: &str, nearest_first: &[Lines<'_>]) -> Option<String> {
    if is_blank(new) {
        return Some(indentation(new).to_owned());
    }
    nearest_first.iter().find_map(|lines| mapped(indentation(new), lines.indentations()))
}

/// Returns what an indentation of the model is in the file. `None`: it can be more than one.
fn mapped<'a>(
    own: &str,
    pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Option<String> {
    let mut same = pairs.clone().filter(|(old, _)| *old == own).map(|(_, file)| file);
    if let Some(first) = same.next() {
        return same.all(|file| file == first).then(|| first.to_owned());
    }
    match (shifted(own, pairs.clone()), scaled(own, pairs)) {
        (Some(shifted), Some(scaled)) if shifted != scaled => None,
        (shifted, scaled) => shifted.or(scaled),
    }
}

/// Every line of the file is indented by the same text more, or less, than the model gave.
fn shifted<'a>(
    own: &str,
    mut pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Option<String> {
    let (old, file) = pairs.clone().next()?;
    if let Some(more) = file.strip_suffix(old) {
        return pairs
            .all(|(old, file)| file.strip_suffix(old) == Some(more))
            .then(|| [more, own].concat());
    }
    let less = old.strip_suffix(file)?;
    let fits = pairs.all(|(old, file)| old.strip_suffix(file) == Some(less));
    own.strip_prefix(less).filter(|_| fits).map(str::to_owned)
}

/// Each step of the indentation has another width or another character in the file.
fn scaled<'a>(
    own: &str,
    pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Option<String> {
    let is_deep = |(old, file): &(&str, &str)| !old.is_empty() || !file.is_empty();
    let mut pairs = pairs.filter(is_deep);
    let (old, file) = pairs.clone().next()?;
    let (from, to) = (old.chars().next()?, file.chars().next()?);
    let is_run = |text: &str, of: char| text.chars().all(|char| char == of);
    let fits = pairs.all(|(other_old, other_file)| {
        let steps_fit = other_old.len() * file.len() == other_file.len() * old.len();
        steps_fit && is_run(other_old, from) && is_run(other_file, to)
    });
    let width = own.len() * file.len();
    (fits && is_run(own, from) && width.is_multiple_of(old.len()))
        .then(|| to.to_string().repeat(width / old.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(text: &str, old: &str, new: &str) -> Option<String> {
        let Place { range, new } = find(text, old, new)?;
        Some(format!("{}{new}{}", &text[..range.start], &text[range.end..]))
    }

    fn check(table: &[(&str, &str, &str, &str)]) {
        for (text, old, new, expected) in table {
            assert_eq!(changed(text, old, new).as_deref(), Some(*expected), "{old:?} {new:?}");
        }
    }

    fn check_refused(table: &[(&str, &str, &str)]) {
        for (text, old, new) in table {
            assert_eq!(changed(text, old, new), None, "{text:?} {old:?} {new:?}");
        }
    }

    #[test]
    fn lines_that_are_equal_in_old_and_new_text_keep_their_bytes() {
        check(&[
            (
                "one  \nkey\t=\t1\nthree \n",
                "one\nkey = 1\nthree",
                "one\nkey = 2\nthree",
                "one  \nkey\t=\t2\nthree \n",
            ),
            (
                "a    = 1  # x\nb = 0\n",
                "a = 1 # x\nb = 0",
                "a = 1 # x\nb = 9",
                "a    = 1  # x\nb = 9\n",
            ),
            (
                "f:\n\ta\n\t\n\tb\n",
                "f:\n    a\n\n    b",
                "f:\n    a\n\n    c",
                "f:\n\ta\n\t\n\tc\n",
            ),
            (
                "  one  \n  two\t# t\n",
                "one\ntwo # t",
                "one\nnew\ntwo # t",
                "  one  \n  new\n  two\t# t\n",
            ),
            ("  a\n  b \n  c\n", "a\nb\nc", "a\nc", "  a\n  c\n"),
            ("  a\n  b\n", "a\nb", "b\na", "  b\n  a\n"),
        ]);
    }

    #[test]
    fn a_changed_line_has_the_indentation_and_the_columns_of_the_file() {
        check(&[
            (
                "if a:\n  foo()\n  if b:\n    bar()\nend()\n",
                "foo()\nif b:\nbar()",
                "foo()\nif b:\nbaz()",
                "if a:\n  foo()\n  if b:\n    baz()\nend()\n",
            ),
            (
                "def f():\n    if a:\n        x()\n    y()\n",
                "    if a:\n    x()\n    y()",
                "    if a:\n    x()\n    z()",
                "def f():\n    if a:\n        x()\n    z()\n",
            ),
            ("x  =  1\ny = 2", "x = 1", "x = 3", "x  =  3\ny = 2"),
            ("f(a,   b) \n", "f(a, b)", "g(a, c)", "g(a,   c) \n"),
            ("\tit's   so\n", "it's so", "it's   not so", "\tit's   not   so\n"),
        ]);
    }

    #[test]
    fn a_new_line_has_the_indentation_of_the_file() {
        check(&[
            // By the same shift.
            (
                "class A:\n    def f(self):\n        return 1\n\nx = 2\n",
                "def f(self):\n    return 1",
                "def f(self):\n    y = 1\n    if y:\n        return y",
                "class A:\n    def f(self):\n        y = 1\n        if y:\n            return y\n\nx = 2\n",
            ),
            ("a\n  b\n", "        b", "        b\n          c", "a\n  b\n    c\n"),
            // By steps of another width or character.
            (
                "a {\n\tb();\n}\n",
                "a {\n    b();\n}",
                "a {\n    if c {\n        b();\n    }\n}",
                "a {\n\tif c {\n\t\tb();\n\t}\n}\n",
            ),
            (
                "a:\n  b\n",
                "a:\n    b\n",
                "a:\n    b\n    if c:\n        d\n",
                "a:\n  b\n  if c:\n    d\n",
            ),
            // By the lines that it replaces, if others contradict.
            (
                "if a:\n        x()\n    y()\n",
                "if a:\n    x()\n    y()",
                "if a:\n    x()\n    z()\n    z()",
                "if a:\n        x()\n    z()\n    z()\n",
            ),
        ]);
    }

    #[test]
    fn a_guess_about_the_place_joins_no_lines_and_splits_none() {
        check(&[
            (
                "if ok:\n  foo()\n  bar()\n",
                "    foo()\n",
                "    baz()",
                "if ok:\n  baz()\n  bar()\n",
            ),
            (
                "if ok:\n  foo()\n  bar()\n  end()\n",
                "    foo()\n    bar()\n",
                "    baz()\n    qux()",
                "if ok:\n  baz()\n  qux()\n  end()\n",
            ),
            ("  a\n  b\n", "    a", "    c\n", "  c\n  b\n"),
            ("  a\n  b", "    b\n", "    c\n", "  a\n  c"),
            ("  a\n  b\n", "    a", "", "  b\n"),
        ]);
    }

    #[test]
    fn white_space_with_a_meaning_is_not_passed_over() {
        check_refused(&[
            ("x = \"a  b\"\n  y\n", "x = \"a b\"\ny", "x = \"a b\"\nz"),
            ("x = 'a\tb'\n  y\n", "x = 'a b'\ny", "x = 'a b'\nz"),
            ("x = `a \\` b  c`\n  y\n", "x = `a \\` b c`\ny", "z"),
            ("  a\u{a0}b\n", "a b", "c"),
            ("  a\u{3000}b\n", "a b", "c"),
            ("a = 1\n\u{c}def f():\nb = 1\n", " a = 1\ndef f():\nb = 1", " a = 1\ndef f():\nb = 2"),
            // The line break in Markdown of a line that changes.
            ("  one  \ntwo\n", "one\ntwo", "uno\ntwo"),
        ]);
    }

    #[test]
    fn what_would_be_a_guess_is_refused() {
        check_refused(&[
            ("  a\n    a\n", "a", "b"),
            ("a\n", "b", "c"),
            ("a\n", " \n", "c"),
            ("ab\n", "a b", "c"),
            ("", "a", "c"),
            // One indentation of the model is two in the file.
            (
                "if a:\n    if b:\n        x()\n    y()\n",
                "    if b:\n    x()\n    y()",
                "    if b:\n    x()\n    n()\n    y()",
            ),
            // Two blanks less, or half of them.
            ("if ok:\n  foo()\n", "    foo()", "    if b:\n        foo()"),
            // Only white space would change.
            ("a  = 1\n", "a = 1", "a = 1\n"),
        ]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// The other lines keep their bytes, and so does the white space before the change.
        #[test]
        fn only_the_changed_line_changes(
            file in prop::collection::vec("[ \t]{0,3}[a-c]([ \t]{1,2}[a-c]){0,2}[ \t]{0,3}", 1..6),
            changed in any::<prop::sample::Index>(),
            gap in "[ \t]{1,2}",
        ) {
            let text = |lines: &[String]| lines.join("\n") + "\n";
            let retype = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(&gap);
            let old: Vec<String> = file.iter().map(retype).collect();
            let (mut new, mut wanted) = (old.clone(), file.clone());
            let at = changed.index(new.len());
            let end = file[at].trim_end_matches(BLANKS).len();
            new[at].push('Z');
            wanted[at].insert(end, 'Z');
            let wanted = (!file[at][end..].starts_with(HARD_BREAK)).then(|| text(&wanted));
            prop_assert_eq!(super::tests::changed(&text(&file), &text(&old), &text(&new)), wanted);
        }
    }
}
