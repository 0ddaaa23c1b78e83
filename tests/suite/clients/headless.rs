//! `cairn run`: tasks, permissions, exit codes. `headless/` has models, sessions, options and formats.

mod models;
mod options;
mod prompts;
mod sessions;

use std::{
    fs,
    process::{Output, Stdio},
    time::Duration,
};

use cairn_tests::lsp_client::start;
use expect_test::{Expect, expect};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fixtures;

const LIMIT: Duration = Duration::from_secs(10);

/// A folder with a file and a script, and folders of state and configuration of its own.
struct Run {
    folder: tempfile::TempDir,
    arguments: Vec<String>,
}

/// Exit code, standard output and standard error.
struct Told {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Run {
    fn new(steps: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("a.txt"), "one\r\ntwo\r\nthree\r\n").unwrap();
        let script = folder.path().join("script.json");
        let script_text = match steps {
            Value::Array(_) => json!({ "cairnReplay": 1, "steps": steps }),
            whole => whole,
        };
        fs::write(&script, script_text.to_string()).unwrap();
        let path = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
        let arguments = ["run", "Do it", "--workspace", &path(work), "--replay", &path(script)]
            .map(str::to_owned)
            .into();
        Self { folder, arguments }
    }

    fn with(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join("work").join(name)).unwrap()
    }

    async fn finish(&self) -> (Option<i32>, String) {
        let told = self.told(&self.arguments).await;
        (told.code, told.out)
    }

    /// Runs `cairn` in the folder of this run with these arguments.
    async fn told(&self, arguments: &[String]) -> Told {
        let child = start(|command| {
            command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
            self.environment(command);
        });
        told(timeout(LIMIT, child.wait_with_output()).await.expect("it ends").unwrap())
    }

    /// Sets the folders of this run, and removes what chooses a model.
    fn environment(&self, command: &mut tokio::process::Command) {
        for name in ["CAIRN_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"] {
            command.env_remove(name);
        }
        command.env("CAIRN_STATE_DIR", self.folder.path().join("state"));
        command.env("CAIRN_CONFIG_DIR", self.folder.path().join("config"));
        command.current_dir(self.folder.path().join("work"));
    }
}

