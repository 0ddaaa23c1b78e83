//! Attacks that need two things to meet: trust and a question, a rule and another folder, a grant and
//! "always", a link and a way back, a key and an older session, arguments nobody would give.

use std::{fs, os::unix::fs::symlink, time::Duration};

use cairn_protocol::{Answer, AnswerParams, ApprovalDecision, ToolState};
use cairn_tests::{
    editor_double::Approval,
    lsp_client::DEADLINE,
    model_server::{Response, Wire},
};
use serde_json::json;
use tokio::time::timeout;

use super::{Stand, put};
use crate::desk::{allow, answer, bash, call, edit, say, wait_until};

fn tool_is(stand: &Stand, id: &str, state: ToolState) -> bool {
    stand.editor.notices().iter().any(|notice| {
        matches!(notice, cairn_protocol::Notice::Tool(tool) if tool.call_id == id && tool.state == state)
    })
}

fn trust(stand: &Stand, trusted: bool) {
    stand.editor.client.notify("agent/trust", json!({ "trusted": trusted }));
}

/// A question that waits when trust is taken away cannot be answered with a yes any more, neither by
/// the turn's own calls nor by those of a child.
#[tokio::test]
async fn a_yes_that_comes_after_trust_was_taken_away_is_none() {
    let errand = json!({ "description": "Do it", "prompt": "Touch it", "tools": "all" });
    for (id, first) in [
        ("c1", vec![bash("c1", "touch ran")]),
        ("c1", vec![call("c1", "write_file", json!({ "path": "package.json", "content": "{}" }))]),
        ("k1", vec![call("c1", "task", errand), bash("k1", "touch ran")]),
    ] {
        let stand = Stand::open(&[("a", b"one\n")], json!({})).await;
        stand.editor.will_always_answer(Approval::Silence);
        let replies = first.len();
        first.into_iter().for_each(|reply| stand.model.push(Response::reply(reply)));
        (0..replies).for_each(|_| stand.model.push(Response::reply(say("Done."))));
        let turn = stand.editor.run_task("Do it").await;
        wait_until(DEADLINE, || stand.editor.asked().len() == 1).await;
        trust(&stand, false);
        let approval_id = stand.editor.asked()[0].approval_id.clone();
        let decision = ApprovalDecision::AllowOnce;
        let params = AnswerParams { approval_id, decision, feedback: None };
        let answered = stand.editor.request::<Answer>(params).await.unwrap();
        assert!(!answered.accepted, "the question is withdrawn");
        stand.editor.turn_end(&turn.turn_id).await;
        assert!(tool_is(&stand, id, ToolState::Declined));
        assert!(!stand.has("ran") && !stand.has("package.json"));
        let told = stand.model.requests().iter().any(|request| {
            String::from_utf8_lossy(&request.body).contains("not trusted by the user")
        });
        assert!(told, "the model learns why");
        super::ran(1);
        stand.finish();
    }
}

/// Cairn's own rules and sessions may lie in a workspace: nobody writes them unasked, nor reads them.
#[tokio::test]
async fn rules_that_lie_in_the_workspace_are_not_written_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let state = fs::canonicalize(folder.path()).unwrap().join("state");
    put(folder.path(), &[("state/other", b"of another project"), ("a", b"one\n")]);
    symlink("state", folder.path().join("link")).unwrap();
    let stand = Stand::within(folder, &[""], Wire::Anthropic, json!({}), |command| {
        command.env("CAIRN_STATE_DIR", &state);
    })
    .await;
    stand.editor.will_always_answer(answer(ApprovalDecision::Deny, None));
    let rules =
        json!({ "version": 1, "rules": [{ "folder": stand.root, "command": "touch ran" }] });
    let write = |path: &str| ("write_file", json!({ "path": path, "content": rules.to_string() }));
    let table = [
        write("state/allowed-commands.json"),
        write("link/allowed-commands.json"),
        write("sub/../state/allowed-commands.json"),
        ("move_file", json!({ "from": "a", "to": "state/allowed-commands.json" })),
        ("move_file", json!({ "from": "state/other", "to": "b" })),
        ("edit_file", json!({ "path": "state/other", "old_text": "of", "new_text": "x" })),
        ("delete_file", json!({ "path": "state/other" })),
        ("read_file", json!({ "path": "state/other" })),
        ("grep", json!({ "pattern": "project", "path": "state" })),
    ];
    let told = stand.told(table.clone()).await;
    for ((tool, call), told) in table.iter().zip(&told) {
        assert!(told.contains("belongs to Cairn's own data"), "{tool} {call}: {told}");
    }
    let told = stand
        .told([
            ("grep", json!({ "pattern": "project|one" })),
            ("glob", json!({ "pattern": "**/*o*" })),
            ("bash", json!({ "command": "touch ran" })),
        ])
        .await;
    assert_eq!((told[0].as_str(), told[1].as_str()), ("a\n1:one", "No files found."));
    assert_eq!(stand.editor.asked().len(), 1);
    assert!(!stand.has("ran") && !stand.has("state/allowed-commands.json") && stand.has("a"));
    super::ran(table.len() + 3);
    stand.finish();
}

