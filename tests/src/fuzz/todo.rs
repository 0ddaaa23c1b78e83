//! Plans as models write them: every dialect, calls that are almost right, one after another.

use std::collections::BTreeSet;

use cairn_core::plan::{ListDialect, Plan, Status, TodoItem, apply_call, dialect::Teaching};
use serde_json::{Map, Value, json};

use super::{bytes::Bytes, tasks};

const FIELDS: [&str; 8] =
    ["content", "text", "step", "description", "title", "activeForm", "status", "id"];
const LISTS: [&str; 6] = ["todos", "items", "plan", "todoList", "todo_list", "explanation"];
const STATES: [&str; 14] = [
    "pending",
    "in_progress",
    "completed",
    "cancelled",
    "canceled",
    "blocked",
    "done",
    "not-started",
    "in-progress",
    "Completed",
    " pending ",
    "PENDING",
    "",
    "doing",
];
const TEXTS: [&str; 12] = [
    "Add a test",
    "Add two tests",
    "Fix the bug",
    "Fix the bug ",
    "fix",
    "1",
    "2",
    "3",
    "#1",
    " ",
    "a\nb",
    "a\u{202e}b",
];
const CALLS: usize = 6;

pub(super) fn run(input: &[u8]) {
    let mut choices = Bytes::new(input);
    let kind = choices.below(8);
    match kind {
        0 => raw(choices),
        1 | 2 => tasks::run(&mut choices),
        _ => {
            let mut desk = TestDaemon::default();
            let mut dialect = choices.one_of(&ListDialect::ALL);
            for _ in 0..CALLS {
                if choices.one_in(8) {
                    dialect = choices.one_of(&ListDialect::ALL);
                }
                let arguments = arguments(dialect, &mut choices);
                desk.call(dialect, &arguments);
            }
        }
    }
}

/// The bytes as JSON of their own, two calls of them.
fn raw(mut choices: Bytes<'_>) {
    let dialect = choices.one_of(&ListDialect::ALL);
    let mut desk = TestDaemon::default();
    for text in choices.rest().split(|byte| *byte == 0).take(3) {
        let Ok(arguments) = serde_json::from_slice(text) else { continue };
        desk.call(dialect, &arguments);
        tasks::raw(&arguments);
    }
}

#[derive(Default)]
struct TestDaemon {
    plan: Plan,
    /// Every id there ever was.
    ids: BTreeSet<String>,
}

impl TestDaemon {
    fn call(&mut self, dialect: ListDialect, arguments: &Value) {
        let before = self.plan.clone();
        let outcome = apply_call(&mut self.plan, dialect, arguments);
        let said = || format!("{dialect:?} {arguments}: {}", outcome.content);
        assert_eq!(outcome.is_error, outcome.accepted.is_none(), "{}", said());
        check_faults(dialect, arguments, &outcome.content);
        if outcome.is_error {
            assert_eq!(self.plan, before, "a faulty call changed the plan: {}", said());
            assert!(outcome.content.contains(":"), "no fault is named: {}", said());
            return;
        }
        assert_eq!(self.plan.rev(), before.rev() + 1, "{}", said());
        self.check_items(&before, &said);
        let kept: Plan = serde_json::from_value(json!(self.plan)).unwrap();
        assert_eq!(kept, self.plan, "not the same from the journal: {}", said());
    }

    fn check_items(&mut self, before: &Plan, said: &impl Fn() -> String) {
        let items = self.plan.items();
        assert!(items.len() <= 20, "{} items: {}", items.len(), said());
        let working = items.iter().filter(|item| item.status == Status::InProgress).count();
        assert!(working < 2, "{working} in progress: {}", said());
        for (what, name) in
            [("id", (|item| &item.id) as fn(&TodoItem) -> &str), ("label", |item| item.label())]
        {
            let names: BTreeSet<&str> = items.iter().map(name).collect();
            assert_eq!(names.len(), items.len(), "two items with one {what}: {}", said());
        }
        let cancelled = said().to_lowercase().contains("cancel");
        for item in items {
            let text = |text: &str| !text.is_empty() && text.trim() == text && text.len() <= 4000;
            assert!(text(&item.content) && text(&item.active_form), "{item:?}: {}", said());
            let line = format!("{}{}{}", item.content, item.active_form, item.label());
            assert!(!line.chars().any(char::is_control), "{item:?}: {}", said());
            // An id is kept from the list before, or never was one.
            let kept = before.items().iter().any(|old| old.id == item.id);
            assert!(kept || !self.ids.contains(&item.id), "an id comes back: {}", said());
            // The only one with its text in both lists is the same, unless it was cancelled by name.
            let alone = |items: &[TodoItem]| {
                let mut same = items.iter().filter(|other| other.content == item.content);
                same.next().filter(|_| same.next().is_none()).map(|only| only.id.clone())
            };
            if let (Some(old), Some(new), false) = (alone(before.items()), alone(items), cancelled)
            {
                assert_eq!(old, new, "{:?} has a new id: {}", item.content, said());
            }
        }
        self.ids.extend(items.iter().map(|item| item.id.clone()));
    }
}

