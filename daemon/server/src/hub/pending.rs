//! What is pending in files, over restarts: handed to its keeper as it changes, and taken up again
//! when the workspace is opened.
//!
//! An edit of the agent is written down before it is sent: should this process end while it is on
//! its way, the next one still knows whose text that is. Must never take text of the agent for the
//! user's, nor drop a proposal that no longer stands in the text: it is shown as outdated.

use std::{collections::BTreeSet, ops::Range};

use cairn_core::{
    change::Change,
    review::{FileReview, HunkId, Intent, Origin, Outdated},
    text::{FileEncoding, Text},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    Hub,
    decisions::Former,
    edits::{InFlight, Landing, Late, Meaning, Outcome, edit_of},
    fates::{Fate, FateKind, Standing},
    files::Entry,
};
use crate::{
    store::reviews::{self, Kept, ReviewStore},
    tools::Proposed,
    workspace::{path_of, uri_of},
};

/// What was found of a file, and the text it has on disk.
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

/// What was known of a file when it was written down, until its text has gone on from there.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    review: Option<FileReview>,
    fate: Option<Fate>,
    /// Edits that were on their way.
    late: Vec<Late>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeptFate {
    deleted: bool,
    moved_from: Option<String>,
    origin: Origin,
    number: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptOutdated {
    id: HunkId,
    origin: Origin,
    old_text: String,
    new_text: String,
    line: usize,
}

/// The rest of a decision.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct KeptDecision {
    moved_to: Option<String>,
    told: BTreeSet<String>,
    accepted: Option<Vec<HunkId>>,
}

impl Hub {
    /// The file is written down as it now stands, soon.
    pub(super) fn keep_file(&self, key: &str) {
        let Some(keeper) = &self.keeper else { return };
        match self.files.entries.get(key).filter(|entry| entry.is_pending()) {
            Some(entry) => keeper.file(entry.kept(key)),
            None => keeper.settled(key.to_owned()),
        }
    }

    /// Resolves when the file is on record as it now stands. `None`: nothing is kept.
    pub(super) fn keep_now(&self, key: &str) -> Option<oneshot::Receiver<Result<(), String>>> {
        self.keep_file(key);
        self.kept()
    }

    /// Resolves when everything handed over so far is on record. `None`: nothing is kept.
    pub(super) fn kept(&self) -> Option<oneshot::Receiver<Result<(), String>>> {
        self.keeper.as_ref().map(ReviewStore::sync)
    }

    pub(super) fn keep_decision(&self, formers: &[Former]) {
        // With what it decided: a decision that can be undone was made.
        for former in formers {
            self.keep_file(&former.key);
        }
        let Some(keeper) = &self.keeper else { return };
        keeper.decided(formers.iter().map(kept_former).collect());
        drop(keeper.sync());
    }

