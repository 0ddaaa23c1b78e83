//! Performs the slow effects of a turn: model requests, waits and tool calls. Holds no state; results go
//! to the session as inputs. Documents change only through edit proposals.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use cairn_core::{
    conversation::{ToolArguments, ToolCall},
    hook::{HookDecision, HookEvent},
    marks::{self, ModelText},
    model::{Advice, Failure, FailureKind, ModelEvent},
    policy::{AccessKind, trust},
    sanitize::excerpt,
    turn::Input,
};
use cairn_protocol::{ReviewMode, ToolState};
use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    approval, hooks,
    instructions::{self, RunningCommand},
    model::{ModelRequest, Provider, clean::Cleaner},
    ports::{ToolUpdate, TurnMailbox},
    secrets,
    tools::{Access, Approved, Call, Tool, ToolContext, ToolFailure, ToolOutput, blocking},
    workspace::path_of,
};

mod consent;
mod left;
mod progress;
mod risks;

use consent::{Consent, consent, said};
use progress::CallProgress;

/// Most model events queued for the session. A full queue blocks the provider.
const MODEL_QUEUE: usize = 256;
/// Most bytes of a failure text for the model.
const MAX_FAILURE_BYTES: usize = 32 * 1024;

pub(crate) async fn ask_model(
    mailbox: TurnMailbox,
    provider: Arc<dyn Provider>,
    request: ModelRequest,
    number: u32,
    hook_context: Option<hooks::HookContext>,
) {
    let (events, mut incoming) = mpsc::channel(MODEL_QUEUE);
    let send = |event| mailbox.input(Input::Model { request: number, event });
    let about = || json!({"request": number});
    let verdict = hooks::run(hook_context.as_ref(), HookEvent::BeforeModel, None, about).await;
    if verdict.decision == HookDecision::Refuse {
        let failure = Failure::new(FailureKind::Unusable, verdict.messages.join("\n"));
        return send(ModelEvent::Failed(failure.advise(Advice::ChangeHook)));
    }
    let answering = AssertUnwindSafe(provider.answer(request, events)).catch_unwind();
    let forwarding = async {
        let (mut ended, mut cleaner) = (false, Cleaner::default());
        while let Some(event) = incoming.recv().await {
            ended |= matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_));
            cleaner.pass(event).into_iter().for_each(send);
        }
        ended
    };
    let (answered, ended) = tokio::join!(answering, forwarding);
    if !ended {
        let message = if answered.is_err() {
            "The model connection crashed"
        } else {
            "The model's answer ended too early"
        };
        let failure = Failure::new(FailureKind::StreamCut, message).advise(Advice::ShowLog);
        send(ModelEvent::Failed(failure));
    }
}

/// Waits before a retry for at least the time that the turn asks for.
pub(crate) async fn wait(mailbox: TurnMailbox, request: u32, delay_ms: u64) {
    tokio::time::sleep(jittered(delay_ms, uuid::Uuid::now_v7().as_bytes()[15])).await;
    mailbox.input(Input::RetryDue { request });
}

/// Adds up to a quarter to a delay, so that many clients do not retry at the same moment. Never shortens
/// it: a server refuses a retry before the time that it named.
fn jittered(delay_ms: u64, random: u8) -> Duration {
    const LONGEST_MS: u64 = 2_000;
    let jitter = (delay_ms / 4).min(LONGEST_MS) * u64::from(random) / 255;
    Duration::from_millis(delay_ms + jitter)
}

pub(crate) async fn run_tool(
    mailbox: TurnMailbox,
    tool: Option<Arc<Tool>>,
    call: ToolCall,
    mut context: ToolContext,
    mode: ReviewMode,
) {
    let (workspace, docs) = (Arc::clone(&context.workspace), Arc::clone(&context.docs));
    let (trusted, sources) = (context.trusted, Arc::clone(&context.sources));
    let progress = CallProgress { mailbox: mailbox.clone(), call: call.id.clone() };
    context.live = Some(progress.live_output());
    let run = AssertUnwindSafe(run(&progress, tool, &call, context, mode)).catch_unwind();
    let outcome = match run.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(failure)) => Outcome::of_failure(&call.name, failure),
        Err(_) => Outcome::of_panic(&call.name),
    };
    for input in outcome.inputs {
        mailbox.input(input);
    }
    // For the model and the user interface: a command may have printed a key.
    let redactor = secrets::redactor();
    let content = redactor.text(outcome.content.as_str()).into_owned();
    let mut update = outcome.update;
    let detail = update.detail.take().map(|text| redactor.text(&text).into_owned());
    let is_error = update.state != Some(ToolState::Done);
    if let Some(file) = update.edited.as_deref().and_then(path_of).filter(|_| trusted) {
        let look = move || instructions::around(&workspace, &docs, &sources, &file);
        update.near = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    }
    progress.update(ToolUpdate { detail, ..update });
    mailbox.input(Input::ToolDone { call_id: call.id, content, is_error });
}

