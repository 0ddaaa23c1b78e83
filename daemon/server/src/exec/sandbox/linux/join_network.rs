//! Roles of this program for a network that commands share (`loopback`): one sends the namespaces to the daemon, the
//! other enters them for a command.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitCode},
};

use anyhow::{Context, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{
    loopback::{Loopback, receive},
    sandbox_init::die_with_parent,
};

/// Role of the process that enters the namespaces.
pub(super) const JOINER: &str = "join-network";

/// Sends the namespaces of this process, which the launcher has built, to the daemon.
pub(super) fn open() -> anyhow::Result<ExitCode> {
    let namespace = |name: &str| File::open(format!("/proc/self/ns/{name}")).map(OwnedFd::from);
    let loopback = Loopback { user: namespace("user")?, network: namespace("net")? };
    loopback.send(&UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))?;
    Ok(ExitCode::SUCCESS)
}

/// Enters the network of a session, and executes the launcher of a sandbox that keeps the network of its parent
/// process. The command must never have the machine's network, so the launcher runs only if the network has changed.
#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
pub(super) fn join_and_exec(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    die_with_parent()?;
    let network = || fs::read_link("/proc/self/ns/net");
    let before = network()?;
    let Loopback { user, network: joined } = receive(io::stderr())?;
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))
        .context("the user namespace of the session cannot be entered")?;
    move_into_link_name_space(joined.as_fd(), Some(LinkNameSpaceType::Network))
        .context("the network of the session cannot be entered")?;
    ensure!(network()? != before, "the network of the session is that of the daemon");
    let (program, arguments) = arguments.split_first().context("no program")?;
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("{} could not be started", program.display()))
}
