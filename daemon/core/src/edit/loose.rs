//! Replacement of lines that differ from the given old text only in white space.
//!
//! Models miscount indentation, or take tabs for blanks. If the old text fits in exactly one place but
//! for white space, that place is meant; the new text gets the indentation of the file.

use std::ops::Range;

/// Lines in the text, and what to put in their place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) range: Range<usize>,
    pub(super) new: String,
}

/// Finds the one place whose lines are those of `old` but for white space. `None`: there is none, or
/// more than one.
pub(super) fn find(text: &str, old: &str, new: &str) -> Option<Place> {
    let wanted: Vec<&str> = old.lines().collect();
    if !wanted.iter().any(|line| !line.trim().is_empty()) {
        return None;
    }
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at, line));
        at += line.len();
    }
    let same = |window: &&[(usize, &str)]| {
        window.iter().zip(&wanted).all(|((_, line), wanted)| squeezed(line).eq(squeezed(wanted)))
    };
    let mut places = lines.windows(wanted.len()).filter(same);
    let (place, None) = (places.next()?, places.next()) else { return None };
    let (first, last) = (place.first()?, place.last()?);
    let mut end = last.0 + last.1.len();
    // A text without a line break at its end stands for the line without its own.
    if !old.ends_with('\n') && last.1.ends_with('\n') {
        end -= 1;
    }
    let found: Vec<&str> = place.iter().map(|(_, line)| *line).collect();
    Some(Place { range: first.0..end, new: indented(new, &wanted, &found) })
}

/// Words of a line.
fn squeezed(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace()
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns `new` with each indentation of the old text replaced by that of the same line in the file.
fn indented(new: &str, old: &[&str], file: &[&str]) -> String {
    let pairs: Vec<(&str, &str)> = old
        .iter()
        .zip(file)
        .filter(|(old, _)| !old.trim().is_empty())
        .map(|(old, file)| (indentation(old), indentation(file)))
        .collect();
    let mut out = String::with_capacity(new.len());
    for line in new.split_inclusive('\n') {
        let own = indentation(line);
        let longest = pairs.iter().filter(|(old, _)| own.starts_with(old));
        match longest.max_by_key(|(old, _)| old.len()).filter(|_| !line.trim().is_empty()) {
            Some((old, file)) => {
                out.push_str(file);
                out.push_str(&line[old.len()..]);
            }
            None => out.push_str(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, old: &str, new: &str, expect: Expect) {
        let got = match find(text, old, new) {
            None => "no one place".to_owned(),
            Some(Place { range, new }) => {
                format!("{}{new}{}", &text[..range.start], &text[range.end..])
            }
        };
        expect.assert_eq(&got);
    }

    #[test]
    fn the_new_text_gets_the_indentation_of_the_file() {
        check(
            "class A:\n    def f(self):\n        return 1\n\nx = 2\n",
            "def f(self):\n    return 1",
            "def f(self):\n    y = 1\n    if y:\n        return y",
            expect![[r#"
                class A:
                    def f(self):
                        y = 1
                        if y:
                            return y

                x = 2
            "#]],
        );
        check(
            "a {\n\tb();\n\t\tc();\n}\n",
            "    b();\n        c();\n",
            "    b();\n        d();\n",
            expect![[r#"
                a {
                	b();
                		d();
                }
            "#]],
        );
        check("x  =  1\ny = 2", "x = 1", "x = 3", expect!["x = 3\ny = 2"]);
    }

    #[test]
    fn text_with_no_or_several_places_is_not_replaced() {
        check("  a\n    a\n", "a", "b", expect!["no one place"]);
        check("a\n", "b", "c", expect!["no one place"]);
        check("a\n", " \n", "c", expect!["no one place"]);
        check("ab\n", "a b", "c", expect!["no one place"]);
        check("", "a", "c", expect!["no one place"]);
    }
}
