//! Edits of the agent that arrive with another text than the intended one, because an editor counts
//! columns wrongly or changes inserted text. Must never count the user's typing as the agent's.

use cairn_core::{
    change::{Change, Edit},
    review::{Author, FileReview, Transition},
    text::Text,
};

use super::{follow::follow, tracked_file::TrackedFile};

/// The text between the user's changes and the agent's.
struct Split {
    /// The user's change of the base.
    by_user: Change,
    after_user: Text,
}

impl TrackedFile {
    /// Checks, when the edit in flight times out, whether it is in the document with another text. That
    /// part is then treated as the agent's, so that the user can reject it. Returns its transition.
    pub(super) fn recover_mismatched(&mut self, now: &Text) -> Option<Transition> {
        let in_flight = self.in_flight.as_mut().filter(|edit| !edit.seen)?;
        let base = in_flight.transition.base()?;
        let split = split(base, in_flight.transition.after.as_ref()?, now)?;
        let before = in_flight.review_before.take()?;
        let mut review = before.unwrap_or_else(|| FileReview::new(base.clone()));
        let transition = Transition {
            before: Some(split.after_user.clone()),
            after: Some(now.clone()),
            cause: in_flight.transition.cause.clone(),
        };
        follow(&mut review, &split.by_user, &split.after_user, &Author::User);
        self.state.review = Some(review);
        self.dirty = true;
        self.land_now(&transition);
        Some(transition)
    }
}

/// Separates the agent's part of a text from the user's; `None` if the edit has not arrived. The edit has
/// arrived if a line that it inserts is new in its place, and a line that it replaces is gone.
fn split(base: &Text, expected: &Text, now: &Text) -> Option<Split> {
    let (intended, arrived) = (Change::between(base, expected), Change::between(base, now));
    let lines =
        |edit: &Edit| base.char_to_line(edit.range.start)..=base.char_to_line(edit.range.end);
    let touches = |edit: &Edit, other: &Edit| {
        let (a, b) = (lines(edit), lines(other));
        a.start() <= b.end() && b.start() <= a.end()
    };
    let (of_agent, of_user): (Vec<&Edit>, Vec<&Edit>) = arrived
        .edits()
        .iter()
        .partition(|edit| intended.edits().iter().any(|other| touches(edit, other)));
    // The whole lines of an edit, before and after it.
    let around = |edit: &Edit| {
        let start = base.line_to_char(*lines(edit).start());
        let end = base.line_to_char(*lines(edit).end() + 1);
        let (head, tail) = (base.slice(start..edit.range.start), base.slice(edit.range.end..end));
        (base.slice(start..end), format!("{head}{}{tail}", edit.insert))
    };
    let has_arrived = |wanted: &Edit| {
        let (old, new) = around(wanted);
        let (gone, come) = (longest_missing(&old, &new), longest_missing(&new, &old));
        let count = |text: &str, line: Option<&str>| line.map_or(0, |it| text.matches(it).count());
        of_agent.iter().any(|edit| {
            let (before, after) = around(edit);
            let stays = gone.is_some() && count(&after, gone) >= count(&before, gone);
            count(&after, come) > count(&before, come) && !stays
        })
    };
    if !intended.edits().iter().any(has_arrived) {
        return None;
    }
    let by_user = Change::new(base.len_chars(), of_user.into_iter().cloned().collect()).ok()?;
    let after_user = by_user.apply(base).ok()?;
    Some(Split { by_user, after_user })
}

/// The longest line of a text that the other has not, without the space around it.
fn longest_missing<'a>(text: &'a str, other: &str) -> Option<&'a str> {
    let lines = text.lines().map(str::trim);
    let missing =
        lines.filter(|line| !line.is_empty() && !other.lines().any(|it| it.trim() == *line));
    missing.max_by_key(|line| line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatched_edit_is_separated_from_typed_text() {
        for (base, expected, now, after_user) in [
            // Changed, or not in its place.
            ("one\ntwo\n", "1\ntwo\n", "1;\ntwo\n", Some("one\ntwo\n")),
            ("😀 one", "😀 two", "😀 two one", Some("😀 one")),
            ("one\n", "one\ntwo\nthree\n", "one\n  two\n  three\n", Some("one\n")),
            // Besides, the user typed elsewhere.
            ("one\nx\ny\nz\n", "1\nx\ny\nz\n", "1;\nx\ny\nzz\n", Some("one\nx\ny\nzz\n")),
            // Not there: the user typed, in the same line or in another.
            ("one\ntwo\n", "1\ntwo\n", "one!\ntwo\n", None),
            ("one\ntwo\n", "1\ntwo\n", "one\ntwo\nthree\n", None),
            ("one\ntwo\n", "1\ntwo\n", "one\ntwo\n", None),
            ("one 1\n", "1 1\n", "onee 1\n", None),
            ("one\n", "1\n", "one 1\n", None),
            // An edit that only removes text cannot be recognised.
            ("one\ntwo\n", "two\n", "ne\ntwo\n", None),
        ] {
            let [old, expected, now] = [base, expected, now].map(Text::new);
            let split = split(&old, &expected, &now);
            let seen = split.map(|split| split.after_user.to_string());
            assert_eq!(seen.as_deref(), after_user, "{base:?} → {now:?}");
        }
    }
}
