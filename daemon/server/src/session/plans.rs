//! Plans for the client: the items of the turn machine with the work and time under each, and the
//! plans of earlier turns.
//!
//! Never changes a plan: only the model does, through the turn machine.

use cairn_core::{
    ids::{CallId, SessionId, TurnId},
    plan::PlanProgress,
    turn,
};
use cairn_protocol::{
    CompletedItem, EarlierPlan, EndReason, ItemStatus, Notice, Panel, PlanItem, PlanNotification,
};

use super::Sessions;
use crate::{ports::ToolUpdate, store::sessions::Line, workspace::path_of};

const HISTORY_KEPT: usize = 50;

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

impl Sessions {
    /// Marks the work under an item as changed, so that the next batch publishes the plan.
    pub(super) fn on_work_update(
        &mut self,
        session_id: &SessionId,
        call_id: &CallId,
        item: &str,
        update: &ToolUpdate,
    ) {
        let path =
            update.edited.as_deref().and_then(path_of).map(|path| self.services.display(&path));
        let Some(session) = self.entries.get_mut(session_id) else { return };
        session.plan_stale |= session.work.call_updated(item, call_id, update, path);
    }

    /// Publishes the plans whose work changed since the last call.
    pub(super) fn publish_stale_plans(&mut self) {
        let stale: Vec<(SessionId, String)> = self
            .entries
            .iter()
            .filter(|(_, session)| session.plan_stale)
            .filter_map(|(id, session)| Some((id.clone(), session.plan.as_ref()?.turn_id.clone())))
            .collect();
        for (session_id, turn_id) in stale {
            self.publish_plan(&session_id, &turn_id.into(), Vec::new());
        }
    }

    pub(super) fn publish_plan(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        dropped: Vec<String>,
    ) {
        let rev = self.services.next_rev();
        let Some(session) = self.entries.get_mut(session_id) else { return };
        session.plan_stale = false;
        let plan = session.machine.plan_items();
        let progress = PlanProgress::of(plan.iter().map(|item| item.status));
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
            completed: progress.completed,
            total: progress.total,
            items,
            dropped,
        };
        let before = session.plan.replace(note.clone());
        if session.is_turn(turn_id) {
            session.completed_items.extend(completed_since(before.as_ref(), &note));
        }
        if session.is_turn(turn_id) && session.machine.keeps_a_list() {
            self.hooks_of_plan(before.as_ref(), &note);
        }
        self.write(session_id, &Line::Plan(note.clone()));
        self.services.notify(Notice::Plan(note));
    }

    /// Stores the plan at the end of a turn with todo calls.
    pub(super) fn keep_plan(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        task: String,
        reason: EndReason,
    ) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(plan) =
            session.plan.clone().filter(|plan| *turn_id == plan.turn_id && plan.total > 0)
        else {
            return;
        };
        let history = &mut session.work.history;
        history.push_back(EarlierPlan { turn_id: turn_id.into(), task, reason, plan });
        while history.len() > HISTORY_KEPT {
            history.pop_front();
        }
    }
}
