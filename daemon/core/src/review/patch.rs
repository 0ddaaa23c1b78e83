//! A proposal as a unified diff.

use std::{fmt::Write, ops::Range};

use super::{Author, FileReview, Hunk, Origin};
use crate::{change::Change, text::Text};

const CONTEXT: usize = 3;

/// Returns the unified diff of two texts; a `before` of `None` means that the file did not exist.
pub fn between(before: Option<&Text>, after: &Text, path: &str) -> String {
    let mut review = before.map_or_else(FileReview::created, |it| FileReview::new(it.clone()));
    let change = Change::between(review.current(), after);
    match review.apply(&change, &Author::Agent(Origin::default())) {
        Ok(()) => review.unified_patch(None, path),
        // The change was made from this very text.
        Err(_) => String::new(),
    }
}

/// The given hunks, sorted, as changes of the baseline: it applies to that text.
pub(super) fn unified(review: &FileReview, hunks: &[&Hunk], path: &str) -> String {
    if hunks.is_empty() {
        return String::new();
    }
    let from = if review.existed() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let mut out = format!("--- {from}\n+++ b/{path}\n");
    let lines = review.baseline().filled_lines();
    // Number of lines added and removed so far.
    let (mut added, mut removed) = (0, 0);
    for group in hunks.chunk_by(|a, b| b.old.start - a.old.end <= 2 * CONTEXT) {
        let [first, ..] = group else { continue };
        let last = group[group.len() - 1];
        let span = first.old.start.saturating_sub(CONTEXT)..(last.old.end + CONTEXT).min(lines);
        let start = span.start + added - removed;
        added += group.iter().map(|hunk| hunk.new.len()).sum::<usize>();
        removed += group.iter().map(|hunk| hunk.old.len()).sum::<usize>();
        let new = start..span.end + added - removed;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "@@ -{} +{} @@", numbers(&span), numbers(&new));
        let mut at = span.start;
        for hunk in group {
            write_lines(&mut out, ' ', review.baseline(), at..hunk.old.start);
            write_lines(&mut out, '-', review.baseline(), hunk.old.clone());
            write_lines(&mut out, '+', review.current(), hunk.new.clone());
            at = hunk.old.end;
        }
        write_lines(&mut out, ' ', review.baseline(), at..span.end);
    }
    out
}

/// First line and count. An empty range names the line before it.
fn numbers(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn write_lines(out: &mut String, sign: char, text: &Text, lines: Range<usize>) {
    for line in lines {
        let line = text.lines_slice(line..line + 1);
        out.push(sign);
        out.push_str(&line);
        if !line.ends_with('\n') {
            out.push('\n');
            if !line.ends_with('\r') {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
}
