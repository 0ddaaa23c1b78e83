//! `cairn run`: the engine with a small editor port, on disk alone. Prints the plan as it changes,
//! the agent's text and calls, and the diff at the end.
//!
//! Changes a file only by an edit that the engine requested, through [`disk`].

use std::{
    io::{BufRead, IsTerminal, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, anyhow, bail};
use cairn_core::{
    review::patch,
    sanitize::{exact, visible as printable},
    text::{Text, Units},
};
use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, ApprovalDecision, ApprovalKind, ApproveParams, ApproveResult,
    AskParams, Baseline, BaselineParams, Cancel, CancelParams, ClientRequest, Connection, Empty,
    EndReason, ItemStatus, MessageRole, Need, Notice, PlanNotification, RunTask, RunTaskParams,
    SaveParams, SaveResult, State, SubagentPhase, ToolState, TurnPhase, Usage,
};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::mpsc;

use crate::{
    cli::{Allow, RunArguments},
    disk,
    environment::Environment,
    event::{ClientEvent, Initialized, Remember, Request, Responder},
    exec, hub,
    ports::{Editor, Questions, UserAnswer},
    secrets::{self, CleanStderr},
    signals,
    workspace::{Workspace, canonical},
};

/// Runs one task and returns the exit code.
pub async fn run(arguments: RunArguments) -> u8 {
    let outcome = work(arguments).await;
    exec::kill_all();
    match outcome {
        Ok(EndReason::Completed) => 0,
        Ok(EndReason::Failed | EndReason::Interrupted) => 1,
        Ok(EndReason::NeedsInput) => 3,
        Ok(EndReason::Limit) => 4,
        Ok(EndReason::Cancelled) => 130,
        Err(error) => {
            complain(&format!("{error:#}"));
            1
        }
    }
}

/// Prints a line on stderr.
fn complain(text: &str) {
    let _ = CleanStderr.write_all(format!("cairn: {text}\n").as_bytes());
}

async fn work(arguments: RunArguments) -> anyhow::Result<EndReason> {
    let RunArguments { task, workspace, allow, replay, command_seconds } = arguments;
    let folder = canonical(&workspace)
        .with_context(|| format!("{} cannot be opened", workspace.display()))?;
    if !folder.is_dir() {
        bail!("{} is not a folder", folder.display());
    }
    let (ended, mut end) = mpsc::unbounded_channel();
    let terminal = Arc::new(Terminal { allow, shown: Mutex::new(Shown::default()), ended });
    let (client, tasks) =
        hub::spawn(terminal.clone(), Environment::read(|name| std::env::var(name).ok()));
    client
        .send(ClientEvent::Initialized(Initialized {
            folders: vec![folder.clone()],
            settings: settings(replay.as_deref(), command_seconds)?,
            speaks_agent: true,
            // The user named this folder on the command line, which counts as trust.
            trusted: true,
            remember: Remember::Nothing,
            units: Units::default(),
        }))
        .ok();
    let task = RunTaskParams { text: task, ..RunTaskParams::default() };
    let started = ask::<RunTask>(&client, task).await?;
    let reason = loop {
        tokio::select! {
            reason = end.recv() => break reason.ok_or_else(|| anyhow!("the engine stopped"))?,
            asked = signals::asked_to_end(false) => {
                asked.context("cannot listen for signals")?;
                let cancel = CancelParams { session_id: started.session_id.clone(), turn_id: started.turn_id.clone() };
                ask::<Cancel>(&client, cancel).await?;
            }
        }
    };
    print_diff(&client, &terminal, &Workspace::new(vec![folder])?).await?;
    drop(client);
    tasks.wait().await;
    Ok(reason)
}

