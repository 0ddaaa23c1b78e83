//! Subagents: a `task` call runs an agent loop with a context of its own, under the call of its parent.

use std::{fs, path::PathBuf, time::Duration};

use cairn_protocol::{
    ApprovalDecision, Cancel, Decide, DecideParams, Decision, EndReason, ItemStatus, Notice, Scope,
    SessionSnapshot, State, SubagentNotification, SubagentPhase, ToolState, TurnParams, TurnPhase,
    Usage,
};
use cairn_tests::model_server::{Recorded, Reply, Response, Wire, assert_append_only};
use serde_json::{Value, json};

use crate::fixtures::*;

fn task(id: &str, title: &str, prompt: &str) -> Reply {
    call(id, "task", json!({ "description": title, "prompt": prompt }))
}

fn read(id: &str, path: &str) -> Reply {
    call(id, "read_file", json!({ "path": path }))
}

fn subagents(test: &TestDaemon) -> Vec<SubagentNotification> {
    let of = |notice| match notice {
        Notice::Subagent(subagent) => Some(subagent),
        _ => None,
    };
    test.editor.notices().into_iter().filter_map(of).collect()
}

async fn subagent(
    test: &TestDaemon,
    what: &str,
    is: impl Fn(&SubagentNotification) -> bool,
) -> SubagentNotification {
    let pick = |notice: &Notice| match notice {
        Notice::Subagent(subagent) if is(subagent) => Some(subagent.clone()),
        _ => None,
    };
    test.editor.wait_for(what, pick).await
}

async fn session(test: &TestDaemon) -> SessionSnapshot {
    let mut state = test.editor.request::<State>(Default::default()).await.unwrap();
    assert_eq!(state.sessions.len(), 1, "subagents are no sessions of their own");
    state.sessions.remove(0)
}

/// The one journal there is.
fn journal(test: &TestDaemon) -> PathBuf {
    let only = |folder: PathBuf, ending: &str| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> =
            entries.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    };
    only(only(test.state().join("workspaces"), "").join("sessions"), ".log")
}

fn tool_names(request: &Recorded) -> Vec<String> {
    let tools = request.json()["tools"].as_array().unwrap().clone();
    let name = |tool: &Value| {
        let named =
            if tool["name"].is_string() { &tool["name"] } else { &tool["function"]["name"] };
        named.as_str().unwrap().to_owned()
    };
    tools.iter().map(name).collect()
}

fn conversation(request: &Recorded) -> Vec<Value> {
    let mut messages = request.json()["messages"].as_array().unwrap().clone();
    messages.retain(|message| message["role"] != "system");
    messages
}

/// Requests of subagents say so in their system prompt.
fn is_of_subagent(request: &Recorded) -> bool {
    String::from_utf8_lossy(&request.body).contains("You are a subagent")
}

fn ended(reason: EndReason) -> SubagentPhase {
    SubagentPhase::Ended { reason }
}

#[tokio::test]
async fn a_subagent_is_sent_its_prompt_only_and_returns_its_final_text() {
    for wire in BOTH {
        let test = TestDaemon::open(wire, &[("a", "one\n")]).await;
        let end = test
            .play([
                plan("p1", &[('>', "Look"), (' ', "Tell")]),
                task("k1", "Look at a", "What is in a?"),
                read("c1", "a"),
                say("One line: one."),
                say("Done."),
            ])
            .await;
        assert_eq!((end.reason, end.summary.as_str()), (EndReason::Completed, "Done."));
        let notes = subagents(&test);
        let last = notes.last().unwrap();
        assert_eq!((last.phase, last.rounds), (ended(EndReason::Completed), 1));
        assert_eq!(last.title, "Look at a");
        assert_eq!(last.parent.call_id, "k1");
        let requests = test.finish().await;
        let (of_subagent, of_parent): (Vec<Recorded>, Vec<Recorded>) =
            requests.into_iter().partition(is_of_subagent);
        assert_eq!((of_subagent.len(), of_parent.len()), (2, 3));
        assert_append_only(&of_subagent);
        assert_append_only(&of_parent);
        let first = conversation(&of_subagent[0]);
        assert_eq!(first.len(), 1, "{first:#?}");
        assert_eq!(newest(&of_subagent[0]), "What is in a?");
        assert!(tool_names(&of_parent[0]).contains(&"task".to_owned()));
        let names = tool_names(&of_subagent[0]);
        assert!(!names.contains(&"task".to_owned()), "{names:?}");
        assert!(names.contains(&"edit_file".to_owned()), "{names:?}");
        let told = result(&of_parent[2], "k1");
        assert!(
            told.starts_with("[cairn] The subagent ended: 1 round with tools, 30 tokens."),
            "{told}"
        );
        assert!(told.ends_with("One line: one."), "{told}");
    }
}

