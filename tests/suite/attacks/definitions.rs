//! Control files, which programs run or follow by themselves, and files that define a command which the
//! user allowed.

use std::{fs, os::unix::fs::PermissionsExt};

use cairn_protocol::ApprovalDecision;
use cairn_tests::model_server::{Response, Wire};
use serde_json::json;

use super::AttackTest;
use crate::fixtures::{TestDaemon, answer, bash, call, edit, say};

#[tokio::test]
async fn control_files_are_not_changed_without_approval() {
    let folder = tempfile::tempdir().unwrap();
    super::put(
        folder.path(),
        &[("own/pyvenv.cfg", b"home = x\n"), ("conda/conda-meta/history", b""), ("a", b"one\n")],
    );
    let test = AttackTest::within(folder, &[""], Wire::Anthropic, json!({}), |_| {}).await;
    test.editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
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
    test.told(calls).await;
    let asked = test.editor.asked();
    for (path, expected) in table {
        let was_asked = asked.iter().any(|question| question.subject() == format!("Change {path}"));
        assert_eq!(was_asked, expected, "{path}");
        assert_eq!(test.has(path), !expected, "{path}");
    }
    test.finish();
}

#[tokio::test]
async fn the_question_about_a_move_to_a_protected_name_shows_the_text() {
    let test = AttackTest::open(&[("notes.txt", b"run = evil\n")], json!({})).await;
    test.editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
    let to = [".vscode/tasks.json", ".envrc", "package.json"];
    let calls = to.map(|to| ("move_file", json!({ "from": "notes.txt", "to": to })));
    test.told(calls).await;
    super::ran(to.len());
    for (question, to) in test.editor.asked().iter().zip(to) {
        let preview = question.preview.as_ref().expect("the text is shown");
        assert!(preview.patch.contains("+run = evil") && preview.patch.contains(to), "{preview:?}");
        let texts = preview.texts.as_ref().unwrap();
        assert_eq!((texts.before.as_str(), texts.after.as_str()), ("", "run = evil\n"));
    }
    assert_eq!(test.editor.asked().len(), to.len());
    test.finish();
}

