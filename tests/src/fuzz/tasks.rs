//! The task graph: the four tools of the dialect that edits tasks one by one.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::plan::{
    Status,
    graph::{Graph, MAX_TASKS, TaskCall, TaskTool},
};
use serde_json::{Map, Value, json};

use super::{
    bytes::Bytes,
    todo::{odd, text},
};

const CALLS: usize = 24;

pub(super) fn run(choices: &mut Bytes<'_>) {
    let mut graph = Graph::default();
    if choices.one_in(8) {
        // Near the end of the numbers.
        graph = Graph::load([], u32::MAX - u32::from(choices.byte()) % 4);
    }
    for _ in 0..CALLS {
        if choices.is_empty() {
            return;
        }
        let tool = choices.one_of(&[
            TaskTool::Create,
            TaskTool::Update,
            TaskTool::Update,
            TaskTool::Update,
            TaskTool::Create,
            TaskTool::Get,
            TaskTool::List,
        ]);
        let arguments = arguments(tool, choices);
        call(&mut graph, tool, &arguments);
    }
}

/// One call of each tool with the same arguments.
pub(super) fn raw(arguments: &Value) {
    let mut graph = Graph::default();
    for tool in TaskTool::ALL {
        call(&mut graph, TaskTool::Create, &json!({ "subject": "Add a test" }));
        call(&mut graph, tool, arguments);
    }
}

fn call(graph: &mut Graph, tool: TaskTool, arguments: &Value) {
    let before = graph.clone();
    let request = tool.read(arguments);
    let outcome = graph.apply(&request);
    let said = || format!("{} {arguments}: {outcome:?}", tool.name());
    match &outcome {
        Err(faults) => {
            assert_eq!(*graph, before, "a faulty call changed the graph: {}", said());
            assert!(faults.iter().next().is_some(), "no fault is named: {}", said());
        }
        Ok(outcome) => {
            if !request.writes() {
                assert_eq!(*graph, before, "reading changed the graph: {}", said());
            }
            let was_there = |id: u32| before.get(id).is_some();
            for id in &outcome.created {
                assert!(!was_there(*id) && *id > before.last_id(), "{}", said());
            }
            match &request.call {
                TaskCall::Create(_) => assert_eq!(outcome.created.len(), 1, "{}", said()),
                TaskCall::Replace(drafts) => {
                    assert!(outcome.created.len() <= drafts.len(), "{}", said());
                }
                TaskCall::Update(_) | TaskCall::Get { .. } | TaskCall::List => {
                    assert_eq!(outcome.created, [0; 0], "{}", said());
                }
            }
            let grown = graph.tasks().count() - before.tasks().count();
            assert_eq!(grown, outcome.created.len(), "{}", said());
            assert!(graph.last_id() >= before.last_id(), "{}", said());
        }
    }
    check(graph, &said);
}

fn check(graph: &Graph, said: &impl Fn() -> String) {
    assert!(graph.tasks().count() <= MAX_TASKS, "{}", said());
    assert_eq!(graph.stuck(), Vec::<u32>::new(), "{}", said());
    let mut depths: BTreeMap<u32, Mark> = BTreeMap::new();
    for task in graph.tasks() {
        task.check().unwrap_or_else(|faults| panic!("{faults} in {task:?} after {}", said()));
        assert!(task.id > 0 && task.id <= graph.last_id(), "{}", said());
        assert!(task.blocked_by.iter().all(|id| graph.get(*id).is_some()), "{}", said());
        if matches!(task.status, Status::InProgress | Status::Completed) {
            let open = graph.open_blockers(task.id);
            assert!(open.is_empty(), "#{} began before {open:?}: {}", task.id, said());
        }
        for blocker in &task.blocked_by {
            assert!(graph.blocks(*blocker).contains(&task.id), "{}", said());
        }
        assert!(goes_up(graph, task.id, &mut depths), "a circle: {}", said());
    }
    let items = graph.items();
    let ids: BTreeSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids.len(), items.len(), "{}", said());
    let tasks: Vec<_> = graph.tasks().cloned().collect();
    assert_eq!(Graph::load(tasks, graph.last_id()), *graph, "not the same from disk: {}", said());
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Open,
    Done,
}

/// Looks for circles by going down: not as the graph does it.
fn goes_up(graph: &Graph, id: u32, marks: &mut BTreeMap<u32, Mark>) -> bool {
    match marks.insert(id, Mark::Open) {
        Some(Mark::Open) => return false,
        Some(Mark::Done) => {
            marks.insert(id, Mark::Done);
            return true;
        }
        None => {}
    }
    let below = graph.get(id).map(|task| task.blocked_by.clone()).unwrap_or_default();
    let straight = below.into_iter().all(|blocker| goes_up(graph, blocker, marks));
    marks.insert(id, Mark::Done);
    straight
}

fn arguments(tool: TaskTool, choices: &mut Bytes<'_>) -> Value {
    let mut fields = Map::new();
    let mut field = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    let chosen = choices.byte();
    match tool {
        TaskTool::Create => {
            field("subject", text(choices));
        }
        TaskTool::Get => {
            field("taskId", id(choices));
        }
        TaskTool::Update => {
            field("taskId", id(choices));
            if chosen & 1 != 0 {
                let words = ["in_progress", "completed", "pending", "Completed", "deleted"];
                field("status", json!(choices.one_of(&words)));
            }
            if chosen & 2 != 0 {
                field("addBlockedBy", ids(choices));
            }
            if chosen & 4 != 0 {
                field("addBlocks", ids(choices));
            }
            if chosen & 24 == 24 {
                field("owner", text(choices));
            }
        }
        TaskTool::List => {}
    }
    if chosen & 96 == 96 {
        let names =
            ["description", "activeForm", "subject", "metadata", "status", "other", "taskId"];
        let name = choices.one_of(&names);
        let value = match choices.below(3) {
            0 => odd(choices),
            1 => json!({ choices.text(3): odd(choices) }),
            _ => text(choices),
        };
        field(name, value);
    }
    if chosen & 128 != 0 && choices.one_in(16) { odd(choices) } else { Value::Object(fields) }
}

fn id(choices: &mut Bytes<'_>) -> Value {
    match choices.below(16) {
        0 => odd(choices),
        1 => json!(format!("#{}", choices.below(8))),
        2 => json!(choices.below(8).to_string()),
        _ => json!(choices.below(8)),
    }
}

fn ids(choices: &mut Bytes<'_>) -> Value {
    if choices.one_in(16) {
        return odd(choices);
    }
    let count = choices.below(4);
    (0..count).map(|_| id(choices)).collect()
}
