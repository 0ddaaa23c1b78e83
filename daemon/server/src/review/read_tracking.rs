//! Texts of files as the model of each session last saw them, and the changes by others since.
//!
//! An event only marks a file; texts of marked files are compared at a safe point. Must never report to
//! a model its own edits, or a change that it learned in another way.

use std::{collections::HashMap, path::Path};

use cairn_core::{
    ids::{FileKey, SessionId},
    review::{Cause, FileReview, Origin, Transition},
    text::Text,
};

use crate::{docs::Docs, ports::ReadText, workspace::path_of};

/// Files remembered per session; the least recently seen one goes first.
const MOST_FILES: usize = 200;
/// Files named in one notice.
const MOST_NAMED: usize = 20;

#[derive(Debug, Default)]
pub(super) struct ReadTracker {
    sessions: HashMap<SessionId, HashMap<FileKey, ReadState>>,
    clock: u64,
}

#[derive(Debug)]
struct ReadState {
    text: Text,
    now: CurrentText,
    /// The path under which the model knows it, if it is at another by now.
    was: Option<String>,
    when: u64,
}

/// Knowledge of the present text of a file.
#[derive(Debug)]
enum CurrentText {
    Same,
    /// Its document changed.
    Dirty,
    /// Not open in the editor; `None`: deleted, or no longer text.
    OnDisk(Option<Text>),
}

impl ReadTracker {
    fn of(&mut self, key: &FileKey) -> impl Iterator<Item = (&SessionId, &mut ReadState)> {
        self.sessions
            .iter_mut()
            .filter_map(move |(session, files)| Some((session, files.get_mut(key)?)))
    }

    /// The document of a file is another one, or changed.
    pub(super) fn touched(&mut self, key: &FileKey) {
        for (_, known) in self.of(key) {
            known.now = CurrentText::Dirty;
        }
    }

    /// The text of a file that is not open.
    pub(super) fn on_disk(&mut self, key: &FileKey, text: Option<&Text>) {
        for (_, known) in self.of(key) {
            let same = text == Some(&known.text);
            known.now = if same { CurrentText::Same } else { CurrentText::OnDisk(text.cloned()) };
        }
    }

    /// Records that these sessions know of the change from one text to the other. If the text that a
    /// session knew was already outdated, it stays outdated.
    fn went(&mut self, key: &FileKey, sessions: &[SessionId], before: &Text, after: &Text) {
        for (session, known) in self.of(key) {
            if sessions.contains(session) && known.text == *before {
                known.text = after.clone();
            }
        }
    }

    /// Records that these sessions know of the deletion of the file.
    fn gone(&mut self, key: &FileKey, sessions: &[SessionId]) {
        for session in sessions {
            if let Some(files) = self.sessions.get_mut(session) {
                files.remove(key);
            }
        }
        self.on_disk(key, None);
    }

    /// The file is at another path, and these sessions know.
    pub(super) fn moved(
        &mut self,
        from: &FileKey,
        to: &FileKey,
        path: &str,
        sessions: &[SessionId],
    ) {
        for (session, files) in &mut self.sessions {
            let Some(mut known) = files.remove(from) else { continue };
            known.now = CurrentText::Dirty;
            if !sessions.contains(session) {
                known.was.get_or_insert_with(|| path.to_owned());
            }
            files.insert(to.to_owned(), known);
        }
    }

    pub(super) fn is_known(&self, key: &FileKey) -> bool {
        self.sessions.values().any(|files| files.contains_key(key))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &FileKey> {
        self.sessions.values().flat_map(HashMap::keys)
    }

    /// The session's model knows this text.
    pub(super) fn record_read(&mut self, session: &SessionId, saw: ReadText) {
        self.clock += 1;
        let files = self.sessions.entry(session.to_owned()).or_default();
        // Others may have changed it while the call was running.
        let known =
            ReadState { text: saw.text, now: CurrentText::Dirty, was: None, when: self.clock };
        files.insert(saw.key, known);
        if files.len() > MOST_FILES {
            let oldest = files.iter().min_by_key(|(_, known)| known.when);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                files.remove(&oldest);
            }
        }
    }

    /// Forgets the sessions that are no longer in memory.
    pub(super) fn retain(&mut self, is_known: impl Fn(&SessionId) -> bool) {
        self.sessions.retain(|id, _| is_known(id));
    }

