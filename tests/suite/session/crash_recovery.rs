//! Crash recovery: after a crash at any record, a session continues to the same end.
//!
//! A session is recorded while the state and the files are copied at each request of the model, so
//! that for each record there is a copy of how everything stood around it. Then each of its records
//! was the last one in turn: the session is taken up from there, the turn that was cut is finished, and the next act is
//! played.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use cairn::store::sessions::Line;
use cairn_core::{
    conversation::Item,
    ids::CallId,
    plan::{Plan, Status, TodoItem},
    turn::Record,
};
use cairn_protocol::{
    Decide, DecideParams, Decision, ExportFormat, ExportSession, ExportSessionParams, Hunk,
    ItemStatus, RunTask, RunTaskParams, RunTaskResult, Scope, SessionSnapshot, State, Steer,
    SteerParams, TranscriptEntry, TurnPhase,
};
use cairn_tests::{
    editor_double::EditorDouble,
    lsp_client::Daemon,
    model_server::{Reply, Response, Wire},
};
use serde_json::{Value, json};

use crate::fixtures::*;

const TURNS: usize = 5;
/// Answers of the model in each turn, its last words among them.
const ROUNDS: usize = 6;
const STEER: &str = "Mind the commas";

/// Acts of a recording, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Turn(usize),
    /// The user decides about the hunk of this turn in `b`.
    Decide(usize, Decision),
}

const ACTS: [Act; TURNS + 2] = [
    Act::Turn(0),
    Act::Turn(1),
    Act::Decide(1, Decision::Reject),
    Act::Turn(2),
    Act::Turn(3),
    Act::Decide(0, Decision::Accept),
    Act::Turn(4),
];

fn text() -> String {
    (0..TURNS).map(|turn| format!("line {turn}\nbetween\n")).collect()
}

fn words(turn: usize) -> String {
    format!("Do part {turn}")
}

fn call_id(turn: usize, round: usize) -> String {
    format!("t{turn}r{round}")
}

/// A command of even turns, a file as a whole of odd ones.
fn effect(id: &str, turn: usize) -> Reply {
    match turn {
        0 | 2 => bash(id, &format!("echo {turn} >> out")),
        1 => call(id, "write_file", json!({ "path": "made", "content": "made\n" })),
        3 => call(id, "move_file", json!({ "from": "old", "to": "moved" })),
        _ => call(id, "delete_file", json!({ "path": "gone" })),
    }
}

fn reply(turn: usize, round: usize, id: &str) -> Reply {
    match round {
        0 => {
            let mark = |part: usize| match part.cmp(&turn) {
                std::cmp::Ordering::Less => 'x',
                std::cmp::Ordering::Equal => '>',
                std::cmp::Ordering::Greater => ' ',
            };
            let names: Vec<String> = (0..TURNS).map(|part| format!("Part {part}")).collect();
            let items: Vec<(char, &str)> =
                (0..TURNS).map(|part| (mark(part), names[part].as_str())).collect();
            plan(id, &items)
        }
        1 => call(id, "read_file", json!({ "path": "a" })),
        2 => edit(id, "a", &format!("line {turn}\n"), &format!("agent {turn}\n")),
        3 => effect(id, turn),
        4 => edit(id, "b", &format!("line {turn}\n"), &format!("agent {turn}\n")),
        _ => say(&format!("Part {turn} is done.")),
    }
}

/// Returns true if the effect of a round is in the files.
fn shows(files: &Path, turn: usize, round: usize) -> bool {
    let read = |name: &str| fs::read_to_string(files.join(name)).unwrap_or_default();
    match (round, turn) {
        (2, _) => read("a").contains(&format!("agent {turn}\n")),
        (3, 0 | 2) => read("out").contains(&format!("{turn}\n")),
        (3, 1) => files.join("made").exists(),
        (3, 3) => files.join("moved").exists(),
        (3, _) => !files.join("gone").exists(),
        (4, _) => read("b").contains(&format!("agent {turn}\n")),
        _ => false,
    }
}

/// The state that a user sees at the end.
#[derive(Debug, PartialEq)]
struct End {
    files: Vec<(String, String)>,
    plan: Vec<(String, ItemStatus)>,
    hunks: Vec<(String, String, String)>,
}

/// State between two answers of the model.
struct Copy {
    folder: tempfile::TempDir,
    records: usize,
    hunks: Vec<(String, String, String)>,
    /// Number of completed acts.
    acts: usize,
}

struct Recording {
    test: TestDaemon,
    session_id: String,
    journal: PathBuf,
    lines: Vec<String>,
    copies: Vec<Copy>,
    /// State after each act.
    ends: Vec<End>,
}