fn settings(
    replay: Option<&Path>,
    command_seconds: Option<u32>,
) -> anyhow::Result<serde_json::Value> {
    let mut model = serde_json::Map::new();
    if let Ok(name) = std::env::var("CAIRN_MODEL") {
        model.insert("name".into(), name.into());
    }
    if let Ok(api) = std::env::var("CAIRN_MODEL_API") {
        model.insert("api".into(), api.into());
    }
    if let Some(file) = replay {
        let file =
            canonical(file).with_context(|| format!("{} cannot be opened", file.display()))?;
        model.insert("provider".into(), "replay".into());
        model.insert("replayFile".into(), file.to_string_lossy().into());
    }
    let mut limits = serde_json::Map::new();
    if let Some(seconds) = command_seconds {
        limits.insert("maxToolSeconds".into(), seconds.into());
    }
    Ok(serde_json::json!({ "model": model, "limits": limits }))
}

async fn ask<M: ClientRequest>(
    client: &mpsc::UnboundedSender<ClientEvent>,
    params: M::Params,
) -> anyhow::Result<M::Result> {
    let (responder, answer) = Responder::new();
    client.send(ClientEvent::Request(Request::new::<M>(params, responder))).ok();
    match answer.await.context("the engine stopped")? {
        Ok(result) => Ok(serde_json::from_value(result.encode()?)?),
        Err(error) => bail!("{}. {}", error.message, error.data.hint),
    }
}

async fn print_diff(
    client: &mpsc::UnboundedSender<ClientEvent>,
    terminal: &Terminal,
    workspace: &Workspace,
) -> anyhow::Result<()> {
    let state = ask::<State>(client, Empty {}).await?;
    for review in state.reviews {
        let uri = review.uri.clone();
        let before = ask::<Baseline>(client, BaselineParams { uri }).await?;
        let path = workspace.resolve(&review.uri).ok();
        let after = path.and_then(|path| workspace.read_text(&path).ok());
        let after = after.map(|decoded| decoded.text);
        let before = Text::new(&before.text.unwrap_or_default());
        let patch = patch::between(Some(&before), &after.unwrap_or_default(), &review.path);
        // A pipe may lead to `patch`, which needs the exact bytes; a terminal would interpret
        // control characters.
        let patch = if std::io::stdout().is_terminal() { printable(&patch) } else { patch };
        terminal.print(&format!("\n{patch}"));
    }
    Ok(())
}

/// Editor port of a headless run: the files on disk and the terminal.
struct Terminal {
    allow: Allow,
    shown: Mutex<Shown>,
    ended: mpsc::UnboundedSender<EndReason>,
}

#[derive(Default)]
struct Shown {
    /// Message whose deltas are being printed.
    streaming: Option<String>,
    plan: String,
    /// Banners that were printed.
    banners: Vec<String>,
}

impl Questions for Terminal {
    /// The terminal is for approvals only: a run has no one who waits for its questions.
    fn ask(&self, _: AskParams) -> BoxFuture<'static, UserAnswer> {
        async { UserAnswer::Unavailable }.boxed()
    }
}

