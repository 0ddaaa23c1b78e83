//! Intent of an edit: the text before it and the text after it.
//!
//! An edit that was sent to an editor may reach the text late, or after a restart. Meanwhile the user
//! may type. An intent says if a text holds the edit, and makes a review follow it. Must never take
//! lines of the edit for the user's.

use std::ops::Range;

use super::{Author, FileReview, HunkId, Origin, Outdated};
use crate::{
    change::{self, Assoc, Change, Edit},
    text::Text,
};

/// Text before an edit and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    pub before: Text,
    pub after: Text,
}

impl Intent {
    /// True if every line of the edit stands in the text, and no line that it replaces.
    #[must_use]
    pub fn is_whole_in(&self, text: &Text) -> bool {
        let (old, new, all) = self.standing(text);
        *text == self.after || (old < all && new == all)
    }

    /// True if the text is more likely one with the edit than one without it. In doubt it is: a
    /// proposal too many can be accepted, but text that passes for the user's cannot be rejected.
    #[must_use]
    pub fn is_likely_in(&self, text: &Text) -> bool {
        if *text == self.after {
            return true;
        }
        if *text == self.before {
            return false;
        }
        let (old, new, _) = self.standing(text);
        if old == new {
            // Whole lines of the user may have characters in common with a line that the edit deleted.
            distance(&self.after, text) <= 2 * distance(&self.before, text)
        } else {
            old < new
        }
    }

    /// The same edit for a text in which the lines it replaces still stand. `None`: they do not.
    #[must_use]
    pub fn rebased(&self, text: &Text) -> Option<Change> {
        let meanwhile = Change::between(&self.before, text);
        let mut edits = Vec::new();
        for edit in Change::between(&self.before, &self.after).edits() {
            let start = meanwhile.map_offset(edit.range.start, Assoc::After);
            let end = meanwhile.map_offset(edit.range.end, Assoc::Before).max(start);
            if text.slice(start..end) != self.before.slice(edit.range.clone()) {
                return None;
            }
            edits.push(Edit { range: start..end, insert: edit.insert.clone() });
        }
        Change::new(text.len_chars(), edits).ok()
    }

    /// Number of places of the edit whose old lines stand in the text, of those whose new lines do,
    /// and of all.
    fn standing(&self, text: &Text) -> (usize, usize, usize) {
        let places = change::blocks(&self.before, &self.after);
        let (from_before, from_after) =
            (change::blocks(&self.before, text), change::blocks(&self.after, text));
        let stands = |lines: &Range<usize>, blocks: &change::Blocks| {
            !blocks.iter().any(|(changed, _)| touches(changed, lines))
        };
        let old = places.iter().filter(|(old, _)| stands(old, &from_before)).count();
        let new = places.iter().filter(|(_, new)| stands(new, &from_after)).count();
        (old, new, places.len())
    }
}

/// An empty range is a place between two lines.
fn touches(changed: &Range<usize>, lines: &Range<usize>) -> bool {
    match (changed.is_empty(), lines.is_empty()) {
        (false, false) => changed.start < lines.end && lines.start < changed.end,
        (true, false) => lines.start < changed.start && changed.start < lines.end,
        (_, true) => changed.start <= lines.start && lines.start <= changed.end,
    }
}

/// Number of characters that go and come.
fn distance(from: &Text, to: &Text) -> usize {
    let change = Change::between(from, to);
    change.edits().iter().map(|edit| edit.range.len() + edit.insert.chars().count()).sum()
}

impl FileReview {
    /// Follows an edit that has reached the text, wherever the user has typed since.
    pub fn apply_intent(&mut self, intent: &Intent, author: &Author) {
        let change = intent.rebased(self.current()).unwrap_or_else(|| {
            // Parts of the edit came before as if the user had typed them.
            self.reconcile(&intent.before);
            Change::between(self.current(), &intent.after)
        });
        if self.apply(&change, author).is_err() {
            self.reconcile(&intent.after);
        }
    }

    /// The places of an edit that never reached the text, as outdated proposals.
    pub fn missed(&mut self, intent: &Intent, origin: &Origin) -> Vec<Outdated> {
        let meanwhile = Change::between(&intent.before, self.current());
        let places = change::blocks(&intent.before, &intent.after);
        let outdated = places.into_iter().map(|(old, new)| {
            let start = intent.before.line_to_char(old.start);
            let line = self.current().char_to_line(meanwhile.map_offset(start, Assoc::Before));
            self.next_id += 1;
            Outdated {
                id: HunkId(self.next_id - 1),
                origin: origin.clone().into(),
                old_text: intent.before.lines_slice(old),
                new_text: intent.after.lines_slice(new),
                line,
            }
        });
        outdated.collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::OwnText, *};

