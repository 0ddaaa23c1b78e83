//! Liveness of the client's process, by its process id.

use rustix::process::{Pid, test_kill_process};

/// Process of the client that was alive at `initialize`.
#[derive(Debug, Clone, Copy)]
pub(in crate::lsp) struct Parent(Pid);

impl Parent {
    /// Returns `None` for a process that is not visible from here, as outside of a container. Call
    /// it before `initialize` is answered, while the client is certainly alive.
    pub(in crate::lsp) fn visible(id: u32) -> Option<Parent> {
        i32::try_from(id)
            .ok()
            .and_then(Pid::from_raw)
            .map(Parent)
            .filter(|parent| parent.is_alive())
    }

    pub(super) fn is_alive(self) -> bool {
        // A refused signal also proves that the process exists.
        test_kill_process(self.0) != Err(rustix::io::Errno::SRCH)
    }
}
