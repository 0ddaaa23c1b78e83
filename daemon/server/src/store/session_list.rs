//! The sessions of a workspace as files: listed, forked, deleted, and the oldest of them removed.
//!
//! Must never change or remove a journal that another process holds, and never read more of one
//! than its end for a list.

use std::{
    collections::{HashMap, HashSet},
    fs, io, mem,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cairn_protocol::{ListSessionsResult, SessionSummary};

use super::{
    journal::{self, Journal},
    sessions::{self, Digest, ForkedFrom, Line},
};

/// Facts about a session that this process holds in memory.
#[derive(Debug, Clone, Copy)]
pub struct SessionFlags {
    pub running: bool,
    pub current: bool,
    /// Its journal is ours; else we only look at it too.
    pub held: bool,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("there is no such session")]
    Unknown,
    #[error("there is no such turn in it, or it is not over")]
    UnknownTurn,
    #[error("another window has it")]
    Locked,
    #[error(transparent)]
    Io(io::Error),
}

/// Size of the end of a journal that is read for a list, in bytes.
const TAIL: u64 = 256 * 1024;
const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;

/// Limits for one workspace. The newest sessions are kept whatever their size.
const KEPT: usize = 200;
const KEPT_BYTES: u64 = 1024 * 1024 * 1024;
const ALWAYS_KEPT: usize = 20;
/// A file beside a journal that is not there may belong to one that is about to be.
const STRAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Appended with one write.
const BATCH: usize = 1024 * 1024;

/// A journal in the folder.
#[derive(Debug)]
struct Entry {
    id: String,
    used: SystemTime,
    bytes: u64,
}

/// True if the text can be the id of a session and so the name of a file.
pub fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !id.is_empty() && id.len() <= 64 && id.bytes().all(fits)
}

/// The journal that was written last.
pub(super) fn newest(folder: &Path) -> Option<PathBuf> {
    let newest = entries(folder).ok()?.into_iter().next()?;
    Some(sessions::journal_path(folder, &newest.id))
}

/// Sessions used last first.
pub fn page(
    folder: &Path,
    cursor: Option<&str>,
    limit: Option<u32>,
    mine: &HashMap<String, SessionFlags>,
) -> io::Result<ListSessionsResult> {
    let limit = limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE) as usize;
    let entries = entries(folder)?;
    let behind = |entry: &Entry| cursor.is_none_or(|cursor| place(entry).as_str() < cursor);
    let mut rest = entries.iter().filter(|entry| behind(entry)).peekable();
    let page: Vec<&Entry> = rest.by_ref().take(limit).collect();
    let next = rest.peek().and(page.last()).map(|last| place(last));
    let summary = |entry: &&Entry| summary(folder, entry, mine.get(&entry.id));
    Ok(ListSessionsResult { sessions: page.iter().filter_map(summary).collect(), next })
}

/// A new session with the conversation of another one: to the end of a turn, or all of it.
/// `whole`: it may end in the middle of a turn, for it does not run.
pub fn fork(
    folder: &Path,
    from: &str,
    to: &str,
    at_turn: Option<&str>,
    whole: bool,
) -> Result<(), Fault> {
    let source = sessions::journal_path(folder, from);
    let (mut end, mut newest_turn) = (None, None);
    each(&source, |number, line| {
        if let Line::Ended(ended) = line
            && at_turn.is_none_or(|turn| turn == ended.turn_id)
        {
            (end, newest_turn) = (Some(number), Some(ended.turn_id));
        }
        Ok(())
    })?;
    let end = match (end, at_turn) {
        (_, None) if whole => u64::MAX,
        (Some(end), _) => end,
        (None, _) => return Err(Fault::UnknownTurn),
    };
    let path = sessions::journal_path(folder, to);
    let mut journal = Journal::create(&path)?;
    let copied = (|| {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        each(&source, |number, line| {
            if number > end {
                return Ok(());
            }
            let turn_id = newest_turn.clone();
            let origin = ForkedFrom { session_id: from.to_owned(), turn_id };
            let line = serde_json::to_vec(&renamed(line, to, origin)).map_err(io::Error::other)?;
            bytes += line.len();
            batch.push(line);
            if bytes > BATCH {
                journal.append(&mem::take(&mut batch))?;
                bytes = 0;
            }
            Ok(())
        })?;
        journal.append(&batch)?;
        journal.sync()
    })();
    drop(journal);
    copied.map_err(|error| {
        // Removes an incomplete fork.
        let _ = journal::remove(&path);
        Fault::Io(error)
    })
}

/// Removes a session and all that lies beside it.
pub fn delete(folder: &Path, id: &str) -> Result<(), Fault> {
    if journal::remove(&sessions::journal_path(folder, id))? { Ok(()) } else { Err(Fault::Locked) }
}

/// Removes the oldest sessions beyond what is kept, but none that a process holds. How many.
pub fn prune(folder: &Path) -> io::Result<usize> {
    prune_to(folder, KEPT, KEPT_BYTES, ALWAYS_KEPT)
}

