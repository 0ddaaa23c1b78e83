//! End of a session: its causes, and the time limits of shutting down.
//!
//! Ends no process itself: `main` does, with the code of [`SessionExit`].

use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use tokio::time::{Instant, MissedTickBehavior, timeout, timeout_at};

/// Time for the whole shutdown. Editors kill the daemon after two seconds.
const LEAVE: Duration = Duration::from_millis(1000);
/// Share of the hub, which a slow disk may delay, so that killing processes and flushing keep
/// theirs.
const HUB_ENDS: Duration = Duration::from_millis(500);
const PARENT_CHECK: Duration = Duration::from_millis(500);

/// Reason why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client sent `exit`.
    ExitRequested,
    /// The client closed the daemon's input.
    InputClosed,
    /// The client no longer reads the output.
    OutputClosed,
    /// The process that `initialize` named is gone.
    ParentGone,
    /// A signal asked the daemon to end.
    Terminated,
    /// The hub stopped because of an internal error.
    HubStopped,
    /// No further frame can be found in the input.
    UnreadableInput,
}

/// Result of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionExit {
    pub ended: SessionEnd,
    pub after_shutdown: bool,
}

impl SessionExit {
    /// Returns the exit code: 0 after `shutdown`, 1 without it, 2 after an internal error or
    /// unreadable input.
    pub fn code(self) -> u8 {
        match self.ended {
            SessionEnd::HubStopped | SessionEnd::UnreadableInput => 2,
            SessionEnd::ExitRequested
            | SessionEnd::InputClosed
            | SessionEnd::OutputClosed
            | SessionEnd::Terminated
            | SessionEnd::ParentGone => u8::from(!self.after_shutdown),
        }
    }
}

/// Returns the process of the client, or `None` if it is not visible from here, as outside of a
/// container. Call it before `initialize` is answered, while the client is certainly alive.
pub(super) fn visible_parent(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw).filter(|parent| is_alive(*parent))
}

fn is_alive(process: Pid) -> bool {
    // A refused signal also proves that the process exists.
    test_kill_process(process) != Err(rustix::io::Errno::SRCH)
}

/// Resolves when the client's process is gone. Never resolves if that process is not visible.
pub(super) async fn parent_gone(parent: Option<Pid>) {
    let Some(parent) = parent else {
        return std::future::pending().await;
    };
    let mut ticks = tokio::time::interval(PARENT_CHECK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while is_alive(parent) {
        ticks.tick().await;
    }
}

/// Ends the hub, kills the remaining processes, then flushes the output, within one deadline.
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
