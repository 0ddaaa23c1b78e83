//! Stored sessions of a workspace: list, open, fork, delete and export, in one window and in two.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use cairn::store::{
    journal::{self, Journal},
    sessions::{self, Digest, EndedLine, Header, Line, TurnLine, VERSION},
};
use cairn_core::prompt::Surroundings;
use cairn_protocol::{
    Banner, BannerKind, DeleteSession, EndReason, ErrorKind, ExportFormat, ExportSession,
    ExportSessionParams, ExportSessionResult, ForkSession, ForkSessionParams, ListSessions,
    ListSessionsParams, ListSessionsResult, MessageRole, OpenSession, OpenSessionParams,
    OpenSessionResult, QueueAdd, QueueAddParams, ReadOnlyProblem, ReadOnlyReason, RequestMethod,
    ReviewMode, RunTask, RunTaskParams, SessionParams, SessionSnapshot, SessionState,
    SessionSummary, State, ToolState, TranscriptEntry, TurnPhase, Usage,
};
use cairn_tests::{
    editor_double::{Approval, EditorDouble},
    lsp_client::Daemon,
    model_server::{Response, Wire},
};
use serde_json::{Value, json};

use crate::fixtures::*;

pub(super) type Refusal = (ErrorKind, String);

pub(super) async fn try_ask<M: RequestMethod>(
    editor: &EditorDouble,
    params: M::Params,
) -> Result<M::Result, Refusal> {
    editor.request::<M>(params).await.map_err(|error| {
        let kind = serde_json::from_value(error["data"]["kind"].clone()).unwrap();
        (kind, error["message"].as_str().unwrap().to_owned())
    })
}

pub(super) async fn list(editor: &EditorDouble, params: ListSessionsParams) -> ListSessionsResult {
    try_ask::<ListSessions>(editor, params).await.unwrap()
}

pub(super) async fn all(editor: &EditorDouble) -> Vec<SessionSummary> {
    let ListSessionsResult { sessions, next } = list(editor, Default::default()).await;
    assert_eq!(next, None);
    sessions
}

fn opened(result: OpenSessionResult) -> SessionSnapshot {
    match result {
        OpenSessionResult::Opened { session } => *session,
        OpenSessionResult::Earlier { .. } => panic!("a page and no session"),
    }
}

pub(super) async fn open(editor: &EditorDouble, session_id: &str) -> SessionSnapshot {
    let params = OpenSessionParams { session_id: session_id.into(), ..Default::default() };
    opened(try_ask::<OpenSession>(editor, params).await.unwrap())
}

pub(super) async fn fork(
    editor: &EditorDouble,
    session_id: &str,
    at_turn: Option<&str>,
) -> SessionSnapshot {
    let at_turn = at_turn.map(str::to_owned);
    let params = ForkSessionParams { session_id: session_id.into(), at_turn };
    opened(try_ask::<ForkSession>(editor, params).await.unwrap())
}

pub(super) async fn delete(editor: &EditorDouble, session_id: &str) -> Result<(), Refusal> {
    let params = SessionParams { session_id: session_id.into() };
    try_ask::<DeleteSession>(editor, params).await.map(|_| ())
}

pub(super) async fn export(
    editor: &EditorDouble,
    session_id: &str,
    format: ExportFormat,
) -> String {
    let params = ExportSessionParams { session_id: session_id.into(), format };
    match try_ask::<ExportSession>(editor, params).await.unwrap() {
        ExportSessionResult::Text { text } => text,
        ExportSessionResult::File { uri } => panic!("{uri} is too long for an answer"),
    }
}

pub(super) async fn run_in(editor: &EditorDouble, session_id: &str) -> Result<String, Refusal> {
    let params = RunTaskParams {
        text: "Go on".into(),
        session_id: Some(session_id.into()),
        ..RunTaskParams::default()
    };
    try_ask::<RunTask>(editor, params).await.map(|started| started.turn_id)
}

async fn banners(editor: &EditorDouble) -> Vec<Banner> {
    editor.request::<State>(Default::default()).await.unwrap().status.banners
}

