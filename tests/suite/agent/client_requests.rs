//! Requests and settings of clients outside a turn: approvals, `agent/state`, models, settings and keys.

use cairn_protocol::{
    Answer, AnswerParams, ApprovalDecision, BannerKind, Connection, EndReason, Models, Notice,
    Panel, State, StatusNotification, ToolState, TurnProblem,
};
use cairn_tests::{
    editor_double::Approval,
    model_server::{Reply, Response, Wire},
};
use serde_json::json;

use crate::fixtures::*;

async fn reply_to(test: &TestDaemon, approval_id: &str, decision: ApprovalDecision) -> bool {
    let params = AnswerParams { approval_id: approval_id.to_owned(), decision, feedback: None };
    test.editor.request::<Answer>(params).await.unwrap().accepted
}

#[tokio::test]
async fn a_command_is_shown_in_full_and_runs_only_after_approval() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let command = "echo 'a\tb' >\n out # really";
    test.script([bash("c1", "echo x > out"), bash("c2", "printf x > out"), say("Done.")]);
    test.editor.will_answer(answer(ApprovalDecision::Deny, Some("Not there.")));
    test.editor.will_answer(allow());
    let end = test.editor.run("Run it").await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(test.disk("out"), "x");
    let asked = test.editor.asked();
    assert_eq!(asked[0].title.english(), "Run a command");
    assert_eq!(asked[0].command, "echo x > out");
    assert_eq!(asked[0].cwd, test.path("").to_str().unwrap().trim_end_matches('/'));
    assert_eq!((&asked[0].session_id, &asked[0].call_id), (&end.session_id, &"c1".to_owned()));
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.play_on(&end.session_id, [bash("c3", command), say("Done.")]).await;
    assert_eq!(test.editor.asked()[2].command, command);
    let requests = test.finish().await;
    let told = result(&requests[1], "c1");
    assert!(
        told.contains("declined; nothing was run.") && told.ends_with("said: Not there."),
        "{told}"
    );
}

#[tokio::test]
async fn the_first_answer_to_an_approval_counts() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.script([bash("c1", "echo x > out"), say("Done.")]);
    test.editor.will_answer(Approval::Silence);
    let turn = test.editor.run_task("Run it").await;
    test.tool("c1", ToolState::AwaitingApproval).await;
    let id = test.editor.asked().remove(0).approval_id;
    assert!(!reply_to(&test, "another", ApprovalDecision::AllowOnce).await);
    assert!(reply_to(&test, &id, ApprovalDecision::AllowOnce).await);
    assert!(!reply_to(&test, &id, ApprovalDecision::Deny).await);
    assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Completed);
    assert_eq!(test.disk("out"), "x\n");
    // The other way round: the editor's own answer came first.
    test.editor.will_answer(allow());
    test.play_on(&turn.session_id, [bash("c2", "true"), say("Done.")]).await;
    let id = test.editor.asked().remove(1).approval_id;
    assert!(!reply_to(&test, &id, ApprovalDecision::Deny).await);
    test.finish().await;
}

