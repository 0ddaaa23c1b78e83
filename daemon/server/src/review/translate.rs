//! Conversion of a change into edits for an editor. Pure.

use cairn_core::{
    change::{Change, Edit},
    text::{Text, Units},
};
use cairn_protocol::{FileChange, Position, Range, TextEdit};

use crate::{docs::Document, ports::text_hash};

/// Form of edits for open documents of an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EditForm {
    pub(crate) units: Units,
    /// Edits replace whole lines. Some editors count columns in other units than they negotiated, so
    /// that an emoji before an edit inside a line would shift it.
    pub(crate) whole_lines: bool,
}

pub(super) fn edit_of(
    base: &Text,
    change: &Change,
    open: Option<&Document>,
    form: EditForm,
) -> FileChange {
    // The daemon itself changes files that are not open, on disk.
    let form = open.map_or_else(EditForm::default, |_| form);
    let at = |char: usize| {
        let position = base.position_in(char, form.units);
        Position { line: position.line, character: position.character }
    };
    let mut edits = Vec::new();
    let mut done = 0;
    let whole = form.whole_lines.then(|| whole_lines(change.edits(), base));
    for edit in whole.as_deref().unwrap_or(change.edits()) {
        let (range, new_text) = before_the_end(base, edit, done);
        done = edit.range.end;
        let range = Range { start: at(range.start), end: at(range.end) };
        edits.push(TextEdit { range, new_text });
    }
    FileChange::Edit {
        expected_version: open.map(|document| document.version),
        expected_hash: text_hash(base),
        edits,
    }
}

/// Converts a change to edits of whole lines. The ending of the last line stays in place, because
/// some editors have no line after it.
fn whole_lines(edits: &[Edit], base: &Text) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        let Edit { range, insert } = edit;
        let begins = |at: usize| base.line_to_char(base.char_to_line(at)) == at;
        let is_whole = begins(range.start)
            && begins(range.end)
            && (insert.is_empty() || insert.ends_with('\n'));
        let start = base.line_to_char(base.char_to_line(range.start));
        let end = match is_whole {
            true => range.end,
            false => base.line_to_char(base.char_to_line(range.end) + 1),
        };
        match out.last_mut() {
            // Its last line is the first line of this one.
            Some(last) if start < last.range.end => {
                let rest = last.range.end.saturating_sub(range.start);
                let keeps = last.insert.chars().count().saturating_sub(rest);
                last.insert = last.insert.chars().take(keeps).collect();
                last.insert += insert;
                last.insert += &base.slice(range.end..end);
                last.range.end = end;
            }
            Some(_) | None => {
                let (before, after) = (base.slice(start..range.start), base.slice(range.end..end));
                out.push(Edit { range: start..end, insert: format!("{before}{insert}{after}") });
            }
        }
    }
    if let Some(last) = out.last_mut()
        && last.range.end == base.len_chars()
        && !last.range.is_empty()
    {
        let gone = base.slice(last.range.clone());
        let ending = if gone.ends_with("\r\n") { "\r\n" } else { "\n" };
        if gone.ends_with(ending) && last.insert.ends_with(ending) {
            last.range.end -= ending.len();
            last.insert.truncate(last.insert.len() - ending.len());
        }
    }
    out
}

/// Moves an insertion at the end of the text before the last line break, which gives the same text.
/// Some editors have no line after that break (Neovim 0.11 would add an empty one). Edits up to `done`
/// came before this one.
fn before_the_end(base: &Text, edit: &Edit, done: usize) -> (std::ops::Range<usize>, String) {
    let end = base.len_chars();
    let tail = base.slice(end.saturating_sub(2)..end);
    let line_break = if tail == "\r\n" { "\r\n" } else { "\n" };
    let at = end.saturating_sub(line_break.len());
    match edit.insert.strip_suffix(line_break) {
        Some(lines) if edit.range.start == end && at >= done && tail.ends_with(line_break) => {
            (at..at, format!("{line_break}{lines}"))
        }
        Some(_) | None => (edit.range.clone(), edit.insert.clone()),
    }
}

/// Returns true if the texts are equal in an editor that ends every text with a line break.
pub(super) fn same_but_last_break(a: &Text, b: &Text) -> bool {
    let length = |text: &Text| {
        let end = text.len_chars();
        let tail = text.slice(end.saturating_sub(2)..end);
        end - if tail == "\r\n" { 2 } else { usize::from(tail.ends_with('\n')) }
    };
    let (a_length, b_length) = (length(a), length(b));
    a_length == b_length && a.slice(0..a_length) == b.slice(0..b_length)
}