/// Transcript, one line each.
pub(super) fn told(transcript: &[TranscriptEntry]) -> Vec<String> {
    let line = |entry: &TranscriptEntry| match entry {
        TranscriptEntry::Turn(turn) => match &turn.phase {
            TurnPhase::Started { text, .. } => Some(format!("started: {text}")),
            TurnPhase::Ended { reason, .. } => Some(format!("ended: {reason:?}")),
        },
        TranscriptEntry::Message(message) if message.role == MessageRole::Reminder => None,
        TranscriptEntry::Message(message) => message.text.clone(),
        TranscriptEntry::Tool(tool) => Some(tool.title.english()),
    };
    transcript.iter().filter_map(line).collect()
}

/// Folder of the journals of the workspace.
pub(super) fn place(test: &TestDaemon) -> PathBuf {
    sessions::folder(test.state(), &[test.folder().canonicalize().unwrap()])
}

/// A journal of these lines, as a daemon leaves it.
pub(super) fn journal(folder: &Path, id: &str, lines: impl IntoIterator<Item = Line>) {
    let surroundings = Surroundings {
        folders: vec!["/work".into()],
        folder_names: Vec::new(),
        os: "linux".into(),
        date: "2026-11-22".into(),
        plan_tool: "TodoWrite".into(),
        project: String::new(),
        instructions: vec![],
    };
    let header =
        Header { version: VERSION, session_id: id.into(), surroundings, forked_from: None };
    let mut journal = Journal::create(&sessions::journal_path(folder, &id.into())).unwrap();
    let mut batch = Vec::new();
    for line in [Line::Session(header)].into_iter().chain(lines) {
        batch.push(serde_json::to_vec(&line).unwrap());
        if batch.len() == 64 {
            journal.append(&batch).unwrap();
            batch.clear();
        }
    }
    journal.append(&batch).unwrap();
}

pub(super) fn turn(number: usize, task: &str) -> [Line; 2] {
    let turn_id = format!("t-{number}");
    let line = TurnLine {
        turn_id: turn_id.clone().into(),
        task: task.into(),
        mode: ReviewMode::Review,
        follow_up: None,
        attachments: Vec::new(),
    };
    let ended = EndedLine {
        turn_id: turn_id.into(),
        reason: EndReason::Completed,
        summary: String::new(),
        open_items: 0,
        unchecked_edits: false,
        closed: false,
        usage: Usage::default(),
        spent: None,
    };
    [Line::Turn(line), Line::Ended(ended)]
}

#[tokio::test]
async fn the_list_gives_task_progress_and_order_of_sessions() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    assert!(all(&test.editor).await.is_empty());
    test.script([plan("c1", &[('x', "First"), (' ', "Second")]), say("One.")]);
    let first = test.editor.run("Make it blue").await;
    test.script([say("Two.")]);
    let second = test.editor.run(&"long ".repeat(100)).await;
    test.play_on(&second.session_id, [say("More.")]).await;
    let listed = all(&test.editor).await;
    let ids: Vec<&str> = listed.iter().map(|session| session.session_id.as_str()).collect();
    assert_eq!(ids, [&second.session_id, &first.session_id]);
    assert_eq!((listed[0].turns, listed[0].current), (2, true));
    assert!(listed[0].task.starts_with("long long") && listed[0].task.chars().count() == 201);
    assert_eq!((listed[1].turns, listed[1].current), (1, false));
    assert_eq!(listed[1].task, "Make it blue");
    assert_eq!((listed[1].done_items, listed[1].open_items), (1, 1));
    assert!(listed.iter().all(|session| !session.running && !session.locked_elsewhere));
    let (held, gate) = Response::reply(say("Late.")).held_at(0);
    test.model.push(held);
    let turn = run_in(&test.editor, &first.session_id).await.unwrap();
    let listed = all(&test.editor).await;
    let running: Vec<bool> = listed.iter().map(|session| session.running).collect();
    assert_eq!(running.iter().filter(|running| **running).count(), 1, "{listed:#?}");
    gate.open();
    test.editor.turn_end(&turn).await;
    test.finish().await;
}