#[tokio::test]
async fn a_subagent_reaches_the_server_that_its_parent_started() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    (0..2).for_each(|_| test.editor.will_answer(allow()));
    let server = json!({ "command": "python3 -m http.server 8000", "background": true });
    let client = "until exec 3<>/dev/tcp/127.0.0.1/8000; do sleep 0.1; done 2>/dev/null; \
        printf 'GET /a HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
    test.play([
        call("c1", "bash", server),
        task("k1", "Fetch a", "What does the server say?"),
        call("c2", "bash", json!({ "command": client })),
        say("It says one."),
        say("Done."),
    ])
    .await;
    let requests = test.finish().await;
    let of_subagent: Vec<Recorded> = requests.into_iter().filter(is_of_subagent).collect();
    let told = result(&of_subagent[1], "c2");
    assert!(told.contains("\none\n"), "{told}");
}

#[tokio::test]
async fn a_subagent_has_its_own_limit_and_is_warned_before_its_last_answer() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    let arguments = json!({ "description": "Look", "prompt": "What is in a?", "max_rounds": 2, "tools": "read" });
    let end = test
        .play([
            call("k1", "task", arguments),
            Reply::text("I look.").call("c1", "read_file", json!({ "path": "a" })),
            Reply::text("And again.").call("c2", "glob", json!({ "pattern": "*" })),
            say("I see."),
        ])
        .await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(subagents(&test).last().unwrap().phase, ended(EndReason::Limit));
    let requests = test.finish().await;
    let names = tool_names(&requests[1]);
    assert_eq!(names, ["TodoWrite", "read_file", "glob", "grep"]);
    assert!(!newest(&requests[1]).contains("one answer left"));
    assert!(newest(&requests[2]).contains("You have one answer left"), "{}", newest(&requests[2]));
    let told = result(&requests[3], "k1");
    assert!(told.contains("was stopped at its limit: 2 rounds"), "{told}");
    assert!(told.ends_with("Its last words:\nAnd again."), "{told}");
}

