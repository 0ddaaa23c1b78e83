//! Place of a hunk of a patch: below lines that stand behind `@@`, or at the end of the file.

use super::{EditError, Replaced, overlapping};

/// Performs a change of whole lines on a text whose last line has no line break as if it had one.
pub(super) fn with_last_break(
    text: &str,
    change: impl FnOnce(&str) -> Result<Replaced, EditError>,
) -> Result<Replaced, EditError> {
    if text.is_empty() || text.ends_with('\n') {
        return change(text);
    }
    let is_crlf = text.rsplit_once('\n').is_some_and(|(before, _)| before.ends_with('\r'));
    let line_break = if is_crlf { "\r\n" } else { "\n" };
    let mut replaced = change(&format!("{text}{line_break}"))?;
    if let Some(kept) = replaced.text.strip_suffix('\n') {
        replaced.text.truncate(kept.strip_suffix('\r').unwrap_or(kept).len());
    }
    Ok(replaced)
}

/// Old and new lines without a blank one at their end; `None` if the old lines do not end with one.
pub(super) fn without_last_blank<'a>(old: &'a str, new: &'a str) -> Option<(&'a str, &'a str)> {
    let short = |lines: &'a str| lines.strip_suffix('\n').filter(|lines| lines.ends_with('\n'));
    Some((short(old)?, short(new).unwrap_or(new)))
}

/// Place below these lines, of which each is below the one before; blanks around them do not matter.
pub(super) fn below(text: &str, lines: &[String]) -> Option<usize> {
    let mut rest = text.split_inclusive('\n');
    let mut from = 0;
    for wanted in lines {
        let is_wanted = |line: &&str| {
            from += line.len();
            line.trim() == wanted.trim()
        };
        rest.by_ref().find(is_wanted)?;
    }
    Some(from)
}

/// Places from `from` on at which `old` is whole lines.
pub(super) fn of_lines<'a>(
    text: &'a str,
    from: usize,
    old: &'a str,
) -> impl Iterator<Item = usize> + 'a {
    overlapping(&text[from..], old).map(move |at| from + at).filter(move |at| {
        let (before, rest) = text.split_at(*at);
        let after = &rest[old.len()..];
        (before.is_empty() || before.ends_with('\n'))
            && (after.is_empty() || after.starts_with('\n') || old.ends_with('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Occurrences, replace};

    #[test]
    fn a_passage_is_found_by_its_place_in_a_patch() {
        let file = "xfoo|class A:|  foo|  bar|class B:|  foo|foo|end|";
        let ambiguous = "`old_text` is in the file 2 times (at lines 3, 6). Add surrounding lines until it is unique, or set `replace_all`.";
        let (a, b, c, bar): (&[_], &[_], &[_], &[_]) =
            (&["class A:"], &["class B:"], &["class C:"], &["class A:", "bar"]);
        let table: [(&[&str], bool, &str, &str, &str); 12] = [
            (b, false, "  foo|", "  b|", "xfoo|class A:|  foo|  bar|class B:|  b|foo|end|"),
            (bar, false, "foo|", "c|", "xfoo|class A:|  foo|  bar|class B:|  foo|c|end|"),
            (&[], true, "  foo|", "d|", "xfoo|class A:|  foo|  bar|class B:|d|foo|end|"),
            (&[], true, "", "last|", "xfoo|class A:|  foo|  bar|class B:|  foo|foo|end|last|"),
            (a, false, "  foo|  bar|", "", "xfoo|class A:|class B:|  foo|foo|end|"),
            // The lines above are not in the file.
            (c, false, "  bar|", "e|", "xfoo|class A:|  foo|e|class B:|  foo|foo|end|"),
            // A line, and no part of a longer one.
            (&[], false, "foo|", "e|", "xfoo|class A:|  foo|  bar|class B:|  foo|e|end|"),
            (&[], false, "foo|end|", "", "xfoo|class A:|  foo|  bar|class B:|  foo|"),
            (&[], false, "end|", "|", "xfoo|class A:|  foo|  bar|class B:|  foo|foo||"),
            (&[], false, "  foo|", "e|", ambiguous),
            // Below the last line there is no blank one.
            (
                &[],
                false,
                "end||",
                "end||f||",
                "xfoo|class A:|  foo|  bar|class B:|  foo|foo|end||f|",
            ),
            (&[], false, "  foo||", "e|", ambiguous),
        ];
        for (lines, at_end, old, new, expected) in table {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            let place = Occurrences::Below { lines: &lines, at_end };
            // The same in a file whose last line has no line break.
            for (text, last) in [(file, ""), (file.trim_end_matches('|'), "|")] {
                let lf = |text: &str| text.replace('|', "\n");
                let got = match replace(&lf(text), &lf(old), &lf(new), place) {
                    Ok(got) => got.text.replace('\n', "|") + last,
                    Err(error) => error.to_string(),
                };
                assert_eq!(got, expected, "{lines:?} {old}");
            }
        }
    }
}
