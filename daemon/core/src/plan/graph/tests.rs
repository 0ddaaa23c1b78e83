use expect_test::{Expect, expect};
use proptest::{option, prelude::*};
use serde_json::{Value, json};

use super::*;

/// Plays calls and shows what the model reads of the last.
fn check(calls: &[(TaskTool, Value)], expect: Expect) {
    let mut graph = Graph::default();
    let mut said = String::new();
    for (tool, arguments) in calls {
        let before = graph.clone();
        said = match graph.apply(&tool.read(arguments)) {
            Ok(outcome) => outcome.content,
            Err(faults) => {
                assert_eq!(graph, before, "a faulty call changed something");
                faults.to_string()
            }
        };
    }
    expect.assert_eq(&said);
}

fn create(subject: &str) -> (TaskTool, Value) {
    (TaskTool::Create, json!({ "subject": subject }))
}

fn update(arguments: Value) -> (TaskTool, Value) {
    (TaskTool::Update, arguments)
}

/// Three tasks in a chain: #3 waits for #2, #2 for #1.
fn chain(then: &[Value]) -> Vec<(TaskTool, Value)> {
    let mut calls = vec![
        create("Add type hints"),
        create("Add docstrings"),
        create("Add main guard"),
        update(json!({ "taskId": 2, "addBlocks": [3], "addBlockedBy": [1] })),
    ];
    calls.extend(then.iter().cloned().map(update));
    calls
}