#[tokio::test]
async fn the_list_gives_state_last_line_edits_and_queue_of_sessions() {
    let facts = |session: &SessionSummary| {
        (session.state.unwrap(), session.end, session.pending_edits, session.queued)
    };
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n"), ("b", "two\n")]).await;
    let edits = [edit("c1", "a", "one", "1"), edit("c2", "b", "two", "2")];
    let first = test.play(edits.into_iter().chain([say("Changed.\n\nBoth files.\n")])).await;
    test.edits(2).await;
    let listed = all(&test.editor).await;
    assert_eq!(facts(&listed[0]), (SessionState::Ended, Some(EndReason::Completed), 2, 0));
    assert_eq!(listed[0].last_line.as_deref(), Some("Both files."));

    test.editor.will_answer(Approval::Silence);
    test.script([bash("b1", "mkdir -p made")]);
    let second = test.editor.run_task("Make a folder").await;
    test.tool("b1", ToolState::AwaitingApproval).await;
    let add = QueueAddParams {
        session_id: second.session_id.clone(),
        text: "Then another".into(),
        mode: None,
        attachments: Vec::new(),
    };
    try_ask::<QueueAdd>(&test.editor, add).await.unwrap();
    let listed = all(&test.editor).await;
    assert_eq!(facts(&listed[0]), (SessionState::Waiting, None, 0, 1));
    assert!(listed[0].running && listed[0].last_line.is_none(), "{:?}", listed[0]);
    assert_eq!(facts(&listed[1]), (SessionState::Ended, Some(EndReason::Completed), 2, 0));

    // Another window sees what is on disk: that it runs, and not that it waits.
    let other = test.second_window().await;
    let seen = all(&other).await;
    assert!(seen[0].locked_elsewhere);
    assert_eq!(facts(&seen[0]), (SessionState::Running, None, 0, 1));
    assert_eq!(seen[1].last_line.as_deref(), Some("Both files."));
    other.finish();

    test.cancel(&second).await;
    let stopped = |listed: &[SessionSummary]| {
        let found = listed.iter().find(|it| it.session_id == second.session_id);
        assert_eq!(facts(found.unwrap()), (SessionState::Ended, Some(EndReason::Cancelled), 0, 1));
    };
    stopped(&all(&test.editor).await);
    // From disk, for the session that is not restored.
    open(&test.editor, &first.session_id).await;
    let test = test.restart().await;
    let listed = all(&test.editor).await;
    stopped(&listed);
    assert_eq!(facts(&listed[0]), (SessionState::Ended, Some(EndReason::Completed), 2, 0));
    test.finish().await;
}

#[tokio::test]
async fn the_list_has_pages() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    for number in 0..7 {
        journal(&place(&test), &format!("s-{number}"), turn(0, &format!("Task {number}")));
    }
    // No journal: neither of these is one.
    fs::write(place(&test).join("sessions/notes.txt"), "").unwrap();
    fs::write(place(&test).join("sessions/s-empty.log"), "").unwrap();
    let (mut cursor, mut tasks, mut pages) = (None, Vec::new(), 0);
    loop {
        let page = list(&test.editor, ListSessionsParams { cursor, limit: Some(3) }).await;
        tasks.extend(page.sessions.into_iter().map(|session| session.task));
        pages += 1;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, 3);
    tasks.sort();
    let expected: Vec<String> = (0..7).map(|number| format!("Task {number}")).collect();
    assert_eq!(tasks, expected);
    test.finish().await;
}

