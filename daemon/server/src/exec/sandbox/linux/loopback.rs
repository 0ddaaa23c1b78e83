//! Network that all commands of a session share. It has a loopback interface only, over which a command reaches
//! a server that an earlier one started in the background.
//!
//! A short-lived process builds a user namespace, with the network namespace in it, and sends both to the daemon,
//! which keeps them open. For a command, the daemon sends them to `join_network::join_and_exec`, which enters them before
//! it executes the launcher of the sandbox.

use std::{
    ffi::OsString,
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use cairn_core::{ids::SessionId, policy::sandbox::isolated};
use parking_lot::Mutex;
use rustix::{
    cmsg_space,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    },
    process::{Pid, Signal, kill_process_group},
};

use super::builder::Builder;
use crate::exec::sandbox::settings::SUBCOMMAND;

/// Role of the process that builds the namespaces: the argument after [`SUBCOMMAND`].
pub(super) const OPENER: &str = "open-network";

/// Time limit for the process that builds the namespaces. It takes milliseconds, but the machine may be busy.
const LIMIT: Duration = Duration::from_secs(10);

/// Namespaces of a session's network. They exist as long as they are open or a command runs in them.
#[derive(Debug)]
pub(in crate::exec) struct Loopback {
    pub(super) user: OwnedFd,
    pub(super) network: OwnedFd,
}

impl Loopback {
    /// Builds the namespaces. Blocks for some milliseconds.
    pub(super) fn open(builder: &Builder, program: &Path) -> io::Result<Self> {
        Self::open_within(LIMIT, builder, program)
    }

    #[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
    fn open_within(limit: Duration, builder: &Builder, program: &Path) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(limit))?;
        let opener: [OsString; 3] = [program.into(), SUBCOMMAND.into(), OPENER.into()];
        let mut command = Command::new(&builder.program);
        command.args(&builder.arguments).args(isolated(opener)).env_clear().current_dir("/");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        command.process_group(0);
        let child = command.spawn()?;
        // Holds the other end of the socket.
        drop(command);
        let received = receive(&ours);
        if received.is_err() {
            // With the launcher alone its own child would stay: it waits for the launcher, and keeps stderr open.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        }
        let output = child.wait_with_output()?;
        received.map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr);
            io::Error::other(format!("{error}: {}", said.trim()))
        })
    }

    /// Sends the namespaces to `join_network::join_and_exec`.
    pub(in crate::exec) fn send(&self, to: &UnixStream) -> io::Result<()> {
        let namespaces = [self.user.as_fd(), self.network.as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&namespaces)) {
            return Err(io::Error::other("no room for the namespaces"));
        }
        sendmsg(to, &[IoSlice::new(b"n")], &mut control, SendFlags::empty())?;
        Ok(())
    }
}

/// Receives what [`Loopback::send`] sent.
pub(super) fn receive(from: impl AsFd) -> io::Result<Loopback> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files.collect::<Vec<OwnedFd>>()),
        _ => None,
    });
    match received.map(<[OwnedFd; 2]>::try_from) {
        Some(Ok([user, network])) => Ok(Loopback { user, network }),
        Some(Err(_)) | None => Err(io::Error::other("no namespaces arrived")),
    }
}

/// Most networks that are kept without a command in them. A command holds its own.
const KEPT: usize = 8;

/// Networks of the sessions whose commands ran last.
#[derive(Debug, Default)]
pub(super) struct Loopbacks(Mutex<Vec<(SessionId, Arc<Loopback>)>>);

impl Loopbacks {
    /// Returns the network of a session, which `open` builds if there is none yet.
    pub(super) fn of(
        &self,
        session: SessionId,
        open: impl FnOnce() -> io::Result<Loopback>,
    ) -> io::Result<Arc<Loopback>> {
        let mut all = self.0.lock();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::sandbox::settings::SandboxBackend;

    #[test]
    fn a_launcher_that_does_not_answer_is_given_up_with_its_children() {
        let builder = Builder {
            backend: SandboxBackend::Bubblewrap,
            program: "/bin/sh".into(),
            arguments: ["-c", "sleep 1000 & sleep 1000"].map(OsString::from).into(),
            shares_loopback: true,
        };
        // The child of the launcher holds stderr, which is read to its end.
        let limit = Duration::from_millis(100);
        let refused = Loopback::open_within(limit, &builder, Path::new("/nowhere")).unwrap_err();
        assert!(refused.to_string().starts_with("Resource temporarily unavailable"), "{refused}");
    }
}