/// Outcome of a call.
struct Outcome {
    /// Text for the model.
    content: ModelText,
    /// Further news for the turn.
    inputs: Vec<Input>,
    /// News for the user.
    update: ToolUpdate,
}

impl Outcome {
    fn of_output(output: ToolOutput, touched: Option<String>) -> Self {
        let ToolOutput { content, detail, is_error, kind, lines, stats, read_text, near, .. } =
            output;
        let state = if is_error { ToolState::Failed } else { ToolState::Done };
        let edited = touched.filter(|_| !is_error);
        let update = ToolUpdate {
            state: Some(state),
            detail,
            kind,
            lines,
            stats,
            edited,
            read_text,
            near,
            ..ToolUpdate::default()
        };
        Self { content, inputs: output.news, update }
    }

    /// The user sees the text for the model.
    fn without_effect(state: ToolState, content: ModelText) -> Self {
        let detail = Some(content.as_str().to_owned());
        let update = ToolUpdate { state: Some(state), detail, ..ToolUpdate::default() };
        Self { content, inputs: Vec::new(), update }
    }

    /// Outcome of a call that the policy, a hook or the user declined.
    fn declined(reason: ModelText) -> Self {
        Self::without_effect(ToolState::Declined, reason)
    }

    fn of_failure(name: &str, failure: ToolFailure) -> Self {
        let text = match failure {
            // May quote an argument, and its length is up to the model.
            ToolFailure::Tell(text) => excerpt(&text, MAX_FAILURE_BYTES),
            ToolFailure::Fatal(error) => {
                tracing::error!("{name} failed: {error:#}");
                format!("Cairn could not run {name}: {error:#}")
            }
        };
        Self::without_effect(ToolState::Failed, text.into())
    }

    fn of_panic(name: &str) -> Self {
        tracing::error!("{name} panicked");
        let text =
            format!("{name} crashed inside Cairn; it may have had effects. Try another way.");
        Self::without_effect(ToolState::Failed, text.into())
    }
}

async fn run(
    progress: &CallProgress,
    tool: Option<Arc<Tool>>,
    call: &ToolCall,
    context: ToolContext,
    mode: ReviewMode,
) -> Result<Outcome, ToolFailure> {
    let (Some(tool), ToolArguments::Object(arguments)) = (tool, &call.arguments) else {
        let told = format!("{} cannot be run with these arguments.", call.name);
        return Err(ToolFailure::Tell(told));
    };
    let (given, parser) = (arguments.clone(), context.clone());
    let parsed = blocking(move || tool.parse(given, &parser)).await??;
    let (access, label) = (parsed.access.clone(), parsed.label.clone());
    let title = label.english();
    progress.update(ToolUpdate {
        label: Some(label),
        uri: approval::uri(&access),
        access: Some(access.kind()),
        ..ToolUpdate::default()
    });
    if let Some(reason) = trust::refusal(&access).filter(|_| !context.trusted) {
        return Ok(Outcome::declined(reason.into()));
    }
    let about = || {
        json!({
            "callId": progress.call,
            "tool": {"name": call.name, "arguments": arguments, "title": title},
        })
    };
    let (parsed, approved, words) =
        match consent(progress, parsed, mode, &context, &call.name, &about).await? {
            Consent::Given { call, approved, words } => (call, approved, words),
            Consent::Refused(reason) => return Ok(Outcome::declined(reason)),
        };
    if !matches!(access, Access::Read { .. } | Access::Process) && !parsed.is_change() {
        context.begin().await.map_err(|reason| ToolFailure::unsaved(&reason))?;
    }
    progress.update(ToolUpdate { state: Some(ToolState::Running), ..ToolUpdate::default() });
    let edited = approval::uri(&access).filter(|_| access.kind() == AccessKind::Edit);
    let after = context.clone();
    let ran = run_watched(progress, *parsed, &access, approved, context).await;
    let mut output = match (ran, &words) {
        (Ok(output), _) => output,
        (Err(ToolFailure::Tell(text)), Some(words)) => {
            return Ok(Outcome::of_output(failed_with_words(text, words), None));
        }
        (Err(failure), _) => return Err(failure),
    };
    if !output.left.is_empty() {
        let told = left::ask(progress, &after, &output.left).await?;
        add_own(&mut output, &told);
    }
    run_hooks_after(&after, &call.name, about(), &mut output).await;
    if let Some(words) = words {
        add_own(&mut output, &said(&words));
    }
    Ok(Outcome::of_output(output, edited))
}

