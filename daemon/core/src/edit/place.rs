//! Place of a hunk of a patch: below lines that stand behind `@@`, or at the end of the file.

use super::overlapping;

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
        let ambiguous = "`old_text` is in the file 4 times (at lines 1, 3, 6, 7). Add surrounding lines until it is unique, or set `replace_all`.";
        let table: [(&[&str], bool, &str, &str, &str); 6] = [
            (
                &["class B:"],
                false,
                "  foo",
                "  b",
                "xfoo|class A:|  foo|  bar|class B:|  b|foo|end|",
            ),
            (
                &["class A:", "bar"],
                false,
                "foo",
                "c",
                "xfoo|class A:|  foo|  bar|class B:|  foo|c|end|",
            ),
            (&[], true, "foo", "d", "xfoo|class A:|  foo|  bar|class B:|  foo|d|end|"),
            (&[], true, "", "last", "xfoo|class A:|  foo|  bar|class B:|  foo|foo|end|last|"),
            (&["class C:"], false, "bar", "e", "xfoo|class A:|  foo|  e|class B:|  foo|foo|end|"),
            (&["class C:"], false, "foo", "e", ambiguous),
        ];
        for (lines, at_end, old, new, expected) in table {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            let place = Occurrences::Below { lines: &lines, at_end };
            let got = replace(&file.replace('|', "\n"), old, new, place);
            let got = got.map_or_else(|error| error.to_string(), |got| got.text);
            assert_eq!(got.replace('\n', "|"), expected, "{lines:?} {old}");
        }
    }
}
