//! Commands that run without a question read only files that they name.

use std::{fs, os::unix::fs::symlink};

use cairn_protocol::ApprovalDecision;
use cairn_tests::model_server::Wire;
use serde_json::json;

use super::{AttackTest, put};
use crate::fixtures::answer;

/// Text of files that no command may print without a question.
const SECRETS: [&str; 3] = ["secret-of-env", "secret-outside", "secret-in-home"];

#[tokio::test]
async fn allowed_commands_name_each_file_that_they_read() {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        &[
            ("outside/passwd", b"secret-outside\n"),
            ("outside/a.txt", b"secret-outside\n"),
            ("ws/.env", b"A=secret-of-env\n"),
            ("ws/a.txt", b"one\n"),
            ("ws/b.txt", b"two\n"),
            ("ws/x/.env", b"A=1\n"),
            ("ws/x/same", b"1\n"),
            ("ws/y/.env", b"A=secret-of-env\n"),
            ("ws/y/same", b"2\n"),
            ("ws/sub/a.txt", b"three\n"),
        ],
    );
    let ws = folder.path().join("ws");
    for (target, link) in [
        ("../../outside/passwd", "y/link"),
        ("same", "x/link"),
        ("../../outside/a.txt", "y/a.txt"),
        ("../outside", "out"),
        ("sub", "inside"),
        (".env", "alias"),
        ("a.txt", "link.txt"),
    ] {
        symlink(target, ws.join(link)).unwrap();
    }
    fs::hard_link(ws.join(".env"), ws.join("notes")).unwrap();
    let settings = json!({ "shell": { "approval": "allowlist", "allow": ["ln *", "touch z"] } });
    let test = AttackTest::within(folder, &["ws"], Wire::Anthropic, settings, |_| {}).await;
    test.editor.will_always_answer(answer(ApprovalDecision::Deny, Some("Never.")));
    let table = [
        // Folders give programs names that the words do not have.
        ("diff . x", "ask"),
        ("diff x y", "ask"),
        ("diff a.txt y", "ask"),
        ("diff y b.txt", "ask"),
        ("cd x && diff . ../y", "ask"),
        ("diff - y", "ask"),
        ("grep -s secret x y", "ask"),
        ("sort x", "ask"),
        // Other names of a file, by links on the way and at the end, and by a second name on disk.
        ("cat y/link", "ask"),
        ("cat inside/a.txt", "ask"),
        ("cat inside/../.env", "ask"),
        ("cat link.txt", "ask"),
        ("cat alias", "ask"),
        ("cat notes", "ask"),
        ("cat ./sub/../notes", "ask"),
        ("head -n 5 out/passwd", "ask"),
        ("ls out", "ask"),
        ("ls -R inside/", "ask"),
        ("stat -L alias", "ask"),
        ("find out -name passwd", "ask"),
        ("du -a out", "ask"),
        // Nothing there yet, and a file that a command before it makes a link of.
        ("cat missing", "ask"),
        ("ln -s ../outside/passwd made && cat made", "ask"),
        ("ln -sf .env b.txt && cat b.txt", "ask"),
        ("ln -sf .env b.txt; true | cat b.txt", "ask"),
        ("cat b.txt | ln -sf .env b.txt", "ask"),
        // What is named completely.
        ("cat a.txt b.txt", "auto"),
        ("cat ./sub/../a.txt", "auto"),
        ("cd sub && cat a.txt ../b.txt", "auto"),
        ("diff a.txt b.txt; diff -q sub/a.txt x/same", "auto"),
        ("cat a.txt | diff - b.txt", "auto"),
        ("ls -laR . sub", "auto"),
        ("find . -name passwd", "auto"),
        ("du -a x y", "auto"),
        ("stat a.txt sub", "auto"),
        ("touch z && cat a.txt | wc -l", "ask"),
        ("touch z && true | wc -l", "auto"),
        ("cat a.txt | wc -l && touch z", "auto"),
    ];
    super::ran(table.len());
    let calls = table.iter().map(|(script, _)| ("bash", json!({ "command": script })));
    let told = test.told(calls).await;
    let asked = test.editor.asked();
    for ((script, expected), told) in table.iter().zip(&told) {
        let was_asked = asked.iter().any(|question| question.command == *script);
        assert!(!SECRETS.iter().any(|secret| told.contains(secret)), "{script}: {told}");
        assert_eq!(if was_asked { "ask" } else { "auto" }, *expected, "{script}: {told}");
    }
    test.finish();
}
