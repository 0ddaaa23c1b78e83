//! The four tools of the task graph: their schemas, and the parser of their arguments. Tolerant in
//! form, strict in meaning: an unknown field is a fault, because ignoring it could lose an
//! instruction of the model.

use serde_json::{Map, Value, json};

use super::{GraphTask, TaskFaultKind, TaskFaults, guide};
use crate::{
    model::ToolSpec,
    plan::{Draft, DraftStatus, FaultKind, ListDialect, Status, dialect::status_of},
};

const MAX_IDS: usize = 100;
const QUOTED_CHARS: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskTool {
    Create,
    Get,
    Update,
    List,
}

/// A parsed call. A faulty value is replaced by a placeholder, so that the rules can be checked on
/// the others and all faults are reported at once.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRequest {
    pub call: TaskCall,
    pub(super) faults: TaskFaults,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TaskCall {
    Create(TaskChange),
    Get {
        id: Option<u32>,
    },
    Update(TaskChange),
    List,
    /// The whole list, as the other planning tools send it.
    Replace(Vec<Draft>),
}

/// Fields of a task that a call sets. A new task has no `id` yet.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskChange {
    pub id: Option<u32>,
    pub subject: Option<String>,
    pub description: Option<String>,
    /// `None`: derived from a new subject.
    pub active_form: Option<String>,
    pub status: Option<Status>,
    /// An empty text clears the owner.
    pub owner: Option<String>,
    /// Merged into the metadata; a null removes a key.
    pub metadata: Map<String, Value>,
    /// With their position in the call.
    pub add_blocks: Vec<(usize, u32)>,
    pub add_blocked_by: Vec<(usize, u32)>,
}

impl TaskTool {
    pub const ALL: [TaskTool; 4] =
        [TaskTool::Create, TaskTool::Get, TaskTool::Update, TaskTool::List];

    pub fn name(self) -> &'static str {
        match self {
            TaskTool::Create => "TaskCreate",
            TaskTool::Get => "TaskGet",
            TaskTool::Update => "TaskUpdate",
            TaskTool::List => "TaskList",
        }
    }

    pub fn named(name: &str) -> Option<TaskTool> {
        TaskTool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub fn spec(self) -> ToolSpec {
        let fields = self.fields();
        let properties: Map<String, Value> =
            fields.iter().map(|field| (field.name.to_owned(), (field.schema)())).collect();
        let required: Vec<&str> =
            fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        ToolSpec {
            name: self.name().to_owned(),
            description: guide::description(self).to_owned(),
            schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
            // A call may depend on the result of the one before.
            parallel: false,
        }
    }

    /// Reads a call. `TaskList` with a list is a call of another planning tool, which sends the whole
    /// list.
    pub fn read(self, arguments: &Value) -> TaskRequest {
        if self == TaskTool::List && arguments.as_object().is_some_and(|it| !it.is_empty()) {
            let (drafts, faults) = ListDialect::TodoWrite.checked(arguments);
            return TaskRequest { call: TaskCall::Replace(drafts), faults: faults.into() };
        }
        let mut fields = Fields::new(arguments, self.fields());
        let call = match self {
            TaskTool::Create => {
                let subject = fields.required_text("subject");
                TaskCall::Create(fields.change(None, Some(subject)))
            }
            TaskTool::Get => TaskCall::Get { id: fields.id("taskId") },
            TaskTool::Update => {
                let (id, subject) = (fields.id("taskId"), fields.text("subject"));
                TaskCall::Update(fields.change(id, subject))
            }
            TaskTool::List => TaskCall::List,
        };
        TaskRequest { call, faults: fields.faults }
    }

    fn fields(self) -> &'static [Field] {
        match self {
            TaskTool::Create => const { &[SUBJECT.required(), DESCRIPTION, ACTIVE_FORM, METADATA] },
            TaskTool::Get => &[TASK_ID],
            TaskTool::Update => &[
                TASK_ID,
                SUBJECT,
                DESCRIPTION,
                ACTIVE_FORM,
                STATUS,
                OWNER,
                ADD_BLOCKS,
                ADD_BLOCKED_BY,
                METADATA,
            ],
            TaskTool::List => &[],
        }
    }
}

