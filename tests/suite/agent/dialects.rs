//! Planning dialects: the same task in each of the seven gives the same plan, whichever is offered.

use cairn_protocol::{CompletedItem, EndReason, Notice};
use cairn_tests::model_server::{Reply, Wire, assert_append_only};
use expect_test::expect;
use serde_json::{Value, json};

use crate::fixtures::*;

const STEPS: [(&str, &str); 3] = [
    ("Add type hints", "Adding type hints"),
    ("Add docstrings", "Adding docstrings"),
    ("Verify with mypy", "Verifying with mypy"),
];

/// Status of each step, from the first list to the last; `x` completed, `>` in progress.
const STATES: [&str; 4] = [">  ", "x> ", "xx>", "xxx"];

/// The whole list in a dialect's own words.
fn list(dialect: &str, states: &str) -> (&'static str, Value) {
    let items = |item: &dyn Fn(usize, &str, &str, char) -> Value| -> Value {
        let steps = STEPS.iter().zip(states.chars()).enumerate();
        steps.map(|(at, ((content, form), state))| item(at, content, form, state)).collect()
    };
    let word = |state| match state {
        'x' => "completed",
        '>' => "in_progress",
        _ => "pending",
    };
    match dialect {
        "todo-write" => (
            "TodoWrite",
            json!({ "todos": items(&|_, content, form, state| {
                json!({ "content": content, "status": word(state), "activeForm": form })
            }) }),
        ),
        "todo" => (
            "todo",
            json!({ "items": items(&|_, text, _, state| match state {
                'x' => json!({ "text": text, "status": "done" }),
                '>' => json!({ "text": text, "status": "in_progress" }),
                _ => json!({ "text": text }),
            }) }),
        ),
        "todo-write-snake" => (
            "todo_write",
            json!({ "todos": items(&|_, content, _, state| {
                json!({ "content": content, "status": word(state) })
            }).to_string() }),
        ),
        "update-plan" => (
            "update_plan",
            json!({ "explanation": "On we go.", "plan": items(&|_, step, _, state| {
                json!({ "step": step, "status": word(state) })
            }) }),
        ),
        "write-todos" => (
            "write_todos",
            json!({ "todos": items(&|_, description, _, state| {
                json!({ "description": description, "status": word(state) })
            }) }),
        ),
        "manage-todo-list" => (
            "manage_todo_list",
            json!({ "todoList": items(&|at, title, _, state| {
                let status = match state {
                    'x' => "completed",
                    '>' => "in-progress",
                    _ => "not-started",
                };
                json!({ "id": at + 1, "title": title, "status": status })
            }) }),
        ),
        other => panic!("no words for {other}"),
    }
}

/// The answers of the model, one for each of `STATES`.
fn replies(dialect: &str) -> Vec<Reply> {
    if dialect != "tasks" {
        let reply = |(at, states): (usize, &&str)| {
            let (tool, arguments) = list(dialect, states);
            call(&format!("c{at}"), tool, arguments)
        };
        return STATES.iter().enumerate().map(reply).collect();
    }
    let status = |task: usize, status: &str| json!({ "taskId": task, "status": status });
    let mut first = Reply::text("");
    for (at, (subject, _)) in STEPS.iter().enumerate() {
        let arguments = json!({ "subject": subject });
        first = first.call(&format!("new{at}"), "TaskCreate", arguments);
    }
    let mut replies = vec![first.call("c0", "TaskUpdate", status(1, "in_progress"))];
    for task in 1..=STEPS.len() {
        let done = format!("done{task}");
        let mut reply = call(&done, "TaskUpdate", status(task, "completed"));
        if task < STEPS.len() {
            let next = status(task + 1, "in_progress");
            reply = reply.call(&format!("c{task}"), "TaskUpdate", next);
        }
        replies.push(reply);
    }
    replies
}

