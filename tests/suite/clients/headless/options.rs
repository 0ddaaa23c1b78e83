//! Options, settings and formats of `cairn run`.

use super::*;

#[tokio::test]
async fn a_failed_command_shows_its_exit_code_and_the_end_of_its_output() {
    let run = Run::new(json!([
        bash("for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n; done; exit 7"),
        { "calls": [{ "name": "read_file", "arguments": { "path": "missing.txt" } }] },
        { "text": "It fails." },
    ]))
    .with("--yes")
    .with("--allow-unsandboxed");
    let (code, out) = run.finish().await;
    expect![[r#"
          > Run for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n; done; exit 7
          - Run for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n; done; exit 7 (failed, exit code 7)
              line 3
              line 4
              line 5
              line 6
              line 7
              line 8
              line 9
              line 10
              line 11
              line 12
          - Read missing.txt (failed)
              `missing.txt` does not exist. Use `glob` to find files.

        It fails.
    "#]].assert_eq(&without_times(&out));
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn json_has_one_event_a_line_and_each_type_is_documented() {
    let edit = json!({ "name": "edit_file", "arguments": { "path": "a.txt", "old_text": "two", "new_text": "2" } });
    let todo = json!({ "name": "TodoWrite", "arguments": { "todos": [{ "content": "Edit", "status": "in_progress", "activeForm": "Editing" }] } });
    let run = Run::new(json!([
        { "text": "I begin.", "calls": [todo, edit] },
        bash("touch never"),
        { "text": "Which one?" },
    ]))
    .with("--json");
    let told = run.told(&run.arguments).await;
    assert_eq!((told.code, told.err.as_str()), (Some(3), ""));
    let events: Vec<Value> =
        told.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let page = include_str!("../../../../docs/run.md");
    for name in &types {
        assert!(page.contains(&format!("| `{name}` |")), "docs/run.md does not describe {name}");
    }
    let first = |name: &str| {
        let found = events.iter().find(|event| event["type"] == name);
        found.unwrap_or_else(|| panic!("{name} is not in {types:?}")).clone()
    };
    assert_eq!(types.iter().find(|name| **name != "warning"), Some(&"start"));
    assert_eq!(first("start")["version"], 1);
    assert_eq!(first("message")["text"], "I begin.");
    assert_eq!(first("plan")["items"], json!([{ "content": "Edit", "status": "inProgress" }]));
    // The calls for the step change no item.
    assert_eq!(types.iter().filter(|name| **name == "plan").count(), 1, "{types:?}");
    assert_eq!(first("callEnded")["state"], "done");
    assert_eq!(first("declined")["reason"], "nobody is there to ask and --yes was not given");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+2\r\n three\r\n";
    let change = json!({ "type": "change", "path": "a.txt", "kind": "edited", "added": 1, "removed": 1, "patch": patch });
    assert_eq!(first("change"), change);
    let end = events.last().unwrap();
    assert_eq!(
        (&end["type"], &end["reason"], &end["exitCode"]),
        (&json!("end"), &json!("needsInput"), &json!(3))
    );
    assert_eq!(end["sessionId"], first("start")["sessionId"]);
    assert!(end["resume"].as_str().unwrap().starts_with("cairn run --resume s-"));
}

#[tokio::test]
async fn the_task_is_read_from_standard_input() {
    let run = Run::new(json!([{ "expect": { "lastContains": ["Do that"] }, "text": "Done." }]));
    let mut arguments = run.arguments.clone();
    arguments[1] = "-".to_owned();
    for (input, code) in [("Do that\n", 0), (" \n", 2)] {
        let task = run.folder.path().join("task");
        fs::write(&task, input).unwrap();
        let child = start(|command| {
            command.args(&arguments).stdin(fs::File::open(&task).unwrap()).stderr(Stdio::piped());
            run.environment(command);
        });
        let told = told(timeout(LIMIT, child.wait_with_output()).await.unwrap().unwrap());
        assert_eq!(told.code, Some(code), "{}", told.err);
    }
}

#[tokio::test]
async fn settings_come_from_config_toml_and_a_fault_stops_the_run() {
    let reads = json!([{ "calls": [{ "name": "read_file", "arguments": { "path": "a.txt" } }] }, { "text": "Done." }]);
    let run = Run::new(reads);
    let config = run.folder.path().join("config");
    fs::create_dir(&config).unwrap();
    fs::write(config.join("config.toml"), "[limits]\nrounds = 1\n").unwrap();
    let told = run.told(&run.arguments).await;
    assert_eq!(told.code, Some(4), "{}", told.err);
    assert!(
        told.out.contains("raise --max-rounds") && !told.out.contains("cairn.limits"),
        "{}",
        told.out
    );
    let mut more = run.arguments.clone();
    more.extend(["--max-rounds".to_owned(), "5".to_owned()]);
    assert_eq!(run.told(&more).await.code, Some(0));

    fs::write(config.join("config.toml"), "[limits]\nround = 1\nrounds = \"x\"\n").unwrap();
    let told = run.told(&run.arguments).await;
    assert_eq!((told.code, told.out.as_str()), (Some(2), ""));
    for fault in [
        "config.toml, line 2: There is no setting limits.round.",
        "config.toml, line 3: The value of limits.rounds is not used: it must be a whole number above zero, not a string.",
    ] {
        assert!(told.err.contains(fault), "{}", told.err);
    }
}

#[tokio::test]
async fn the_time_limit_stops_the_run_and_its_command() {
    let marker = fixtures::marker();
    let run = Run::new(json!([bash(&format!("sleep {marker}; true"))]))
        .with("--yes")
        .with("--allow-unsandboxed")
        .with("--timeout=1s");
    let (code, out) = run.finish().await;
    assert_eq!(code, Some(4), "{out}");
    assert!(out.contains("Stopped at the time limit of the run (--timeout)."), "{out}");
    fixtures::until_gone(&marker).await;
}

#[tokio::test]
async fn a_rule_allows_one_command_and_a_folder_may_be_writable() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = outside.path().join("made");
    let command = format!("touch {}", file.display());
    for (rule, options, runs) in [
        ("touch", &[][..], false),
        (command.as_str(), &[], false),
        (command.as_str(), &["--writable"], true),
    ] {
        let mut run =
            Run::new(json!([bash(&command), { "text": "Done." }])).with("--allow").with(rule);
        for option in options {
            run = run.with(option).with(outside.path().to_str().unwrap());
        }
        let told = run.told(&run.arguments).await;
        assert_eq!(told.code, Some(0), "{}", told.err);
        assert_eq!(file.exists(), runs, "{rule} {options:?}: {} {}", told.out, told.err);
        assert_eq!(told.out.contains("(declined)"), rule == "touch", "{}", told.out);
    }
}

#[tokio::test]
async fn a_run_without_a_model_says_what_to_set_and_the_demo_leaves_the_project_alone() {
    let run = Run::new(json!([]));
    let told = run.told(&["run".to_owned(), "Do it".to_owned()]).await;
    assert_eq!((told.code, told.out.as_str()), (Some(2), ""));
    for named in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "config/config.toml", "--demo"] {
        assert!(told.err.contains(named), "{named}: {}", told.err);
    }
    let told = run.told(&["run".to_owned(), "--demo".to_owned()]).await;
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.out.contains("--- /dev/null\n+++ b/cairn-demo.md"), "{}", told.out);
    let (_, folder) = told.err.split_once("the demo works in ").unwrap();
    let folder = std::path::PathBuf::from(folder.lines().next().unwrap());
    assert!(folder.join("cairn-demo.md").exists());
    fs::remove_dir_all(&folder).unwrap();
    let entries: Vec<_> = fs::read_dir(run.folder.path().join("work")).unwrap().collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
}