#[tokio::test]
async fn an_earlier_session_can_be_opened_and_is_restored_first() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    let first =
        test.play([plan("c1", &[('>', "First")]), edit("c2", "a", "one", "1"), say("Done?")]).await;
    let second = test.play([say("Two.")]).await;
    let test = test.restart().await;
    let found = open(&test.editor, &first.session_id).await;
    assert_eq!((found.task.as_deref(), found.read_only.clone()), (Some("Do it"), None));
    assert_eq!(found.plan.unwrap().items[0].content, "First");
    let expected = ["started: Do it", "Update the plan", "Edit a", "Done?", "ended: NeedsInput"];
    assert_eq!(told(&found.transcript), expected);
    // It is in memory now, and what is said in it is told all the same.
    test.play_on(&first.session_id, [say("More.")]).await;
    let found = open(&test.editor, &second.session_id).await;
    assert_eq!(told(&found.transcript), ["started: Do it", "Two.", "ended: Completed"]);
    let found = open(&test.editor, &first.session_id).await;
    assert!(told(&found.transcript).ends_with(&["More.".into(), "ended: Completed".into()]));
    // The clock was set back since the other one was used.
    let ahead = SystemTime::now() + Duration::from_secs(3600);
    let other = place(&test).join(format!("sessions/{}.log", second.session_id));
    journal::set_modified(&other, ahead).unwrap();
    let test = test.restart().await;
    let sessions = test.editor.request::<State>(Default::default()).await.unwrap().sessions;
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].session_id, first.session_id, "the one that was opened last");
    for id in ["s-0", "../../x", ""] {
        let params = OpenSessionParams { session_id: id.into(), ..Default::default() };
        let refused = try_ask::<OpenSession>(&test.editor, params).await.unwrap_err();
        assert_eq!(refused.0, ErrorKind::UnknownSession, "{id}");
    }
    test.finish().await;
}

#[tokio::test]
async fn a_fork_continues_from_the_end_of_a_turn() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let first = test.play([plan("c1", &[('>', "First"), (' ', "Second")]), say("One?")]).await;
    let id = first.session_id.clone();
    test.play_on(&id, [plan("c2", &[('x', "First"), ('x', "Second")]), say("Two.")]).await;
    let copy = fork(&test.editor, &id, Some(&first.turn_id)).await;
    assert_ne!(copy.session_id, id);
    let plan = copy.plan.unwrap();
    assert_eq!((plan.session_id, plan.completed, plan.total), (copy.session_id.clone(), 0, 2));
    assert_eq!(told(&copy.transcript).last().unwrap(), "ended: NeedsInput");
    let after_first = test.model.requests().len() - 2;
    let end = test.play_on(&copy.session_id, [say("Another way.")]).await;
    let requests = test.model.requests();
    let messages = |index: usize| requests[index].json()["messages"].as_array().unwrap().len();
    assert_eq!(messages(requests.len() - 1), messages(after_first), "as if the turn had not been");
    // The other one knows nothing of it.
    let other = open(&test.editor, &id).await;
    assert_eq!(other.plan.unwrap().completed, 2);
    assert!(!told(&other.transcript).contains(&"Another way.".to_owned()));
    // Both are whole over a restart, and say where they come from.
    let test = test.restart().await;
    let listed = all(&test.editor).await;
    assert_eq!(listed.len(), 2, "{listed:#?}");
    let again = open(&test.editor, &copy.session_id).await;
    assert_eq!(told(&again.transcript).last().unwrap(), "ended: Completed");
    let text = export(&test.editor, &copy.session_id, ExportFormat::Markdown).await;
    assert!(text.contains(&format!("Forked from `{id}` after turn `{}`", first.turn_id)), "{text}");
    // Of a turn that is not over nothing is taken along.
    let (held, gate) = Response::reply(say("Late.")).held_at(0);
    test.model.push(held);
    let running = run_in(&test.editor, &copy.session_id).await.unwrap();
    let params =
        ForkSessionParams { session_id: copy.session_id.clone(), at_turn: Some(running.clone()) };
    let refused = try_ask::<ForkSession>(&test.editor, params).await.unwrap_err();
    assert_eq!(refused.0, ErrorKind::InvalidParams);
    let third = fork(&test.editor, &copy.session_id, None).await;
    assert_eq!(third.news.turn.unwrap().turn_id, end.turn_id);
    gate.open();
    test.editor.turn_end(&running).await;
    test.finish().await;
}