fn prune_to(folder: &Path, kept: usize, kept_bytes: u64, always: usize) -> io::Result<usize> {
    let entries = entries(folder)?;
    let (mut bytes, mut removed) = (0, 0);
    for (index, entry) in entries.iter().enumerate() {
        bytes += entry.bytes;
        if index < always || (index < kept && bytes <= kept_bytes) {
            continue;
        }
        match journal::remove(&sessions::journal_path(folder, &entry.id)) {
            Ok(true) => {
                removed += 1;
                bytes -= entry.bytes;
            }
            Ok(false) => {}
            Err(error) => tracing::warn!("session {} was not removed: {error}", entry.id),
        }
    }
    let known: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    for file in fs::read_dir(folder.join("sessions"))? {
        let file = file?;
        let name = file.file_name();
        let Some((id, beside)) = name.to_str().and_then(|name| name.split_once(".log.")) else {
            continue;
        };
        let ours = beside == "lock" || beside.starts_with("torn-");
        let old = |file: fs::Metadata| file.modified().ok()?.elapsed().ok();
        let age = file.metadata().ok().and_then(old).unwrap_or_default();
        if ours && is_id(id) && !known.contains(id) && age > STRAY {
            // Whoever else cleans up may have been faster.
            let _ = fs::remove_file(file.path());
        }
    }
    Ok(removed)
}

/// Newest first.
fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let files = match fs::read_dir(folder.join("sessions")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let entry = |file: io::Result<fs::DirEntry>| {
        let file = file.ok()?;
        let name = file.file_name();
        let id = name.to_str()?.strip_suffix(".log").filter(|id| is_id(id))?;
        // Follows no link.
        let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let used = found.modified().unwrap_or(UNIX_EPOCH);
        Some(Entry { id: id.to_owned(), used, bytes: found.len() })
    };
    let mut entries: Vec<Entry> = files.filter_map(entry).collect();
    entries.sort_unstable_by(|a, b| (b.used, &b.id).cmp(&(a.used, &a.id)));
    Ok(entries)
}

/// Sorts as time does; a session that is used meanwhile moves to the front and is not told twice.
fn place(entry: &Entry) -> String {
    let used = entry.used.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{used:024}.{}", entry.id)
}

/// `None`: it is gone, or holds nothing yet.
fn summary(folder: &Path, entry: &Entry, mine: Option<&SessionFlags>) -> Option<SessionSummary> {
    let path = sessions::journal_path(folder, &entry.id);
    let digest = digest(&path)?;
    let held_here = mine.is_some_and(|mine| mine.held);
    let locked_elsewhere = !held_here && journal::is_locked(&path);
    let running = match mine {
        Some(mine) if mine.held => mine.running,
        // A session that nobody holds does not run, whatever its last words.
        Some(_) | None => digest.running && locked_elsewhere,
    };
    let millis = entry.used.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Some(SessionSummary {
        session_id: entry.id.clone(),
        task: digest.task,
        updated_ms: u64::try_from(millis).unwrap_or(u64::MAX),
        turns: digest.turns,
        running,
        done_items: digest.done,
        open_items: digest.open,
        current: mine.is_some_and(|mine| mine.current),
        locked_elsewhere,
    })
}

/// The newest one at the end of the file. Without one, what the lines there tell of.
fn digest(path: &Path) -> Option<Digest> {
    let (mut digest, mut written) = (Digest::default(), false);
    let mut found = false;
    journal::tail(path, TAIL, |json| {
        found = true;
        match serde_json::from_slice(json) {
            Ok(Line::Digest(newest)) => (digest, written) = (newest, true),
            Ok(Line::Turn(turn)) if !written => {
                digest.turns += 1;
                digest.running = true;
                if digest.task.is_empty() {
                    digest.task = sessions::title(&turn.task);
                }
            }
            Ok(Line::Plan(plan)) => {
                (digest.done, digest.open) = (plan.completed, plan.total - plan.completed);
            }
            Ok(Line::Ended(_)) => digest.running = false,
            Ok(
                Line::Session(_)
                | Line::Turn(_)
                | Line::Step(_)
                | Line::Steps(_)
                | Line::Tool(_)
                | Line::Child(_)
                | Line::ChildStep(_)
                | Line::Queue(_),
            )
            | Err(_) => {}
        }
    })
    .ok()?;
    // The end may be one line that is longer than what is read.
    (found || fs::metadata(path).ok()?.len() > TAIL).then_some(digest)
}

/// The lines of a journal, with their numbers.
fn each(path: &Path, mut visit: impl FnMut(u64, Line) -> io::Result<()>) -> io::Result<()> {
    let mut fault = None;
    journal::read(path, |record| {
        let line = serde_json::from_slice(record.json).map_err(io::Error::other);
        match line.and_then(|line| visit(record.sequence, line)) {
            Ok(()) => std::ops::ControlFlow::Continue(()),
            Err(error) => {
                fault = Some(error);
                std::ops::ControlFlow::Break(())
            }
        }
    })?;
    fault.map_or(Ok(()), Err)
}

fn renamed(line: Line, session_id: &str, origin: ForkedFrom) -> Line {
    let session_id = session_id.to_owned();
    match line {
        Line::Session(header) => {
            Line::Session(sessions::Header { session_id, forked_from: Some(origin), ..header })
        }
        Line::Plan(plan) => Line::Plan(cairn_protocol::PlanNotification { session_id, ..plan }),
        Line::Tool(mut tool) => {
            match &mut tool.parent {
                // A child's own id stays: nobody goes on with it.
                Some(parent) => parent.session_id = session_id,
                None => tool.session_id = session_id,
            }
            Line::Tool(tool)
        }
        Line::Child(mut child) => {
            child.parent.session_id = session_id;
            Line::Child(child)
        }
        // What the other one is to do next, it does.
        Line::Queue(_) => Line::Queue(Vec::new()),
        line @ (Line::Turn(_)
        | Line::Step(_)
        | Line::Steps(_)
        | Line::ChildStep(_)
        | Line::Ended(_)
        | Line::Digest(_)) => line,
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Fault::Unknown,
            _ => Fault::Io(error),
        }
    }
}

#[cfg(test)]
mod tests;