    pub(super) fn keep_undo(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.undone();
            drop(keeper.sync());
        }
    }

    /// What was pending when the workspace was open last.
    pub(super) fn take_up_pending(
        &mut self,
        keeper: ReviewStore,
        files: Vec<FoundFile>,
        decisions: Vec<Vec<reviews::Former<Text>>>,
        checkpoints: Vec<reviews::Checkpoint<Text>>,
    ) {
        let mut undos = Vec::new();
        for FoundFile { kept, disk, left } in files {
            if let Some(left) = left {
                keeper.settled(left);
            }
            let Some(path) = path_of(&kept.key) else { continue };
            let open = self.docs.get(&kept.key);
            let uri = open.as_ref().map(|document| document.uri.clone()).or_else(|| uri_of(&path));
            let Some(uri) = uri else { continue };
            if self.files.entries.contains_key(&kept.key) {
                // The agent was quicker; the file is in its hands already.
                continue;
            }
            let mut entry = Entry::new(uri, self.display(&path));
            let text = open.map(|document| document.text.clone()).or(disk);
            if let Err(error) = entry.take_up(&kept, text.as_ref()) {
                tracing::warn!("what is pending in {} is not shown: {error}", path.display());
                continue;
            }
            if let (true, Some(workspace)) = (entry.absent, &self.workspace) {
                // The agent may write the file anew.
                workspace.remember_encoding(&path, entry.encoding);
            }
            // Numbers name fates of all files.
            let number = entry.fate.as_ref().map_or(0, |fate| fate.number);
            self.files.tickets = self.files.tickets.max(number);
            undos.extend(entry.unfinished_undo(&kept.key));
            self.files.entries.insert(kept.key, entry);
        }
        let known = decisions.into_iter().filter_map(|formers| {
            formers.into_iter().map(|former| known_former(former).ok()).collect::<Option<Vec<_>>>()
        });
        let mut known: Vec<Vec<Former>> = known.collect();
        for former in undos {
            keeper.decided(vec![kept_former(&former)]);
            known.push(vec![former]);
        }
        self.decisions.remember_older(known);
        self.take_up_checkpoints(checkpoints);
        self.keeper = Some(keeper);
        let keys: Vec<String> = self.files.entries.keys().cloned().collect();
        for key in keys {
            self.keep_file(&key);
        }
    }

    /// The user wants a proposal again of which nothing stands in the text any more.
    pub(super) fn apply_outdated(
        &mut self,
        key: &str,
        id: HunkId,
        reply: oneshot::Sender<Proposed>,
    ) {
        let open = self.docs.get(key);
        let Some(entry) = self.files.entries.get_mut(key) else {
            return drop(reply.send(Proposed::Stale));
        };
        let found = entry.outdated.iter().find(|outdated| outdated.id == id).cloned();
        let (Some(outdated), Some(review)) = (found, &entry.review) else {
            return drop(reply.send(Proposed::Stale));
        };
        let current = review.current().clone();
        let Some(range) = place(&current, &outdated).filter(|_| !entry.absent) else {
            let why =
                "the lines it was made for are not there any more; copy what you need from it";
            return drop(reply.send(Proposed::Refused(why.into())));
        };
        let mut after = current.clone();
        after.replace(range, &outdated.new_text);
        let change = Change::between(&current, &after);
        let edit = edit_of(&current, &change, open.as_deref(), self.form);
        let label = format!("Cairn: accept in {}", entry.path);
        let origin = (*outdated.origin).clone();
        let landing = Landing::Accept;
        let outcome = Outcome::Agent { base: Some(current), change, origin, landing };
        self.send_edit(key, label, edit, Some(after), outcome, (0, 0), reply);
    }
}

impl Entry {
    /// Something of it is undecided, or may be.
    fn is_pending(&self) -> bool {
        let lines = self.review.as_ref().is_some_and(|review| !review.is_settled());
        let created = self.review.as_ref().is_some_and(|review| !review.existed());
        lines
            || created
            || self.fate.is_some()
            || self.in_flight.is_some()
            || !self.late.is_empty()
            || !self.outdated.is_empty()
    }

