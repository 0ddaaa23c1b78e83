//! Planning tools of the model families: names, schemas, descriptions and parsers.
//!
//! Six of them send the whole list and differ only in words: the `ListDialect`s. They share one
//! parser, one schema and one table. The seventh edits tasks one by one with four tools and keeps
//! them on disk; see [`super::graph`].
//!
//! Never drops a fault that it found, and never panics on input of a model.

mod guide;
mod read;
mod table;

use serde_json::{Map, Value, json};

pub(super) use self::table::{ACTIVE_FORM, status_of};
use self::table::{DialectWords, Ids};
use super::{Draft, Faults, graph::TaskTool, rules};
use crate::{
    call_forms::plain,
    model::{ToolSpec, name_without_path},
};

/// Form of the planning tool that a model uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// One tool that sends the whole list each time.
    List(ListDialect),
    /// `TaskCreate`, `TaskGet`, `TaskUpdate`, `TaskList`: a graph of tasks that outlives a list.
    Tasks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListDialect {
    /// `TodoWrite`, for Claude and for models without their own tool.
    TodoWrite,
    /// `todo` with optional ids.
    Todo,
    /// `todo_write`, for Qwen and opencode.
    TodoWriteSnake,
    /// `update_plan`, for GPT and Codex.
    UpdatePlan,
    /// `write_todos`, for Gemini.
    WriteTodos,
    /// `manage_todo_list`, for Copilot.
    ManageTodoList,
}

/// Planning tool that a call means, whichever is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanForm {
    List(ListDialect),
    Task(TaskTool),
}

impl From<ListDialect> for PlanForm {
    fn from(list: ListDialect) -> Self {
        Self::List(list)
    }
}

impl PlanForm {
    /// Finds the tool of a name, in any case and with any word separators.
    pub fn named(name: &str) -> Option<Self> {
        let lists =
            || ListDialect::ALL.into_iter().map(|list| (list.tool_name(), Self::List(list)));
        let tasks = TaskTool::ALL.into_iter().map(|tool| (tool.name(), Self::Task(tool)));
        // Two list dialects differ in case alone.
        let exact = lists().find(|(own, _)| *own == name);
        let plain = plain(name);
        // Kimi CLI's own name.
        let kimi = (plain == "settodolist").then_some(Self::List(ListDialect::TodoWrite));
        exact
            .or_else(|| lists().chain(tasks).find(|(own, _)| self::plain(own) == plain))
            .map(|(_, form)| form)
            .or(kimi)
    }

    /// Tool of the task graph that takes the call: `TaskList` takes a whole list.
    pub fn task_tool(self) -> TaskTool {
        match self {
            Self::Task(tool) => tool,
            Self::List(_) => TaskTool::List,
        }
    }
}

/// Extent of the planning tool's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teaching {
    Rules,
    /// Rules and examples.
    Examples,
}

/// Beginnings of the names of models that need no examples. Others may be small.
const STRONG: [&str; 12] = [
    "claude",
    "gpt-4.1",
    "gpt-5",
    "codex",
    "o3",
    "o4",
    "gemini-2.5",
    "gemini-3",
    "grok-4",
    "deepseek",
    "kimi",
    "glm-",
];

impl Teaching {
    pub fn for_model(model_name: &str) -> Self {
        let name = name_without_path(model_name);
        match STRONG.iter().any(|strong| name.starts_with(strong)) {
            true => Self::Rules,
            false => Self::Examples,
        }
    }
}

impl Dialect {
    pub fn all() -> impl Iterator<Item = Dialect> {
        ListDialect::ALL.into_iter().map(Dialect::List).chain([Dialect::Tasks])
    }

    /// The tool that a model was trained on, by the family in its name. docs/plan.md has the table, with
    /// dates and sources.
    ///
    /// A path before the name (`openai/o3`) only matters for `copilot`.
    pub fn for_model(model_name: &str) -> Dialect {
        use Dialect::List;
        let name = name_without_path(model_name);
        let has = |family: &str| name.contains(family);
        let is_o_series = (name.strip_prefix('o'))
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if model_name.to_ascii_lowercase().contains("copilot") {
            List(ListDialect::ManageTodoList)
        } else if has("claude") {
            List(ListDialect::TodoWrite)
        } else if has("gpt") || has("codex") || is_o_series {
            List(ListDialect::UpdatePlan)
        } else if has("gemini") || has("gemma") {
            List(ListDialect::WriteTodos)
        } else if has("qwen") || has("qwq") {
            List(ListDialect::TodoWriteSnake)
        } else {
            List(ListDialect::TodoWrite)
        }
    }