#[tokio::test]
async fn the_work_of_a_subagent_belongs_to_its_parents_plan_item() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\ntwo\n")]).await;
    test.open_file("a");
    test.editor.will_answer(allow());
    let end = test
        .play([
            plan("c1", &[('>', "Change"), (' ', "Tell")]),
            task("k1", "Change a", "Change a."),
            // Ids are a conversation's own.
            plan("c1", &[('>', "One"), (' ', "Two")]),
            edit("c2", "a", "one", "1"),
            bash("c3", "true"),
            plan("c4", &[('x', "One"), ('>', "Two")]),
            say("I changed one of two."),
            read("c5", "a"),
            say("Done."),
        ])
        .await;
    let snapshot = session(&test).await;
    let of_parent = &snapshot.plan.as_ref().unwrap().items[0];
    let [of_subagent] = snapshot.subagents.as_slice() else { panic!("{:#?}", snapshot.subagents) };
    assert_eq!(of_subagent.parent.session_id, end.session_id);
    assert_eq!(of_subagent.parent.turn_id, end.turn_id);
    assert_eq!(of_subagent.parent.plan_item.as_ref(), Some(&of_parent.id));
    assert_eq!((of_subagent.completed, of_subagent.total), (1, 2));
    assert_eq!(of_subagent.items[1].status, ItemStatus::InProgress, "it was begun");
    assert_eq!((of_subagent.items[0].files.len(), of_subagent.items[0].commands.len()), (1, 1));
    assert_eq!((of_parent.files.len(), of_parent.commands.len()), (1, 1));
    let command = &of_parent.commands[0];
    assert_eq!(command.call_id, format!("{}/c3", of_subagent.session_id));
    assert_eq!(command.state, ToolState::Done);
    // The rows of a subagent say whose they are, and the parent's stay its own.
    let rows: Vec<(&str, bool)> =
        snapshot.tools.iter().map(|it| (it.call_id.as_str(), it.parent.is_some())).collect();
    let (mine, its): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, subagent)| !subagent);
    assert_eq!(mine, [("c1", false), ("k1", false), ("c5", false)]);
    assert_eq!(its, [("c1", true), ("c2", true), ("c3", true), ("c4", true)]);
    // One review: the hunk is the parent's work, and the parent hears what the user thinks of it.
    let [hunk] = &test.hunks("a").await[..] else { panic!("one hunk") };
    assert_eq!((&hunk.session_id, &hunk.turn_id), (&end.session_id, &end.turn_id));
    assert_eq!(hunk.plan_item.as_ref(), Some(&of_parent.id));
    assert_eq!(hunk.plan_item_text.as_deref(), Some("Change"));
    assert_eq!(hunk.call_id.as_deref(), Some("k1"));
    let by = hunk.subagent.as_ref().unwrap();
    assert_eq!(by.call_id.as_deref(), Some("c2"));
    assert_eq!(by.session_id, of_subagent.session_id);
    assert_eq!(by.plan_item.as_ref(), Some(&of_subagent.items[0].id));
    let scope =
        Scope::PlanItem { session_id: end.session_id.clone(), plan_item: of_parent.id.clone() };
    let decision = Decision::Reject;
    let feedback = Some("Words, please".into());
    let params = DecideParams { decision, scope, rev: None, feedback };
    assert_eq!(test.editor.request::<Decide>(params).await.unwrap().applied, 1);
    assert_eq!(test.text("a"), "one\ntwo\n");
    test.play_on(&end.session_id, [say("I see.")]).await;
    let requests = test.finish().await;
    let told = newest(requests.last().unwrap());
    assert!(told.contains("The user rejected this change of yours in a"), "{told}");
    assert!(told.contains("Words, please"), "{told}");
    let report = result(&requests[7], "k1");
    assert!(report.contains("[cairn] It changed a. Read it again"), "{report}");
    assert!(report.contains("[cairn] Open in its plan:\nTwo\n"), "{report}");
    // What its own subagent did is no news from outside.
    let all: Vec<String> = requests.iter().map(newest).collect();
    assert!(all.iter().all(|text| !text.contains("Not as you last saw")), "{all:#?}");
}

#[tokio::test]
async fn tokens_of_a_subagent_count_once_for_its_parent() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    let spent = |input_tokens| cairn_core::model::Usage {
        input_tokens,
        output_tokens: 1,
        cached_tokens: 0,
    };
    let end = test
        .play([
            task("k1", "Look", "What is in a?").usage(spent(1)),
            read("c1", "a").usage(spent(10)),
            say("One.").usage(spent(100)),
            say("Done.").usage(spent(1_000)),
        ])
        .await;
    let usage = Usage { input_tokens: 1_111, output_tokens: 4, cached_tokens: 0 };
    let last = test.editor.notices().into_iter().rev().find_map(|notice| match notice {
        Notice::Usage(usage) => Some(usage),
        _ => None,
    });
    let last = last.unwrap();
    assert_eq!((last.session_id, last.turn, last.session), (end.session_id, usage, usage));
    assert_eq!(last.rounds, 1, "rounds are its own");
    let phase = session(&test).await.news.turn.unwrap().phase;
    assert!(matches!(phase, TurnPhase::Ended { usage: total, .. } if total == usage), "{phase:?}");
    assert_eq!(subagents(&test).last().unwrap().usage.input_tokens, 110);
    // Nothing is told as if the subagent's turn were one of the user's.
    let turns = test.editor.notices().into_iter().filter(|it| matches!(it, Notice::Turn(_)));
    assert_eq!(turns.count(), 2);
    test.finish().await;
}