impl TaskRequest {
    /// Returns true if the call changes the plan.
    pub fn writes(&self) -> bool {
        match self.call {
            TaskCall::Create(_) | TaskCall::Update(_) | TaskCall::Replace(_) => true,
            TaskCall::Get { .. } | TaskCall::List => false,
        }
    }
}

impl TaskChange {
    pub(super) fn write_to(&self, task: &mut GraphTask) {
        let trimmed = |text: &String| text.trim().to_owned();
        if let Some(subject) = &self.subject {
            task.subject = trimmed(subject);
            // The old form describes the old subject.
            task.active_form = super::active_form::derive(&task.subject);
        }
        if let Some(form) = &self.active_form {
            task.active_form = trimmed(form);
        }
        if let Some(description) = &self.description {
            task.description = trimmed(description);
        }
        if let Some(status) = self.status {
            task.status = status;
        }
        if let Some(owner) = &self.owner {
            task.owner = Some(trimmed(owner)).filter(|owner| !owner.is_empty());
        }
        for (key, value) in &self.metadata {
            if value.is_null() {
                task.metadata.shift_remove(key);
            } else {
                task.metadata.insert(key.clone(), value.clone());
            }
        }
    }
}

struct Field {
    name: &'static str,
    schema: fn() -> Value,
    required: bool,
}

impl Field {
    const fn optional(name: &'static str, schema: fn() -> Value) -> Self {
        Self { name, schema, required: false }
    }

    const fn required(self) -> Self {
        Self { required: true, ..self }
    }
}

const TASK_ID: Field =
    Field::optional("taskId", || json!({ "type": "integer", "minimum": 1 })).required();
const SUBJECT: Field = Field::optional("subject", || {
    let about = "The result to reach, in the imperative: `Reject expired tokens`";
    json!({ "type": "string", "minLength": 1, "description": about })
});
const DESCRIPTION: Field = Field::optional("description", || {
    let about = "What someone needs who takes this up later: where, why, when it is done";
    json!({ "type": "string", "description": about })
});
const ACTIVE_FORM: Field = Field::optional("activeForm", || {
    let about = "The subject as it reads while you work on it: `Rejecting expired tokens`";
    json!({ "type": "string", "description": about })
});
const STATUS: Field = Field::optional(
    "status",
    || json!({ "type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"] }),
);
const OWNER: Field = Field::optional("owner", || {
    let about = "Who works on it; an empty text gives it up";
    json!({ "type": "string", "description": about })
});
const ADD_BLOCKS: Field = Field::optional("addBlocks", || {
    let about = "Tasks that have to wait for this one";
    json!({ "type": "array", "items": { "type": "integer" }, "description": about })
});
const ADD_BLOCKED_BY: Field = Field::optional("addBlockedBy", || {
    let about = "Tasks that this one has to wait for";
    json!({ "type": "array", "items": { "type": "integer" }, "description": about })
});
const METADATA: Field = Field::optional("metadata", || {
    let about = "Notes of your own, merged with those that are there; null takes one away";
    json!({ "type": "object", "description": about })
});

/// Arguments of a call, each taken once.
struct Fields<'a> {
    values: Option<&'a Map<String, Value>>,
    faults: TaskFaults,
}

impl<'a> Fields<'a> {
    fn new(arguments: &'a Value, known: &'static [Field]) -> Self {
        let mut faults = TaskFaults::default();
        let values = arguments.as_object();
        if values.is_none() {
            faults.push("", None, wrong_type("an object", arguments).into());
        }
        for name in values.into_iter().flat_map(Map::keys) {
            let is_known = |field: &Field| spellings(field.name).any(|known| known == name);
            if !known.iter().any(is_known) {
                let quoted: String = name.chars().take(QUOTED_CHARS).collect();
                let known = known.iter().map(|field| field.name).collect();
                let kind = TaskFaultKind::UnknownField { known };
                faults.push(&quoted.escape_debug().to_string(), None, kind);
            }
        }
        Self { values, faults }
    }