impl Editor for Terminal {
    fn notify(&self, notice: Notice) {
        match notice {
            Notice::Turn(turn) => match turn.phase {
                TurnPhase::Started { .. } => {}
                TurnPhase::Ended { reason, summary, open_items, .. } => {
                    let open = match open_items {
                        0 => "",
                        1 => " (1 plan item is open)",
                        _ => &format!(" ({open_items} plan items are open)"),
                    };
                    match reason {
                        EndReason::Completed => {}
                        // The question was printed already.
                        EndReason::NeedsInput if open.is_empty() => {}
                        EndReason::NeedsInput => self.print(&format!("\n{}\n", open.trim_start())),
                        EndReason::Cancelled
                        | EndReason::Failed
                        | EndReason::Limit
                        | EndReason::Interrupted => {
                            self.print(&format!("\n{}{open}\n", printable(&summary)));
                        }
                    }
                    // The receiver is dropped only at the end of the run.
                    self.ended.send(reason).ok();
                }
            },
            Notice::Plan(plan) => self.plan(&plan),
            Notice::Message(message) => {
                let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
                let first = shown.streaming.as_deref() != Some(&message.item_id);
                let text = if first {
                    message.text.as_ref().unwrap_or(&message.delta)
                } else {
                    &message.delta
                };
                let out = match message.role {
                    MessageRole::Assistant if first => format!("\n{text}"),
                    MessageRole::Assistant => text.clone(),
                    MessageRole::Notice => format!("\n{text}\n"),
                    MessageRole::User | MessageRole::Thinking | MessageRole::Reminder => return,
                };
                shown.streaming = message.text.is_none().then_some(message.item_id);
                let end = if message.text.is_some() { "\n" } else { "" };
                drop(shown);
                self.print(&format!("{}{end}", printable(&out)));
            }
            Notice::Tool(tool) => {
                let mark = match tool.state {
                    ToolState::Done => "done",
                    ToolState::Failed => "failed",
                    ToolState::Declined => "declined",
                    ToolState::Cancelled => "stopped",
                    ToolState::Queued | ToolState::AwaitingApproval | ToolState::Running => return,
                };
                let indent = if tool.parent.is_some() { "    " } else { "" };
                self.print(&format!("{indent}  - {} ({mark})\n", printable(&tool.title)));
            }
            Notice::Status(status) => {
                if let Connection::Retrying { delay_ms, reason, .. } = &status.connection {
                    let seconds = delay_ms.div_ceil(1000);
                    self.print(&format!(
                        "\n  - {}: asking again in {seconds} s\n",
                        printable(reason)
                    ));
                }
                let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
                for banner in status.banners {
                    if !shown.banners.contains(&banner.text) {
                        tracing::warn!("{}", banner.text);
                        shown.banners.push(banner.text);
                    }
                }
            }
            Notice::Subagent(subagent) => {
                // Print a subagent once; its end is the end of its parent's call.
                let began = subagent.rounds == 0 && subagent.usage == Usage::default();
                if subagent.phase == SubagentPhase::Running && began && subagent.total == 0 {
                    self.print(&format!("  - Task: {} (started)\n", printable(&subagent.title)));
                }
            }
            Notice::Output(_)
            | Notice::Review(_)
            | Notice::Usage(_)
            | Notice::Queue(_)
            | Notice::Processes(_) => {}
        }
    }

    fn apply(
        &self,
        params: ApplyEditParams,
        workspace: Arc<Workspace>,
    ) -> BoxFuture<'static, ApplyEditResult> {
        disk::apply(params, workspace).boxed()
    }

    fn save(&self, _: SaveParams) -> BoxFuture<'static, SaveResult> {
        async { SaveResult::default() }.boxed()
    }

    fn approve(&self, params: ApproveParams) -> BoxFuture<'static, ApproveResult> {
        // Quarantined files need a person: the options were given before anyone knew about them.
        let missing = missing(self.allow, &params);
        if missing.is_empty() && !params.quarantined {
            let result = ApproveResult { decision: ApprovalDecision::AllowOnce, feedback: None };
            return async move { result }.boxed();
        }
        if params.quarantined && (self.allow.commands || !std::io::stdin().is_terminal()) {
            return async { ApproveResult { decision: ApprovalDecision::Deny, feedback: None } }
                .boxed();
        }
        if !std::io::stdin().is_terminal() {
            let options = missing.join(" ");
            let title = printable(&params.title);
            complain(&format!(
                "declined, as nobody is there to ask and {options} was not given: {title}"
            ));
            let feedback = Some(match params.kind {
                Some(ApprovalKind::Read | ApprovalKind::Change) => {
                    format!("nobody is there to ask; this is allowed only with {options}")
                }
                Some(ApprovalKind::Command | ApprovalKind::UnsandboxedCommand) | None => {
                    format!("nobody is there to ask; such commands run only with {options}")
                }
            });
            return async move { ApproveResult { decision: ApprovalDecision::Deny, feedback } }
                .boxed();
        }
        let always = if params.rules.is_empty() {
            String::new()
        } else {
            let folder = params.rules_folder.as_deref().unwrap_or("this folder");
            format!(
                ", [f]rom now on in {} ({})",
                printable(folder),
                printable(&params.rules.join("; "))
            )
        };
        if let Some(preview) = &params.preview {
            self.print(&format!("\n{}\n", printable(&preview.patch)));
        }
        self.print(&format!(
            "\n{}{}{} in {}:\n  {}\nAllow? [y]es, [a]lways in this run{always}, [N]o; words after it are for the agent: ",
            printable(&params.title),
            params
                .subagent
                .as_ref()
                .map(|title| format!(" [{}]", printable(title)))
                .unwrap_or_default(),
            params
                .changed
                .as_ref()
                .map(|file| format!(" ({} changed since you allowed it)", printable(file)))
                .unwrap_or_default(),
            printable(&params.cwd),
            exact(&params.command)
        ));
        async move {
            let line = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).map(|_| line)
            });
            match line.await {
                Ok(Ok(line)) => typed(&line),
                Ok(Err(_)) | Err(_) => {
                    ApproveResult { decision: ApprovalDecision::Deny, feedback: None }
                }
            }
        }
        .boxed()
    }
}

