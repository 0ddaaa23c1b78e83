//! Pending reviews of a workspace on disk: one journal whose lines name texts by hash. A small text is a
//! line of the journal before them, so that one sync saves both; a larger one is a file of a folder.
//!
//! The newest line of a file counts, so of several waiting states of a file only the newest is
//! written. A decision that can be undone is a separate line. A thread owns the files, so the hub
//! never waits for the disk.

use std::{
    collections::{BTreeMap, HashSet},
    fs, io, mem,
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use cairn_core::{
    ids::{FileKey, TurnId},
    review::{Checkpoint, DecisionUndo, FileRecord, RecordPart},
    text::Text,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    blobs::{Blobs, Sha256Hex},
    journal::{Journal, State},
};

/// Version of the lines below. A journal with a higher one is not read.
const VERSION: u32 = 2;

/// Line of the journal, as it is read: a record that this version cannot read is written back as it is.
type StoredLine = ReviewLine<Value, Value, Value>;

/// Line of the file of reviews.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewLine<F = Box<FileRecord>, D = Vec<DecisionUndo>, C = Box<Checkpoint>> {
    Reviews {
        version: u32,
    },
    /// Text that later lines name. Since version 2.
    Text(String),
    File(F),
    /// The file with this key no longer has pending changes.
    Settled(FileKey),
    Decided(D),
    Undone,
    Checkpoint(C),
    /// Removes the checkpoint of this turn and those after it.
    #[serde(rename = "wentBack")] // Name in the files of earlier versions.
    CheckpointRestored(TurnId),
}

impl ReviewLine {
    fn parts(&mut self) -> Vec<RecordPart<'_>> {
        match self {
            Self::File(record) => record.parts(),
            Self::Decided(undos) => undos.iter_mut().flat_map(DecisionUndo::parts).collect(),
            Self::Checkpoint(checkpoint) => checkpoint.parts(),
            Self::Reviews { .. }
            | Self::Text(_)
            | Self::Settled(_)
            | Self::Undone
            | Self::CheckpointRestored(_) => Vec::new(),
        }
    }
}

/// Handle of the thread that saves pending reviews. Dropping it saves everything.
#[derive(Debug)]
pub struct ReviewStore {
    orders: mpsc::Sender<Order>,
    /// Owner of the files. Ends when `orders` is dropped.
    thread: thread::JoinHandle<()>,
}

#[derive(Debug)]
enum Order {
    Write(ReviewLine),
    Sync(Waiting),
}

type Waiting = oneshot::Sender<Result<(), String>>;

/// Number of decisions that can be undone.
const DECISIONS_KEPT: usize = 50;
/// Number of checkpoints that are kept.
pub const CHECKPOINTS_KEPT: usize = 50;
/// Age below which an unnamed text is kept, because a line that names it may still be written.
const YOUNG: Duration = Duration::from_secs(24 * 60 * 60);
/// Time between attempts to save after a failure.
const RETRY: Duration = Duration::from_secs(2);
/// Length in bytes up to which a text is a line of the journal, and the number of such lines: a start reads
/// all of them.
const SMALL_TEXT: usize = 16 * 1024;
const MOST_SMALL_TEXTS: usize = 1_000;
/// Longest delay before a change is saved that no caller waits for.
const PATIENCE: Duration = Duration::from_secs(1);

impl ReviewStore {
    /// Reads the stored reviews and starts the thread. Blocks. After an error this process saves no
    /// reviews.
    pub fn open(
        folder: &Path,
        on_state: impl Fn(State) + Send + 'static,
    ) -> io::Result<(Self, Found)> {
        let path = folder.join("reviews.log");
        let blobs = Blobs::new(folder.join("texts"));
        let (journal, mut live) = open(&path)?;
        let named = live.hashes();
        live.texts.retain(|hash, _| named.contains(hash));
        let journal = rewrite(&path, journal, &live)?;
        if let Err(error) = blobs.retain(YOUNG, |hash| named.contains(hash)) {
            tracing::warn!("old texts were not removed: {error}");
        }
        let written = live.texts.keys().cloned().collect();
        let found = live.with_texts(&blobs);
        let (orders, todo) = mpsc::channel();
        let worker =
            Worker { journal, blobs, written, todo: Vec::new(), on_state, state: State::Well };
        let thread =
            thread::Builder::new().name("reviews".into()).spawn(move || worker.run(&todo))?;
        Ok((Self { orders, thread }, found))
    }

