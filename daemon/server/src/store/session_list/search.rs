//! Search in the texts of all sessions of a workspace, newest session first.
//!
//! Searches names, tasks, messages of the user and of the agent, and titles of calls; not results of
//! calls. Bounded in bytes, time and matches. Holds one line of a journal in memory.

use std::{
    collections::HashMap,
    io,
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use cairn_core::{
    conversation::{Item, NoteKind},
    ids::SessionId,
    turn::Record,
};

use cairn_protocol::{SearchSessionsResult, SessionMatch};

use super::{Entry, SessionFlags, entries, listed};
use crate::store::{
    journal,
    sessions::{self, Line},
};

/// Longest text that is searched for, in characters.
pub const LONGEST_QUERY: usize = 200;
/// Characters of a matching line that are shown, and those of them before the match.
const SHOWN: usize = 200;
const SHOWN_BEFORE: usize = 40;

/// Limits of one search.
#[derive(Debug, Clone, Copy)]
pub struct SessionSearchLimits {
    /// Number of sessions.
    pub matches: usize,
    /// Size of the lines that are read.
    pub bytes: u64,
    pub time: Duration,
}

impl Default for SessionSearchLimits {
    fn default() -> Self {
        Self { matches: 50, bytes: 256 * 1024 * 1024, time: Duration::from_secs(10) }
    }
}

/// Searches until `is_wanted` is false. Case does not matter.
pub fn search(
    folder: &Path,
    query: &str,
    mine: &HashMap<SessionId, SessionFlags>,
    limits: SessionSearchLimits,
    is_wanted: &dyn Fn() -> bool,
) -> io::Result<SearchSessionsResult> {
    let began = Instant::now();
    let mut found = SearchSessionsResult::default();
    let needle = query.trim().to_lowercase();
    if needle.is_empty() || needle.chars().count() > LONGEST_QUERY {
        return Ok(found);
    }
    let mut bytes = 0;
    for entry in entries(folder)? {
        if found.matches.len() >= limits.matches {
            found.limited = true;
            break;
        }
        let mut spent = |read: u64| {
            bytes += read;
            bytes > limits.bytes || began.elapsed() > limits.time || !is_wanted()
        };
        match first_match(folder, &entry, &needle, mine, &mut spent) {
            ControlFlow::Continue(found_here) => found.matches.extend(found_here),
            ControlFlow::Break(()) => {
                found.limited = true;
                break;
            }
        }
    }
    Ok(found)
}

/// Returns the first matching line of a session; breaks when `spent` is true.
fn first_match(
    folder: &Path,
    entry: &Entry,
    needle: &str,
    mine: &HashMap<SessionId, SessionFlags>,
    spent: &mut dyn FnMut(u64) -> bool,
) -> ControlFlow<(), Option<SessionMatch>> {
    if spent(0) {
        return ControlFlow::Break(());
    }
    let describe = || listed(folder, entry, mine.get(&entry.id));
    let (mut line, mut stopped) = (None, false);
    let read = journal::read(&sessions::journal_path(folder, &entry.id), |record| {
        stopped = spent(record.json.len() as u64);
        if stopped {
            return Ok(ControlFlow::Break(()));
        }
        // A line of a later version is left out.
        if let Ok(parsed) = serde_json::from_slice(record.json) {
            line = in_line(&parsed, needle);
        }
        Ok(if line.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    match (read, stopped) {
        (_, true) => ControlFlow::Break(()),
        // Deleted since.
        (Err(_), false) => ControlFlow::Continue(None),
        (Ok(_), false) => {
            let listed = describe();
            let name = || in_text(listed.as_ref()?.facts.name.as_ref()?, needle);
            let line = line.or_else(name);
            ControlFlow::Continue(
                listed.zip(line).map(|(session, line)| SessionMatch { session, line }),
            )
        }
    }
}

fn in_line(line: &Line, needle: &str) -> Option<String> {
    match line {
        Line::Turn(turn) => in_text(&turn.task, needle),
        Line::Tool(call) => in_text(&call.title.english(), needle),
        Line::Step(_) | Line::Steps(_) => {
            line.records().iter().find_map(|record| in_record(record, needle))
        }
        _ => None,
    }
}

fn in_record(record: &Record, needle: &str) -> Option<String> {
    let Record::Item(item) = record else { return None };
    let notes = match item {
        Item::Assistant(message) => return in_text(&message.text(), needle),
        // The text of the message is the task, which the line of the turn has.
        Item::User(message) => &message.notes,
        Item::ToolResults { notes, .. } => notes,
    };
    let said = notes.iter().filter(|note| note.kind == NoteKind::Steer);
    said.map(|note| note.text.as_str()).find_map(|text| in_text(text, needle))
}

/// Returns the first line of a text with the needle, shortened around it.
fn in_text(text: &str, needle: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let lower = line.to_lowercase();
        let at = lower.find(needle)?;
        // Lower case may have more characters, rarely: the excerpt is then a little off.
        let before = lower[..at].chars().count();
        let skipped = before.saturating_sub(SHOWN_BEFORE);
        let line = line.trim_end();
        let excerpt: String = line.chars().skip(skipped).take(SHOWN).collect();
        let (start, end) = (skipped > 0, line.chars().count() > skipped + SHOWN);
        let mark = |cut: bool| if cut { "…" } else { "" };
        Some(format!("{}{}{}", mark(start), excerpt.trim(), mark(end)))
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::store::journal::Journal;

    fn folder(tasks: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (number, task) in tasks.iter().enumerate() {
            let path = sessions::journal_path(folder.path(), &format!("s-{number}").into());
            let line = Line::Turn(sessions::TurnLine {
                turn_id: "t".into(),
                task: (*task).into(),
                mode: cairn_protocol::ReviewMode::Review,
                follow_up: None,
                attachments: Vec::new(),
            });
            let mut journal = Journal::create(&path).unwrap();
            journal.append(&[serde_json::to_vec(&line).unwrap()]).unwrap();
            drop(journal);
            let used = std::time::SystemTime::now() - Duration::from_secs(60 * number as u64);
            journal::set_modified(&path, used).unwrap();
        }
        folder
    }

    fn found(
        folder: &Path,
        query: &str,
        limits: SessionSearchLimits,
        wanted: &dyn Fn() -> bool,
    ) -> SearchSessionsResult {
        search(folder, query, &HashMap::new(), limits, wanted).unwrap()
    }

    #[test]
    fn a_match_is_shown_as_its_line() {
        let long = format!("{} needle {}", "a ".repeat(100), "b".repeat(300));
        for (text, query, expected) in [
            ("one\n two Needle  \nthree", "NEEDLE", Some("two Needle")),
            ("Grüße an ÄÖ", "äö", Some("Grüße an ÄÖ")),
            ("say \"hi\"", "\"hi", Some("say \"hi\"")),
            ("one", "two", None),
            ("one\ntwo", "one two", None),
        ] {
            assert_eq!(in_text(text, &query.to_lowercase()).as_deref(), expected, "{text}");
        }
        let shown = in_text(&long, "needle").unwrap();
        assert!(shown.starts_with("…a a") && shown.contains("needle") && shown.ends_with("b…"));
        assert!(shown.chars().count() <= SHOWN + 2);
    }

    #[test]
    fn a_search_ends_at_each_limit_and_when_it_is_cancelled() {
        let folder = folder(&["needle 0", "hay", "needle 2", "needle 3"]);
        let (all, limits) = (|| true, SessionSearchLimits::default());
        let ids = |found: &SearchSessionsResult| -> Vec<String> {
            found.matches.iter().map(|found| found.session.session_id.clone()).collect()
        };
        let whole = found(folder.path(), "needle", limits, &all);
        assert_eq!(
            (ids(&whole), whole.limited),
            (vec!["s-0".into(), "s-2".into(), "s-3".into()], false)
        );
        let few =
            found(folder.path(), "needle", SessionSearchLimits { matches: 2, ..limits }, &all);
        assert_eq!((ids(&few).len(), few.limited), (2, true));
        let small =
            found(folder.path(), "needle", SessionSearchLimits { bytes: 100, ..limits }, &all);
        assert_eq!((ids(&small).len(), small.limited), (1, true));
        let short = found(
            folder.path(),
            "needle",
            SessionSearchLimits { time: Duration::ZERO, ..limits },
            &all,
        );
        assert_eq!((ids(&short).len(), short.limited), (0, true));
        let asked = Cell::new(0);
        let cancelled = || {
            asked.set(asked.get() + 1);
            asked.get() < 4
        };
        let part = found(folder.path(), "needle", limits, &cancelled);
        assert_eq!((ids(&part), part.limited, asked.get()), (vec!["s-0".into()], true, 4));
        for query in ["", "  ", &"x".repeat(201)] {
            assert_eq!(found(folder.path(), query, limits, &all), SearchSessionsResult::default());
        }
    }
}