/// A failed call that the user allowed with words to the model.
fn failed_with_words(text: String, words: &str) -> ToolOutput {
    let mut content = ModelText::from(text);
    content.own(&said(words));
    let detail = Some(content.as_str().to_owned());
    ToolOutput { content, detail, is_error: true, ..ToolOutput::default() }
}

/// Runs the hooks after a call and adds their words to its result.
async fn run_hooks_after(
    context: &ToolContext,
    tool: &str,
    mut about: Value,
    output: &mut ToolOutput,
) {
    about["result"] = json!({"content": output.content.as_str(), "isError": output.is_error});
    let hooks = context.hooks.as_ref();
    let verdict = hooks::run(hooks, HookEvent::AfterTool, Some(tool), || about).await;
    for message in verdict.messages {
        output.content.frame("words of a hook", &message);
    }
}

/// Runs a call. The watch of control files during a command ends with its last process.
async fn run_watched(
    progress: &CallProgress,
    call: Call,
    access: &Access,
    approved: Approved,
    context: ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    let is_command = matches!(access, Access::Command { .. });
    let running = if is_command { Some(command_begins(&context).await?) } else { None };
    let after = context.clone();
    after.changed.record(access);
    let ran = call.run(context, approved).await;
    // An answer in between, to another call, did not cover this edit.
    after.changed.record(access);
    let process = ran.as_ref().ok().and_then(|output| output.ongoing.clone());
    match (running, process) {
        (Some(running), Some(process)) => {
            let edits = Arc::clone(&after.edits);
            process.at_end(move || {
                running.finish();
                edits.on_command_end();
            });
            tokio::spawn(left::ask_beside(progress.clone(), after.clone(), process));
        }
        (Some(running), None) => {
            blocking(|| running.finish()).await?;
        }
        (None, _) => {}
    }
    // A process may have changed files, too.
    if access.kind() == AccessKind::Command || matches!(access, Access::Process) {
        after.edits.on_command_end();
    }
    ran
}

/// Adds a text of Cairn to a result, for the model and for the user.
fn add_own(output: &mut ToolOutput, words: &str) {
    output.content.own(words);
    let mut detail = output.detail.take().unwrap_or_default();
    if !detail.is_empty() && !detail.ends_with('\n') {
        detail.push('\n');
    }
    output.detail = Some(detail + &marks::own(words));
}

/// Records the start of a command. Instruction files that change from then on are not treated as the user's.
async fn command_begins(context: &ToolContext) -> Result<RunningCommand, ToolFailure> {
    let (workspace, docs) = (Arc::clone(&context.workspace), Arc::clone(&context.docs));
    let sources = Arc::clone(&context.sources);
    let looked = blocking(move || sources.command_begins(&workspace, &docs)).await?;
    looked.map_err(|error| {
        ToolFailure::Tell(format!(
            "The command was not run: Cairn cannot record its start ({error}). Tell the user."
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_never_shortens_a_wait() {
        let table = [
            (0, 255, 0),
            (2_000, 0, 2_000),
            (2_000, 51, 2_100),
            (2_000, 255, 2_500),
            (120_000, 255, 122_000),
        ];
        for (delay_ms, random, expected) in table {
            assert_eq!(jittered(delay_ms, random), Duration::from_millis(expected));
        }
    }
}