#[tokio::test]
async fn four_subagents_run_at_once_and_the_others_wait() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let mut all = Reply::text("");
    let (mut held, mut gates) = (Vec::new(), Vec::new());
    for n in 1..=6 {
        let prompt = format!("Prompt {n}.");
        let arguments = json!({ "description": format!("Part {n}"), "prompt": prompt });
        all = all.call(&format!("k{n}"), "task", arguments);
        // As a message of its own: the parent's requests have every prompt in a call.
        let message = format!("\"text\":\"{prompt}\"");
        let report = say(&format!("Report {n}."));
        let (response, gate) = Response::reply(report).to(&message).held_at(0);
        held.push(response);
        gates.push(gate);
    }
    test.model.push(Response::reply(all));
    let turn = test.editor.run_task("Do it").await;
    test.model.wait_for_requests(1).await;
    for response in held {
        test.model.push(response);
    }
    // The calls run at the same time: any four of them may be the first.
    let waits = |it: &SubagentNotification| it.phase == SubagentPhase::Waiting;
    let stopped = subagent(&test, "waits", waits).await;
    let last = subagent(&test, "waits", waits).await;
    let titles = [&stopped.title, &last.title];
    assert_ne!(titles[0], titles[1]);
    test.model.wait_for_requests(5).await;
    // One that waits can be cancelled, too.
    let params = TurnParams { session_id: stopped.session_id, turn_id: stopped.turn_id };
    test.editor.request::<Cancel>(params).await.unwrap();
    let begun =
        |it: &SubagentNotification| it.title == last.title && it.phase == SubagentPhase::Running;
    let first = (1..=6).find(|n| !titles.contains(&&format!("Part {n}"))).unwrap();
    gates.remove(first - 1).open();
    subagent(&test, "begins", begun).await;
    test.model.wait_for_requests(6).await;
    for gate in gates {
        gate.open();
    }
    test.script([say("All done.")]);
    let end = test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(end.summary, "All done.");
    // The prompt of the cancelled one came to no request.
    test.model.unscript();
    let requests = test.finish().await;
    for n in 1..=6 {
        let result = result(requests.last().unwrap(), &format!("k{n}"));
        if format!("Part {n}") == stopped.title {
            assert!(result.contains("was cancelled by the user"), "{result}");
        } else {
            assert!(result.ends_with(&format!("Report {n}.")), "{result}");
        }
    }
}

#[tokio::test]
async fn cancelling_the_parent_cancels_the_subagent_and_kills_its_processes() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let sleep = marker();
    test.editor.will_answer(allow());
    test.script([task("k1", "Run", "Run it."), bash("c1", &format!("sleep {sleep}"))]);
    let turn = test.editor.run_task("Do it").await;
    until_running(&sleep).await;
    test.cancel(&turn).await;
    until_gone(&sleep).await;
    assert_eq!(subagents(&test).last().unwrap().phase, ended(EndReason::Cancelled));
    let snapshot = session(&test).await;
    assert!(snapshot.tools.iter().all(|tool| tool.state == ToolState::Cancelled), "{snapshot:#?}");
    test.play_on(&turn.session_id, [say("I see.")]).await;
    let requests = test.finish().await;
    assert_eq!(requests.len(), 3);
    let told = result(requests.last().unwrap(), "k1");
    assert!(told.starts_with("Cancelled by the user; it may have had effects"), "{told}");
}

