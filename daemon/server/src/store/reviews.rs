//! Pending reviews of a workspace on disk: one journal whose lines name texts by hash, and a folder
//! of these texts.
//!
//! The newest line of a file counts, so of several waiting states of a file only the newest is
//! written. A decision that can be undone is a line of its own. A thread owns the files, so the hub
//! never waits for the disk.

mod records;

use std::{
    collections::BTreeMap,
    fs, io, mem,
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use cairn_core::text::Text;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

pub use records::{Before, Checkpoint, Encoding, Former, Found, Kept, Standing, UnderWay};

use super::{
    blobs::{Blobs, Sha256Hex},
    journal::{Journal, JournalAccess, ReadOnly, State},
};

/// Version of the lines below. A journal with a higher one is not read.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Reviews {
        version: u32,
    },
    File(Box<Kept<Sha256Hex>>),
    /// The file with this key has no pending changes any more.
    Settled(String),
    Decided(Vec<Former<Sha256Hex>>),
    Undone,
    Checkpoint(Checkpoint<Sha256Hex>),
    /// Removes the checkpoint of this turn and those after it.
    WentBack(String),
}

/// Handle of the thread that saves pending reviews. Dropping it saves everything.
#[derive(Debug)]
pub struct ReviewStore {
    orders: mpsc::Sender<Order>,
}

