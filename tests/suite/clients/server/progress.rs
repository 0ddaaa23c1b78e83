//! The plan as work-done progress, for an editor that only speaks LSP.

use cairn_protocol::{
    EndReason, ItemStatus, Panel, ParentCall, PlanItem, PlanNotification, SubagentNotification,
    SubagentPhase, TurnNotification, TurnPhase,
};

use super::*;

async fn open_with(progress: bool) -> ServerFixture {
    let mut server = knock().await;
    let capabilities = json!({ "window": { "workDoneProgress": progress } });
    server.client.initialize(json!({ "capabilities": capabilities })).await;
    assert!(matches!(server.hub.next().await, ClientEvent::Initialized(_)));
    server
}

/// A plan in short: `x` completed, `>` in progress.
fn plan(turn_id: &str, panel: Panel, states: &str) -> Notice {
    let items: Vec<PlanItem> = states
        .char_indices()
        .map(|(at, state)| PlanItem {
            id: at.to_string(),
            content: format!("Do {at}"),
            active_form: format!("Doing {at}"),
            status: match state {
                'x' => ItemStatus::Completed,
                '>' => ItemStatus::InProgress,
                _ => ItemStatus::Pending,
            },
            blocked: false,
            blocked_by: Vec::new(),
            files: Vec::new(),
            commands: Vec::new(),
            calls: 0,
            elapsed_ms: 0,
        })
        .collect();
    Notice::Plan(PlanNotification {
        session_id: "s1".into(),
        turn_id: turn_id.into(),
        rev: 1,
        panel,
        completed: states.matches('x').count() as u32,
        total: items.len() as u32,
        items,
        dropped: Vec::new(),
    })
}

fn subagent(id: &str, phase: SubagentPhase) -> Notice {
    Notice::Subagent(SubagentNotification {
        session_id: id.into(),
        turn_id: format!("t-{id}"),
        rev: 1,
        parent: ParentCall {
            session_id: "s1".into(),
            turn_id: "t1".into(),
            call_id: "k".into(),
            plan_item: None,
        },
        place: 0,
        title: format!("Look at {id}"),
        phase,
        items: Vec::new(),
        completed: 0,
        total: 0,
        rounds: 0,
        usage: Default::default(),
    })
}

fn ended(turn_id: &str) -> Notice {
    Notice::Turn(TurnNotification {
        session_id: "s1".into(),
        turn_id: turn_id.into(),
        rev: 1,
        phase: TurnPhase::Ended {
            reason: EndReason::Completed,
            summary: "Done.".into(),
            open_items: 0,
            unchecked_edits: false,
            usage: Default::default(),
            problem: None,
            spent: None,
        },
    })
}

async fn progress(client: &LspClient) -> String {
    client.notification("$/progress", |_| true).await.to_string()
}

