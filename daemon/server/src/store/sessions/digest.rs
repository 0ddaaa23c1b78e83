//! Digest of a session for the list of sessions, derived from lines of its journal.

use std::mem;

use super::{
    last_line,
    lines::{Digest, Line},
    title,
};

/// Builder of the newest digest from lines of a journal in order.
#[derive(Default)]
pub struct DigestReader {
    digest: Digest,
    /// True if a digest was among the lines.
    written: bool,
}

impl DigestReader {
    /// Adds a line in JSON. A line of a later version is left out.
    pub fn add(&mut self, json: &[u8]) {
        let Self { digest, written } = self;
        match serde_json::from_slice(json) {
            Ok(Line::Digest(newest)) => {
                // One of an earlier version tells neither the end nor the queue.
                let earlier = mem::replace(digest, newest);
                if !digest.running && digest.end.is_none() {
                    (digest.end, digest.last_line) = (earlier.end, earlier.last_line);
                }
                digest.queued = digest.queued.or(earlier.queued);
                *written = true;
            }
            Ok(Line::Turn(turn)) => {
                (digest.running, digest.end, digest.last_line) = (true, None, None);
                if turn.follow_up.is_some() {
                    digest.queued = digest.queued.map(|queued| queued.saturating_sub(1));
                }
                if !*written {
                    digest.turns += 1;
                    if digest.task.is_empty() {
                        digest.task = title(&turn.task);
                    }
                }
            }
            Ok(Line::Plan(plan)) => {
                (digest.done, digest.open) = (plan.completed, plan.total - plan.completed);
            }
            Ok(Line::Ended(ended)) => {
                digest.running = false;
                digest.end = Some(ended.reason);
                digest.last_line = last_line(&ended.summary);
            }
            Ok(Line::Queue(waiting)) => digest.queued = Some(waiting.len() as u32),
            Ok(
                Line::Session(_)
                | Line::Step(_)
                | Line::Steps(_)
                | Line::Tool(_)
                | Line::Subagent(_)
                | Line::SubagentStep(_)
                | Line::Streamed(_)
                | Line::Notice(_),
            )
            | Err(_) => {}
        }
    }

    pub fn done(self) -> Digest {
        self.digest
    }
}
