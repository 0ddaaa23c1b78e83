//! Retries after a failure of the model server: when, and after which wait. Waits grow from half a
//! second to eight, or are as long as the server asked for. The server of Cairn may lengthen a
//! wait, but never shorten it.

use crate::model::{Failure, FailureKind};

/// Longest wait in milliseconds that a server may ask for. Beyond it, the server is treated as down.
pub const MAX_SERVER_WAIT_MS: u64 = 120_000;

const FIRST_DELAY_MS: u64 = 500;
const LONGEST_DELAY_MS: u64 = 8_000;

/// Returns the wait that a server asked for, if it is too long to wait without asking the user.
pub(super) fn too_long(failure: &Failure) -> Option<u64> {
    failure
        .retry_after_ms
        .filter(|wanted| failure.kind.is_retryable() && *wanted > MAX_SERVER_WAIT_MS)
}

/// Failures since the last good answer.
#[derive(Debug, Default)]
pub(super) struct Retries {
    failures: u32,
    cuts: u32,
    garbage: u32,
}

impl Retries {
    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of the next attempt (the first was 1) and the wait before it in
    /// milliseconds; `None` to give up.
    pub(super) fn next(&mut self, failure: &Failure) -> Option<(u32, u64)> {
        if !failure.kind.is_retryable() {
            return None;
        }
        self.failures += 1;
        let within_limit = match failure.kind {
            FailureKind::StreamCut => {
                self.cuts += 1;
                self.cuts <= 3
            }
            FailureKind::Protocol => {
                self.garbage += 1;
                self.garbage <= 1
            }
            FailureKind::Connect
            | FailureKind::Timeout
            | FailureKind::RateLimited
            | FailureKind::Server => true,
            _ => false,
        };
        if !within_limit || self.failures > 4 {
            return None;
        }
        let delay = match failure.retry_after_ms {
            Some(_) if too_long(failure).is_some() => return None,
            Some(wanted) => wanted,
            None => (FIRST_DELAY_MS << (self.failures - 1)).min(LONGEST_DELAY_MS),
        };
        Some((self.failures + 1, delay))
    }
}
