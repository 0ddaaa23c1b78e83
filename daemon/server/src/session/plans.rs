//! Plans for the client: the items of the turn machine with the work and time under each, and the
//! plans of earlier turns.
//!
//! Never changes a plan: only the model does, through the turn machine.

use cairn_core::{
    ids::{CallId, TurnId},
    plan::PlanProgress,
};
use cairn_protocol::{
    CompletedItem, EndReason, ItemStatus, Notice, Panel, PlanItem, PlanNotification,
};

use super::{configuration::Configuration, entry::SessionEntry};
use crate::{
    ports::ToolUpdate,
    store::sessions::{self, Line},
    workspace::path_of,
};

/// Items of the plan that are completed and were not before.
fn completed_since(
    before: Option<&PlanNotification>,
    now: &PlanNotification,
) -> Vec<CompletedItem> {
    let is_completed = |item: &&PlanItem| item.status == ItemStatus::Completed;
    let was_completed = |id: &str| {
        before.is_some_and(|plan| plan.items.iter().filter(is_completed).any(|item| item.id == id))
    };
    let completed = now.items.iter().filter(is_completed).zip(1..);
    completed
        .filter(|(item, _)| !was_completed(&item.id))
        .map(|(item, place)| CompletedItem {
            id: item.id.clone(),
            content: item.content.clone(),
            place,
            total: now.total,
        })
        .collect()
}

impl SessionEntry {
    /// Marks the work under an item as changed, so that the next batch publishes the plan.
    pub(super) fn on_work_update(&mut self, call_id: &CallId, item: &str, update: &ToolUpdate) {
        let path = update.edited.as_deref().and_then(path_of);
        let path = path.map(|path| self.services.display(&path));
        self.plan_stale |= self.work.call_updated(item, call_id, update, path);
    }

    /// Publishes the plan if its work changed since the last call.
    pub(super) fn publish_stale_plan(&mut self, config: &Configuration) {
        if let Some(plan) = self.plan.as_ref().filter(|_| self.plan_stale) {
            let turn_id = plan.turn_id.as_str().into();
            self.publish_plan(config, &turn_id, Vec::new());
        }
    }

    /// Returns the progress of the plan, and its items with the present work under each.
    pub(super) fn take_plan(&mut self) -> (PlanProgress, Vec<PlanItem>) {
        self.plan_stale = false;
        let plan = self.machine.plan_items();
        let progress = PlanProgress::of(plan.iter().map(|item| item.status));
        (progress, self.work.shown_all(&plan))
    }

    pub(super) fn publish_plan(
        &mut self,
        config: &Configuration,
        turn_id: &TurnId,
        dropped: Vec<String>,
    ) {
        let (PlanProgress { completed, total, .. }, items) = self.take_plan();
        let note = PlanNotification {
            session_id: self.id.clone().into(),
            turn_id: turn_id.into(),
            rev: self.services.next_rev(),
            panel: match self.machine.is_expanded() {
                true => Panel::Expanded,
                false if items.is_empty() => Panel::Hidden,
                false => Panel::Collapsed,
            },
            completed,
            total,
            items,
            dropped,
        };
        let before = self.plan.replace(note.clone());
        if self.is_turn(turn_id) {
            let completed = completed_since(before.as_ref(), &note);
            if self.machine.keeps_a_list() {
                self.hooks_of_plan(config, before.as_ref(), &note, &completed);
            }
            self.completed_items.extend(completed);
        }
        self.write(&Line::Plan(note.clone()));
        self.services.notify(Notice::Plan(note));
    }

    /// Stores the plan at the end of the newest turn, if it is of this turn.
    pub(super) fn keep_plan(&mut self, reason: EndReason) {
        let (turn_id, task) = (self.newest_turn(), self.task.clone().unwrap_or_default());
        sessions::keep_plan(&mut self.work.history, self.plan.as_ref(), &turn_id, task, reason);
    }
}
