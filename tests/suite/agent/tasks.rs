//! Task graph: planning with it, hooks of tasks, and concurrent processes that write one list.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio, time::Duration};

use cairn::store::tasks::TaskList;
use cairn_protocol::{EndReason, Notice, PlanNotification, ToolState};
use cairn_tests::model_server::{Reply, assert_append_only};
use expect_test::expect;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::fixtures::*;

fn tasks() -> Value {
    json!({ "plan": { "dialect": "tasks", "initialReminder": false } })
}

fn create(id: &str, subject: &str) -> Reply {
    call(id, "TaskCreate", json!({ "subject": subject }))
}

fn update(id: &str, arguments: Value) -> Reply {
    call(id, "TaskUpdate", arguments)
}

fn status(id: &str, task: u32, status: &str) -> Reply {
    update(id, json!({ "taskId": task, "status": status }))
}

/// A plan in short, a line an item.
fn shown(plan: &PlanNotification) -> String {
    let mut out = format!("{:?} {}/{}\n", plan.panel, plan.completed, plan.total);
    for item in &plan.items {
        let mark = mark(item.status);
        assert_eq!(item.blocked, !item.blocked_by.is_empty());
        let blocked = match item.blocked_by.as_slice() {
            [] => String::new(),
            by => format!(" blocked by {}", by.join(", ")),
        };
        let calls = if item.calls > 0 { format!(", {} calls", item.calls) } else { String::new() };
        out.push_str(&format!("  [{mark}] {} {}{blocked}{calls}\n", item.id, item.content));
    }
    out
}

/// All plans of a turn that differ from the one before.
fn plans(test: &TestDaemon, turn_id: &str) -> String {
    let notices = test.editor.notices();
    let mut plans: Vec<String> = notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Plan(plan) if plan.turn_id == turn_id => Some(shown(plan)),
            _ => None,
        })
        .collect();
    plans.dedup();
    plans.concat()
}