#[tokio::test]
async fn deleting_a_session_deletes_all_its_files() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let first = test.play([say("One.")]).await;
    let (held, gate) = Response::reply(say("Late.")).held_at(0);
    test.model.push(held);
    let turn = run_in(&test.editor, &first.session_id).await.unwrap();
    let (kind, why) = delete(&test.editor, &first.session_id).await.unwrap_err();
    assert_eq!(
        (kind, why.as_str()),
        (ErrorKind::SessionLocked, "The agent is working in this session. Cancel the task first.")
    );
    gate.open();
    test.editor.turn_end(&turn).await;
    fs::write(place(&test).join(format!("sessions/{}.log.torn-1", first.session_id)), "x").unwrap();
    delete(&test.editor, &first.session_id).await.unwrap();
    assert_eq!(fs::read_dir(place(&test).join("sessions")).unwrap().count(), 0);
    assert!(all(&test.editor).await.is_empty());
    assert_eq!(
        delete(&test.editor, &first.session_id).await.unwrap_err().0,
        ErrorKind::UnknownSession
    );
    assert_eq!(
        run_in(&test.editor, &first.session_id).await.unwrap_err().0,
        ErrorKind::UnknownSession
    );
    test.play([say("Two.")]).await;
    test.finish().await;
}

#[tokio::test]
async fn a_second_window_reads_sessions_and_works_in_its_own() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let first = test.play([say("One.")]).await;
    assert!(banners(&test.editor).await.is_empty());
    let second = test.second_window().await;
    let told_so = |banner: &Banner| banner.kind == BannerKind::Elsewhere;
    assert!(banners(&second).await.iter().any(told_so), "{:?}", banners(&second).await);
    let listed = all(&second).await;
    assert!(listed[0].locked_elsewhere && !listed[0].current, "{listed:#?}");
    let looked_at = open(&second, &first.session_id).await;
    let why = looked_at.read_only.unwrap();
    assert_eq!(why.reason, ReadOnlyReason::OpenElsewhere);
    assert_eq!(why.message, ReadOnlyProblem::SessionInOtherWindow.message());
    assert_eq!(told(&looked_at.transcript), ["started: Do it", "One.", "ended: Completed"]);
    let (kind, what) = run_in(&second, &first.session_id).await.unwrap_err();
    assert_eq!(kind, ErrorKind::SessionLocked);
    assert!(what.contains("Open in another window"), "{what}");
    assert_eq!(delete(&second, &first.session_id).await.unwrap_err().0, ErrorKind::SessionLocked);
    // What is said there meanwhile is seen when it is looked at again; nobody disturbs the other.
    test.play_on(&first.session_id, [say("Two.")]).await;
    let again = open(&second, &first.session_id).await;
    assert!(told(&again.transcript).contains(&"Two.".to_owned()));
    // Its own work goes on as ever.
    test.script([say("Mine.")]);
    let own = second.run("Mine").await;
    assert_eq!(own.reason, EndReason::Completed);
    test.script([say("From here on mine.")]);
    let copy = fork(&second, &first.session_id, None).await;
    assert_eq!(copy.read_only, None);
    let turn = run_in(&second, &copy.session_id).await.unwrap();
    assert_eq!(second.turn_end(&turn).await.reason, EndReason::Completed);
    // When the other window is gone, it is this one's.
    test.editor.request::<State>(Default::default()).await.unwrap();
    test.editor.client.close();
    test.editor.client.closed().await;
    let limit = Instant::now() + Duration::from_secs(10);
    let taken = loop {
        let found = open(&second, &first.session_id).await;
        if found.read_only.is_none() || Instant::now() > limit {
            break found;
        }
    };
    assert_eq!(taken.read_only, None);
    test.script([say("Three.")]);
    let turn = run_in(&second, &first.session_id).await.unwrap();
    assert_eq!(second.turn_end(&turn).await.reason, EndReason::Completed);
    second.finish();
}

