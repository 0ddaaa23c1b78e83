//! The client's process, by its number.

use rustix::process::{Pid, test_kill_process};

/// The client's process, seen alive when it said hello.
#[derive(Debug, Clone, Copy)]
pub(in crate::lsp) struct Parent(Pid);

impl Parent {
    /// `None` for a process that cannot be seen from here: it lives outside our container. Must
    /// be asked before `initialize` is answered, while the client surely lives.
    pub(in crate::lsp) fn visible(id: u32) -> Option<Parent> {
        i32::try_from(id)
            .ok()
            .and_then(Pid::from_raw)
            .map(Parent)
            .filter(|parent| parent.is_alive())
    }

    pub(super) fn is_alive(self) -> bool {
        // Not being allowed to signal it also proves that it is there.
        test_kill_process(self.0) != Err(rustix::io::Errno::SRCH)
    }
}
