//! Limits for all searches of a daemon: their number at a time and the duration of each.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::available_parallelism,
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::ToolFailure;

/// Most searches at once on a machine with many cores. Each takes up to 6 MiB; together with one decoded
/// file they share 64 MiB.
const MAX_AT_ONCE: usize = 4;
const MAX_TIME: Duration = Duration::from_secs(20);

/// Slots for searches, shared by all sessions and subagents.
#[derive(Debug)]
pub struct Searches {
    slots: Arc<Semaphore>,
    /// The user searches in stored sessions, one search at a time.
    in_sessions: Arc<Semaphore>,
    decoding: Arc<Mutex<()>>,
    limit: Duration,
}

impl Default for Searches {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            slots: Arc::new(Semaphore::new(cores.min(MAX_AT_ONCE))),
            in_sessions: Arc::new(Semaphore::new(1)),
            decoding: Arc::default(),
            limit: MAX_TIME,
        }
    }
}

impl Searches {
    /// Searches with another time limit.
    #[cfg(test)]
    pub(super) fn with_limit(limit: Duration) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Waits until no other search in stored sessions runs, and lets none begin until the result is
    /// dropped.
    pub async fn begin_in_sessions(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.in_sessions).acquire_owned().await.ok()
    }

    /// Waits for a slot. The time limit starts when the search has one.
    pub(super) async fn begin(&self, cancel: &CancellationToken) -> Result<Search, ToolFailure> {
        let slot = tokio::select! {
            slot = Arc::clone(&self.slots).acquire_owned() => slot,
            () = cancel.cancelled() => {
                return Err(ToolFailure::tell("Cancelled before the search began."));
            }
        };
        let slot = slot.map_err(|closed| ToolFailure::Fatal(closed.into()))?;
        Ok(Search {
            _slot: slot,
            decoding: Arc::clone(&self.decoding),
            cancel: cancel.clone(),
            began: Instant::now(),
            limit: self.limit,
        })
    }
}

/// Running search. Frees its slot when dropped.
pub(super) struct Search {
    _slot: OwnedSemaphorePermit,
    decoding: Arc<Mutex<()>>,
    cancel: CancellationToken,
    began: Instant,
    limit: Duration,
}

impl Search {
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.began.elapsed() >= self.limit
    }

    /// Held while a file is decoded and searched. One search at a time may have a whole file in
    /// memory.
    pub(super) fn decoding(&self) -> MutexGuard<'_, ()> {
        self.decoding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// First line of an answer that is not the whole one.
    pub(super) fn incomplete(&self, files: usize) -> String {
        format!(
            "The search is incomplete: it was stopped after {:.0} s, when it had come to {files} \
             files. Search a smaller folder, or use a narrower `glob`.",
            self.began.elapsed().as_secs_f64()
        )
    }
}
