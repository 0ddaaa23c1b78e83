//! `bash`: runs a command in a sandbox, after the user allowed exactly this text. Where no sandbox works,
//! the question says so. On Windows the tool is `powershell`, without a sandbox.

use std::{io, sync::Arc, time::Duration};

use cairn_core::{
    marks::ModelText,
    model::ToolSpec,
    policy::{Access, command, sandbox::Needs},
    process::{RUNNING_LIMIT, Start},
};
use cairn_protocol::{ToolKind, ToolLabel, ToolStats};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{
    Approved, ArgumentReader, Call, Tool, ToolContext, ToolFailure, ToolOutput, label, processes,
};
use crate::{
    approval, clock,
    exec::{
        CommandInput, CommandLimits, CommandSpec, Exit, HEAD_BYTES, RunError, TAIL_BYTES,
        sandbox::{PreparedSandbox, SandboxRequest, Watching, quarantine_english},
    },
    processes::{Handle, Waited},
};

mod report;

use report::{hints, report, telling};

/// Longest command in bytes. The policy takes time and memory in proportion to it.
const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// Sandboxes that are built for one command until one works, while the paths that they cover change.
const MAX_ATTEMPTS: usize = 10;

pub(super) struct Bash {
    pub(super) limits: CommandLimits,
}

/// Description of the system's shell for the model.
struct Shell {
    name: &'static str,
    description: &'static str,
    /// True if a command can ask for more rights than its sandbox gives.
    grants: bool,
}

const HERE: &Shell = if cfg!(windows) { &POWERSHELL } else { &BASH };

const BASH: Shell = Shell {
    name: "bash",
    description: "Runs a command with bash in the workspace folder, after the user allowed it, and \
        answers with its output (both streams; of long output the first {head} and last {tail} KiB) and \
        exit code. Each call is a new shell: `cd` and variables do not last, and what it leaves \
        behind with `&` is ended with it. A command that outlives timeout_ms goes on as a process, \
        as one started with `background` does at once. It runs in a sandbox: it can write in the workspace and in /tmp only, not in .git and the settings of \
        editors and agents (a new repository or file of this kind is moved away and the user is \
        asked about it: make repositories for tests in /tmp), and has no network but a \
        loopback, which the commands of a session share. The home folder in it is a private one with the user's toolchains and nothing \
        else. To read, find or change files use the other tools.",
    grants: true,
};

const POWERSHELL: Shell = Shell {
    name: "powershell",
    description: "Runs a command with Windows PowerShell 5.1 (not bash, not PowerShell 7: there is \
        no `&&`) in the workspace folder, after the user allowed it, and answers with its output \
        (both streams; of long output the first {head} and last {tail} KiB) and exit code, which is 1 \
        whenever the last command failed. Each call is a new shell without a terminal: nothing can \
        be typed in, `cd` and variables do not last, and processes left in the background are \
        ended with it. It has at most 12,000 characters. To read, find or change files use the \
        other tools.",
    grants: false,
};

/// Time after its start until a call in the background answers, with the first output.
const BACKGROUND_WAIT: Duration = Duration::from_secs(1);

/// A command that was started, and the result of waiting for it.
struct Ran {
    has_sandbox: bool,
    running: Handle,
    waited: Waited,
}

struct BashCall {
    command: String,
    cwd: std::path::PathBuf,
    timeout: Duration,
    /// Time that the call asked for; `timeout` is less if it was too long.
    wanted: Duration,
    /// The command becomes a process at once.
    background: bool,
    terminal: bool,
    needs: Needs,
}

impl Tool for Bash {
    fn kind(&self) -> ToolKind {
        ToolKind::Run
    }

    fn spec(&self) -> ToolSpec {
        HERE.spec(self.limits)
    }

    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = ArgumentReader::new(HERE.name, arguments);
        let command = arguments.string("command");
        let timeout = arguments.optional_count("timeout_ms");
        let needs = arguments.optional_names("needs", &["network", "git"]).unwrap_or_default();
        let background = arguments.optional_bool("background").unwrap_or_default();
        let terminal = arguments.optional_bool("terminal").unwrap_or_default();
        arguments.finish()?;
        if command.len() > MAX_COMMAND_BYTES {
            return Err(ToolFailure::Tell(format!(
                "`command` has {} bytes; it may have at most 64 KiB. Write long text to a file with \
                 `write_file`, and name the file in the command.",
                command.len()
            )));
        }
        if command::says_nothing(&command) {
            return Err(ToolFailure::tell("`command` is empty."));
        }
        if command.contains('\0') {
            return Err(ToolFailure::tell("`command` has a NUL character."));
        }
        let limits = context.command_limits;
        let wanted = timeout.map_or(limits.usual, |ms| Duration::from_millis(ms as u64));
        Ok(Box::new(BashCall {
            command,
            cwd: context.workspace.root().to_owned(),
            timeout: wanted.min(limits.longest),
            wanted,
            background: background || terminal,
            terminal,
            needs: Needs { network: needs.contains(&"network"), git: needs.contains(&"git") },
        }))
    }
}

