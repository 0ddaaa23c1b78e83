//! `AGENTS.md` and `CLAUDE.md` that the user did not write: in ignored or generated folders, or made by
//! the agent.

use std::fs;

use cairn_tests::model_server::{Response, Wire};
use serde_json::{Value, json};

use super::{AttackTest, put};
use crate::fixtures::{allow, call, marker, result, say, until_running};

const LATER: &str = "There are instructions for the folder";
const AT_START: &str = "Instructions of the project";

fn run(command: &str) -> (&'static str, Value) {
    ("bash", json!({ "command": command }))
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

/// True if the last request mentions instructions.
fn instructed(test: &AttackTest, phrase: &str) -> bool {
    let requests = test.model.requests();
    String::from_utf8_lossy(&requests.last().unwrap().body).contains(phrase)
}

#[tokio::test]
async fn instructions_in_ignored_or_generated_folders_are_not_sent() {
    for (folder, rules) in [
        ("out", ".gitignore"),
        ("out", ".git/info/exclude"),
        ("out", "config/git/ignore"),
        ("a/out/deep", "a/.gitignore"),
        ("node_modules/pkg", ""),
        ("a/.venv/lib", ""),
        ("target/debug", ""),
        ("a/Vendor/x", ""),
    ] {
        let folders = tempfile::tempdir().unwrap();
        let top = folders.path();
        let at = |name: &str| format!("ws/{folder}/{name}");
        put(
            top,
            &[
                (&at("AGENTS.md"), b"Far rule."),
                (&at("x"), b"one\n"),
                ("ws/.git/HEAD", b"ref: refs/heads/main\n"),
                ("ws/.git/config", b"[core]\n"),
                ("ws/.git/objects/x", b""),
                ("ws/.git/refs/x", b""),
            ],
        );
        if !rules.is_empty() {
            let rules = match rules.strip_prefix("config/") {
                Some(_) => top.join(rules),
                None => top.join("ws").join(rules),
            };
            fs::create_dir_all(rules.parent().unwrap()).unwrap();
            fs::write(rules, "out/\n").unwrap();
        }
        let config = top.join("config");
        let test = AttackTest::within(folders, &["ws"], Wire::Anthropic, json!({}), |command| {
            command.env("XDG_CONFIG_HOME", config);
        })
        .await;
        let told = test.told([read(&format!("{folder}/x"))]).await;
        assert_eq!(told[0], "1\tone", "{folder}");
        assert!(!instructed(&test, LATER), "{folder}, {rules}");
        super::ran(1);
        test.finish();
    }
}

/// Ways of running a command: without a sandbox, and in each way of building one.
const RUN_IN: [&str; 3] = ["off", "bubblewrap", "namespaces"];

const FILES: &[(&str, &[u8])] = &[
    ("sub/x", b"one\n"),
    ("notes", b"Far rule."),
    ("node_modules/pkg/AGENTS.md", b"Far rule."),
    ("node_modules/pkg/x", b"one\n"),
    ("out/AGENTS.md", b"Far rule."),
    ("out/x", b"one\n"),
    (".gitignore", b"out/\n"),
];

#[tokio::test]
async fn instructions_written_by_a_command_are_not_sent() {
    let table = [
        ("made", "mkdir -p sub && printf 'Far rule.' > sub/AGENTS.md"),
        ("changed", "printf 'More.' >> sub/CLAUDE.md"),
        ("a folder moved", "rm -r sub && mv node_modules/pkg sub"),
        (
            "a folder moved, with an old time",
            "rm -r sub && mv node_modules/pkg sub && touch -d 2001-01-01 sub sub/AGENTS.md",
        ),
        ("a link", "ln -s ../notes sub/AGENTS.md"),
        ("no longer ignored", "printf '' > .gitignore; rm -r sub; mv out sub"),
        ("an old file moved", "mv notes sub/AGENTS.md"),
    ];
    for way in RUN_IN {
        for (what, command) in table {
            let state = tempfile::tempdir().unwrap();
            let Some(test) = AttackTest::boxed(way, FILES, state.path()).await else {
                super::skipped(1, format!("no sandbox by {way}"));
                continue;
            };
            let own = what == "changed";
            if own {
                put(&test.root, &[("sub/CLAUDE.md", b"Mine. ")]);
            }
            test.editor.will_always_answer(allow());
            let told = test.told([run(command), read("sub/x")]).await;
            // In a sandbox a file of the user's cannot be written at all.
            let succeeds = way == "off" || !own;
            let exit = told[0].contains("exit code 0");
            assert_eq!(exit, succeeds, "{way}, {what}: {}", told[0]);
            assert_eq!(told[1], "1\tone", "{way}, {what}");
            // What the command made is in quarantine, and the user's text is restored.
            assert_eq!(instructed(&test, LATER), own, "{way}, {what}");
            assert!(!own || test.read("sub/CLAUDE.md") == b"Mine. ");
            super::ran(1);
            test.finish();
        }
    }
}

/// Files that stay in the workspace although a command decided about their text or place.
#[tokio::test]
async fn instructions_written_by_a_command_before_a_kill_are_not_sent() {
    let mut faults = Vec::new();
    let table = [
        ("no longer ignored", "printf '' > .gitignore; rm -r sub; mv out sub"),
        ("the target of a link", "printf 'Other rule.' > notes"),
        (
            "the target of a link, with an old time",
            "printf 'Other rule.' > notes; touch -d 2001-01-01 notes",
        ),
        ("a folder moved", "rm -r sub && mv lib sub"),
    ];
    for way in RUN_IN {
        for (what, command) in table {
            for runs in [false, true] {
                let state = tempfile::tempdir().unwrap();
                let Some(test) = AttackTest::boxed(way, FILES, state.path()).await else {
                    super::skipped(1, format!("no sandbox by {way}"));
                    continue;
                };
                put(
                    &test.root,
                    &[
                        ("AGENTS.md", b"Root rule."),
                        ("lib/AGENTS.md", b"Far rule."),
                        ("lib/x", b"one\n"),
                    ],
                );
                if what.contains("link") {
                    std::os::unix::fs::symlink("../notes", test.root.join("sub/AGENTS.md"))
                        .unwrap();
                }
                test.editor.will_always_answer(allow());
                if runs {
                    // The daemon is killed in the middle of it.
                    let marker = marker();
                    let command = format!("{command}; sleep {marker}");
                    let (tool, arguments) = run(&command);
                    test.model.push(Response::reply(call("c0", tool, arguments)));
                    test.editor.run_task("Do it").await;
                    until_running(&marker).await;
                } else {
                    test.told([run(command)]).await;
                }
                let test = test.killed_and_restarted(way, state.path()).await;
                let told = test.told([read("sub/x")]).await;
                assert_eq!(told[0], "1\tone", "{way}, {what}");
                // In a sandbox the target cannot be written, and the user's text is told.
                let phrase = if what.contains("link") { "Other rule." } else { LATER };
                if instructed(&test, phrase) {
                    let when = if runs { "killed while it ran" } else { "killed later" };
                    faults.push(format!("{way}, {what}, {when}: the command's is told"));
                }
                assert!(instructed(&test, "Root rule."), "{way}, {what}: the user's is told");
                super::ran(1);
                test.finish();
            }
        }
    }
    super::assert_none(&faults);
}

#[tokio::test]
async fn instructions_restored_from_quarantine_are_the_users() {
    for way in RUN_IN {
        let state = tempfile::tempdir().unwrap();
        let Some(test) = AttackTest::boxed(way, FILES, state.path()).await else { continue };
        // The command, then the file that it made.
        test.editor.will_answer(allow());
        test.editor.will_answer(allow());
        let command = "printf 'Far rule.' > sub/AGENTS.md";
        test.told([run(command), read("sub/x")]).await;
        assert!(test.has("sub/AGENTS.md") && instructed(&test, LATER), "{way}");
        let test = test.killed_and_restarted(way, state.path()).await;
        test.told([read("sub/x")]).await;
        assert!(instructed(&test, LATER), "{way}, after a restart");
        test.finish();
    }
}

#[tokio::test]
async fn instructions_written_by_file_tools_are_not_sent() {
    let write = ("write_file", json!({ "path": "sub/AGENTS.md", "content": "Far rule." }));
    let edit = json!({ "path": "sub/CLAUDE.md", "old_text": "Mine", "new_text": "Far rule" });
    let relocate = ("move_file", json!({ "from": "notes", "to": "sub/AGENTS.md" }));
    let linked = json!({ "path": "notes", "old_text": "Far", "new_text": "Farther" });
    let linked = ("edit_file", linked);
    for (what, call, mode) in [
        ("write", write.clone(), "review"),
        ("write, accepted by itself", write, "auto"),
        ("edit", ("edit_file", edit), "review"),
        ("move", relocate, "review"),
        ("edit of what a link leads to", linked, "review"),
    ] {
        let files: &[(&str, &[u8])] = &[("sub/x", b"one\n"), ("notes", b"Far rule.")];
        let test = AttackTest::open(files, json!({ "review": { "mode": mode } })).await;
        if what == "edit" {
            put(&test.root, &[("sub/CLAUDE.md", b"Mine")]);
        }
        if what.contains("link") {
            std::os::unix::fs::symlink("../notes", test.root.join("sub/AGENTS.md")).unwrap();
        }
        test.editor.will_always_answer(allow());
        let told = test.told([call, read("sub/x")]).await;
        assert!(
            ["Edited", "Created", "Moved"].iter().any(|did| told[0].starts_with(did)),
            "{what}: {}",
            told[0]
        );
        assert_eq!(told[1], "1\tone", "{what}: {}", told[0]);
        assert!(!instructed(&test, LATER), "{what}: {}", told[0]);
        super::ran(1);
        test.finish();
    }
}

#[tokio::test]
async fn instructions_written_by_a_subagent_are_not_sent() {
    let test = AttackTest::open(&[("sub/x", b"one\n")], json!({})).await;
    test.editor.will_always_answer(allow());
    let errand = json!({ "description": "Write", "prompt": "Write it" });
    let rule = json!({ "path": "sub/AGENTS.md", "content": "Far rule." });
    for reply in [
        call("c1", "task", errand),
        call("s1", "write_file", rule),
        say("Done."),
        call("c2", "read_file", json!({ "path": "sub/x" })),
        say("Done."),
    ] {
        test.model.push(Response::reply(reply));
    }
    test.editor.run("Do it").await;
    let requests = test.model.requests();
    assert_eq!(result(requests.last().unwrap(), "c2"), "1\tone");
    assert!(test.has("sub/AGENTS.md") && !instructed(&test, LATER));
    super::ran(1);
    test.finish();
}

/// A session that begins later does not follow them either; the user's own files are followed.
#[tokio::test]
async fn after_a_command_only_instructions_of_the_user_are_sent() {
    let files: &[(&str, &[u8])] =
        &[("sub/AGENTS.md", b"Sub rule."), ("sub/x", b"one\n"), ("saved/x", b"one\n")];
    let test = AttackTest::open(files, json!({})).await;
    test.editor.will_always_answer(allow());
    test.told([run("printf 'Root rule.' > AGENTS.md; printf 'Mine.' > saved/AGENTS.md")]).await;
    test.told([read("sub/x")]).await;
    assert!(instructed(&test, LATER), "the user's is told");
    assert!(!instructed(&test, AT_START), "the command's is not");
    test.told([read("saved/x")]).await;
    assert!(!instructed(&test, LATER));
    // What the user saves in the editor is theirs.
    put(&test.root, &[("saved/AGENTS.md", b"Mine.")]);
    let uri = test.editor.open(&test.root.join("saved/AGENTS.md"));
    test.editor.type_in(&uri, cairn_tests::editor_double::range((0, 0), (0, 0)), "Really ");
    test.editor.save(&uri);
    test.told([read("saved/x")]).await;
    assert!(instructed(&test, LATER));
    super::ran(4);
    test.finish();
}