#[tokio::test]
async fn one_subagent_can_be_cancelled_alone() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let sleep = marker();
    test.editor.will_answer(allow());
    test.script([
        task("k1", "Run", "Run it."),
        Reply::text("I run it.").call("c1", "bash", json!({ "command": format!("sleep {sleep}") })),
        say("Then not."),
    ]);
    let turn = test.editor.run_task("Do it").await;
    until_running(&sleep).await;
    let running = subagents(&test).pop().unwrap();
    let params =
        TurnParams { session_id: running.session_id.clone(), turn_id: running.turn_id.clone() };
    test.editor.request::<Cancel>(params).await.unwrap();
    until_gone(&sleep).await;
    let end = test.editor.turn_end(&turn.turn_id).await;
    assert_eq!((end.reason, end.summary.as_str()), (EndReason::Completed, "Then not."));
    let requests = test.finish().await;
    let told = result(requests.last().unwrap(), "k1");
    assert!(told.contains("was cancelled by the user"), "{told}");
    assert!(told.ends_with("I run it."), "{told}");
}

#[tokio::test]
async fn failures_of_a_subagent_are_reported_to_its_parent() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.script([task("k1", "Ask", "Ask.")]);
    test.model.push(Response::error(401, "authentication_error", "no"));
    test.script([task("k2", "Ask again", "Which?"), say("Which one?"), say("Done.")]);
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Completed);
    let requests = test.finish().await;
    let last = requests.last().unwrap();
    let failed = result(last, "k1");
    assert!(failed.starts_with("[cairn] The subagent failed: 0 rounds"), "{failed}");
    assert!(failed.contains("It left no words."), "{failed}");
    let asked = result(last, "k2");
    assert!(asked.contains("ended with a question"), "{asked}");
    assert!(asked.ends_with("Which one?"), "{asked}");
}

#[tokio::test]
async fn a_restart_interrupts_a_subagent() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    let sleep = marker();
    test.editor.will_answer(allow());
    test.script([
        plan("p1", &[('>', "Run"), (' ', "Tell")]),
        task("k1", "Run", "Run it."),
        plan("c1", &[('>', "Now")]),
        edit("c2", "a", "one", "1"),
        bash("c3", &format!("echo x >> out; sleep {sleep}")),
    ]);
    let turn = test.editor.run_task("Do it").await;
    until_running(&sleep).await;
    let test = test.restart().await;
    until_gone(&sleep).await;
    let snapshot = session(&test).await;
    assert_eq!(snapshot.session_id, turn.session_id);
    let [lost] = snapshot.subagents.as_slice() else { panic!("{:#?}", snapshot.subagents) };
    assert_eq!(lost.phase, ended(EndReason::Interrupted));
    assert_eq!(lost.items[0].status, ItemStatus::Pending);
    assert_eq!(lost.items[0].commands[0].state, ToolState::Cancelled);
    let [hunk] = &test.hunks("a").await[..] else { panic!("one hunk") };
    assert_eq!(hunk.session_id, turn.session_id);
    assert_eq!(hunk.plan_item, lost.parent.plan_item);
    test.play_on(&turn.session_id, [say("I see.")]).await;
    let requests = test.finish().await;
    assert_eq!(requests.len(), 6);
    let told = result(requests.last().unwrap(), "k1");
    assert!(told.starts_with("May have run"), "{told}");
}

/// The journal of a turn with a subagent, cut after each of its records: as if the process had been
/// killed there.
#[tokio::test]
async fn a_journal_cut_after_any_record_opens_and_continues() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(allow());
    let end = test
        .play([
            plan("p1", &[('>', "Run"), (' ', "Tell")]),
            task("k1", "Run", "Run it."),
            plan("c1", &[('>', "Now"), (' ', "Then")]),
            bash("c2", "echo x >> out"),
            say("Ran."),
            say("Done."),
        ])
        .await;
    let journal = journal(&test);
    let mut whole = String::new();
    let mut test = test.restart_after(|| whole = fs::read_to_string(&journal).unwrap()).await;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert!(lines.len() > 20, "{whole}");
    assert_eq!(lines.iter().filter(|line| line.contains("begun")).count(), 2);
    let mut told = Vec::new();
    for count in 1..=lines.len() {
        let prefix = lines[..count].concat();
        test = test.restart_after(|| fs::write(&journal, &prefix).unwrap()).await;
        let snapshot = session(&test).await;
        assert_eq!(snapshot.session_id, end.session_id);
        let is_over = |it: &SubagentNotification| matches!(it.phase, SubagentPhase::Ended { .. });
        assert!(snapshot.subagents.iter().all(is_over), "{count}: {:#?}", snapshot.subagents);
        let last = test.play_on(&end.session_id, [say("I see.")]).await;
        assert_eq!(last.reason, EndReason::Completed);
        let request = test.model.requests().pop().unwrap();
        if String::from_utf8_lossy(&request.body).contains("k1") {
            told.push(result(&request, "k1"));
        }
    }
    assert_eq!(test.disk("out"), "x\n", "nothing ran again");
    // Every request was legal: `finish` says so.
    test.finish().await;
    let kinds = ["Not run", "May have run", "[cairn] The subagent ended"];
    let kind = |text: &String| kinds.iter().position(|kind| text.starts_with(kind)).unwrap();
    let mut order: Vec<usize> = told.iter().map(kind).collect();
    assert!(order.is_sorted(), "{told:#?}");
    order.dedup();
    assert_eq!(order, [0, 1, 2]);
}

