use std::{
    collections::BTreeMap,
    os::unix::fs::{PermissionsExt, symlink},
};

use cairn_core::plan::{
    Faults,
    graph::{TaskOutcome, TaskTool},
};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

struct Fixture {
    state: tempfile::TempDir,
    list: TaskList,
}

impl Fixture {
    fn new() -> Self {
        let state = tempfile::tempdir().expect("a temporary folder");
        let list = TaskList::new(state.path(), "s-1").expect("a list");
        Self { state, list }
    }

    fn call(&self, tool: TaskTool, arguments: Value) -> Result<TaskOutcome, Faults> {
        let request = tool.read(&arguments);
        self.list.change(|graph| graph.apply(&request)).expect("a list that can be used").0
    }

    fn create(&self, subject: &str) -> u32 {
        let outcome = self.call(TaskTool::Create, json!({ "subject": subject }));
        outcome.expect("no fault").created[0]
    }

    fn update(&self, arguments: Value) {
        self.call(TaskTool::Update, arguments).expect("no fault");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.list.folder.join(name)
    }

    /// All files of the list with their contents.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(&self.list.folder).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry"))
            .filter(|entry| entry.file_type().expect("a type").is_file())
            .map(|entry| {
                let name = entry.file_name().into_string().expect("a name");
                (name, fs::read(entry.path()).expect("a file"))
            })
            .collect()
    }
}

