//! Reviews as the client is shown them. The texts are bounded: a line may have megabytes, and a message
//! may not.

use std::path::PathBuf;

use cairn_core::{
    review::{FileReview, Origin, Outdated},
    sanitize::excerpt,
};
use cairn_protocol::{ChildItem, FileKind, Hunk, Position, Range, ReviewNotification, WholeFile};

use super::{
    file_state::{FileOperation, FileOperationKind, brought_back, place},
    tracked_file::TrackedFile,
};
use crate::workspace::path_of;

/// Most bytes of one text of a hunk, and of all texts of one notification.
const MAX_HUNK_TEXT: usize = 16 * 1024;
const MAX_TEXTS: usize = 256 * 1024;

impl TrackedFile {
    pub(super) fn publish(&mut self, rev: u32) {
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
    pub(super) fn moved_from(&self) -> Option<PathBuf> {
        match &self.fate.as_ref()?.kind {
            FileOperationKind::MovedFrom(key) => path_of(key),
            FileOperationKind::Deleted => None,
        }
    }

    pub(super) fn notification(
        &self,
        version: Option<i32>,
        from: Option<String>,
    ) -> ReviewNotification {
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
            hunks: bounded(self.published.iter().map(|(hunk, _)| hunk)),
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

impl FileOperation {
    /// As the client sees it, at the start of the file.
    pub(super) fn hunk(&self, review: Option<&FileReview>) -> Hunk {
        let start = Position { line: 0, character: 0 };
        let (whole_file, old) = match self.kind {
            FileOperationKind::Deleted => (WholeFile::Deleted, review.map(brought_back)),
            FileOperationKind::MovedFrom(_) => (WholeFile::Moved, None),
        };
        let old = old.map(|(_, text)| text).unwrap_or_default();
        Hunk {
            id: self.id(),
            session_id: self.origin.session.clone(),
            turn_id: self.origin.turn.clone(),
            plan_item: self.origin.plan_item.clone(),
            range: Range { start, end: start },
            removed_lines: old.filled_lines() as u32,
            old_text: without_last_break(old.to_string()),
            new_text: String::new(),
            added_lines: 0,
            mixed: false,
            outdated: false,
            can_apply: None,
            whole_file: Some(whole_file),
            child: child_item(&self.origin),
        }
    }
}

/// The child that did it, for the client.
fn child_item(origin: &Origin) -> Option<ChildItem> {
    let child = origin.child.as_ref()?;
    Some(ChildItem { session_id: child.session.clone(), plan_item: child.plan_item.clone() })
}

/// Outdated hunk for the client, at the line where its text would be.
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

/// A hunk that only moved is the same to the user who decides about it.
fn same_content(a: &Hunk, b: &Hunk) -> bool {
    a.id == b.id && a.old_text == b.old_text && a.new_text == b.new_text && a.outdated == b.outdated
}

fn without_last_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
    text
}

/// Hunks as they are sent. Their texts are only shown, so they may be cut. Decisions go by id and
/// revision, which follow the whole text.
fn bounded<'a>(hunks: impl Iterator<Item = &'a Hunk>) -> Vec<Hunk> {
    let mut left = MAX_TEXTS;
    let mut cut = |text: &str| {
        let cut = excerpt(text, left.min(MAX_HUNK_TEXT));
        left -= left.min(cut.len());
        cut
    };
    hunks
        .map(|hunk| Hunk {
            old_text: cut(&hunk.old_text),
            new_text: cut(&hunk.new_text),
            id: hunk.id.clone(),
            session_id: hunk.session_id.clone(),
            turn_id: hunk.turn_id.clone(),
            plan_item: hunk.plan_item.clone(),
            child: hunk.child.clone(),
            range: hunk.range,
            removed_lines: hunk.removed_lines,
            added_lines: hunk.added_lines,
            mixed: hunk.mixed,
            outdated: hunk.outdated,
            can_apply: hunk.can_apply,
            whole_file: hunk.whole_file,
        })
        .collect()
}