    fn kept(&self, key: &str) -> Kept<Text> {
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
            standing: kept_standing(&standing),
            under_way: in_flight.and_then(|it| Late::of(it).kept()),
            late: self.late.iter().filter_map(Late::kept).collect(),
            rest: serde_json::to_value(outdated).unwrap_or_default(),
        }
    }

    /// The decision whose undo was on its way and has not arrived: it can be undone again.
    fn unfinished_undo(&self, key: &str) -> Option<Former> {
        let standing = self.late.iter().find_map(Late::unfinished_undo)?;
        let sessions = standing.review.iter().flat_map(FileReview::hunks);
        let told = sessions.flat_map(|hunk| hunk.origin.sessions().cloned()).collect();
        let after = self.review.as_ref().filter(|_| !self.absent).map(|it| it.current().clone());
        let (key, moved_to, accepted) = (key.to_owned(), None, None);
        Some(Former { key, standing, after, moved_to, told, accepted })
    }

    fn take_up(&mut self, kept: &Kept<Text>, text: Option<&Text>) -> Result<(), String> {
        let Standing { review, fate, encoding } = known_standing(&kept.standing)?;
        let outdated: Vec<KeptOutdated> =
            serde_json::from_value(kept.rest.clone()).map_err(|error| error.to_string())?;
        (self.saveable, self.encoding) = (kept.saveable, encoding);
        self.outdated = outdated.into_iter().map(KeptOutdated::known).collect();
        let late = kept.late.iter().chain(&kept.under_way).filter_map(Late::known).collect();
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

/// Where the old lines of an outdated proposal stand now: where it was, or else in one place only.
pub(super) fn place(text: &Text, outdated: &Outdated) -> Option<Range<usize>> {
    let at = text.line_to_char(outdated.line.min(text.filled_lines()));
    let old = &outdated.old_text;
    let length = old.chars().count();
    if at + length <= text.len_chars() && text.slice(at..at + length) == *old {
        return Some(at..at + length);
    }
    let whole = text.to_string();
    let mut places = whole.match_indices(old.as_str());
    match (places.next(), places.next()) {
        (Some((byte, _)), None) if !old.is_empty() => {
            let at = whole[..byte].chars().count();
            Some(at..at + length)
        }
        _ => None,
    }
}

pub(super) fn kept_standing(standing: &Standing) -> reviews::Standing<Text> {
    let fate = standing.fate.as_ref().map(kept_fate);
    reviews::Standing {
        review: standing.review.as_ref().map(FileReview::snapshot),
        fate: serde_json::to_value(fate).unwrap_or_default(),
        encoding: kept_encoding(standing.encoding),
    }
}

fn kept_encoding(encoding: FileEncoding) -> Option<reviews::Encoding> {
    let kept = || reviews::Encoding { name: encoding.label(), bom: encoding.has_bom() };
    (encoding != FileEncoding::UTF_8).then(kept)
}

fn known_encoding(kept: Option<&reviews::Encoding>) -> Result<FileEncoding, String> {
    let Some(reviews::Encoding { name, bom }) = kept else { return Ok(FileEncoding::UTF_8) };
    FileEncoding::of_label(name, *bom).ok_or_else(|| format!("the encoding {name} is not known"))
}

pub(super) fn kept_fate(Fate { kind, origin, number }: &Fate) -> KeptFate {
    KeptFate {
        deleted: *kind == FateKind::Deleted,
        moved_from: match kind {
            FateKind::Deleted => None,
            FateKind::MovedFrom(key) => Some(key.clone()),
        },
        origin: origin.clone(),
        number: *number,
    }
}

pub(super) fn known_standing(kept: &reviews::Standing<Text>) -> Result<Standing, String> {
    let review = kept.review.clone().map(FileReview::restore).transpose()?;
    let fate: Option<KeptFate> =
        serde_json::from_value(kept.fate.clone()).map_err(|error| error.to_string())?;
    let encoding = known_encoding(kept.encoding.as_ref())?;
    Ok(Standing { review, fate: fate.map(known_fate), encoding })
}

pub(super) fn known_fate(KeptFate { deleted, moved_from, origin, number }: KeptFate) -> Fate {
    let kind = match moved_from {
        Some(key) if !deleted => FateKind::MovedFrom(key),
        Some(_) | None => FateKind::Deleted,
    };
    Fate { kind, origin, number }
}

fn kept_former(former: &Former) -> reviews::Former<Text> {
    let rest = KeptDecision {
        moved_to: former.moved_to.clone(),
        told: former.told.clone(),
        accepted: former.accepted.clone(),
    };
    reviews::Former {
        key: former.key.clone(),
        standing: kept_standing(&former.standing),
        after: former.after.clone(),
        rest: serde_json::to_value(rest).unwrap_or(Value::Null),
    }
}

fn known_former(kept: reviews::Former<Text>) -> Result<Former, String> {
    let standing = known_standing(&kept.standing)?;
    let KeptDecision { moved_to, told, accepted } =
        serde_json::from_value(kept.rest).map_err(|error| error.to_string())?;
    Ok(Former { key: kept.key, standing, after: kept.after, moved_to, told, accepted })
}

impl KeptOutdated {
    fn of(outdated: &Outdated) -> Self {
        let Outdated { id, origin, old_text, new_text, line } = outdated.clone();
        Self { id, origin: (*origin).clone(), old_text, new_text, line }
    }

    fn known(self) -> Outdated {
        let Self { id, origin, old_text, new_text, line } = self;
        Outdated { id, origin: origin.into(), old_text, new_text, line }
    }
}
