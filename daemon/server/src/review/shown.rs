//! Reviews as the client is shown them. The texts are bounded: a line may have megabytes, and a message
//! may not.

use cairn_core::{
    change::changed_words,
    review::{self, FileOperation, FileOperationKind, FileReview, Origin, Outdated},
    sanitize::excerpt,
    text::Text,
};
use cairn_protocol::{
    FileKind, Hunk, InlineChange, Position, Range, ReviewNotification, SubagentOrigin, WholeFile,
};

use super::{
    published_hunk::{MAX_HUNK_TEXT, PublishedHunk, ShownText},
    tracked_file::TrackedFile,
};
use crate::{services::Services, workspace::path_of};

/// Most bytes of all texts of one notification.
const MAX_TEXTS: usize = 256 * 1024;

/// Most bytes of a line in which the user typed.
const MAX_TYPED_IN: usize = 200;

/// Most bytes of the texts of a file that are compared word by word.
const MAX_COMPARED: usize = 128 * 1024;

impl TrackedFile {
    pub(super) fn publish(&mut self, rev: u32) {
        let mut hunks = self.hunks();
        for hunk in &mut hunks {
            let known = self.published.iter().find(|known| hunk.is_same(known));
            hunk.rev = known.map_or(rev, |known| known.rev);
        }
        self.published = hunks;
        self.published_waiting = !self.undecided.is_empty();
        self.rev = rev;
    }

    pub(super) fn notification(
        &self,
        version: Option<i32>,
        services: &Services,
    ) -> ReviewNotification {
        let from = self.state.operation.as_ref().and_then(|operation| match &operation.kind {
            FileOperationKind::MovedFrom(key) => path_of(key).map(|path| services.display(&path)),
            FileOperationKind::Deleted => None,
        });
        let existed = self.state.review.as_ref().is_none_or(FileReview::existed);
        ReviewNotification {
            uri: self.uri.clone(),
            path: self.path.clone(),
            rev: self.rev,
            version,
            kind: match &self.state.operation {
                Some(operation) if operation.is_deletion() => FileKind::Deleted,
                Some(_) => FileKind::Moved,
                None if existed => FileKind::Edited,
                None => FileKind::Created,
            },
            from,
            waiting: self.published_waiting,
            hunks: bounded(&self.published),
        }
    }

    /// The hunk as it was last shown, if it has not changed since `rev`.
    pub(super) fn shown_since(&self, id: &str, rev: Option<u32>) -> bool {
        self.published
            .iter()
            .any(|shown| shown.hunk.id == id && rev.is_none_or(|rev| shown.rev <= rev))
    }

    fn hunks(&self) -> Vec<PublishedHunk> {
        let of_file = self
            .state
            .operation
            .iter()
            .map(|operation| hunk_of_operation(operation, self.state.review.as_ref()));
        let mut compared = 0;
        let lines = self.state.review.iter().flat_map(|review| {
            let (before, after) = (review.baseline(), review.current());
            let mut inline = |hunk: &review::Hunk| {
                compared += bytes_of(before, &hunk.old) + bytes_of(after, &hunk.new);
                let texts = || (review.old_text(hunk), review.new_text(hunk));
                let (old, new) = (compared <= MAX_COMPARED).then(texts)?;
                inline(&old, &new, hunk.new.start)
            };
            let published = |hunk: &review::Hunk| {
                let typed_in = review.line_typed_in(hunk);
                let shown = Hunk {
                    inline: inline(hunk),
                    removed_lines: hunk.old.len() as u32,
                    added_lines: hunk.new.len() as u32,
                    mixed: hunk.mixed,
                    typed_in: typed_in.map(|line| excerpt(line.trim(), MAX_TYPED_IN)),
                    ..hunk_of(hunk.id.0.to_string(), &hunk.origin, hunk.new.clone())
                };
                let (old, new) = (text_of(before, &hunk.old), text_of(after, &hunk.new));
                PublishedHunk { hunk: shown, old, new, rev: 0 }
            };
            self.lines().iter().map(published).collect::<Vec<_>>()
        });
        let text = self.state.review.as_ref().filter(|_| !self.absent).map(FileReview::current);
        let outdated = self.all_outdated().into_iter().map(|it| {
            let has_place = text.is_some_and(|text| it.place(text).is_some());
            shown_outdated(&it, has_place)
        });
        of_file.chain(lines).chain(outdated).collect()
    }
}

