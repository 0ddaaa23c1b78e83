//! Task graph: tasks with their dependencies, kept beyond one session.
//!
//! The server reads the tasks from disk, applies a call here, and writes the changes. A call
//! applies completely, or changes nothing and names all its faults. A task stores only the tasks
//! that it waits for. The opposite direction is computed, because two records of one edge could
//! disagree after a crash.
//!
//! An id is never used twice. A cycle never appears. No task starts or completes before the tasks
//! that it waits for.

mod call;
mod guide;
mod list;

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::{
    call::{TaskCall, TaskChange, TaskRequest, TaskTool},
    list::apply_to_list,
};
use super::{
    FaultKind, Faults, PlanProgress, Status, TodoItem, active_form,
    fault::in_words,
    render_line,
    rules::{is_bidi_control, text_fault},
};

pub const MAX_TASKS: usize = 500;
const MAX_SUBJECT: usize = 200;
const MAX_DESCRIPTION: usize = 10_000;
const MAX_OWNER: usize = 64;
/// Maximum length of the metadata as JSON text, in characters.
const MAX_METADATA: usize = 4_000;
/// Number of completed tasks that the list for the model shows. Older ones are only counted.
const COMPLETED_SHOWN: usize = 20;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a task")]
pub struct GraphTask {
    /// Id, counted up in its list and never reused.
    pub id: u32,
    pub subject: String,
    pub description: String,
    pub active_form: String,
    pub status: Status,
    pub owner: Option<String>,
    /// The tasks it waits for, completed ones included.
    pub blocked_by: BTreeSet<u32>,
    /// The model's own notes; never interpreted.
    pub metadata: Map<String, Value>,
}

/// All tasks of one list. A default graph is empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    tasks: BTreeMap<u32, GraphTask>,
    /// The newest id, possibly of a removed task.
    last_id: u32,
}

/// Outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOutcome {
    /// The tool result for the model.
    pub content: String,
    pub created: Vec<u32>,
    /// The tasks that this call completed.
    pub completed: Vec<u32>,
}

impl GraphTask {
    /// Checks the limits of its texts, independently of their author.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::of_tasks();
        self.check_texts(&mut faults);
        faults.or(())
    }

    pub fn is_open(&self) -> bool {
        self.status.is_open()
    }

    fn check_texts(&self, faults: &mut Faults) {
        let mut check = |field: &'static str, fault: Option<FaultKind>| {
            if let Some(fault) = fault {
                faults.push(None, field, fault);
            }
        };
        check("subject", text_fault(&self.subject, MAX_SUBJECT));
        // A derived active form has the faults of the subject.
        if self.active_form != active_form::derive(&self.subject) {
            check("activeForm", text_fault(&self.active_form, MAX_SUBJECT));
        }
        check("description", lines_fault(&self.description, MAX_DESCRIPTION));
        check("owner", self.owner.as_ref().and_then(|owner| text_fault(owner, MAX_OWNER)));
        let length = Value::Object(self.metadata.clone()).to_string().chars().count();
        let limit = MAX_METADATA;
        check("metadata", (length > limit).then_some(FaultKind::TooLong { length, limit }));
    }
}

impl Graph {
    /// Creates the graph of stored tasks. `last_id` counts if it is greater than their ids.
    pub fn load(tasks: impl IntoIterator<Item = GraphTask>, last_id: u32) -> Self {
        let tasks: BTreeMap<u32, GraphTask> =
            tasks.into_iter().map(|task| (task.id, task)).collect();
        let newest = tasks.last_key_value().map_or(0, |(id, _)| *id);
        Self { tasks, last_id: last_id.max(newest) }
    }

    /// Applies a call completely, or changes nothing.
    pub fn apply(&mut self, request: &TaskRequest) -> Result<TaskOutcome, Faults> {
        let faults = request.faults.clone();
        match &request.call {
            TaskCall::Create(new) => self.create(new, faults),
            TaskCall::Update(change) => self.update(change, faults),
            TaskCall::Get { id } => self.show(*id, faults),
            TaskCall::List => faults.or(TaskOutcome::of(self.render())),
            TaskCall::Replace(drafts) => self.replace(drafts, faults),
        }
    }