fn told(output: Output) -> Told {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Output without the times of calls, which differ from run to run.
fn without_times(out: &str) -> String {
    let lines = out.split_inclusive('\n').map(|line| match line.rsplit_once(", ") {
        Some((call, time)) if line.contains("  - ") && time.ends_with("s)\n") => {
            format!("{call})\n")
        }
        _ => line.to_owned(),
    });
    lines.collect()
}

fn bash(command: &str) -> Value {
    json!({ "calls": [{ "name": "bash", "arguments": { "command": command } }] })
}

#[tokio::test]
async fn subagents_work_in_headless_runs() {
    let task = json!({ "name": "task", "arguments": { "description": "Change it", "prompt": "Make two 2." } });
    let edit = json!({ "name": "edit_file", "arguments": { "path": "a.txt", "old_text": "two", "new_text": "2" } });
    let run = Run::new(json!({
        "cairnReplay": 1,
        "steps": [
            { "calls": [task] },
            { "expect": { "lastContains": ["It changed a.txt", "It is 2 now."] }, "text": "Done." },
        ],
        "subagents": [{ "prompt": "Make two 2", "steps": [
            { "calls": [{ "name": "read_file", "arguments": { "path": "a.txt" } }] },
            { "calls": [edit] },
            { "text": "It is 2 now." },
        ] }],
    }));
    let (code, out) = run.finish().await;
    let out = without_times(&out);
    expect![[r#"
          - Task: Change it (started)
              - Read a.txt (done)
              - Edit a.txt (done)
          - Task: Change it (done)

        Done.

        --- a/a.txt
        +++ b/a.txt
        @@ -1,3 +1,3 @@
         one
        -two
        +2
         three
    "#]]
    .assert_eq(&out.replace('\r', ""));
    assert_eq!((code, run.read("a.txt").as_str()), (Some(0), "one\r\n2\r\nthree\r\n"));
}

#[tokio::test]
async fn a_headless_run_does_the_task_and_shows_the_changes() {
    let todo = |first: &str, second: &str| {
        let item = |content: &str, status: &str| json!({ "content": content, "status": status, "activeForm": format!("{content}…") });
        json!({ "name": "TodoWrite", "arguments": { "todos": [item("Edit", first), item("Test", second)] } })
    };
    let edit = json!({ "name": "edit_file", "arguments": { "path": "a.txt", "old_text": "two", "new_text": "2" } });
    let write =
        json!({ "name": "write_file", "arguments": { "path": "new/b.txt", "content": "b\n" } });
    let run = Run::new(json!([
        { "text": "I begin.", "chunkChars": 3, "calls": [todo("in_progress", "pending"), edit, write] },
        { "calls": [todo("completed", "in_progress"),
            { "name": "bash", "arguments": { "command": "cat a.txt new/b.txt" } }] },
        { "expect": { "contains": ["exit code 0"] }, "calls": [todo("completed", "completed")] },
        { "text": "Done." },
    ]))
    .with("--yes")
    .with("--allow-unsandboxed");
    let (code, out) = run.finish().await;
    let out = without_times(&out);
    expect![[r#"

        I begin.

        Plan 0/2
          [>] Edit…
          [ ] Test
          - Update the plan (done)
          - Edit a.txt (done)
          - Write new/b.txt (done)

        Plan 1/2
          [x] Edit
          [>] Test…
          - Update the plan (done)
          > Run cat a.txt new/b.txt
          - Run cat a.txt new/b.txt (done)

        Plan 2/2
          [x] Edit
          [x] Test
          - Update the plan (done)

        Done.

        --- a/a.txt
        +++ b/a.txt
        @@ -1,3 +1,3 @@
         one␍
        -two␍
        +2␍
         three␍

        --- /dev/null
        +++ b/new/b.txt
        @@ -0,0 +1 @@
        +b
    "#]]
    .assert_eq(&out.replace('\r', "␍"));
    assert_eq!(code, Some(0));
    assert_eq!(run.read("a.txt"), "one\r\n2\r\nthree\r\n");
    assert_eq!(run.read("new/b.txt"), "b\n");
}

async fn check(run: Run, code: i32, out: Expect) {
    let (got, said) = run.finish().await;
    out.assert_eq(&without_times(&said));
    assert_eq!(got, Some(code));
}

#[tokio::test]
async fn the_exit_code_gives_the_end_of_the_run() {
    check(
        Run::new(json!([{ "text": "Which one?" }])),
        3,
        expect![[r#"

        Which one?
    "#]],
    )
    .await;
    let fail = json!({ "fail": { "kind": "auth", "message": "The key is wrong" } });
    check(
        Run::new(json!([fail])),
        1,
        expect![[r#"

            replay rejected the API key: The key is wrong.
        "#]],
    )
    .await;
    // Without --yes and without a terminal nothing runs; the agent goes on without it.
    let declined = json!([
        bash("touch never"),
        { "expect": { "lastContains": ["commands run only with --yes"] }, "text": "I could not." },
    ]);
    let run = Run::new(declined);
    let never = run.folder.path().join("work/never");
    check(
        run,
        0,
        expect![[r#"
          - Run touch never (declined)

        I could not.
    "#]],
    )
    .await;
    assert!(!never.exists());
}

#[tokio::test]
async fn a_signal_stops_the_run_and_its_command() {
    let marker = fixtures::marker();
    let run = Run::new(json!([bash(&format!("sleep {marker}; true"))]))
        .with("--yes")
        .with("--allow-unsandboxed");
    let child = start(|command| {
        command.args(&run.arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        run.environment(command);
    });
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).unwrap();
    fixtures::until_running(&marker).await;
    kill_process(pid, Signal::TERM).unwrap();
    let output = timeout(LIMIT, child.wait_with_output()).await.expect("it ends").unwrap();
    assert_eq!(output.status.code(), Some(130));
    fixtures::until_gone(&marker).await;
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Stopped."), "{said}");
}

#[tokio::test]
async fn help_and_version_print_and_wrong_usage_fails() {
    let run = Run::new(json!([]));
    let ask = async |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        let Told { code, out, err } = run.told(&arguments).await;
        (code, out, err)
    };
    let (code, out, err) = ask(&["--help"]).await;
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("Usage: cairn") && out.contains("run "), "{out}");
    let (code, out, err) = ask(&["run", "--help"]).await;
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for option in ["--continue", "--json", "--allow <RULE>", "Exit code: 0 completed"] {
        assert!(out.contains(option), "{option}: {out}");
    }
    let (code, out, err) = ask(&["--version"]).await;
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(out, "cairn 0.1.0 (protocol 2.0)\n");
    let (code, out, err) = ask(&["run"]).await;
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("TASK") && err.contains("--help"), "{err}");
    let (code, out, err) = ask(&["run", "x", "--workspace", "/nowhere"]).await;
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("/nowhere cannot be opened"), "{err}");
}

/// `--yes` is a yes to commands in their sandbox, and each thing beyond has an option of its own.
#[tokio::test]
async fn each_permission_of_a_headless_run_needs_its_own_option() {
    let needing = |need: &str| {
        let arguments = json!({ "command": "touch ran", "needs": [need] });
        json!({ "name": "bash", "arguments": arguments })
    };
    let write =
        json!({ "name": "write_file", "arguments": { "path": ".envrc", "content": "x\n" } });
    let relocate = json!({ "name": "move_file", "arguments": { "from": "a.txt", "to": ".envrc" } });
    let read = json!({ "name": "read_file", "arguments": { "path": ".env" } });
    let plain = json!({ "name": "bash", "arguments": { "command": "touch ran" } });
    for (call, option, sandbox) in [
        (needing("network"), "--allow-network", true),
        (needing("git"), "--allow-git", true),
        (write, "--allow-protected", true),
        (relocate, "--allow-protected", true),
        (read, "--allow-secrets", true),
        (plain, "--allow-unsandboxed", false),
    ] {
        for given in [false, true] {
            let expected = if given { json!({}) } else { json!({ "lastContains": [option] }) };
            let mut run = Run::new(json!([
                { "calls": [call] },
                { "expect": expected, "text": "Done." },
            ]))
            .with("--yes");
            fs::write(run.folder.path().join("work/.env"), "A=1\n").unwrap();
            if given {
                run = run.with(option);
            }
            let child = start(|command| {
                command.args(&run.arguments).stdin(Stdio::null()).stderr(Stdio::piped());
                run.environment(command);
                if !sandbox {
                    command.env("CAIRN_SANDBOX", "none");
                }
            });
            let output = timeout(LIMIT, child.wait_with_output()).await.expect("it ends").unwrap();
            let (out, err) = (
                String::from_utf8_lossy(&output.stdout).into_owned(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            );
            // No command checks an edit of a protected file here.
            let unchecked = given && option == "--allow-protected";
            let code = if unchecked { 5 } else { 0 };
            assert_eq!(output.status.code(), Some(code), "{call} {given}: {out} {err}");
            assert_eq!(err.contains("since the last edit."), unchecked, "{call}: {err}");
            assert_eq!(out.contains("(declined)"), !given, "{call}: {out}");
            assert_eq!(err.contains(option), !given, "{call}: {err}");
            assert_eq!(
                run.folder.path().join("work/ran").exists(),
                given && call["name"] == "bash"
            );
        }
    }
}