    fn change(&mut self, id: Option<u32>, subject: Option<String>) -> TaskChange {
        TaskChange {
            id,
            subject,
            description: self.text("description"),
            active_form: self.text("activeForm").filter(|form| !form.trim().is_empty()),
            status: self.status("status"),
            owner: self.text("owner"),
            metadata: self.object("metadata"),
            add_blocks: self.ids("addBlocks"),
            add_blocked_by: self.ids("addBlockedBy"),
        }
    }

    /// Some models write null for a missing field.
    fn get(&self, name: &str) -> Option<&'a Value> {
        let values = self.values?;
        spellings(name).find_map(|name| values.get(name).filter(|value| !value.is_null()))
    }

    fn fault(&mut self, name: &str, kind: FaultKind) {
        self.faults.push(name, None, kind.into());
    }

    fn required_text(&mut self, name: &str) -> String {
        if self.get(name).is_none() {
            self.fault(name, FaultKind::Missing);
        }
        self.text(name).unwrap_or_default()
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.fault(name, wrong_type("a string", other));
                None
            }
        }
    }

    fn object(&mut self, name: &str) -> Map<String, Value> {
        match self.get(name) {
            Some(Value::Object(object)) => object.clone(),
            Some(other) => {
                self.fault(name, wrong_type("an object", other));
                Map::new()
            }
            None => Map::new(),
        }
    }

    fn status(&mut self, name: &str) -> Option<Status> {
        let word = self.text(name)?;
        let status = status_of(&word).filter(|it| *it != DraftStatus::Blocked).map(Status::from);
        if status.is_none() {
            let given = word.chars().take(QUOTED_CHARS).collect();
            let allowed = "pending, in_progress, completed, cancelled".to_owned();
            self.fault(name, FaultKind::UnknownStatus { given, allowed });
        }
        status
    }

    fn id(&mut self, name: &str) -> Option<u32> {
        let Some(value) = self.get(name) else {
            self.fault(name, FaultKind::Missing);
            return None;
        };
        let id = task_id(value);
        if id.is_none() {
            self.fault(name, wrong_type(AN_ID, value));
        }
        id
    }

    fn ids(&mut self, name: &str) -> Vec<(usize, u32)> {
        let list = match self.get(name) {
            Some(Value::Array(list)) => list.as_slice(),
            // A single value instead of a list.
            Some(one) if task_id(one).is_some() => std::slice::from_ref(one),
            Some(other) => {
                self.fault(name, wrong_type("a list of tasks' numbers", other));
                &[]
            }
            None => &[],
        };
        if list.len() > MAX_IDS {
            self.fault(name, FaultKind::TooMany { count: list.len(), limit: MAX_IDS });
            return Vec::new();
        }
        let mut ids = Vec::new();
        for (index, value) in list.iter().enumerate() {
            match task_id(value) {
                Some(id) => ids.push((index, id)),
                None => self.faults.push(name, Some(index), wrong_type(AN_ID, value).into()),
            }
        }
        ids
    }
}

/// Names of a field: its own first, then those of other agents.
fn spellings(name: &str) -> impl Iterator<Item = &str> {
    let others: &[&str] = match name {
        "taskId" => &["task_id", "id"],
        "subject" => &["title", "content"],
        "activeForm" => &["active_form"],
        // `blockedBy` would be the whole list, and is another meaning.
        "addBlocks" => &["add_blocks"],
        "addBlockedBy" => &["add_blocked_by"],
        _ => &[],
    };
    std::iter::once(name).chain(others.iter().copied())
}

const AN_ID: &str = "a task's number";

/// Parses `3`, `"3"` and `"#3"`; the model sees the last form.
fn task_id(value: &Value) -> Option<u32> {
    let id = match value {
        Value::Number(number) => number.as_u64()?.try_into().ok()?,
        Value::String(text) => {
            let text = text.trim();
            text.strip_prefix('#').unwrap_or(text).parse().ok()?
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (id > 0).then_some(id)
}

fn wrong_type(expected: &'static str, found: &Value) -> FaultKind {
    FaultKind::WrongType { expected, found: crate::plan::fault::kind_of(found) }
}
