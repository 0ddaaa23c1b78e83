//! The plan of a turn as work-done progress, for an editor that only speaks LSP.
//!
//! The editor is asked for a place first, and may say no. Until it answers, and whenever the plan
//! moves faster than it reads, only the newest step counts. Must never wait for the editor.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use cairn_core::sanitize::one_line;
use cairn_protocol::{
    ChildNotification, ChildPhase, ItemStatus, Notice, Panel, PlanNotification, TurnPhase,
};
use serde::Serialize;
use tokio::sync::watch;
use tower_lsp::{
    Client,
    jsonrpc::Request,
    lsp_types::{
        NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress,
        WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd,
        WorkDoneProgressReport,
    },
};
use tower_service::Service;

use crate::secrets;

pub(super) const CREATE: &str = "window/workDoneProgress/create";
const PROGRESS: &str = "$/progress";

/// The longest title of a piece of work, in characters.
const TITLE: usize = 200;

/// The turns whose plan is being shown, by id.
#[derive(Default)]
pub(super) struct Running(Mutex<HashMap<String, Entry>>);

struct Entry {
    steps: watch::Sender<Step>,
    shown: Shown,
}

/// Change of what is shown of a plan.
pub(super) enum Change {
    Open(Shown),
    /// The turn is over.
    Close(Closing),
}

/// Progress shown of a turn. The copies share the phase: one follows the plan, the other ends it.
#[derive(Clone)]
pub(super) struct Shown {
    token: String,
    steps: watch::Receiver<Step>,
    /// Locked while a message is handed over, so that no report comes after the end.
    phase: Arc<tokio::sync::Mutex<Phase>>,
}

/// End of what is shown of a turn, in the place where the outbox's queue has it. Dropping it
/// without [`Closing::say`] leaves the end to the task that follows the plan.
pub(super) struct Closing(Entry);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Unseen,
    Begun,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    message: String,
    percentage: u32,
    /// Children that run: their session and their title.
    children: Vec<(String, String)>,
}

impl Running {
    /// Follows a turn; returns what has to be opened or closed.
    pub(super) fn hear(&self, notice: &Notice) -> Option<Change> {
        match notice {
            Notice::Plan(plan) => self.plan(plan).map(Change::Open),
            Notice::Turn(turn) => match turn.phase {
                TurnPhase::Started { .. } => None,
                TurnPhase::Ended { .. } => {
                    self.lock().remove(&turn.turn_id).map(|entry| Change::Close(Closing(entry)))
                }
            },
            Notice::Child(child) => {
                self.child(child);
                None
            }
            Notice::Message(_)
            | Notice::Tool(_)
            | Notice::Review(_)
            | Notice::Usage(_)
            | Notice::Queue(_)
            | Notice::Status(_) => None,
        }
    }

    fn plan(&self, plan: &PlanNotification) -> Option<Shown> {
        let mut running = self.lock();
        if let Some(Entry { steps, .. }) = running.get(&plan.turn_id) {
            // The same plan comes again when work is done under an item.
            steps.send_if_modified(|step| {
                let next = Step { children: step.children.clone(), ..Step::of(plan) };
                let moved = *step != next;
                *step = next;
                moved
            });
            return None;
        }
        match plan.panel {
            Panel::Expanded => {
                let (step, steps) = watch::channel(Step::of(plan));
                let phase = Arc::new(tokio::sync::Mutex::new(Phase::Unseen));
                let shown = Shown { token: plan.turn_id.clone(), steps, phase };
                let entry = Entry { steps: step, shown: shown.clone() };
                running.insert(plan.turn_id.clone(), entry);
                Some(shown)
            }
            Panel::Collapsed | Panel::Hidden => None,
        }
    }

    /// Shown beside the plan of its parent, if there is one.
    fn child(&self, child: &ChildNotification) {
        let running = self.lock();
        let Some(Entry { steps, .. }) = running.get(&child.parent.turn_id) else { return };
        steps.send_if_modified(|step| {
            let before = step.children.clone();
            step.children.retain(|(session, _)| *session != child.session_id);
            match child.phase {
                ChildPhase::Running => {
                    step.children.push((child.session_id.clone(), child.title.clone()));
                }
                ChildPhase::Waiting | ChildPhase::Ended { .. } => {}
            }
            // An update of one that runs has moved it to the end.
            step.children.sort();
            step.children != before
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Step {
    fn of(plan: &PlanNotification) -> Self {
        let PlanNotification { completed, total, items, .. } = plan;
        let current = items.iter().find(|item| item.status == ItemStatus::InProgress);
        let current = current.map_or_else(String::new, |item| one_line(&item.active_form, TITLE));
        Self {
            message: format!("{completed}/{total} {current}").trim_end().to_owned(),
            percentage: completed.saturating_mul(100).checked_div(*total).unwrap_or_default(),
            children: Vec::new(),
        }
    }

    fn words(&self) -> String {
        match self.children.as_slice() {
            [] => self.message.clone(),
            [(_, title)] => format!("{} · {}", self.message, one_line(title, TITLE)),
            many => format!("{} · {} subagents", self.message, many.len()),
        }
    }
}

impl Shown {
    /// The params of `CREATE`.
    pub(super) fn place(&self) -> impl Serialize {
        WorkDoneProgressCreateParams { token: NumberOrString::String(self.token.clone()) }
    }

    /// Says how the plan moves, once the place is there, until the turn ends.
    pub(super) async fn follow(mut self, client: Client) {
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

    /// The message that leads to the next phase; `None`: nothing is left to say.
    fn next(&self, phase: &mut Phase, step: &Step, over: bool) -> Option<ProgressParams> {
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
            // Over before it could be shown.
            (Phase::Unseen, true) | (Phase::Ended, _) => (Phase::Ended, None),
        };
        *phase = next;
        Some(ProgressParams {
            token: NumberOrString::String(self.token.clone()),
            value: ProgressParamsValue::WorkDone(value?),
        })
    }
}

impl Closing {
    /// Says the end, if anything was shown.
    pub(super) async fn say(self, client: &Client) {
        let Entry { steps, shown } = self.0;
        let mut phase = shown.phase.lock().await;
        let step = steps.borrow().clone();
        if let Some(params) = shown.next(&mut phase, &step, true) {
            report(client, &params).await;
        }
    }
}

async fn report(client: &Client, params: &ProgressParams) {
    let Ok(mut params) = serde_json::to_value(params) else { return };
    secrets::clean_json(&mut params);
    let _ = client.clone().call(Request::build(PROGRESS).params(params).finish()).await;
}
