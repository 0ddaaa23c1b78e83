//! Work done under each item of a plan: files, commands, calls and time.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use cairn_core::{
    ids::CallId,
    plan::{Status, TodoItem},
    policy::AccessKind,
};
use cairn_protocol::{
    EarlierPlan, ItemStatus, LinkedCommand, LinkedFile, PlanItem, PlanNotification, ToolState,
};

use crate::ports::ToolUpdate;

const COMMANDS_KEPT: usize = 50;
const FILES_KEPT: usize = 200;

/// Work under each item of a session's plan.
#[derive(Debug, Default)]
pub(super) struct PlanWork {
    items: HashMap<String, ItemWork>,
    /// The item in progress, and its start.
    clock: Option<(String, Instant)>,
    pub(super) history: VecDeque<EarlierPlan>,
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

impl PlanWork {
    /// Restores the work from the notification of an earlier process.
    pub(super) fn of(plan: Option<&PlanNotification>, history: Vec<EarlierPlan>) -> Self {
        let items = plan.map(|plan| plan.items.as_slice()).unwrap_or_default();
        let items = items.iter().map(|item| (item.id.clone(), ItemWork::of(item))).collect();
        Self { items, clock: None, history: history.into() }
    }

    pub(super) fn call_started(&mut self, item: &str) {
        self.items.entry(item.to_owned()).or_default().calls += 1;
    }

    /// Returns true if the visible plan changed.
    pub(super) fn call_updated(
        &mut self,
        item: &str,
        call_id: &CallId,
        update: &ToolUpdate,
        path: Option<String>,
    ) -> bool {
        let work = self.items.entry(item.to_owned()).or_default();
        if let (Some(AccessKind::Command), Some(title)) = (update.access, &update.label) {
            work.commands.push_back(Command {
                shown: LinkedCommand {
                    call_id: call_id.into(),
                    title: Box::new(title.message()),
                    state: ToolState::Queued,
                    elapsed_ms: None,
                },
                running_since: None,
            });
        }
        while work.commands.len() > COMMANDS_KEPT {
            work.commands.pop_front();
        }
        let mut changed = work.add_file(update, path);
        if let (Some(state), Some(command)) = (
            update.state,
            work.commands.iter_mut().find(|command| *call_id == command.shown.call_id),
        ) {
            command.now(state);
            changed = true;
        }
        changed
    }

    /// Moves the clock to the item that is now in progress.
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

    /// Returns the items with the present work under each.
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
                Status::Cancelled => ItemStatus::Cancelled,
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
                // Its end was not recorded.
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
