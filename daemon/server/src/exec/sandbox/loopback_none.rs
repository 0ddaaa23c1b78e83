//! Placeholder for macOS, where the loopback of every sandbox is the machine's.

use std::{io, os::unix::net::UnixStream, path::Path};

use super::builder::Builder;

/// Uninhabited: no network is ever built.
#[derive(Debug)]
pub(in crate::exec) enum NoLoopback {}

pub(in crate::exec) type Loopback = NoLoopback;

impl NoLoopback {
    pub(super) fn open(_builder: &Builder, _program: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::exec) fn send(&self, _to: &UnixStream) -> io::Result<()> {
        match *self {}
    }
}
