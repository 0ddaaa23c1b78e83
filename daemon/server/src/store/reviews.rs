//! Pending reviews of a workspace on disk: one journal whose lines name texts by hash, and a folder
//! of these texts.
//!
//! The newest line of a file counts, so of several waiting states of a file only the newest is
//! written. A decision that can be undone is a separate line. A thread owns the files, so the hub
//! never waits for the disk.

mod forms;

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
    review::{Checkpoint, DecisionUndo, FileRecord, ReviewSnapshot},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use forms::{Compat, FromStored, ToStored, add_hashes};

use super::{
    blobs::{Blobs, Sha256Hex},
    journal::{Journal, JournalAccess, ReadOnly, State},
};

/// Version of the lines below. A journal with a higher one is not read.
const VERSION: u32 = 1;

type StoredReview = ReviewSnapshot<Sha256Hex>;
type StoredFile = Compat<FileRecord<StoredReview, Sha256Hex>>;
type StoredDecision = Compat<Vec<DecisionUndo<StoredReview, Sha256Hex>>>;
type StoredCheckpoint = Compat<Checkpoint<StoredReview, Sha256Hex>>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Reviews {
        version: u32,
    },
    File(Box<StoredFile>),
    /// The file with this key no longer has pending changes.
    Settled(FileKey),
    Decided(StoredDecision),
    Undone,
    Checkpoint(StoredCheckpoint),
    /// Removes the checkpoint of this turn and those after it.
    #[serde(rename = "wentBack")] // Name in the files of earlier versions.
    CheckpointRestored(TurnId),
}

/// Handle of the thread that saves pending reviews. Dropping it saves everything.
#[derive(Debug)]
pub struct ReviewStore {
    orders: mpsc::Sender<Order>,
}

#[derive(Debug)]
enum Order {
    File(Box<FileRecord>),
    Settled(FileKey),
    Decided(Vec<DecisionUndo>),
    Undone,
    Checkpoint(Box<Checkpoint>),
    CheckpointRestored(TurnId),
    Sync(oneshot::Sender<Result<(), String>>),
    /// Answered when the lock is free.
    Close(oneshot::Sender<()>),
}

/// Number of decisions that can be undone.
const DECISIONS_KEPT: usize = 50;
/// Number of checkpoints that are kept.
pub const CHECKPOINTS_KEPT: usize = 50;
/// Age below which an unnamed text is kept, because a line that names it may still be written.
const YOUNG: Duration = Duration::from_secs(24 * 60 * 60);
/// Time between attempts to save after a failure.
const RETRY: Duration = Duration::from_secs(2);
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
        let (journal, live) = open(&path)?;
        let journal = rewrite(&path, journal, &live)?;
        let named = live.hashes()?;
        if let Err(error) = blobs.retain(YOUNG, |hash| named.contains(hash)) {
            tracing::warn!("old texts were not removed: {error}");
        }
        let found = live.with_texts(&blobs);
        let (orders, todo) = mpsc::channel();
        let worker = Worker { journal, blobs, todo: Vec::new(), on_state, state: State::Well };
        thread::Builder::new().name("reviews".into()).spawn(move || worker.run(&todo))?;
        Ok((Self { orders }, found))
    }

    pub fn file(&self, record: FileRecord) {
        self.order(Order::File(Box::new(record)));
    }

    pub fn settled(&self, key: FileKey) {
        self.order(Order::Settled(key));
    }

    pub fn decided(&self, undos: Vec<DecisionUndo>) {
        self.order(Order::Decided(undos));
    }

    /// Records that the newest decision was undone.
    pub fn undone(&self) {
        self.order(Order::Undone);
    }

    pub fn checkpoint(&self, checkpoint: Checkpoint) {
        self.order(Order::Checkpoint(Box::new(checkpoint)));
    }

    /// Records that the workspace was restored to the state before this turn.
    pub fn record_restore(&self, turn: TurnId) {
        self.order(Order::CheckpointRestored(turn));
    }

    /// Resolves when all earlier changes are durable, or with the error of the attempt to save them.
    pub fn sync(&self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, saved) = oneshot::channel();
        self.order(Order::Sync(answer));
        saved
    }

    /// Saves everything if possible and resolves when the lock is free.
    pub async fn close(self) {
        let (answer, closed) = oneshot::channel();
        self.order(Order::Close(answer));
        let _ = closed.await;
    }

    /// Sends an order. If the thread has ended, the order is dropped, and its receiver gets an error.
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

/// Result of waiting for orders.
#[derive(Default)]
struct Gathered {
    waiting: Vec<oneshot::Sender<Result<(), String>>>,
    /// Set when the thread must end, with the caller to notify, if any.
    closing: Option<Option<oneshot::Sender<()>>>,
}

