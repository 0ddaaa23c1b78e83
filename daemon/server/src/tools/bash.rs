//! `bash`: runs a command in a sandbox, after the user allowed exactly this text. Where no sandbox works,
//! the question says so. On Windows the tool is `powershell`, without a sandbox.

use std::{io, sync::Arc, time::Duration};

use cairn_core::{
    marks::ModelText,
    model::ToolSpec,
    policy::{Access, command, sandbox::Needs},
};
use cairn_protocol::{ToolKind, ToolLabel, ToolStats};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Approved, ArgumentReader, Call, Tool, ToolContext, ToolFailure, ToolOutput, label};
use crate::{
    approval,
    exec::{
        self, Captured, CommandLimits, CommandOutcome, CommandSpec, Exit, HEAD_BYTES, RunError,
        TAIL_BYTES,
        sandbox::{
            PreparedSandbox, QuarantineReport, SandboxRequest, Watching, quarantine_english,
            shown_path,
        },
    },
};

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
        exit code. Each call is a new shell without a terminal: nothing can be typed in, `cd` and \
        variables do not last, and processes left in the background are ended with it. It runs in \
        a sandbox: it can write in the workspace and in /tmp only, not in .git and the settings of \
        editors and agents (a new repository or file of this kind is moved away and the user is \
        asked about it: make repositories for tests in /tmp), and has no network but its own \
        loopback. The home folder in it is a private one with the user's toolchains and nothing \
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

struct BashCall {
    command: String,
    cwd: std::path::PathBuf,
    timeout: Duration,
    /// Time that the call asked for; `timeout` is less if it was too long.
    wanted: Duration,
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
            needs: Needs { network: needs.contains(&"network"), git: needs.contains(&"git") },
        }))
    }
}