    pub fn get(&self, id: u32) -> Option<&GraphTask> {
        self.tasks.get(&id)
    }

    pub fn tasks(&self) -> impl Iterator<Item = &GraphTask> {
        self.tasks.values()
    }

    pub fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Returns the tasks that wait for this one.
    pub fn blocks(&self, id: u32) -> Vec<u32> {
        let waiting = self.tasks.values().filter(|task| task.blocked_by.contains(&id));
        waiting.map(|task| task.id).collect()
    }

    /// Open tasks that a task waits for. A missing task may be unfinished, so it is treated as open.
    pub fn open_blockers(&self, id: u32) -> Vec<u32> {
        let open = |id: &u32| self.tasks.get(id).is_none_or(GraphTask::is_open);
        self.tasks
            .get(&id)
            .map(|task| task.blocked_by.iter().copied().filter(open).collect())
            .unwrap_or_default()
    }

    /// Returns the open tasks that can never start, because they wait in a cycle or for a missing
    /// task. Calls cannot create such tasks, but files changed by other programs may hold them.
    pub fn stuck(&self) -> Vec<u32> {
        let mut waiting: BTreeMap<u32, Vec<u32>> = self
            .tasks
            .values()
            .filter(|task| task.is_open())
            .map(|task| (task.id, self.open_blockers(task.id)))
            .collect();
        loop {
            let ready: Vec<u32> = waiting
                .iter()
                .filter(|(_, blockers)| blockers.is_empty())
                .map(|(id, _)| *id)
                .collect();
            if ready.is_empty() {
                return waiting.into_keys().collect();
            }
            waiting.retain(|id, blockers| {
                blockers.retain(|blocker| !ready.contains(blocker));
                !ready.contains(id)
            });
        }
    }

    /// Returns the graph as items of the plan.
    pub fn items(&self) -> Vec<TodoItem> {
        self.tasks.values().map(|task| self.item(task)).collect()
    }

    /// The list as the model reads it.
    pub fn render(&self) -> String {
        if self.tasks.is_empty() {
            return "No tasks.".to_owned();
        }
        let ended = self.tasks.values().filter(|task| !task.is_open()).count();
        let mut hidden = ended.saturating_sub(COMPLETED_SHOWN);
        let mut out = String::new();
        if hidden > 0 {
            out.push_str(&format!("({hidden} older completed tasks are not shown)\n"));
        }
        for task in self.tasks.values() {
            if hidden > 0 && !task.is_open() {
                hidden -= 1;
                continue;
            }
            out.push_str(&render_line(&self.item(task)));
            if let Some(owner) = &task.owner {
                out.push_str(&format!(" (owner: {owner})"));
            }
            out.push('\n');
        }
        let statuses = self.tasks.values().map(|task| task.status);
        out.push_str(&format!("\n({})", PlanProgress::of(statuses)));
        out
    }

    /// Returns a task with its edges in both directions, for hooks.
    pub fn view(&self, id: u32) -> Option<Value> {
        let task = self.tasks.get(&id)?;
        let mut view = json!(task);
        view["blocks"] = json!(self.blocks(id));
        Some(view)
    }

    fn item(&self, task: &GraphTask) -> TodoItem {
        let blocked_by = match task.status {
            Status::Pending => self.open_blockers(task.id),
            Status::InProgress | Status::Completed | Status::Cancelled => Vec::new(),
        };
        TodoItem {
            id: task.id.to_string(),
            given_id: None,
            content: task.subject.clone(),
            active_form: task.active_form.clone(),
            status: task.status,
            blocked: !blocked_by.is_empty(),
            blocked_by: blocked_by.iter().map(u32::to_string).collect(),
        }
    }

