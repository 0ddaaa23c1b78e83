//! Stored sessions by name and by text: names, deletion and its undo, search.

use std::{
    fs,
    time::{Duration, Instant},
};

use cairn_protocol::{
    ErrorKind, ListSessionsParams, RenameSession, RenameSessionParams, RestoreSession,
    SearchSessions, SearchSessionsParams, SearchSessionsResult, SessionParams, SessionSummary,
    State,
};
use cairn_tests::{
    editor_double::EditorDouble,
    model_server::{Response, Wire},
};
use serde_json::json;

use super::session_list::{
    Refusal, all, delete, fork, journal, list, open, place, run_in, told, try_ask,
    turn as stored_turn,
};
use crate::fixtures::*;

async fn rename(editor: &EditorDouble, session_id: &str, name: &str) -> Result<(), Refusal> {
    let params = RenameSessionParams { session_id: session_id.into(), name: name.into() };
    try_ask::<RenameSession>(editor, params).await.map(|_| ())
}

fn names(listed: &[SessionSummary]) -> Vec<Option<&str>> {
    listed.iter().map(|session| session.facts.name.as_deref()).collect()
}

#[tokio::test]
async fn a_name_is_kept_over_turns_restarts_and_forks() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let first = test.play([say("One.")]).await;
    let id = first.session_id.clone();
    // While a turn runs, too.
    let (held, gate) = Response::reply(say("Late.")).held_at(0);
    test.model.push(held);
    let turn = run_in(&test.editor, &id).await.unwrap();
    rename(&test.editor, &id, "  The blue one ").await.unwrap();
    let listed = all(&test.editor).await;
    assert_eq!((names(&listed), listed[0].task.as_str()), (vec![Some("The blue one")], "Do it"));
    gate.open();
    test.editor.turn_end(&turn).await;
    test.play_on(&id, [say("More.")]).await;
    assert_eq!(open(&test.editor, &id).await.facts.name.as_deref(), Some("The blue one"));

    let test = test.restart().await;
    let state = test.editor.request::<State>(Default::default()).await.unwrap();
    assert_eq!(state.sessions[0].facts.name.as_deref(), Some("The blue one"));
    let copy = fork(&test.editor, &id, None).await;
    assert_eq!(copy.facts.name.as_deref(), Some("The blue one"));
    rename(&test.editor, &copy.session_id, "The red one").await.unwrap();
    let test = test.restart().await;
    assert_eq!(names(&all(&test.editor).await), [Some("The red one"), Some("The blue one")]);
    // Without a name it is shown by its task again.
    rename(&test.editor, &copy.session_id, " ").await.unwrap();
    assert_eq!(names(&all(&test.editor).await), [None, Some("The blue one")]);
    let test = test.restart().await;
    assert_eq!(names(&all(&test.editor).await), [None, Some("The blue one")]);
    test.finish().await;
}

#[tokio::test]
async fn a_session_on_disk_gets_a_name_and_keeps_its_place() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    // Written after the start, which would bring it into memory.
    test.editor.request::<State>(Default::default()).await.unwrap();
    journal(&place(&test), "s-old", stored_turn(0, "Task 0"));
    test.play([say("One.")]).await;
    let before = all(&test.editor).await;
    assert_eq!(before[1].session_id, "s-old");
    rename(&test.editor, "s-old", "Old but good").await.unwrap();
    let mut expected = before.clone();
    expected[1].facts.name = Some("Old but good".into());
    let after = list(&test.editor, ListSessionsParams::default()).await.sessions;
    // The other session may have stored the end of its turn only after the first list.
    expected[0].updated_ms = after[0].updated_ms;
    assert_eq!(after, expected);
    // A fork has the name, although it is newer than the last turn.
    let copy = fork(&test.editor, "s-old", None).await;
    assert_eq!(copy.facts.name.as_deref(), Some("Old but good"));
    let found = open(&test.editor, "s-old").await;
    assert_eq!((found.facts.name.as_deref(), found.read_only), (Some("Old but good"), None));
    test.finish().await;
}

