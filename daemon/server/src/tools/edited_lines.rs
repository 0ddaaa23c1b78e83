//! Lines around a change, with their numbers, for the model. Pure.

use std::ops::Range;

use cairn_core::{change::Change, marks::ModelText, text::Text};

/// Lines of context before and after a change.
const AROUND: usize = 3;
/// Most lines of a result.
const MOST_LINES: usize = 20;
/// Longest line that is shown whole, in characters.
const MOST_CHARS: usize = 300;

/// Adds the new lines with their context to a result. Without them an edit at a wrong place looks right.
pub(super) fn add(out: &mut ModelText, before: &Text, after: &Text) {
    let spans = spans(&Change::between(before, after), after);
    let mut left = MOST_LINES;
    let mut shown = String::new();
    for (at, span) in spans.iter().enumerate() {
        if at > 0 && left > 0 {
            shown += "…\n";
        }
        shown += &numbered(after, span.start..span.end.min(span.start + left));
        left = left.saturating_sub(span.len());
    }
    out.add(shown.trim_end_matches('\n'));
    let lines: usize = spans.iter().map(Range::len).sum();
    if lines > MOST_LINES {
        out.own(&format!(
            "{} more lines are around this change; read the file for them.",
            lines - MOST_LINES
        ));
    }
}

/// Ranges of lines in the new text, each a change or several that are near each other.
fn spans(change: &Change, after: &Text) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let (mut removed, mut inserted) = (0, 0);
    for edit in change.edits() {
        let start = edit.range.start - removed + inserted;
        let length = edit.insert.chars().count();
        removed += edit.range.len();
        inserted += length;
        let first = after.char_to_line(start).saturating_sub(AROUND);
        let last = after.char_to_line(start + length.saturating_sub(1)) + AROUND;
        let end = (last + 1).min(after.filled_lines());
        match spans.last_mut() {
            Some(span) if first <= span.end => span.end = span.end.max(end),
            Some(_) | None => spans.push(first.min(end)..end),
        }
    }
    spans
}

/// The lines as `read_file` shows them.
pub(super) fn numbered(text: &Text, lines: Range<usize>) -> String {
    let mut out = String::new();
    for (line, whole) in text.lines_from(lines.start).enumerate().take(lines.len()) {
        let shown: String = whole.chars().take(MOST_CHARS).collect();
        let number = lines.start + line + 1;
        out += &format!("{number}\t{}\n", shown.trim_end_matches(['\n', '\r']));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let mut out = ModelText::from("Edited.");
        add(&mut out, &Text::new(before), &Text::new(after));
        out.into()
    }

    fn lines(count: usize) -> String {
        (1..=count).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn a_change_is_shown_with_its_context() {
        let before = lines(30);
        let after = before.replace("line 9\n", "new\r\nlines\r\n").replace("line 25\n", "");
        expect![[r#"
            Edited.
            6	line 6
            7	line 7
            8	line 8
            9	new
            10	lines
            11	line 10
            12	line 11
            13	line 12
            …
            23	line 22
            24	line 23
            25	line 24
            26	line 26
            27	line 27
            28	line 28
            29	line 29"#]]
        .assert_eq(&shown(&before, &after));
        expect!["Edited.\n1\tx"].assert_eq(&shown("", "x"));
        expect!["Edited."].assert_eq(&shown("x\n", ""));
        expect!["Edited.\n1\ta\n2\tc"].assert_eq(&shown("a\nb\nc", "a\nc"));
    }

    #[test]
    fn a_large_change_is_cut() {
        let (before, after) = (lines(1_000), lines(1_000).replace("line", "row"));
        let shown = shown(&before, &after);
        assert_eq!(shown.lines().count(), 22, "{shown}");
        assert!(
            shown.ends_with(
                "20\trow 20\n[cairn] 980 more lines are around this change; read the file for them."
            ),
            "{shown}"
        );
        let marked = super::tests::shown("a\n", &format!("[cairn] {}\n", "é".repeat(1_000)));
        assert!(marked.starts_with("Edited.\n1\t[cairn] éé") && marked.len() < 700, "{marked}");
    }
}
