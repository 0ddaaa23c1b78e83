//! Files with pending edits over restarts: what is recorded of one, and how it goes on from a record.
//!
//! Must never take text of the agent for the user's, nor drop a proposal that no longer stands in the
//! text: it is shown as outdated.

use cairn_core::{
    review::{FileReview, Intent},
    text::Text,
};

use super::{
    file_state::{DecisionUndo, ReviewState},
    flight::InFlight,
    late::{Meaning, TimedOutEdit},
    records::{KeptOutdated, recorded_state, state_of},
    tracked_file::{Recorded, TrackedFile},
};
use crate::store::reviews::{self, Kept};

/// Stored state of a file, with its text on disk.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) kept: Kept<Text>,
    pub(crate) disk: Option<Text>,
    /// It was on its way from the path of this key, and is here.
    pub(crate) left: Option<String>,
}

impl FoundFile {
    /// `disk` reads the file of a key.
    pub(crate) fn find(kept: Kept<Text>, disk: impl Fn(&str) -> Option<Text>) -> Self {
        let text = disk(&kept.key);
        let on_their_way = kept.under_way.iter().chain(&kept.late).filter(|_| text.is_none());
        let mut moves =
            on_their_way.filter_map(|it| match serde_json::from_value(it.what.clone()).ok()? {
                Meaning::Moved { to, fate } => Some((to, fate, it.expected.clone())),
                _ => None,
            });
        let moved = moves.find(|(to, _, base)| disk(to).as_ref() == Some(base));
        let Some((to, fate, base)) = moved else {
            return Self { kept, disk: text, left: None };
        };
        let review = kept.standing.review;
        let standing = reviews::Standing {
            review: review.or_else(|| Some(FileReview::new(base.clone()).snapshot())),
            fate: serde_json::to_value(fate).unwrap_or_default(),
            encoding: kept.standing.encoding,
        };
        let left = Some(kept.key);
        let kept = Kept { key: to, standing, under_way: None, late: Vec::new(), ..kept };
        Self { kept, disk: Some(base), left }
    }
}

impl TrackedFile {
    /// Something of it is undecided, or may be.
    pub(super) fn is_pending(&self) -> bool {
        let lines = self.review.as_ref().is_some_and(|review| !review.is_settled());
        let created = self.review.as_ref().is_some_and(|review| !review.existed());
        lines
            || created
            || self.fate.is_some()
            || self.in_flight.is_some()
            || !self.late.is_empty()
            || !self.outdated.is_empty()
    }

    pub(super) fn kept(&self, key: &str) -> Kept<Text> {
        let outdated: Vec<KeptOutdated> = self.outdated.iter().map(KeptOutdated::of).collect();
        let mut standing = self.standing();
        // What was seen stands in the review already.
        let in_flight = self.in_flight.as_ref().filter(|it| !it.seen);
        if let (None, Some(InFlight { outcome, .. })) = (&standing.review, in_flight) {
            // The first edit of a file: what it is made for is what is accepted.
            standing.review = outcome.base().cloned().map(FileReview::new);
        }
        Kept {
            key: key.to_owned(),
            saveable: self.saveable,
            standing: recorded_state(&standing),
            under_way: in_flight.and_then(|it| TimedOutEdit::of(it).kept()),
            late: self.late.iter().filter_map(TimedOutEdit::kept).collect(),
            rest: serde_json::to_value(outdated).unwrap_or_default(),
        }
    }

    /// The decision whose undo was on its way and has not arrived: it can be undone again.
    pub(super) fn unfinished_undo(&self, key: &str) -> Option<DecisionUndo> {
        let standing = self.late.iter().find_map(TimedOutEdit::unfinished_undo)?;
        let sessions = standing.review.iter().flat_map(FileReview::hunks);
        let told = sessions.flat_map(|hunk| hunk.origin.sessions().cloned()).collect();
        let after = self.review.as_ref().filter(|_| !self.absent).map(|it| it.current().clone());
        let (key, moved_to, accepted) = (key.to_owned(), None, None);
        Some(DecisionUndo { key, standing, after, moved_to, told, accepted })
    }

    pub(super) fn restore(&mut self, kept: &Kept<Text>, text: Option<&Text>) -> Result<(), String> {
        let ReviewState { review, fate, encoding } = state_of(&kept.standing)?;
        let outdated: Vec<KeptOutdated> =
            serde_json::from_value(kept.rest.clone()).map_err(|error| error.to_string())?;
        (self.saveable, self.encoding) = (kept.saveable, encoding);
        self.outdated = outdated.into_iter().map(KeptOutdated::known).collect();
        let late =
            kept.late.iter().chain(&kept.under_way).filter_map(TimedOutEdit::known).collect();
        let recorded = Recorded { review, fate, late };
        self.resume(&recorded, text);
        self.recorded = Some(recorded);
        self.dirty = true;
        Ok(())
    }

    /// Goes on from what was recorded with the text that is there now.
    pub(super) fn resume(&mut self, recorded: &Recorded, text: Option<&Text>) {
        let Recorded { review, fate, late } = recorded.clone();
        (self.review, self.fate) = (review, fate);
        self.absent = text.is_none();
        self.resume_late(late, text);
    }

    /// The text of the file is seen for the first time since, or again. True when that was all
    /// there is to say about it.
    pub(super) fn seen_again(&mut self, text: &Text) -> bool {
        let Some(recorded) = self.recorded.take() else { return false };
        let Some(found) = self.review.as_ref().map(FileReview::current) else { return false };
        if found == text {
            // Nothing of it was unsaved, and something may have been decided since.
            return true;
        }
        // The editor brought back what was not saved: it is nearer to the text of the record, or of
        // an edit that was on its way, than to the one on the disk.
        let nearer = |after: &Text| {
            let intent = Intent { before: found.clone(), after: after.clone() };
            after != found && intent.is_likely_in(text)
        };
        let of_record = recorded.review.as_ref().is_some_and(|review| nearer(review.current()));
        let of_edit = recorded.late.iter().filter_map(|late| late.expected.as_ref()).any(nearer);
        if of_record || of_edit {
            self.outdated.clear();
            self.resume(&recorded, Some(text));
        }
        of_record || of_edit
    }
}