struct Worker<F> {
    journal: Journal,
    blobs: Blobs,
    /// Orders that are not saved yet, oldest first.
    todo: Vec<Order>,
    on_state: F,
    state: State,
}

impl<F: Fn(State)> Worker<F> {
    fn run(mut self, orders: &mpsc::Receiver<Order>) {
        loop {
            let Gathered { waiting, closing } = self.gather(orders);
            let saved = self.save().map_err(|error| error.to_string());
            self.tell(match &saved {
                Ok(()) => State::Well,
                Err(reason) => State::Failing(reason.clone()),
            });
            for answer in waiting {
                // Fails only if the caller dropped its receiver.
                let _ = answer.send(saved.clone());
            }
            if let Some(closed) = closing {
                // Releases the lock before the caller is notified.
                drop(self);
                if let Some(closed) = closed {
                    let _ = closed.send(());
                }
                return;
            }
        }
    }

    /// Waits for orders. Collects those that no caller waits for during [`PATIENCE`], because each
    /// key that a user types would otherwise write a text.
    fn gather(&mut self, orders: &mpsc::Receiver<Order>) -> Gathered {
        let mut gathered = Gathered::default();
        let first = if self.todo.is_empty() {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            orders.recv_timeout(RETRY)
        };
        let due = Instant::now() + PATIENCE;
        let mut next = first;
        loop {
            match next {
                Ok(Order::Sync(answer)) => gathered.waiting.push(answer),
                Ok(Order::Close(answer)) => gathered.closing = Some(Some(answer)),
                Ok(order) => self.todo.push(order),
                Err(RecvTimeoutError::Timeout) => return gathered,
                Err(RecvTimeoutError::Disconnected) => {
                    gathered.closing.get_or_insert_with(|| None);
                    return gathered;
                }
            }
            let patience = if gathered.waiting.is_empty() && gathered.closing.is_none() {
                due.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            next = orders.recv_timeout(patience);
        }
    }

    /// Saves all orders or none.
    fn save(&mut self) -> io::Result<()> {
        newest_only(&mut self.todo);
        if self.todo.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::with_capacity(self.todo.len());
        let mut put = ToStored::new(&self.blobs);
        for order in &self.todo {
            lines.push(encode(&match order {
                Order::File(record) => {
                    Line::File(Box::new(Compat::Known(record.convert(&mut put)?)))
                }
                Order::Settled(key) => Line::Settled(key.clone()),
                Order::Decided(undos) => {
                    let undos = undos.iter().map(|undo| undo.convert(&mut put));
                    Line::Decided(Compat::Known(undos.collect::<Result<_, _>>()?))
                }
                Order::Undone => Line::Undone,
                Order::Checkpoint(checkpoint) => {
                    Line::Checkpoint(Compat::Known(checkpoint.convert(&mut put)?))
                }
                Order::CheckpointRestored(turn) => Line::CheckpointRestored(turn.clone()),
                Order::Sync(_) | Order::Close(_) => continue,
            })?);
        }
        self.journal.append(&lines)?;
        self.journal.sync()?;
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
fn newest_only(todo: &mut Vec<Order>) {
    let mut seen = HashSet::new();
    let mut kept: Vec<Order> = mem::take(todo)
        .into_iter()
        .rev()
        .filter(|order| match order {
            Order::File(record) => seen.insert(record.key.to_string()),
            Order::Settled(key) => seen.insert(key.to_string()),
            Order::Checkpoint(checkpoint) => seen.insert(checkpoint.turn.to_string()),
            Order::Decided(_)
            | Order::Undone
            | Order::CheckpointRestored(_)
            | Order::Sync(_)
            | Order::Close(_) => true,
        })
        .collect();
    kept.reverse();
    *todo = kept;
}

fn encode(line: &Line) -> io::Result<Vec<u8>> {
    serde_json::to_vec(line).map_err(io::Error::other)
}

/// Loads a record. `None`: it is not known, or a text is missing.
fn readable<T, U>(record: &Compat<T>, load: impl FnOnce(&T) -> io::Result<U>) -> Option<U> {
    let loaded = match record.known() {
        Some(record) => load(record),
        None => Err(io::Error::other("its record is not known")),
    };
    let lost = |error| tracing::warn!("a pending review could not be restored: {error}");
    loaded.map_err(lost).ok()
}

fn turn_of(checkpoint: &StoredCheckpoint) -> &str {
    checkpoint.name(|checkpoint| &checkpoint.turn, "turn")
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

/// State that the lines of a journal add up to.
#[derive(Debug, Default)]
struct Live {
    version: u32,
    files: BTreeMap<FileKey, StoredFile>,
    decisions: Vec<StoredDecision>,
    checkpoints: Vec<StoredCheckpoint>,
    lines: usize,
}

impl Live {
    fn add(&mut self, line: Line) {
        self.lines += 1;
        match line {
            Line::Reviews { version } => self.version = version,
            Line::File(record) => {
                let key = record.name(|record| &record.key, "key").into();
                self.files.insert(key, *record);
            }
            Line::Settled(key) => drop(self.files.remove(&key)),
            Line::Decided(undos) => {
                self.decisions.push(undos);
                if self.decisions.len() > DECISIONS_KEPT {
                    self.decisions.remove(0);
                }
            }
            Line::Undone => drop(self.decisions.pop()),
            Line::Checkpoint(checkpoint) => {
                let turn = turn_of(&checkpoint);
                match self.checkpoints.iter_mut().find(|known| turn_of(known) == turn) {
                    Some(known) => *known = checkpoint,
                    None => self.checkpoints.push(checkpoint),
                }
                if self.checkpoints.len() > CHECKPOINTS_KEPT {
                    self.checkpoints.remove(0);
                }
            }
            Line::CheckpointRestored(turn) => {
                let kept = self.checkpoints.iter().position(|known| turn == *turn_of(known));
                self.checkpoints.truncate(kept.unwrap_or(self.checkpoints.len()));
            }
        }
    }

    /// Hashes of all texts that the records name.
    fn hashes(&self) -> io::Result<HashSet<Sha256Hex>> {
        let json: Vec<Value> = [
            serde_json::to_value(self.files.values().collect::<Vec<_>>()),
            serde_json::to_value(&self.decisions),
            serde_json::to_value(&self.checkpoints),
        ]
        .into_iter()
        .collect::<Result<_, _>>()?;
        let mut hashes = HashSet::new();
        json.iter().for_each(|value| add_hashes(value, &mut hashes));
        Ok(hashes)
    }

    /// Loads the texts. Leaves out records that are unreadable or whose texts are missing.
    fn with_texts(self, blobs: &Blobs) -> Found {
        let mut get = FromStored(blobs);
        let files = self.files.values();
        let files = files.filter_map(|record| readable(record, |it| it.convert(&mut get)));
        let files = files.collect();
        // Without a decision, those before it cannot be undone either.
        let decisions = self.decisions.iter().rev();
        let decisions = decisions.map_while(|undos| {
            readable(undos, |undos| undos.iter().map(|undo| undo.convert(&mut get)).collect())
        });
        let mut decisions: Vec<Vec<DecisionUndo>> = decisions.collect();
        decisions.reverse();
        // A checkpoint restores all of its files or is left out.
        let checkpoints = self.checkpoints.iter();
        let checkpoints = checkpoints.filter_map(|it| readable(it, |it| it.convert(&mut get)));
        let checkpoints = checkpoints.collect();
        Found { files, decisions, checkpoints }
    }
}

fn open(path: &Path) -> io::Result<(Journal, Live)> {
    let mut live = Live::default();
    if !path.exists() {
        let mut journal = Journal::create(path)?;
        journal.append(&[encode(&Line::Reviews { version: VERSION })?])?;
        journal.sync()?;
        return Ok((journal, Live { version: VERSION, ..live }));
    }
    let mut fault = None;
    let opened = Journal::open(path, |record| match serde_json::from_slice(record.json) {
        Ok(line) => live.add(line),
        Err(error) => fault = fault.take().or(Some((record.sequence, error))),
    })?;
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    if live.version > VERSION {
        return refused(format!("version {} is newer than this Cairn", live.version));
    }
    if let Some((sequence, error)) = fault {
        return refused(format!("line {sequence}: {error}"));
    }
    match opened.access {
        JournalAccess::Write(journal) => Ok((journal, live)),
        JournalAccess::Read(ReadOnly::Locked) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "another window keeps them"))
        }
        JournalAccess::Read(ReadOnly::Corrupt) => refused("they are damaged".into()),
        JournalAccess::Read(ReadOnly::Refused(error)) => Err(error),
    }
}

/// Rewrites a journal in which most lines are outdated.
fn rewrite(path: &Path, journal: Journal, live: &Live) -> io::Result<Journal> {
    const FEW: usize = 200;
    if live.lines <= FEW + 4 * (live.files.len() + live.decisions.len() + live.checkpoints.len()) {
        return Ok(journal);
    }
    let mut next = PathBuf::from(path);
    next.set_extension("new");
    let _ = fs::remove_file(&next);
    let mut fresh = Journal::create(&next)?;
    let mut lines = vec![encode(&Line::Reviews { version: VERSION })?];
    for record in live.files.values() {
        lines.push(encode(&Line::File(Box::new(record.clone())))?);
    }
    for undos in &live.decisions {
        lines.push(encode(&Line::Decided(undos.clone()))?);
    }
    for checkpoint in &live.checkpoints {
        lines.push(encode(&Line::Checkpoint(checkpoint.clone()))?);
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