    /// Saves a line soon.
    pub fn write(&self, line: ReviewLine) {
        // After the thread has ended, the order is dropped.
        let _ = self.orders.send(Order::Write(line));
    }

    /// Resolves when all earlier changes are durable, or with the error of the attempt to save them.
    pub fn sync(&self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, saved) = oneshot::channel();
        let _ = self.orders.send(Order::Sync(answer));
        saved
    }

    /// Saves everything if possible and resolves when the lock is free.
    pub async fn close(self) {
        let Self { orders, thread } = self;
        drop(orders);
        let _ = tokio::task::spawn_blocking(|| thread.join()).await;
    }
}

struct Worker<F> {
    journal: Journal,
    blobs: Blobs,
    /// Texts that are lines of the journal.
    written: HashSet<Sha256Hex>,
    /// Lines that are not saved yet, oldest first.
    todo: Vec<ReviewLine>,
    on_state: F,
    state: State,
}

impl<F: Fn(State)> Worker<F> {
    fn run(mut self, orders: &mpsc::Receiver<Order>) {
        loop {
            let (waiting, closing) = self.gather(orders);
            let saved = self.save().map_err(|error| error.to_string());
            self.tell(match &saved {
                Ok(()) => State::Well,
                Err(reason) => State::Failing(reason.clone()),
            });
            for answer in waiting {
                // Fails only if the caller dropped its receiver.
                let _ = answer.send(saved.clone());
            }
            if closing {
                return;
            }
        }
    }

    /// Waits for orders. Collects those that no caller waits for during [`PATIENCE`], because each
    /// key that a user types would otherwise write a text. Returns true if no more orders come.
    fn gather(&mut self, orders: &mpsc::Receiver<Order>) -> (Vec<Waiting>, bool) {
        let mut waiting = Vec::new();
        let first = if self.todo.is_empty() {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            orders.recv_timeout(RETRY)
        };
        let due = Instant::now() + PATIENCE;
        let mut next = first;
        loop {
            match next {
                Ok(Order::Sync(answer)) => waiting.push(answer),
                Ok(Order::Write(line)) => self.todo.push(line),
                Err(end) => return (waiting, end == RecvTimeoutError::Disconnected),
            }
            let patience = if waiting.is_empty() {
                due.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            next = orders.recv_timeout(patience);
        }
    }

    /// Saves all lines or none.
    fn save(&mut self) -> io::Result<()> {
        newest_only(&mut self.todo);
        if self.todo.is_empty() {
            return Ok(());
        }
        let (lines, texts) = (Vec::new(), HashSet::new());
        let mut batch = Batch { blobs: &self.blobs, written: &self.written, lines, texts };
        self.todo.iter().try_for_each(|line| batch.add(line.clone()))?;
        let Batch { lines, texts, .. } = batch;
        self.journal.append(&lines)?;
        self.journal.sync()?;
        self.written.extend(texts);
        self.todo.clear();
        Ok(())
    }

    fn tell(&mut self, state: State) {
        if self.state != state {
            self.state = state.clone();
            (self.on_state)(state);
        }
    }
}

/// Drops all but the newest state of each file and each checkpoint.
fn newest_only(todo: &mut Vec<ReviewLine>) {
    let mut seen = HashSet::new();
    let mut kept: Vec<ReviewLine> = mem::take(todo)
        .into_iter()
        .rev()
        .filter(|line| match line {
            ReviewLine::File(record) => seen.insert(record.key.to_string()),
            ReviewLine::Settled(key) => seen.insert(key.to_string()),
            ReviewLine::Checkpoint(checkpoint) => seen.insert(checkpoint.turn.to_string()),
            ReviewLine::Reviews { .. }
            | ReviewLine::Text(_)
            | ReviewLine::Decided(_)
            | ReviewLine::Undone
            | ReviewLine::CheckpointRestored(_) => true,
        })
        .collect();
    kept.reverse();
    *todo = kept;
}

fn encode(line: &impl Serialize) -> io::Result<Vec<u8>> {
    serde_json::to_vec(line).map_err(io::Error::other)
}

/// Lines to append, in which texts are replaced by their names.
struct Batch<'a> {
    blobs: &'a Blobs,
    /// Texts that are lines of the journal.
    written: &'a HashSet<Sha256Hex>,
    lines: Vec<Vec<u8>>,
    /// Texts that are among these lines.
    texts: HashSet<Sha256Hex>,
}

