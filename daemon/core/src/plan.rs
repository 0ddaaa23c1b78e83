//! The plan: one list of items that the model writes. Most dialects replace it whole with each
//! call; the task graph is kept on disk and shown here.
//!
//! Never: two items in progress in a list that was sent whole, a list that is half replaced, a
//! revision that goes back, an id that names two items.

pub mod dialect;
pub mod graph;
pub mod reminder;

mod active_form;
mod fault;
mod identity;
mod rules;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    dialect::{Dialect, ListDialect},
    fault::{Fault, FaultKind, Faults},
};

/// What a todo call does to the plan, and what the model is told of it.
///
/// A faulty call leaves the plan as it was and never ends the turn: the model reads the faults and
/// sends the list again.
pub fn apply_call(plan: &mut Plan, dialect: ListDialect, arguments: &Value) -> TodoOutcome {
    let (drafts, faults) = dialect.read(arguments);
    match plan.replace_unless(drafts, dialect, faults) {
        Ok(accepted) => TodoOutcome {
            content: accepted_text(plan, &accepted),
            is_error: false,
            accepted: Some(accepted),
        },
        Err(faults) => TodoOutcome { content: faults.to_string(), is_error: true, accepted: None },
    }
}

/// The list as the model reads it, newest state last in its context.
pub fn render(items: &[TodoItem]) -> String {
    if items.is_empty() {
        return "No todos.".to_owned();
    }
    let mut out = String::new();
    for item in items {
        out.push_str(&render_line(item));
        out.push('\n');
    }
    out.push_str(&format!("\n({}/{} completed)", completed_count(items), items.len()));
    out
}

fn render_line(item: &TodoItem) -> String {
    let mark = match item.status {
        Status::Pending => ' ',
        Status::InProgress => '>',
        Status::Completed => 'x',
    };
    let mut out = format!("[{mark}] #{} {}", item.label(), item.content);
    if !item.blocked_by.is_empty() {
        out.push_str(&format!(" (blocked by #{})", item.blocked_by.join(", #")));
    } else if item.blocked {
        out.push_str(" (blocked)");
    }
    // Without a form of its own there is nothing to add to the content.
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
    /// The newest id given out; ids are counted up so that none is ever used again.
    last_id: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// Ours, and stable: hunks, commands and the tree hang on it.
    pub id: String,
    /// The id the model gave the item. Models count from 1 again in each new list, so it only
    /// helps to recognise the item and is never its identity.
    pub given_id: Option<String>,
    pub content: String,
    /// What to say while the item is in progress: `Adding docstrings`.
    pub active_form: String,
    pub status: Status,
    /// The model marked it as blocked, or it waits for open items; only pending items are.
    pub blocked: bool,
    /// Ids of the open items it waits for, in a task graph.
    #[serde(default)]
    pub blocked_by: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
}

/// An item as a call brings it, before the rules are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub id: Option<String>,
    pub content: String,
    /// `None`: derived from the content, in the dialects that do not ask for it.
    pub active_form: Option<String>,
    pub status: DraftStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftStatus {
    Pending,
    /// Pending, with a mark.
    Blocked,
    InProgress,
    Completed,
    /// Leaves the list, by name and so not silently.
    Cancelled,
}

/// The result of a todo call, for the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoOutcome {
    /// The tool result for the model.
    pub content: String,
    pub is_error: bool,
    /// `None`: the call was faulty and changed nothing.
    pub accepted: Option<Accepted>,
}

/// What a replacement did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Open items that the new list leaves out, by their text.
    pub dropped: Vec<String>,
    /// All items are completed, and before this call they were not.
    pub completed_all_now: bool,
}

impl Plan {
    /// Replaces the whole list, or nothing.
    pub fn replace(
        &mut self,
        drafts: Vec<Draft>,
        dialect: ListDialect,
    ) -> Result<Accepted, Faults> {
        self.replace_unless(drafts, dialect, Faults::new(dialect.list_field()))
    }