/// Of two folders, the one in the other: what the outer one protects is protected in the inner one.
#[tokio::test]
async fn a_protected_folder_that_is_a_workspace_folder_too_is_protected() {
    for roots in [["ws", "ws/.github"], ["ws/.github", "ws"]] {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &[("ws/a", b"one\n"), ("ws/.github/workflows/ci.yml", b"on: push\n")]);
        let ws = fs::canonicalize(folder.path()).unwrap().join("ws");
        let stand = Stand::within(folder, &roots, Wire::Anthropic, json!({}), |_| {}).await;
        stand.editor.will_always_answer(answer(ApprovalDecision::Deny, None));
        let path = ws.join(".github/workflows/ci.yml");
        let told = stand
            .told([
                ("edit_file", json!({ "path": path, "old_text": "push", "new_text": "x" })),
                ("write_file", json!({ "path": ws.join(".github/new.yml"), "content": "x" })),
            ])
            .await;
        assert_eq!(stand.editor.asked().len(), 2, "{roots:?}: {told:?}");
        super::ran(2);
        stand.finish();
    }
}

/// A yes to a change of a file with secrets is none to reading it: what stands beside the change is
/// not told when the user takes it back, nor when the conversation is made shorter.
#[tokio::test]
async fn what_stands_beside_a_change_of_a_secret_file_is_not_told() {
    let text = "T=never-told-one\nA=1\nU=never-told-two\n";
    for name in [".env", "server.pem"] {
        let stand = Stand::open(&[(name, text.as_bytes())], json!({})).await;
        stand.editor.will_always_answer(allow());
        for reply in [
            // So near to what is there that the place would be shown to whoever may read it.
            edit("c1", name, "T=never-told-onX\nA=1", "x"),
            edit("c2", name, "=", "x"),
            edit("c3", name, "A=1", "A=2"),
            say("Done."),
        ] {
            stand.model.push(Response::reply(reply));
        }
        let end = stand.editor.run("Do it").await;
        assert_eq!(stand.editor.asked().len(), 3, "{name}");
        stand.model.push(Response::reply(say("What was done.")));
        let params = json!({ "sessionId": end.session_id });
        let compacted = stand.editor.client.request("agent/compact", params).await.unwrap();
        stand.editor.turn_end(compacted["turnId"].as_str().unwrap()).await;
        let params = json!({ "decision": "reject", "scope": { "kind": "all" } });
        let decided = stand.editor.client.request("agent/review/decide", params).await.unwrap();
        assert_eq!(decided["applied"], 1, "{name}: {decided}");
        stand.model.push(Response::reply(say("I see.")));
        let params = json!({ "text": "Go on", "sessionId": end.session_id });
        let turn = stand.editor.client.request("agent/runTask", params).await.unwrap();
        stand.editor.turn_end(turn["turnId"].as_str().unwrap()).await;
        let requests = stand.model.requests();
        assert!(requests.len() > 5, "{name}");
        for request in &requests {
            let body = String::from_utf8_lossy(&request.body);
            // Its own words come back to the model.
            let told = body.replace("T=never-told-onX", "");
            assert!(!told.contains("never-told"), "{name}: {told}");
        }
        assert!(crate::desk::newest(requests.last().unwrap()).contains("rejected"), "{name}");
        super::ran(4);
        stand.finish();
    }
}

/// Whoever may write above the workspace can put a pipe where ignore rules are read.
#[tokio::test]
async fn a_search_does_not_wait_for_what_lies_above_the_workspace() {
    for name in [".gitignore", ".ignore"] {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), &[("ws/sub/a", b"one\n")]);
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join(name), 0o600.into()).unwrap();
        let stand = Stand::within(folder, &["ws"], Wire::Anthropic, json!({}), |_| {}).await;
        let calls = [
            ("glob", json!({ "pattern": "*" })),
            ("grep", json!({ "pattern": "one", "path": "sub" })),
            ("read_file", json!({ "path": "sub/a" })),
        ];
        let told = timeout(Duration::from_secs(8), stand.told(calls)).await;
        let told = told.unwrap_or_else(|_| panic!("a search waits for a pipe: {name}"));
        assert_eq!(told[2], "1\tone");
        assert!(told[0].contains("sub/a") || told[0].contains("Nothing was searched"), "{told:?}");
        super::ran(2);
        stand.finish();
    }
}