#[tokio::test]
async fn a_name_that_cannot_be_shown_or_stored_is_refused() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let id = test.play([say("One.")]).await.session_id;
    rename(&test.editor, &id, "Fine").await.unwrap();
    for name in ["a\nb", "a\u{1b}[31m", "a\u{7}", &"x".repeat(201)] {
        let refused = rename(&test.editor, &id, name).await.unwrap_err();
        assert_eq!(refused.0, ErrorKind::InvalidParams, "{name:?}");
    }
    rename(&test.editor, &id, &"é".repeat(200)).await.unwrap();
    rename(&test.editor, &id, "Fine").await.unwrap();
    for id in ["s-0", "../../x", ""] {
        let refused = rename(&test.editor, id, "Name").await.unwrap_err();
        assert_eq!(refused.0, ErrorKind::UnknownSession, "{id}");
    }
    // Another window has it, known to this one or not.
    let other = test.second_window().await;
    let refused = rename(&other, &id, "Mine").await.unwrap_err();
    assert_eq!(refused.0, ErrorKind::SessionLocked);
    open(&other, &id).await;
    let refused = rename(&other, &id, "Mine").await.unwrap_err();
    assert_eq!(refused.0, ErrorKind::SessionLocked);
    assert_eq!(names(&all(&other).await), [Some("Fine")]);
    other.finish();
    test.finish().await;
}

async fn restore(editor: &EditorDouble, session_id: &str) -> Result<(), Refusal> {
    let params = SessionParams { session_id: session_id.into() };
    try_ask::<RestoreSession>(editor, params).await.map(|_| ())
}

#[tokio::test]
async fn a_deleted_session_can_be_restored_and_continued() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let id = test.play([plan("c1", &[('>', "First")]), say("One?")]).await.session_id;
    rename(&test.editor, &id, "The blue one").await.unwrap();
    test.play([say("Two.")]).await;
    let before = all(&test.editor).await;
    let said = told(&open(&test.editor, &id).await.transcript);
    // Nothing is deleted while it runs.
    let (held, gate) = Response::reply(say("Late.")).held_at(0);
    test.model.push(held);
    let turn = run_in(&test.editor, &id).await.unwrap();
    let (kind, why) = delete(&test.editor, &id).await.unwrap_err();
    assert_eq!(
        (kind, why.as_str()),
        (ErrorKind::SessionLocked, "The agent is working in this session. Cancel the task first.")
    );
    gate.open();
    test.editor.turn_end(&turn).await;
    assert_eq!(restore(&test.editor, &id).await.unwrap_err().0, ErrorKind::UnknownSession);

    delete(&test.editor, &id).await.unwrap();
    assert_eq!(all(&test.editor).await.len(), 1);
    restore(&test.editor, &id).await.unwrap();
    let after = all(&test.editor).await;
    assert_eq!(names(&after), [Some("The blue one"), None]);
    assert_eq!(after[0].task, before[0].task);
    let found = open(&test.editor, &id).await;
    assert!(told(&found.transcript).starts_with(&said), "{:?}", found.transcript);
    assert_eq!((found.read_only, found.plan.unwrap().total), (None, 1));
    test.play_on(&id, [say("Three.")]).await;

    // Also after a restart, soon.
    delete(&test.editor, &id).await.unwrap();
    let test = test.restart().await;
    assert_eq!(all(&test.editor).await.len(), 1);
    restore(&test.editor, &id).await.unwrap();
    let found = open(&test.editor, &id).await;
    assert!(told(&found.transcript).contains(&"Three.".to_owned()));
    for id in ["s-0", "../../x", ""] {
        let refused = restore(&test.editor, id).await.unwrap_err();
        assert_eq!(refused.0, ErrorKind::UnknownSession, "{id}");
    }
    test.finish().await;
}

