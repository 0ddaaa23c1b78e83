//! Plan: one list of items that the model writes. Most dialects replace the whole list with each
//! call. The task graph is kept on disk and shown here.
//!
//! A list that was sent whole never has two items in progress. A list is never half replaced, the
//! revision never decreases, and an id never names two items.

pub mod dialect;
pub mod graph;
pub mod reminder;

mod active_form;
mod fault;
mod identity;
mod rules;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    dialect::{Dialect, ListDialect, PlanForm},
    fault::{FaultKind, Faults, PlanFault},
};

/// Applies a call of any planning tool to a plan that is a list, and returns the result for the model.
///
/// A faulty call leaves the plan unchanged and never ends the turn: the model reads the faults and
/// makes the call again.
pub fn apply_call(plan: &mut Plan, form: impl Into<PlanForm>, arguments: &Value) -> TodoOutcome {
    let dialect = match form.into() {
        PlanForm::List(dialect) => dialect,
        PlanForm::Task(tool) => return graph::apply_to_list(plan, tool, arguments),
    };
    let (drafts, faults) = dialect.read(arguments);
    match plan.replace(drafts, dialect, faults) {
        Ok(accepted) => TodoOutcome {
            content: accepted_text(plan, &accepted),
            is_error: false,
            accepted: Some(accepted),
        },
        Err(faults) => TodoOutcome { content: faults.to_string(), is_error: true, accepted: None },
    }
}

/// Returns the list as the model reads it.
pub fn render(items: &[TodoItem]) -> String {
    if items.is_empty() {
        return "No todos.".to_owned();
    }
    let mut out = String::new();
    for item in items {
        out.push_str(&render_line(item));
        out.push('\n');
    }
    out.push_str(&format!("\n({})", PlanProgress::of(items.iter().map(|item| item.status))));
    out
}

fn render_line(item: &TodoItem) -> String {
    let mark = match item.status {
        Status::Pending => ' ',
        Status::InProgress => '>',
        Status::Completed => 'x',
        Status::Cancelled => '-',
    };
    let mut out = format!("[{mark}] #{} {}", item.label(), item.content);
    if !item.blocked_by.is_empty() {
        out.push_str(&format!(" (blocked by #{})", item.blocked_by.join(", #")));
    } else if item.blocked {
        out.push_str(" (blocked)");
    }
    // An active form equal to the content adds nothing.
    if item.status == Status::InProgress && item.active_form != item.content {
        out.push_str(&format!(" <- {}", item.active_form));
    }
    out
}

/// The list and its revision. A default plan is empty, at revision 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    items: Vec<TodoItem>,
    rev: u32,
    /// The newest id. Ids are counted up, so none is used again.
    last_id: u32,
    /// True if the list is of an earlier turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    of_earlier_turn: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// Cairn's own id. It is stable: hunks, commands and the tree refer to it.
    pub id: String,
    /// The id the model gave the item. Models count from 1 again in each new list, so it only
    /// helps to recognise the item and is never its identity.
    pub given_id: Option<String>,
    pub content: String,
    /// Text shown while the item is in progress: `Adding docstrings`.
    pub active_form: String,
    pub status: Status,
    /// The model marked it as blocked, or it waits for open items. Only a pending item can be
    /// blocked.
    pub blocked: bool,
    /// Ids of the open items it waits for, in a task graph.
    #[serde(default)]
    pub blocked_by: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Pending,
    InProgress,
    Completed,
    /// Given up by the model, and still shown.
    Cancelled,
}

impl Status {
    pub fn is_open(self) -> bool {
        match self {
            Status::Pending | Status::InProgress => true,
            Status::Completed | Status::Cancelled => false,
        }
    }
}

/// Count of the items of a list. A cancelled item is neither done nor to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanProgress {
    pub completed: u32,
    /// All items but the cancelled ones.
    pub total: u32,
    pub cancelled: u32,
}

impl PlanProgress {
    pub fn of(statuses: impl Iterator<Item = Status>) -> Self {
        let mut progress = Self::default();
        for status in statuses {
            progress.completed += u32::from(status == Status::Completed);
            progress.cancelled += u32::from(status == Status::Cancelled);
            progress.total += u32::from(status != Status::Cancelled);
        }
        progress
    }
}

impl fmt::Display for PlanProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} completed", self.completed, self.total)?;
        match self.cancelled {
            0 => Ok(()),
            cancelled => write!(f, ", {cancelled} cancelled"),
        }
    }
}

/// Item of a call, before the rules are checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    pub id: Option<String>,
    pub content: String,
    /// `None`: derived from the content.
    pub active_form: Option<String>,
    pub status: Status,
    /// Pending and marked as blocked.
    pub blocked: bool,
}

/// Outcome of a todo call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoOutcome {
    /// The tool result for the model.
    pub content: String,
    pub is_error: bool,
    /// `None`: the call was faulty or only read, and changed nothing.
    pub accepted: Option<Accepted>,
}

/// Outcome of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Open items that the new list leaves out, by their text.
    pub dropped: Vec<String>,
    /// All items are completed, and before this call they were not.
    pub completed_all_now: bool,
}