#[tokio::test]
async fn a_damaged_session_shows_its_intact_part_and_can_be_forked() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let first = test.play([say("One.")]).await;
    test.play_on(&first.session_id, [say("Two.")]).await;
    let path = journals(test.state()).remove(0);
    let (mut bytes, mut text) = (Vec::new(), String::new());
    // Once the daemon has ended all of it is there: the damage is in the middle.
    let damage = || {
        bytes = fs::read(&path).unwrap();
        text = String::from_utf8(bytes.clone()).unwrap();
        bytes[text.find("Two.").unwrap()] ^= 1;
        fs::write(&path, &bytes).unwrap();
    };
    let test = test.restart_after(damage).await;
    let good = text[..text.find("Two.").unwrap()].lines().count() - 1;
    let found = open(&test.editor, &first.session_id).await;
    let why = found.read_only.unwrap();
    assert_eq!(why.reason, ReadOnlyReason::Damaged);
    let lost = text.lines().count() - good;
    let (records, lost) = (good as u32, lost as u32);
    assert_eq!(why.message, ReadOnlyProblem::JournalDamaged { records, lost }.message());
    assert_eq!(
        told(&found.transcript),
        ["started: Do it", "One.", "ended: Completed", "started: Go on"]
    );
    assert_eq!(
        run_in(&test.editor, &first.session_id).await.unwrap_err().0,
        ErrorKind::SessionLocked
    );
    let text = export(&test.editor, &first.session_id, ExportFormat::Markdown).await;
    assert!(text.contains(&format!("{lost} lines of the journal could not be read")), "{text}");
    let copy = fork(&test.editor, &first.session_id, None).await;
    test.play_on(&copy.session_id, [say("Three.")]).await;
    assert!(fs::read(&path).unwrap() == bytes, "it was changed");
    test.finish().await;
}

#[tokio::test]
async fn an_exported_replay_script_gives_the_same_calls_and_plan() {
    let files = [("a", "one\n```` and `this`\n")];
    let test = TestDaemon::open(Wire::Anthropic, &files).await;
    test.editor.will_answer(allow());
    let replies = [
        plan("c1", &[('>', "First"), (' ', "Second")]),
        call("c2", "read_file", json!({ "path": "a" })),
        edit("c3", "a", "one", "1"),
        bash("c4", "echo \"hello `there`\""),
        plan("c5", &[('x', "First"), ('>', "Second")]),
        say("Shall I go on?"),
    ];
    let first = test.play(replies).await;
    test.play_on(&first.session_id, [plan("c6", &[('x', "First"), ('x', "Second")]), say("Done.")])
        .await;
    let markdown = export(&test.editor, &first.session_id, ExportFormat::Markdown).await;
    assert!(markdown.contains("`````text\n"), "a fence longer than that of the file:\n{markdown}");
    for part in [
        "# Session `s-",
        "## Turn 2",
        "### User\n\n```text\nGo on\n```",
        "### Call of `edit_file` (`c3`)",
        "Shall I go on?",
        "[x] First\n[>] Second",
        "*The turn ended: completed. Open items: 0.*",
    ] {
        assert!(markdown.contains(part), "no {part:?} in:\n{markdown}");
    }
    let script = export(&test.editor, &first.session_id, ExportFormat::Replay).await;
    let parsed: Value = serde_json::from_str(&script).unwrap();
    assert_eq!(parsed["name"], "Do it / Go on");
    let before = open(&test.editor, &first.session_id).await;
    test.finish().await;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    fs::write(&file, script).unwrap();
    let model = json!({ "provider": "replay", "replayFile": file });
    let replay = TestDaemon::with_model(&files, model).await;
    replay.editor.will_answer(allow());
    let again = replay.editor.run("Do it").await;
    let turn = run_in(&replay.editor, &again.session_id).await.unwrap();
    replay.editor.turn_end(&turn).await;
    let after = open(&replay.editor, &again.session_id).await;
    assert_eq!(told(&after.transcript), told(&before.transcript));
    let items = |session: &SessionSnapshot| {
        let items = session.plan.clone().unwrap().items;
        items.into_iter().map(|item| (item.content, item.status)).collect::<Vec<_>>()
    };
    assert_eq!(items(&after), items(&before));
    assert_eq!(replay.disk("a"), "1\n```` and `this`\n");
    replay.finish().await;
}

