//! The user's hooks around what the hub itself does: asking the model, the plan, the end of a turn.
//!
//! Must never wait for one: what a hook says comes back as an event.

use std::sync::Arc;

use cairn_core::hook::Moment;
use cairn_protocol::{EndReason, ItemStatus, PlanItem, PlanNotification};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Sessions;
use crate::hooks::{self, HookContext};

impl Sessions {
    /// `None`: there is nothing to run, or no folder to run it in.
    pub(super) fn hook_desk(
        &self,
        session_id: &str,
        turn_id: &str,
        cancel: CancellationToken,
    ) -> Option<HookContext> {
        // They are the user's own, and would run in a folder that the user does not trust.
        if self.config.settings.hooks.0.is_empty() || !self.config.trusted {
            return None;
        }
        Some(HookContext {
            notices: self.notices(),
            session: session_id.to_owned(),
            turn: turn_id.to_owned(),
            hooks: Arc::clone(&self.config.settings.hooks),
            cwd: self.services.workspace.as_ref()?.root().to_owned(),
            cancel,
        })
    }

    /// Runs the hooks of the end of a turn. Their output is shown and changes nothing.
    pub(super) fn hooks_of_end(
        &self,
        session_id: &str,
        turn_id: &str,
        reason: EndReason,
        summary: &str,
    ) {
        let about = json!({"reason": reason, "summary": summary});
        self.run_hooks(session_id, turn_id, vec![(Moment::TurnEnd, about)]);
    }

    /// Items that came into a list, and those that are completed now. The list stands already: what
    /// the hooks say is shown. Tasks of a graph have theirs run by its tools, where they can refuse.
    pub(super) fn hooks_of_plan(&self, before: Option<&PlanNotification>, plan: &PlanNotification) {
        if !self.config.settings.hooks.has(Moment::TaskCreated)
            && !self.config.settings.hooks.has(Moment::TaskCompleted)
        {
            return;
        }
        let before = before.map(|plan| plan.items.as_slice()).unwrap_or_default();
        self.run_hooks(&plan.session_id, &plan.turn_id, news(before, &plan.items));
    }

    fn run_hooks(&self, session_id: &str, turn_id: &str, happened: Vec<(Moment, Value)>) {
        // They outlive the turn, and end with the hub.
        let Some(desk) = self.hook_desk(session_id, turn_id, self.services.shutdown.clone()) else {
            return;
        };
        self.services.spawn(async move {
            for (moment, about) in happened {
                hooks::run(Some(&desk), moment, None, || about).await;
            }
        });
    }
}

/// Changes of the items, in their order.
fn news(before: &[PlanItem], now: &[PlanItem]) -> Vec<(Moment, Value)> {
    let mut news = Vec::new();
    for item in now {
        let old = before.iter().find(|old| old.id == item.id);
        let was_done = old.is_some_and(|old| old.status == ItemStatus::Completed);
        if old.is_none() {
            news.push((Moment::TaskCreated, about(item)));
        }
        if item.status == ItemStatus::Completed && !was_done {
            news.push((Moment::TaskCompleted, about(item)));
        }
    }
    news
}

fn about(item: &PlanItem) -> Value {
    json!({"task": {
        "id": item.id,
        "subject": item.content,
        "activeForm": item.active_form,
        "status": item.status,
    }})
}
