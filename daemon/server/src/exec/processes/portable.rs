//! Processes of a command on macOS: a process group, which is killed as a whole. A process can leave its
//! group.

use std::{future::Future, io, pin::Pin, process::ExitStatus, sync::LazyLock, time::Duration};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use tokio::{process::Command, task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::input::stdin;
use crate::exec::{
    command::{CommandSpec, Exit, ProcessEnd},
    environment,
};

/// Time for killed processes to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// Cancelled to kill all commands: the parent of their tokens.
static END: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Kills all processes of all commands, and prevents new ones. For the end of the process.
pub fn kill_all() {
    END.cancel();
}

/// Owner of all processes of a command. Dropping it kills them.
pub(in crate::exec) struct Group {
    end: CancellationToken,
    exited: CancellationToken,
    watcher: JoinHandle<io::Result<ExitStatus>>,
    _end_on_drop: DropGuard,
}

impl Group {
    /// Starts the command. Must be called in a Tokio runtime.
    pub(in crate::exec) fn start(spec: &CommandSpec, output: io::PipeWriter) -> io::Result<Self> {
        if END.is_cancelled() {
            return Err(io::Error::other("Cairn is closing"));
        }
        if let Some(prepared) = &spec.sandbox {
            // Uninhabited.
            match **prepared {}
        }
        let mut command = command(spec);
        command.stdin(stdin(&spec.input)?).stdout(output.try_clone()?).stderr(output);
        let mut command = CommandWrap::from(command);
        command.wrap(KillOnDrop).wrap(ProcessGroup::leader());
        let child = command.spawn()?;
        let (end, exited) = (END.child_token(), CancellationToken::new());
        let watcher = tokio::spawn(watch(child, end.clone(), exited.clone().drop_guard()));
        Ok(Self { _end_on_drop: end.clone().drop_guard(), end, exited, watcher })
    }

    /// Completes when the shell has ended.
    pub(in crate::exec) fn exited(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.exited.clone().cancelled_owned())
    }

    /// Ends the command.
    pub(in crate::exec) fn terminate(&self) {
        self.end.cancel();
    }

    /// Kills the remaining processes and returns how the shell ended.
    pub(in crate::exec) async fn end(self) -> io::Result<ProcessEnd> {
        self.end.cancel();
        let status = self.watcher.await.map_err(io::Error::other)??;
        Ok(ProcessEnd {
            exit: Exit::Code(status.code().unwrap_or(-1)),
            left_running: 0,
            too_many_processes: false,
            start_error: None,
        })
    }
}

/// Waits for the child. Dropping this future, for example at the end of the runtime, kills the child.
async fn watch(
    mut child: Box<dyn ChildWrapper>,
    end: CancellationToken,
    exited: DropGuard,
) -> io::Result<ExitStatus> {
    let ended = tokio::select! {
        // Waits for the shell only; its background processes may run until the output is read.
        status = child.inner_mut().wait() => Some(status?),
        () = end.cancelled() => None,
    };
    if ended.is_none() {
        child.start_kill()?;
        child.inner_mut().wait().await?;
    }
    drop(exited);
    end.cancelled().await;
    child.start_kill()?;
    timeout(KILL_LIMIT, child.wait())
        .await
        .map_err(|_| io::Error::other("the command could not be killed"))?
}

#[allow(clippy::disallowed_methods, reason = "this is the module that starts processes")]
fn command(spec: &CommandSpec) -> Command {
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", &spec.command]);
    command.current_dir(&spec.cwd).env_clear();
    command.envs(environment::for_command(std::env::vars_os(), spec, "1"));
    command
}
