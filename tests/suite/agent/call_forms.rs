//! Calls in the form of other agents' tools.

use std::fs;

use cairn_protocol::{EndReason, MessageRole, Notice};
use cairn_tests::model_server::{Recorded, Reply, Wire, assert_append_only};
use expect_test::expect;
use serde_json::{Value, json};

use crate::fixtures::*;

/// The reproduction of the missing `foo`: the option was dropped, and the answer was "No matches."
#[tokio::test]
async fn grep_finds_with_the_options_of_the_program_grep() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a", "one\nfoo\ntwo\n"), ("b.md", "foo\n")]).await;
        let search = json!({"pattern": "FOO", "-i": true, "include": "*", "type": "text"});
        let end = test.play([call("c1", "Grep", search), say("There.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let requests = test.finish().await;
        assert_eq!(
            result(&requests[1], "c1"),
            "a\n2:foo\n\nb.md\n1:foo\n[cairn] Ignored, because grep does not know it: `type`. \
             Its arguments are: pattern, path, glob, ignore_case, context, before, after, output."
        );
        // The conversation keeps the call as the model wrote it.
        assert!(requests[1].json().to_string().contains("Grep"));
    }
}

#[tokio::test]
async fn edits_and_commands_of_other_families_are_done_and_reviewed() {
    let test = TestDaemon::open(Wire::Anthropic, &[("sub/a", "x\n")]).await;
    test.editor.will_answer(allow());
    let edit = json!({"file_path": "sub/a", "old_string": "x", "new_string": "y"});
    let run = json!({"command": ["cat", "a"], "workdir": "sub"});
    let end = test.play([call("c1", "Edit", edit), call("c2", "shell", run), say("Done.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    let requests = test.finish().await;
    assert!(result(&requests[1], "c1").starts_with("Edited sub/a (+1 −1)"));
    assert!(result(&requests[2], "c2").contains('y'), "{}", result(&requests[2], "c2"));
    assert_append_only(&requests);
}

#[tokio::test]
async fn a_tool_for_notebooks_is_answered_with_the_way_to_change_one() {
    let test = TestDaemon::open(Wire::Anthropic, &[("n.ipynb", "{}\n")]).await;
    let arguments = json!({ "notebook_path": "n.ipynb", "cell_id": "one", "new_source": "c = 2" });
    test.play([call("c1", "NotebookEdit", arguments), say("I see.")]).await;
    let requests = test.finish().await;
    let told = result(requests.last().unwrap(), "c1");
    assert!(told.ends_with("change a cell's lines in it with edit_file."), "{told}");
}

/// Lists and objects as JSON texts, whole arguments as a text, one edit in place of a list.
#[tokio::test]
async fn arguments_of_another_type_with_one_meaning_are_taken() {
    let (old, new) = ("a = 1\nb = 1\n", "a = 2\nb = 2\n");
    let one = |from: &str, to: &str| json!({ "old_text": from, "new_text": to });
    let edits = json!([one("a = 1", "a = 2"), one("b = 1", "b = 2")]);
    let texts: Vec<String> = edits.as_array().unwrap().iter().map(ToString::to_string).collect();
    let raw = "[{\"old_text\": \"a = 1\nb = 1\", \"new_text\": \"a = 2\nb = 2\"}]";
    let with = |edits: Value| json!({ "path": "f", "edits": edits });
    let twice = Value::from(with(edits.clone()).to_string()).to_string();
    let forms = [
        with(edits.to_string().into()).to_string(),
        with(raw.into()).to_string(),
        twice,
        with(one("a = 1\nb = 1", "a = 2\nb = 2")).to_string(),
        with(texts.into()).to_string(),
        // A line break inside a string of the arguments themselves.
        "{\"path\": \"f\", \"old_text\": \"a = 1\nb = 1\", \"new_text\": \"a = 2\nb = 2\"}"
            .to_owned(),
    ];
    for form in forms {
        let test = TestDaemon::open(Wire::OpenAi, &[("f", old)]).await;
        let edit = Reply::text("").call_raw("c1", "edit_file", &form);
        let end = test.play([edit, say("Done.")]).await;
        assert_eq!(end.reason, EndReason::Completed, "{form}");
        assert_eq!(test.editor.text(&test.uri("f")), new, "{form}");
        assert_append_only(&test.finish().await);
    }
}

/// A template's marks around the name of a tool.
#[tokio::test]
async fn a_name_with_marks_means_the_tool_and_goes_back_legally() {
    for name in ["read_file<|channel|>commentary", "functions.read_file:0", "default_api:read_file"]
    {
        let test = TestDaemon::open(Wire::OpenAi, &[("a", "x\n")]).await;
        let end = test.play([call("c1", name, json!({ "path": ["a"] })), say("Read.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let requests = test.finish().await;
        assert!(result(&requests[1], "c1").contains('x'), "{name}");
        let sent = requests[1].json()["messages"][2]["tool_calls"][0]["function"]["name"].clone();
        let sent = sent.as_str().unwrap();
        assert!(sent.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{sent}");
    }
}

/// Thinking that the server leaves in the text, also without its first tag.
#[tokio::test]
async fn thinking_between_tags_is_shown_as_thinking_and_not_sent_back() {
    for text in ["<think>shall I?</think>\n\nDone.", "shall I?\n</think>\n\nDone."] {
        let test = TestDaemon::open(Wire::OpenAi, &[]).await;
        let end = test.play([say(text)]).await;
        assert_eq!((end.reason, end.summary.as_str()), (EndReason::Completed, "Done."));
        let notices = test.editor.notices();
        let said: Vec<(MessageRole, &str)> = notices
            .iter()
            .filter_map(|notice| match notice {
                Notice::Message(said) => Some((said.role, said.text.as_deref()?.trim())),
                _ => None,
            })
            .filter(|(role, _)| *role != MessageRole::User && *role != MessageRole::Reminder)
            .collect();
        assert_eq!(said, [(MessageRole::Thinking, "shall I?"), (MessageRole::Assistant, "Done.")]);
        test.play_on(&end.session_id, [say("Again.")]).await;
        let requests = test.finish().await;
        let second = requests.last().unwrap().json().to_string();
        assert!(second.contains("Done.") && !second.contains("shall I"), "{second}");
    }
}

/// Patches of models of the Codex family, as a call and as a command.
#[tokio::test]
async fn a_patch_of_one_file_is_proposed() {
    // Blanks around the marks do no harm.
    let update =
        |body: &str| format!("*** Begin Patch \n  *** Update File: f\n{body}\n *** End Patch");
    let twice = "def first():\n    a = 1\n\n\ndef second():\n    a = 1\n";
    let rows = [
        (
            twice,
            "@@ def second():\n+    log()",
            twice.replace("second():\n", "second():\n    log()\n"),
        ),
        (
            twice,
            "@@ def second():\n-    a = 1\n+    a = 2\n@@\n+# end",
            twice.replace("second():\n    a = 1\n", "second():\n    a = 2\n# end\n"),
        ),
        ("hello\nworld", "@@\n hello\n world\n+more", "hello\nworld\nmore".to_owned()),
        ("one\ntwo\nthree\n", "@@\n-two", "one\nthree\n".to_owned()),
        ("one\ntwo\n", "@@\n-two\n+", "one\n\n".to_owned()),
        ("foobar\nfoo\n", "@@\n-foo\n+x", "foobar\nx\n".to_owned()),
        ("one\r\ntwo", "@@\n-two\n+2\n+3", "one\r\n2\r\n3".to_owned()),
        ("naïve café\n", "@@\n-naïve café\n+naïve café ✅", "naïve café ✅\n".to_owned()),
        ("y\nfoo\nx\nfoo\n", "@@\n foo\n+z\n*** End of File", "y\nfoo\nx\nfoo\nz\n".to_owned()),
    ];
    for (before, body, after) in rows {
        let patch = update(body);
        let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        for made in [
            call("c1", "apply_patch", json!({ "input": patch })),
            call("c1", "bash", json!({ "command": ["apply_patch", patch] })),
            call("c1", "bash", json!({ "command": heredoc })),
        ] {
            let test = TestDaemon::open(Wire::OpenAi, &[("f", before)]).await;
            let end = test.play([made, say("Done.")]).await;
            assert_eq!(end.reason, EndReason::Completed);
            assert_eq!(test.editor.text(&test.uri("f")), after);
            assert_eq!(test.hunks("f").await.len(), 1);
            test.finish().await;
        }
    }
}

/// A patch of several files is several edits, whose results are one.
#[tokio::test]
async fn a_patch_of_several_files_is_an_edit_of_each() {
    let files = [("f", "a\n"), ("old", "one\ntwo\n"), ("gone", "x\n")];
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** Update File: old\n*** Move to: new\n@@\n one\n-two\n+2\n*** Add File: made\n+made\n*** Delete File: gone\n*** End Patch";
    for made in [
        call("c1", "apply_patch", json!({ "input": patch })),
        call("c1", "bash", json!({ "command": ["apply_patch", patch] })),
    ] {
        let test = TestDaemon::open(Wire::OpenAi, &files).await;
        let end = test.play([made, say("Done.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        assert_eq!(test.editor.text(&test.uri("f")), "b\n");
        let read = |name: &str| fs::read_to_string(test.path(name)).ok();
        assert_eq!(read("made").as_deref(), Some("made\n"));
        assert_eq!((read("old"), read("gone")), (None, None));
        assert_eq!(test.editor.text(&test.uri("new")), "one\n2\n");
        let requests = test.finish().await;
        let told = result(requests.last().unwrap(), "c1");
        expect![[r#"
            Edited f (+1 −1).
            1	b
            Edited old (+1 −1).
            1	one
            2	2
            Moved old to new.
            Created made (+1 −0).
            Deleted gone (+0 −1)."#]]
        .assert_eq(&told);
    }
}

/// The changes below one that does not fit are not made, and the model knows which were.
#[tokio::test]
async fn a_patch_ends_at_its_first_fault() {
    let files = [("f", "a\n"), ("g", "g\n"), ("h", "h\n")];
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** Update File: g\n@@\n-nowhere\n+x\n*** Delete File: h\n*** Delete File: ../outside\n*** End Patch";
    let test = TestDaemon::open(Wire::OpenAi, &files).await;
    let calls = Reply::text("").call("c1", "apply_patch", json!({ "input": patch }));
    let calls = calls.call("c1/2", "read_file", json!({ "path": "h" }));
    test.play([calls, say("I see.")]).await;
    assert_eq!(test.editor.text(&test.uri("f")), "b\n");
    let requests = test.finish().await;
    expect![[r#"
        Edited f (+1 −1).
        1	b
        g: `old_text` is not in the file. It must match exactly, whitespace included. Nothing in the file resembles it; read the file again.
        [cairn] The patch ends here: its other changes (2) were not made."#]].assert_eq(&result(requests.last().unwrap(), "c1"));
    expect!["1	h"].assert_eq(&result(requests.last().unwrap(), "c1/2"));
}

/// A patch of another form is answered with its fault and the form.
#[tokio::test]
async fn an_unknown_patch_is_told_the_form() {
    let test = TestDaemon::open(Wire::OpenAi, &[("f", "a\n")]).await;
    let other = "*** Begin Patch\n*** Copy File: f\n*** End Patch";
    let calls = Reply::text("").call("c1", "apply_patch", json!({ "input": other }));
    let calls = calls.call("c2", "bash", json!({ "command": ["apply_patch", other] }));
    test.play([calls, say("I see.")]).await;
    let requests = test.finish().await;
    for id in ["c1", "c2"] {
        let told = result(requests.last().unwrap(), id);
        assert!(told.contains("line 2, `*** Copy File: f`, begins no file"), "{told}");
        assert!(told.contains("*** Begin Patch\n*** Update File: src/shop.py"), "{told}");
    }
}

/// Names of the tools in a request.
fn offered(request: &Recorded) -> Vec<String> {
    let body = request.json();
    let tools = body["tools"].as_array().unwrap().iter();
    let named = |tool: &Value| {
        let name = tool.pointer("/function/name").unwrap_or(&tool["name"]);
        name.as_str().unwrap().to_owned()
    };
    tools.map(named).collect()
}

/// Models that were trained with patches are offered them; all others, the tools for edits.
#[tokio::test]
async fn patches_are_offered_to_the_models_that_know_them() {
    let by_edits = ["edit_file", "write_file", "delete_file", "move_file"];
    for (wire, name, patches) in [
        (Wire::Responses, "gpt-5.6", true),
        (Wire::OpenAi, "openai/gpt-oss-120b", true),
        (Wire::OpenAi, "gpt-4o", false),
        (Wire::Anthropic, "claude-opus-5", false),
    ] {
        let settings = json!({ "model.name": name });
        let test = TestDaemon::with(wire, &[("f", "a\n")], settings).await;
        let patch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch";
        let part = json!({ "description": "Part", "prompt": "Do a part." });
        let replies = [
            call("c1", "apply_patch", json!({ "input": patch })),
            call("c2", "task", part),
            say("Part done."),
            say("Done."),
        ];
        test.play(replies).await;
        assert_eq!(test.editor.text(&test.uri("f")), "b\n", "{name}");
        let requests = test.finish().await;
        // The third is that of the subagent.
        for request in [&requests[0], &requests[2]] {
            let offered = offered(request);
            assert_eq!(offered.contains(&"apply_patch".to_owned()), patches, "{name}: {offered:?}");
            for tool in by_edits {
                let has = offered.iter().any(|name| name == tool);
                assert_eq!(has, !patches, "{name}: {offered:?}");
            }
        }
        assert_append_only(&[requests[0].clone(), requests[1].clone()]);
    }
}

/// Patches that nobody should send: bounded, answered, and nothing is half done.
#[tokio::test]
async fn hostile_patches_are_answered() {
    let text: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let hunks = |mark: &str| -> String {
        (0..10_000).map(|n| format!("@@\n-line {n}\n+{mark}{n}\n")).collect()
    };
    let patch = |body: &str| format!("*** Begin Patch\n{body}*** End Patch");
    let rows = [
        (
            patch(&format!("*** Update File: big\n{}", hunks("new "))),
            "has 10000 edits; it may have at most 100",
        ),
        (patch("*** Update File: big\n@@\n-line\n+x\n"), "`old_text` is not in the file"),
        (patch("*** Update File: twice\n@@\n-a\n+x\n"), "2 times"),
        (patch("*** Update File: ../x\n@@\n-a\n+x\n"), "outside the workspace"),
        (patch("*** Add File: /etc/x\n+x\n"), "outside the workspace"),
        (patch(&"*** Delete File: twice\n".repeat(101)), "more than 100 files"),
        (patch(""), "it has no file"),
        ("*** Begin Patch\n".repeat(10_000), "begins no file"),
    ];
    let test = TestDaemon::open(Wire::OpenAi, &[("big", &text), ("twice", "a\na\n")]).await;
    for (patch, told) in rows {
        let made = call("c1", "apply_patch", json!({ "input": patch }));
        let end = test.play([made, say("I see.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let result = result(test.model.requests().last().unwrap(), "c1");
        assert!(result.contains(told), "{told}: {result}");
        assert!(result.len() < 20_000, "{told}: {}", result.len());
    }
    test.finish().await;
}
