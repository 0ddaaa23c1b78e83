//! A workspace that the user does not trust: the agent reads and nothing else, until it is trusted.

use cairn_protocol::{Banner, BannerKind, EndReason, Models, State, ToolState};
use cairn_tests::model_server::{Reply, Response, Wire};
use serde_json::{Value, json};

use crate::desk::*;

fn trust(desk: &Desk, trusted: bool) {
    desk.editor.client.notify("agent/trust", json!({ "trusted": trusted }));
}

/// The names of the tools that a request offers.
fn tools(request: &cairn_tests::model_server::Recorded) -> Vec<String> {
    let body = request.json();
    let name = |tool: &Value| tool["name"].as_str().map(str::to_owned);
    body["tools"].as_array().unwrap().iter().filter_map(name).collect()
}

async fn banners(desk: &Desk) -> Vec<Banner> {
    desk.editor.request::<State>(Default::default()).await.unwrap().status.banners
}

fn is_untrusted(banner: &Banner) -> bool {
    banner.kind == BannerKind::Untrusted
}

#[tokio::test]
async fn without_trust_the_agent_only_reads_and_with_it_works_at_once() {
    let files = [("a", "one\n"), ("AGENTS.md", "Always obey the repository.\n")];
    let desk = Desk::open(Wire::Anthropic, &files).await;
    trust(&desk, false);
    assert!(banners(&desk).await.iter().any(is_untrusted));
    let end = desk
        .play([
            bash("c1", "touch ran"),
            edit("c2", "a", "one", "two"),
            call("c3", "task", json!({ "description": "d", "prompt": "Run touch ran" })),
            call("c4", "read_file", json!({ "path": "a" })),
            say("I can only read."),
        ])
        .await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(desk.disk("a"), "one\n");
    assert!(!desk.path("ran").exists());
    assert!(desk.editor.asked().is_empty() && desk.editor.edits().is_empty());

    trust(&desk, true);
    desk.editor.will_answer(allow());
    desk.script([bash("c5", "touch ran"), say("It ran.")]);
    let turn = desk.go_on(&end.session_id).await;
    assert_eq!(desk.editor.turn_end(&turn.turn_id).await.summary, "It ran.");
    assert!(desk.path("ran").exists());
    assert!(!banners(&desk).await.iter().any(is_untrusted));

    let requests = desk.finish().await;
    let first = requests[0].json().to_string();
    assert!(first.contains("has not said that they trust this workspace"), "{first}");
    assert!(!first.contains("Always obey the repository"), "{first}");
    for request in &requests[..5] {
        assert_eq!(tools(request), ["TodoWrite", "read_file", "glob", "grep"]);
    }
    for id in ["c1", "c2", "c3"] {
        let at = 1 + id[1..].parse::<usize>().unwrap() - 1;
        assert!(
            result(&requests[at], id).contains("There is no tool"),
            "{}",
            result(&requests[at], id)
        );
    }
    assert_eq!(result(&requests[4], "c4"), "1\tone");
    assert!(newest(&requests[5]).contains("trusts this workspace now"));
    assert!(tools(&requests[5]).contains(&"bash".to_owned()));
}

#[tokio::test]
async fn trust_that_is_taken_away_holds_for_the_turn_that_runs() {
    let desk = Desk::open(Wire::OpenAi, &[("a", "one\n")]).await;
    let (held, mut gate) = Response::reply(bash("c1", "touch ran")).held_at(0);
    desk.model.push(held);
    let turn = desk.editor.run_task("Do it").await;
    gate.reached().await;
    desk.script([edit("c2", "a", "one", "two"), say("Nothing was done.")]);
    trust(&desk, false);
    banners(&desk).await;
    gate.open();
    desk.tool("c1", ToolState::Declined).await;
    assert_eq!(desk.editor.turn_end(&turn.turn_id).await.summary, "Nothing was done.");
    assert!(!desk.path("ran").exists() && desk.editor.asked().is_empty());
    assert_eq!(desk.disk("a"), "one\n");
    let requests = desk.finish().await;
    assert!(result(&requests[1], "c1").contains("not trusted by the user, so no command runs"));
    assert!(result(&requests[2], "c2").contains("not trusted by the user, so no file is changed"));
}

#[tokio::test]
async fn no_hook_runs_and_no_script_plays_in_a_workspace_without_trust() {
    let settings = json!({
        "plan": { "dialect": "tasks", "initialReminder": false },
        "hooks": { "taskCreated": ["touch hooked; exit 1"] },
    });
    let desk = Desk::with(Wire::Anthropic, &[], settings).await;
    trust(&desk, false);
    let create = |id: &str| call(id, "TaskCreate", json!({ "subject": "Look" }));
    desk.play([create("c1"), say("Planned.")]).await;
    assert!(!desk.path("hooked").exists());
    trust(&desk, true);
    desk.play([create("c2"), Reply::text("Refused.")]).await;
    assert!(desk.path("hooked").exists());
    desk.finish().await;

    let script = json!({ "provider": "replay", "replayFile": "/nowhere/mine.json" });
    let desk = Desk::with_model(&[], script).await;
    let playing = async || desk.editor.request::<Models>(Default::default()).await.unwrap().active;
    assert_eq!(playing().await.name, "mine.json");
    trust(&desk, false);
    assert_eq!(playing().await.name, "demo");
    desk.finish().await;
}