#[test]
fn a_task_is_created() {
    check(
        &[create("  Add type hints "), create("Add docstrings")],
        expect![[r#"
            Created #2 Add docstrings.

            [ ] #1 Add type hints
            [ ] #2 Add docstrings

            (0/2 completed)"#]],
    );
    check(
        &[(
            TaskTool::Create,
            json!({ "subject": " ", "descripton": "x", "metadata": [], "activeForm": 3 }),
        )],
        expect![[r#"
            Nothing was changed, because of:
            - descripton: there is no such field; the fields are subject, description, activeForm, metadata
            - activeForm: must be a string, not a number
            - metadata: must be an object, not an array
            - subject: is empty
            Correct this and make the call again."#]],
    );
    check(
        &[(
            TaskTool::Create,
            json!({ "subject": "a\nb", "description": "x\u{202e}y", "metadata": { "a": "x".repeat(4_000) } }),
        )],
        expect![[r#"
            Nothing was changed, because of:
            - subject: contains the forbidden character U+000A
            - description: contains the forbidden character U+202E
            - metadata: is 4008 characters long, but at most 4000 are allowed
            Correct this and make the call again."#]],
    );
    check(
        &[(TaskTool::Create, json!("Add docstrings"))],
        expect![[r#"
            Nothing was changed, because of:
            - must be an object, not a string
            - subject: is missing
            Correct this and make the call again."#]],
    );
}

#[test]
fn a_task_is_shown_whole() {
    let full = json!({
        "subject": "Add type hints",
        "description": "In cart.py.\nDone when mypy is silent.",
        "activeForm": "Typing the cart",
        "metadata": { "ticket": 7, "old": true },
    });
    check(
        &[
            (TaskTool::Create, full),
            create("Add docstrings"),
            update(json!({
                "taskId": "#1", "owner": "ada", "status": "In_Progress", "addBlocks": "2",
                "metadata": { "old": null, "new": "yes" },
            })),
            (TaskTool::Get, json!({ "taskId": "1" })),
        ],
        expect![[r#"
            [>] #1 Add type hints <- Typing the cart
            owner: ada
            blocks: #2 (open)
            metadata: {"ticket":7,"new":"yes"}

            In cart.py.
            Done when mypy is silent."#]],
    );
    check(
        &[create("Add type hints"), (TaskTool::Get, json!({ "taskId": 2 }))],
        expect![[r#"
            Nothing was changed, because of:
            - taskId: there is no task #2
            Correct this and make the call again."#]],
    );
}

#[test]
fn the_list_shows_the_graph() {
    check(&[(TaskTool::List, json!({}))], expect!["No tasks."]);
    let mut calls = chain(&[
        json!({ "taskId": 1, "status": "completed" }),
        json!({ "taskId": 2, "status": "in_progress", "owner": "ada" }),
    ]);
    calls.push((TaskTool::List, json!({})));
    check(
        &calls,
        expect![[r#"
            [x] #1 Add type hints
            [>] #2 Add docstrings <- Adding docstrings (owner: ada)
            [ ] #3 Add main guard (blocked by #2)

            (1/3 completed)"#]],
    );
}

#[test]
fn old_completed_tasks_are_counted_and_not_listed() {
    let mut calls: Vec<_> = (1..=23).map(|n| create(&format!("Step {n}"))).collect();
    calls.extend((1..=22).map(|n| update(json!({ "taskId": n, "status": "completed" }))));
    calls.push((TaskTool::List, json!({})));
    let mut graph = Graph::default();
    let mut said = String::new();
    for (tool, arguments) in calls {
        said = graph.apply(&tool.read(&arguments)).expect("a right call").content;
    }
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "(2 older completed tasks are not shown)");
    assert_eq!(lines[1], "[x] #3 Step 3");
    assert_eq!(lines.last(), Some(&"(22/23 completed)"));
    assert_eq!(graph.items().len(), 23, "people see all");
}

#[test]
fn completing_a_task_names_the_unblocked_tasks() {
    check(
        &chain(&[json!({ "taskId": 1, "status": "completed" })]),
        expect![[r#"
            Updated #1.
            Unblocked: #2 Add docstrings

            [x] #1 Add type hints
            [ ] #2 Add docstrings
            [ ] #3 Add main guard (blocked by #2)

            (1/3 completed)"#]],
    );
    // One that waits for another task too is not free yet.
    check(
        &chain(&[
            json!({ "taskId": 3, "addBlockedBy": [1] }),
            json!({ "taskId": 1, "status": "completed" }),
            json!({ "taskId": 1, "status": "completed" }),
        ]),
        expect![[r#"
            Updated #1.

            [x] #1 Add type hints
            [ ] #2 Add docstrings
            [ ] #3 Add main guard (blocked by #2)

            (1/3 completed)"#]],
    );
}

#[test]
fn a_task_neither_starts_nor_completes_before_the_tasks_it_waits_for() {
    for status in ["in_progress", "completed"] {
        check(
            &chain(&[json!({ "taskId": 3, "status": status, "owner": "ada" })]),
            expect![[r#"
                Nothing was changed, because of:
                - status: it still waits for #2
                - owner: it still waits for #2
                Correct this and make the call again."#]],
        );
    }
    let started = [
        json!({ "taskId": 1, "status": "completed" }),
        json!({ "taskId": 2, "status": "in_progress" }),
    ];
    let then = |last: Value| chain(&[started[0].clone(), started[1].clone(), last]);
    check(
        &then(json!({ "taskId": 1, "status": "pending" })),
        expect![[r#"
            Nothing was changed, because of:
            - status: #2 is already in progress, so it cannot wait for an open task; set it back to pending first
            Correct this and make the call again."#]],
    );
    let mut calls = then(json!({}));
    calls.pop();
    calls.push(create("Change the schema"));
    let mut both = calls.clone();
    calls.push(update(json!({ "taskId": 4, "addBlocks": [2] })));
    check(
        &calls,
        expect![[r#"
            Nothing was changed, because of:
            - addBlocks[0]: #2 is already in progress, so it cannot wait for an open task; set it back to pending first
            Correct this and make the call again."#]],
    );
    calls.pop();
    calls.push(update(json!({ "taskId": 2, "addBlockedBy": [4] })));
    check(
        &calls,
        expect![[r#"
            Nothing was changed, because of:
            - addBlockedBy: #2 is already in progress, so it cannot wait for an open task; set it back to pending first
            Correct this and make the call again."#]],
    );
    // What the last words of the fault ask for, in one call.
    both.push(update(json!({ "taskId": 2, "status": "pending", "addBlockedBy": [4] })));
    check(
        &both,
        expect![[r#"
            Updated #2.

            [x] #1 Add type hints
            [ ] #2 Add docstrings (blocked by #4)
            [ ] #3 Add main guard (blocked by #2)
            [ ] #4 Change the schema

            (1/4 completed)"#]],
    );
}

#[test]
fn cycles_and_unknown_tasks_are_named() {
    check(
        &chain(&[json!({ "taskId": 1, "addBlockedBy": [1, 3, 9], "addBlocks": [2, 1, 8] })]),
        expect![[r#"
            Nothing was changed, because of:
            - addBlocks[1]: #1 cannot wait for itself
            - addBlocks[2]: there is no task #8
            - addBlockedBy[0]: #1 cannot wait for itself
            - addBlockedBy[1]: would make a circle: #1 waits for #3 waits for #2 waits for #1
            - addBlockedBy[2]: there is no task #9
            Correct this and make the call again."#]],
    );
    // Two edges of one call.
    check(
        &[
            create("One"),
            create("Two"),
            update(json!({ "taskId": 1, "addBlocks": [2], "addBlockedBy": [2] })),
        ],
        expect![[r#"
            Nothing was changed, because of:
            - addBlockedBy[0]: would make a circle: #1 waits for #2 waits for #1
            Correct this and make the call again."#]],
    );
}

#[test]
fn every_fault_of_a_call_is_named() {
    check(
        &[
            create("One"),
            update(json!({
                "taskId": 7, "status": "failed", "owner": 1, "addBlocks": ["x", 9], "waitsFor": [2],
                "subject": "",
            })),
        ],
        expect![[r#"
            Nothing was changed, because of:
            - waitsFor: there is no such field; the fields are taskId, subject, description, activeForm, status, owner, addBlocks, addBlockedBy, metadata
            - status: "failed" is not a status; use pending, in_progress, completed, cancelled
            - owner: must be a string, not a number
            - addBlocks[0]: must be a task's number, not a string
            - taskId: there is no task #7
            - addBlocks[1]: there is no task #9
            Correct this and make the call again."#]],
    );
    check(
        &[update(json!({ "addBlocks": {}, "status": null }))],
        expect![[r#"
            Nothing was changed, because of:
            - taskId: is missing
            - addBlocks: must be a list of tasks' numbers, not an object
            Correct this and make the call again."#]],
    );
}

#[test]
fn the_number_of_tasks_is_limited_and_ids_are_not_reused() {
    let mut graph = Graph::load([], 41);
    let (tool, arguments) = create("After the flood");
    assert_eq!(graph.apply(&tool.read(&arguments)).expect("created").created, [42]);
    for _ in 1..MAX_TASKS {
        graph.apply(&tool.read(&arguments)).expect("created");
    }
    let full = graph.apply(&tool.read(&arguments)).expect_err("full");
    assert_eq!(full.iter().map(|fault| &fault.kind).collect::<Vec<_>>(), [&FaultKind::ListFull]);
    let mut last = Graph::load([], u32::MAX);
    assert!(last.apply(&tool.read(&arguments)).is_err());
}

#[test]
fn items_of_the_plan_name_only_open_tasks_they_wait_for() {
    let mut graph = Graph::default();
    for (tool, arguments) in chain(&[json!({ "taskId": 1, "status": "completed" })]) {
        graph.apply(&tool.read(&arguments)).expect("a right call");
    }
    let shown: Vec<String> = graph
        .items()
        .iter()
        .map(|item| format!("{} {:?} {} {:?}", item.id, item.status, item.blocked, item.blocked_by))
        .collect();
    expect![[r#"
        1 Completed false []
        2 Pending false []
        3 Pending true ["2"]"#]]
    .assert_eq(&shown.join("\n"));
    expect![[r#"{"id":2,"subject":"Add docstrings","description":"","activeForm":"Adding docstrings","status":"pending","owner":null,"blockedBy":[1],"metadata":{},"blocks":[3]}"#]]
        .assert_eq(&graph.view(2).expect("a task").to_string());
}

#[test]
fn tasks_from_files_that_break_the_rules_are_handled() {
    let task = |id: u32, blocked_by: &[u32]| GraphTask {
        id,
        subject: format!("Task {id}"),
        description: String::new(),
        active_form: String::new(),
        status: Status::Pending,
        owner: None,
        blocked_by: blocked_by.iter().copied().collect(),
        metadata: Map::new(),
    };
    let mut graph = Graph::load(
        [task(1, &[2]), task(2, &[1]), task(3, &[3]), task(4, &[99]), task(5, &[4]), task(6, &[])],
        0,
    );
    assert_eq!(graph.stuck(), [1, 2, 3, 4, 5]);
    assert!(task(1, &[]).check().is_err(), "it has no active form");
    // It says so and goes on.
    let said = |graph: &mut Graph, arguments: Value| match graph
        .apply(&TaskTool::Update.read(&arguments))
    {
        Ok(outcome) => outcome.content.lines().next().unwrap_or_default().to_owned(),
        Err(faults) => faults.iter().map(|fault| fault.kind.to_string()).collect(),
    };
    for id in [1, 3, 4] {
        let claim = json!({ "taskId": id, "activeForm": "Trying", "status": "in_progress" });
        assert!(said(&mut graph, claim).starts_with("it still waits for #"), "{id}");
    }
    let said =
        said(&mut graph, json!({ "taskId": 6, "activeForm": "Trying", "addBlockedBy": [1] }));
    assert_eq!(said, "Updated #6.");
}

#[test]
fn the_schema_of_each_tool_agrees_with_its_parser() {
    let shapes: Vec<String> = TaskTool::ALL
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            assert_eq!(TaskTool::named(&spec.name), Some(*tool));
            assert!(!spec.parallel);
            let required = spec.schema["required"].as_array().expect("required");
            let fields = spec.schema["properties"].as_object().expect("properties");
            let fields = fields.iter().map(|(name, schema)| {
                assert!(schema["type"].is_string());
                format!("{name}{}", if required.contains(&json!(name)) { "" } else { "?" })
            });
            format!("{} {{{}}}", spec.name, fields.collect::<Vec<_>>().join(", "))
        })
        .collect();
    expect![[r#"
        TaskCreate {subject, description?, activeForm?, metadata?}
        TaskGet {taskId}
        TaskUpdate {taskId, subject?, description?, activeForm?, status?, owner?, addBlocks?, addBlockedBy?, metadata?}
        TaskList {}"#]]
    .assert_eq(&shapes.join("\n"));
}

/// Calls on a few tasks, so that they meet.
fn any_call() -> impl Strategy<Value = (TaskTool, Value)> {
    let id = || 1..8_u32;
    let status = proptest::sample::select(vec!["pending", "in_progress", "completed", "other"]);
    let ids = || proptest::collection::vec(1..8_u32, 0..3);
    prop_oneof![
        2 => "[a-z ]{0,6}".prop_map(|subject| create(&subject)),
        6 => (id(), option::of(status), ids(), ids(), option::of("[a-z]{0,3}")).prop_map(
            |(id, status, blocks, blocked_by, owner)| update(json!({
                "taskId": id, "status": status, "addBlocks": blocks, "addBlockedBy": blocked_by,
                "owner": owner,
            }))
        ),
        1 => id().prop_map(|id| (TaskTool::Get, json!({ "taskId": id }))),
        1 => Just((TaskTool::List, json!({}))),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let names = vec![
        "taskId",
        "subject",
        "description",
        "activeForm",
        "status",
        "owner",
        "addBlocks",
        "addBlockedBy",
        "metadata",
        "x",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..4_u32).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 32, 6, move |inner| {
        let key = proptest::sample::select(names.clone()).prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_rules_hold_after_any_calls(calls in proptest::collection::vec(any_call(), 0..40)) {
        let mut graph = Graph::default();
        let mut given = BTreeSet::new();
        for (tool, arguments) in calls {
            let before = graph.clone();
            let request = tool.read(&arguments);
            match graph.apply(&request) {
                Ok(outcome) => {
                    for id in outcome.created {
                        prop_assert!(given.insert(id), "#{} was given twice", id);
                    }
                    prop_assert!(request.writes() || graph == before);
                }
                Err(faults) => {
                    prop_assert!(faults.iter().count() > 0);
                    prop_assert_eq!(&graph, &before);
                }
            }
            // No circle, no stranger.
            prop_assert_eq!(graph.stuck(), Vec::<u32>::new());
            for task in graph.tasks() {
                prop_assert!(task.check().is_ok());
                prop_assert!(!begun(task) || graph.open_blockers(task.id).is_empty());
                for blocker in &task.blocked_by {
                    prop_assert!(graph.blocks(*blocker).contains(&task.id));
                }
            }
            // Nothing is deleted, and what is kept is read back as it was.
            prop_assert_eq!(graph.tasks().map(|task| task.id).collect::<BTreeSet<_>>(), given.clone());
            let kept = graph.tasks().map(|task| {
                serde_json::from_value(json!(task)).expect("a task")
            });
            prop_assert_eq!(&Graph::load(kept, graph.last_id()), &graph);
        }
    }

    #[test]
    fn any_json_is_parsed_without_a_panic(
        arguments in any_json(),
        tool in proptest::sample::select(TaskTool::ALL.to_vec()),
    ) {
        let mut graph = Graph::default();
        let (first, subject) = create("One");
        graph.apply(&first.read(&subject)).expect("created");
        let said = match graph.apply(&tool.read(&arguments)) {
            Ok(outcome) => outcome.content,
            Err(faults) => faults.to_string(),
        };
        prop_assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", said);
    }
}
