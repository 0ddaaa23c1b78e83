//! The whole-list dialects, an entry each.

use crate::plan::Status;

pub(super) const ACTIVE_FORM: &str = "activeForm";

pub(super) const ACTIVE_FORM_ALIASES: [&str; 2] = [ACTIVE_FORM, "active_form"];

/// The list under another dialect's name is still the list.
pub(super) const LIST_ALIASES: [&str; 5] = ["todos", "items", "plan", "todoList", "todo_list"];

/// The text of an item, where the dialect's own field is missing. A description comes last: it may
/// stand next to a title.
pub(super) const CONTENT_ALIASES: [&str; 7] =
    ["content", "title", "text", "task", "step", "subject", "description"];

pub(super) struct DialectWords {
    /// The value of the setting.
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    /// The field of the arguments that holds the list.
    pub(super) list: &'static str,
    /// The field of an item that holds its text.
    pub(super) content: &'static str,
    /// The schema asks for an active form. Without one it is derived.
    pub(super) requires_active_form: bool,
    /// The schema does not ask for a status. Without one an item is pending.
    pub(super) status_is_optional: bool,
    pub(super) ids: Ids,
    /// States that the schema offers to the model.
    pub(super) states: &'static [&'static str],
    /// A further argument that only the user reads, with its description.
    pub(super) remark: Option<(&'static str, &'static str)>,
}

/// Ids are understood in every dialect; this is what the schema asks for.
pub(super) enum Ids {
    Unasked,
    Optional,
    Number,
}

pub(super) const TODO_WRITE: DialectWords = DialectWords {
    name: "todo-write",
    tool: "TodoWrite",
    list: "todos",
    content: "content",
    requires_active_form: true,
    status_is_optional: false,
    ids: Ids::Unasked,
    states: STATES,
    remark: None,
};

pub(super) const TODO: DialectWords = DialectWords {
    name: "todo",
    tool: "todo",
    list: "items",
    content: "text",
    requires_active_form: false,
    status_is_optional: true,
    ids: Ids::Optional,
    states: STATES,
    remark: None,
};

pub(super) const TODO_WRITE_SNAKE: DialectWords = DialectWords {
    name: "todo-write-snake",
    tool: "todo_write",
    list: "todos",
    content: "content",
    requires_active_form: false,
    status_is_optional: false,
    ids: Ids::Unasked,
    states: STATES,
    remark: None,
};

pub(super) const UPDATE_PLAN: DialectWords = DialectWords {
    name: "update-plan",
    tool: "update_plan",
    list: "plan",
    content: "step",
    requires_active_form: false,
    status_is_optional: false,
    ids: Ids::Unasked,
    states: STATES,
    remark: Some(("explanation", "Why the plan changes, in a sentence")),
};

pub(super) const WRITE_TODOS: DialectWords = DialectWords {
    name: "write-todos",
    tool: "write_todos",
    list: "todos",
    content: "description",
    requires_active_form: false,
    status_is_optional: false,
    ids: Ids::Unasked,
    states: &["pending", "in_progress", "completed", "cancelled", "blocked"],
    remark: None,
};

pub(super) const MANAGE_TODO_LIST: DialectWords = DialectWords {
    name: "manage-todo-list",
    tool: "manage_todo_list",
    list: "todoList",
    content: "title",
    requires_active_form: false,
    status_is_optional: false,
    ids: Ids::Number,
    states: &["not-started", "in-progress", "completed"],
    remark: None,
};

const STATES: &[&str] = &["pending", "in_progress", "completed"];

/// The status of a word, in every dialect: `In Progress`, `in-progress` and `inProgress` are one word.
pub(in crate::plan) fn status_of(word: &str) -> Option<(Status, bool)> {
    let letters = word.chars().filter(|c| !matches!(c, ' ' | '_' | '-'));
    let status = match letters.collect::<String>().to_ascii_lowercase().as_str() {
        "pending" | "todo" | "notstarted" => Status::Pending,
        "inprogress" | "doing" => Status::InProgress,
        "completed" | "complete" | "done" | "finished" => Status::Completed,
        "cancelled" | "canceled" | "deleted" => Status::Cancelled,
        "blocked" => return Some((Status::Pending, true)),
        _ => return None,
    };
    Some((status, false))
}