    /// The value of the setting `plan.dialect`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::List(list) => list.entry().name,
            Dialect::Tasks => "tasks",
        }
    }

    /// Returns the names of the tools for use in a sentence.
    pub fn tool_in_words(self) -> &'static str {
        match self {
            Dialect::List(list) => list.tool_name(),
            Dialect::Tasks => "TaskCreate and TaskUpdate",
        }
    }
}

impl ListDialect {
    pub const ALL: [ListDialect; 6] = [
        ListDialect::TodoWrite,
        ListDialect::Todo,
        ListDialect::TodoWriteSnake,
        ListDialect::UpdatePlan,
        ListDialect::WriteTodos,
        ListDialect::ManageTodoList,
    ];

    /// The name of the tool the model calls.
    pub fn tool_name(self) -> &'static str {
        self.entry().tool
    }

    pub fn spec(self, teaching: Teaching) -> ToolSpec {
        ToolSpec {
            name: self.tool_name().to_owned(),
            description: guide::description(self.entry(), teaching),
            schema: self.schema(),
            // The newest list counts, so the order of two calls matters.
            parallel: false,
        }
    }

    /// Parses a call's arguments. A faulty item gives a placeholder at its index, so that the rules of
    /// the plan can be checked on the others and all faults are reported at once.
    pub(super) fn read(self, arguments: &Value) -> (Vec<Draft>, Faults) {
        read::read(self.entry(), arguments)
    }

    /// Parses like `read`, and checks the rules.
    pub(super) fn checked(self, arguments: &Value) -> (Vec<Draft>, Faults) {
        let (drafts, faults) = self.read(arguments);
        match rules::check(&drafts, self, faults) {
            Ok(()) => (drafts, Faults::of_list(self.list_field())),
            Err(faults) => (drafts, faults),
        }
    }

    pub(super) fn list_field(self) -> &'static str {
        self.entry().list
    }

    pub(super) fn content_field(self) -> &'static str {
        self.entry().content
    }

    fn entry(self) -> &'static DialectWords {
        &table::TABLE[self as usize]
    }

    fn schema(self) -> Value {
        let entry = self.entry();
        let mut item = Map::new();
        let mut required = Vec::new();
        match entry.ids {
            Ids::Unasked => {}
            Ids::Optional => {
                let about = "Your own name for the item; its position if left out";
                item.insert("id".into(), json!({ "type": "string", "description": about }));
            }
            Ids::Number => {
                let about = "Your own number for the item, the same in every call";
                item.insert("id".into(), json!({ "type": "integer", "description": about }));
                required.push("id");
            }
        }
        let about = "The step, in the imperative: `Add a retry to the upload`";
        item.insert(
            entry.content.into(),
            json!({ "type": "string", "minLength": 1, "description": about }),
        );
        required.push(entry.content);
        item.insert("status".into(), json!({ "type": "string", "enum": entry.states }));
        if !entry.status_is_optional {
            required.push("status");
        }
        if entry.requires_active_form {
            let about = "The step while it is worked on: `Adding a retry to the upload`";
            item.insert(
                ACTIVE_FORM.into(),
                json!({ "type": "string", "minLength": 1, "description": about }),
            );
            required.push(ACTIVE_FORM);
        }

        let mut properties = Map::new();
        if let Some((field, about)) = entry.remark {
            properties.insert(field.into(), json!({ "type": "string", "description": about }));
        }
        properties.insert(
            entry.list.into(),
            json!({
                "type": "array",
                "description": "The whole list, in order; it replaces the old one",
                "maxItems": super::rules::MAX_ITEMS,
                "items": {
                    "type": "object",
                    "properties": item,
                    "required": required,
                    "additionalProperties": false,
                },
            }),
        );
        json!({
            "type": "object",
            "properties": properties,
            "required": [entry.list],
            "additionalProperties": false,
        })
    }
}

#[cfg(test)]
mod tests;
