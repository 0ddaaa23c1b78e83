//! Networks of the sessions whose commands ran last.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use cairn_core::ids::SessionId;

use super::loopback::Loopback;

/// Most networks that are kept without a command in them. A command holds its own.
const KEPT: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Loopbacks(Mutex<Vec<(SessionId, Arc<Loopback>)>>);

impl Loopbacks {
    /// Returns the network of a session, which `open` builds if there is none yet.
    pub(super) fn of(
        &self,
        session: SessionId,
        open: impl FnOnce() -> io::Result<Loopback>,
    ) -> io::Result<Arc<Loopback>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|(id, _)| *id == session).map(|at| all.remove(at));
        let loopback = match known {
            Some((_, loopback)) => loopback,
            None => Arc::new(open()?),
        };
        all.push((session, Arc::clone(&loopback)));
        let unused = |(_, loopback): &(SessionId, Arc<Loopback>)| Arc::strong_count(loopback) == 1;
        if all.len() > KEPT
            && let Some(at) = all.iter().position(unused)
        {
            all.remove(at);
        }
        Ok(loopback)
    }
}
