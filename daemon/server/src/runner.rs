//! Performs the effects of a turn that take time: asks the model, waits, runs tools. Holds no
//! state; what came of it goes to the hub as inputs. Never touches a document except through an
//! edit proposal.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use cairn_core::{
    conversation::{Arguments, ToolCall},
    model::{Failure, FailureKind, ModelEvent},
    review::Origin,
    turn::Input,
};
use cairn_protocol::{ApprovalDecision, ApproveParams, ReviewMode, ToolState};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::{mpsc, oneshot};

use crate::{
    approval::{self, Gate},
    hub::{Event, HubHandle, ToolUpdate, TouchKind},
    instructions,
    model::{Provider, Request},
    store::{journal::Writer, sessions},
    tools::{
        Edits, Proposal, Proposed, Saw, TaskNews, Tool, ToolContext, ToolFailure, ToolOutput, Touch,
    },
};

/// Model events waiting for the hub; a provider that is faster waits.
const MODEL_QUEUE: usize = 256;

pub(crate) async fn ask_model(
    hub: HubHandle,
    provider: Arc<dyn Provider>,
    request: Request,
    session: String,
    turn: String,
    number: u32,
) {
    let (events, mut incoming) = mpsc::channel(MODEL_QUEUE);
    let send = |event| {
        let input = Input::Model { request: number, event };
        hub.send(Event::Turn { session: session.clone(), turn: turn.clone(), input });
    };
    let answering = AssertUnwindSafe(provider.answer(request, events)).catch_unwind();
    let forwarding = async {
        let mut ended = false;
        while let Some(event) = incoming.recv().await {
            ended |= matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_));
            send(event);
        }
        ended
    };
    let (answered, ended) = tokio::join!(answering, forwarding);
    if !ended {
        let message = if answered.is_err() {
            "The model connection crashed"
        } else {
            "The answer ended without an end"
        };
        send(ModelEvent::Failed(Failure {
            kind: FailureKind::StreamCut,
            message: message.into(),
            hint: "See the log with Agent: show log.".into(),
            retry_after_ms: None,
        }));
    }
}

/// Waits as long as the turn says, and a little longer.
pub(crate) async fn wait(
    hub: HubHandle,
    session: String,
    turn: String,
    request: u32,
    delay_ms: u64,
) {
    tokio::time::sleep(jittered(delay_ms, uuid::Uuid::now_v7().as_bytes()[15])).await;
    hub.send(Event::Turn { session, turn, input: Input::RetryDue { request } });
}

/// Up to a quarter longer, so that many clients do not return at the same moment. Never shorter:
/// who comes back before the time a server has named is refused again.
fn jittered(delay_ms: u64, random: u8) -> Duration {
    const LONGEST_MS: u64 = 2_000;
    let jitter = (delay_ms / 4).min(LONGEST_MS) * u64::from(random) / 255;
    Duration::from_millis(delay_ms + jitter)
}

pub(crate) async fn run_tool(
    hub: HubHandle,
    tool: Option<Arc<dyn Tool>>,
    call: ToolCall,
    context: ToolContext,
    mode: ReviewMode,
) {
    let origin = context.origin.clone();
    let (workspace, docs) = (Arc::clone(&context.workspace), Arc::clone(&context.docs));
    // A child's calls are its own business, whoever its work belongs to.
    let (session, turn, _) = origin.doer();
    let (session, turn) = (session.to_owned(), turn.to_owned());
    let shown = Shown {
        hub: hub.clone(),
        session: session.clone(),
        turn: turn.clone(),
        call: call.id.clone(),
    };
    let run = AssertUnwindSafe(run(&shown, tool, &call, context, mode)).catch_unwind();
    let (mut edited, mut saw): (Option<String>, Option<Saw>) = (None, None);
    let (state, content, detail) = match run.await {
        Ok(Ok(Ran::Output(output, touched))) => {
            if let Some(TaskNews { items, updated }) = output.tasks {
                let input = Input::TaskList { items, updated };
                hub.send(Event::Turn { session: session.clone(), turn: turn.clone(), input });
            }
            edited = touched.filter(|_| !output.is_error);
            saw = output.saw;
            let state = if output.is_error { ToolState::Failed } else { ToolState::Done };
            (state, output.content, output.detail)
        }
        Ok(Ok(Ran::Declined(text))) => (ToolState::Declined, text.clone(), Some(text)),
        Ok(Err(ToolFailure::Tell(text))) => (ToolState::Failed, text.clone(), Some(text)),
        Ok(Err(ToolFailure::Fatal(error))) => {
            tracing::error!("{} failed: {error:#}", call.name);
            let text = format!("Cairn could not run {}: {error:#}", call.name);
            (ToolState::Failed, text.clone(), Some(text))
        }
        Err(_) => {
            tracing::error!("{} panicked", call.name);
            let text = format!(
                "{} crashed inside Cairn; it may have had effects. Try another way.",
                call.name
            );
            (ToolState::Failed, text.clone(), Some(text))
        }
    };
    let is_error = state != ToolState::Done;
    let near = match edited.clone().or(saw.as_ref().map(|saw| saw.key.clone())) {
        Some(file) => {
            let look = move || instructions::around(&workspace, &docs, &file);
            tokio::task::spawn_blocking(look).await.unwrap_or_default()
        }
        None => Vec::new(),
    };
    let update =
        ToolUpdate { state: Some(state), detail, edited, saw, near, ..ToolUpdate::default() };
    shown.update(update);
    let input = Input::ToolDone { call_id: call.id, content, is_error };
    hub.send(Event::Turn { session, turn, input });
}

enum Ran {
    /// With the URI of the file it changed.
    Output(ToolOutput, Option<String>),
    /// The policy or the user said no; the text is for the model.
    Declined(String),
}