#[tokio::test]
async fn progress_names_subagents_next_to_the_plan() {
    let ServerFixture { client, hub, serving: _serving } = open_with(true).await;
    hub.editor.notify(plan("t1", Panel::Expanded, "> "));
    let place = client.server_request("window/workDoneProgress/create").await;
    client.respond(&place["id"], Value::Null);
    let message = |progress: String| {
        let progress: Value = serde_json::from_str(&progress).unwrap();
        progress["value"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(message(progress(&client).await), "0/2 Doing 0");
    hub.editor.notify(subagent("a", SubagentPhase::Running));
    assert_eq!(message(progress(&client).await), "0/2 Doing 0 · Look at a");
    hub.editor.notify(subagent("b", SubagentPhase::Waiting));
    hub.editor.notify(subagent("b", SubagentPhase::Running));
    assert_eq!(message(progress(&client).await), "0/2 Doing 0 · 2 subagents");
    // What one did does not move it.
    hub.editor.notify(subagent("a", SubagentPhase::Running));
    hub.editor.notify(subagent("a", SubagentPhase::Ended { reason: EndReason::Completed }));
    assert_eq!(message(progress(&client).await), "0/2 Doing 0 · Look at b");
    hub.editor.notify(plan("t1", Panel::Expanded, "x>"));
    assert_eq!(message(progress(&client).await), "1/2 Doing 1 · Look at b");
    hub.editor.notify(subagent("b", SubagentPhase::Ended { reason: EndReason::Failed }));
    assert_eq!(message(progress(&client).await), "1/2 Doing 1");
}

#[tokio::test]
async fn progress_follows_the_plan() {
    let ServerFixture { client, hub, serving: _serving } = open_with(true).await;
    hub.editor.notify(plan("t1", Panel::Expanded, ">  "));
    let place = client.server_request("window/workDoneProgress/create").await;
    assert_eq!(place["params"], json!({ "token": "t1" }));
    // Before there is a place only the newest counts.
    hub.editor.notify(plan("t1", Panel::Expanded, "x> "));
    client.respond(&place["id"], Value::Null);
    expect![[r#"{"token":"t1","value":{"kind":"begin","title":"Cairn","cancellable":false,"message":"1/3 Doing 1","percentage":33}}"#]]
        .assert_eq(&progress(&client).await);
    // Shown anew and the same: nothing to tell.
    hub.editor.notify(plan("t1", Panel::Expanded, "x> "));
    hub.editor.notify(plan("t1", Panel::Expanded, "xx>"));
    expect![[r#"{"token":"t1","value":{"kind":"report","cancellable":false,"message":"2/3 Doing 2","percentage":66}}"#]]
        .assert_eq(&progress(&client).await);
    hub.editor.notify(plan("t1", Panel::Collapsed, "xxx"));
    expect![[r#"{"token":"t1","value":{"kind":"report","cancellable":false,"message":"3/3","percentage":100}}"#]]
        .assert_eq(&progress(&client).await);
    hub.editor.notify(ended("t1"));
    expect![[r#"{"token":"t1","value":{"kind":"end","message":"3/3"}}"#]]
        .assert_eq(&progress(&client).await);
    client.notification("window/showMessage", |_| true).await;
    // A plan that is only shown again opens nothing.
    hub.editor.notify(plan("t1", Panel::Collapsed, "xxx"));
    hub.editor.notify(plan("t2", Panel::Hidden, ""));
    // The next turn has a place of its own.
    hub.editor.notify(plan("t3", Panel::Expanded, "> "));
    let place = client.server_request("window/workDoneProgress/create").await;
    assert_eq!(place["params"], json!({ "token": "t3" }));
    assert_eq!(client.unread(), Vec::<Value>::new());
}

#[tokio::test]
async fn no_progress_is_sent_without_a_token() {
    let ServerFixture { client, hub, serving } = open_with(true).await;
    // One is refused, one comes when the turn is over.
    hub.editor.notify(plan("t1", Panel::Expanded, "> "));
    let place = client.server_request("window/workDoneProgress/create").await;
    client.respond_error(&place["id"], -32601, "no place");
    hub.editor.notify(plan("t2", Panel::Expanded, "> "));
    let place = client.server_request("window/workDoneProgress/create").await;
    hub.editor.notify(ended("t2"));
    client.notification("window/showMessage", |_| true).await;
    client.respond(&place["id"], Value::Null);
    hub.editor.notify(plan("t1", Panel::Expanded, "x>"));
    client.close();
    exit(serving).await;
    client.closed().await;
    assert_eq!(client.unread(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_client_without_progress_gets_the_plan_in_its_log() {
    let ServerFixture { client, hub, serving: _serving } = open_with(false).await;
    hub.editor.notify(plan("t1", Panel::Expanded, "x> "));
    let log = client.take("a message", |_| true).await;
    expect![[r#"{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":"Plan 1/3 Doing 1"}}"#]]
        .assert_eq(&log.to_string());
}

/// The daemon sends the plan again with each call that works on one of its items.
#[tokio::test]
async fn an_unchanged_plan_is_logged_once() {
    let ServerFixture { client, hub, serving: _serving } = open_with(false).await;
    let plans = [
        (Panel::Hidden, ""),
        (Panel::Expanded, "> "),
        (Panel::Expanded, "> "),
        (Panel::Expanded, "x>"),
        (Panel::Expanded, "x>"),
        (Panel::Collapsed, "x>"),
        (Panel::Collapsed, "xx"),
        // The next turn begins without a plan, and then has one that looks like the last.
        (Panel::Hidden, "xx"),
        (Panel::Expanded, "xx"),
    ];
    for (panel, states) in plans {
        hub.editor.notify(plan("t1", panel, states));
    }
    hub.editor.notify(ended("t1"));
    let mut logged = Vec::new();
    loop {
        let message = client.take("a message", |_| true).await;
        match message["method"].as_str() {
            Some("window/logMessage") => {
                logged.push(message["params"]["message"].as_str().unwrap().to_owned());
            }
            Some("window/showMessage") => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(logged, ["Plan 0/2 Doing 0", "Plan 1/2 Doing 1", "Plan 2/2", "Plan 2/2"]);
}

/// A turn that ends with its plan in progress leaves nothing turning.
#[tokio::test]
async fn a_client_that_closes_during_progress_ends_the_session_cleanly() {
    let ServerFixture { client, hub, serving } = open_with(true).await;
    hub.editor.notify(plan("t1", Panel::Expanded, "> "));
    let place = client.server_request("window/workDoneProgress/create").await;
    client.respond(&place["id"], Value::Null);
    assert!(progress(&client).await.contains("begin"));
    client.close();
    exit(serving).await;
}

/// Holds for both orders of the two tasks that send.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn progress_ends_before_the_final_message() {
    let ServerFixture { client, hub, serving: _serving } = open_with(true).await;
    for round in 0..50 {
        let turn = format!("t{round}");
        hub.editor.notify(plan(&turn, Panel::Expanded, "> "));
        let place = client.server_request("window/workDoneProgress/create").await;
        client.respond(&place["id"], Value::Null);
        assert!(progress(&client).await.contains("begin"));
        // The last step is on its way when the turn ends.
        hub.editor.notify(plan(&turn, Panel::Collapsed, "xx"));
        hub.editor.notify(ended(&turn));
        let mut kinds = Vec::new();
        loop {
            let message = client.take("a message", |_| true).await;
            match message["method"].as_str() {
                Some("$/progress") => {
                    kinds.push(message["params"]["value"]["kind"].as_str().unwrap().to_owned());
                }
                Some("window/showMessage") => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(kinds.last().map(String::as_str), Some("end"), "round {round}: {kinds:?}");
        assert_eq!(client.unread(), Vec::<Value>::new(), "round {round}");
    }
}

#[tokio::test]
async fn the_final_message_does_not_wait_for_a_progress_token() {
    let ServerFixture { client, hub, serving } = open_with(true).await;
    hub.editor.notify(plan("t1", Panel::Expanded, "> "));
    let place = client.server_request("window/workDoneProgress/create").await;
    hub.editor.notify(ended("t1"));
    client.notification("window/showMessage", |_| true).await;
    client.respond(&place["id"], Value::Null);
    client.close();
    exit(serving).await;
    client.closed().await;
    assert_eq!(client.unread(), Vec::<Value>::new());
}