#[tokio::test]
async fn a_large_export_is_written_to_a_file() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let long = "word ".repeat(200_000);
    journal(&place(&test), "s-long", (0..6).flat_map(|number| turn(number, &long)));
    let params =
        ExportSessionParams { session_id: "s-long".into(), format: ExportFormat::Markdown };
    let exported = try_ask::<ExportSession>(&test.editor, params).await.unwrap();
    let ExportSessionResult::File { uri } = exported else { panic!("it is an answer") };
    let path = PathBuf::from(uri.strip_prefix("file://").unwrap());
    assert_eq!(path, place(&test).join("exports/s-long.md"));
    assert!(fs::read_to_string(&path).unwrap().len() > 6_000_000);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left over");
    delete(&test.editor, "s-long").await.unwrap();
    assert!(!path.exists());
    test.finish().await;
}

#[tokio::test]
async fn a_session_continues_after_its_disk_is_writable_again() {
    let test = TestDaemon::open(Wire::Anthropic, &[("a", "one\n")]).await;
    let blocked = test.state().join("workspaces");
    fs::write(&blocked, "").unwrap();
    let end = test.play([edit("c1", "a", "one", "1"), say("I could not.")]).await;
    assert_eq!(test.disk("a"), "one\n");
    fs::remove_file(&blocked).unwrap();
    let well = |banners: Vec<Banner>| banners.iter().all(|it| it.kind != BannerKind::Storage);
    let limit = Instant::now() + Duration::from_secs(10);
    while !well(banners(&test.editor).await) {
        assert!(Instant::now() < limit, "it is still not written down");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    test.play_on(&end.session_id, [edit("c2", "a", "one", "1"), say("Now.")]).await;
    assert_eq!(test.disk("a"), "1\n");
    let test = test.restart().await;
    let sessions = test.editor.request::<State>(Default::default()).await.unwrap().sessions;
    let states: Vec<ToolState> = sessions[0]
        .transcript
        .iter()
        .filter_map(|entry| match entry {
            TranscriptEntry::Tool(tool) => Some(tool.state),
            TranscriptEntry::Turn(_) | TranscriptEntry::Message(_) => None,
        })
        .collect();
    assert_eq!(states, [ToolState::Failed, ToolState::Done], "nothing is lost");
    test.finish().await;
}

/// However much lies in the folder: the files on a page are read at their ends only.
#[tokio::test]
async fn listing_a_large_folder_takes_bounded_time_and_memory() {
    const SESSIONS: usize = 3_000;
    const LONG: usize = 100;
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = sessions::folder(state.path(), &[folder.path().canonicalize().unwrap()]);
    let daemon = Daemon::spawn(|command| {
        command.env("CAIRN_STATE_DIR", state.path());
    });
    let editor = EditorDouble::connect(daemon.client.clone(), folder.path(), json!({})).await;
    editor.request::<State>(Default::default()).await.unwrap();
    // Later than the start, at which all but the newest would be removed.
    let digest = |task: String| Line::Digest(Digest { task, turns: 7, ..Digest::default() });
    let megabyte = "x".repeat(1_000_000);
    let long = (0..LONG).flat_map(|number| turn(number, &megabyte));
    journal(&place, "s-long", long.chain([digest("The long one".into())]));
    journal(&place, "s-0", turn(0, "Task 0"));
    let template = sessions::journal_path(&place, &"s-0".into());
    for number in 1..SESSIONS {
        fs::copy(&template, sessions::journal_path(&place, &format!("s-{number}").into())).unwrap();
    }
    let before = daemon.peak_memory().unwrap();
    let page = list(&editor, ListSessionsParams { cursor: None, limit: Some(200) }).await;
    let grown = daemon.peak_memory().unwrap() - before;
    assert!(page.sessions.len() > 150, "{}", page.sessions.len());
    // No file is read whole.
    assert!(grown < 8 * 1024 * 1024, "{grown} bytes");
    // The long one is an old one.
    let found = all_pages(&editor).await;
    let long = found.iter().find(|session| session.session_id == "s-long").unwrap();
    assert_eq!((long.task.as_str(), long.turns), ("The long one", 7));
    assert!(daemon.peak_memory().unwrap() - before < 8 * 1024 * 1024);
    editor.finish();
}

async fn all_pages(editor: &EditorDouble) -> Vec<SessionSummary> {
    let (mut cursor, mut found) = (None, Vec::new());
    loop {
        let page = list(editor, ListSessionsParams { cursor, limit: Some(200) }).await;
        found.extend(page.sessions);
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}