#[tokio::test]
async fn the_trash_is_emptied_at_a_later_start() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let id = test.play([say("One.")]).await.session_id;
    test.play([say("Two.")]).await;
    delete(&test.editor, &id).await.unwrap();
    let trash = place(&test).join("trash");
    let deleted = fs::read_dir(&trash).unwrap().next().unwrap().unwrap().path();
    assert!(deleted.join(format!("{id}.log")).exists());
    // Long ago, by its name.
    let long_ago = trash.join(format!("{id}.1700000000000"));
    let test = test.restart_after(|| fs::rename(&deleted, &long_ago).unwrap()).await;
    let limit = Instant::now() + Duration::from_secs(10);
    while long_ago.exists() {
        assert!(Instant::now() < limit, "it is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(restore(&test.editor, &id).await.unwrap_err().0, ErrorKind::UnknownSession);
    assert_eq!(all(&test.editor).await.len(), 1);
    test.finish().await;
}

async fn search(editor: &EditorDouble, query: &str) -> Vec<(String, String)> {
    let params = SearchSessionsParams { query: query.into() };
    let SearchSessionsResult { matches, limited } =
        try_ask::<SearchSessions>(editor, params).await.unwrap();
    assert!(!limited);
    matches.into_iter().map(|found| (found.session.session_id, found.line)).collect()
}

#[tokio::test]
async fn sessions_are_found_by_their_text() {
    let test = TestDaemon::open(Wire::Anthropic, &[("cart.mjs", "secret in a file\n")]).await;
    let read = call("r1", "read_file", json!({ "path": "cart.mjs" }));
    let first = test.play([read, say("It rounds.\nThe Discount comes last.")]).await.session_id;
    let second = test.play([say("Nothing about it.")]).await.session_id;
    rename(&test.editor, &second, "Discount, again").await.unwrap();
    let found = |id: &str, line: &str| (id.to_owned(), line.to_owned());
    let discount = [found(&second, "Discount, again"), found(&first, "The Discount comes last.")];
    // What is in memory, and what is on disk only.
    assert_eq!(search(&test.editor, "discount").await, discount);
    let test = test.restart().await;
    assert_eq!(search(&test.editor, " DISCOUNT ").await, discount);
    assert_eq!(search(&test.editor, "do it").await.len(), 2, "the task");
    assert_eq!(search(&test.editor, "cart.mjs").await, [found(&first, "Read cart.mjs")]);
    assert_eq!(search(&test.editor, "secret in a file").await, [], "no result of a call");
    assert_eq!(search(&test.editor, "TodoWrite").await, [], "no reminder");
    delete(&test.editor, &first).await.unwrap();
    assert_eq!(search(&test.editor, "discount").await, discount[..1]);
    test.finish().await;
}

/// One search runs at a time, so the second answers only after the first has ended.
#[tokio::test]
async fn a_cancelled_search_ends_at_once() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.editor.request::<State>(Default::default()).await.unwrap();
    let long = "word ".repeat(200_000);
    journal(&place(&test), "s-long", (0..60).flat_map(|number| stored_turn(number, &long)));
    let client = &test.editor.client;
    let began = Instant::now();
    let asked = client.ask("agent/sessions/search", json!({ "query": "not there" }));
    client.reply(&asked).await.unwrap();
    let whole = began.elapsed();
    let began = Instant::now();
    let asked: Vec<_> = (0..20)
        .map(|_| client.ask("agent/sessions/search", json!({ "query": "not there" })))
        .collect();
    for id in &asked {
        client.notify("$/cancelRequest", json!({ "id": id }));
        assert_eq!(client.reply(id).await.unwrap_err()["code"], -32800);
    }
    assert_eq!(search(&test.editor, "nowhere").await, []);
    assert!(began.elapsed() < whole * 5, "{:?} for 20 searches of {whole:?}", began.elapsed());
    test.finish().await;
}
