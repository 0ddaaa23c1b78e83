//! Wrong plans: each fault is named with its position, and the plan stays unchanged.

use cairn_protocol::State;
use cairn_tests::model_server::Response;
use serde_json::{Value, json};

use super::AttackTest;
use crate::fixtures::call;

fn item(content: &str, status: &str) -> Value {
    json!({ "content": content, "status": status, "activeForm": "Doing" })
}

/// Plan of the newest session, one word per item.
async fn plan(test: &AttackTest) -> String {
    let state = test.editor.request::<State>(Default::default()).await.unwrap();
    let plan = state.sessions.last().unwrap().plan.clone().unwrap();
    let items = plan.items.iter().map(|item| format!("{:?} {}", item.status, item.content));
    items.collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn a_faulty_todo_list_changes_nothing_and_each_fault_is_named() {
    let settings = json!({ "plan": { "dialect": "todo-write", "initialReminder": false } });
    let test = AttackTest::open(&[], settings).await;
    let good = json!({ "todos": [item("Look", "completed"), item("Say", "pending")] });
    let many: Vec<Value> = (0..21).map(|at| item(&format!("Item {at}"), "pending")).collect();
    let with_id = |content: &str| {
        let mut item = item(content, "pending");
        item["id"] = "1".into();
        item
    };
    let table: &[(Value, &[&str])] = &[
        (json!({ "todos": "Look" }), &["todos: must be an array of objects, not a string"]),
        (json!({ "todos": null }), &["todos: must be an array of objects, not null"]),
        (json!({}), &["todos: is missing"]),
        (json!({ "todos": ["Look"] }), &["#1: must be an object, not a string"]),
        (
            json!({ "todos": [{ "content": "x", "status": 7, "activeForm": "x" }] }),
            &["#1.status: must be a string, not a number"],
        ),
        (json!({ "todos": many }), &["todos: 21 items, but at most 20 are allowed"]),
        (
            json!({ "todos": [item("a", "in_progress"), item("b", "in_progress")] }),
            &["#2.status: only one item may be in progress, and #1 already is"],
        ),
        (
            json!({ "todos": [item("a", "pending"), item("", "pending"), item(" \n", "pending")] }),
            &["#2.content: is empty", "#3.content: is empty"],
        ),
        (
            json!({ "todos": [with_id("a"), with_id("b")] }),
            &["#2.id: \"1\" is already the id of #1"],
        ),
        (
            json!({ "todos": [item("a", "started")] }),
            &["#1.status: \"started\" is not a status; use pending, in_progress, completed"],
        ),
        (
            json!({ "todos": [item("say \u{202e}yas", "pending"), item("a\u{1b}[31m", "pending")] }),
            &["forbidden character U+202E", "#2.content: contains the forbidden"],
        ),
        (
            json!({ "todos": [item(&"x".repeat(5_000), "pending")] }),
            &["is 5000 characters long, but at most 1000 are allowed"],
        ),
    ];
    let calls = [&good].into_iter().chain(table.iter().map(|(call, _)| call));
    let told = test.told(calls.map(|call| ("TodoWrite", call.clone()))).await;
    for ((call, faults), told) in table.iter().zip(&told[1..]) {
        assert!(told.contains("The list was not changed"), "{call}: {told}");
        for fault in *faults {
            assert!(told.contains(fault), "{call}: {told}");
        }
    }
    assert_eq!(plan(&test).await, "Completed Look, Pending Say");
    super::ran(table.len());

    // Of two in one answer the last counts, and an empty list is one.
    let one = json!({ "todos": [item("First", "pending")] });
    let two = json!({ "todos": [item("Second", "pending")] });
    let both = call("a", "TodoWrite", one).call("b", "TodoWrite", two);
    test.model.push(Response::reply(both));
    test.told([]).await;
    assert_eq!(plan(&test).await, "Pending Second");
    test.told([("TodoWrite", good), ("TodoWrite", json!({ "todos": [] }))]).await;
    assert_eq!(plan(&test).await, "");
    super::ran(2);
    test.finish();
}

#[tokio::test]
async fn a_faulty_task_graph_call_changes_nothing_and_each_fault_is_named() {
    let settings = json!({ "plan": { "dialect": "tasks", "initialReminder": false } });
    let test = AttackTest::open(&[], settings).await;
    let create = |subject: &str| ("TaskCreate", json!({ "subject": subject }));
    let update = |arguments: Value| ("TaskUpdate", arguments);
    let table: &[(Value, &str)] = &[
        (json!({ "taskId": 1, "addBlockedBy": [1] }), "addBlockedBy[0]: #1 cannot wait for itself"),
        (
            json!({ "taskId": 1, "addBlockedBy": [3] }),
            "would make a circle: #1 waits for #3 waits for #2 waits for #1",
        ),
        (json!({ "taskId": 1, "addBlockedBy": [9] }), "addBlockedBy[0]: there is no task #9"),
        (json!({ "taskId": 9 }), "taskId: there is no task #9"),
        (json!({ "taskId": 1, "status": "failed" }), "\"failed\" is not a status"),
        (json!({ "taskId": 1, "blockedBy": [] }), "blockedBy: there is no such field"),
        (json!({ "taskId": 1, "subject": " " }), "subject: is empty"),
        (json!({ "taskId": 2, "status": "in_progress" }), "status: it still waits for #1"),
    ];
    let before = [
        create("One"),
        create("Two"),
        create("Three"),
        update(json!({ "taskId": 2, "addBlockedBy": [1] })),
        update(json!({ "taskId": 3, "addBlockedBy": [2] })),
    ];
    let (count, attacks) = (before.len(), table.iter().map(|(call, _)| update(call.clone())));
    let told = test.told(before.into_iter().chain(attacks)).await;
    for ((call, fault), told) in table.iter().zip(&told[count..]) {
        assert!(told.contains("Nothing was changed") && told.contains(fault), "{call}: {told}");
    }
    assert_eq!(plan(&test).await, "Pending One, Pending Two, Pending Three");
    super::ran(table.len());
    test.finish();
}
