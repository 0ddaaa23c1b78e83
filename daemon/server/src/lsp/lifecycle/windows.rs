//! The client's process is not looked for: when it is gone our input ends, for nobody else holds the
//! other end of that pipe.

use std::convert::Infallible;

/// Never seen.
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