impl Shell {
    fn spec(&self, limits: CommandLimits) -> ToolSpec {
        let (usual, longest) = (limits.usual.as_millis(), limits.longest.as_millis());
        let mut properties = json!({
            "command": {"type": "string"},
            "timeout_ms": {"type": "integer", "minimum": 1, "description": format!("Default {usual}, at most {longest}")},
        });
        if self.grants {
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
            let needs = self.needs;
            let (has_sandbox, ran, left) = self.run_prepared(&context).await?;
            let home = std::env::home_dir().unwrap_or_default();
            let network = needs.network || context.sandbox_config.settings.network;
            let outcome = ran.map_err(|error| {
                let left = told(&left);
                ToolFailure::Tell(format!("The command could not be run: {error}.{left}"))
            })?;
            let mut content = ModelText::default();
            if !unsaved.is_empty() {
                content.own(&format!(
                    "Unsaved in the editor, so the command saw older text: {}",
                    unsaved.join(", ")
                ));
            }
            let hint = match has_sandbox && outcome.exit != Exit::Code(0) {
                true => hint(
                    &outcome.output.text(),
                    Needs { network, ..needs },
                    (&home.to_string_lossy(), &self.cwd.to_string_lossy()),
                ),
                false => None,
            };
            let mut detail = ModelText::default();
            for text in [&mut content, &mut detail] {
                report(&outcome, self.timeout, text);
                if let Some(words) = self.lowered() {
                    text.own(&words);
                }
                hint.into_iter().for_each(|hint| text.own(hint));
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

    /// Runs the command in its sandbox, and returns whether there is one. A sandbox cannot be built if a
    /// path that it covers is removed after the search for such paths, as is the socket of a program
    /// that ends. Then another sandbox is prepared.
    async fn run_prepared(
        &self,
        context: &ToolContext,
    ) -> Result<(bool, Result<CommandOutcome, RunError>, QuarantineReport), ToolFailure> {
        let (mut sandbox, mut watching) = self.prepare(context).await?;
        for _ in 1..MAX_ATTEMPTS {
            let (ran, left) = self.run_in(sandbox.clone(), watching, context).await?;
            if !matches!(ran, Err(RunError::NotStarted(_)))
                || sandbox.is_none()
                || !left.moved.is_empty()
            {
                return Ok((sandbox.is_some(), ran, left));
            }
            let again = self.prepare(context).await?;
            if again.0 == sandbox {
                return Ok((true, ran, left));
            }
            (sandbox, watching) = again;
        }
        let (ran, left) = self.run_in(sandbox.clone(), watching, context).await?;
        Ok((sandbox.is_some(), ran, left))
    }

    async fn run_in(
        &self,
        sandbox: Option<Arc<PreparedSandbox>>,
        watching: Option<Watching>,
        context: &ToolContext,
    ) -> Result<(Result<CommandOutcome, RunError>, QuarantineReport), ToolFailure> {
        let spec = CommandSpec {
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            timeout: self.timeout,
            input: String::new(),
            live: context.live.clone(),
            env: Vec::new(),
            sandbox,
        };
        let running = run_watched(spec, watching, context.cancel.clone());
        match context.live.clone() {
            Some(live) => tokio::select! {
                ran = running => ran,
                never = live.pass_on() => match never {},
            },
            None => running.await,
        }
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

/// Runs a command, and moves control files that it made or changed to quarantine, however it ends.
async fn run_watched(
    spec: CommandSpec,
    watching: Option<Watching>,
    cancel: CancellationToken,
) -> Result<(Result<CommandOutcome, RunError>, QuarantineReport), ToolFailure> {
    let Some(watching) = watching else {
        return Ok((exec::run(spec, cancel).await, QuarantineReport::default()));
    };
    let ran = tokio::select! {
        ran = exec::run(spec, cancel) => ran,
        never = watching.scan_repeatedly() => match never {},
    };
    let finished = tokio::task::spawn_blocking(|| watching.finish()).await;
    let left = finished.map_err(|error| ToolFailure::Fatal(error.into()))?;
    Ok((ran, left))
}

/// Text about control files that a command left, for calls that end without a question.
fn told(left: &QuarantineReport) -> String {
    let faults = quarantine_english::faults(&left.faults());
    let Some(folder) = left.folder() else { return faults };
    let lines = quarantine_english::lines(&left.entries(shown_path)).join("\n");
    format!(
        "\nThe command made or changed protected files. Cairn moved them to {}:\n{lines}{faults}",
        folder.display(),
    )
}

/// Hint about a missing right or path, from the output of a failed command.
fn hint(output: &str, needs: Needs, (home, cwd): (&str, &str)) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|words| output.contains(words));
    let no_network = [
        "Network is unreachable",
        "network is unreachable",
        "ENETUNREACH",
        "Could not resolve host",
        "Couldn't resolve host",
        "Temporary failure in name resolution",
        "Name or service not known",
        "EAI_AGAIN",
        "ENOTFOUND",
        "no such host",
        "failed to lookup address",
        "NameResolutionError",
    ];
    let read_only = says(&["Read-only file system", "EROFS", "read-only file system"]);
    if !needs.network && says(&no_network) {
        Some(
            "The sandbox gives a command no network. If it cannot do without, call bash again with needs: [\"network\"]; the user is asked.",
        )
    } else if !needs.git && read_only && says(&[".git/", ".git'"]) {
        Some(
            "The sandbox keeps .git from being written. If the command must, call bash again with needs: [\"git\"]; the user is asked.",
        )
    } else if read_only {
        Some(
            "The sandbox lets a command write in the workspace and in /tmp only, and not what decides what runs outside of it: .git hooks and config, settings of editors and agents. The user can allow more folders with cairn.sandbox.writable.",
        )
    } else if misses_something_below(home, cwd, output) {
        Some(
            "In the sandbox the home folder is empty but for the workspace, toolchains and their caches, without credentials. The user can show more of it with cairn.sandbox.readable.",
        )
    } else {
        None
    }
}

/// True if a line of the output reports a missing path in the home folder, outside of the working
/// directory.
fn misses_something_below(home: &str, cwd: &str, output: &str) -> bool {
    let missing = ["No such file or directory", "ENOENT", "os error 2", "not found"];
    let says = |line: &str| missing.iter().any(|words| line.contains(words));
    home.len() > 1
        && output.lines().any(|line| line.contains(home) && !line.contains(cwd) && says(line))
}

fn report(outcome: &CommandOutcome, limit: Duration, out: &mut ModelText) {
    let Captured { head, tail, total_bytes, dropped, binary } = &outcome.output;
    out.add(head);
    if *binary {
        out.own(&format!("{total_bytes} bytes of binary output"));
    } else if *dropped > 0 {
        out.own(&format!(
            "… {dropped} bytes left out: a result has the first {} and the last {} KiB …",
            HEAD_BYTES / 1024,
            TAIL_BYTES / 1024
        ));
        out.add(tail);
    }
    let seconds = outcome.duration.as_secs_f64();
    let ended = match outcome.exit {
        Exit::Code(code) => format!("exit code {code}, {seconds:.1} s"),
        Exit::Signal(signal) => format!("ended by signal {signal}, {seconds:.1} s"),
        Exit::TimedOut => {
            let limit = limit.as_secs_f64();
            format!("timed out after {limit:.1} s and was ended; output so far above")
        }
        Exit::Cancelled => "cancelled by the user".to_owned(),
    };
    out.own(&ended);
    if outcome.too_many_processes {
        out.own("ended: it had started more than a thousand processes");
    }
    if outcome.left_running > 0 && matches!(outcome.exit, Exit::Code(_) | Exit::Signal(_)) {
        out.own(&format!("{} left in the background, ended", outcome.left_running));
    }
}

#[cfg(test)]
mod tests;
