//! Stand-in without a check: the daemon's input ends with the client's process, because no other
//! process holds the other end of that pipe.

use std::convert::Infallible;

/// Type without a value.
#[derive(Debug, Clone, Copy)]
pub(in crate::lsp) struct Parent(Infallible);

impl Parent {
    pub(in crate::lsp) fn visible(_id: u32) -> Option<Parent> {
        None
    }

    pub(super) fn is_alive(self) -> bool {
        match self.0 {}
    }
}