    fn intent(before: &str, after: &str) -> Intent {
        Intent { before: Text::new(before), after: Text::new(after) }
    }

    #[test]
    fn an_edit_is_recognised_in_a_later_text() {
        // The text before, the text after, the text found; whole, likely.
        for (before, after, text, whole, likely) in [
            ("a\nb\nc\n", "a\nX\nc\n", "a\nb\nc\n", false, false),
            ("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", true, true),
            // The user typed elsewhere.
            ("a\nb\nc\n", "a\nX\nc\n", "u\na\nX\nc\n", true, true),
            ("a\nb\nc\n", "a\nX\nc\n", "u\na\nb\nc\n", false, false),
            ("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\nu\n", true, true),
            // The user typed in the lines of the edit.
            ("a\nb\nc\n", "a\nagent\nc\n", "a\nagents\nc\n", false, true),
            ("a\nbee\nc\n", "a\nagent\nc\n", "a\nbees\nc\n", false, false),
            // Insertions and deletions.
            ("a\nc\n", "a\nb\nc\n", "a\nc\nu\n", false, false),
            ("a\nc\n", "a\nb\nc\n", "a\nb\nc\nu\n", true, true),
            ("a\nb\nc\nd\n", "a\nd\n", "u\na\nd\n", true, true),
            ("a\nb\nc\nd\n", "a\nd\n", "u\na\nb\nc\nd\n", false, false),
            // The user typed lines where the edit deleted one that resembles them.
            ("base 0 of f\nb\n", "b\n", "user 0 of f\nuser 1 of f\nb\n", false, true),
            // One of two places.
            ("a\nb\nc\nd\n", "X\nb\nc\nY\n", "X\nb\nc\nd\n", false, true),
            ("", "a\nb\n", "a\nb\nu\n", true, true),
        ] {
            let intent = intent(before, after);
            let found = Text::new(text);
            assert_eq!(intent.is_whole_in(&found), whole, "{before:?} → {after:?}: {text:?}");
            assert_eq!(intent.is_likely_in(&found), likely, "{before:?} → {after:?}: {text:?}");
        }
    }

    #[test]
    fn a_review_follows_an_edit_that_came_late() {
        let intent = intent("a\nb\nc\n", "a\nX\nc\n");
        let mut review = FileReview::new(intent.before.clone());
        let typed = Text::new("u\na\nb\nc\n");
        review.reconcile(&typed);
        review.apply_intent(&intent, &Author::Agent(Origin::default()));
        assert_eq!(review.current().to_string(), "u\na\nX\nc\n");
        assert_eq!(review.hunks().len(), 1);
        review.reject(&review.ids(), OwnText::Keep);
        assert_eq!(*review.current(), typed);
    }

    #[test]
    fn an_edit_that_never_came_is_outdated_where_it_would_be() {
        let intent = intent("a\nb\nc\n", "a\nX\nc\n");
        let mut review = FileReview::new(Text::new("u\na\nb\nc\n"));
        let missed = review.missed(&intent, &Origin::default());
        assert_eq!(missed.len(), 1);
        let Outdated { old_text, new_text, line, .. } = &missed[0];
        assert_eq!((old_text.as_str(), new_text.as_str(), *line), ("b\n", "X\n", 2));
    }

    proptest! {
        /// The user types another line between the lines; the edit is in or not.
        #[test]
        fn an_edit_is_found_beside_what_the_user_typed(
            lines in proptest::collection::vec("[a-e]{1,3}", 3..9),
            at in any::<proptest::sample::Index>(),
            typed in any::<proptest::sample::Index>(),
            new in "[XYZ]{1,3}",
        ) {
            let join = |lines: &[String]| -> String { lines.iter().map(|it| format!("{it}\n")).collect() };
            let mut after = lines.clone();
            after[at.index(lines.len())] = new;
            let intent = intent(&join(&lines), &join(&after));
            let typed = typed.index(lines.len() + 1);
            for (text, is_in) in [(&lines, false), (&after, true)] {
                let mut text = text.clone();
                text.insert(typed, "user".into());
                prop_assert_eq!(intent.is_likely_in(&Text::new(&join(&text))), is_in);
            }
        }

        /// To reject everything gives what the user would have.
        #[test]
        fn an_edit_that_came_late_can_be_rejected(
            before in "[ab\n]{0,10}", after in "[ab\n]{0,10}", typed in "[abu\n]{0,10}",
        ) {
            let intent = intent(&before, &after);
            let mut review = FileReview::new(intent.before.clone());
            review.reconcile(&Text::new(&typed));
            review.apply_intent(&intent, &Author::Agent(Origin::default()));
            prop_assert!(review.check_invariants().is_ok());
        }
    }
}