#[tokio::test]
async fn effects_of_a_subagent_are_recorded_before_they_run() {
    // A sandbox would not let it see that.
    let settings = json!({ "sandbox": { "mode": "off" } });
    let test = TestDaemon::with(Wire::Anthropic, &[], settings).await;
    test.editor.will_answer(allow());
    // The command looks for its own beginning in what is on the disk at that moment.
    let seen = format!("grep -rh begun {} > seen", test.state().join("workspaces").display());
    test.play([task("k1", "Run", "Run it."), bash("c1", &seen), say("Ran."), say("Done.")]).await;
    let seen = test.disk("seen");
    assert!(seen.contains(r#""step":{"begun":{"call_id":"k1"}}"#), "{seen}");
    assert!(seen.contains(r#""childStep":{"sessionId":"c-"#), "{seen}");
    assert!(seen.contains(r#""step":{"begun":{"call_id":"c1"}}"#), "{seen}");
    test.finish().await;
}

#[tokio::test]
async fn questions_name_the_subagent_and_session_approvals_are_shared() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.will_answer(answer(ApprovalDecision::AllowSession, None));
    test.play([
        task("k1", "Run it", "Run it."),
        bash("c1", "echo one"),
        say("Ran."),
        task("k2", "Run again", "Run it again."),
        bash("c1", "echo one"),
        say("Ran."),
        bash("c9", "echo one"),
        say("Done."),
    ])
    .await;
    let asked = test.editor.asked();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert_eq!(asked[0].subagent.as_deref(), Some("Run it"));
    test.finish().await;
}

#[tokio::test]
async fn a_subagent_has_the_mode_of_its_parent() {
    let settings = json!({ "review": { "mode": "plan" } });
    let test = TestDaemon::with(Wire::Anthropic, &[("a", "one\n")], settings).await;
    test.play([
        task("k1", "Change", "Change a."),
        edit("c1", "a", "one", "1"),
        say("I cannot."),
        say("Done."),
    ])
    .await;
    assert_eq!(test.disk("a"), "one\n");
    let requests = test.finish().await;
    assert_eq!(tool_names(&requests[1]), ["TodoWrite", "read_file", "glob", "grep"]);
    assert!(result(&requests[2], "c1").contains("There is no tool named edit_file"));

    let settings = json!({ "review": { "mode": "ask" } });
    let test = TestDaemon::with(Wire::Anthropic, &[("a", "one\n")], settings).await;
    test.script([task("k1", "Change", "Change a."), edit("c1", "a", "one", "1"), say("Then not.")]);
    let turn = test.editor.run_task("Do it").await;
    wait_until(Duration::from_secs(10), || test.disk("a") == "1\n").await;
    // The call waits for the user; the subagent alone is cancelled, and nobody waits any more.
    let running = subagents(&test).pop().unwrap();
    let params =
        TurnParams { session_id: running.session_id.clone(), turn_id: running.turn_id.clone() };
    test.editor.request::<Cancel>(params).await.unwrap();
    let end = test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert_eq!(test.hunks("a").await.len(), 1, "what it proposed is still to be decided");
    test.finish().await;
}
