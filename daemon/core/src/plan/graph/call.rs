//! The four tools of the task graph: their schemas, and the parser of their arguments. Tolerant in
//! form, strict in meaning: an unknown field is a fault, because ignoring it could lose an
//! instruction of the model.

use serde_json::{Map, Value, json};

use super::{GraphTask, guide};
use crate::{
    model::ToolSpec,
    plan::{Draft, FaultKind, Faults, ListDialect, Status, dialect::status_of, fault::quoted},
};

const MAX_IDS: usize = 100;

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
    pub(super) faults: Faults,
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
        let properties: Map<String, Value> =
            self.fields().iter().map(|name| ((*name).to_owned(), property(name))).collect();
        let required: &[&str] = match self {
            TaskTool::Create => &["subject"],
            TaskTool::Get | TaskTool::Update => &["taskId"],
            TaskTool::List => &[],
        };
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
            return TaskRequest { call: TaskCall::Replace(drafts), faults: faults.for_tasks() };
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

    fn fields(self) -> &'static [&'static str] {
        match self {
            TaskTool::Create => &["subject", "description", "activeForm", "metadata"],
            TaskTool::Get => &["taskId"],
            TaskTool::Update => &UPDATED,
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

const UPDATED: [&str; 9] = [
    "taskId",
    "subject",
    "description",
    "activeForm",
    "status",
    "owner",
    "addBlocks",
    "addBlockedBy",
    "metadata",
];
const STATES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];

/// Schema of a field.
fn property(name: &str) -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let ids = |about: &str| json!({ "type": "array", "items": { "type": "integer" }, "description": about });
    match name {
        "taskId" => json!({ "type": "integer", "minimum": 1 }),
        "subject" => json!({
            "type": "string",
            "minLength": 1,
            "description": "The result to reach, in the imperative: `Reject expired tokens`",
        }),
        "description" => {
            text("What someone needs who takes this up later: where, why, when it is done")
        }
        "activeForm" => {
            text("The subject as it reads while you work on it: `Rejecting expired tokens`")
        }
        "status" => json!({ "type": "string", "enum": STATES }),
        "owner" => text("Who works on it; an empty text gives it up"),
        "addBlocks" => ids("Tasks that have to wait for this one"),
        "addBlockedBy" => ids("Tasks that this one has to wait for"),
        _ => json!({
            "type": "object",
            "description": "Notes of your own, merged with those that are there; null takes one away",
        }),
    }
}

/// Arguments of a call, each taken once.
struct Fields<'a> {
    values: Option<&'a Map<String, Value>>,
    faults: Faults,
}

impl<'a> Fields<'a> {
    fn new(arguments: &'a Value, known: &'static [&'static str]) -> Self {
        let mut faults = Faults::of_tasks();
        let values = arguments.as_object();
        if values.is_none() {
            faults.push(None, "", FaultKind::wrong_type("an object", arguments));
        }
        for name in values.into_iter().flat_map(Map::keys) {
            let is_known = |field: &&str| spellings(field).any(|known| known == name);
            if !known.iter().any(is_known) {
                let name = quoted(name).escape_debug().to_string();
                faults.push(None, name, FaultKind::UnknownField { known });
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

    fn fault(&mut self, name: &'static str, kind: FaultKind) {
        self.faults.push(None, name, kind);
    }

    fn required_text(&mut self, name: &'static str) -> String {
        if self.get(name).is_none() {
            self.fault(name, FaultKind::Missing);
        }
        self.text(name).unwrap_or_default()
    }

    fn text(&mut self, name: &'static str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.fault(name, FaultKind::wrong_type("a string", other));
                None
            }
        }
    }

    fn object(&mut self, name: &'static str) -> Map<String, Value> {
        match self.get(name) {
            Some(Value::Object(object)) => object.clone(),
            Some(other) => {
                self.fault(name, FaultKind::wrong_type("an object", other));
                Map::new()
            }
            None => Map::new(),
        }
    }

    fn status(&mut self, name: &'static str) -> Option<Status> {
        let word = self.text(name)?;
        let status = status_of(&word).filter(|(_, blocked)| !blocked).map(|(status, _)| status);
        if status.is_none() {
            self.fault(name, FaultKind::unknown_status(&word, &STATES));
        }
        status
    }

    fn id(&mut self, name: &'static str) -> Option<u32> {
        let Some(value) = self.get(name) else {
            self.fault(name, FaultKind::Missing);
            return None;
        };
        let id = task_id(value);
        if id.is_none() {
            self.fault(name, FaultKind::wrong_type(AN_ID, value));
        }
        id
    }

    fn ids(&mut self, name: &'static str) -> Vec<(usize, u32)> {
        let list = match self.get(name) {
            Some(Value::Array(list)) => list.as_slice(),
            // A single value instead of a list.
            Some(one) if task_id(one).is_some() => std::slice::from_ref(one),
            Some(other) => {
                self.fault(name, FaultKind::wrong_type("a list of tasks' numbers", other));
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
                None => self.faults.push(Some(index), name, FaultKind::wrong_type(AN_ID, value)),
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
