//! Work-done progress with the plan of a turn, for an editor without the Cairn extension.
//!
//! `window/workDoneProgress/create` comes first, and the editor may refuse. Until it answers, and
//! whenever the plan changes faster than the editor reads, only the newest step is kept. Never
//! waits for the editor.

use std::{collections::HashMap, sync::Arc};

use cairn_core::sanitize::one_line;
use cairn_protocol::{
    ItemStatus, Notice, Panel, PlanNotification, SubagentNotification, SubagentPhase, TurnPhase,
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;
use tower_lsp::lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use super::client::LspClient;

pub(super) const CREATE: &str = "window/workDoneProgress/create";
const PROGRESS: &str = "$/progress";

/// Maximum length of a title, in characters.
const TITLE: usize = 200;

/// Turns with a visible plan, by id.
#[derive(Default)]
pub(super) struct RunningTurns(Mutex<HashMap<String, Entry>>);

struct Entry {
    steps: watch::Sender<ProgressStep>,
    shown: TurnProgress,
}

/// Change of the progress of one turn.
pub(super) enum ProgressChange {
    Open(TurnProgress),
    /// The turn is over.
    Close(ClosedProgress),
}

/// Progress of one turn. The clones share the phase: one follows the plan, the other ends it.
#[derive(Clone)]
pub(super) struct TurnProgress {
    token: String,
    steps: watch::Receiver<ProgressStep>,
    /// Locked while a message is sent, so that no report follows the end.
    phase: Arc<tokio::sync::Mutex<Phase>>,
}

/// End of a turn's progress, at its place in the outbox's queue. Dropping it without
/// [`ClosedProgress::send`] leaves the end to the task that follows the plan.
pub(super) struct ClosedProgress(Entry);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Unseen,
    Begun,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgressStep {
    message: String,
    percentage: u32,
    /// Running subagents: session id and title.
    subagents: Vec<(String, String)>,
}

impl RunningTurns {
    /// Tracks a turn; returns the progress to open or to close.
    pub(super) fn update(&self, notice: &Notice) -> Option<ProgressChange> {
        match notice {
            Notice::Plan(plan) => self.plan(plan).map(ProgressChange::Open),
            Notice::Turn(turn) => match turn.phase {
                TurnPhase::Started { .. } => None,
                TurnPhase::Ended { .. } => self
                    .0
                    .lock()
                    .remove(&turn.turn_id)
                    .map(|entry| ProgressChange::Close(ClosedProgress(entry))),
            },
            Notice::Subagent(subagent) => {
                self.subagent(subagent);
                None
            }
            _ => None,
        }
    }

    fn plan(&self, plan: &PlanNotification) -> Option<TurnProgress> {
        let mut running = self.0.lock();
        if let Some(Entry { steps, .. }) = running.get(&plan.turn_id) {
            // The same plan is sent again for each call under an item.
            steps.send_if_modified(|step| {
                let next =
                    ProgressStep { subagents: step.subagents.clone(), ..ProgressStep::of(plan) };
                let moved = *step != next;
                *step = next;
                moved
            });
            return None;
        }
        match plan.panel {
            Panel::Expanded => {
                let (step, steps) = watch::channel(ProgressStep::of(plan));
                let phase = Arc::new(tokio::sync::Mutex::new(Phase::Unseen));
                let shown = TurnProgress { token: plan.turn_id.clone(), steps, phase };
                let entry = Entry { steps: step, shown: shown.clone() };
                running.insert(plan.turn_id.clone(), entry);
                Some(shown)
            }
            Panel::Collapsed | Panel::Hidden => None,
        }
    }

    /// Updates a subagent in the progress of its parent turn.
    fn subagent(&self, subagent: &SubagentNotification) {
        let running = self.0.lock();
        let Some(Entry { steps, .. }) = running.get(&subagent.parent.turn_id) else { return };
        steps.send_if_modified(|step| {
            let before = step.subagents.clone();
            step.subagents.retain(|(session, _)| *session != subagent.session_id);
            if subagent.phase == SubagentPhase::Running {
                step.subagents.push((subagent.session_id.clone(), subagent.title.clone()));
            }
            // Sort, because an update moves a running subagent to the end.
            step.subagents.sort();
            step.subagents != before
        });
    }
}

impl ProgressStep {
    fn of(plan: &PlanNotification) -> Self {
        let PlanNotification { completed, total, items, .. } = plan;
        let current = items.iter().find(|item| item.status == ItemStatus::InProgress);
        let current = current.map_or_else(String::new, |item| one_line(&item.active_form, TITLE));
        Self {
            message: format!("{completed}/{total} {current}").trim_end().to_owned(),
            percentage: completed.saturating_mul(100).checked_div(*total).unwrap_or_default(),
            subagents: Vec::new(),
        }
    }

    fn words(&self) -> String {
        match self.subagents.as_slice() {
            [] => self.message.clone(),
            [(_, title)] => format!("{} · {}", self.message, one_line(title, TITLE)),
            many => format!("{} · {} subagents", self.message, many.len()),
        }
    }
}

impl TurnProgress {
    /// Returns the params of [`CREATE`].
    pub(super) fn place(&self) -> impl Serialize {
        WorkDoneProgressCreateParams { token: NumberOrString::String(self.token.clone()) }
    }

    /// Reports each change of the plan until the turn ends.
    pub(super) async fn follow(mut self, client: LspClient) {
        let mut over = self.steps.has_changed().is_err();
        loop {
            let phase = Arc::clone(&self.phase);
            let mut phase = phase.lock().await;
            let step = self.steps.borrow_and_update().clone();
            match self.next(&mut phase, &step, over) {
                Some(params) => report(&client, &params).await,
                None => return,
            }
            drop(phase);
            over = self.steps.changed().await.is_err();
        }
    }

    /// Advances the phase and returns the message for it; `None` after the end.
    fn next(&self, phase: &mut Phase, step: &ProgressStep, over: bool) -> Option<ProgressParams> {
        let (message, percentage, cancellable) =
            (Some(step.words()), Some(step.percentage), Some(false));
        let (next, value) = match (*phase, over) {
            (Phase::Unseen, false) => {
                let title = "Cairn".to_owned();
                let begin = WorkDoneProgressBegin { title, cancellable, message, percentage };
                (Phase::Begun, Some(WorkDoneProgress::Begin(begin)))
            }
            (Phase::Begun, false) => {
                let report = WorkDoneProgressReport { cancellable, message, percentage };
                (Phase::Begun, Some(WorkDoneProgress::Report(report)))
            }
            (Phase::Begun, true) => {
                (Phase::Ended, Some(WorkDoneProgress::End(WorkDoneProgressEnd { message })))
            }
            // The turn ended before anything was shown.
            (Phase::Unseen, true) | (Phase::Ended, _) => (Phase::Ended, None),
        };
        *phase = next;
        Some(ProgressParams {
            token: NumberOrString::String(self.token.clone()),
            value: ProgressParamsValue::WorkDone(value?),
        })
    }
}

impl ClosedProgress {
    /// Sends the end, if a beginning was sent.
    pub(super) async fn send(self, client: &LspClient) {
        let Entry { steps, shown } = self.0;
        let mut phase = shown.phase.lock().await;
        let step = steps.borrow().clone();
        if let Some(params) = shown.next(&mut phase, &step, true) {
            report(client, &params).await;
        }
    }
}

async fn report(client: &LspClient, params: &ProgressParams) {
    let Ok(params) = serde_json::to_value(params) else { return };
    client.notify(PROGRESS, params).await;
}