/// Plan items that calls completed, each as its call tells it.
fn completed(notices: &[Notice]) -> Vec<String> {
    let calls = notices.iter().filter_map(|notice| match notice {
        Notice::Tool(tool) => Some(&tool.completed),
        _ => None,
    });
    let line = |item: &CompletedItem| format!("{} {}/{}", item.content, item.place, item.total);
    calls.flatten().map(line).collect()
}

#[tokio::test]
async fn every_planning_dialect_gives_the_same_plan() {
    let dialects: Vec<String> =
        cairn_core::plan::Dialect::all().map(|dialect| dialect.name().to_owned()).collect();
    assert_eq!(dialects.len(), 7);
    for wire in BOTH {
        for (offered, called) in
            dialects.iter().flat_map(|it| dialects.iter().map(move |call| (it, call)))
        {
            // The tool that is not offered is no matter of the wire format.
            if offered != called && wire != Wire::OpenAi {
                continue;
            }
            let plan = json!({ "plan": { "dialect": offered } });
            let test = TestDaemon::with(wire, &[], plan).await;
            let replies = replies(called);
            let end = test.play(replies.into_iter().chain([say("All typed.")])).await;
            let outcome = (end.reason, end.open_items);
            assert_eq!(outcome, (EndReason::Completed, 0), "{called} where {offered} is offered");
            // As it stood when each answer of the model was done with.
            let mut plans = Vec::new();
            for notice in test.editor.notices() {
                match notice {
                    Notice::Plan(plan) => {
                        let items = plan.items.iter().map(|item| {
                            let mark = mark(item.status);
                            format!("[{mark}] {} / {}", item.content, item.active_form)
                        });
                        plans.push(items.collect::<Vec<_>>().join("; "));
                    }
                    Notice::Usage(_) => plans.push(String::new()),
                    _ => {}
                }
            }
            let mut rounds: Vec<String> =
                plans.split(String::is_empty).filter_map(|round| round.last().cloned()).collect();
            rounds.dedup();
            expect![[r#"
                [>] Add type hints / Adding type hints; [ ] Add docstrings / Adding docstrings; [ ] Verify with mypy / Verifying with mypy
                [x] Add type hints / Adding type hints; [>] Add docstrings / Adding docstrings; [ ] Verify with mypy / Verifying with mypy
                [x] Add type hints / Adding type hints; [x] Add docstrings / Adding docstrings; [>] Verify with mypy / Verifying with mypy
                [x] Add type hints / Adding type hints; [x] Add docstrings / Adding docstrings; [x] Verify with mypy / Verifying with mypy"#]]
            .assert_eq(&rounds.join("\n"));
            expect![[r#"
                Add type hints 1/3
                Add docstrings 2/3
                Verify with mypy 3/3"#]]
            .assert_eq(&completed(&test.editor.notices()).join("\n"));
            let requests = test.finish().await;
            assert_append_only(&requests);
            // What the model reads of its plan is the same too.
            for (completed, request) in requests[1..=STATES.len()].iter().enumerate() {
                let body = String::from_utf8_lossy(&request.body);
                assert!(body.contains(&format!("({completed}/3 completed)")), "{body}");
            }
        }
    }
}

/// The table of `auto` in docs/plan.md, with a date and a source for each row.
#[test]
fn the_table_of_auto_is_the_one_in_the_documentation() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/plan.md");
    let page = std::fs::read_to_string(path).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| the name has |")).skip(2);
    let mut families = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [names, dialect, date, source] = cells[..] else { panic!("{row}") };
        let dialect = dialect.trim_matches('`');
        let quoted: Vec<&str> =
            names.split('`').skip(1).step_by(2).filter(|it| *it != "o").collect();
        for name in &quoted {
            let chosen = cairn_core::plan::Dialect::for_model(&format!("{name}-9"));
            assert_eq!(chosen.name(), dialect, "{name}");
        }
        families += quoted.len();
        assert!(!source.is_empty() && (quoted.is_empty() || date.len() == 7), "{row}");
    }
    assert_eq!(families, 9);
    assert_eq!(cairn_core::plan::Dialect::for_model("mistral").name(), "todo-write");
}
