//! What the model of each session last saw of files, and which of them others changed since.
//!
//! An event only marks a file; texts are compared at a safe point, and only of marked files. Must
//! never tell a model of its own edits, nor of what it was told in another way.

use std::collections::HashMap;

use cairn_core::{
    review::{FileReview, Origin},
    text::Text,
    turn::Input,
};

use super::Hub;
use crate::{
    tools::Saw,
    workspace::{path_of, uri_of},
};

/// Files remembered per session; the one that was seen longest ago goes first.
const MOST_FILES: usize = 200;
/// Files named in one notice.
const MOST_NAMED: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Seen {
    sessions: HashMap<String, HashMap<String, Known>>,
    clock: u64,
}

#[derive(Debug)]
struct Known {
    text: Text,
    now: Now,
    /// The path under which the model knows it, if it is at another by now.
    was: Option<String>,
    when: u64,
}

/// What is known of the text the file has now.
#[derive(Debug)]
enum Now {
    Same,
    /// Its document changed.
    Look,
    /// It is not open; `None`: gone, or not text any more.
    OnDisk(Option<Text>),
}

impl Seen {
    fn of(&mut self, key: &str) -> impl Iterator<Item = (&String, &mut Known)> {
        self.sessions
            .iter_mut()
            .filter_map(move |(session, files)| Some((session, files.get_mut(key)?)))
    }

    /// The document of a file is another one, or changed.
    pub(super) fn touched(&mut self, key: &str) {
        for (_, known) in self.of(key) {
            known.now = Now::Look;
        }
    }

    /// The text of a file that is not open.
    pub(super) fn on_disk(&mut self, key: &str, text: Option<&Text>) {
        for (_, known) in self.of(key) {
            let same = text == Some(&known.text);
            known.now = if same { Now::Same } else { Now::OnDisk(text.cloned()) };
        }
    }

    /// These sessions know that the file went from one text to the other. A model that had
    /// missed something before has missed it still.
    pub(super) fn went(&mut self, key: &str, sessions: &[String], before: &Text, after: &Text) {
        for (session, known) in self.of(key) {
            if sessions.contains(session) && known.text == *before {
                known.text = after.clone();
            }
        }
    }

    /// These sessions know that the file is gone.
    pub(super) fn gone(&mut self, key: &str, sessions: &[String]) {
        for session in sessions {
            if let Some(files) = self.sessions.get_mut(session) {
                files.remove(key);
            }
        }
        self.on_disk(key, None);
    }

    /// The file is at another path, and these sessions know.
    pub(super) fn moved(&mut self, from: &str, to: &str, path: &str, sessions: &[String]) {
        for (session, files) in &mut self.sessions {
            let Some(mut known) = files.remove(from) else { continue };
            known.now = Now::Look;
            if !sessions.contains(session) {
                known.was.get_or_insert_with(|| path.to_owned());
            }
            files.insert(to.to_owned(), known);
        }
    }

    pub(super) fn is_known(&self, key: &str) -> bool {
        self.sessions.values().any(|files| files.contains_key(key))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.sessions.values().flat_map(HashMap::keys)
    }
}

impl Hub {
    pub(super) fn saw(&mut self, session: &str, saw: Saw) {
        let Seen { sessions, clock } = &mut self.files.seen;
        *clock += 1;
        sessions.retain(|id, _| self.sessions.contains_key(id));
        let files = sessions.entry(session.to_owned()).or_default();
        // Others may have changed it while the call was running.
        let known = Known { text: saw.text, now: Now::Look, was: None, when: *clock };
        files.insert(saw.key, known);
        if files.len() > MOST_FILES {
            let oldest = files.iter().min_by_key(|(_, known)| known.when);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                files.remove(&oldest);
            }
        }
    }

    /// The edit of the agent is in the file: its model need not be told.
    pub(super) fn edited(&mut self, origin: &Origin, key: &str, base: Option<&Text>, after: &Text) {
        self.agent_changed(key);
        let (session, _, _) = origin.doer();
        let files = self.files.seen.sessions.get(session);
        let known = files.and_then(|files| files.get(key)).is_some();
        if let Some(base) = base {
            // The parent of a child is told with the child's report.
            let sessions: Vec<String> = origin.sessions().cloned().collect();
            self.files.seen.went(key, &sessions, base, after);
        }
        match base {
            Some(_) if known => {}
            Some(_) | None => {
                self.saw(session, Saw { key: key.to_owned(), text: after.clone() });
            }
        }
        match self.docs.get(key) {
            Some(_) => self.files.seen.touched(key),
            None => self.files.seen.on_disk(key, Some(after)),
        }
    }

    /// Before something that may close a round: what the model knows and is so no longer.
    pub(super) fn tell_of_changes(&mut self, session_id: &str, input: &Input) {
        if !matches!(input, Input::ToolDone { .. } | Input::UserMessage { .. }) {
            return;
        }
        let Some(text) = self.changes(session_id) else { return };
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.machine.step(Input::Notice { text });
        }
    }

    fn changes(&mut self, session_id: &str) -> Option<String> {
        let files = self.files.seen.sessions.get_mut(session_id)?;
        let mut changed = Vec::new();
        files.retain(|key, known| {
            let now = match (std::mem::replace(&mut known.now, Now::Same), self.docs.get(key)) {
                (Now::Same, _) | (Now::Look, None) => Some(known.text.clone()),
                (Now::Look | Now::OnDisk(_), Some(document)) => Some(document.text.clone()),
                (Now::OnDisk(text), None) => text,
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
            let path = path_of(&key).map(|path| self.display(&path)).unwrap_or(key);
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

    /// The user moved files or folders in their editor. What is to be decided goes along.
    pub(super) fn user_renamed(&mut self, renames: &[(String, String)]) {
        for (from, to) in renames {
            let (Some(from), Some(to)) = (path_of(from), path_of(to)) else { continue };
            let mut keys: Vec<String> = self.files.entries.keys().cloned().collect();
            keys.extend(self.files.seen.keys().cloned());
            keys.sort();
            keys.dedup();
            for key in keys {
                let Some(path) = path_of(&key) else { continue };
                let Ok(below) = path.strip_prefix(&from) else { continue };
                let new = if below.as_os_str().is_empty() { to.clone() } else { to.join(below) };
                let Some(new) = uri_of(&new) else { continue };
                let ours = self.files.entries.get(&key).is_some_and(|entry| entry.is_moving());
                if ours {
                    continue;
                }
                let entry = self.files.entries.get_mut(&key);
                let late = entry.and_then(|entry| entry.take_late_move(&new));
                self.carry(&key, &new, &[]);
                if let (Some((fate, base)), Some(entry)) = (late, self.files.entries.get_mut(&new))
                {
                    // The agent's move, after all.
                    entry.fate = fate;
                    entry.review.get_or_insert_with(|| FileReview::new(base));
                    entry.dirty = true;
                }
            }
        }
    }
}