impl Shell {
    fn spec(&self, limits: CommandLimits) -> ToolSpec {
        let (usual, longest) = (limits.usual.as_millis(), limits.longest.as_millis());
        let mut properties = json!({
            "command": {"type": "string"},
            "background": {"type": "boolean", "description": "For servers and watchers"},
            "timeout_ms": {"type": "integer", "minimum": 1, "description": format!("Default {usual}, at most {longest}")},
        });
        if self.grants {
            properties["terminal"] =
                json!({"type": "boolean", "description": "Background, in a terminal"});
            properties["needs"] = json!({
                "type": "array",
                "items": {"type": "string", "enum": ["network", "git"]},
                "description": "What this command cannot do without; the user is asked each time. `network`: it reaches the Internet and the machine's own services, as to install packages or to fetch. `git`: it may change .git except hooks and config, as to commit or to switch branches."
            });
        }
        ToolSpec {
            name: self.name.to_owned(),
            description: self
                .description
                .replace("{head}", &(HEAD_BYTES / 1024).to_string())
                .replace("{tail}", &(TAIL_BYTES / 1024).to_string()),
            schema: json!({"type": "object", "properties": properties, "required": ["command"]}),
            parallel: false,
        }
    }
}

impl Call for BashCall {
    fn label(&self) -> ToolLabel {
        let command = label::short(&self.command);
        ToolLabel::Run { command, needs: approval::needs(self.needs) }
    }

    fn access(&self) -> Access {
        Access::Command { command: self.command.clone(), cwd: self.cwd.clone(), needs: self.needs }
    }

    fn run(
        self: Box<Self>,
        context: ToolContext,
        _approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let unsaved = tokio::select! {
                unsaved = context.edits.flush() => unsaved,
                () = context.cancel.cancelled() => {
                    return Err(ToolFailure::tell("Cancelled before the command began."));
                }
            };
            self.run_and_report(&context, &unsaved).await
        }
        .boxed()
    }
}

impl BashCall {
    /// Sentence about a time limit that was too long.
    fn lowered(&self) -> Option<String> {
        let (wanted, longest) = (self.wanted.as_secs_f64(), self.timeout.as_secs_f64());
        (self.wanted > self.timeout).then(|| {
            format!(
                "timeout_ms asked for {wanted:.0} s; the user's settings allow at most {longest:.0} s (cairn.limits.maxToolSeconds), so that was the limit"
            )
        })
    }