#[test]
fn a_used_list_is_restored_and_an_unused_one_has_no_folder() {
    let fixture = Fixture::new();
    assert_eq!(fixture.list.read().expect("an empty list").graph, Graph::default());
    assert_eq!(
        fs::read_dir(fixture.state.path()).expect("a folder").count(),
        0,
        "a look makes nothing"
    );
    let faulty = fixture.call(TaskTool::Update, json!({ "taskId": 1, "status": "completed" }));
    assert!(faulty.is_err());
    assert_eq!(
        fs::read_dir(fixture.state.path()).expect("a folder").count(),
        0,
        "nor does a fault"
    );
    fixture.create("Add type hints");
    fixture.create("Add docstrings");
    fixture.update(json!({ "taskId": 1, "addBlocks": [2], "status": "in_progress" }));
    let again =
        TaskList::new(fixture.state.path(), "s-1").expect("a list").read().expect("readable");
    expect![[r#"
        [>] #1 Add type hints <- Adding type hints
        [ ] #2 Add docstrings (blocked by #1)

        (0/2 completed)"#]]
    .assert_eq(&again.graph.render());
    assert_eq!(again.damage, Vec::<String>::new());
    let names: Vec<String> = fixture.files().into_keys().collect();
    assert_eq!(names, [".lock", "1.json", "2.json", "high-water-mark"]);
    expect![[r#"
        {
          "version": 1,
          "task": {
            "id": 2,
            "subject": "Add docstrings",
            "description": "",
            "activeForm": "Adding docstrings",
            "status": "pending",
            "owner": null,
            "blockedBy": [
              1
            ],
            "metadata": {}
          }
        }"#]]
    .assert_eq(&fs::read_to_string(fixture.path("2.json")).expect("a file"));
    // Another list is another list.
    let other = TaskList::new(fixture.state.path(), "s-2").expect("a list");
    assert_eq!(other.read().expect("readable").graph, Graph::default());
}

#[test]
fn a_list_is_private() {
    let fixture = Fixture::new();
    fixture.create("Add type hints");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    for folder in ["tasks", "tasks/s-1"] {
        assert_eq!(mode(&fixture.state.path().join(folder)), 0o700, "{folder}");
    }
    for name in fixture.files().keys() {
        assert_eq!(mode(&fixture.path(name)), 0o600, "{name}");
    }
}

#[test]
fn a_list_id_that_is_a_path_is_refused() {
    for id in ["", "..", "a/b", "/etc", "a\0", "ä", &"x".repeat(101)] {
        assert!(TaskList::new(Path::new("/state"), id).is_err(), "{id:?}");
    }
}

#[test]
fn ids_are_not_reused() {
    let fixture = Fixture::new();
    assert_eq!((fixture.create("One"), fixture.create("Two")), (1, 2));
    fs::remove_file(fixture.path("2.json")).expect("removed by hand");
    assert_eq!(fixture.create("Three"), 3);
    fs::remove_file(fixture.path(HIGH_WATER)).expect("removed by hand");
    fs::write(fixture.path("9.json"), "").expect("a file");
    assert_eq!(fixture.create("Ten"), 10);
}

#[test]
fn a_faulty_call_writes_nothing() {
    let fixture = Fixture::new();
    fixture.create("One");
    let before = fixture.files();
    let arguments = json!({ "taskId": 1, "status": "completed", "addBlockedBy": [1] });
    assert!(fixture.call(TaskTool::Update, arguments).is_err());
    assert_eq!(fixture.files(), before);
}

#[test]
fn temporary_files_of_a_dead_writer_are_removed() {
    let fixture = Fixture::new();
    fixture.create("One");
    let whole = fs::read(fixture.path("1.json")).expect("a file");
    for cut in [0, whole.len() / 2, whole.len()] {
        fs::write(fixture.path(&format!(".new-{cut}")), &whole[..cut]).expect("a file");
    }
    let found = fixture.list.read().expect("readable");
    assert_eq!((found.graph.tasks().count(), found.damage), (1, Vec::new()));
    fixture.create("Two");
    let names: Vec<String> = fixture.files().into_keys().collect();
    assert_eq!(names, [".lock", "1.json", "2.json", "high-water-mark"]);
}

/// Puts this in the place of task #2; what is said of it, after seeing that all goes on and that
/// it is left as it was.
fn hostile(text: &[u8], expect: Expect) {
    let fixture = Fixture::new();
    fixture.create("One");
    fixture.create("Two");
    fixture.create("Three");
    fixture.update(json!({ "taskId": 2, "addBlocks": [3] }));
    fs::write(fixture.path("2.json"), text).expect("a file");

    let found = fixture.list.read().expect("readable");
    let [damage, consequence] = found.damage.as_slice() else { panic!("{:?}", found.damage) };
    expect.assert_eq(damage);
    assert!(consequence.starts_with("#3 can never begin: "), "{consequence}");
    let ids: Vec<u32> = found.graph.tasks().map(|task| task.id).collect();
    assert_eq!(ids, [1, 3]);
    assert!(fixture.call(TaskTool::Update, json!({ "taskId": 2, "status": "completed" })).is_err());
    // What waits for it goes on waiting: nobody knows whether it is done.
    assert!(fixture.call(TaskTool::Update, json!({ "taskId": 3, "status": "completed" })).is_err());
    fixture.update(json!({ "taskId": 1, "status": "completed" }));
    assert_eq!(fixture.create("Four"), 4);
    assert_eq!(fixture.files()["2.json"], text);
}

#[test]
fn hostile_files_are_reported_and_left_unchanged() {
    let task = json!({
        "id": 2, "subject": "Two", "description": "", "activeForm": "Two", "status": "pending",
        "owner": null, "blockedBy": [], "metadata": {},
    });
    let with = |field: &str, value: Value| {
        let mut task = task.clone();
        task[field] = value;
        json!({ "version": 1, "task": task }).to_string()
    };
    let check = |text: String, expect: Expect| hostile(text.as_bytes(), expect);
    check(String::new(), expect![[r#"2.json: EOF while parsing a value at line 1 column 0"#]]);
    hostile(b"\xff\xfe\0", expect![[r#"2.json: stream did not contain valid UTF-8"#]]);
    check(
        "[".repeat(100_000),
        expect![[r#"2.json: recursion limit exceeded at line 1 column 128"#]],
    );
    check("7".into(), expect![[r#"2.json: has no version"#]]);
    check(
        json!({ "version": 2, "task": task }).to_string(),
        expect![[r#"2.json: is of version 2, and this Cairn knows version 1"#]],
    );
    check(
        json!({ "version": 1, "task": [] }).to_string(),
        expect![[r#"2.json: invalid length 0, expected a task"#]],
    );
    check(with("id", json!(7)), expect![[r#"2.json: holds the task #7"#]]);
    check(with("id", json!(-1)), expect![[r#"2.json: invalid value: integer `-1`, expected u32"#]]);
    check(
        with("status", json!("done")),
        expect![
            "2.json: unknown variant `done`, expected one of `pending`, `in_progress`, `completed`, `cancelled`"
        ],
    );
    check(
        with("subject", json!("\u{1b}[31m")),
        expect![[r#"2.json: subject: contains the forbidden character U+001B"#]],
    );
    check(
        with("a\u{202e}\n", json!(1)),
        expect![[
            r#"2.json: unknown field `a\u{202e}\n`, expected one of `id`, `subject`, `description`, `activeForm`, `status`, `owner`, `blockedBy`, `metadata`"#
        ]],
    );
    let huge = with("description", json!("Much")) + &" ".repeat(300_000);
    check(huge, expect!["2.json: is 300146 bytes long"]);
}

#[test]
fn a_cycle_on_disk_is_reported() {
    let fixture = Fixture::new();
    fixture.create("One");
    fixture.create("Two");
    fixture.update(json!({ "taskId": 1, "addBlocks": [2] }));
    let text = fs::read_to_string(fixture.path("1.json")).expect("a file");
    fs::write(fixture.path("1.json"), text.replace("\"blockedBy\": []", "\"blockedBy\": [2]"))
        .expect("a file");
    expect!["#1, #2 can never begin: they wait in a circle or for a task that is not there"]
        .assert_eq(&fixture.list.read().expect("readable").damage.join("\n"));
}

#[test]
fn links_pipes_and_folders_are_not_read() {
    let fixture = Fixture::new();
    fixture.create("One");
    let secret = fixture.state.path().join("secret");
    fs::write(&secret, fs::read(fixture.path("1.json")).expect("a file")).expect("a file");
    fs::remove_file(fixture.path("1.json")).expect("removed");
    symlink(&secret, fixture.path("1.json")).expect("a link");
    fs::create_dir(fixture.path("2.json")).expect("a folder");
    fs::write(fixture.path("03.json"), "not ours").expect("a file");
    fs::write(fixture.path("notes.txt"), "not ours").expect("a file");
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, fixture.path("4.json"), fifo, mode, 0).expect("a pipe");
    let found = fixture.list.read().expect("readable, without a wait");
    let names: Vec<&str> =
        found.damage.iter().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(names, ["1.json", "2.json", "4.json"]);
    assert_eq!(fixture.create("Five"), 5);
}

#[test]
fn without_a_readable_high_water_mark_no_id_is_assigned() {
    let fixture = Fixture::new();
    fixture.create("One");
    fs::write(fixture.path(HIGH_WATER), "many").expect("a file");
    let request = TaskTool::Create.read(&json!({ "subject": "Two" }));
    let refused = fixture.list.change(|graph| graph.apply(&request)).expect_err("no number");
    assert!(format!("{refused:#}").contains("mend it or remove it"), "{refused:#}");
    assert_eq!(fixture.files().len(), 3, "nothing was written");
    fixture.update(json!({ "taskId": 1, "status": "completed" }));
    assert_eq!(fixture.files()[HIGH_WATER], b"many");
}

#[test]
fn a_lock_that_is_held_too_long_is_an_error() {
    let fixture = Fixture::new();
    fixture.create("One");
    let held = fixture.list.lock().expect("free");
    let hasty = TaskList { lock_wait: Duration::from_millis(30), ..fixture.list.clone() };
    let refused = hasty.read().expect_err("held");
    assert!(refused.to_string().contains("another process has held the task list"), "{refused}");
    drop(held);
    hasty.read().expect("free again");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let fixture = Fixture::new();
    fs::write(fixture.state.path().join("tasks"), "in the way").expect("a file");
    let request = TaskTool::Create.read(&json!({ "subject": "One" }));
    let refused = fixture.list.change(|graph| graph.apply(&request)).expect_err("in the way");
    assert!(format!("{refused:#}").contains("s-1 cannot be made"), "{refused:#}");
}
