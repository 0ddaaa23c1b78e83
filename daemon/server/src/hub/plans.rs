//! Plans as the client sees them: the machine's items, joined with the work done under each and
//! how long it took, and the plans of earlier turns.
//!
//! Must never change a plan: only the model does, through the machine.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use cairn_core::{
    plan::{Status, TodoItem},
    turn,
};
use cairn_protocol::{
    EarlierPlan, EndReason, ErrorKind, ItemStatus, LinkedCommand, LinkedFile, Notice, Panel,
    PlanHistoryParams, PlanHistoryResult, PlanItem, PlanNotification, ToolState,
};

use super::{AccessKind, Hub, ToolUpdate};
use crate::{event::RequestError, store::sessions::Line, workspace::path_of};

const COMMANDS_KEPT: usize = 50;
const FILES_KEPT: usize = 200;
const HISTORY_KEPT: usize = 50;

/// What was done under each item of a session's plan.
#[derive(Debug, Default)]
pub(super) struct Work {
    items: HashMap<String, ItemWork>,
    /// The item in progress, and since when.
    clock: Option<(String, Instant)>,
    history: VecDeque<EarlierPlan>,
}

#[derive(Debug, Default)]
struct ItemWork {
    files: Vec<LinkedFile>,
    commands: VecDeque<Command>,
    calls: u32,
    elapsed: Duration,
}

#[derive(Debug)]
struct Command {
    shown: LinkedCommand,
    running_since: Option<Instant>,
}

impl Work {
    /// The work under a plan as it was shown before.
    pub(super) fn of(plan: Option<&PlanNotification>, history: Vec<EarlierPlan>) -> Self {
        let items = plan.map(|plan| plan.items.as_slice()).unwrap_or_default();
        let items = items.iter().map(|item| (item.id.clone(), ItemWork::of(item))).collect();
        Self { items, clock: None, history: history.into() }
    }

    pub(super) fn call_started(&mut self, item: &str) {
        self.items.entry(item.to_owned()).or_default().calls += 1;
    }

    /// Returns whether what is shown of the plan changed.
    pub(super) fn call_updated(
        &mut self,
        item: &str,
        call_id: &str,
        update: &ToolUpdate,
        path: Option<String>,
    ) -> bool {
        let work = self.items.entry(item.to_owned()).or_default();
        match update.access {
            Some(AccessKind::Command) => work.commands.push_back(Command {
                shown: LinkedCommand {
                    call_id: call_id.to_owned(),
                    title: update.title.clone().unwrap_or_default(),
                    state: ToolState::Queued,
                    elapsed_ms: None,
                },
                running_since: None,
            }),
            Some(AccessKind::Edit | AccessKind::Read) | None => {}
        }
        while work.commands.len() > COMMANDS_KEPT {
            work.commands.pop_front();
        }
        let mut changed = work.add_file(update, path);
        if let (Some(state), Some(command)) = (
            update.state,
            work.commands.iter_mut().find(|command| command.shown.call_id == call_id),
        ) {
            command.now(state);
            changed = true;
        }
        changed
    }

    /// The clock follows the item in progress.
    fn tick(&mut self, items: &[TodoItem]) {
        let now =
            items.iter().find(|item| item.status == Status::InProgress).map(|item| item.id.clone());
        if self.clock.as_ref().map(|(id, _)| id) == now.as_ref() {
            return;
        }
        if let Some((id, since)) = self.clock.take() {
            self.items.entry(id).or_default().elapsed += since.elapsed();
        }
        self.clock = now.map(|id| (id, Instant::now()));
    }

    /// The items with the work under each, as of now.
    pub(super) fn shown_all(&mut self, items: &[TodoItem]) -> Vec<PlanItem> {
        self.tick(items);
        items.iter().map(|item| self.shown(item)).collect()
    }