/// Hunk of this origin at these lines, as the client sees it.
fn hunk_of(id: String, origin: &Origin, lines: std::ops::Range<usize>) -> Hunk {
    let at = |line| Position { line: u32::try_from(line).unwrap_or(u32::MAX), character: 0 };
    Hunk {
        id,
        session_id: origin.session.clone().into(),
        turn_id: origin.turn.clone().into(),
        plan_item: origin.plan_item.clone(),
        plan_item_text: origin.plan_item_text.clone(),
        call_id: Some(origin.call.clone().into()),
        range: Range { start: at(lines.start), end: at(lines.end) },
        subagent: origin.subagent.as_ref().map(|subagent| SubagentOrigin {
            session_id: subagent.session.clone().into(),
            call_id: Some(subagent.call.clone().into()),
            plan_item: subagent.plan_item.clone(),
        }),
        ..Hunk::default()
    }
}

/// Operation on a whole file as the client sees it: a hunk at the start of the file.
fn hunk_of_operation(operation: &FileOperation, review: Option<&FileReview>) -> PublishedHunk {
    let (whole_file, old) = match operation.kind {
        FileOperationKind::Deleted => {
            (WholeFile::Deleted, review.map(FileReview::without_proposals))
        }
        FileOperationKind::MovedFrom(_) => (WholeFile::Moved, None),
    };
    let old = old.map(|(_, text)| text).unwrap_or_default();
    let lines = old.filled_lines();
    let hunk = Hunk {
        removed_lines: lines as u32,
        whole_file: Some(whole_file),
        ..hunk_of(operation.id(), &operation.origin, 0..0)
    };
    PublishedHunk { hunk, old: text_of(&old, &(0..lines)), new: ShownText::new([]), rev: 0 }
}

/// Changed words of a replacement that begins at a line of the text.
fn inline(old: &str, new: &str, first: usize) -> Option<Vec<InlineChange>> {
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let changes = changed_words(old, new)?.into_iter().map(|change| {
        let line = number(first + change.line);
        let at = |column: usize| Position { line, character: number(column) };
        let range = Range { start: at(change.columns.start), end: at(change.columns.end) };
        InlineChange { range, removed: change.removed }
    });
    Some(changes.collect())
}

/// Outdated hunk for the client, at the line where its text would be.
fn shown_outdated(outdated: &Outdated, has_place: bool) -> PublishedHunk {
    let count = |text: &str| text.lines().count() as u32;
    let hunk = Hunk {
        removed_lines: count(&outdated.old_text),
        added_lines: count(&outdated.new_text),
        outdated: true,
        can_apply: Some(has_place),
        ..hunk_of(outdated.id.0.to_string(), &outdated.origin, outdated.line..outdated.line)
    };
    let [old, new] = [&outdated.old_text, &outdated.new_text]
        .map(|text| ShownText::new([without_last_break(text)]));
    PublishedHunk { hunk, old, new, rev: 0 }
}

/// Whole lines of a text without their last ending.
fn text_of(text: &Text, lines: &std::ops::Range<usize>) -> ShownText {
    let mut chars = text.lines_to_chars(lines);
    for ending in ['\n', '\r'] {
        if !chars.is_empty() && text.char_at(chars.end - 1) == Some(ending) {
            chars.end -= 1;
        }
    }
    ShownText::new(text.rope().slice(chars).chunks())
}

fn bytes_of(text: &Text, lines: &std::ops::Range<usize>) -> usize {
    text.rope().slice(text.lines_to_chars(lines)).len_bytes()
}

fn without_last_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Hunks as they are sent. Their texts are only shown, so they may be cut. Decisions go by id and
/// revision, which follow the whole text.
fn bounded(hunks: &[PublishedHunk]) -> Vec<Hunk> {
    let mut left = MAX_TEXTS;
    let mut cut = |text: &ShownText| {
        let cut = excerpt(&text.start, left.min(MAX_HUNK_TEXT));
        left -= left.min(cut.len());
        cut
    };
    let sent = |PublishedHunk { hunk, old, new, .. }: &PublishedHunk| Hunk {
        old_text: cut(old),
        new_text: cut(new),
        ..hunk.clone()
    };
    hunks.iter().map(sent).collect()
}