async fn state(test: &TestDaemon) -> cairn_protocol::StateResult {
    test.editor.request::<State>(Default::default()).await.unwrap()
}

async fn session(test: &TestDaemon) -> Option<SessionSnapshot> {
    let mut sessions = state(test).await.sessions;
    assert!(sessions.len() <= 1, "{sessions:#?}");
    sessions.pop()
}

async fn hunks(test: &TestDaemon) -> Vec<(String, String, String)> {
    let reviews = state(test).await.reviews;
    let of = |path: &str, hunk: &Hunk| {
        let what = hunk.whole_file.map(|whole| format!("{whole:?}")).unwrap_or_default();
        (path.to_owned(), hunk.old_text.clone(), format!("{}{what}", hunk.new_text))
    };
    let mut hunks: Vec<_> = reviews
        .iter()
        .flat_map(|review| review.hunks.iter().map(|hunk| of(&review.path, hunk)))
        .collect();
    hunks.sort();
    hunks
}

async fn end(test: &TestDaemon) -> End {
    let mut files: Vec<(String, String)> = fs::read_dir(test.folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    let plan = session(test).await.and_then(|session| session.plan);
    let plan = plan.map(|plan| plan.items).unwrap_or_default();
    let plan = plan.into_iter().map(|item| (item.content, item.status)).collect();
    End { files, plan, hunks: hunks(test).await }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Empties a folder and fills it anew.
fn put_back(from: &Path, to: &Path) {
    for entry in fs::read_dir(to).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    copy_all(from, to);
}

async fn run(test: &TestDaemon, session_id: Option<&str>, text: &str) -> RunTaskResult {
    let session_id = session_id.map(str::to_owned);
    let params = RunTaskParams { text: text.into(), session_id, ..RunTaskParams::default() };
    test.editor.request::<RunTask>(params).await.unwrap()
}

/// Accepts or rejects the hunk in `b` that a turn proposed.
async fn decide(test: &TestDaemon, turn: usize, decision: Decision) {
    let hunks = test.hunks("b").await;
    let hunk = hunks.iter().find(|hunk| hunk.new_text.contains(&format!("agent {turn}"))).unwrap();
    let scope = Scope::Hunk { uri: test.uri("b"), hunk_id: hunk.id.clone() };
    let params = DecideParams { decision, scope, rev: None, feedback: None };
    let on_record = || {
        let reviews =
            journals(test.state()).remove(0).parent().unwrap().with_file_name("reviews.log");
        fs::read_to_string(reviews).unwrap().matches(r#"{"decided""#).count()
    };
    let before = on_record();
    assert_eq!(test.editor.request::<Decide>(params).await.unwrap().applied, 1);
    wait_until(Duration::from_secs(10), || on_record() > before).await;
}

async fn open() -> TestDaemon {
    let lines = text();
    let files = [("a", lines.as_str()), ("b", &lines), ("old", "old\n"), ("gone", "gone\n")];
    TestDaemon::open(Wire::Anthropic, &files).await
}

/// Answer of the model in this round, and the user's reaction.
fn answer(test: &TestDaemon, turn: usize, round: usize, id: &str) -> Response {
    if round == 3 && matches!(turn, 0 | 2) {
        test.editor.will_answer(allow());
    }
    Response::reply(reply(turn, round, id))
}

/// The files and the state, once all that was said is in the journal.
async fn copy(test: &TestDaemon, session_id: &str, acts: usize) -> Copy {
    let params =
        ExportSessionParams { session_id: session_id.into(), format: ExportFormat::Replay };
    test.editor.request::<ExportSession>(params).await.unwrap();
    let hunks = hunks(test).await;
    let folder = tempfile::tempdir().unwrap();
    copy_all(test.folder(), &folder.path().join("files"));
    copy_all(test.state(), &folder.path().join("state"));
    let journal = journals(&folder.path().join("state")).remove(0);
    let records = fs::read_to_string(journal).unwrap().lines().count();
    Copy { folder, records, hunks, acts }
}

async fn record() -> Recording {
    let test = open().await;
    let (mut copies, mut ends, mut session_id) = (Vec::<Copy>::new(), Vec::new(), None);
    for (done, act) in ACTS.into_iter().enumerate() {
        match act {
            Act::Decide(turn, decision) => decide(&test, turn, decision).await,
            Act::Turn(turn) => {
                let mut gates = Vec::new();
                for round in 0..ROUNDS {
                    let answer = answer(&test, turn, round, &call_id(turn, round));
                    let (held, gate) = answer.held_at(0);
                    test.model.push(held);
                    gates.push(gate);
                }
                let started = run(&test, session_id.as_deref(), &words(turn)).await;
                session_id = Some(started.session_id.clone());
                for (round, mut gate) in gates.into_iter().enumerate() {
                    gate.reached().await;
                    if (turn, round) == (2, 3) {
                        steer(&test, &started).await;
                    }
                    copies.push(copy(&test, &started.session_id, done).await);
                    gate.open();
                }
                test.editor.turn_end(&started.turn_id).await;
            }
        }
        copies.push(copy(&test, session_id.as_ref().unwrap(), done + 1).await);
        ends.push(end(&test).await);
    }
    let journal = journals(test.state()).remove(0);
    let lines = fs::read_to_string(&journal).unwrap().lines().map(str::to_owned).collect();
    Recording { session_id: session_id.unwrap(), journal, lines, copies, ends, test }
}

async fn steer(test: &TestDaemon, turn: &RunTaskResult) {
    let RunTaskResult { session_id, turn_id } = turn.clone();
    let params = SteerParams {
        session_id,
        expected_turn_id: turn_id,
        text: STEER.into(),
        attachments: Vec::new(),
    };
    test.editor.request::<Steer>(params).await.unwrap();
}

/// Facts in the records up to a crash.
#[derive(Default)]
struct Known {
    turns: usize,
    ended: bool,
    /// State of the newest turn.
    heard: bool,
    calls: HashSet<CallId>,
    begun: HashSet<CallId>,
    answered: HashSet<CallId>,
    shown: HashSet<CallId>,
    plan: Plan,
    steered: bool,
}

fn line(text: &str) -> Line {
    serde_json::from_str(text.splitn(3, ' ').nth(2).unwrap()).unwrap()
}

impl Known {
    fn of(lines: &[String]) -> Self {
        let mut known = Self::default();
        for text in lines {
            known.steered |= text.contains(STEER);
            match line(text) {
                Line::Turn(_) => {
                    known.turns += 1;
                    (known.ended, known.heard) = (false, false);
                }
                Line::Ended(_) => known.ended = true,
                Line::Tool(tool) => drop(known.shown.insert(tool.call_id.into())),
                other => other.records().iter().for_each(|record| known.add(record)),
            }
        }
        known
    }

    fn add(&mut self, record: &Record) {
        match record {
            Record::Item(Item::User(_)) => self.heard = true,
            Record::Item(Item::Assistant(message)) => {
                self.calls.extend(message.tool_calls().map(|call| call.id.clone()));
            }
            Record::Item(Item::ToolResults { results, .. }) => {
                self.answered.extend(results.iter().map(|result| result.call_id.clone()));
            }
            Record::Result(result) => drop(self.answered.insert(result.call_id.clone())),
            Record::Begun { call_id } => drop(self.begun.insert(call_id.clone())),
            Record::Memo(memo) => self.plan = memo.plan.clone(),
            #[allow(unreachable_patterns, reason = "records of later versions tell nothing here")]
            _ => {}
        }
    }
}

/// The records up to which the files were as in one copy and from which they were as in the next.
fn copies_around(recording: &Recording, last: usize) -> Vec<&Copy> {
    let copies = &recording.copies;
    let after = copies.iter().position(|copy| copy.records >= last).unwrap();
    let first = after.checked_sub(1).map_or(0, |before| copies[before].records);
    let known = |upto: usize| Known::of(&recording.lines[first..upto]);
    let here = known(last);
    let all = known(copies[after].records);
    match (after, all.begun.is_empty()) {
        // Nothing has an effect here, so the files are the same but for a decision, and that was
        // made before it was told.
        (0, _) | (_, true) => vec![&copies[after]],
        (_, false) if here.begun.is_empty() => vec![&copies[after - 1]],
        // It began, and nobody knows how far it came.
        (_, false) if here.shown.is_empty() && here.answered.is_empty() => {
            vec![&copies[after - 1], &copies[after]]
        }
        (_, false) => vec![&copies[after]],
    }
}

/// Takes the session up as if its daemon had died behind record number `last`, and plays the rest.
async fn die_and_go_on(recording: Recording, last: usize, variant: usize) -> Recording {
    let copy = copies_around(&recording, last)[variant];
    let (source, before, acts) = (copy.folder.path().to_owned(), copy.hunks.clone(), copy.acts);
    let Recording { test, session_id, journal, lines, copies, ends } = recording;
    let name = format!("record {last}, variant {variant}");
    let (folder, state) = (test.folder().to_owned(), test.state().to_owned());
    let known = Known::of(&lines[..last]);
    let prefix = lines[..last].iter().map(|line| format!("{line}\n")).collect::<String>();
    let test = test
        .restart_after(|| {
            put_back(&source.join("files"), &folder);
            put_back(&source.join("state"), &state);
            fs::write(&journal, prefix).unwrap();
        })
        .await;

    // It is all there, and nothing happens by itself.
    test.model.take_requests();
    let found = session(&test).await.unwrap_or_else(|| panic!("{name}: no session"));
    assert_eq!(found.session_id, session_id, "{name}");
    let entries = &found.transcript;
    let started = |entry: &&TranscriptEntry| match entry {
        TranscriptEntry::Turn(turn) => matches!(turn.phase, TurnPhase::Started { .. }),
        TranscriptEntry::Message(_) | TranscriptEntry::Tool(_) => false,
    };
    assert_eq!(entries.iter().filter(started).count(), known.turns, "{name}");
    let told: HashSet<CallId> = entries
        .iter()
        .filter_map(|entry| match entry {
            TranscriptEntry::Tool(tool) => Some(tool.call_id.as_str().into()),
            TranscriptEntry::Turn(_) | TranscriptEntry::Message(_) => None,
        })
        .collect();
    assert_eq!(told, known.shown, "{name}");
    let planned = |item: &TodoItem| (item.content.clone(), item.status == Status::Completed);
    let planned: Vec<_> = known.plan.items().iter().map(planned).collect();
    let shown = found.plan.map(|plan| plan.items).unwrap_or_default();
    let done = |status| status == ItemStatus::Completed;
    let shown: Vec<_> = shown.into_iter().map(|it| (it.content, done(it.status))).collect();
    assert_eq!(shown, planned, "{name}");
    assert_eq!(hunks(&test).await, before, "{name}");
    assert!(test.model.requests().is_empty(), "{name}: a model was asked");
    assert!(test.editor.edits().is_empty() && test.editor.asked().is_empty(), "{name}");

    // The rest of the turn that was lost, as a model would go on that looks before it repeats.
    let newest = known.turns.checked_sub(1);
    let cut = newest.filter(|_| !known.ended);
    if let Some(turn) = cut {
        let mut steered = known.steered;
        for round in 0..ROUNDS {
            let id = CallId::from(call_id(turn, round));
            let lost = known.calls.contains(&id) && !known.answered.contains(&id);
            let done = known.answered.contains(&id) || (lost && shows(&folder, turn, round));
            if !done {
                let id = if lost { format!("{id}again").into() } else { id };
                test.model.push(answer(&test, turn, round, &id));
            }
        }
        let started = run(&test, Some(&session_id), "Go on").await;
        if turn == 2 && !steered {
            // Soon enough or not, it is in the conversation.
            let RunTaskResult { session_id, turn_id } = started.clone();
            let params = SteerParams {
                session_id,
                expected_turn_id: turn_id,
                text: STEER.into(),
                attachments: Vec::new(),
            };
            steered = test.editor.request::<Steer>(params).await.is_ok();
        }
        test.editor.turn_end(&started.turn_id).await;
        let requests = test.model.requests();
        let body = requests[0].json().to_string();
        assert!(known.heard || body.contains(&words(turn)), "{name}: {body}");
        assert!(!known.steered || !steered || body.contains(STEER), "{name}: {body}");
        for id in known.calls.difference(&known.answered) {
            let told = result(&requests[0], id);
            let start = if known.begun.contains(id) { "May have run" } else { "Not run" };
            assert!(told.starts_with(start), "{name}: {id}: {told}");
        }
    }
    let is_due = |(index, act): &(usize, Act)| match act {
        Act::Turn(turn) => *turn >= known.turns,
        Act::Decide(..) => *index >= acts,
    };
    let next = ACTS.into_iter().enumerate().find(is_due);
    match next.map(|(_, act)| act) {
        Some(Act::Turn(turn)) => {
            for round in 0..ROUNDS {
                test.model.push(answer(&test, turn, round, &call_id(turn, round)));
            }
            let started = run(&test, Some(&session_id), &words(turn)).await;
            test.editor.turn_end(&started.turn_id).await;
        }
        Some(Act::Decide(turn, decision)) => decide(&test, turn, decision).await,
        None => {}
    }
    let expected = &ends[next.map_or(ACTS.len() - 1, |(index, _)| index)];
    let reached = end(&test).await;
    assert_eq!(&reached, expected, "{name}");
    Recording { test, session_id, journal, lines, copies, ends }
}

/// Each record of a session that is as good as any: with a plan, commands, edits, files made, moved
/// and deleted, a rejection, an accept, and words in between.
async fn at_every_record(share: usize, of: usize) {
    let mut recording = record().await;
    assert_eq!(recording.copies.len(), TURNS * (ROUNDS + 1) + 2);
    let end = recording.ends.last().unwrap();
    assert!(end.hunks.len() > TURNS, "{end:#?}");
    let out = end.files.iter().find(|(name, _)| name == "out").unwrap();
    assert_eq!(out.1, "0\n2\n");
    for last in (1..=recording.lines.len()).filter(|last| last % of == share) {
        for variant in 0..copies_around(&recording, last).len() {
            recording = die_and_go_on(recording, last, variant).await;
        }
    }
    recording.test.finish().await;
}

#[tokio::test]
async fn a_session_continues_after_a_crash_at_every_first_record_of_four() {
    at_every_record(0, 4).await;
}

#[tokio::test]
async fn a_session_continues_after_a_crash_at_every_second_record_of_four() {
    at_every_record(1, 4).await;
}

#[tokio::test]
async fn a_session_continues_after_a_crash_at_every_third_record_of_four() {
    at_every_record(2, 4).await;
}

#[tokio::test]
async fn a_session_continues_after_a_crash_at_every_fourth_record_of_four() {
    at_every_record(3, 4).await;
}

/// The real thing, at moments that nobody chose: the process is killed while its journal grows.
#[tokio::test]
async fn a_killed_daemon_runs_no_command_twice() {
    const COMMANDS: usize = 8;
    let command = |number: usize| {
        let arguments = json!({ "command": format!("echo {number} >> out") });
        json!({ "calls": [{ "name": "bash", "arguments": arguments }] })
    };
    let steps: Vec<Value> =
        (0..COMMANDS).map(command).chain([json!({ "text": "Done." })]).collect();
    let script = json!({ "cairnReplay": 1, "name": "commands", "steps": steps }).to_string();
    for records in [3, 6, 9, 14, 20, 27] {
        let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = state.path().join("script.json");
        fs::write(&file, &script).unwrap();
        let settings = json!({ "model": { "provider": "replay", "replayFile": file } });
        let connect = async || {
            let daemon = Daemon::spawn(|command| {
                command.env("CAIRN_STATE_DIR", state.path());
            });
            let client = daemon.client.clone();
            let editor = EditorDouble::connect(client, folder.path(), settings.clone()).await;
            for _ in 0..COMMANDS {
                editor.will_answer(allow());
            }
            (daemon, editor)
        };
        let out = || fs::read_to_string(folder.path().join("out")).unwrap_or_default();
        let (mut daemon, editor) = connect().await;
        let turn = editor.run_task("Count").await;
        let written = || {
            let journal = journals(state.path()).pop();
            journal.and_then(|journal| fs::read_to_string(journal).ok()).unwrap_or_default()
        };
        wait_until(Duration::from_secs(10), || written().lines().count() >= records).await;
        daemon.kill().await;
        editor.client.closed().await;
        // It may have died in the middle of a word, and was asked less than was prepared.
        std::mem::forget(editor);
        // A command that was begun goes with its daemon, or has run to its end.
        let lines: Vec<String> = written().split_inclusive('\n').map(str::to_owned).collect();
        let whole = lines.iter().filter(|line| line.ends_with('\n'));
        let known = Known::of(&whole.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>());

        let (_daemon, editor) = connect().await;
        let found = editor.request::<State>(Default::default()).await.unwrap().sessions.remove(0);
        assert_eq!(found.session_id, turn.session_id, "at {records}");
        let before = out();
        let params = RunTaskParams {
            text: "Go on".into(),
            session_id: Some(turn.session_id),
            ..RunTaskParams::default()
        };
        let turn = editor.request::<RunTask>(params).await.unwrap();
        editor.turn_end(&turn.turn_id).await;
        std::mem::forget(editor);
        let after = out();
        assert!(after.starts_with(&before), "at {records}");
        let numbers: Vec<&str> = after.lines().collect();
        let once: HashSet<&str> = numbers.iter().copied().collect();
        assert_eq!(once.len(), numbers.len(), "at {records}: {after}");
        // All but the one that may have run, or did not: the script goes on behind it.
        let lost = known.calls.difference(&known.answered).count();
        assert!(numbers.len() + lost >= COMMANDS, "at {records}: {after}");
    }
}
