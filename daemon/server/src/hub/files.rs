//! The files the agent has proposed something for, and what the client is told of them.
//!
//! Must never send an edit or read a file: `edits` and `documents` do.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_core::{
    change::Change,
    review::{Author, FileReview, Origin, Outdated},
    text::{FileEncoding, Text},
};
use cairn_protocol::{ChildItem, FileKind, Hunk, Notice, Position, Range, ReviewNotification};

use super::{
    Hub,
    edits::{InFlight, Landing, Late, Outcome, Undecided, Work, accept_of},
    fates::{Fate, FateKind},
    notices,
    pending::{Recorded, place},
    seen::Seen,
};
use crate::workspace::path_of;

#[derive(Debug, Default)]
pub(super) struct Files {
    /// By canonical URI.
    pub(super) entries: HashMap<String, Entry>,
    pub(super) tickets: u64,
    /// URI and path of files that were shown and are elsewhere now: the client is told.
    pub(super) left: Vec<(String, String)>,
    /// Folders that were made for files of the agent.
    pub(super) made: BTreeSet<PathBuf>,
    /// Keys of open documents whose own path leads there by symbolic links.
    pub(super) links: HashMap<String, String>,
    pub(super) seen: Seen,
    /// Counts reads of the disk.
    reads: AtomicU64,
    /// Of each file the newest read that was heard of.
    heard: HashMap<String, u64>,
}

/// Files whose newest read is remembered; only reads that overtake each other need it.
const READS_KEPT: usize = 1_000;

impl Files {
    pub(super) fn next_read(&self) -> u64 {
        self.reads.fetch_add(1, Ordering::Relaxed)
    }

    /// Reads of one file may overtake each other: what an older one says is out of date.
    pub(super) fn is_news(&mut self, key: &str, read: u64) -> bool {
        if self.heard.len() >= READS_KEPT {
            self.heard.clear();
        }
        let newest = self.heard.entry(key.to_owned()).or_insert(read);
        *newest = (*newest).max(read);
        *newest == read
    }
}

/// A file the agent has proposed something for.
#[derive(Debug)]
pub(super) struct Entry {
    /// As the client spells it when the document is open, else as we do.
    pub(super) uri: String,
    /// Relative to the workspace, for people.
    pub(super) path: String,
    pub(super) review: Option<FileReview>,
    /// What the agent did to the file as a whole.
    pub(super) fate: Option<Fate>,
    /// Encoding of the file when the agent last changed it.
    pub(super) encoding: FileEncoding,
    /// There is no such file. If it comes back, so does what is undecided in it.
    pub(super) absent: bool,
    pub(super) queue: VecDeque<Work>,
    pub(super) in_flight: Option<InFlight>,
    /// Of the newest edit: what was read before it is out of date.
    pub(super) newest_ticket: u64,
    pub(super) undecided: Vec<Undecided>,
    /// Edits that were given up and may still arrive, oldest first.
    pub(super) late: Vec<Late>,
    /// Those that have arrived since the last publication.
    pub(super) landed: Vec<Late>,
    /// As it was written down by another process, until its text goes on from there.
    pub(super) recorded: Option<Recorded>,
    /// Proposals of which nothing stands in the text.
    pub(super) outdated: Vec<Outdated>,
    /// Rejections under way. Their calls go on when the model's session knows of them.
    pub(super) rejecting: u32,
    /// The document was clean before the agent touched it, and the user typed nothing since: it
    /// may be saved for the agent's sake.
    pub(super) saveable: bool,
    pub(super) dirty: bool,
    /// Somebody else than the agent changed the text since this was last asked.
    pub(super) by_others: bool,
    /// What the client was told last, and at which `rev` each hunk last changed.
    pub(super) published: Vec<(Hunk, u32)>,
    pub(super) rev: u32,
}

