//! The whole-list dialects, an entry each.

use crate::plan::Status;

pub(in crate::plan) const ACTIVE_FORM: &str = "activeForm";

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

/// The usual form of a list, which most dialects change in one or two places.
const fn usual(
    name: &'static str,
    tool: &'static str,
    list: &'static str,
    content: &'static str,
) -> DialectWords {
    DialectWords {
        name,
        tool,
        list,
        content,
        requires_active_form: false,
        status_is_optional: false,
        ids: Ids::Unasked,
        states: STATES,
        remark: None,
    }
}

/// In the order of [`super::ListDialect`].
pub(super) static TABLE: [DialectWords; 6] = [
    DialectWords {
        requires_active_form: true,
        ..usual("todo-write", "TodoWrite", "todos", "content")
    },
    DialectWords {
        status_is_optional: true,
        ids: Ids::Optional,
        ..usual("todo", "todo", "items", "text")
    },
    usual("todo-write-snake", "todo_write", "todos", "content"),
    DialectWords {
        remark: Some(("explanation", "Why the plan changes, in a sentence")),
        ..usual("update-plan", "update_plan", "plan", "step")
    },
    DialectWords {
        states: &["pending", "in_progress", "completed", "cancelled", "blocked"],
        ..usual("write-todos", "write_todos", "todos", "description")
    },
    DialectWords {
        ids: Ids::Number,
        states: &["not-started", "in-progress", "completed"],
        ..usual("manage-todo-list", "manage_todo_list", "todoList", "title")
    },
];

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
