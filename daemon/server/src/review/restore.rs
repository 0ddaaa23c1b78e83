//! Files with pending edits over restarts: what is recorded of one, and how it continues from a record.
//!
//! Must never take text of the agent for the user's, nor drop a proposal that no longer stands in the
//! text: it is shown as outdated.

use cairn_core::{
    ids::FileKey,
    review::{
        DecisionEffects, DecisionUndo, EditPurpose, FileRecord, FileReview, FileState, Intent,
    },
    text::Text,
};

use super::{flight::InFlight, timed_out_edit::TimedOutEdit, tracked_file::TrackedFile};

/// Record of a file, with its text on disk.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) record: FileRecord,
    pub(crate) disk: Option<Text>,
    /// Key of the former path, if a move was under way and the file arrived.
    pub(crate) left: Option<FileKey>,
}

impl FoundFile {
    /// `disk` reads the file of a key.
    pub(crate) fn find(record: FileRecord, disk: impl Fn(&FileKey) -> Option<Text>) -> Self {
        let text = disk(&record.key);
        let on_their_way = record.under_way.iter().chain(&record.late).filter(|_| text.is_none());
        let mut moves = on_their_way.filter_map(|edit| match &edit.purpose {
            EditPurpose::Moved { to, operation } => Some((to, operation, &edit.expected)),
            _ => None,
        });
        let moved = moves.find(|(to, _, base)| disk(to).as_ref() == Some(base));
        let Some((to, operation, base)) = moved else {
            return Self { record, disk: text, left: None };
        };
        let FileState { review, form, .. } = &record.state;
        let review = review.clone().unwrap_or_else(|| FileReview::new(base.clone()));
        let state = FileState { review: Some(review), operation: operation.clone(), form: *form };
        let (key, base) = (to.clone(), base.clone());
        let left = Some(record.key);
        let record = FileRecord { key, state, under_way: None, late: Vec::new(), ..record };
        Self { record, disk: Some(base), left }
    }
}

impl TrackedFile {
    /// Returns true if a change of it is undecided, or may become so.
    pub(super) fn is_pending(&self) -> bool {
        let lines = self.state.review.as_ref().is_some_and(|review| !review.is_settled());
        let created = self.state.review.as_ref().is_some_and(|review| !review.existed());
        lines
            || created
            || self.state.operation.is_some()
            || self.in_flight.is_some()
            || !self.late.is_empty()
            || !self.outdated.is_empty()
    }

    pub(super) fn record(&self, key: &FileKey) -> FileRecord {
        let mut state = self.state.clone();
        // What was seen stands in the review already.
        let in_flight = self.in_flight.as_ref().filter(|it| !it.seen);
        if let (None, Some(InFlight { transition, .. })) = (&state.review, in_flight) {
            // The first edit of a file: what it is made for is what is accepted.
            state.review = transition.base().cloned().map(FileReview::new);
        }
        FileRecord {
            key: key.to_owned(),
            saveable: self.saveable,
            state,
            under_way: in_flight.map(|it| TimedOutEdit::of(it).record()),
            late: self.late.iter().map(TimedOutEdit::record).collect(),
            outdated: self.outdated.clone(),
        }
    }

    /// The decision whose undo was on its way and has not arrived: it can be undone again.
    pub(super) fn unfinished_undo(&self, key: &FileKey) -> Option<DecisionUndo> {
        let state = self.late.iter().find_map(TimedOutEdit::unfinished_undo)?;
        let sessions = state.review.iter().flat_map(FileReview::hunks);
        let notified = sessions.flat_map(|hunk| hunk.origin.sessions().cloned()).collect();
        let after =
            self.state.review.as_ref().filter(|_| !self.absent).map(|it| it.current().clone());
        let effects = DecisionEffects { notified, ..DecisionEffects::default() };
        Some(DecisionUndo { key: key.to_owned(), state, after, effects })
    }

    pub(super) fn restore(&mut self, record: &FileRecord, text: Option<&Text>) {
        (self.saveable, self.state.form) = (record.saveable, record.state.form);
        self.outdated.clone_from(&record.outdated);
        self.resume(record, text);
        self.disk.text = text.cloned();
        self.recorded = Some(Box::new(record.clone()));
        self.dirty = true;
    }

    /// Continues from what was recorded with the present text.
    pub(super) fn resume(&mut self, record: &FileRecord, text: Option<&Text>) {
        self.state = FileState { form: self.state.form, ..record.state.clone() };
        self.absent = text.is_none();
        self.resume_late(on_their_way(record), text);
        if !self.absent {
            self.returned();
        }
    }

    /// The text of the file is seen for the first time since, or again. True when that was all
    /// there is to say about it.
    pub(super) fn seen_again(&mut self, text: &Text) -> bool {
        let Some(recorded) = self.recorded.take() else { return false };
        let Some(found) = self.state.review.as_ref().map(FileReview::current) else { return false };
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
        let edits = on_their_way(&recorded);
        let review = recorded.state.review.as_ref();
        let of_record = review.is_some_and(|review| nearer(review.current()));
        let of_edit = edits.iter().filter_map(|late| late.transition.after.as_ref()).any(nearer);
        // An edit that did not arrive was made for another text than the present one.
        let is_missed = !edits.is_empty() && review.is_some_and(|review| review.current() == found);
        let ongoing = of_record || of_edit || is_missed;
        if ongoing {
            self.outdated.clear();
            self.resume(&recorded, Some(text));
        }
        ongoing
    }
}

fn on_their_way(record: &FileRecord) -> Vec<TimedOutEdit> {
    let edits = record.late.iter().chain(&record.under_way);
    edits.filter_map(TimedOutEdit::of_record).collect()
}
