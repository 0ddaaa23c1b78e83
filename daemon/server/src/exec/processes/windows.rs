//! Processes of a command as a job object: it contains all that they start, none can leave it, and
//! the system kills all of it when the last handle is closed, with the daemon at the latest.
//!
//! Processes are killed without a request to end: a process without a window cannot receive one.

use std::{future::Future, io, pin::Pin, process::ExitStatus, sync::LazyLock, time::Duration};

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use tokio::{process::Command, task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use windows::Win32::System::Threading::CREATE_NO_WINDOW;

use super::{Ended, input, powershell};
use crate::exec::{Exit, Spec, environment};

pub(super) mod pipe;

/// Time for killed processes to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// Parent token of all commands.
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
    _end_with_this: DropGuard,
}

impl Group {
    /// Starts the command. Must be called in a Tokio runtime.
    pub(in crate::exec) fn start(spec: &Spec, output: io::PipeWriter) -> io::Result<Self> {
        if END.is_cancelled() {
            return Err(io::Error::other("Cairn is closing"));
        }
        if let Some(prepared) = &spec.sandbox {
            // Uninhabited on Windows.
            match **prepared {}
        }
        let mut command = command(spec)?;
        command.stdin(input(&spec.input)?).stdout(output.try_clone()?).stderr(output);
        // The process runs only once it is in its job.
        let child = CommandWrap::from(command)
            .wrap(KillOnDrop)
            .wrap(CreationFlags(CREATE_NO_WINDOW))
            .wrap(JobObject)
            .spawn()?;
        let (end, exited) = (END.child_token(), CancellationToken::new());
        let watcher = tokio::spawn(watch(child, end.clone(), exited.clone().drop_guard()));
        Ok(Self { _end_with_this: end.clone().drop_guard(), end, exited, watcher })
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
    pub(in crate::exec) async fn end(self) -> io::Result<Ended> {
        self.end.cancel();
        let status = self.watcher.await.map_err(io::Error::other)??;
        Ok(Ended {
            exit: Exit::Code(status.code().unwrap_or_default()),
            left_running: 0,
            crowded: false,
            never_began: None,
        })
    }
}

/// Waits for the child, which it owns. Dropping this future, as at the end of the runtime, closes
/// its job.
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
fn command(spec: &Spec) -> io::Result<Command> {
    let shell = powershell::program(std::env::var_os("SystemRoot"))?;
    let mut command = Command::new(shell);
    command.args(powershell::arguments(&spec.command)?).current_dir(&spec.cwd).env_clear();
    command.envs(environment::for_command(std::env::vars_os(), &spec.env, "1"));
    Ok(command)
}
