//! `bash`: runs a command in a sandbox, after the user allowed exactly this text. Where no sandbox works,
//! the question names it.

use std::time::Duration;

use cairn_core::{
    marks::ModelText,
    policy::{Access, command, sandbox::Needs},
    process::{RUNNING_LIMIT, Start},
    sanitize::one_line,
};
use cairn_protocol::{ToolKind, ToolLabel, ToolStats};
use serde_json::json;

use super::{Arguments, Call, MAX_LABEL, Tool, ToolContext, ToolFailure, ToolOutput, processes};
use crate::{
    approval, clock,
    exec::{CommandLimits, CommandOutcome, Exit, HEAD_BYTES, TAIL_BYTES, sandbox::quarantine_text},
    processes::Waited,
};

mod call;
mod report;
mod run;

pub(super) use call::{BashCall, Instead};
use report::{hints, report, telling};
use run::Ran;

/// Longest command in bytes. The policy takes time and memory in proportion to it.
const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// Description of the tool for the model, with placeholders for the limits of output.
const DESCRIPTION: &str = "Runs a command with bash in the workspace folder, after the user allowed it, and \
    answers with its output (both streams; of long output the first {head} and last {tail} KiB) and \
    exit code. Each call is a new shell: `cd` and variables do not last, and what it leaves \
    behind with `&` is ended with it. A command that outlives timeout_ms becomes a process, \
    as one started with `background` is at once. It runs in a sandbox: it can write in the workspace and in /tmp only, not in .git and the settings of \
    editors and agents (a new repository or file of this kind is moved away and the user is \
    asked about it: make repositories for tests in /tmp), and has no network but a \
    loopback, which the commands of a session share. The home folder in it is a private one with the user's toolchains and nothing \
    else. To read, find or change files use the other tools.";

pub(super) fn tool(limits: CommandLimits) -> Tool {
    let (usual, longest) = (limits.usual.as_millis(), limits.longest.as_millis());
    let description = DESCRIPTION
        .replace("{head}", &(HEAD_BYTES / 1024).to_string())
        .replace("{tail}", &(TAIL_BYTES / 1024).to_string());
    let properties = json!({
        "command": {"type": "string"},
        "background": {"type": "boolean", "description": "For servers and watchers"},
        "timeout_ms": {"type": "integer", "minimum": 1, "description": format!("Default {usual}, at most {longest}")},
        "terminal": {"type": "boolean", "description": "Background, in a terminal"},
        "needs": {
            "type": "array",
            "items": {"type": "string", "enum": ["network", "git"]},
            "description": "What this command cannot do without; the user is asked each time. `network`: it reaches the Internet and the machine's own services, as to install packages or to fetch. `git`: it may change .git except hooks and config, as to commit or to switch branches."
        },
    });
    Tool::new("bash", ToolKind::Run, &description, properties, &["command"], parse)
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let command = arguments.string("command");
    let timeout = arguments.count("timeout_ms");
    let needs = arguments.strings("needs").unwrap_or_default();
    let background = arguments.flag("background");
    let terminal = arguments.flag("terminal");
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
    let needs_one = |name| needs.iter().any(|need| need == name);
    let limits = context.command_limits;
    let wanted = timeout.map_or(limits.usual, |ms| Duration::from_millis(ms as u64));
    let call = BashCall {
        command,
        cwd: context.workspace.root().to_owned(),
        timeout: wanted.min(limits.longest),
        wanted,
        background: background || terminal,
        terminal,
        needs: Needs { network: needs_one("network"), git: needs_one("git") },
        instead: None,
    };
    Ok(call.ready())
}

impl BashCall {
    fn label(&self) -> ToolLabel {
        let command = one_line(&self.command, MAX_LABEL);
        ToolLabel::Run { command, needs: approval::needs(self.needs) }
    }

    fn access(&self) -> Access {
        if let Some(Instead { reads: Some(path), .. }) = &self.instead {
            return Access::Read { path: Some(path.clone()), names: vec![path.clone()] };
        }
        Access::Command { command: self.command.clone(), cwd: self.cwd.clone(), needs: self.needs }
    }