    async fn run_and_report(
        &self,
        context: &ToolContext,
        unsaved: &[String],
    ) -> Result<ToolOutput, ToolFailure> {
        if self.background && !context.processes.has_room(&context.origin.session) {
            return Err(ToolFailure::Tell(format!(
                "The command was not run: {RUNNING_LIMIT} processes run already. End one with process_stop."
            )));
        }
        let Ran { has_sandbox, running, waited } = self.run_prepared(context).await?;
        let mut content = ModelText::default();
        if !unsaved.is_empty() {
            content.own(&format!(
                "Unsaved in the editor, so the command saw older text: {}",
                unsaved.join(", ")
            ));
        }
        let (ran, left, full) = match waited {
            Waited::Ended(ended) => (ended.0, ended.1, false),
            Waited::StillRuns(command) => {
                match processes::keep(self.start(context), command, context) {
                    Ok((process, goes_on)) => {
                        let detail = processes::report_start(&process, self.reason(), &mut content);
                        let goes_on = Some(goes_on);
                        return Ok(ToolOutput {
                            content,
                            detail,
                            goes_on,
                            ..ToolOutput::default()
                        });
                    }
                    // The command was dropped, and ends.
                    Err(()) => match running.ended().await {
                        Some((ran, left)) => (ran, left, true),
                        None => {
                            return Err(ToolFailure::tell(
                                "The command was ended, and its result is lost.",
                            ));
                        }
                    },
                }
            }
        };
        let home = std::env::home_dir().unwrap_or_default();
        let network = self.needs.network || context.sandbox_config.settings.network;
        let outcome = ran.map_err(|error| {
            let left = quarantine_english::report(&left);
            ToolFailure::Tell(format!("The command could not be run: {error}.\n{left}"))
        })?;
        let output = outcome.output.text();
        let hints = match has_sandbox {
            true => hints(
                telling(&self.command, &outcome.exit, &output),
                Needs { network, ..self.needs },
                (&home.to_string_lossy(), &self.cwd.to_string_lossy()),
            ),
            false => Vec::new(),
        };
        let log = match outcome.output.dropped > 0 {
            true => context.processes.keep_log(&running),
            false => None,
        };
        let mut detail = ModelText::default();
        for text in [&mut content, &mut detail] {
            report(&outcome, &self.command, log.as_deref(), text);
            if full {
                text.own(&format!(
                    "ended after {:.0} s: {RUNNING_LIMIT} processes run already, so it could not go on as one",
                    self.timeout.as_secs_f64()
                ));
            }
            if let Some(words) = self.lowered() {
                text.own(&words);
            }
            hints.iter().for_each(|hint| text.own(hint));
        }
        let exit_code = match outcome.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => None,
        };
        let stats = ToolStats { exit_code, ..ToolStats::default() };
        Ok(ToolOutput {
            content,
            detail: Some(detail.into()),
            is_error: outcome.exit != Exit::Code(0),
            stats: Some(stats),
            left,
            ..ToolOutput::default()
        })
    }

    fn start(&self, context: &ToolContext) -> Start {
        let (owner, _, _) = context.origin.doer();
        Start {
            command: self.command.clone(),
            owner: owner.to_string(),
            plan_item: context.origin.plan_item.clone(),
            background: self.background,
            input: self.background,
            terminal: self.terminal,
            needs: self.needs,
            started_at: clock::now_ms(),
        }
    }

    /// Reason why the command is a process, for the model.
    fn reason(&self) -> String {
        let mut reason = match self.background {
            true => "runs".to_owned(),
            false => format!("still runs after {:.1} s, and goes on", self.timeout.as_secs_f64()),
        };
        if let Some(words) = self.lowered() {
            reason = format!("{reason} ({words})");
        }
        reason
    }

    /// Runs the command in its sandbox. A sandbox cannot be built if a path that it covers is removed
    /// after the search for such paths, as is the socket of a program that ends. Then another sandbox is
    /// prepared.
    async fn run_prepared(&self, context: &ToolContext) -> Result<Ran, ToolFailure> {
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
        let (input, writer) = match (self.terminal, self.background && cfg!(unix)) {
            (true, _) => CommandInput::terminal().map(|(input, writer)| (input, Some(writer))),
            (false, true) => CommandInput::pipe().map(|(input, writer)| (input, Some(writer))),
            (false, false) => Ok((CommandInput::none(), None)),
        }
        .map_err(refused)?;
        let term = ("TERM".to_owned(), "xterm".to_owned());
        let spec = CommandSpec {
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            timeout: None,
            input,
            tap: None,
            env: self.terminal.then_some(term).into_iter().collect(),
            sandbox,
        };
        let live = context.live.clone();
        let command = context.processes.start(spec, watching, writer, live.clone());
        let running = command.handle();
        let limit = if self.background { BACKGROUND_WAIT } else { self.timeout };
        let waiting = command.wait(limit, &context.cancel);
        let waited = match live {
            Some(live) => tokio::select! {
                waited = waiting => waited,
                never = live.pass_on() => match never {},
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
        let in_place = blocking(move || Ok(workspace.check_all_in_place())).await;
        in_place
            .map_err(refused)?
            .map_err(|error| ToolFailure::Tell(format!("The command was not run: {error}")))?;
        let config = &context.sandbox_config;
        let has_sandbox = config.backend().await.is_ok();
        let read_only = has_sandbox && self.needs.is_none() && command::is_read_only(&self.command);
        let watching = if read_only {
            None
        } else {
            let (config, git) = (config.clone(), self.needs.git);
            let folders = context.workspace.folders().to_vec();
            let begin = move || config.watch(&folders, git);
            Some(blocking(begin).await.map_err(refused)?)
        };
        let sandbox = if has_sandbox {
            let request = SandboxRequest {
                command: &self.command,
                cwd: &self.cwd,
                folders: context.workspace.folders(),
                needs: self.needs,
                read_only,
                control: watching.as_ref().map(Watching::control_files),
                settings: &config.settings,
                session: Some(&context.origin.session),
            };
            Some(config.sandbox.prepare(request).await.map_err(refused)?)
        } else {
            None
        };
        let Some(watching) = watching else { return Ok((sandbox, None)) };
        let registered =
            move || watching.mounted(sandbox.as_deref()).map(|()| (sandbox, Some(watching)));
        blocking(registered).await.map_err(refused)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests;