#[tokio::test]
async fn an_allowed_command_asks_again_after_its_definition_changed() {
    let test = TestDaemon::open(
        Wire::Anthropic,
        &[
            ("Makefile", "check:\n\t@echo fine\n"),
            ("run.sh", "#!/bin/sh\necho fine\n"),
            ("build.sh", "echo fine\n"),
            ("package.json", "{\"name\": \"a\", \"scripts\": {\"test\": \"echo fine\"}}\n"),
        ],
    )
    .await;
    fs::set_permissions(test.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let table = [
        ("make check", "Makefile", "check:\n\t@echo evil\n"),
        ("make check", "GNUmakefile", "check:\n\t@echo evil\n"),
        ("./run.sh", "run.sh", "#!/bin/sh\necho evil\n"),
        ("bash build.sh", "build.sh", "echo evil\n"),
        ("npm test", "package.json", "{\"scripts\": {\"test\": \"echo evil\"}}\n"),
    ];
    test.editor.will_always_answer(answer(ApprovalDecision::AllowAlways, None));
    for (script, file, text) in table {
        let before = test.editor.asked().len();
        test.play([bash("c1", script), bash("c2", script), say("Done.")]).await;
        let asked = test.editor.asked().len() - before;
        assert!(asked <= 1, "{script}: always is kept");
        test.editor.forget();
        let write = call("w", "write_file", json!({"path": file, "content": text}));
        let before = test.editor.asked().len();
        test.play([write, bash("c3", script), bash("c4", script), say("Done.")]).await;
        let mut asked = test.editor.asked().split_off(before);
        asked.retain(|question| question.command == script);
        assert_eq!(asked.len(), 1, "{script}");
        let expected = format!("`{file}` changed since you always allowed `{script}`.");
        assert!(asked[0].reason().starts_with(&expected), "{}", asked[0].reason());
    }
    // The agent's edit in the editor counts before it is saved, and a change by the user does not.
    test.editor.will_always_answer(answer(ApprovalDecision::Deny, None));
    let before = test.editor.asked().len();
    fs::write(test.path("package.json"), "{\"scripts\": {\"test\": \"echo fine\"}}\n").unwrap();
    test.play([
        bash("c5", "npm test"),
        edit("c6", "build.sh", "evil", "worse"),
        bash("c7", "bash build.sh"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked().split_off(before);
    let commands: Vec<_> = asked.iter().map(|question| question.command.as_str()).collect();
    assert_eq!(commands, ["bash build.sh"]);
    super::ran(table.len() + 2);
    test.finish().await;
}

/// Folder of its own for each row, so that each begins with nothing allowed.
struct Changed {
    script: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// File that is written, with its new text.
    change: (&'static str, &'static str),
    /// File that the question names after a change by the agent; `None`: there is no question.
    named: Option<&'static str>,
}

const fn row(
    script: &'static str,
    files: &'static [(&'static str, &'static str)],
    change: (&'static str, &'static str),
    named: Option<&'static str>,
) -> Changed {
    Changed { script, files, change, named }
}

const NPM: &str = "{\"scripts\": {\"test\": \"echo fine\"}}\n";
const MEMBERS: &str =
    "{\"workspaces\": [\"packages/*\"], \"scripts\": {\"test\": \"npm test --workspaces\"}}\n";

const CHANGES: &[Changed] = &[
    row(
        "npm test",
        &[("package.json", NPM)],
        ("package.json", "{\"scripts\": {\"test\": \"echo evil\"}}\n"),
        Some("package.json"),
    ),
    row(
        "npm test",
        &[("package.json", NPM)],
        ("package.json", "{\"scripts\": {\"test\": \"echo fine\", \"pretest\": \"echo evil\"}}\n"),
        Some("package.json"),
    ),
    row(
        "npm test",
        &[("package.json", NPM)],
        ("package.json", "{\"version\": \"2.0.0\", \"scripts\": {\"test\": \"echo fine\"}}\n"),
        Some("package.json"),
    ),
    row(
        "npm test",
        &[("package.json", MEMBERS), ("packages/a/package.json", NPM)],
        ("packages/a/package.json", "{\"scripts\": {\"test\": \"echo evil\"}}\n"),
        Some("packages/a/package.json"),
    ),
    row(
        "npm test",
        &[("package.json", MEMBERS)],
        ("packages/b/package.json", NPM),
        Some("packages/b/package.json"),
    ),
    row(
        "npm test",
        &[
            ("package.json", "{\"scripts\": {\"test\": \"sh tools/t.sh\"}}\n"),
            ("tools/t.sh", "echo fine\n"),
        ],
        ("tools/t.sh", "echo evil\n"),
        Some("tools/t.sh"),
    ),
    row(
        "make check",
        &[("Makefile", "check:\n\t@echo fine\n")],
        ("Makefile", "check:\n\t@echo evil\n"),
        Some("Makefile"),
    ),
    row(
        "make check",
        &[("Makefile", "include rules/*.mk\n"), ("rules/a.mk", "check:\n\t@echo fine\n")],
        ("rules/a.mk", "check:\n\t@echo evil\n"),
        Some("rules/a.mk"),
    ),
    row(
        "make check",
        &[("Makefile", "-include rules/*.mk\ncheck:\n\t@echo fine\n")],
        ("rules/b.mk", "check: evil\nevil:\n\t@echo evil\n"),
        Some("rules/b.mk"),
    ),
    row(
        "make check",
        &[
            ("Makefile", "D := rules\ninclude $(D)/a.mk\n"),
            ("rules/a.mk", "include c.mk\n"),
            ("c.mk", "check:\n\t@echo fine\n"),
        ],
        ("c.mk", "check:\n\t@echo evil\n"),
        Some("c.mk"),
    ),
    row(
        "make check",
        &[
            ("Makefile", "check:\n\t@$(MAKE) -C sub check\n"),
            ("sub/Makefile", "check:\n\t@echo fine\n"),
        ],
        ("sub/Makefile", "check:\n\t@echo evil\n"),
        Some("sub/Makefile"),
    ),
    row(
        "bash build.sh",
        &[("build.sh", ". ./lib.sh\n"), ("lib.sh", "echo fine\n")],
        ("lib.sh", "echo evil\n"),
        Some("lib.sh"),
    ),
    row(
        "make check",
        &[("Makefile", "check: main.c\n\t@echo fine\n"), ("main.c", "a\n")],
        ("main.c", "b\n"),
        None,
    ),
];

/// Allows each command in one way, has its file changed by the agent or by the user, and runs it again: only
/// the agent's change ends the answer.
async fn asked_again_after_a_change(decision: ApprovalDecision) {
    let folder = tempfile::tempdir().unwrap();
    for (at, row) in CHANGES.iter().enumerate() {
        for by in ["agent", "user"] {
            let place = folder.path().join(format!("{by}{at}"));
            let files: Vec<(&str, &[u8])> =
                row.files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
            super::put(&place, &files);
        }
    }
    let test = AttackTest::within(folder, &[""], Wire::Anthropic, json!({}), |_| {}).await;
    test.editor.will_always_answer(answer(decision, None));
    for (at, Changed { script, change: (file, text), named, .. }) in CHANGES.iter().enumerate() {
        for by in ["agent", "user"] {
            let place = format!("{by}{at}");
            let script = format!("cd {place} && {script}");
            let file = format!("{place}/{file}");
            let run = |id: &str| Response::reply(call(id, "bash", json!({ "command": script })));
            let done = || Response::reply(say("Done."));
            for response in [run("c1"), run("c2"), done()] {
                test.model.push(response);
            }
            let first = test.editor.run("Do it").await;
            let asked = |from: usize| -> Vec<_> {
                let asked = test.editor.asked().into_iter().skip(from);
                asked.filter(|question| question.command == script).collect()
            };
            assert_eq!(asked(0).len(), 1, "{script}: the yes is kept");
            assert_eq!(asked(0)[0].changed, None, "{script}");
            let before = test.editor.asked().len();
            if by == "agent" {
                let arguments = json!({ "path": file, "content": text });
                test.model.push(Response::reply(call("c3", "write_file", arguments)));
            } else {
                let path = test.root.join(&file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            for response in [run("c4"), run("c5"), done()] {
                test.model.push(response);
            }
            test.editor.run_in(&first.session_id, "Again").await;
            let asked = asked(before);
            let named = named.filter(|_| by == "agent").map(|named| format!("{place}/{named}"));
            assert_eq!(asked.len(), usize::from(named.is_some()), "{script} after {file} by {by}");
            if let (Some(question), Some(named)) = (asked.first(), named) {
                assert_eq!(question.changed.as_ref(), Some(&named), "{script}");
                let expected = format!("`{named}` changed since you ");
                assert!(question.reason().starts_with(&expected), "{}", question.reason());
            }
        }
    }
    super::ran(CHANGES.len() * 2);
    test.finish();
}

#[tokio::test]
async fn a_rule_asks_again_when_the_agent_changed_a_file_behind_its_command() {
    asked_again_after_a_change(ApprovalDecision::AllowAlways).await;
}

#[tokio::test]
async fn a_session_approval_asks_again_when_the_agent_changed_a_file_behind_its_command() {
    asked_again_after_a_change(ApprovalDecision::AllowSession).await;
}