impl Hub {
    pub(super) fn publish_reviews(&mut self) {
        let mut keys: Vec<String> = self
            .files
            .entries
            .iter()
            .filter(|(_, entry)| entry.dirty)
            .map(|(key, _)| key.clone())
            .collect();
        keys.sort();
        for (uri, path) in std::mem::take(&mut self.files.left) {
            let rev = self.next_rev();
            self.editor.notify(Notice::Review(ReviewNotification {
                uri,
                path,
                rev,
                version: None,
                kind: FileKind::Edited,
                from: None,
                hunks: Vec::new(),
            }));
        }
        for key in keys {
            let rev = self.next_rev();
            let version = self.docs.get(&key).map(|document| document.version);
            let Some(entry) = self.files.entries.get_mut(&key) else { continue };
            entry.dirty = false;
            let by_others = std::mem::take(&mut entry.by_others);
            let landed = std::mem::take(&mut entry.landed);
            entry.answer_decided();
            let was_empty = entry.published.is_empty();
            entry.publish(rev);
            let from = entry.moved_from();
            let kept =
                entry.absent && entry.review.as_ref().is_some_and(|review| !review.is_settled());
            let at_rest = entry.queue.is_empty()
                && entry.in_flight.is_none()
                && entry.late.is_empty()
                && entry.undecided.is_empty();
            let from = from.map(|path| self.display(&path));
            let Some(entry) = self.files.entries.get(&key) else { continue };
            let notification = entry.notification(version, from);
            let is_empty = notification.hunks.is_empty();
            if !is_empty {
                self.agent_changed(&key);
            } else if !was_empty {
                let reviewed = entry.review.as_ref().map(|review| review.current().clone());
                self.user_decided(&key, reviewed);
            }
            if !(was_empty && is_empty) {
                self.editor.notify(Notice::Review(notification));
            }
            if is_empty && version.is_none() && at_rest && !kept {
                self.files.entries.remove(&key);
            }
            self.keep_file(&key);
            for late in landed {
                self.late_edit_landed(&key, late);
            }
            if by_others {
                self.remember_touched(&key);
            }
        }
    }

    /// Calls of a turn that is over wait for nobody any more.
    pub(super) fn stop_waiting(&mut self, turn_id: &str) {
        for entry in self.files.entries.values_mut() {
            entry.undecided.retain(|undecided| undecided.origin.doer().1 != turn_id);
        }
    }

    pub(super) fn reviews(&self) -> Vec<ReviewNotification> {
        let mut reviews: Vec<_> = self
            .files
            .entries
            .iter()
            .filter(|(_, entry)| !entry.published.is_empty())
            .map(|(key, entry)| {
                let from = entry.moved_from().map(|path| self.display(&path));
                entry.notification(self.docs.get(key).map(|document| document.version), from)
            })
            .collect();
        reviews.sort_by(|a, b| a.path.cmp(&b.path));
        reviews
    }

    pub(super) fn display(&self, path: &Path) -> String {
        match &self.workspace {
            Some(workspace) => workspace.display(path),
            None => path.display().to_string(),
        }
    }
}

impl Entry {
    pub(super) fn new(uri: String, path: String) -> Self {
        Self {
            uri,
            path,
            review: None,
            fate: None,
            encoding: FileEncoding::UTF_8,
            absent: false,
            queue: VecDeque::new(),
            in_flight: None,
            newest_ticket: 0,
            undecided: Vec::new(),
            late: Vec::new(),
            landed: Vec::new(),
            recorded: None,
            outdated: Vec::new(),
            rejecting: 0,
            saveable: false,
            dirty: false,
            by_others: false,
            published: Vec::new(),
            rev: 0,
        }
    }

    /// Lets the calls go on of which nothing is pending any more.
    fn answer_decided(&mut self) {
        if self.rejecting > 0 {
            return;
        }
        let (pending, decided) = std::mem::take(&mut self.undecided)
            .into_iter()
            .partition(|undecided| self.pending().any(|origin| *origin == undecided.origin));
        self.undecided = pending;
        for Undecided { answer, reply, .. } in decided {
            drop(reply.send(answer));
        }
    }

    /// Under which calls that was done which can be decided.
    fn pending(&self) -> impl Iterator<Item = &Origin> {
        let of_file = self.fate.iter().map(|fate| &fate.origin);
        of_file.chain(self.lines().iter().map(|hunk| &*hunk.origin))
    }

    /// The hunks that can be decided: none in a file that is not there.
    pub(super) fn lines(&self) -> &[cairn_core::review::Hunk] {
        match &self.review {
            Some(review) if !self.absent => review.hunks(),
            Some(_) | None => &[],
        }
    }

    /// Somebody deleted the file while something in it was undecided.
    pub(super) fn is_gone(&self) -> bool {
        self.absent && self.review.is_some()
    }

    pub(super) fn access(&mut self) {
        self.dirty = true;
    }