#[tokio::test]
async fn a_session_approval_covers_the_exact_command_in_one_session_only() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    test.editor.will_answer(answer(ApprovalDecision::AllowSession, None));
    let end =
        test.play([bash("c1", "echo 1 >> out"), bash("c2", "echo 1 >> out"), say("Done.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!((test.disk("out").as_str(), test.editor.asked().len()), ("1\n1\n", 1));
    test.play_on(&end.session_id, [bash("c3", "echo 1 >> out"), say("Done.")]).await;
    assert_eq!(test.editor.asked().len(), 1);
    // One byte more, or another session: asked.
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.play_on(&end.session_id, [bash("c4", "echo 1 >> out "), say("Done.")]).await;
    test.editor.will_answer(answer(ApprovalDecision::Deny, None));
    test.play([bash("c5", "echo 1 >> out"), say("Done.")]).await;
    assert_eq!((test.disk("out").as_str(), test.editor.asked().len()), ("1\n1\n1\n", 3));
    test.finish().await;
}

#[tokio::test]
async fn a_command_sees_the_edits_of_the_agent() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    test.open_file("a");
    test.editor.will_answer(allow());
    test.play([edit("c1", "a", "one", "1"), bash("c2", "cat a"), say("Done.")]).await;
    let requests = test.finish().await;
    assert!(result(&requests[2], "c2").starts_with("1\n"));
}

#[tokio::test]
async fn agent_state_contains_the_transcript_plan_and_open_approvals() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n"), ("b", "two\n")]).await;
    let state = async || test.editor.request::<State>(Default::default()).await.unwrap();
    assert!(state().await.sessions.is_empty());
    let end = test
        .play([
            plan("c1", &[('>', "First"), (' ', "Second")]),
            edit("c2", "a", "one", "1"),
            say("Shall I go on?"),
        ])
        .await;
    assert_eq!((end.reason, end.open_items), (EndReason::NeedsInput, 2));
    test.play([edit("c3", "b", "two", "2"), say("Done.")]).await;
    let state = state().await;
    assert_eq!(state.reviews.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(state.status.connection, Connection::Idle);
    assert_eq!(state.sessions.len(), 2);
    let first = &state.sessions[0];
    assert_eq!(first.session_id, end.session_id);
    let plan = first.plan.clone().unwrap();
    assert_eq!((plan.panel, plan.total, plan.completed), (Panel::Collapsed, 2, 0));
    assert_eq!(first.tools.iter().map(|it| it.call_id.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
    // Each snapshot is the newest that was told.
    let notices = test.editor.notices();
    let told = |wanted: &Notice| notices.iter().any(|notice| notice == wanted);
    assert!(told(&Notice::Plan(plan)));
    assert!(told(&Notice::Turn(first.news.turn.clone().unwrap())));
    for tool in &first.tools {
        assert!(told(&Notice::Tool(tool.clone())));
    }
    test.finish().await;
}

#[tokio::test]
async fn errors_of_requests_give_the_reason() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let (held, mut gate) = Response::reply(say("Done.")).held_at(0);
    test.model.push(held);
    let turn = test.editor.run_task("Do it").await;
    gate.reached().await;
    let check = async |method: &str, params, kind: &str| {
        let error = test.editor.client.request(method, params).await.unwrap_err();
        assert_eq!(error["data"]["kind"], kind, "{error}");
    };
    let session = &turn.session_id;
    check("agent/runTask", json!({ "text": " " }), "invalidParams").await;
    check("agent/runTask", json!({ "text": "x", "sessionId": "none" }), "unknownSession").await;
    check("agent/runTask", json!({ "text": "x", "sessionId": session }), "turnMismatch").await;
    check("agent/cancel", json!({ "sessionId": "none", "turnId": "t" }), "unknownSession").await;
    let steer = json!({ "sessionId": session, "expectedTurnId": "t", "text": "x" });
    check("agent/steer", steer, "turnMismatch").await;
    gate.open();
    test.editor.turn_end(&turn.turn_id).await;
    let steer = json!({ "sessionId": session, "expectedTurnId": turn.turn_id, "text": "x" });
    check("agent/steer", steer, "turnMismatch").await;
    test.finish().await;
}

fn status(test: &TestDaemon) -> StatusNotification {
    let notices = test.editor.notices();
    let newest = notices.into_iter().rev().find_map(|notice| match notice {
        Notice::Status(status) => Some(status),
        _ => None,
    });
    newest.unwrap()
}

#[tokio::test]
async fn invalid_settings_are_reported_and_the_others_apply() {
    let settings = json!({
        "limits": { "rounds": 1, "toolSeconds": "soon" },
        "plan": { "reminder": { "policy": "often" } },
        "colour": "blue",
    });
    let test = TestDaemon::with(Wire::Anthropic, &[("a", "x\n")], settings).await;
    let end = test.play([call("c1", "read_file", json!({ "path": "a" }))]).await;
    assert_eq!(end.reason, EndReason::Limit);
    let banners = status(&test).banners;
    assert!(banners.iter().all(|banner| banner.kind == BannerKind::Setting));
    let names = ["cairn.limits.toolSeconds", "cairn.plan.reminder.policy", "cairn.colour"];
    for name in names {
        assert!(
            banners.iter().any(|banner| banner.message.english().contains(name)),
            "{name}: {banners:?}"
        );
    }
    assert_eq!(banners.len(), 3);
    // Put right, also in the middle of a session.
    let settings = json!({ "settings": { "cairn": {
        "model": { "provider": "openai", "baseUrl": test.model.base_url(), "name": "other" },
    } } });
    test.editor.client.notify("workspace/didChangeConfiguration", settings);
    let end = test.play_on(&end.session_id, [say("Read.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    let status = status(&test);
    assert!(status.banners.is_empty(), "{status:?}");
    assert_eq!((status.model.provider.as_str(), status.model.name.as_str()), ("openai", "other"));
    let requests = test.finish().await;
    assert_eq!(Wire::of(&requests[1].path), Some(Wire::OpenAi));
    assert_eq!(result(&requests[1], "c1"), "1\tx");
}

#[tokio::test]
async fn agent_models_gives_the_reason_for_an_unusable_provider() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let models = async || test.editor.request::<Models>(Default::default()).await.unwrap();
    let told = models().await;
    assert_eq!((told.active.provider.as_str(), told.active.replay), ("openai", false));
    let names: Vec<_> = told.providers.iter().map(|it| (it.provider.as_str(), it.usable)).collect();
    assert_eq!(names, [("anthropic", false), ("openai", true), ("replay", true)]);
    let [provider, name, variable] =
        ["anthropic", "Anthropic", "ANTHROPIC_API_KEY"].map(str::to_owned);
    let problem = TurnProblem::NoApiKey { provider, name, variable }.message();
    assert_eq!(told.providers[0].problem, Some(problem));
    let key = json!({ "provider": "anthropic", "key": "key-of-the-tests" });
    test.editor.client.notify("agent/credentials", key);
    assert!(models().await.providers[0].usable);
    test.editor.client.notify("agent/credentials", json!({ "provider": "anthropic", "key": null }));
    assert!(!models().await.providers[0].usable);
    test.finish().await;
}

#[tokio::test]
async fn an_api_key_is_sent_to_the_model_server_only() {
    const KEY: &str = "key-of-the-tests";
    for (wire, provider) in [(Wire::Anthropic, "anthropic"), (Wire::OpenAi, "openai")] {
        let test = TestDaemon::open(wire, &[]).await;
        let origin = test.model.base_url();
        let key = json!({ "provider": provider, "key": KEY, "origin": origin });
        test.editor.client.notify("agent/credentials", key);
        test.editor.will_answer(allow());
        test.model.push(
            Response::error(503, "error", &format!("busy, {KEY}")).header("retry-after", "0"),
        );
        test.model.push(Response::reply(bash("c1", "env")));
        test.model.push(Response::error(400, "error", &format!("no such key: {KEY}")));
        let end = test.editor.run("Do it").await;
        assert_eq!(end.reason, EndReason::Failed);
        let state = test.editor.request::<State>(Default::default()).await.unwrap();
        let said = format!("{:?} {state:?} {end:?}", test.editor.notices());
        assert!(!said.contains(KEY), "{said}");
        let requests = test.finish().await;
        assert_eq!(requests.len(), 3);
        for request in requests {
            assert!(request.headers.iter().any(|(_, value)| value.contains(KEY)));
            assert!(!String::from_utf8_lossy(&request.body).contains(KEY));
        }
    }
}

#[tokio::test]
async fn two_sessions_run_at_the_same_time() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\ntwo\n")]).await;
    test.open_file("a");
    let (held, mut gate) = Response::reply(edit("c1", "a", "one", "1")).held_at(0);
    test.model.push(held);
    let first = test.editor.run_task("First").await;
    gate.reached().await;
    test.play([edit("c1", "a", "two", "2"), say("Second done.")]).await;
    test.script([Reply::text("First done.")]);
    gate.open();
    assert_eq!(test.editor.turn_end(&first.turn_id).await.summary, "First done.");
    assert_eq!(test.text("a"), "1\n2\n");
    let sessions: Vec<_> = test.hunks("a").await.into_iter().map(|hunk| hunk.session_id).collect();
    assert!(sessions.contains(&first.session_id));
    test.finish().await;
}
