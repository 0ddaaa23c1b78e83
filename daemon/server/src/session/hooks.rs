//! Hooks of the user for events of a session: a model request, the plan, the end of a turn.
//!
//! Never waits for a hook: its answer returns as an event.

use std::sync::Arc;

use cairn_core::hook::HookEvent;
use cairn_protocol::{CompletedItem, EndReason, ItemStatus, PlanItem, PlanNotification};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{configuration::Configuration, entry::SessionEntry};
use crate::hooks::{self, HookContext};

impl SessionEntry {
    /// `None`: there are no hooks, or there is no folder to run them in.
    pub(super) fn hook_context(
        &self,
        config: &Configuration,
        cancel: CancellationToken,
    ) -> Option<HookContext> {
        // A hook of the user would run in a folder that the user does not trust.
        if config.settings.hooks.0.is_empty() || !config.trusted {
            return None;
        }
        Some(HookContext {
            mailbox: self.turn_mailbox(),
            hooks: Arc::clone(&config.settings.hooks),
            cwd: self.services.workspace.as_ref()?.root().to_owned(),
            cancel,
        })
    }

    /// Runs the hooks of the end of a turn. Their output is shown and changes nothing.
    pub(super) fn hooks_of_end(&self, config: &Configuration, reason: EndReason, summary: &str) {
        let about = json!({"reason": reason, "summary": summary});
        self.run_hooks(config, vec![(HookEvent::TurnEnd, about)]);
    }

    /// Runs the hooks for added and completed items of a todo list. The list is already changed, so
    /// their output is only shown. The tools of the task graph run the hooks of tasks, which can
    /// refuse.
    pub(super) fn hooks_of_plan(
        &self,
        config: &Configuration,
        before: Option<&PlanNotification>,
        plan: &PlanNotification,
        completed: &[CompletedItem],
    ) {
        let hooks = &config.settings.hooks;
        if hooks.has(HookEvent::TaskCreated) || hooks.has(HookEvent::TaskCompleted) {
            let before = before.map(|plan| plan.items.as_slice()).unwrap_or_default();
            self.run_hooks(config, news(before, &plan.items, completed));
        }
    }

    fn run_hooks(&self, config: &Configuration, happened: Vec<(HookEvent, Value)>) {
        // They may outlive the turn; they end with the hub.
        let context = self.hook_context(config, self.services.shutdown.clone());
        let Some(context) = context else { return };
        self.services.spawn(async move {
            for (event, about) in happened {
                hooks::run(Some(&context), event, None, || about).await;
            }
        });
    }
}

/// Returns the added and completed items, in order.
fn news(
    before: &[PlanItem],
    now: &[PlanItem],
    completed: &[CompletedItem],
) -> Vec<(HookEvent, Value)> {
    let mut news = Vec::new();
    for item in now {
        if !before.iter().any(|old| old.id == item.id) {
            news.push((HookEvent::TaskCreated, about(item)));
        }
        if completed.iter().any(|it| it.id == item.id) {
            news.push((HookEvent::TaskCompleted, about(item)));
        }
    }
    news
}

/// Describes an item to a hook, in the spelling of the planning tools.
fn about(item: &PlanItem) -> Value {
    let status = match item.status {
        ItemStatus::Pending => "pending",
        ItemStatus::InProgress => "in_progress",
        ItemStatus::Completed => "completed",
        ItemStatus::Cancelled => "cancelled",
    };
    let (id, subject, active_form) = (&item.id, &item.content, &item.active_form);
    json!({"task": {"id": id, "subject": subject, "activeForm": active_form, "status": status}})
}
