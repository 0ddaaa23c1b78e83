//! The review of a file as its text arrives: attributes each change to the edit in flight, to a late one or
//! to the user. Must never take text of the agent for the user's.

use cairn_core::{
    change::Change,
    review::{Author, Cause, FileReview},
    text::Text,
};

use super::tracked_file::TrackedFile;

impl TrackedFile {
    /// Compares the text of a document that was opened with the edit in flight; otherwise attributes the
    /// change to others.
    pub(super) fn record_read(&mut self, text: &Text) {
        if let Some(in_flight) = &mut self.in_flight
            && !in_flight.seen
            && (in_flight.transition.after.as_ref() == Some(text) || in_flight.almost(text))
        {
            in_flight.seen = true;
            self.land_as(text);
        } else {
            if self.absent {
                self.returned();
            }
            if self.seen_again(text) || self.late_landed(Some(text)) {
                return;
            }
            if let Some(review) = &mut self.state.review
                && review.current() != text
            {
                self.by_others = true;
                review.reconcile(text);
            }
        }
    }

    /// Changes of one notification in order, each with the text after it. Those up to the one that
    /// produces exactly the expected text are the edit in flight; the others are the user's.
    pub(super) fn changed(&mut self, steps: &[(Change, Text)]) {
        let at = |expected: &Text| steps.iter().position(|(_, text)| text == expected);
        let mut users = steps;
        let in_flight = self.in_flight.as_mut().filter(|in_flight| !in_flight.seen);
        let arrived = in_flight.and_then(|in_flight| {
            let exact = in_flight.transition.after.as_ref().and_then(at);
            let almost = || steps.iter().position(|(_, text)| in_flight.almost(text));
            let found = exact.or_else(almost);
            let is_of_agent = matches!(in_flight.transition.cause, Cause::Call { .. });
            if let (true, Some(before)) = (found.is_some(), in_flight.review_before.take()) {
                // What came before was a part of it.
                self.state.review = before;
            } else if found.is_none() && is_of_agent && in_flight.review_before.is_none() {
                in_flight.review_before = Some(self.state.review.clone());
            }
            in_flight.seen |= found.is_some();
            found
        });
        if let Some(at) = arrived {
            users = &steps[at + 1..];
            self.land_as(&steps[at].1);
        } else if let Some(at) = self.late_in(steps.iter().map(|(_, text)| text)) {
            users = &steps[at + 1..];
            self.late_landed(Some(&steps[at].1));
        }
        let at_once = match (users, &mut self.state.review) {
            ([_, .., (_, after)], Some(review)) if !self.absent => review.step_to(after),
            _ => false,
        };
        for (change, text) in users {
            self.saveable = false;
            self.by_others = true;
            self.recorded = None;
            // A document whose file is gone says nothing of it until it is saved.
            if !self.absent
                && !at_once
                && let Some(review) = &mut self.state.review
            {
                follow(review, change, text, &Author::User);
            }
        }
        self.follow_git();
    }

    /// Applies the edit in flight to the review when the text may differ from it by the last line
    /// break. The text counts, and the break belongs to the author of its line.
    fn land_as(&mut self, text: &Text) {
        self.land();
        let Some(in_flight) = &mut self.in_flight else { return };
        let transition = &mut in_flight.transition;
        if transition.after.as_ref() == Some(text) {
            return;
        }
        transition.after = Some(text.clone());
        let Some(review) = &mut self.state.review else { return };
        let last = review.hunks().last();
        let last = last.filter(|hunk| hunk.new.end == review.current().filled_lines());
        match &transition.cause {
            Cause::Call { origin, .. } if last.is_some_and(|hunk| *hunk.origin == *origin) => {
                let change = Change::between(review.current(), text);
                follow(review, &change, text, &Author::Agent(origin.clone()));
            }
            _ => review.reconcile(text),
        }
    }
}

/// The review follows a change of the text. Should the two ever disagree, the text is right.
pub(super) fn follow(review: &mut FileReview, change: &Change, text: &Text, author: &Author) {
    if let Err(error) = review.apply(change, author) {
        tracing::error!("a review had to be reconciled: {error}");
        review.reconcile(text);
    }
}