    fn shown(&self, item: &TodoItem) -> PlanItem {
        let work = self.items.get(&item.id);
        let running = match &self.clock {
            Some((id, since)) if *id == item.id => since.elapsed(),
            _ => Duration::ZERO,
        };
        let elapsed = work.map_or(Duration::ZERO, |work| work.elapsed) + running;
        PlanItem {
            id: item.id.clone(),
            content: item.content.clone(),
            active_form: item.active_form.clone(),
            status: match item.status {
                Status::Pending => ItemStatus::Pending,
                Status::InProgress => ItemStatus::InProgress,
                Status::Completed => ItemStatus::Completed,
            },
            blocked: item.blocked,
            blocked_by: item.blocked_by.clone(),
            files: work.map(|work| work.files.clone()).unwrap_or_default(),
            commands: work
                .map(|work| work.commands.iter().map(|command| command.shown.clone()).collect())
                .unwrap_or_default(),
            calls: work.map_or(0, |work| work.calls),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl ItemWork {
    fn of(item: &PlanItem) -> Self {
        let command = |shown: &LinkedCommand| {
            let mut shown = shown.clone();
            if !shown.state.is_over() {
                // Nobody saw its end.
                shown.state = ToolState::Cancelled;
            }
            Command { shown, running_since: None }
        };
        Self {
            files: item.files.clone(),
            commands: item.commands.iter().map(command).collect(),
            calls: item.calls,
            elapsed: Duration::from_millis(item.elapsed_ms),
        }
    }

    fn add_file(&mut self, update: &ToolUpdate, path: Option<String>) -> bool {
        let (Some(ToolState::Done), Some(uri), Some(path)) = (update.state, &update.edited, path)
        else {
            return false;
        };
        if self.files.len() >= FILES_KEPT || self.files.iter().any(|file| file.uri == *uri) {
            return false;
        }
        self.files.push(LinkedFile { uri: uri.clone(), path });
        true
    }
}

impl Command {
    fn now(&mut self, state: ToolState) {
        self.shown.state = state;
        match state {
            ToolState::Running => self.running_since = Some(Instant::now()),
            ToolState::Queued | ToolState::AwaitingApproval => {}
            ToolState::Done | ToolState::Failed | ToolState::Declined | ToolState::Cancelled => {
                let elapsed = self.running_since.take().map(|since| since.elapsed().as_millis());
                self.shown.elapsed_ms =
                    elapsed.map(|millis| u64::try_from(millis).unwrap_or(u64::MAX));
            }
        }
    }
}

impl Hub {
    /// The work under an item changed: the plan is shown anew with the next batch.
    pub(super) fn work_updated(
        &mut self,
        session_id: &str,
        call_id: &str,
        item: &str,
        update: &ToolUpdate,
    ) {
        let path = update.edited.as_deref().and_then(path_of).map(|path| self.display(&path));
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        session.plan_stale |= session.work.call_updated(item, call_id, update, path);
    }

    /// Plans whose work changed since they were shown.
    pub(super) fn publish_stale_plans(&mut self) {
        let stale: Vec<(String, String)> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.plan_stale)
            .filter_map(|(id, session)| Some((id.clone(), session.plan.as_ref()?.turn_id.clone())))
            .collect();
        for (session_id, turn_id) in stale {
            self.publish_plan(&session_id, &turn_id, Vec::new());
        }
    }

    pub(super) fn publish_plan(&mut self, session_id: &str, turn_id: &str, dropped: Vec<String>) {
        let rev = self.next_rev();
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        session.plan_stale = false;
        let plan = session.machine.plan_items();
        let items = session.work.shown_all(&plan);
        let note = PlanNotification {
            session_id: session_id.into(),
            turn_id: turn_id.into(),
            rev,
            panel: match session.machine.panel() {
                turn::Panel::Hidden => Panel::Hidden,
                turn::Panel::Expanded => Panel::Expanded,
                turn::Panel::Collapsed => Panel::Collapsed,
            },
            completed: plan.iter().filter(|item| !item.is_open()).count() as u32,
            total: items.len() as u32,
            items,
            dropped,
        };
        let before = session.plan.replace(note.clone());
        if session.is_turn(turn_id) && session.machine.keeps_a_list() {
            self.hooks_of_plan(before.as_ref(), &note);
        }
        self.write(session_id, &Line::Plan(note.clone()));
        self.editor.notify(Notice::Plan(note));
    }

    /// Keeps the plan as it stands at the end of a turn that planned.
    pub(super) fn keep_plan(
        &mut self,
        session_id: &str,
        turn_id: &str,
        task: String,
        reason: EndReason,
    ) {
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(plan) =
            session.plan.clone().filter(|plan| plan.turn_id == turn_id && plan.total > 0)
        else {
            return;
        };
        let history = &mut session.work.history;
        history.push_back(EarlierPlan { turn_id: turn_id.into(), task, reason, plan });
        while history.len() > HISTORY_KEPT {
            history.pop_front();
        }
    }

    pub(super) fn plan_history(
        &self,
        params: &PlanHistoryParams,
    ) -> Result<PlanHistoryResult, RequestError> {
        match self.sessions.get(&params.session_id) {
            Some(session) => {
                Ok(PlanHistoryResult { turns: session.work.history.iter().cloned().collect() })
            }
            None => Err(RequestError::new(
                ErrorKind::UnknownSession,
                "This session is not known",
                "Start a new task with Agent: run task.",
            )),
        }
    }
}
