//! Composition of two successive changes.

use std::iter::Peekable;

use super::super::{Change, Edit};

/// Step of a walk over the old text of a change.
enum Step {
    Keep(usize),
    Remove(usize),
    Insert(String),
}

/// Returns the edits of `first` followed by `second`. The lengths must fit.
pub(super) fn edits(first: &Change, second: &Change) -> Vec<Edit> {
    let mut first = Walk(steps(first).into_iter().peekable());
    let mut out = Out::default();
    for step in steps(second) {
        match step {
            Step::Insert(text) => out.insert(&text),
            Step::Keep(count) => first.take(count, &mut out, Out::keep, Out::insert),
            Step::Remove(count) => first.take(count, &mut out, Out::remove, |_, _| {}),
        }
    }
    // Removals of `first` at the end give no text for `second` to walk over.
    first.take(usize::MAX, &mut out, Out::keep, Out::insert);
    out.edits
}

fn steps(change: &Change) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = 0;
    for edit in &change.edits {
        steps.push(Step::Keep(edit.range.start - at));
        steps.push(Step::Remove(edit.range.len()));
        steps.push(Step::Insert(edit.insert.clone()));
        at = edit.range.end;
    }
    steps.push(Step::Keep(change.len - at));
    steps
}

struct Walk<I: Iterator<Item = Step>>(Peekable<I>);

impl<I: Iterator<Item = Step>> Walk<I> {
    /// Advances by `count` chars of the middle text. Calls `kept` for chars of the old text, and
    /// `inserted` for chars that the first change inserted.
    fn take(
        &mut self,
        mut count: usize,
        out: &mut Out,
        kept: impl Fn(&mut Out, usize),
        inserted: impl Fn(&mut Out, &str),
    ) {
        while let Some(step) = self.0.peek_mut() {
            match step {
                Step::Remove(removed) => {
                    out.remove(*removed);
                    self.0.next();
                    continue;
                }
                Step::Keep(0) => {
                    self.0.next();
                    continue;
                }
                Step::Insert(text) if text.is_empty() => {
                    self.0.next();
                    continue;
                }
                _ if count == 0 => return,
                Step::Keep(left) => {
                    let taken = count.min(*left);
                    *left -= taken;
                    count -= taken;
                    kept(out, taken);
                }
                Step::Insert(text) => {
                    let (chars, bytes) = prefix(text, count);
                    inserted(out, &text[..bytes]);
                    text.drain(..bytes);
                    count -= chars;
                }
            }
        }
    }
}

/// Returns the chars and bytes of the first `count` chars of a text, or of all.
fn prefix(text: &str, count: usize) -> (usize, usize) {
    match text.char_indices().nth(count) {
        Some((bytes, _)) => (count, bytes),
        None => (text.chars().count(), text.len()),
    }
}

/// Builder of edits.
#[derive(Default)]
struct Out {
    at: usize,
    edits: Vec<Edit>,
}

impl Out {
    fn keep(&mut self, count: usize) {
        self.at += count;
    }

    fn remove(&mut self, count: usize) {
        let end = self.at + count;
        self.open().range.end = end;
        self.at = end;
    }

    fn insert(&mut self, text: &str) {
        self.open().insert.push_str(text);
    }

    /// Returns the edit that ends here, or a new one.
    fn open(&mut self) -> &mut Edit {
        let at = self.at;
        let continues = self.edits.last().is_some_and(|last| last.range.end == at);
        let index = if continues { self.edits.len() - 1 } else { self.edits.len() };
        if !continues {
            self.edits.push(Edit { range: at..at, insert: String::new() });
        }
        &mut self.edits[index]
    }
}