/// Lines added and removed, for the one-line summary: a changed line counts once in each.
pub(super) fn line_counts(before: &Text, change: &Change) -> (u32, u32) {
    let (mut added, mut removed) = (0, 0);
    // The end of the lines that are counted already.
    let mut counted = 0;
    for edit in change.edits() {
        let gone = before.slice(edit.range.clone());
        let begins = |at: usize| before.position_of(at).character == 0;
        let at_end = edit.range.end == before.len_chars();
        let is_whole = begins(edit.range.start)
            && (at_end || begins(edit.range.end))
            && (at_end || edit.insert.is_empty() || edit.insert.ends_with('\n'));
        if is_whole {
            removed += gone.lines().count();
            added += edit.insert.lines().count();
            continue;
        }
        let line = |at: usize| before.position_of(at).line as usize;
        // The last line break has no line after it.
        let breaks =
            |text: &str| text.matches('\n').count() - usize::from(at_end && text.ends_with('\n'));
        let end = line(edit.range.end) + 1 - usize::from(at_end && gone.ends_with('\n'));
        let touched = end - line(edit.range.start).max(counted);
        counted = end;
        removed += touched;
        // A changed line is counted once; each added or removed line break adds or removes a line.
        added += touched + breaks(&edit.insert);
        added -= breaks(&gone);
    }
    (u32::try_from(added).unwrap_or(u32::MAX), u32::try_from(removed).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_a_patch_counts_them() {
        for (before, after, expected) in [
            ("", "a\nb", (2, 0)),
            ("a\nb", "", (0, 2)),
            ("a\nb\nc\n", "a\nX\nc\n", (1, 1)),
            ("a\nb\n", "a\nnew\nb\n", (1, 0)),
            ("a\nb\nc\n", "a\nc\n", (0, 1)),
            ("  \"s\": { \"t\" }\n", "  \"s\": {\n    \"c\",\n    \"t\" }\n", (3, 1)),
            ("one two three\n", "1 two 3\n", (1, 1)),
            ("ab\ncd\n", "abcd\n", (1, 2)),
            ("a\nb", "a\nb\n", (1, 1)),
            ("a\nb\n", "a\nb", (1, 1)),
            ("a\nb\nc\n", "a\nbX", (1, 2)),
            ("a\nb", "a\nb\nc\n", (2, 1)),
            ("a\r\nb\r\n", "a\r\nB\r\n", (1, 1)),
        ] {
            let (before, after) = (Text::new(before), Text::new(after));
            let change = Change::between(&before, &after);
            assert_eq!(line_counts(&before, &change), expected, "{before:?} → {after:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_counted_lines_give_the_difference_in_length(before in "[ab\n]{0,12}", after in "[ab\n]{0,12}") {
            let lines = |text: &str| text.lines().count() as u32;
            let (old, new) = (Text::new(&before), Text::new(&after));
            let (added, removed) = line_counts(&old, &Change::between(&old, &new));
            proptest::prop_assert!(added <= lines(&after) && removed <= lines(&before));
            proptest::prop_assert_eq!(lines(&before) + added, lines(&after) + removed);
        }
    }

    proptest::proptest! {
        #[test]
        fn edits_of_whole_lines_have_the_same_result(before in "[ab😀\r\n]{0,14}", after in "[ab😀\r\n]{0,14}") {
            let (old, new) = (Text::new(&before), Text::new(&after));
            let change = Change::between(&old, &new);
            let whole = whole_lines(change.edits(), &old);
            let whole_change = Change::new(old.len_chars(), whole.clone()).expect("in order");
            proptest::prop_assert_eq!(whole_change.apply(&old).expect("made for it"), new);
            let begins = |at: usize| old.line_to_char(old.char_to_line(at)) == at;
            for (index, edit) in whole.iter().enumerate() {
                proptest::prop_assert!(begins(edit.range.start));
                let is_last = index + 1 == whole.len();
                proptest::prop_assert!(is_last || begins(edit.range.end));
            }
        }
    }

    #[test]
    fn edits_inside_of_lines_become_whole_lines() {
        for (before, after, expected) in [
            ("a one b\nx\n", "a 1 b\nx\n", "0..8 a 1 b\n"),
            ("a\nb\nc\n", "a\nB\nc\n", "2..4 B\n"),
            ("a\n", "b\n", "0..1 b"),
            ("a\r\n", "b\r\n", "0..1 b"),
            ("a", "b", "0..1 b"),
            ("a\nb\n", "a\nx\nb\n", "2..2 x\n"),
            ("a\nb\n", "a\n", "2..4 "),
        ] {
            let (old, new) = (Text::new(before), Text::new(after));
            let change = Change::between(&old, &new);
            let whole = whole_lines(change.edits(), &old);
            let seen: Vec<_> =
                whole.iter().map(|edit| format!("{:?} {}", edit.range, edit.insert)).collect();
            assert_eq!(seen, [expected], "{before:?} → {after:?}");
        }
    }

    #[test]
    fn whole_lines_at_the_end_go_in_before_the_last_break() {
        for (base, done, insert, at, expected) in [
            ("a\n", 0, "b\n", 1, "\nb"),
            ("a\r\n", 0, "b\r\n", 1, "\r\nb"),
            ("\n", 0, "b\n", 0, "\nb"),
            ("a\n", 1, "b\n", 1, "\nb"),
            // The break itself was changed before.
            ("a\n", 2, "b\n", 2, "b\n"),
            // No whole line, or none before it.
            ("a\n", 0, "b", 2, "b"),
            ("a", 0, "b\n", 1, "b\n"),
            ("", 0, "b\n", 0, "b\n"),
            ("a\r\n", 0, "b\n", 3, "b\n"),
        ] {
            let base = Text::new(base);
            let end = base.len_chars();
            let edit = Edit { range: end..end, insert: insert.into() };
            let (range, text) = before_the_end(&base, &edit, done);
            assert_eq!((range.clone(), text.as_str()), (at..at, expected), "{base}{insert}");
            let mut after = base.clone();
            after.replace(range, &text);
            assert_eq!(after.to_string(), format!("{base}{insert}"));
        }
    }

    #[test]
    fn texts_that_differ_only_in_the_last_line_break_are_recognised() {
        for (a, b, same) in [
            ("a\nb", "a\nb\n", true),
            ("a\r\nb", "a\r\nb\r\n", true),
            ("a", "a", true),
            ("", "\n", true),
            ("a\n", "a\n\n", false),
            ("a", "a\n\n", false),
            ("a\n", "b\n", false),
            ("a", "ab", false),
        ] {
            assert_eq!(same_but_last_break(&Text::new(a), &Text::new(b)), same, "{a:?} {b:?}");
            assert_eq!(same_but_last_break(&Text::new(b), &Text::new(a)), same, "{b:?} {a:?}");
        }
    }
}
