//! Sessions of a workspace as files: list, fork, name, and removal of the oldest ones.
//!
//! A journal that another process holds is never changed or removed. A list reads only the end of
//! each journal.

use std::{
    collections::{HashMap, HashSet},
    fs, io, mem,
    ops::ControlFlow,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cairn_core::ids::SessionId;
use cairn_protocol::{
    EndReason, ListSessionsResult, PlanNotification, ReadOnlyReason, SessionFacts, SessionState,
    SessionSummary,
};

use super::{
    journal::{self, Journal, ReadOnly},
    sessions::{self, Digest, DigestReader, ForkedFrom, Line, Loaded},
};

/// Facts about a session that this process has in memory.
#[derive(Debug, Clone, Default)]
pub struct SessionFlags {
    /// True for the session in view.
    pub current: bool,
    /// Facts about the session if this process holds its journal; `None` if it is read-only here.
    pub held: Option<Digest>,
    /// True if its turn waits for the user.
    pub waiting: bool,
    /// Number of its proposed edits that wait for a decision.
    pub pending: u32,
}

/// Session that was used last.
#[derive(Debug)]
pub enum Newest {
    Here(Box<Loaded>),
    /// Another process holds its journal.
    Elsewhere,
}

/// Reason for which a request about a stored session failed.
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

/// Limits for one workspace. The newest sessions are kept, however large they are.
const KEPT: usize = 200;
const KEPT_BYTES: u64 = 1024 * 1024 * 1024;
const ALWAYS_KEPT: usize = 20;
/// Age from which a file is removed that belongs to no journal. A younger one may belong to a journal
/// that is being created.
const STRAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Difference of two times that every file system keeps apart.
const STEP: Duration = Duration::from_micros(1);

/// Size of the lines of a fork that are written at once, in bytes.
const BATCH: usize = 1024 * 1024;

/// Journal in the folder.
#[derive(Debug)]
struct Entry {
    id: SessionId,
    /// Time of the last write.
    used: SystemTime,
    bytes: u64,
}

/// Returns true if the text can be the id of a session, and so the name of a file.
pub fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !id.is_empty() && id.len() <= 64 && id.bytes().all(fits)
}

/// Loads the session that was used last. Returns `None` if there is none, or if it cannot be read or
/// written; the log has the reason.
pub fn newest(folder: &Path) -> Option<Newest> {
    let newest = entries(folder).ok()?.into_iter().next()?;
    let path = sessions::journal_path(folder, &newest.id);
    match sessions::load(&path) {
        Ok(Loaded { hold: Err(cause), .. }) => {
            tracing::warn!("{} is not restored: {}", path.display(), cause.message.english());
            (cause.reason == ReadOnlyReason::OpenElsewhere).then_some(Newest::Elsewhere)
        }
        Ok(loaded) => Some(Newest::Here(Box::new(loaded))),
        Err(error) => {
            tracing::warn!("{} is not restored: {error}", path.display());
            None
        }
    }
}

/// Makes a session the newest of those that this process has held. Its last write alone does not:
/// another journal can be written within the same tick of the clock, or before the clock was set
/// back. A session that another window used later stays the newest of all.
pub fn mark_newest(folder: &Path, id: &SessionId, held: &[SessionId]) -> io::Result<()> {
    let mut entries = entries(folder)?.into_iter().filter(|entry| held.contains(&entry.id));
    match entries.next() {
        Some(newest) if newest.id != *id => {
            let used = newest.used.checked_add(STEP).unwrap_or(newest.used);
            journal::set_modified(&sessions::journal_path(folder, id), used)
        }
        // Two times that are equal are in the order of the ids, here and in the list.
        _ => Ok(()),
    }
}

/// Returns a page of the sessions, most recently used first, without the number of their edits.
pub fn page(
    folder: &Path,
    cursor: Option<&str>,
    limit: Option<u32>,
    mine: &HashMap<SessionId, SessionFlags>,
) -> io::Result<ListSessionsResult> {
    let limit = limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE) as usize;
    let entries = entries(folder)?;
    let behind = |entry: &Entry| cursor.is_none_or(|cursor| place(entry).as_str() < cursor);
    let mut rest = entries.iter().filter(|entry| behind(entry)).peekable();
    let page: Vec<&Entry> = rest.by_ref().take(limit).collect();
    let next = rest.peek().and(page.last()).map(|last| place(last));
    let listed = |entry: &&Entry| listed(folder, entry, mine.get(&entry.id));
    Ok(ListSessionsResult { sessions: page.iter().filter_map(listed).collect(), next })
}

