//! Run of a command: its sandbox, the watch over it, and the wait for its end or its first output.

use std::{io, sync::Arc, time::Duration};

use cairn_core::policy::command;

use super::call::BashCall;
use crate::{
    exec::{
        CommandInput, CommandSpec, RunError,
        sandbox::{PreparedSandbox, SandboxRequest, Watching},
    },
    processes::{ProcessHandle, Waited},
    tools::{ToolContext, ToolFailure, blocking},
    workspace::PathError,
};

/// Sandboxes that are built for one command until one works, while the paths that they cover change.
const MAX_ATTEMPTS: usize = 10;

/// Time after its start until a call in the background answers, with the first output.
const BACKGROUND_WAIT: Duration = Duration::from_secs(1);

/// A command that was started, and the result of waiting for it.
pub(super) struct Ran {
    pub(super) has_sandbox: bool,
    pub(super) running: ProcessHandle,
    pub(super) waited: Waited,
}

impl BashCall {
    /// Runs the command in its sandbox. A sandbox cannot be built if a path that it covers is removed
    /// after the search for such paths, as is the socket of a program that ends. Then another sandbox is
    /// prepared.
    pub(super) async fn run_prepared(&self, context: &ToolContext) -> Result<Ran, ToolFailure> {
        let (mut sandbox, mut watching) = self.prepare(context).await?;
        for attempt in 1.. {
            let ran = self.run_in(sandbox.clone(), watching, context).await?;
            let failed = matches!(&ran.waited, Waited::Ended(ended)
                if matches!(ended.0, Err(RunError::NotStarted(_))) && ended.1.moved.is_empty());
            if !failed || sandbox.is_none() || attempt >= MAX_ATTEMPTS {
                return Ok(ran);
            }
            let again = self.prepare(context).await?;
            if again.0 == sandbox {
                return Ok(ran);
            }
            (sandbox, watching) = again;
        }
        Err(ToolFailure::tell("The command was not run."))
    }

    async fn run_in(
        &self,
        sandbox: Option<Arc<PreparedSandbox>>,
        watching: Option<Watching>,
        context: &ToolContext,
    ) -> Result<Ran, ToolFailure> {
        let has_sandbox = sandbox.is_some();
        if self.terminal && !has_sandbox {
            return Err(ToolFailure::tell(
                "The command was not run: a terminal is available only in the sandbox. Run it without `terminal`.",
            ));
        }
        let refused = |error: io::Error| {
            ToolFailure::Tell(format!("The command was not run: it has no input: {error}."))
        };
        let (input, writer) = match (self.terminal, self.background) {
            (true, _) => CommandInput::terminal().map(|(input, writer)| (input, Some(writer))),
            (false, true) => CommandInput::pipe().map(|(input, writer)| (input, Some(writer))),
            (false, false) => Ok((CommandInput::none(), None)),
        }
        .map_err(refused)?;
        let term = ("TERM", "xterm".to_owned());
        let spec = CommandSpec {
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            timeout: None,
            input,
            tap: None,
            env: self.terminal.then_some(term).into_iter().collect(),
            sandbox,
        };
        let command = context.processes.start(spec, watching, writer);
        let running = command.handle();
        let limit = if self.background { BACKGROUND_WAIT } else { self.timeout };
        let waiting = command.wait(limit, &context.cancel);
        let waited = match &context.live {
            Some(live) => tokio::select! {
                waited = waiting => waited,
                never = running.pass_on(live) => match never {},
            },
            None => waiting.await,
        };
        Ok(Ran { has_sandbox, running, waited })
    }

    /// Prepares the sandbox, and the watch over a command that can write in the workspace. The sandbox
    /// is `None` where none works; the user allowed the command with that knowledge.
    async fn prepare(
        &self,
        context: &ToolContext,
    ) -> Result<(Option<Arc<PreparedSandbox>>, Option<Watching>), ToolFailure> {
        let refused = |error: io::Error| {
            ToolFailure::Tell(format!(
                "The command was not run: its sandbox could not be prepared: {error}. Tell the user."
            ))
        };
        let workspace = Arc::clone(&context.workspace);
        blocking(move || workspace.check_all_in_place())
            .await?
            .map_err(|error| ToolFailure::Tell(format!("The command was not run: {error}")))?;
        let config = &context.sandbox_config;
        let has_sandbox = config.backend().await.is_ok();
        let reads = self.instead.as_ref().and_then(|instead| instead.reads.as_ref());
        if let Some(path) = reads.filter(|_| !has_sandbox) {
            // Allowed because the sandbox hides secrets.
            return Err(ToolFailure::tell(PathError::Outside(path.display().to_string())));
        }
        let only_reads = reads.is_some() || command::is_read_only(&self.command);
        let read_only = has_sandbox && self.needs.is_none() && only_reads;
        let watching = if read_only {
            None
        } else {
            let (config, git) = (config.clone(), self.needs.git);
            let folders = context.workspace.folders().to_vec();
            let begin = move || config.watch(&folders, git);
            Some(blocking(begin).await?.map_err(refused)?)
        };
        let sandbox = if has_sandbox {
            let request = SandboxRequest {
                command: self.command.clone(),
                cwd: self.cwd.clone(),
                folders: context.workspace.folders().to_vec(),
                needs: self.needs,
                read_only,
                control: watching.as_ref().map(Watching::control_files).unwrap_or_default(),
                settings: config.settings.clone(),
                session: Some(context.origin.session.clone()),
            };
            Some(config.sandbox.prepare(request).await.map_err(refused)?)
        } else {
            None
        };
        let Some(watching) = watching else { return Ok((sandbox, None)) };
        let registered =
            move || watching.mounted(sandbox.as_deref()).map(|()| (sandbox, Some(watching)));
        blocking(registered).await?.map_err(refused)
    }
}