    fn create(&mut self, new: &TaskChange, mut faults: Faults) -> Result<TaskOutcome, Faults> {
        if self.tasks.len() >= MAX_TASKS {
            faults.push(None, "", FaultKind::ListFull);
        }
        let Some(id) = self.last_id.checked_add(1) else {
            faults.push(None, "", FaultKind::ListFull);
            return Err(faults);
        };
        let mut task = GraphTask { id, ..GraphTask::default() };
        new.write_to(&mut task);
        task.check_texts(&mut faults);
        faults.or(())?;
        let said = format!("Created #{id} {}.", task.subject);
        self.last_id = id;
        self.tasks.insert(id, task);
        let content = format!("{said}\n\n{}", self.render());
        Ok(TaskOutcome { created: vec![id], ..TaskOutcome::of(content) })
    }

    fn update(&mut self, change: &TaskChange, mut faults: Faults) -> Result<TaskOutcome, Faults> {
        let mut next = self.clone();
        let known = change.id.filter(|id| self.tasks.contains_key(id));
        if let (Some(id), None) = (change.id, known) {
            faults.push(None, "taskId", FaultKind::UnknownTask { id });
        }
        for (field, others, direction) in [
            ("addBlocks", &change.add_blocks, Direction::Blocks),
            ("addBlockedBy", &change.add_blocked_by, Direction::BlockedBy),
        ] {
            for &(index, other) in others {
                if let Err(kind) = next.connect(known, other, direction) {
                    faults.push(Some(index), field, kind);
                }
            }
        }
        let Some((id, before)) = known.and_then(|id| Some((id, self.tasks.get(&id)?))) else {
            return Err(faults);
        };
        if let Some(task) = next.tasks.get_mut(&id) {
            change.write_to(task);
            // A list may hold longer texts than the graph: they stand in nobody's way.
            let blocked_by = before.blocked_by.clone();
            if *before != (GraphTask { status: before.status, blocked_by, ..task.clone() }) {
                task.check_texts(&mut faults);
            }
        }
        next.check_order(id, before, change, &mut faults);
        faults.or(())?;
        let was_open = before.is_open();
        *self = next;
        Ok(self.updated(id, was_open))
    }

    fn updated(&self, id: u32, was_open: bool) -> TaskOutcome {
        let ended = was_open && self.get(id).is_some_and(|task| !task.is_open());
        let mut content = format!("Updated #{id}.");
        if ended {
            let free = |id: &u32| self.open_blockers(*id).is_empty();
            let unblocked: Vec<u32> = self.blocks(id).into_iter().filter(free).collect();
            for task in unblocked.iter().filter_map(|id| self.get(*id)) {
                content.push_str(&format!("\nUnblocked: #{} {}", task.id, task.subject));
            }
        }
        content.push_str(&format!("\n\n{}", self.render()));
        let completed = ended && self.get(id).is_some_and(|task| task.status == Status::Completed);
        let completed = if completed { vec![id] } else { Vec::new() };
        TaskOutcome { completed, ..TaskOutcome::of(content) }
    }

    /// Adds an edge. Checks only the other end if the task does not exist yet.
    fn connect(
        &mut self,
        task: Option<u32>,
        other: u32,
        direction: Direction,
    ) -> Result<(), FaultKind> {
        if !self.tasks.contains_key(&other) {
            return Err(FaultKind::UnknownTask { id: other });
        }
        let Some(task) = task else { return Ok(()) };
        if task == other {
            return Err(FaultKind::SelfBlocking { id: task });
        }
        let (waiting, blocker) = match direction {
            Direction::Blocks => (other, task),
            Direction::BlockedBy => (task, other),
        };
        if let Some(path) = self.path(blocker, waiting) {
            let path = std::iter::once(waiting).chain(path).collect();
            return Err(FaultKind::Circle { path });
        }
        if let Some(task) = self.tasks.get_mut(&waiting) {
            task.blocked_by.insert(blocker);
        }
        Ok(())
    }

