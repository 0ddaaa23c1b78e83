//! Limits for all searches of a daemon: their number at a time and the duration of each.

use std::{
    sync::Arc,
    thread::available_parallelism,
    time::{Duration, Instant},
};

use cairn_core::marks::ModelText;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::ToolFailure;
use crate::workspace::{TRAPPED, Walked};

/// Most searches at once on a machine with many cores. Each takes up to 6 MiB; together with one decoded
/// file they share 64 MiB.
const MAX_AT_ONCE: usize = 4;
const MAX_TIME: Duration = Duration::from_secs(20);

/// Largest text that any number of searches hold at once, in bytes. Of larger ones only one is held, so that
/// all searches stay below 64 MiB.
const LARGE: usize = 1024 * 1024;
const POLL: Duration = Duration::from_millis(5);

/// Turn of a search with a large text. `None`: the text needs none.
pub(super) type Turn<'s> = Option<MutexGuard<'s, ()>>;

/// Slots for searches, shared by all sessions and subagents.
#[derive(Debug)]
pub struct Searches {
    slots: Arc<Semaphore>,
    turns: Arc<Mutex<()>>,
    limit: Duration,
}

impl Default for Searches {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            slots: Arc::new(Semaphore::new(cores.min(MAX_AT_ONCE))),
            turns: Arc::default(),
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
            turns: Arc::clone(&self.turns),
            cancel: cancel.clone(),
            began: Instant::now(),
            limit: self.limit,
        })
    }
}

/// Running search. Frees its slot when dropped.
pub(super) struct Search {
    _slot: OwnedSemaphorePermit,
    turns: Arc<Mutex<()>>,
    cancel: CancellationToken,
    began: Instant,
    limit: Duration,
}

impl Search {
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.began.elapsed() >= self.limit
    }

    /// Turn for a text of this size. The outer `None`: the search is over.
    pub(super) fn turn_of(&self, bytes: usize) -> Option<Turn<'_>> {
        if bytes <= LARGE { Some(None) } else { self.turn().map(Some) }
    }

    /// Waits until no other search has a turn. `None`: the search is over.
    pub(super) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        loop {
            let turn = self.turns.try_lock_for(POLL);
            if turn.is_some() || self.is_over() {
                return turn;
            }
        }
    }

    /// Result of a search for files or matches, with remarks about the search around it. `enough` is the
    /// remark that more may follow.
    pub(super) fn report(&self, walked: Walked, found: &str, of: &str, enough: &str) -> ModelText {
        let mut out = ModelText::default();
        let mut so_far = "";
        if let Walked::Stopped { files } = walked {
            out.own(&self.incomplete(files));
            so_far = " so far";
        }
        if found.is_empty() {
            out.own(&format!("No {of}{so_far}."));
        }
        out.add(found);
        match walked {
            Walked::All | Walked::Stopped { .. } => {}
            Walked::Enough => out.own(enough),
            Walked::Trapped => out.own(TRAPPED),
        }
        out
    }

    /// First line of an answer that is not the whole one.
    fn incomplete(&self, files: usize) -> String {
        format!(
            "The search is incomplete: it was stopped after {:.0} s, when it had come to {files} \
             files. Search a smaller folder, or use a narrower `glob`.",
            self.began.elapsed().as_secs_f64()
        )
    }
}
