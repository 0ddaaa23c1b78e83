//! Thread that owns a journal and writes records for callers that must not block.
//!
//! Records that arrive during a write go into the next write, so a slow disk makes the batches larger
//! and no caller waits longer. A record stays in memory until it is on the disk, so a full or failing
//! disk loses nothing while the process lives.
//!
//! Never drops a record it has accepted, never accepts one after one it has refused.

use std::{
    io, mem,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::{Journal, lines};
use crate::secrets;

/// Limit of the records that wait to be saved, in bytes.
const MAX_UNSAVED: usize = 64 * 1024 * 1024;
/// Size in bytes, and age, at which records that no caller waits for are synced.
const SYNC_BYTES: usize = 1024 * 1024;
const SYNC_AFTER: Duration = Duration::from_secs(2);

/// Dropping it has everything saved, once more if need be, and ends the thread; [`Writer::close`]
/// also tells when that is done.
pub struct Writer {
    shared: Arc<Shared>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// All records are on disk, or will be soon.
    Well,
    /// Writing fails and is retried; the records wait in memory. The reason, for the user.
    Failing(String),
    /// Failing, and the queue has reached its limit: further records are refused.
    Full,
}

/// Reasons for the refusal of a record, besides its form.
const FULL: &str = "too much waits to be saved";
const CLOSED: &str = "the journal is closed";

type Saved = Result<(), String>;

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    limit: usize,
}

#[derive(Default)]
struct Queue {
    records: Vec<Vec<u8>>,
    syncs: Vec<oneshot::Sender<Saved>>,
    /// Bytes of the records here and of those the thread holds.
    unsaved: usize,
    /// One was refused. None is taken before all are saved, or there would be a hole.
    full: bool,
    told_full: bool,
    closing: bool,
    /// The thread has ended.
    ended: bool,
    closed: Option<oneshot::Sender<Saved>>,
}

const USUAL: Limits = Limits { unsaved: MAX_UNSAVED, sync_after: SYNC_AFTER };

/// Limits of time and size; tests use smaller ones.
#[derive(Clone, Copy)]
struct Limits {
    unsaved: usize,
    sync_after: Duration,
}

impl Writer {
    /// Starts the thread. `on_state` is called on it at each change of the state. The first state is
    /// [`State::Well`], without a call.
    pub fn spawn(journal: Journal, on_state: impl Fn(State) + Send + 'static) -> io::Result<Self> {
        Self::with(USUAL, Source::Open(journal), on_state)
    }

    /// The journal is opened on the thread of the writer, with the first record; if that fails it
    /// is tried again as a write is.
    pub fn spawn_with(
        open: impl FnMut() -> io::Result<Journal> + Send + 'static,
        on_state: impl Fn(State) + Send + 'static,
    ) -> io::Result<Self> {
        Self::with(USUAL, Source::Later(Box::new(open)), on_state)
    }

