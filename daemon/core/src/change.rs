//! Algebra of edits: apply, map an offset, find the change between two texts.
//!
//! Offsets count chars. A change applies only to a text of the length for which it was made.

use std::{cmp::Ordering, ops::Range};

use crate::text::Text;

mod between;
pub(crate) mod diff;
mod parts;
mod words;

pub(crate) use between::{blocks, spread};
pub(crate) use diff::Blocks;
pub(crate) use parts::{MAX_LINES as MOST_LINES_WITH_PARTS, parts};
pub use words::{WordChange, changed_words};

/// Replaces a range of the old text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub insert: String,
}

/// Simultaneous edits, all in offsets of the old text.
///
/// Invariant: the edits are sorted, no two touch, and none is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    len: usize,
    edits: Vec<Edit>,
}

/// Side to which an offset belongs when text is inserted exactly there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assoc {
    /// Stays before the inserted text.
    Before,
    /// Moves behind the inserted text.
    After,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidChange {
    #[error("the edit {range:?} does not fit a text of {len} characters")]
    OutOfBounds { range: Range<usize>, len: usize },
    #[error("the edits {first:?} and {second:?} overlap")]
    Overlap { first: Range<usize>, second: Range<usize> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a change made for {expected} characters cannot apply to {found}")]
pub struct LengthMismatch {
    pub expected: usize,
    pub found: usize,
}

impl Edit {
    /// Returns the edit for a larger text that contains this one's from `offset` on.
    #[must_use]
    pub fn shifted(&self, by: usize) -> Edit {
        let range = self.range.start + by..self.range.end + by;
        Edit { range, insert: self.insert.clone() }
    }
}

impl Change {
    /// Creates a change from edits in any order. Insertions at the same place keep their order.
    ///
    /// # Errors
    /// If an edit lies outside of the text or two edits overlap.
    pub fn new(len: usize, mut edits: Vec<Edit>) -> Result<Change, InvalidChange> {
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut end = 0..0;
        for Edit { range, .. } in &edits {
            if range.start > range.end || range.end > len {
                return Err(InvalidChange::OutOfBounds { range: range.clone(), len });
            }
            if range.start < end.end {
                return Err(InvalidChange::Overlap { first: end, second: range.clone() });
            }
            end = range.clone();
        }
        Ok(Change::normal(len, edits))
    }

    /// Creates a change of one edit.
    ///
    /// # Errors
    /// If the edit lies outside of the text.
    pub fn single(
        len: usize,
        range: Range<usize>,
        insert: impl Into<String>,
    ) -> Result<Change, InvalidChange> {
        Change::new(len, vec![Edit { range, insert: insert.into() }])
    }

    /// Returns a small change from `old` to `new`: the differing parts of lines, so that cursors,
    /// folds and selections around them survive. It has at most 900 edits.
    #[must_use]
    pub fn between(old: &Text, new: &Text) -> Change {
        Change::normal(old.len_chars(), between::edits(old, new))
    }

    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// # Errors
    /// If the text does not have the length for which the change was made.
    pub fn apply(&self, text: &Text) -> Result<Text, LengthMismatch> {
        if text.len_chars() != self.len {
            return Err(LengthMismatch { expected: self.len, found: text.len_chars() });
        }
        let mut text = text.clone();
        // From the last to the first, so that the offsets of the others stay valid.
        for edit in self.edits.iter().rev() {
            text.replace(edit.range.clone(), &edit.insert);
        }
        Ok(text)
    }

    /// Maps an offset of the old text to the new text. An offset inside replaced text maps to the
    /// edge of the replacement that `assoc` names.
    #[must_use]
    pub fn map_offset(&self, offset: usize, assoc: Assoc) -> usize {
        let mut mapped = offset.min(self.len);
        let offset = mapped;
        for edit in &self.edits {
            let len = edit.insert.chars().count();
            let inserts = edit.range.is_empty();
            match (offset.cmp(&edit.range.start), offset.cmp(&edit.range.end)) {
                (Ordering::Less, _) => break,
                (Ordering::Equal, _) if !inserts => break,
                (Ordering::Equal, _) | (Ordering::Greater, Ordering::Less) => {
                    mapped -= offset - edit.range.start;
                    match assoc {
                        Assoc::Before => {}
                        Assoc::After => mapped += len,
                    }
                    break;
                }
                (Ordering::Greater, Ordering::Equal | Ordering::Greater) => {
                    mapped = mapped - edit.range.len() + len;
                }
            }
        }
        mapped
    }

    /// Joins edits that touch, and drops empty ones. The input must be sorted and disjoint.
    fn normal(len: usize, edits: Vec<Edit>) -> Change {
        let mut normal: Vec<Edit> = Vec::with_capacity(edits.len());
        for edit in edits {
            match normal.last_mut() {
                Some(last) if last.range.end == edit.range.start => {
                    last.range.end = edit.range.end;
                    last.insert.push_str(&edit.insert);
                }
                _ => normal.push(edit),
            }
        }
        normal.retain(|edit| !edit.range.is_empty() || !edit.insert.is_empty());
        Change { len, edits: normal }
    }
}

#[cfg(test)]
mod tests;