/// Every item that is faulty by itself is named by its index in the whole list.
fn check_faults(dialect: ListDialect, arguments: &Value, said: &str) {
    const LISTED: usize = 40;
    let list = match arguments {
        Value::Array(items) => items,
        Value::Object(fields) if fields.len() == 1 => match fields.values().next() {
            Some(Value::Array(items)) => items,
            _ => return,
        },
        _ => return,
    };
    let faults = said.strip_prefix("The list was not changed, because of:\n").unwrap_or_default();
    for named in faults.lines().filter_map(|line| line.strip_prefix("- #")) {
        let number: String = named.chars().take_while(char::is_ascii_digit).collect();
        assert!(number.parse().is_ok_and(|number: usize| number <= list.len()), "{named}: {said}");
    }
    if list.len() > LISTED / 4
        || matches!(arguments, Value::Object(fields) if !fields.keys().all(|name| LISTS[..5].contains(&name.as_str())))
    {
        return;
    }
    for (index, item) in list.iter().enumerate() {
        let alone = apply_call(&mut Plan::default(), dialect, &json!([item]));
        if alone.is_error {
            assert!(said.contains(&format!("- #{}", index + 1)), "{index} is not named in {said}");
        }
    }
}

/// Most often as the dialect wants it.
fn arguments(dialect: ListDialect, choices: &mut Bytes<'_>) -> Value {
    let schema = dialect.spec(Teaching::Rules).schema;
    let list = schema["required"][0].as_str().unwrap().to_owned();
    let item = &schema["properties"][&list]["items"]["properties"];
    let content =
        item.as_object().unwrap().keys().find(|name| FIELDS[..5].contains(&name.as_str()));
    let content = content.unwrap().clone();
    let count = if choices.one_in(16) { choices.below(256) } else { choices.below(8) };
    let items = (0..count).map(|_| self::item(&content, choices)).collect();
    match choices.below(16) {
        0 => Value::Array(items),
        1 => json!(Value::Array(items).to_string()),
        2 => json!({ &list: Value::Array(items).to_string() }),
        3 => json!({ &list: { &list: items } }),
        4 => json!({ choices.one_of(&LISTS): items }),
        5 => odd(choices),
        6 => json!({ &list: odd(choices) }),
        _ => json!({ &list: items }),
    }
}

fn item(content: &str, choices: &mut Bytes<'_>) -> Value {
    if choices.one_in(32) {
        return odd(choices);
    }
    let mut item = Map::new();
    item.insert(content.to_owned(), text(choices));
    let status = choices.one_of(&STATES);
    let status = if choices.one_in(32) { odd(choices) } else { json!(status) };
    item.insert("status".to_owned(), status);
    let more = choices.byte();
    if more & 1 == 0 {
        item.insert("activeForm".to_owned(), text(choices));
    }
    if more & 2 != 0 {
        let id = match choices.below(4) {
            0 => json!(choices.below(5)),
            1 => odd(choices),
            _ => text(choices),
        };
        item.insert("id".to_owned(), id);
    }
    if more & 28 == 28 {
        item.shift_remove(choices.one_of(&FIELDS));
    }
    if more & 224 == 224 {
        item.insert(choices.one_of(&FIELDS).to_owned(), odd(choices));
    }
    Value::Object(item)
}

pub(super) fn text(choices: &mut Bytes<'_>) -> Value {
    match choices.below(8) {
        0 => json!(choices.text(40)),
        1 => json!("x".repeat(choices.below(256) * 8)),
        2 => json!(format!("{}{}", choices.one_of(&TEXTS), choices.one_of(&TEXTS))),
        _ => json!(choices.one_of(&TEXTS)),
    }
}

/// Values that no schema has.
pub(super) fn odd(choices: &mut Bytes<'_>) -> Value {
    match choices.below(12) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(choices.byte()),
        3 => json!(-1),
        4 => json!(1.5),
        5 => json!(u64::MAX),
        6 => json!(i64::MIN),
        7 => json!([]),
        8 => json!({}),
        9 => json!([text(choices)]),
        10 => json!({ "todos": text(choices) }),
        _ => text(choices),
    }
}
