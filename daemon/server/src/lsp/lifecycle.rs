//! When a session is over, and how long leaving may take.
//!
//! It must never end the process itself: `main` does, with the code said here.

use std::time::Duration;

use tokio::{
    sync::SetOnce,
    time::{Instant, MissedTickBehavior, timeout, timeout_at},
};

use super::convert::Accepted;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::Parent;
#[cfg(windows)]
pub(super) use windows::Parent;

/// An editor gives up waiting after two seconds and kills what it sees; be gone before.
const LEAVE: Duration = Duration::from_millis(1000);
/// A slow disk may hold the hub up: children and output must get their share.
const HUB_ENDS: Duration = Duration::from_millis(500);
const PARENT_CHECK: Duration = Duration::from_millis(500);

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client said `exit`.
    Asked,
    /// The client closed our input.
    InputClosed,
    /// The client does not take output any more.
    OutputClosed,
    /// The process named at `initialize` is gone.
    ParentGone,
    /// The hub stopped: an error of ours.
    HubGone,
    /// The input can not be made sense of any more.
    Lost,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub ended: Ended,
    pub after_shutdown: bool,
}

impl Exit {
    /// 0 only for a client that asked for `shutdown` first; 2 tells it that something broke here.
    pub fn code(self) -> u8 {
        match self.ended {
            Ended::HubGone | Ended::Lost => 2,
            Ended::Asked | Ended::InputClosed | Ended::OutputClosed | Ended::ParentGone => {
                u8::from(!self.after_shutdown)
            }
        }
    }
}

/// Resolves when the client's process is gone; never, if there is none to be seen.
pub(super) async fn parent_gone(handshake: &SetOnce<Accepted>) {
    let Some(parent) = handshake.wait().await.parent else {
        return std::future::pending().await;
    };
    let mut ticks = tokio::time::interval(PARENT_CHECK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while parent.is_alive() {
        ticks.tick().await;
    }
}

/// First the hub ends, so that nothing goes on; then children die, then the last words go out,
/// within one deadline.
pub(super) async fn leave(
    hub: impl Future<Output = ()>,
    farewell: impl Future<Output = ()>,
    flush: impl Future<Output = ()>,
) {
    let deadline = Instant::now() + LEAVE;
    if timeout(HUB_ENDS, hub).await.is_err() {
        tracing::error!("the hub did not end in time");
    }
    if timeout_at(deadline, farewell).await.is_err() {
        tracing::error!("children did not end in time");
    }
    if timeout_at(deadline, flush).await.is_err() {
        tracing::warn!("the client did not take the last output");
    }
}
