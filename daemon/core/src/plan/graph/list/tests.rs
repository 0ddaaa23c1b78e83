use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::plan::{PlanForm, apply_call};

/// Makes calls on a plan that is a list, and shows each result with the items behind it.
fn check(calls: &[(&str, Value)], expect: Expect) {
    let mut plan = Plan::default();
    let mut out = String::new();
    for (name, arguments) in calls {
        let form = PlanForm::named(name).expect("a planning tool");
        let outcome = apply_call(&mut plan, form, arguments);
        out.push_str(&format!("{name}: {}\n", outcome.content));
        let items = plan.items().iter().map(|item| {
            let waits = if item.blocked { " blocked" } else { "" };
            format!("{}={} {:?}{waits}", item.id, item.content, item.status)
        });
        out.push_str(&format!("  {}\n", items.collect::<Vec<_>>().join(", ")));
    }
    expect.assert_eq(&out);
}

#[test]
fn single_tasks_make_a_list() {
    check(
        &[
            (
                "TaskCreate",
                json!({"subject": "One", "description": "d", "activeForm": "Doing one"}),
            ),
            ("TaskCreate", json!({"subject": "Two", "description": "d"})),
            ("TaskUpdate", json!({"taskId": "1", "status": "in_progress"})),
            ("TaskUpdate", json!({"taskId": "2", "addBlockedBy": ["1"]})),
            ("TaskList", json!({})),
            ("TaskUpdate", json!({"task_id": 1, "status": "completed"})),
            ("TaskUpdate", json!({"taskId": "2", "status": "deleted"})),
            ("TaskUpdate", json!({"taskId": "7", "status": "failed"})),
        ],
        expect![[r#"
            TaskCreate: Created #1 One.

            [ ] #1 One

            (0/1 completed)
              1=One Pending
            TaskCreate: Created #2 Two.

            [ ] #1 One
            [ ] #2 Two

            (0/2 completed)
              1=One Pending, 2=Two Pending
            TaskUpdate: Updated #1.

            [>] #1 One <- Doing one
            [ ] #2 Two

            (0/2 completed)
              1=One InProgress, 2=Two Pending
            TaskUpdate: Updated #2.

            [>] #1 One <- Doing one
            [ ] #2 Two (blocked by #1)

            (0/2 completed)
              1=One InProgress, 2=Two Pending blocked
            TaskList: [>] #1 One <- Doing one
            [ ] #2 Two (blocked by #1)

            (0/2 completed)
              1=One InProgress, 2=Two Pending blocked
            TaskUpdate: Updated #1.
            Unblocked: #2 Two

            [x] #1 One
            [ ] #2 Two

            (1/2 completed)
              1=One Completed, 2=Two Pending
            TaskUpdate: Updated #2.

            [x] #1 One
            [-] #2 Two

            (1/1 completed, 1 cancelled)
              1=One Completed, 2=Two Cancelled
            TaskUpdate: Nothing was changed, because of:
            - status: "failed" is not a status; use pending, in_progress, completed, cancelled
            - taskId: there is no task #7
            Correct this and make the call again.
              1=One Completed, 2=Two Cancelled
        "#]],
    );
}

#[test]
fn single_tasks_change_a_list_that_was_sent_whole() {
    check(
        &[
            (
                "manage_todo_list",
                json!({"todoList": [
                    {"id": 1, "title": "Old", "status": "completed"},
                ]}),
            ),
            (
                "manage_todo_list",
                json!({"todoList": [
                    {"id": 2, "title": "Read", "status": "blocked"},
                    {"id": 1, "title": "Write", "status": "not-started"},
                ]}),
            ),
            ("TaskUpdate", json!({"taskId": 1, "status": "in_progress"})),
            ("task_create", json!({"title": "Send"})),
            (
                "TodoWrite",
                json!({"todos": [
                    {"content": "Write", "status": "completed"},
                    {"content": "Read", "status": "pending"},
                    {"content": "Send", "status": "pending"},
                ]}),
            ),
        ],
        expect![[r#"
            manage_todo_list: [x] #1 Old

            (1/1 completed)
              1=Old Completed
            manage_todo_list: [ ] #2 Read (blocked)
            [ ] #1 Write

            (0/2 completed)
              2=Read Pending blocked, 3=Write Pending
            TaskUpdate: Updated #1.

            [>] #1 Write <- Writing
            [ ] #2 Read

            (0/2 completed)
              2=Read Pending blocked, 3=Write InProgress
            task_create: Created #4 Send.

            [>] #1 Write <- Writing
            [ ] #2 Read
            [ ] #4 Send

            (0/3 completed)
              2=Read Pending blocked, 3=Write InProgress, 4=Send Pending
            TodoWrite: [x] #1 Write
            [ ] #2 Read
            [ ] #4 Send

            (1/3 completed)
              3=Write Completed, 2=Read Pending, 4=Send Pending
        "#]],
    );
}

#[test]
fn a_text_of_the_list_may_be_longer_than_one_of_the_graph() {
    let long = "x".repeat(300);
    let mut plan = Plan::default();
    let list = json!({"todos": [{"content": long, "status": "pending"}]});
    apply_call(&mut plan, PlanForm::named("TodoWrite").expect("a tool"), &list);
    let start = json!({"taskId": 1, "status": "in_progress"});
    let outcome = apply_to_list(&mut plan, TaskTool::Update, &start);
    assert!(!outcome.is_error, "{}", outcome.content);
    assert_eq!((plan.items()[0].status, plan.items()[0].content.len()), (Status::InProgress, 300));
}

#[test]
fn a_whole_list_changes_the_graph() {
    let mut graph = Graph::default();
    let mut out = String::new();
    let mut call = |tool: TaskTool, arguments: Value| {
        let text = match graph.apply(&tool.read(&arguments)) {
            Ok(outcome) => format!(
                "{}\ncreated {:?}, completed {:?}",
                outcome.content, outcome.created, outcome.completed
            ),
            Err(faults) => faults.to_string(),
        };
        out.push_str(&format!("{text}\n\n"));
    };
    call(
        TaskTool::List,
        json!({"todos": [
            {"content": "Read", "status": "in_progress"},
            {"content": "Write", "status": "pending"},
            {"content": "Send", "status": "pending"},
        ]}),
    );
    call(TaskTool::Update, json!({"taskId": 3, "addBlockedBy": [2], "description": "By post"}));
    call(
        TaskTool::List,
        json!({"plan": [
            {"step": "Send", "status": "in_progress"},
            {"step": "Write", "status": "pending"},
        ]}),
    );
    call(
        TaskTool::List,
        json!({"items": [
            {"text": "Write", "status": "done"},
            {"text": "Send", "status": "pending"},
            {"text": "Wait", "status": "pending"},
        ]}),
    );
    call(TaskTool::List, json!({"todos": [{"content": "", "status": "lost"}]}));
    expect![[r#"
        [>] #1 Read <- Reading
        [ ] #2 Write
        [ ] #3 Send

        (0/3 completed)
        created [1, 2, 3], completed []

        Updated #3.

        [>] #1 Read <- Reading
        [ ] #2 Write
        [ ] #3 Send (blocked by #2)

        (0/3 completed)
        created [], completed []

        Nothing was changed, because of:
        - #3: it still waits for #2
        Correct this and make the call again.

        [-] #1 Read
        [x] #2 Write
        [ ] #3 Send
        [ ] #4 Wait

        (1/3 completed, 1 cancelled)

        Cancelled, because the list leaves it out:
        - #1 Read
        created [4], completed [2]

        Nothing was changed, because of:
        - content[0]: is empty
        - status[0]: "lost" is not a status; use pending, in_progress, completed
        - subject[0]: is empty
        Correct this and make the call again.

    "#]]
    .assert_eq(&out);
}