    /// As `replace`, with faults that reading the call has already found.
    fn replace_unless(
        &mut self,
        drafts: Vec<Draft>,
        dialect: ListDialect,
        faults: Faults,
    ) -> Result<Accepted, Faults> {
        rules::check(&drafts, dialect, faults)?;

        let continued = identity::continued(&self.items, &drafts);
        let given_ids: Vec<String> = drafts.iter().filter_map(|draft| draft.id.clone()).collect();
        let mut completed_now = false;
        let mut items = Vec::with_capacity(drafts.len());
        for (draft, old) in drafts.into_iter().zip(&continued) {
            let old = old.and_then(|index| self.items.get(index));
            let (status, blocked) = match draft.status {
                DraftStatus::Pending => (Status::Pending, false),
                DraftStatus::Blocked => (Status::Pending, true),
                DraftStatus::InProgress => (Status::InProgress, false),
                DraftStatus::Completed => (Status::Completed, false),
                DraftStatus::Cancelled => continue,
            };
            let was_completed = old.is_some_and(|old| old.status == Status::Completed);
            completed_now |= status == Status::Completed && !was_completed;
            let given_id = draft.id.or_else(|| {
                old.and_then(|old| old.given_id.clone()).filter(|id| !given_ids.contains(id))
            });
            let id = match old {
                Some(old) => old.id.clone(),
                None => loop {
                    self.last_id += 1;
                    let id = self.last_id.to_string();
                    // An item without a given id is shown by ours: it must not look like another.
                    if given_id.is_some() || !given_ids.contains(&id) {
                        break id;
                    }
                },
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
            .map(|(_, old)| old.content.clone())
            .collect();
        let completed_all_now = completed_now && completed_count(&items) == items.len();
        self.items = items;
        self.rev += 1;
        Ok(Accepted { dropped, completed_all_now })
    }

    /// Shows a list that is kept elsewhere: the task graph's. Ids are its own, and nothing leaves
    /// it, so nothing is dropped.
    pub fn show(&mut self, items: Vec<TodoItem>) -> Accepted {
        let was_open = self.items.is_empty() || self.open_count() > 0;
        let completed_all_now =
            was_open && !items.is_empty() && completed_count(&items) == items.len();
        self.items = items;
        self.rev += 1;
        Accepted { dropped: Vec::new(), completed_all_now }
    }

    pub fn items(&self) -> &[TodoItem] {
        &self.items
    }

    /// Grows with every accepted call.
    pub fn rev(&self) -> u32 {
        self.rev
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn open_count(&self) -> usize {
        self.items.len() - self.completed_count()
    }

    pub fn completed_count(&self) -> usize {
        completed_count(&self.items)
    }

    pub fn in_progress(&self) -> Option<&TodoItem> {
        self.items.iter().find(|item| item.status == Status::InProgress)
    }

    /// The list as the model reads it.
    pub fn render(&self) -> String {
        render(&self.items)
    }

    /// The items as they are when nobody works on them, after a cancel, a failure or a lost
    /// process. A view: the plan itself is only changed by the model.
    pub fn reconciled(&self) -> Vec<TodoItem> {
        let mut items = self.items.clone();
        for item in &mut items {
            if item.status == Status::InProgress {
                item.status = Status::Pending;
            }
        }
        items
    }
}

impl TodoItem {
    /// What the model calls the item: the id it gave, else ours.
    pub fn label(&self) -> &str {
        self.given_id.as_deref().unwrap_or(&self.id)
    }

    pub fn is_open(&self) -> bool {
        match self.status {
            Status::Pending | Status::InProgress => true,
            Status::Completed => false,
        }
    }
}

/// An item that goes on without a given id is shown by ours, and another may now be given the same:
/// that one is shown by ours, too.
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

fn completed_count(items: &[TodoItem]) -> usize {
    items.iter().filter(|item| !item.is_open()).count()
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