#[tokio::test]
async fn a_session_plans_with_the_task_graph() {
    for wire in BOTH {
        let test = TestDaemon::with(wire, &[("a", "x\n")], tasks()).await;
        let both = create("c1", "Write the backup").call(
            "c2",
            "TaskCreate",
            json!({ "subject": "Run the migration" }),
        );
        let end = test
            .play([
                both,
                update("c3", json!({ "taskId": 2, "addBlockedBy": ["1"] })),
                status("c4", 2, "in_progress"),
                status("c5", 1, "in_progress"),
                call("c6", "read_file", json!({ "path": "a" })),
                status("c7", 1, "completed"),
                say("The backup is written."),
            ])
            .await;
        assert_eq!((end.reason, end.open_items), (EndReason::Completed, 1));
        expect![[r#"
            Expanded 0/1
              [ ] 1 Write the backup
            Expanded 0/2
              [ ] 1 Write the backup
              [ ] 2 Run the migration
            Expanded 0/2
              [ ] 1 Write the backup
              [ ] 2 Run the migration blocked by 1
            Expanded 0/2
              [>] 1 Write the backup
              [ ] 2 Run the migration blocked by 1
            Expanded 0/2
              [>] 1 Write the backup, 1 calls
              [ ] 2 Run the migration blocked by 1
            Expanded 1/2
              [x] 1 Write the backup, 1 calls
              [ ] 2 Run the migration
            Collapsed 1/2
              [x] 1 Write the backup, 1 calls
              [ ] 2 Run the migration
        "#]]
        .assert_eq(&plans(&test, &end.turn_id));
        let story = story(&test.editor.notices(), &end.turn_id);
        for line in [
            "c2: Add task: Run the migration: Queued Running Done",
            "c4: Start task #2: Queued Running Failed",
            "c7: Complete task #1: Queued Running Done",
        ] {
            assert!(story.contains(line), "{story}");
        }
        // The conversation keeps its list; another one begins with none.
        let again =
            test.play_on(&end.session_id, [call("d1", "TaskList", json!({})), say("1 left.")]);
        let again = again.await;
        assert_eq!(plans(&test, &again.turn_id), "", "a look changes nothing");
        test.play([call("e1", "TaskList", json!({})), say("Nothing.")]).await;
        let folder = test.state().join("tasks").join(&end.session_id);
        assert!(folder.join("2.json").exists());
        assert_eq!(fs::read_dir(test.state().join("tasks")).unwrap().count(), 1);

        let requests = test.finish().await;
        assert_append_only(&requests[..9]);
        expect![[r#"
            Nothing was changed, because of:
            - status: it still waits for #1
            Correct this and make the call again."#]]
        .assert_eq(&result(&requests[3], "c4"));
        expect![[r#"
            Updated #1.
            Unblocked: #2 Run the migration

            [x] #1 Write the backup
            [ ] #2 Run the migration

            (1/2 completed)"#]]
        .assert_eq(&result(&requests[6], "c7"));
        assert!(result(&requests[8], "d1").contains("[ ] #2 Run the migration"));
        assert_eq!(result(&requests[10], "e1"), "No tasks.");
    }
}

#[tokio::test]
async fn a_task_completed_hook_can_refuse_the_completion() {
    for wire in BOTH {
        let mut settings = tasks();
        settings["hooks"] = json!({
            "taskCreated": ["cat > created.json; echo noted; exit 3"],
            "taskCompleted": ["cat > completed.json; test -f ok || { echo 'Not without ok' >&2; exit 1; }"],
        });
        let test = TestDaemon::with(wire, &[], settings).await;
        test.editor.will_answer(allow());
        let end = test
            .play([
                create("c1", "Write ok"),
                status("c2", 1, "completed"),
                bash("c3", "touch ok"),
                status("c4", 1, "completed"),
                say("Done."),
            ])
            .await;
        assert_eq!((end.reason, end.open_items), (EndReason::Completed, 0));
        let task = |name: &str| -> Value {
            let read: Value = serde_json::from_str(&test.disk(name)).unwrap();
            read["task"].clone()
        };
        assert_eq!(task("created.json")["status"], "pending");
        expect![[r#"{"id":1,"subject":"Write ok","description":"","activeForm":"Writing ok","status":"completed","owner":null,"blockedBy":[],"metadata":{},"blocks":[]}"#]]
            .assert_eq(&task("completed.json").to_string());
        let shown = |call: &str| {
            let notices = test.editor.notices().into_iter().rev();
            let mut tools = notices.filter_map(|notice| match notice {
                Notice::Tool(tool) if tool.call_id == call => Some((tool.state, tool.detail)),
                _ => None,
            });
            tools.next().unwrap()
        };
        let (state, refused) = shown("c2");
        assert!(state == ToolState::Failed && refused.unwrap().ends_with("Not without ok"));
        assert_eq!(shown("c4").0, ToolState::Done);
        let requests = test.finish().await;
        expect![[r#"
            Created #1 Write ok.

            [ ] #1 Write ok

            (0/1 completed)
            [cairn] words of a hook:
            The hook taskCreated exited with 3:
            noted
            [cairn] end of the words of a hook"#]]
        .assert_eq(&result(&requests[1], "c1"));
        expect![[r#"
            Nothing was changed: the user's own check of completed tasks refused. The hook taskCompleted exited with 1:
            Not without ok"#]]
        .assert_eq(&result(&requests[2], "c2"));
        assert!(result(&requests[4], "c4").contains("[x] #1 Write ok"));
    }
}

#[tokio::test]
async fn cancel_kills_a_running_hook() {
    let marker = marker();
    let mut settings = tasks();
    settings["hooks"] = json!({ "taskCompleted": [format!("sleep {marker}")] });
    let test = TestDaemon::with(BOTH[0], &[], settings).await;
    test.script([create("c1", "Wait"), status("c2", 1, "completed")]);
    let turn = test.editor.run_task("Do it").await;
    until_running(&marker).await;
    test.cancel(&turn).await;
    until_gone(&marker).await;
    let list = TaskList::new(test.state(), &turn.session_id).unwrap();
    assert!(list.read().unwrap().graph.tasks().all(|task| task.is_open()));
    test.finish().await;
}

struct TaskWriter {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    seed: u32,
}

impl TaskWriter {
    fn start(state: &Path, seed: u32, calls: u32) -> Self {
        #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
        let mut child = Command::new(env!("CARGO_BIN_EXE_task_writer"))
            .arg(state)
            .args(["s-1", &seed.to_string(), &calls.to_string()])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, seed }
    }

    /// Ids reported as created, at most so many.
    async fn told(&mut self, most: usize) -> Vec<(u32, String)> {
        let mut told = Vec::new();
        while told.len() < most {
            let Some(line) = self.lines.next_line().await.unwrap() else { break };
            // A line that was cut by the kill was not received.
            if let Some((id, subject)) = line.split_once(' ')
                && subject.starts_with(&format!("{}-", self.seed))
            {
                told.push((id.parse().unwrap(), subject.to_owned()));
            }
        }
        told
    }
}

/// Two processes work to their end, two are killed again and again in the middle of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_processes_lose_no_task_of_one_list() {
    const CALLS: u32 = 600;
    const LIVES: u32 = 8;
    let state = tempfile::tempdir().unwrap();
    let folder = state.path().to_owned();
    let mut workers = tokio::task::JoinSet::new();
    for seed in [1, 2] {
        let mut writer = TaskWriter::start(&folder, seed, CALLS);
        workers.spawn(async move {
            let told = writer.told(usize::MAX).await;
            assert!(writer.child.wait().await.unwrap().success());
            told
        });
    }
    for victim in [3, 4] {
        let folder = folder.clone();
        workers.spawn(async move {
            let mut told = Vec::new();
            for life in 0..LIVES {
                let mut writer = TaskWriter::start(&folder, victim * 100 + life, CALLS);
                told.extend(writer.told(2).await);
                writer.child.kill().await.unwrap();
                told.extend(writer.told(usize::MAX).await);
            }
            told
        });
    }
    let told = timeout(Duration::from_secs(60), workers.join_all()).await.unwrap();

    let list = TaskList::new(&folder, "s-1").unwrap();
    let found = list.read().unwrap();
    assert_eq!(found.damage, Vec::<String>::new());
    assert_eq!(found.graph.stuck(), Vec::<u32>::new());
    let kept: BTreeMap<u32, &str> =
        found.graph.tasks().map(|task| (task.id, task.subject.as_str())).collect();
    let told: Vec<(u32, String)> = told.into_iter().flatten().collect();
    assert!(told.len() > 50, "{} tasks are no test", told.len());
    let mut ids: Vec<u32> = told.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), told.len(), "an id was given twice");
    for (id, subject) in &told {
        assert_eq!(kept.get(id), Some(&subject.as_str()), "#{id} was told to be there");
    }
    // A process may die after its task was made and before it told, once a life.
    let deaths = 2 * LIVES as usize;
    assert!(kept.len() - told.len() <= deaths, "{} kept, {} told", kept.len(), told.len());
    assert!(found.graph.last_id() as usize - kept.len() <= deaths);
    // Nothing is left of the dead once someone writes again.
    list.change(|_| Ok::<_, ()>(())).unwrap().0.unwrap();
    let torn = fs::read_dir(folder.join("tasks/s-1"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".new-"));
    assert_eq!(torn.count(), 0);
}