impl Batch<'_> {
    fn add(&mut self, mut line: ReviewLine) -> io::Result<()> {
        for part in &mut line.parts() {
            for text in part.texts() {
                *text = Text::new(self.name(text)?.as_str());
            }
        }
        self.lines.push(encode(&line)?);
        Ok(())
    }

    /// Stores a text, and returns its name.
    fn name(&mut self, text: &Text) -> io::Result<Sha256Hex> {
        let room = self.written.len() + self.texts.len() < MOST_SMALL_TEXTS;
        if text.len_bytes() > SMALL_TEXT || !room {
            return self.blobs.put(text);
        }
        let text = text.to_string();
        let hash = Sha256Hex::of(text.as_bytes());
        if !self.written.contains(&hash) && self.texts.insert(hash.clone()) {
            self.lines.push(encode(&StoredLine::Text(text))?);
        }
        Ok(hash)
    }
}

/// Adds all strings of a value that may be hashes of texts.
fn add_hashes(json: &Value, hashes: &mut HashSet<Sha256Hex>) {
    match json {
        Value::String(text) => hashes.extend(Sha256Hex::try_from(text.clone()).ok()),
        Value::Array(values) => values.iter().for_each(|value| add_hashes(value, hashes)),
        Value::Object(fields) => fields.values().for_each(|value| add_hashes(value, hashes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reads a record and loads its texts. `None`: it is not known, or a text is missing.
fn loaded(line: StoredLine, texts: &SmallTexts, blobs: &Blobs) -> Option<ReviewLine> {
    let load = || {
        let mut line: ReviewLine = serde_json::from_value(serde_json::to_value(line)?)?;
        for mut part in line.parts() {
            for text in part.texts() {
                let hash = Sha256Hex::try_from(text.to_string()).map_err(io::Error::other)?;
                if let Some(small) = texts.get(&hash) {
                    *text = Text::new(small);
                    continue;
                }
                let bytes = blobs.get(&hash)?.ok_or_else(|| io::Error::other("a text is lost"))?;
                *text = Text::new(&String::from_utf8(bytes).map_err(io::Error::other)?);
            }
            if let RecordPart::Review(review) = part {
                review.check().map_err(io::Error::other)?;
            }
        }
        io::Result::Ok(line)
    };
    let lost = |error| tracing::warn!("a pending review could not be restored: {error}");
    load().map_err(lost).ok()
}

fn field<'a>(record: &'a Value, name: &str) -> &'a str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Stored reviews of a workspace when it was opened.
#[derive(Debug, Default)]
pub struct Found {
    pub files: Vec<FileRecord>,
    /// Oldest first.
    pub decisions: Vec<Vec<DecisionUndo>>,
    /// Oldest first.
    pub checkpoints: Vec<Checkpoint>,
}

type SmallTexts = BTreeMap<Sha256Hex, String>;

/// State that the lines of a journal add up to.
#[derive(Debug, Default)]
struct Live {
    version: u32,
    texts: SmallTexts,
    files: BTreeMap<FileKey, Value>,
    decisions: Vec<Value>,
    checkpoints: Vec<Value>,
    lines: usize,
}

impl Live {
    fn add(&mut self, line: StoredLine) {
        self.lines += 1;
        match line {
            ReviewLine::Reviews { version } => self.version = version,
            ReviewLine::Text(text) => {
                self.texts.insert(Sha256Hex::of(text.as_bytes()), text);
            }
            ReviewLine::File(record) => {
                self.files.insert(field(&record, "key").into(), record);
            }
            ReviewLine::Settled(key) => drop(self.files.remove(&key)),
            ReviewLine::Decided(undos) => {
                self.decisions.push(undos);
                if self.decisions.len() > DECISIONS_KEPT {
                    self.decisions.remove(0);
                }
            }
            ReviewLine::Undone => drop(self.decisions.pop()),
            ReviewLine::Checkpoint(checkpoint) => {
                let turn = field(&checkpoint, "turn");
                match self.checkpoints.iter_mut().find(|known| field(known, "turn") == turn) {
                    Some(known) => *known = checkpoint,
                    None => self.checkpoints.push(checkpoint),
                }
                if self.checkpoints.len() > CHECKPOINTS_KEPT {
                    self.checkpoints.remove(0);
                }
            }
            ReviewLine::CheckpointRestored(turn) => {
                let kept = self.checkpoints.iter().position(|known| turn == *field(known, "turn"));
                self.checkpoints.truncate(kept.unwrap_or(self.checkpoints.len()));
            }
        }
    }

    /// Hashes of all texts that the records name.
    fn hashes(&self) -> HashSet<Sha256Hex> {
        let mut hashes = HashSet::new();
        let records = self.files.values().chain(&self.decisions).chain(&self.checkpoints);
        records.for_each(|record| add_hashes(record, &mut hashes));
        hashes
    }

    /// Loads the texts. Leaves out records that are unreadable or whose texts are missing.
    fn with_texts(self, blobs: &Blobs) -> Found {
        let mut found = Found::default();
        for record in self.files.into_values() {
            if let Some(ReviewLine::File(record)) =
                loaded(ReviewLine::File(record), &self.texts, blobs)
            {
                found.files.push(*record);
            }
        }
        // Without a decision, those before it cannot be undone either.
        for undos in self.decisions.into_iter().rev() {
            let line = ReviewLine::Decided(undos);
            let Some(ReviewLine::Decided(undos)) = loaded(line, &self.texts, blobs) else { break };
            found.decisions.insert(0, undos);
        }
        // A checkpoint restores all of its files or is left out.
        for checkpoint in self.checkpoints {
            if let Some(ReviewLine::Checkpoint(it)) =
                loaded(ReviewLine::Checkpoint(checkpoint), &self.texts, blobs)
            {
                found.checkpoints.push(*it);
            }
        }
        found
    }
}

fn open(path: &Path) -> io::Result<(Journal, Live)> {
    let mut live = Live::default();
    if !path.exists() {
        let mut journal = Journal::create(path)?;
        journal.append(&[encode(&StoredLine::Reviews { version: VERSION })?])?;
        journal.sync()?;
        return Ok((journal, Live { version: VERSION, ..live }));
    }
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let opened = Journal::open(path, |record| {
        let line = serde_json::from_slice(record.json);
        live.add(line.map_err(|error| invalid(format!("line {}: {error}", record.sequence)))?);
        Ok(())
    });
    // Before a line that cannot be read: the newer version explains it.
    if live.version > VERSION {
        return Err(invalid(format!("version {} is newer than this Cairn", live.version)));
    }
    Ok((opened?.journal?, live))
}

/// Rewrites a journal of an earlier version, or in which most lines are outdated.
fn rewrite(path: &Path, journal: Journal, live: &Live) -> io::Result<Journal> {
    const FEW: usize = 200;
    let records = live.files.len() + live.decisions.len() + live.checkpoints.len();
    if live.version == VERSION && live.lines <= FEW + live.texts.len() + 4 * records {
        return Ok(journal);
    }
    let mut next = PathBuf::from(path);
    next.set_extension("new");
    let _ = fs::remove_file(&next);
    let mut fresh = Journal::create(&next)?;
    let mut lines = vec![encode(&StoredLine::Reviews { version: VERSION })?];
    let texts = live.texts.values().cloned().map(StoredLine::Text);
    let files = live.files.values().cloned().map(StoredLine::File);
    let decisions = live.decisions.iter().cloned().map(StoredLine::Decided);
    let checkpoints = live.checkpoints.iter().cloned().map(StoredLine::Checkpoint);
    for line in texts.chain(files).chain(decisions).chain(checkpoints) {
        lines.push(encode(&line)?);
    }
    fresh.append(&lines)?;
    fresh.sync()?;
    drop(fresh);
    fs::rename(&next, path)?;
    if let Some(folder) = path.parent() {
        super::files::sync_folder(folder)?;
    }
    // Releases the lock for a moment. A process that takes it then reads the same content.
    drop(journal);
    open(path).map(|(journal, _)| journal)
}

#[cfg(test)]
mod tests;
