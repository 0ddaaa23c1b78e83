use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Dialect, ListDialect, Teaching};
use crate::plan::{Plan, apply_call};

/// Calls the tool on an empty plan and shows what the model reads.
fn check(dialect: ListDialect, arguments: Value, expect: Expect) {
    let mut plan = Plan::default();
    let outcome = apply_call(&mut plan, dialect, &arguments);
    assert!(outcome.is_error || dialect.read(&arguments).1.or(()).is_ok());
    expect.assert_eq(&outcome.content);
}

#[test]
fn one_task_is_the_same_plan_in_every_dialect() {
    let samples = [
        (
            ListDialect::TodoWrite,
            json!({ "todos": [
                { "content": "Add type hints", "status": "completed", "activeForm": "Adding type hints" },
                { "content": "Add docstrings", "status": "in_progress", "activeForm": "Adding docstrings" },
                { "content": "Add main guard", "status": "pending", "activeForm": "Adding main guard" },
            ] }),
        ),
        (
            ListDialect::Todo,
            json!({ "items": [
                { "text": "Add type hints", "status": "done" },
                { "text": "Add docstrings", "status": "in_progress" },
                { "text": "Add main guard" },
            ] }),
        ),
        (
            ListDialect::TodoWriteSnake,
            json!({ "todos": r#"[
                {"content": "Add type hints", "status": "completed"},
                {"content": "Add docstrings", "status": "in_progress"},
                {"content": "Add main guard", "status": "pending"}
            ]"# }),
        ),
        (
            ListDialect::UpdatePlan,
            json!({ "explanation": "Hints are in.", "plan": [
                { "step": "Add type hints", "status": "completed" },
                { "step": "Add docstrings", "status": "in_progress" },
                { "step": "Add main guard", "status": "pending" },
            ] }),
        ),
        (
            ListDialect::WriteTodos,
            json!({ "todos": [
                { "description": "Add type hints", "status": "completed" },
                { "description": "Add docstrings", "status": "in_progress" },
                { "description": "Add main guard", "status": "pending" },
            ] }),
        ),
        (
            ListDialect::ManageTodoList,
            json!({ "todoList": [
                { "id": 1, "title": "Add type hints", "status": "completed" },
                { "id": 2, "title": "Add docstrings", "status": "in-progress" },
                { "id": 3, "title": "Add main guard", "status": "not-started" },
            ] }),
        ),
    ];
    assert_eq!(samples.each_ref().map(|(dialect, _)| *dialect), ListDialect::ALL);
    for (dialect, arguments) in samples {
        let mut plan = Plan::default();
        let outcome = apply_call(&mut plan, dialect, &arguments);
        assert!(!outcome.is_error, "{dialect:?}: {}", outcome.content);
        assert_eq!(plan.render(), outcome.content);
        let mut items = plan.items().to_vec();
        for item in &mut items {
            assert_eq!(item.given_id.is_some(), dialect == ListDialect::ManageTodoList);
            item.given_id = None;
        }
        expect![[r#"
            1 Add type hints | Adding type hints | Completed
            2 Add docstrings | Adding docstrings | InProgress
            3 Add main guard | Adding main guard | Pending
        "#]]
        .assert_eq(
            &items
                .iter()
                .map(|item| {
                    let crate::plan::TodoItem { id, content, active_form, status, .. } = item;
                    format!("{id} {content} | {active_form} | {status:?}\n")
                })
                .collect::<String>(),
        );
    }
}

#[test]
fn todo_write() {
    let dialect = ListDialect::TodoWrite;
    // The other name of the list, statuses in any case, ids and priorities of older versions.
    check(
        dialect,
        json!({ "items": [
            { "id": "1", "content": "Read", "status": "COMPLETED", "activeForm": "Reading", "priority": "high" },
            { "id": "2", "content": "Write", "status": "In_Progress", "activeForm": "Writing it" },
        ] }),
        expect![[r#"
            [x] #1 Read
            [>] #2 Write <- Writing it

            (1/2 completed)"#]],
    );
    check(
        dialect,
        json!({ "todos": [
            { "content": "Read", "status": "done", "activeForm": "Reading" },
            { "content": "Write", "status": "in-progress" },
            { "content": "Send", "status": "pending", "activeForm": " " },
            { "content": "Wait", "status": "pending", "activeForm": null },
            { "content": "Rest", "status": "pending", "activeForm": ["Resting"] },
            {},
        ] }),
        expect![[r#"
            The list was not changed, because of:
            - #5.activeForm: must be a string, not an array
            - #6.content: is missing
            - #3.activeForm: is empty
            Correct this and send the whole list again."#]],
    );
}

/// The form of an item is taken as it comes; its meaning is not guessed.
#[test]
fn an_item_with_one_meaning_is_taken_in_any_spelling() {
    let wrote = |status: &str| json!({ "content": "Add a test", "status": status });
    let table = [
        (wrote("pending"), "[ ] #1 Add a test"),
        (wrote("todo"), "[ ] #1 Add a test"),
        (wrote("Not_Started"), "[ ] #1 Add a test"),
        (wrote("in progress"), "[>] #1 Add a test <- Adding a test"),
        (wrote("inProgress"), "[>] #1 Add a test <- Adding a test"),
        (wrote("doing"), "[>] #1 Add a test <- Adding a test"),
        (wrote("done"), "[x] #1 Add a test"),
        (wrote("blocked"), "[ ] #1 Add a test (blocked)"),
        (json!({ "content": "Add a test" }), "[ ] #1 Add a test"),
        (json!({ "title": "Add a test", "description": "of it" }), "[ ] #1 Add a test"),
        (json!({ "task": "Add a test", "content": null }), "[ ] #1 Add a test"),
        (json!(r#"{"content":"Add a test"}"#), "[ ] #1 Add a test"),
        (
            json!({ "step": "Add a test", "active_form": "Testing", "status": "in-progress" }),
            "[>] #1 Add a test <- Testing",
        ),
    ];
    for (item, expected) in table {
        for dialect in [ListDialect::TodoWrite, ListDialect::Todo, ListDialect::UpdatePlan] {
            let outcome =
                apply_call(&mut Plan::default(), dialect, &json!({ dialect.list_field(): [item] }));
            let first = outcome.content.lines().next();
            assert_eq!(first, Some(expected), "{dialect:?} {item}: {}", outcome.content);
        }
    }
    for status in ["failed", "paused", "", "in progress, nearly done"] {
        let call = json!({ "todos": [wrote(status)] });
        let outcome = apply_call(&mut Plan::default(), ListDialect::TodoWrite, &call);
        assert!(outcome.content.contains("#1.status: "), "{}", outcome.content);
    }
}

#[test]
fn todo() {
    let dialect = ListDialect::Todo;
    check(
        dialect,
        json!({ "items": [
            { "id": "a", "text": "Read", "status": "Done" },
            { "id": 7, "text": "Write", "status": "in_progress" },
            { "id": "", "text": "Send" },
            { "id": null, "text": "Wait", "status": null },
        ] }),
        expect![[r#"
            [x] #a Read
            [>] #7 Write <- Writing
            [ ] #3 Send
            [ ] #4 Wait

            (1/4 completed)"#]],
    );
    check(
        dialect,
        json!({ "items": [
            { "id": 1.5, "text": "Read" },
            { "id": "1", "content": "Write", "status": "todo" },
            { "id": 1, "text": "Send" },
            { "id": "a\nb", "text": "Wait" },
            { "id": "i".repeat(65), "text": "Rest" },
        ] }),
        expect![[r#"
            The list was not changed, because of:
            - #1.id: must be a string or a whole number, not a number
            - #4.id: contains the forbidden character U+000A
            - #5.id: is 65 characters long, but at most 64 are allowed
            - #3.id: "1" is already the id of #2
            Correct this and send the whole list again."#]],
    );
}

#[test]
fn todo_write_snake() {
    let dialect = ListDialect::TodoWriteSnake;
    // A text for the list, for the list with its field, for all arguments; no field at all.
    let list = r#"[{"content":"Read","status":"in_progress","id":"1","priority":"high"}]"#;
    let arguments = [
        json!({ "todos": list }),
        json!({ "todos": format!(r#"{{"todos":{list}}}"#) }),
        json!(format!(r#"{{"todos":{list}}}"#)),
        serde_json::from_str(list).expect("JSON"),
    ];
    for arguments in arguments {
        check(
            dialect,
            arguments,
            expect![[r#"
                [>] #1 Read <- Reading

                (0/1 completed)"#]],
        );
    }
    check(
        dialect,
        json!({ "todos": r#"[{"content":"Read","status":"in_progress"}"# }),
        expect![[r#"
            The list was not changed, because of:
            - todos: must be an array of objects, not a string
            Correct this and send the whole list again."#]],
    );
    check(
        dialect,
        json!({ "todos": r#"["Read", [], {"content":"Write","status":"cancelled"}]"# }),
        expect![[r#"
            The list was not changed, because of:
            - #1: must be an object, not a string
            - #2: must be an object, not an array
            Correct this and send the whole list again."#]],
    );
}

#[test]
fn update_plan() {
    let dialect = ListDialect::UpdatePlan;
    check(
        dialect,
        json!({ "plan": [
            { "step": "Inspect the repo", "status": "completed" },
            { "step": "Patch the loader", "status": "in_progress" },
        ] }),
        expect![[r#"
            [x] #1 Inspect the repo
            [>] #2 Patch the loader

            (1/2 completed)"#]],
    );
    check(
        dialect,
        json!({ "explanation": "Two at once", "plan": [
            { "step": "Inspect", "status": "in_progress" },
            { "step": "Patch", "status": "in_progress" },
            { "step": "Ship", "status": "inProgress" },
        ] }),
        expect![[r#"
            The list was not changed, because of:
            - #2.status: only one item may be in progress, and #1 already is
            - #3.status: only one item may be in progress, and #1 already is
            Correct this and send the whole list again."#]],
    );
}

#[test]
fn write_todos() {
    let dialect = ListDialect::WriteTodos;
    check(
        dialect,
        json!({ "todos": [
            { "description": "Read the schema", "status": "completed" },
            { "description": "Ask the owner", "status": "blocked" },
            { "description": "Draw it", "status": "Cancelled" },
            { "description": "Print it", "status": "canceled" },
            { "description": "Write the migration", "status": "in_progress" },
        ] }),
        expect![[r#"
            [x] #1 Read the schema
            [ ] #2 Ask the owner (blocked)
            [-] #3 Draw it
            [-] #4 Print it
            [>] #5 Write the migration <- Writing the migration

            (1/3 completed, 2 cancelled)"#]],
    );
    // What is cancelled does not count, but is checked.
    let mut todos = vec![json!({ "description": "Old", "status": "cancelled" }); 30];
    todos.extend(vec![json!({ "description": "New", "status": "pending" }); 20]);
    let outcome = apply_call(&mut Plan::default(), dialect, &json!({ "todos": todos }));
    assert!(outcome.content.ends_with("(0/20 completed, 30 cancelled)"), "{}", outcome.content);
    check(
        dialect,
        json!({ "todos": [
            { "description": "\t", "status": "cancelled" },
            { "description": "Two\nlines", "status": "blocked" },
            { "description": "Wait", "status": "paused" },
        ] }),
        expect![[r#"
            The list was not changed, because of:
            - #1.description: is empty
            - #2.description: contains the forbidden character U+000A
            - #3.status: "paused" is not a status; use pending, in_progress, completed, cancelled, blocked
            Correct this and send the whole list again."#]],
    );
}

#[test]
fn manage_todo_list() {
    let dialect = ListDialect::ManageTodoList;
    check(
        dialect,
        json!({ "operation": "write", "todoList": [
            { "id": 10, "title": "Read", "description": "src", "status": "Completed" },
            { "id": 20, "title": "Write", "status": "in_progress" },
            { "id": 30, "title": "Send", "status": "Not-Started" },
        ] }),
        expect![[r#"
            [x] #10 Read
            [>] #20 Write <- Writing
            [ ] #30 Send

            (1/3 completed)"#]],
    );
    check(
        dialect,
        json!({ "todoList": [
            { "id": 1, "title": "Read", "status": "not started" },
            { "id": "1", "title": "Write", "status": false },
        ] }),
        expect![[r#"
            The list was not changed, because of:
            - #2.status: must be a string, not a boolean
            - #2.id: "1" is already the id of #1
            Correct this and send the whole list again."#]],
    );
}

#[test]
fn a_model_gets_the_tool_of_its_family() {
    for (model, dialect) in [
        ("claude-sonnet-4-5", "todo-write"),
        ("us.anthropic.claude-opus-4-20250514-v1:0", "todo-write"),
        ("anthropic/claude-3.5-haiku", "todo-write"),
        ("gpt-5.1-codex-max", "update-plan"),
        ("openai/gpt-oss-120b", "update-plan"),
        ("openai/o3", "update-plan"),
        ("o4-mini", "update-plan"),
        ("codex-mini-latest", "update-plan"),
        ("allenai/olmo-2", "todo-write"),
        ("gemini-3-pro", "write-todos"),
        ("models/gemma-3-27b", "write-todos"),
        ("Qwen/Qwen3-Coder-480B", "todo-write-snake"),
        ("qwq-32b", "todo-write-snake"),
        ("copilot/gpt-5", "manage-todo-list"),
        ("openai/some-new-model", "todo-write"),
        ("local", "todo-write"),
        ("", "todo-write"),
    ] {
        assert_eq!(Dialect::for_model(model).name(), dialect, "{model}");
    }
}

#[test]
fn the_schema_of_each_tool_agrees_with_its_parser() {
    let shapes: String = ListDialect::ALL.iter().map(|dialect| shape(*dialect)).collect();
    expect![[r#"
        TodoWrite {todos: [{content, status: pending|in_progress|completed, activeForm}]}
        todo {items: [{id?, text, status?: pending|in_progress|completed}]}
        todo_write {todos: [{content, status: pending|in_progress|completed}]}
        update_plan {explanation?, plan: [{step, status: pending|in_progress|completed}]}
        write_todos {todos: [{description, status: pending|in_progress|completed|cancelled|blocked}]}
        manage_todo_list {todoList: [{id, title, status: not-started|in-progress|completed}]}
    "#]]
    .assert_eq(&shapes);

    // A call made by the schema alone is right.
    for dialect in ListDialect::ALL {
        let spec = dialect.spec(Teaching::Rules);
        let list = dialect.list_field();
        let properties = &spec.schema["properties"][list]["items"]["properties"];
        let mut item = Map::new();
        for (field, schema) in properties.as_object().expect("properties") {
            let value = match (&schema["enum"][0], schema["type"].as_str()) {
                (Value::Null, Some("integer")) => json!(1),
                (Value::Null, _) => json!("Some text"),
                (state, _) => state.clone(),
            };
            item.insert(field.clone(), value);
        }
        let outcome = apply_call(&mut Plan::default(), dialect, &json!({ list: [item] }));
        assert!(!outcome.is_error, "{dialect:?}: {}", outcome.content);
    }
}

/// The schema in short: `tool {list: [{field, optional?, choice: a|b}]}`.
fn shape(dialect: ListDialect) -> String {
    fn fields(object: &Value, nested: &dyn Fn(&Value) -> String) -> String {
        let required = object["required"].as_array().expect("required");
        let shown =
            object["properties"].as_object().expect("properties").iter().map(|(name, schema)| {
                let optional = if required.contains(&json!(name)) { "" } else { "?" };
                format!("{name}{optional}{}", nested(schema))
            });
        shown.collect::<Vec<_>>().join(", ")
    }
    let spec = dialect.spec(Teaching::Rules);
    assert_eq!(spec.name, dialect.tool_name());
    assert!(!spec.parallel);
    let item = |schema: &Value| match schema["enum"].as_array() {
        Some(states) => {
            let states: Vec<_> = states.iter().filter_map(Value::as_str).collect();
            format!(": {}", states.join("|"))
        }
        None => String::new(),
    };
    let list = |schema: &Value| match &schema["items"] {
        Value::Null => String::new(),
        items => format!(": [{{{}}}]", fields(items, &item)),
    };
    format!("{} {{{}}}\n", spec.name, fields(&spec.schema, &list))
}

#[test]
fn the_description_uses_the_names_of_its_dialect() {
    for dialect in ListDialect::ALL {
        let spec = dialect.spec(Teaching::Rules);
        let entry = dialect.entry();
        for word in [entry.list, entry.content].into_iter().chain(entry.states.iter().copied()) {
            assert!(spec.description.contains(&format!("`{word}`")), "{dialect:?}: {word}");
        }
        assert_eq!(spec.description.contains("`activeForm`"), dialect == ListDialect::TodoWrite);
    }
    let description = ListDialect::UpdatePlan.spec(Teaching::Examples).description;
    let (how, rest) = description.split_once("\n# When to use it\n").expect("a section");
    expect![[r#"
        Write down the plan for the task at hand and keep it true while you work. The user watches this list to see where you are.

        Every call sends the whole list as `plan` and replaces the old one; an empty list clears it. Each item has its text in `step` and a `status`: `pending`, `in_progress`, `completed`. At most 20 items, at most one of them in progress.
    "#]]
    .assert_eq(how);
    assert!(rest.contains("\n# Examples: do not use it\n"));
    let rules = ListDialect::UpdatePlan.spec(Teaching::Rules).description;
    assert!(description.starts_with(&rules) && !rules.contains("# Examples"), "{rules}");
    assert!(2 * rules.len() < description.len() + 500, "{} of {}", rules.len(), description.len());
}

#[test]
fn strong_models_get_the_rules_alone() {
    for strong in [
        "claude-sonnet-5-5",
        "anthropic/claude-opus-5",
        "gpt-5.6",
        "o3",
        "gemini-3-pro",
        "deepseek-chat",
    ] {
        assert_eq!(Teaching::for_model(strong), Teaching::Rules, "{strong}");
    }
    for other in ["qwen3-coder:30b", "gpt-oss-20b", "gpt-4o-mini", "llama3.1", "scripted", ""] {
        assert_eq!(Teaching::for_model(other), Teaching::Examples, "{other}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        3 => proptest::sample::select(vec![
            "todos", "items", "plan", "todoList", "id", "content", "text", "step", "description",
            "title", "status", "activeForm",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "(pending|in_progress|Completed|done|not-started|cancelled|blocked)".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner.clone()), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_json_is_parsed_without_a_panic(
        arguments in any_json(),
        list in proptest::collection::vec(any_json(), 0..4),
        dialect in proptest::sample::select(ListDialect::ALL.to_vec()),
    ) {
        let listed = json!({ dialect.list_field(): list });
        for arguments in [arguments, listed] {
            let mut plan = Plan::default();
            let outcome = apply_call(&mut plan, dialect, &arguments);
            prop_assert_eq!(outcome.is_error, plan.rev() == 0);
            // Reading may pass what the rules refuse, and never the other way round.
            let faulty = dialect.read(&arguments).1.or(()).is_err();
            prop_assert!(!faulty || outcome.is_error);
        }
    }
}