#[derive(Debug)]
enum Order {
    File(Box<Kept<Text>>),
    Settled(String),
    Decided(Vec<Former<Text>>),
    Undone,
    Checkpoint(Box<Checkpoint<Text>>),
    WentBack(String),
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
        let named: Vec<&Sha256Hex> = live.texts().collect();
        if let Err(error) = blobs.retain(YOUNG, |hash| named.contains(&hash)) {
            tracing::warn!("old texts were not removed: {error}");
        }
        let found = live.with_texts(&blobs);
        let (orders, todo) = mpsc::channel();
        let worker = Worker { journal, blobs, todo: Vec::new(), on_state, state: State::Well };
        thread::Builder::new().name("reviews".into()).spawn(move || worker.run(&todo))?;
        Ok((Self { orders }, found))
    }

    pub fn file(&self, kept: Kept<Text>) {
        self.order(Order::File(Box::new(kept)));
    }

    pub fn settled(&self, key: String) {
        self.order(Order::Settled(key));
    }

    pub fn decided(&self, formers: Vec<Former<Text>>) {
        self.order(Order::Decided(formers));
    }

    /// Records that the newest decision was undone.
    pub fn undone(&self) {
        self.order(Order::Undone);
    }

    pub fn checkpoint(&self, checkpoint: Checkpoint<Text>) {
        self.order(Order::Checkpoint(Box::new(checkpoint)));
    }

    /// Records that the workspace was restored to the state before this turn.
    pub fn went_back(&self, turn: String) {
        self.order(Order::WentBack(turn));
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
        let mut known = Vec::new();
        let mut put = |text: &Text| put_once(&self.blobs, &mut known, text);
        for order in &self.todo {
            lines.push(encode(&match order {
                Order::File(kept) => Line::File(Box::new(kept.try_map(&mut put)?)),
                Order::Settled(key) => Line::Settled(key.clone()),
                Order::Decided(formers) => Line::Decided(
                    formers.iter().map(|one| one.try_map(&mut put)).collect::<Result<_, _>>()?,
                ),
                Order::Undone => Line::Undone,
                Order::Checkpoint(checkpoint) => Line::Checkpoint(checkpoint.try_map(&mut put)?),
                Order::WentBack(turn) => Line::WentBack(turn.clone()),
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

/// Stores a text and returns its hash. Records repeat texts, so recent ones are not hashed again.
fn put_once(
    blobs: &Blobs,
    known: &mut Vec<(Text, Sha256Hex)>,
    text: &Text,
) -> io::Result<Sha256Hex> {
    const MOST_KNOWN: usize = 16;
    let same = |other: &Text| other.len_chars() == text.len_chars() && other == text;
    if let Some((_, hash)) = known.iter().find(|(other, _)| same(other)) {
        return Ok(hash.clone());
    }
    let hash = blobs.put(text.to_string().as_bytes())?;
    if known.len() < MOST_KNOWN {
        known.push((text.clone(), hash.clone()));
    }
    Ok(hash)
}

/// Drops all but the newest state of each file and each checkpoint.
fn newest_only(todo: &mut Vec<Order>) {
    let mut seen = std::collections::HashSet::new();
    let mut kept: Vec<Order> = mem::take(todo)
        .into_iter()
        .rev()
        .filter(|order| match order {
            Order::File(kept) => seen.insert(kept.key.clone()),
            Order::Settled(key) => seen.insert(key.clone()),
            Order::Checkpoint(checkpoint) => seen.insert(checkpoint.turn.clone()),
            Order::Decided(_)
            | Order::Undone
            | Order::WentBack(_)
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

/// State that the lines of a journal add up to.
#[derive(Debug, Default)]
struct Live {
    version: u32,
    files: BTreeMap<String, Kept<Sha256Hex>>,
    decisions: Vec<Vec<Former<Sha256Hex>>>,
    checkpoints: Vec<Checkpoint<Sha256Hex>>,
    lines: usize,
}

impl Live {
    fn add(&mut self, line: Line) {
        self.lines += 1;
        match line {
            Line::Reviews { version } => self.version = version,
            Line::File(kept) => drop(self.files.insert(kept.key.clone(), *kept)),
            Line::Settled(key) => drop(self.files.remove(&key)),
            Line::Decided(formers) => {
                self.decisions.push(formers);
                if self.decisions.len() > DECISIONS_KEPT {
                    self.decisions.remove(0);
                }
            }
            Line::Undone => drop(self.decisions.pop()),
            Line::Checkpoint(checkpoint) => {
                match self.checkpoints.iter_mut().find(|known| known.turn == checkpoint.turn) {
                    Some(known) => *known = checkpoint,
                    None => self.checkpoints.push(checkpoint),
                }
                if self.checkpoints.len() > CHECKPOINTS_KEPT {
                    self.checkpoints.remove(0);
                }
            }
            Line::WentBack(turn) => {
                let kept = self.checkpoints.iter().position(|known| known.turn == turn);
                self.checkpoints.truncate(kept.unwrap_or(self.checkpoints.len()));
            }
        }
    }

    fn texts(&self) -> impl Iterator<Item = &Sha256Hex> {
        let files = self.files.values().flat_map(|kept| {
            let edits = kept.under_way.iter().chain(&kept.late);
            let edits = edits.flat_map(|it| {
                let after = it.after.iter().flat_map(standing_texts);
                it.before.iter().chain([&it.expected]).chain(after)
            });
            standing_texts(&kept.standing).chain(edits)
        });
        let decisions = self.decisions.iter().flatten();
        let checkpoints = self.checkpoints.iter().flat_map(|checkpoint| checkpoint.files.values());
        let checkpoints = checkpoints.flat_map(|before| {
            standing_texts(&before.standing).chain(&before.text).chain(&before.left)
        });
        files
            .chain(decisions.flat_map(|one| standing_texts(&one.standing).chain(&one.after)))
            .chain(checkpoints)
    }

    /// Loads the texts. Leaves out entries whose texts are missing.
    fn with_texts(self, blobs: &Blobs) -> Found {
        let get = |hash: &Sha256Hex| -> io::Result<Text> {
            let bytes = blobs.get(hash)?.ok_or_else(|| io::Error::other("a text is lost"))?;
            String::from_utf8(bytes).map(|text| Text::new(&text)).map_err(io::Error::other)
        };
        let lost =
            |error: io::Error| tracing::warn!("a pending review could not be restored: {error}");
        let files = self.files.values();
        let files = files.filter_map(|kept| kept.try_map(get).map_err(lost).ok()).collect();
        // Without a decision, those before it cannot be undone either.
        let mut decisions = Vec::new();
        for formers in self.decisions.iter().rev() {
            match formers.iter().map(|one| one.try_map(get)).collect::<io::Result<Vec<_>>>() {
                Ok(formers) => decisions.push(formers),
                Err(error) => {
                    lost(error);
                    break;
                }
            }
        }
        decisions.reverse();
        // A checkpoint restores all of its files or is left out.
        let checkpoints = self.checkpoints.iter();
        let checkpoints = checkpoints.filter_map(|it| it.try_map(get).map_err(lost).ok()).collect();
        Found { files, decisions, checkpoints }
    }
}

fn standing_texts(standing: &Standing<Sha256Hex>) -> impl Iterator<Item = &Sha256Hex> {
    let review = standing.review.as_ref();
    review.into_iter().flat_map(|review| [&review.baseline, &review.current])
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
    for kept in live.files.values() {
        lines.push(encode(&Line::File(Box::new(kept.clone())))?);
    }
    for formers in &live.decisions {
        lines.push(encode(&Line::Decided(formers.clone()))?);
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
    // Releases the lock for a moment. A process that takes it meanwhile reads the same content.
    drop(journal);
    open(path).map(|(journal, _)| journal)
}

#[cfg(test)]
mod tests;
