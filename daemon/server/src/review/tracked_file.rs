//! A file the agent has proposed something for: its review, and how that follows the text.

use std::collections::VecDeque;

use cairn_core::{
    review::{FileRecord, FileReview, FileState, Origin, Outdated, Transition},
    text::Text,
};

use super::{
    flight::{AwaitingDecision, InFlight, QueuedEdit},
    published_hunk::PublishedHunk,
    timed_out_edit::TimedOutEdit,
};

/// A file the agent has proposed something for.
#[derive(Debug, Default)]
pub(super) struct TrackedFile {
    /// As the client spells it when the document is open, else as we do.
    pub(super) uri: String,
    /// Relative to the workspace, for people.
    pub(super) path: String,
    /// Its review, the operation of the agent on the whole file, and its encoding when the agent
    /// last changed it.
    pub(super) state: FileState,
    /// The file on disk when it was last read, or written by the agent.
    pub(super) disk: DiskState,
    /// True if the file does not exist. Its undecided edits return with it.
    pub(super) absent: bool,
    /// The user deleted it in the editor.
    pub(super) deleted_by_user: bool,
    pub(super) queue: VecDeque<QueuedEdit>,
    pub(super) in_flight: Option<InFlight>,
    /// Number of the newest edit.
    pub(super) newest_edit: u64,
    pub(super) undecided: Vec<AwaitingDecision>,
    /// Edits that were given up and may still arrive, oldest first.
    pub(super) late: Vec<TimedOutEdit>,
    /// Those that have arrived since the last publication.
    pub(super) landed: Vec<TimedOutEdit>,
    /// As it was written down by another process, until its text continues from there.
    pub(super) recorded: Option<Box<FileRecord>>,
    /// Proposals of which nothing stands in the text.
    pub(super) outdated: Vec<Outdated>,
    /// Rejections under way. Their calls continue when the model's session knows of them.
    pub(super) rejecting: u32,
    /// The document was clean before the agent touched it, and the user typed nothing since: it
    /// may be saved for the agent's sake.
    pub(super) saveable: bool,
    pub(super) dirty: bool,
    /// Another author than the agent changed the text since this was last read.
    pub(super) by_others: bool,
    /// Hunks as last published.
    pub(super) published: Vec<PublishedHunk>,
    /// True if a tool call waited for a decision when the hunks were published.
    pub(super) published_waiting: bool,
    pub(super) rev: u32,
}

/// Text of a file on disk.
#[derive(Debug, Default)]
pub(super) struct DiskState {
    pub(super) text: Option<Text>,
    /// Git wrote it, and the document may not show it yet.
    is_gits: bool,
}

impl TrackedFile {
    pub(super) fn new(uri: String, path: String) -> Self {
        Self { uri, path, ..Self::default() }
    }

    /// Lets the calls continue of which nothing is pending.
    pub(super) fn answer_decided(&mut self) {
        if self.rejecting > 0 {
            return;
        }
        let (pending, decided) = std::mem::take(&mut self.undecided)
            .into_iter()
            .partition(|undecided| self.pending().any(|origin| *origin == undecided.origin));
        self.undecided = pending;
        for AwaitingDecision { answer, reply, .. } in decided {
            drop(reply.send(answer));
        }
    }

    /// Under which calls that was done which can be decided.
    fn pending(&self) -> impl Iterator<Item = &Origin> {
        let of_file = self.state.operation.iter().map(|operation| &operation.origin);
        of_file.chain(self.lines().iter().map(|hunk| &*hunk.origin))
    }

    /// The hunks that can be decided: none in a file that is not there.
    pub(super) fn lines(&self) -> &[cairn_core::review::Hunk] {
        match &self.state.review {
            Some(review) if !self.absent => review.hunks(),
            Some(_) | None => &[],
        }
    }

    /// Returns true if the file was deleted while it had undecided edits.
    pub(super) fn is_gone(&self) -> bool {
        self.absent && self.state.review.is_some()
    }

    /// Proposals that nobody can reject: nothing stands in the text, or the file is gone.
    pub(super) fn all_outdated(&self) -> Vec<Outdated> {
        let is_gone = self.absent && !self.deleted_by_user && self.state.operation.is_none();
        let gone = self.state.review.iter().filter(|_| is_gone);
        self.outdated.iter().cloned().chain(gone.flat_map(FileReview::as_outdated)).collect()
    }

    /// The file on disk has this text. `is_gits`: Git wrote it in the place of another one.
    pub(super) fn disk_shows(&mut self, text: &Text, is_gits: bool) {
        if is_gits || self.disk.text.as_ref() != Some(text) {
            self.disk = DiskState { text: Some(text.clone()), is_gits };
        }
        self.follow_git();
    }

    /// Makes all proposals outdated once Git has written the text. A rejection would take an
    /// equal line out of a commit.
    pub(super) fn follow_git(&mut self) {
        let Some(review) = self.state.review.as_mut().filter(|_| self.disk.is_gits) else { return };
        if self.disk.text.as_ref() == Some(review.current()) {
            self.disk.is_gits = false;
            self.outdated.extend(review.as_outdated());
            review.accept_all();
            self.dirty = true;
        }
    }

    /// Gives the file another URI. Returns the former one and the path, if clients know them.
    pub(super) fn named(&mut self, uri: String) -> Option<(String, String)> {
        let known = self.uri != uri && !self.published.is_empty();
        let former = std::mem::replace(&mut self.uri, uri);
        known.then(|| (former, self.path.clone()))
    }

    /// The edit in flight is in the text: the review follows.
    pub(super) fn land(&mut self) {
        let Some(in_flight) = &self.in_flight else { return };
        let transition = in_flight.transition.clone();
        self.land_now(&transition);
    }

    /// The text of the file is the one after a transition.
    pub(super) fn land_now(&mut self, transition: &Transition) {
        self.disk = DiskState { text: transition.after.clone(), is_gits: false };
        // A move takes the whole entry along, which is not for the entry to do.
        if transition.target().is_some() {
            return;
        }
        let was_absent = std::mem::replace(&mut self.absent, transition.after.is_none());
        self.deleted_by_user &= self.absent;
        transition.land(&mut self.state, was_absent, self.newest_edit);
        if let (Some(review), Some(text)) = (&mut self.state.review, &transition.after)
            && review.current() != text
        {
            // The user typed since it was sent.
            review.reconcile(text);
        }
    }

    /// A move by the agent or a decision is on its way.
    pub(super) fn is_moving(&self) -> bool {
        self.in_flight.as_ref().is_some_and(|it| it.transition.target().is_some())
    }

    /// Forgets the deletion, because a file is at the path again.
    pub(super) fn returned(&mut self) {
        (self.absent, self.deleted_by_user) = (false, false);
        self.state.operation.take_if(|operation| operation.is_deletion());
    }
}