    /// Path of tasks by which one task waits for another, both included.
    fn path(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut came_from: BTreeMap<u32, u32> = BTreeMap::from([(from, from)]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at == to {
                let mut path = vec![at];
                let mut at = at;
                while at != from {
                    at = *came_from.get(&at)?;
                    path.push(at);
                }
                path.reverse();
                return Some(path);
            }
            for &next in self.tasks.get(&at).iter().flat_map(|task| &task.blocked_by) {
                if let Entry::Vacant(entry) = came_from.entry(next) {
                    entry.insert(at);
                    open.push(next);
                }
            }
        }
        None
    }

    /// Checks that no task is started, claimed or completed before the tasks that it waits for.
    /// Judges the state after the whole call, and only the tasks that the call changed.
    fn check_order(&self, id: u32, before: &GraphTask, change: &TaskChange, faults: &mut Faults) {
        let Some(task) = self.tasks.get(&id) else { return };
        let waits_for = self.open_blockers(id);
        if !waits_for.is_empty() {
            let kind = || FaultKind::Blocked { by: waits_for.clone() };
            if begun(task) && task.status != before.status {
                faults.push(None, "status", kind());
            } else if begun(task) && task.blocked_by != before.blocked_by {
                let status = task.status;
                faults.push(None, "addBlockedBy", FaultKind::AlreadyBegun { id, status });
            }
            if task.owner.is_some() && task.owner != before.owner {
                faults.push(None, "owner", kind());
            }
        }
        if !task.is_open() {
            return;
        }
        let reopened = !before.is_open();
        for waiting in self.blocks(id).iter().filter_map(|id| self.tasks.get(id)) {
            let added = change.add_blocks.iter().find(|(_, other)| *other == waiting.id);
            let kind = || FaultKind::AlreadyBegun { id: waiting.id, status: waiting.status };
            match added {
                _ if !begun(waiting) => {}
                Some((index, _)) => faults.push(Some(*index), "addBlocks", kind()),
                None if reopened => faults.push(None, "status", kind()),
                None => {}
            }
        }
    }

    fn show(&self, id: Option<u32>, mut faults: Faults) -> Result<TaskOutcome, Faults> {
        let task = id.and_then(|id| self.tasks.get(&id));
        if let (Some(id), None) = (id, task) {
            faults.push(None, "taskId", FaultKind::UnknownTask { id });
        }
        faults.or(())?;
        let Some(task) = task else { return Err(Faults::of_tasks()) };
        let mut content = render_line(&self.item(task));
        let mut line = |name: &str, value: String| {
            if !value.is_empty() {
                content.push_str(&format!("\n{name}: {value}"));
            }
        };
        line("owner", task.owner.clone().unwrap_or_default());
        line("blocked by", self.listed(task.blocked_by.iter().copied()));
        line("blocks", self.listed(self.blocks(task.id)));
        if !task.metadata.is_empty() {
            line("metadata", Value::Object(task.metadata.clone()).to_string());
        }
        if !task.description.is_empty() {
            content.push_str(&format!("\n\n{}", task.description));
        }
        Ok(TaskOutcome::of(content))
    }

    fn listed(&self, ids: impl IntoIterator<Item = u32>) -> String {
        let shown = ids.into_iter().map(|id| match self.tasks.get(&id) {
            Some(task) if task.is_open() => format!("#{id} (open)"),
            Some(task) => format!("#{id} ({})", in_words(task.status)),
            None => format!("#{id} (missing)"),
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl TaskOutcome {
    fn of(content: String) -> Self {
        Self { content, created: Vec::new(), completed: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Blocks,
    BlockedBy,
}

fn begun(task: &GraphTask) -> bool {
    match task.status {
        Status::Pending | Status::Cancelled => false,
        Status::InProgress | Status::Completed => true,
    }
}

/// Text of several lines, which may be empty.
fn lines_fault(text: &str, limit: usize) -> Option<FaultKind> {
    let forbidden = |c: &char| (c.is_control() && !"\n\t\r".contains(*c)) || is_bidi_control(*c);
    if let Some(forbidden) = text.chars().find(forbidden) {
        return Some(FaultKind::ForbiddenCharacter(forbidden));
    }
    let length = text.chars().count();
    (length > limit).then_some(FaultKind::TooLong { length, limit })
}

#[cfg(test)]
mod tests;