    fn with(
        limits: Limits,
        source: Source,
        on_state: impl Fn(State) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            limit: limits.unsaved,
        });
        let writer = WriterThread {
            source,
            held: Vec::new(),
            written: 0,
            due: None,
            state: State::Well,
            on_state,
            sync_after: limits.sync_after,
        };
        let end = End(Arc::clone(&shared));
        thread::Builder::new().name("journal".to_owned()).spawn(move || writer.run(&end))?;
        Ok(Self { shared })
    }

    /// Hands a record over; it is saved soon, in the order of these calls.
    pub fn append(&self, record: impl Into<Vec<u8>>) -> Result<(), &'static str> {
        let record = secrets::clean_bytes(record.into());
        lines::check(&record)?;
        let mut queue = self.shared.queue.lock();
        if queue.closing {
            return Err(CLOSED);
        }
        if queue.full || queue.unsaved + record.len() > self.shared.limit {
            queue.full = true;
            self.shared.wake.notify_one();
            return Err(FULL);
        }
        queue.unsaved += record.len();
        // Who has work was woken for it, or is at work and looks again before it sleeps.
        let asleep = !queue.has_work();
        queue.records.push(record);
        // Unlock before notifying, so that the woken thread does not block on the lock.
        drop(queue);
        if asleep {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Resolves when all earlier records are on the disk, or could not be saved for now: then they stay
    /// in memory and are tried again.
    pub fn sync(&self) -> oneshot::Receiver<Saved> {
        let (answer, saved) = oneshot::channel();
        let mut queue = self.shared.queue.lock();
        if !queue.closing {
            queue.syncs.push(answer);
            self.shared.wake.notify_one();
        }
        saved
    }

    /// Resolves when all records are saved and another process may write the journal, or when they could
    /// not be saved and are dropped. Later calls on this writer are refused.
    pub async fn close(&self) -> Saved {
        let closed = {
            let (answer, closed) = oneshot::channel();
            let mut queue = self.shared.queue.lock();
            // A thread that has ended would never answer.
            if !queue.ended {
                queue.closed = Some(answer);
                queue.closing = true;
            }
            closed
        };
        self.shared.wake.notify_one();
        closed.await.unwrap_or_else(|_| Err("the thread of the journal has ended".to_owned()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.queue.lock().closing = true;
        self.shared.wake.notify_one();
    }
}

impl Shared {
    /// Waits for the next work.
    fn next(&self, due: Option<Instant>) -> Work {
        let mut queue = self.queue.lock();
        loop {
            let is_due = due.is_some_and(|due| due <= Instant::now());
            let full = queue.full && !queue.told_full;
            if is_due || full || queue.has_work() {
                queue.told_full |= full;
                return Work {
                    records: mem::take(&mut queue.records),
                    syncs: mem::take(&mut queue.syncs),
                    full,
                    is_due,
                    closing: queue.closing,
                };
            }
            match due {
                None => self.wake.wait(&mut queue),
                Some(due) => drop(self.wake.wait_until(&mut queue, due)),
            }
        }
    }

    fn saved(&self, bytes: usize) {
        let mut queue = self.queue.lock();
        queue.unsaved -= bytes;
        (queue.full, queue.told_full) = (false, false);
    }
}

impl Queue {
    fn has_work(&self) -> bool {
        !self.records.is_empty() || !self.syncs.is_empty() || self.closing
    }
}

struct Work {
    records: Vec<Vec<u8>>,
    syncs: Vec<oneshot::Sender<Saved>>,
    full: bool,
    is_due: bool,
    closing: bool,
}

/// Releases all waiting callers when the thread ends, also by a panic.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        *queue = Queue { closing: true, ended: true, ..Queue::default() };
    }
}

enum Source {
    Open(Journal),
    Later(Box<dyn FnMut() -> io::Result<Journal> + Send>),
}

impl Source {
    fn journal(&mut self) -> io::Result<&mut Journal> {
        if let Source::Later(open) = self {
            *self = Source::Open(open()?);
        }
        match self {
            Source::Open(journal) => Ok(journal),
            Source::Later(_) => Err(io::Error::other("the journal is not open")),
        }
    }
}

struct WriterThread<F> {
    source: Source,
    /// Records that may not be durable yet, and how many of them are in the file.
    held: Vec<Vec<u8>>,
    written: usize,
    /// Latest time of the next sync or retry.
    due: Option<Instant>,
    state: State,
    on_state: F,
    sync_after: Duration,
}

impl<F: Fn(State)> WriterThread<F> {
    fn run(mut self, End(shared): &End) {
        loop {
            let work = shared.next(self.due);
            self.held.extend(work.records);
            let sync = work.is_due
                || work.closing
                || work.full
                || !work.syncs.is_empty()
                || self.state != State::Well
                || self.held_bytes() > SYNC_BYTES;
            let saved = self.save(sync, shared).map_err(|error| error.to_string());
            match &saved {
                Ok(()) if sync => self.tell(State::Well),
                Ok(()) => {}
                Err(reason) => {
                    if self.state == State::Well {
                        self.tell(State::Failing(reason.clone()));
                    }
                    if work.full {
                        self.tell(State::Full);
                    }
                }
            }
            for answer in work.syncs {
                // The caller may have stopped waiting.
                let _ = answer.send(saved.clone());
            }
            if work.closing {
                let closed = shared.queue.lock().closed.take();
                // Frees the lock before callers are notified.
                drop(self);
                if let Some(closed) = closed {
                    let _ = closed.send(saved);
                }
                return;
            }
            self.due = match (&saved, self.due) {
                _ if self.held.is_empty() => None,
                (Ok(()), Some(due)) => Some(due),
                (Ok(()), None) | (Err(_), _) => Some(Instant::now() + self.sync_after),
            };
        }
    }

    fn save(&mut self, sync: bool, shared: &Shared) -> io::Result<()> {
        if self.written < self.held.len() {
            self.source.journal()?.append(&self.held[self.written..])?;
            self.written = self.held.len();
        }
        if sync {
            // Either all of it is safe now, or the journal has taken all of it out again.
            self.written = 0;
            if !self.held.is_empty() {
                self.source.journal()?.sync()?;
            }
            shared.saved(self.held_bytes());
            self.held.clear();
        }
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.held.iter().map(Vec::len).sum()
    }

    fn tell(&mut self, state: State) {
        if self.state != state {
            self.state = state.clone();
            (self.on_state)(state);
        }
    }
}

#[cfg(test)]
mod tests;