    /// Records the new text of a file for the sessions whose model knows it already, so that they get
    /// no notice. `told`: the sessions that learn of a rejection.
    pub(super) fn mark_known(
        &mut self,
        key: &FileKey,
        transition: Transition,
        told: &[SessionId],
        is_open: bool,
    ) {
        let Transition { before, after, cause } = transition;
        let sessions = match cause {
            Cause::Call { origin, .. } => match after {
                Some(after) => return self.edited(&origin, key, before.as_ref(), &after, is_open),
                None => origin.sessions().cloned().collect(),
            },
            Cause::Reject { .. } => told.to_vec(),
            Cause::Restore { former, .. } => {
                let hunks = former.review.as_ref().map(FileReview::hunks).unwrap_or_default();
                let of_file = former.operation.iter().flat_map(|it| it.origin.sessions());
                let of_hunks = hunks.iter().flat_map(|hunk| hunk.origin.sessions());
                of_hunks.chain(of_file).cloned().collect()
            }
            // A move is recorded at its new path.
            Cause::Move { .. } => return,
        };
        match (before, after) {
            (Some(before), Some(after)) => self.went(key, &sessions, &before, &after),
            (Some(_), None) => self.gone(key, &sessions),
            // No model knows a file that did not exist.
            (None, _) => {}
        }
    }

    /// Records an edit of the agent, which its model knows already.
    fn edited(
        &mut self,
        origin: &Origin,
        key: &FileKey,
        base: Option<&Text>,
        after: &Text,
        is_open: bool,
    ) {
        let (session, _, _) = origin.doer();
        let known = self.sessions.get(session).is_some_and(|files| files.contains_key(key));
        if let Some(base) = base {
            // The parent of a subagent learns of it by the subagent's report.
            let sessions: Vec<SessionId> = origin.sessions().cloned().collect();
            self.went(key, &sessions, base, after);
        }
        if base.is_none() || !known {
            self.record_read(session, ReadText { key: key.to_owned(), text: after.clone() });
        }
        if is_open {
            self.touched(key);
        } else {
            self.on_disk(key, Some(after));
        }
    }

    /// Returns the text for the session's model about files that changed since it last saw them.
    pub(super) fn changes(
        &mut self,
        session: &SessionId,
        docs: &Docs,
        display: impl Fn(&Path) -> String,
    ) -> Option<String> {
        let files = self.sessions.get_mut(session)?;
        let mut changed = Vec::new();
        files.retain(|key, known| {
            let now = match (std::mem::replace(&mut known.now, CurrentText::Same), docs.get(key)) {
                (CurrentText::Same, _) | (CurrentText::Dirty, None) => Some(known.text.clone()),
                (CurrentText::Dirty | CurrentText::OnDisk(_), Some(document)) => {
                    Some(document.text.clone())
                }
                (CurrentText::OnDisk(text), None) => text,
            };
            let was = known.was.take();
            let is_same = now.as_ref() == Some(&known.text);
            if !is_same || was.is_some() {
                changed.push((key.clone(), was, now.is_none(), is_same));
            }
            known.text = now.unwrap_or_default();
            changed.last().is_none_or(|(last, _, gone, _)| last != key || !gone)
        });
        if changed.is_empty() {
            return None;
        }
        changed.sort();
        let more = changed.len().saturating_sub(MOST_NAMED);
        let mut text = String::from(
            "Not as you last saw them: the user or another program changed these files.\n",
        );
        for (key, was, gone, is_same) in changed.into_iter().take(MOST_NAMED) {
            let path = path_of(&key).map(|path| display(&path)).unwrap_or_else(|| key.into());
            text += &match (was, gone, is_same) {
                (None, false, _) => format!("- {path}\n"),
                (None, true, _) => format!("- {path}: it is gone\n"),
                (Some(was), true, _) => format!("- {was}: it is gone\n"),
                (Some(was), false, true) => format!("- {was}: it is {path} now\n"),
                (Some(was), false, false) => format!("- {was}: it is {path} now, and changed\n"),
            };
        }
        if more > 0 {
            text += &format!("- and {more} more\n");
        }
        text += "Read them again before you rely on their text; keep what the user did.";
        Some(text)
    }
}
