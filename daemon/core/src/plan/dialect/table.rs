//! The whole-list dialects, an entry each.

use crate::plan::DraftStatus;

pub(super) const ACTIVE_FORM: &str = "activeForm";

/// The list under another dialect's name is still the list.
pub(super) const LIST_ALIASES: [&str; 5] = ["todos", "items", "plan", "todoList", "todo_list"];

pub(super) struct DialectWords {
    /// The value of the setting.
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    /// The field of the arguments that holds the list.
    pub(super) list: &'static str,
    /// The field of an item that holds its text.
    pub(super) content: &'static str,
    pub(super) requires_active_form: bool,
    /// Pending if left out.
    pub(super) status_is_optional: bool,
    pub(super) ids: Ids,
    pub(super) states: &'static [StatusWords],
    /// A further argument that only the user reads, with its description.
    pub(super) remark: Option<(&'static str, &'static str)>,
}

/// Ids are understood in every dialect; this is what the schema asks for.
pub(super) enum Ids {
    Unasked,
    Optional,
    Number,
}

pub(super) struct StatusWords {
    /// In lower case; read in any.
    pub(super) word: &'static str,
    pub(super) status: DraftStatus,
    pub(super) mark: Mark,
}

#[derive(PartialEq, Eq)]
pub(super) enum Mark {
    Advertised,
    /// Understood, but not in the schema.
    Understood,
}

pub(super) const TODO_WRITE: DialectWords = DialectWords {
    name: "todo-write",
    tool: "TodoWrite",
    list: "todos",
    content: "content",
    requires_active_form: true,
    status_is_optional: false,
    ids: Ids::Unasked,
    states: &[PENDING, IN_PROGRESS, COMPLETED],
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
    states: &[PENDING, IN_PROGRESS, COMPLETED, understood("done", DraftStatus::Completed)],
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
    states: &[PENDING, IN_PROGRESS, COMPLETED],
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
    states: &[PENDING, IN_PROGRESS, COMPLETED],
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
    states: &[
        PENDING,
        IN_PROGRESS,
        COMPLETED,
        advertised("cancelled", DraftStatus::Cancelled),
        advertised("blocked", DraftStatus::Blocked),
        understood("canceled", DraftStatus::Cancelled),
    ],
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
    states: &[
        advertised("not-started", DraftStatus::Pending),
        advertised("in-progress", DraftStatus::InProgress),
        COMPLETED,
        understood("pending", DraftStatus::Pending),
        understood("in_progress", DraftStatus::InProgress),
    ],
    remark: None,
};

impl DialectWords {
    /// States that the schema offers to the model.
    pub(super) fn advertised(&self) -> impl Iterator<Item = &'static str> {
        self.states.iter().filter(|state| state.mark == Mark::Advertised).map(|state| state.word)
    }
}

const PENDING: StatusWords = advertised("pending", DraftStatus::Pending);
const IN_PROGRESS: StatusWords = advertised("in_progress", DraftStatus::InProgress);
const COMPLETED: StatusWords = advertised("completed", DraftStatus::Completed);

const fn advertised(word: &'static str, status: DraftStatus) -> StatusWords {
    StatusWords { word, status, mark: Mark::Advertised }
}

const fn understood(word: &'static str, status: DraftStatus) -> StatusWords {
    StatusWords { word, status, mark: Mark::Understood }
}