/// Returns the missing options that would have allowed a question.
fn missing(allow: Allow, params: &ApproveParams) -> Vec<&'static str> {
    let has = |need| params.needs.contains(&need);
    let options: &[(bool, &str)] = match params.kind {
        Some(ApprovalKind::Read) => &[(allow.secrets, "--allow-secrets")],
        Some(ApprovalKind::Change) => &[(allow.protected, "--allow-protected")],
        Some(ApprovalKind::UnsandboxedCommand) => {
            &[(allow.commands, "--yes"), (allow.unsandboxed, "--allow-unsandboxed")]
        }
        Some(ApprovalKind::Command) | None => &[
            (allow.commands, "--yes"),
            (allow.network || !has(Need::Network), "--allow-network"),
            (allow.git || !has(Need::Git), "--allow-git"),
        ],
    };
    options.iter().filter_map(|(given, option)| (!given).then_some(*option)).collect()
}

/// Reads an answer with an optional text. Any other line denies, with the whole line as the text.
fn typed(line: &str) -> ApproveResult {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let first = first.trim_end_matches([',', ':', ';', '.']).to_lowercase();
    let (decision, words) = match first.as_str() {
        "y" | "yes" => (ApprovalDecision::AllowOnce, rest),
        "a" | "always" => (ApprovalDecision::AllowSession, rest),
        "f" | "forever" => (ApprovalDecision::AllowAlways, rest),
        "n" | "no" => (ApprovalDecision::Deny, rest),
        _ => (ApprovalDecision::Deny, line),
    };
    let words = words.trim();
    ApproveResult { decision, feedback: (!words.is_empty()).then(|| words.to_owned()) }
}

impl Terminal {
    fn plan(&self, plan: &PlanNotification) {
        let mut out = format!("\nPlan {}/{}\n", plan.completed, plan.total);
        for item in &plan.items {
            let (mark, label) = match item.status {
                ItemStatus::Pending => (' ', &item.content),
                ItemStatus::InProgress => ('>', &item.active_form),
                ItemStatus::Completed => ('x', &item.content),
            };
            out.push_str(&format!("  [{mark}] {}\n", printable(label)));
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.plan != out {
            shown.plan.clone_from(&out);
            drop(shown);
            self.print(&out);
        }
    }

    /// Ignores a closed pipe: the reader wants no more output.
    fn print(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let text = secrets::redactor().text(text).into_owned();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_have_feedback_and_feedback_alone_denies() {
        use ApprovalDecision::{AllowAlways, AllowOnce, AllowSession, Deny};
        for (line, decision, words) in [
            ("y\n", AllowOnce, None),
            (" YES ", AllowOnce, None),
            ("y, but only once", AllowOnce, Some("but only once")),
            ("a", AllowSession, None),
            ("f", AllowAlways, None),
            ("n", Deny, None),
            ("no: use pnpm", Deny, Some("use pnpm")),
            ("yep", Deny, Some("yep")),
            ("use pnpm instead", Deny, Some("use pnpm instead")),
            ("", Deny, None),
        ] {
            let answer = ApproveResult { decision, feedback: words.map(str::to_owned) };
            assert_eq!(typed(line), answer, "{line:?}");
        }
    }
}