/// Creates a session with the conversation of another one, up to the end of a turn. Without `at_turn`
/// that is the newest turn that has ended, or with `whole` the whole conversation. Returns the facts
/// of the other one, which may be newer than the copied part.
pub fn fork(
    folder: &Path,
    from: &SessionId,
    to: &SessionId,
    at_turn: Option<&str>,
    whole: bool,
) -> Result<SessionFacts, Fault> {
    let source = sessions::journal_path(folder, from);
    let (mut end, mut newest_turn, mut facts) = (None, None, SessionFacts::default());
    each(&source, |number, line| {
        match line {
            Line::Ended(ended) if at_turn.is_none_or(|turn| ended.turn_id == *turn) => {
                (end, newest_turn) = (Some(number), Some(ended.turn_id));
            }
            Line::Digest(digest) => facts = digest.facts,
            _ => {}
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
    })?;
    Ok(facts)
}

/// Gives a session a name, or without one takes its name away. Keeps the time of its last use, so that
/// its place in the list stays.
pub fn rename(folder: &Path, id: &SessionId, name: Option<String>) -> Result<(), Fault> {
    let path = sessions::journal_path(folder, id);
    let used = fs::metadata(&path)?.modified()?;
    let mut reader = DigestReader::default();
    let opened = Journal::open(&path, |record| {
        reader.add(record.json);
        Ok(())
    })?;
    let mut journal = opened.journal.map_err(|reason| match reason {
        ReadOnly::Locked => Fault::Locked,
        other => Fault::Io(other.into()),
    })?;
    let mut digest = reader.done();
    digest.facts.name = name;
    let line = Line::Digest(digest);
    journal.append(&[serde_json::to_vec(&line).map_err(io::Error::other)?])?;
    journal.sync()?;
    // Some systems set the time of a write when the file is closed.
    drop(journal);
    journal::set_modified(&path, used)?;
    Ok(())
}

/// Removes the oldest sessions beyond the limits, except for those that a process holds. Returns the
/// number of removed sessions.
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
    let known: HashSet<&str> = entries.iter().map(|entry| &*entry.id).collect();
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
            // Another process may have removed it first.
            let _ = fs::remove_file(file.path());
        }
    }
    Ok(removed)
}

/// Returns the journals of a workspace, the one written last first.
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
        Some(Entry { id: id.into(), used, bytes: found.len() })
    };
    let mut entries: Vec<Entry> = files.filter_map(entry).collect();
    entries.sort_unstable_by(|a, b| (b.used, &b.id).cmp(&(a.used, &a.id)));
    Ok(entries)
}

/// Cursor behind an entry. Cursors sort like the times of the last write, so a session that is used
/// between two pages does not appear twice.
fn place(entry: &Entry) -> String {
    let used = entry.used.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{used:024}.{}", entry.id)
}

/// Returns `None` if the journal is gone or empty.
fn listed(folder: &Path, entry: &Entry, mine: Option<&SessionFlags>) -> Option<SessionSummary> {
    let path = sessions::journal_path(folder, &entry.id);
    let (digest, locked_elsewhere) = match mine.and_then(|mine| mine.held.clone()) {
        Some(digest) => (digest, false),
        None => {
            let (mut digest, locked) = (digest(&path)?, journal::is_locked(&path));
            // A session that no process holds does not run, whatever its last line says.
            if digest.running && !locked {
                (digest.running, digest.end) = (false, Some(EndReason::Interrupted));
            }
            (digest, locked)
        }
    };
    let millis = entry.used.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let state = match (digest.running, mine.is_some_and(|mine| mine.waiting)) {
        (true, true) => SessionState::Waiting,
        (true, false) => SessionState::Running,
        (false, _) => SessionState::Ended,
    };
    Some(SessionSummary {
        session_id: (&entry.id).into(),
        task: digest.task,
        facts: digest.facts,
        updated_ms: u64::try_from(millis).unwrap_or(u64::MAX),
        turns: digest.turns,
        running: digest.running,
        state: Some(state),
        end: digest.end,
        last_line: digest.last_line,
        pending_edits: mine.map_or(0, |mine| mine.pending),
        queued: digest.queued.unwrap_or(0),
        cost_micros: digest.cost_micros,
        done_items: digest.done,
        open_items: digest.open,
        current: mine.is_some_and(|mine| mine.current),
        locked_elsewhere,
    })
}

/// Returns the newest digest at the end of the file, or one derived from the lines there.
fn digest(path: &Path) -> Option<Digest> {
    let mut reader = DigestReader::default();
    let mut found = false;
    journal::tail(path, TAIL, |json| {
        found = true;
        reader.add(json);
    })
    .ok()?;
    // Without any line, the file may end in a line that is longer than what is read.
    (found || fs::metadata(path).ok()?.len() > TAIL).then(|| reader.done())
}

/// Passes the lines of a journal to `visit`, with their numbers.
fn each(path: &Path, mut visit: impl FnMut(u64, Line) -> io::Result<()>) -> io::Result<()> {
    journal::read(path, |record| {
        visit(record.sequence, serde_json::from_slice(record.json)?)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(())
}

/// The line in the journal of a fork.
fn renamed(line: Line, session_id: &SessionId, origin: ForkedFrom) -> Line {
    let session_id = session_id.to_owned();
    match line {
        Line::Session(header) => Line::Session(sessions::Header {
            version: sessions::VERSION,
            session_id,
            forked_from: Some(origin),
            ..header
        }),
        Line::Plan(plan) => Line::Plan(PlanNotification { session_id: session_id.into(), ..plan }),
        Line::Tool(mut tool) => {
            match &mut tool.parent {
                // A subagent keeps its own id: it is never continued.
                Some(parent) => parent.session_id = session_id.into(),
                None => tool.session_id = session_id.into(),
            }
            Line::Tool(tool)
        }
        Line::Subagent(mut subagent) => {
            subagent.parent.session_id = session_id.into();
            Line::Subagent(subagent)
        }
        // The follow-ups stay with the other session.
        Line::Queue(_) => Line::Queue(Vec::new()),
        line @ (Line::Turn(_)
        | Line::Step(_)
        | Line::Steps(_)
        | Line::SubagentStep(_)
        | Line::Ended(_)
        | Line::Digest(_)
        | Line::Streamed(_)
        | Line::Notice(_)) => line,
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

pub mod search;
pub mod trash;

#[cfg(test)]
mod tests;