#[tokio::test]
async fn the_final_diff_applies_and_hides_lines_of_secret_files() {
    let write = |path: &str| json!({ "name": "write_file", "arguments": { "path": path, "content": "A=12345\n" } });
    let relocate = json!({ "name": "move_file", "arguments": { "from": "a.txt", "to": "b.txt" } });
    let run = Run::new(json!([
        { "calls": [write("new.txt"), write(".env"), relocate] },
        { "text": "Done." },
    ]))
    .with("--quiet")
    .with("--yes")
    .with("--allow-protected");
    let told = run.told(&run.arguments).await;
    expect![[r#"
        Done.

        .env changed (+1 -0); its lines are not shown, because the file may hold secrets

        diff --git a/a.txt b/b.txt
        rename from a.txt
        rename to b.txt

        --- /dev/null
        +++ b/new.txt
        @@ -0,0 +1 @@
        +A=12345
    "#]]
    .assert_eq(&told.out);
    assert_eq!(told.code, Some(5), "no command has checked .env");
    let clone = tempfile::tempdir().unwrap();
    fs::write(clone.path().join("a.txt"), "one\r\ntwo\r\nthree\r\n").unwrap();
    fs::write(clone.path().join("diff"), &told.out).unwrap();
    #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let applied = std::process::Command::new("git")
        .args(["apply", "diff"])
        .current_dir(clone.path())
        .output()
        .unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(fs::read_to_string(clone.path().join("new.txt")).unwrap(), "A=12345\n");
    assert!(clone.path().join("b.txt").exists() && !clone.path().join("a.txt").exists());
}

#[tokio::test]
async fn work_that_the_end_leaves_is_printed_and_has_an_exit_code_of_its_own() {
    let list = json!([
        { "content": "Mend", "status": "in_progress", "activeForm": "Mending" },
        { "content": "Test", "status": "pending", "activeForm": "Testing" },
    ]);
    let write = json!({ "name": "write_file", "arguments": { "path": "a.py", "content": "1\n" } });
    let run = Run::new(json!([
        { "calls": [{ "name": "TodoWrite", "arguments": { "todos": list } }, write] },
        { "text": "All done!" },
    ]))
    .with("--yes");
    let told = run.told(&run.arguments).await;
    assert_eq!(told.code, Some(5), "{}", told.err);
    let left = "\n2 plan items are open:\n  - Mend\n  - Test\nNo test, build or check has succeeded since the last edit.\n";
    assert!(told.err.contains(left), "{}", told.err);
    fs::remove_file(run.folder.path().join("work/a.py")).unwrap();
    let (code, out) = run.with("--json").finish().await;
    let end: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(code, Some(5));
    assert_eq!(
        (&end["reason"], &end["exitCode"], &end["openItems"], &end["uncheckedEdits"]),
        (&json!("completed"), &json!(5), &json!(2), &json!(true))
    );
}