    /// The text as a whole: a document that was opened. It is the edit in flight, or whoever's.
    pub(super) fn saw(&mut self, text: &Text) {
        if let Some(in_flight) = &mut self.in_flight
            && !in_flight.seen
            && (in_flight.expected.as_ref() == Some(text) || in_flight.almost(text))
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
            if let Some(review) = &mut self.review
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
            let exact = in_flight.expected.as_ref().and_then(at);
            let almost = || steps.iter().position(|(_, text)| in_flight.almost(text));
            let found = exact.or_else(almost);
            let is_of_agent = matches!(in_flight.outcome, Outcome::Agent { .. });
            if let (true, Some(before)) = (found.is_some(), in_flight.review_before.take()) {
                // What came before was a part of it.
                self.review = before;
            } else if found.is_none() && is_of_agent && in_flight.review_before.is_none() {
                in_flight.review_before = Some(self.review.clone());
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
        let at_once = match (users, &mut self.review) {
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
                && let Some(review) = &mut self.review
            {
                follow(review, change, text, &Author::User);
            }
        }
    }

    /// The edit in flight is in the text: the review follows.
    pub(super) fn land(&mut self) {
        let Some(in_flight) = &self.in_flight else { return };
        let (outcome, expected) = (in_flight.outcome.clone(), in_flight.expected.clone());
        self.follow_edit(&outcome, expected.as_ref());
    }

    /// It landed but for the last line break, perhaps: the text is right, and that break belongs
    /// to whoever wrote the line.
    fn land_as(&mut self, text: &Text) {
        self.land();
        let Some(in_flight) = &mut self.in_flight else { return };
        if in_flight.expected.as_ref() == Some(text) {
            return;
        }
        in_flight.expected = Some(text.clone());
        let Some(review) = &mut self.review else { return };
        let last = review.hunks().last();
        let last = last.filter(|hunk| hunk.new.end == review.current().filled_lines());
        match &in_flight.outcome {
            Outcome::Agent { origin, .. } if last.is_some_and(|hunk| *hunk.origin == *origin) => {
                let change = Change::between(review.current(), text);
                follow(review, &change, text, &Author::Agent(origin.clone()));
            }
            _ => review.reconcile(text),
        }
    }

    /// The whole text of the file became the agent's.
    pub(super) fn rewritten(&mut self, text: &Text, origin: &Origin, landing: Landing) {
        self.returned();
        self.dirty = true;
        let before = self.review.as_ref().map(|review| review.current().clone());
        let change = Change::between(&before.clone().unwrap_or_default(), text);
        let origin = origin.clone();
        let outcome = Outcome::Agent { base: before, change, origin, landing };
        self.follow_edit(&outcome, Some(text));
    }

    pub(super) fn follow_edit(&mut self, outcome: &Outcome, expected: Option<&Text>) {
        let was_absent = std::mem::replace(&mut self.absent, expected.is_none());
        let nothing = Text::default();
        let expected = expected.unwrap_or(&nothing);
        match outcome {
            Outcome::Agent { base: None, origin, landing, .. } if was_absent => {
                // Where the agent had deleted it, to write it anew is to edit it. Where the user
                // had, nothing of it is left to decide.
                if !self.fate.take().is_some_and(|fate| fate.is_deletion()) {
                    self.review = None;
                }
                self.rewritten(expected, origin, *landing);
            }
            Outcome::Agent { base, change, origin, landing } => {
                let review = self.review.get_or_insert_with(|| match base {
                    Some(base) => FileReview::new(base.clone()),
                    None => FileReview::created(),
                });
                follow(review, change, expected, &Author::Agent(origin.clone()));
                if *landing == Landing::Accept {
                    accept_of(review, origin);
                }
            }
            Outcome::Reject { change, before: _, told: _, notice: _ } => {
                if let Some(review) = &mut self.review {
                    follow(review, change, expected, &Author::Decision);
                }
            }
            Outcome::Restore { former, .. } => {
                self.review = former.review.clone();
                (self.fate, self.encoding) = (former.fate.clone(), former.encoding);
            }
            Outcome::Delete { .. } => (self.review, self.fate) = (None, None),
            Outcome::Deleted { base, origin, landing: _ } => {
                let number = self.newest_ticket;
                self.deleted(base, origin, number);
            }
            // It takes the whole entry along, which is not for the entry to do.
            Outcome::Moved { .. } => self.absent = was_absent,
        }
    }

    fn publish(&mut self, rev: u32) {
        let hunks = self.hunks();
        self.published = hunks
            .into_iter()
            .map(|hunk| {
                let since = self
                    .published
                    .iter()
                    .find(|(known, _)| same_content(known, &hunk))
                    .map_or(rev, |(_, rev)| *rev);
                (hunk, since)
            })
            .collect();
        self.rev = rev;
    }

    /// Where the file was, of one that the agent moved.
    fn moved_from(&self) -> Option<PathBuf> {
        match &self.fate.as_ref()?.kind {
            FateKind::MovedFrom(key) => path_of(key),
            FateKind::Deleted => None,
        }
    }

    fn notification(&self, version: Option<i32>, from: Option<String>) -> ReviewNotification {
        let existed = self.review.as_ref().is_none_or(FileReview::existed);
        ReviewNotification {
            uri: self.uri.clone(),
            path: self.path.clone(),
            rev: self.rev,
            version,
            kind: match &self.fate {
                Some(fate) if fate.is_deletion() => FileKind::Deleted,
                Some(_) => FileKind::Moved,
                None if existed => FileKind::Edited,
                None => FileKind::Created,
            },
            from,
            hunks: notices::bounded(self.published.iter().map(|(hunk, _)| hunk)),
        }
    }

    /// The hunk as it was last shown, if it has not changed since `rev`.
    pub(super) fn shown_since(&self, id: &str, rev: Option<u32>) -> bool {
        self.published
            .iter()
            .any(|(hunk, since)| hunk.id == id && rev.is_none_or(|rev| *since <= rev))
    }

    fn hunks(&self) -> Vec<Hunk> {
        let of_file = self.fate.iter().map(|fate| fate.hunk(self.review.as_ref()));
        let lines = self.review.iter().flat_map(|review| {
            self.lines().iter().map(move |hunk| {
                let line = |line: usize| Position {
                    line: u32::try_from(line).unwrap_or(u32::MAX),
                    character: 0,
                };
                Hunk {
                    id: hunk.id.0.to_string(),
                    session_id: hunk.origin.session.clone(),
                    turn_id: hunk.origin.turn.clone(),
                    plan_item: hunk.origin.plan_item.clone(),
                    range: Range { start: line(hunk.new.start), end: line(hunk.new.end) },
                    old_text: without_last_break(review.old_text(hunk)),
                    new_text: without_last_break(review.new_text(hunk)),
                    removed_lines: hunk.old.len() as u32,
                    added_lines: hunk.new.len() as u32,
                    mixed: hunk.mixed,
                    outdated: false,
                    can_apply: None,
                    whole_file: None,
                    child: child_item(&hunk.origin),
                }
            })
        });
        let text = self.review.as_ref().filter(|_| !self.absent).map(FileReview::current);
        let outdated = self.outdated.iter().map(|it| {
            let has_place = text.is_some_and(|text| place(text, it).is_some());
            shown_outdated(it, has_place)
        });
        of_file.chain(lines).chain(outdated).collect()
    }
}

/// The child that did it, for the client.
pub(super) fn child_item(origin: &Origin) -> Option<ChildItem> {
    let child = origin.child.as_ref()?;
    Some(ChildItem { session_id: child.session.clone(), plan_item: child.plan_item.clone() })
}

/// What is outdated stands nowhere: it is shown at the line where it would be.
fn shown_outdated(outdated: &Outdated, has_place: bool) -> Hunk {
    let line = u32::try_from(outdated.line).unwrap_or(u32::MAX);
    let at = Position { line, character: 0 };
    let count = |text: &str| text.lines().count() as u32;
    Hunk {
        id: outdated.id.0.to_string(),
        session_id: outdated.origin.session.clone(),
        turn_id: outdated.origin.turn.clone(),
        plan_item: outdated.origin.plan_item.clone(),
        range: Range { start: at, end: at },
        removed_lines: count(&outdated.old_text),
        added_lines: count(&outdated.new_text),
        old_text: without_last_break(outdated.old_text.clone()),
        new_text: without_last_break(outdated.new_text.clone()),
        mixed: false,
        outdated: true,
        can_apply: Some(has_place),
        whole_file: None,
        child: child_item(&outdated.origin),
    }
}

/// The review follows a change of the text. Should the two ever disagree, the text is right.
pub(super) fn follow(review: &mut FileReview, change: &Change, text: &Text, author: &Author) {
    if let Err(error) = review.apply(change, author) {
        tracing::error!("a review had to be reconciled: {error}");
        review.reconcile(text);
    }
}

/// A hunk that only moved is the same to the user who decides about it.
fn same_content(a: &Hunk, b: &Hunk) -> bool {
    a.id == b.id && a.old_text == b.old_text && a.new_text == b.new_text && a.outdated == b.outdated
}

pub(super) fn without_last_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_was_overtaken_is_no_news() {
        let mut files = Files::default();
        let (first, second) = (files.next_read(), files.next_read());
        assert!(files.is_news("a", second));
        assert!(!files.is_news("a", first));
        assert!(files.is_news("b", first), "each file for itself");
    }
}