    fn ready(self) -> Call {
        Call::new(self.label(), self.access(), |context| async move {
            let unsaved = tokio::select! {
                unsaved = context.edits.flush() => unsaved,
                () = context.cancel.cancelled() => {
                    return Err(ToolFailure::tell("Cancelled before the command began."));
                }
            };
            self.run_and_report(&context, &unsaved).await
        })
    }

    /// Call that stands for one of another tool.
    pub(super) fn instead(command: String, instead: Instead, context: &ToolContext) -> Call {
        let usual = context.command_limits.usual;
        let call = Self {
            command,
            cwd: context.workspace.root().to_owned(),
            timeout: usual,
            wanted: usual,
            background: false,
            terminal: false,
            needs: Needs::NONE,
            instead: Some(instead),
        };
        call.ready()
    }

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
        let hints_about =
            |output: &str| if has_sandbox { self.hints(output, context) } else { Vec::new() };
        let (end, full) = match waited {
            Waited::Ended(end) => (*end, false),
            Waited::StillRuns(command) => {
                let (session, start) = (&context.origin.session, self.start(context));
                let kept = context.processes.keep(command, session, start);
                if let Some((id, process)) = kept {
                    let (started, reason) = ((id, &process), self.reason());
                    let detail =
                        processes::report_start(started, reason, hints_about, &mut content);
                    let ongoing = Some(process);
                    return Ok(ToolOutput { content, detail, ongoing, ..ToolOutput::default() });
                }
                // The command was dropped, and ends.
                let lost = || ToolFailure::tell("The command was ended, and its result is lost.");
                (running.outcome().await.ok_or_else(lost)?, true)
            }
        };
        let (ran, left) = end;
        let outcome = ran.map_err(|error| {
            let left = quarantine_text::report(&left);
            ToolFailure::Tell(format!("The command could not be run: {error}.\n{left}"))
        })?;
        let output = outcome.output.text();
        let mut remarks: Vec<String> = Vec::new();
        remarks.extend(full.then(|| self.no_room()));
        remarks.extend(self.lowered());
        let hints = hints_about(telling(&self.command, &outcome.exit, &output));
        remarks.extend(hints.into_iter().map(str::to_owned));
        let dropped = outcome.output.dropped > 0;
        let log = if dropped { context.processes.keep_log(&running) } else { None };
        Ok(ToolOutput { left, ..self.report_end(&outcome, &remarks, log.as_deref(), content) })
    }

    /// Result of a command that has ended.
    fn report_end(
        &self,
        outcome: &CommandOutcome,
        remarks: &[String],
        log: Option<&str>,
        mut content: ModelText,
    ) -> ToolOutput {
        let instead = self.instead.as_ref().filter(|_| outcome.exit == Exit::Code(0));
        let place = instead.map(|instead| instead.remark);
        let mut detail = ModelText::default();
        for text in [&mut content, &mut detail] {
            report(outcome, &self.command, log, text);
            remarks.iter().map(String::as_str).chain(place).for_each(|remark| text.own(remark));
        }
        let exit_code = match outcome.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => None,
        };
        ToolOutput {
            content,
            kind: self.instead.as_ref().map(|_| ToolKind::Run),
            detail: Some(detail.into()),
            is_error: outcome.exit != Exit::Code(0),
            stats: Some(ToolStats { exit_code, ..ToolStats::default() }),
            ..ToolOutput::default()
        }
    }

    /// Hints about the sandbox, from the output of the command.
    fn hints(&self, output: &str, context: &ToolContext) -> Vec<&'static str> {
        let home = std::env::home_dir().unwrap_or_default();
        let network = self.needs.network || context.sandbox_config.settings.network;
        let places = (&*home.to_string_lossy(), &*self.cwd.to_string_lossy());
        hints(output, Needs { network, ..self.needs }, places)
    }

    fn no_room(&self) -> String {
        format!(
            "ended after {:.0} s: {RUNNING_LIMIT} processes run already, so it could not go on as one",
            self.timeout.as_secs_f64()
        )
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
}

#[cfg(test)]
mod tests;
