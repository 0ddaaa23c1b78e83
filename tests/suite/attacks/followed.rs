//! Files that something runs or follows without the user naming them, and files behind what the user
//! allowed for good.

use std::{fs, os::unix::fs::PermissionsExt};

use cairn_protocol::ApprovalDecision;
use cairn_tests::model_server::Wire;
use serde_json::json;

use super::Stand;
use crate::desk::{Desk, answer, bash, edit, say};

#[tokio::test]
async fn files_that_run_by_themselves_are_not_changed_unasked() {
    let folder = tempfile::tempdir().unwrap();
    super::put(
        folder.path(),
        &[("own/pyvenv.cfg", b"home = x\n"), ("conda/conda-meta/history", b""), ("a", b"one\n")],
    );
    let stand = Stand::within(folder, &[""], Wire::Anthropic, json!({}), |_| {}).await;
    stand.editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
    let table = [
        (".venv/bin/python", true),
        (".venv/bin/activate", true),
        ("venv/lib/python3/site-packages/a.pth", true),
        ("own/bin/python", true),
        ("own/lib/x.py", true),
        ("conda/bin/tool", true),
        ("node_modules/.bin/eslint", true),
        ("sub/node_modules/.bin/tsc", true),
        (".pre-commit-config.yaml", true),
        ("lefthook.yml", true),
        (".lintstagedrc.json", true),
        (".zed/tasks.json", true),
        (".nvim.lua", true),
        (".dir-locals.el", true),
        ("sub/.helix/languages.toml", true),
        ("mise.toml", true),
        (".tool-versions", true),
        ("rust-toolchain.toml", true),
        ("owner/bin/python", false),
        ("src/main.rs", false),
        ("Makefile", false),
    ];
    super::ran(table.len());
    let calls = table
        .iter()
        .map(|(path, _)| ("write_file", json!({ "path": path, "content": "#!/bin/sh\n" })));
    stand.told(calls).await;
    let asked = stand.editor.asked();
    for (path, expected) in table {
        let was_asked = asked.iter().any(|question| question.command == format!("Change {path}"));
        assert_eq!(was_asked, expected, "{path}");
        assert_eq!(stand.has(path), !expected, "{path}");
    }
    stand.finish();
}

#[tokio::test]
async fn the_question_about_a_move_to_a_protected_name_shows_the_text() {
    let stand = Stand::open(&[("notes.txt", b"run = evil\n")], json!({})).await;
    stand.editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
    let to = [".vscode/tasks.json", ".envrc", "package.json"];
    let calls = to.map(|to| ("move_file", json!({ "from": "notes.txt", "to": to })));
    stand.told(calls).await;
    super::ran(to.len());
    for (question, to) in stand.editor.asked().iter().zip(to) {
        let preview = question.preview.as_ref().expect("the text is shown");
        assert!(preview.patch.contains("+run = evil") && preview.patch.contains(to), "{preview:?}");
        let texts = preview.texts.as_ref().unwrap();
        assert_eq!((texts.before.as_str(), texts.after.as_str()), ("", "run = evil\n"));
    }
    assert_eq!(stand.editor.asked().len(), to.len());
    stand.finish();
}

#[tokio::test]
async fn what_was_allowed_for_good_is_asked_for_again_when_its_definition_changed() {
    let desk = Desk::open(
        Wire::Anthropic,
        &[
            ("Makefile", "check:\n\t@echo fine\n"),
            ("run.sh", "#!/bin/sh\necho fine\n"),
            ("build.sh", "echo fine\n"),
            ("package.json", "{\"name\": \"a\", \"scripts\": {\"test\": \"echo fine\"}}\n"),
        ],
    )
    .await;
    fs::set_permissions(desk.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let table = [
        ("make check", "Makefile", "check:\n\t@echo evil\n"),
        ("make check", "GNUmakefile", "check:\n\t@echo evil\n"),
        ("./run.sh", "./run.sh", "#!/bin/sh\necho evil\n"),
        ("bash build.sh", "build.sh", "echo evil\n"),
        ("npm test", "package.json", "{\"scripts\": {\"test\": \"echo evil\"}}\n"),
    ];
    desk.editor.will_always_answer(answer(ApprovalDecision::AllowAlways, None));
    for (script, file, text) in table {
        let before = desk.editor.asked().len();
        desk.play([bash("c1", script), bash("c2", script), say("Done.")]).await;
        let asked = desk.editor.asked().len() - before;
        assert!(asked <= 1, "{script}: always is kept");
        desk.editor.forget();
        fs::write(desk.path(file), text).unwrap();
        let before = desk.editor.asked().len();
        desk.play([bash("c3", script), bash("c4", script), say("Done.")]).await;
        let asked = desk.editor.asked().split_off(before);
        assert_eq!(asked.len(), 1, "{script}");
        let expected = format!("`{file}` changed since you always allowed `{script}`.");
        assert!(asked[0].reason.starts_with(&expected), "{}", asked[0].reason);
    }
    // What the agent changes in the editor counts before it is on disk, and other members do not.
    desk.editor.will_always_answer(answer(ApprovalDecision::Deny, None));
    let before = desk.editor.asked().len();
    fs::write(
        desk.path("package.json"),
        "{\"version\": \"2\", \"scripts\": {\"test\": \"echo evil\"}}\n",
    )
    .unwrap();
    desk.play([
        bash("c5", "npm test"),
        edit("c6", "build.sh", "evil", "worse"),
        bash("c7", "bash build.sh"),
        say("Done."),
    ])
    .await;
    let asked = desk.editor.asked().split_off(before);
    let commands: Vec<_> = asked.iter().map(|question| question.command.as_str()).collect();
    assert_eq!(commands, ["bash build.sh"]);
    super::ran(table.len() + 2);
    desk.finish().await;
}
