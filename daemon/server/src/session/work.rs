//! Work done under each item of a plan: files, commands, calls and time.

use std::{
    collections::HashMap,
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
    /// By id. Only the work is up to date: the texts and the state are those of the plan.
    items: HashMap<String, PlanItem>,
    /// The item in progress, and its start.
    clock: Option<(String, Instant)>,
    /// Start of each call that runs, by its id.
    running: HashMap<CallId, Instant>,
    pub(super) history: Vec<EarlierPlan>,
}

impl PlanWork {
    /// Restores the work from the notification of an earlier process.
    pub(super) fn of(plan: Option<&PlanNotification>, history: Vec<EarlierPlan>) -> Self {
        let mut items: HashMap<String, PlanItem> = HashMap::new();
        for item in plan.into_iter().flat_map(|plan| &plan.items) {
            let mut item = item.clone();
            cancel_commands(&mut item);
            items.insert(item.id.clone(), item);
        }
        Self { items, history, ..Self::default() }
    }

    pub(super) fn call_started(&mut self, item: &str) {
        self.item(item).calls += 1;
    }

    /// Returns true if the visible plan changed.
    pub(super) fn call_updated(
        &mut self,
        item: &str,
        call_id: &CallId,
        update: &ToolUpdate,
        path: Option<String>,
    ) -> bool {
        let elapsed = update.state.and_then(|state| self.time(call_id, state));
        let work = self.item(item);
        if let (Some(AccessKind::Command), Some(title)) = (update.access, &update.label) {
            work.commands.push(LinkedCommand {
                call_id: call_id.into(),
                title: Box::new(title.message()),
                state: ToolState::Queued,
                elapsed_ms: None,
            });
            let oldest = work.commands.len().saturating_sub(COMMANDS_KEPT);
            work.commands.drain(..oldest);
        }
        let mut changed = add_file(work, update, path);
        let mut commands = work.commands.iter_mut();
        if let (Some(state), Some(command)) =
            (update.state, commands.find(|command| *call_id == command.call_id))
        {
            command.state = state;
            command.elapsed_ms = elapsed.map(millis);
            changed = true;
        }
        changed
    }

    /// Duration of a call that has ended.
    fn time(&mut self, call_id: &CallId, state: ToolState) -> Option<Duration> {
        if state == ToolState::Running {
            self.running.insert(call_id.clone(), Instant::now());
        }
        let since = if state.is_over() { self.running.remove(call_id) } else { None };
        since.map(|since| since.elapsed())
    }

    /// Moves the clock to the item that is now in progress.
    fn tick(&mut self, items: &[TodoItem]) {
        let now =
            items.iter().find(|item| item.status == Status::InProgress).map(|item| item.id.clone());
        if self.clock.as_ref().map(|(id, _)| id) == now.as_ref() {
            return;
        }
        if let Some((id, since)) = self.clock.take() {
            self.item(&id).elapsed_ms += millis(since.elapsed());
        }
        self.clock = now.map(|id| (id, Instant::now()));
    }

    /// Returns the items with the present work under each.
    pub(super) fn shown_all(&mut self, items: &[TodoItem]) -> Vec<PlanItem> {
        self.tick(items);
        items.iter().map(|item| self.shown(item)).collect()
    }

    fn shown(&self, item: &TodoItem) -> PlanItem {
        let work = self.items.get(&item.id).cloned().unwrap_or_default();
        let running = match &self.clock {
            Some((id, since)) if *id == item.id => millis(since.elapsed()),
            _ => 0,
        };
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
            elapsed_ms: work.elapsed_ms + running,
            ..work
        }
    }

    fn item(&mut self, id: &str) -> &mut PlanItem {
        self.items.entry(id.to_owned()).or_default()
    }
}

/// Cancels the commands that have no end in the state of an earlier process.
pub(super) fn cancel_commands(item: &mut PlanItem) {
    for command in item.commands.iter_mut().filter(|command| !command.state.is_over()) {
        command.state = ToolState::Cancelled;
    }
}

fn add_file(item: &mut PlanItem, update: &ToolUpdate, path: Option<String>) -> bool {
    let (Some(ToolState::Done), Some(uri), Some(path)) = (update.state, &update.edited, path)
    else {
        return false;
    };
    if item.files.len() >= FILES_KEPT || item.files.iter().any(|file| file.uri == *uri) {
        return false;
    }
    item.files.push(LinkedFile { uri: uri.clone(), path });
    true
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