async fn run(
    shown: &Shown,
    tool: Option<Arc<dyn Tool>>,
    call: &ToolCall,
    context: ToolContext,
    mode: ReviewMode,
) -> Result<Ran, ToolFailure> {
    let (Some(tool), Arguments::Object(arguments)) = (tool, &call.arguments) else {
        return Err(ToolFailure::Tell(format!(
            "{} cannot be run with these arguments.",
            call.name
        )));
    };
    let parsed = tool.parse(arguments.clone(), &context)?;
    let touch = parsed.touch();
    shown.update(ToolUpdate {
        title: Some(parsed.title()),
        uri: approval::uri(&touch),
        touch: Some(match &touch {
            Touch::Read { .. } | Touch::Plan | Touch::Child => TouchKind::Read,
            Touch::Edit { .. } | Touch::Delete { .. } | Touch::Move { .. } => TouchKind::Edit,
            Touch::Command { .. } => TouchKind::Command,
        }),
        ..ToolUpdate::default()
    });
    let commands = match &touch {
        Touch::Command { .. } if context.walls.stand().await.is_err() => {
            Arc::new(context.commands.asking())
        }
        Touch::Command { .. }
        | Touch::Read { .. }
        | Touch::Plan
        | Touch::Child
        | Touch::Edit { .. }
        | Touch::Delete { .. }
        | Touch::Move { .. } => Arc::clone(&context.commands),
    };
    let approved = match approval::gate(&touch, mode, &commands, &context.workspace) {
        Gate::Open(approved) => approved,
        Gate::Closed(reason) => return Ok(Ran::Declined(reason)),
        Gate::Ask(question) => {
            shown.update(ToolUpdate {
                state: Some(ToolState::AwaitingApproval),
                detail: Some(question.command.clone()),
                ..ToolUpdate::default()
            });
            let params = ApproveParams {
                approval_id: format!("{}/{}", shown.turn, shown.call),
                session_id: shown.session.clone(),
                turn_id: shown.turn.clone(),
                call_id: shown.call.clone(),
                title: question.title.clone(),
                command: question.command.clone(),
                cwd: question.cwd.clone(),
                reason: question.reason.clone(),
                needs: question.needs(),
                child: None,
            };
            let (reply, answer) = oneshot::channel();
            shown.hub.send(Event::Approve { params, reply });
            let answer = tokio::select! {
                () = context.cancel.cancelled() => None,
                answer = answer => answer.ok(),
            };
            match answer {
                Some(answer) => match answer.decision {
                    ApprovalDecision::AllowOnce | ApprovalDecision::AllowSession => {
                        question.allowed()
                    }
                    ApprovalDecision::Deny => return Ok(Ran::Declined(declined(answer.feedback))),
                },
                None => {
                    return Ok(Ran::Declined(
                        "The turn ended before the user answered; nothing was run.".into(),
                    ));
                }
            }
        }
    };
    match &touch {
        Touch::Read { .. } => {}
        Touch::Edit { .. }
        | Touch::Delete { .. }
        | Touch::Move { .. }
        | Touch::Command { .. }
        | Touch::Plan
        | Touch::Child => begin(context.journal.as_deref(), &context.origin).await?,
    }
    shown.update(ToolUpdate { state: Some(ToolState::Running), ..ToolUpdate::default() });
    let edited = match &touch {
        Touch::Edit { .. } | Touch::Delete { .. } | Touch::Move { .. } => approval::uri(&touch),
        Touch::Read { .. } | Touch::Command { .. } | Touch::Plan | Touch::Child => None,
    };
    let ran = parsed.run(context, approved).await;
    if matches!(touch, Touch::Command { .. }) {
        shown.hub.send(Event::CommandRan);
    }
    ran.map(|output| Ran::Output(output, edited))
}

/// From here on the call may have effects: that it began is durable first, and everything that led
/// to it. Else a session that is taken up again would not know.
async fn begin(journal: Option<&Writer>, origin: &Origin) -> Result<(), ToolFailure> {
    let Some(journal) = journal else { return Ok(()) };
    let saved = match journal.append(sessions::begun(origin)) {
        Ok(()) => journal.sync().await.unwrap_or_else(|_| Err("the journal is closed".into())),
        Err(refused) => Err(refused.to_string()),
    };
    saved.map_err(|reason| {
        ToolFailure::Tell(format!(
            "Nothing was done: this session cannot be written down ({reason}), and until it can nothing is changed. Tell the user."
        ))
    })
}

fn declined(feedback: Option<String>) -> String {
    let said = feedback
        .filter(|text| !text.trim().is_empty())
        .map(|text| format!(" They said: {text}"))
        .unwrap_or_default();
    format!(
        "The user declined; nothing was run.{said} Do not try to reach the same by another command."
    )
}

struct Shown {
    hub: HubHandle,
    session: String,
    turn: String,
    call: String,
}

impl Shown {
    fn update(&self, update: ToolUpdate) {
        self.hub.send(Event::Tool {
            session: self.session.clone(),
            turn: self.turn.clone(),
            call_id: self.call.clone(),
            update,
        });
    }
}

impl Edits for HubHandle {
    fn propose(&self, proposal: Proposal) -> BoxFuture<'static, Proposed> {
        let (reply, answer) = oneshot::channel();
        self.send(Event::Propose { proposal, reply });
        async move { answer.await.unwrap_or_else(|_| Proposed::Refused("the editor is gone".into())) }.boxed()
    }

    fn flush(&self) -> BoxFuture<'static, Vec<String>> {
        let (reply, answer) = oneshot::channel();
        self.send(Event::Flush { reply });
        async move { answer.await.unwrap_or_default() }.boxed()
    }
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
