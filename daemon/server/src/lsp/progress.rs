//! The plan of a turn as work-done progress, for an editor that only speaks LSP.
//!
//! The editor is asked for a place first, and may say no. Until it answers, and whenever the plan
//! moves faster than it reads, only the newest step counts. Must never wait for the editor.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use cairn_core::visible::one_line;
use cairn_protocol::{
    ChildNotification, ChildPhase, ItemStatus, Notice, Panel, PlanNotification, TurnPhase,
};
use serde::Serialize;
use tokio::sync::watch;
use tower_lsp::lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

pub(super) const CREATE: &str = "window/workDoneProgress/create";
pub(super) const PROGRESS: &str = "$/progress";

/// The longest title of a piece of work, in characters.
const TITLE: usize = 200;

/// The turns whose plan is being shown, by id. Forgetting one ends what is shown of it.
#[derive(Default)]
pub(super) struct Running(Mutex<HashMap<String, watch::Sender<Step>>>);

/// What is shown of a turn; the other end is `Running`'s.
pub(super) struct Shown {
    token: String,
    steps: watch::Receiver<Step>,
    phase: Phase,
}

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
    /// Follows a turn; what has to be opened, if its plan is new.
    pub(super) fn hear(&self, notice: &Notice) -> Option<Shown> {
        match notice {
            Notice::Plan(plan) => self.plan(plan),
            Notice::Turn(turn) => {
                match turn.phase {
                    TurnPhase::Started { .. } => {}
                    TurnPhase::Ended { .. } => drop(self.lock().remove(&turn.turn_id)),
                }
                None
            }
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
        if let Some(steps) = running.get(&plan.turn_id) {
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
                running.insert(plan.turn_id.clone(), step);
                Some(Shown { token: plan.turn_id.clone(), steps, phase: Phase::Unseen })
            }
            Panel::Collapsed | Panel::Hidden => None,
        }
    }

    /// Shown beside the plan of its parent, if there is one.
    fn child(&self, child: &ChildNotification) {
        let running = self.lock();
        let Some(steps) = running.get(&child.parent.turn_id) else { return };
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<Step>>> {
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

    /// What to say next, once the place is there; `None`: all is said. Waits until the plan moves
    /// or its turn ends.
    pub(super) async fn next(&mut self) -> Option<ProgressParams> {
        let moved = match self.phase {
            Phase::Unseen => self.steps.has_changed().is_ok(),
            Phase::Begun => self.steps.changed().await.is_ok(),
            Phase::Ended => return None,
        };
        let step = self.steps.borrow_and_update().clone();
        let (message, percentage, cancellable) =
            (Some(step.words()), Some(step.percentage), Some(false));
        let (phase, value) = match (self.phase, moved) {
            (Phase::Unseen, true) => {
                let title = "Cairn".to_owned();
                let begin = WorkDoneProgressBegin { title, cancellable, message, percentage };
                (Phase::Begun, WorkDoneProgress::Begin(begin))
            }
            (Phase::Begun, true) => {
                let report = WorkDoneProgressReport { cancellable, message, percentage };
                (Phase::Begun, WorkDoneProgress::Report(report))
            }
            (Phase::Begun, false) => {
                (Phase::Ended, WorkDoneProgress::End(WorkDoneProgressEnd { message }))
            }
            // Over before it could be shown.
            (Phase::Unseen | Phase::Ended, _) => return None,
        };
        self.phase = phase;
        Some(self.params(value))
    }

    fn params(&self, value: WorkDoneProgress) -> ProgressParams {
        ProgressParams {
            token: NumberOrString::String(self.token.clone()),
            value: ProgressParamsValue::WorkDone(value),
        }
    }
}
