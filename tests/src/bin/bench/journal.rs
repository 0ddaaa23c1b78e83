//! Cost of writing sessions to disk, and of restoring a long one.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use cairn::store::{
    journal::{Journal, Writer},
    sessions::{self, EndedLine, Header, Line, TurnLine, VERSION},
};
use cairn_core::{
    conversation::{
        AssistantMessage, Block, Item, ToolArguments, ToolCall, ToolResult, UserMessage,
    },
    ids::CallId,
    prompt::Surroundings,
    review::Origin,
    turn::Record,
};
use cairn_protocol::{EndReason, ReviewMode, Usage};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    daemon::Daemon,
    table::{Aim::None, Table, Unit},
};

const RECORDS: usize = 10_000;
const SYNCED: usize = 200;
const STARTS: usize = 10;
const RESULT_BYTES: usize = 1_000;

/// The records of one round of reading, one after the other.
fn round(number: usize) -> [Line; 2] {
    let id = CallId::from(format!("c{number}"));
    let name = "read_file".to_owned();
    let arguments = ToolArguments::Object(json!({ "path": format!("src/file_{number}.rs") }));
    let call = ToolCall { id: id.clone(), name, arguments };
    let blocks = vec![Block::Text("I look at it.".into()), Block::ToolCall(call)];
    let result = ToolResult { call_id: id, content: "x".repeat(RESULT_BYTES), is_error: false };
    [
        Line::Step(Record::Item(Item::Assistant(AssistantMessage { blocks }))),
        Line::Step(Record::Item(Item::ToolResults { results: vec![result], notes: vec![] })),
    ]
}

/// A session of many rounds in one turn.
fn lines(id: &str, folder: &Path) -> Vec<Line> {
    let surroundings = Surroundings {
        folders: vec![folder.display().to_string()],
        folder_names: Vec::new(),
        os: "linux".into(),
        date: "2026-11-22".into(),
        plan_tool: "TodoWrite".into(),
        project: String::new(),
        instructions: vec![],
    };
    let (turn_id, task) = ("t-1".to_owned(), "Read it all".to_owned());
    let header =
        Header { version: VERSION, session_id: id.into(), surroundings, forked_from: Option::None };
    let user = UserMessage { text: task.clone(), ..UserMessage::default() };
    let mode = ReviewMode::Review;
    let turn = TurnLine {
        turn_id: turn_id.clone().into(),
        task,
        mode,
        follow_up: Option::None,
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
        spent: Option::None,
    };
    let mut lines =
        vec![Line::Session(header), Line::Turn(turn), Line::Step(Record::Item(Item::User(user)))];
    let rounds = (RECORDS - 5) / 2;
    lines.extend((0..rounds).flat_map(round));
    let words = AssistantMessage { blocks: vec![Block::Text("Done.".into())] };
    lines.extend([Line::Step(Record::Item(Item::Assistant(words))), Line::Ended(ended)]);
    lines
}

pub(crate) fn journal(table: &mut Table) {
    let folder = TempDir::new().expect("a folder");
    let work = folder.path().canonicalize().expect("a folder");
    let lines = lines("s-long", &work);
    let state = TempDir::new().expect("a folder");
    let path = sessions::journal_path(&sessions::folder(state.path(), &[work]), &"s-long".into());

    let writer = Writer::spawn(Journal::create(&path).expect("a journal"), |_| {});
    let writer = writer.expect("a thread");
    let mut handed_over = Vec::new();
    for line in &lines {
        let began = Instant::now();
        let record = serde_json::to_vec(line).expect("JSON");
        writer.append(record).expect("it is taken");
        handed_over.push(began.elapsed());
    }
    table.times("a record, made and handed to the journal", Unit::Micros, None, &handed_over);
    let synced: Vec<Duration> = (0..SYNCED)
        .map(|number| {
            let began = Instant::now();
            let call = format!("c{number}");
            let origin = Origin {
                session: "s-long".into(),
                turn: "t-1".into(),
                call: call.into(),
                plan_item: Option::None,
                plan_item_text: Option::None,
                subagent: Option::None,
            };
            writer.append(sessions::begun(&origin)).expect("it is taken");
            writer.sync().blocking_recv().expect("it answers").expect("it is saved");
            began.elapsed()
        })
        .collect();
    table.times("the record before an effect, on the disk", Unit::Micros, None, &synced);
    drop(writer);
    // The thread has the lock until it has saved everything.
    while cairn::store::journal::is_locked(&path) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let bytes = fs::metadata(&path).map(|file| file.len() as f64).unwrap_or_default();
    let each = bytes / (lines.len() + SYNCED) as f64;
    table.row(
        "bytes of a record; every other one is a result of 1,000 bytes",
        Unit::Ratio,
        None,
        vec![each],
    );

    let (mut starts, mut resident) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let mut daemon = Daemon::spawn_in(state.path());
        let answered = daemon.initialize(folder.path(), &json!({}));
        let (told, reply) = daemon.request("agent/state", &json!({}));
        assert_eq!(reply["result"]["sessions"][0]["sessionId"], "s-long", "it is taken up");
        starts.push(told - answered);
        resident.extend(daemon.memory().map(|memory| memory.resident / 1e6));
    }
    let what = format!("`initialize` answered → a session of {RECORDS} records, 6 MB, is there");
    table.times(&what, Unit::Millis, None, &starts);
    table.row("resident memory with it", Unit::MegaBytes, None, resident);
}