impl Plan {
    /// Id of a new item; none of `taken`.
    fn next_id(&mut self, taken: &[String]) -> String {
        loop {
            self.last_id += 1;
            let id = self.last_id.to_string();
            if !taken.contains(&id) {
                return id;
            }
        }
    }

    /// Replaces the whole list, or nothing if the list or the reading of the call has `faults`.
    pub(crate) fn replace(
        &mut self,
        drafts: Vec<Draft>,
        dialect: ListDialect,
        faults: Faults,
    ) -> Result<Accepted, Faults> {
        rules::check(&drafts, dialect, faults)?;

        let mut continued = identity::continued(&self.items, &drafts);
        if self.of_earlier_turn {
            identity::leave_out_begun_again(&self.items, &drafts, &mut continued);
        }
        let given_ids: Vec<String> = drafts.iter().filter_map(|draft| draft.id.clone()).collect();
        let mut completed_now = false;
        let mut items = Vec::with_capacity(drafts.len());
        for (draft, old) in drafts.into_iter().zip(&continued) {
            let old = old.and_then(|index| self.items.get(index));
            let (status, blocked) = (draft.status, draft.blocked);
            let was_completed = old.is_some_and(|old| old.status == Status::Completed);
            completed_now |= status == Status::Completed && !was_completed;
            let given_id = draft.id.or_else(|| {
                old.and_then(|old| old.given_id.clone()).filter(|id| !given_ids.contains(id))
            });
            let id = match old {
                Some(old) => old.id.clone(),
                None if given_id.is_some() => self.next_id(&[]),
                // It is shown with this id, which must not equal another shown id.
                None => self.next_id(&given_ids),
            };
            let content = draft.content.trim().to_owned();
            let active_form = match draft.active_form {
                Some(form) => form.trim().to_owned(),
                None => active_form::derive(&content),
            };
            items.push(TodoItem {
                id,
                given_id,
                content,
                active_form,
                status,
                blocked,
                blocked_by: Vec::new(),
            });
        }

        show_each_by_its_own_name(&mut items);

        let dropped = (self.items.iter().enumerate())
            .filter(|(index, old)| old.is_open() && !continued.contains(&Some(*index)))
            .filter(|(_, old)| items.iter().all(|item| item.content != old.content))
            .map(|(_, old)| old.content.clone())
            .collect();
        let completed_all_now = completed_now && open_count(&items) == 0;
        self.items = items;
        self.rev += 1;
        self.of_earlier_turn = false;
        Ok(Accepted { dropped, completed_all_now })
    }

    /// Makes the present list one of an earlier turn: a step of the next list begins without its work.
    pub fn turn_started(&mut self) {
        self.of_earlier_turn = !self.items.is_empty();
    }

    /// Shows the items of the task graph. They keep its ids. No item leaves the graph, so none is
    /// dropped.
    pub fn show(&mut self, items: Vec<TodoItem>) -> Accepted {
        let was_open = self.items.is_empty() || self.open_count() > 0;
        let completed_all_now = was_open
            && open_count(&items) == 0
            && items.iter().any(|item| item.status == Status::Completed);
        self.items = items;
        self.rev += 1;
        Accepted { dropped: Vec::new(), completed_all_now }
    }

    pub fn items(&self) -> &[TodoItem] {
        &self.items
    }

    /// Returns the revision, which grows with every accepted call.
    pub fn rev(&self) -> u32 {
        self.rev
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn open_count(&self) -> usize {
        open_count(&self.items)
    }

    pub fn progress(&self) -> PlanProgress {
        PlanProgress::of(self.items.iter().map(|item| item.status))
    }

    pub fn in_progress(&self) -> Option<&TodoItem> {
        self.items.iter().find(|item| item.status == Status::InProgress)
    }

    /// Returns the list as the model reads it.
    pub fn render(&self) -> String {
        render(&self.items)
    }
}

impl TodoItem {
    /// Name that the model uses for the item: the id it gave, else the generated id.
    pub fn label(&self) -> &str {
        self.given_id.as_deref().unwrap_or(&self.id)
    }

    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }
}

/// Clears given ids that equal the shown id of another item, so that each item is shown with a
/// unique id.
fn show_each_by_its_own_name(items: &mut [TodoItem]) {
    let taken = |items: &[TodoItem], index: usize| {
        let mut others = items.iter().enumerate().filter(|(other, _)| *other != index);
        items[index].given_id.is_some()
            && others.any(|(_, other)| other.label() == items[index].label())
    };
    while let Some(index) = (0..items.len()).find(|index| taken(items, *index)) {
        items[index].given_id = None;
    }
}

fn open_count(items: &[TodoItem]) -> usize {
    items.iter().filter(|item| item.is_open()).count()
}

fn accepted_text(plan: &Plan, accepted: &Accepted) -> String {
    let mut out = plan.render();
    if !accepted.dropped.is_empty() {
        out.push_str("\n\nNo longer on the list, though not completed:");
        for content in &accepted.dropped {
            out.push_str("\n- ");
            out.push_str(content);
        }
        out.push_str("\nIf any of this is still to be done, send the list again with it.");
    }
    out
}

#[cfg(test)]
mod tests;
