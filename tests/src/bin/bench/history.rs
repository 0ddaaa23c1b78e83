//! Cost of preparing the next request of a long session, in process.

use std::time::Instant;

use cairn::model::{
    client::{Client, Format, ServerConfig},
    history::History,
    http::BaseUrl,
    manners::KnownServer,
};
use cairn_core::{
    call_forms::OfferedTool,
    context::Window,
    conversation::{AssistantMessage, Block, ToolArguments, ToolCall},
    model::{ModelEvent, Reply, Stop, Usage},
    plan::{Dialect, ListDialect, reminder::ReminderSettings},
    turn::{Effect, Input, Session, TurnSettings},
};
use serde_json::json;

use crate::table::{Aim::None, Table, Unit};

const ROUNDS: usize = 1_000;
const RESULT_BYTES: usize = 4_096;
/// Rounds at which it is looked at: these and the nine before each.
const MARKS: [usize; 4] = [10, 50, 200, ROUNDS];

/// The machine's step that closes a round, and the encoding of what is new.
pub(crate) fn requests(table: &mut Table) {
    let base = BaseUrl::parse("http://localhost:1").expect("a URL");
    let config = ServerConfig::new(base, "m", Option::None);
    let provider = Client::new(Format::Messages, config, KnownServer::default());
    let mut session = session();
    let mut history = History::default();
    let mut number = 0;
    let mut times = vec![Vec::new(); MARKS.len()];
    let mut sent = 0;
    let mut effects =
        session.step(Input::UserMessage { text: "Go on".into(), attached: Vec::new() });
    for round in 1..=ROUNDS {
        for effect in effects {
            if let Effect::CallModel { request } = effect {
                number = request;
            }
        }
        sent += history.catch_up(&provider, &session).len();
        session.take_records();
        session.step(Input::Model { request: number, event: ModelEvent::Finished(call(round)) });
        let content = format!("round {round} {}", "x".repeat(RESULT_BYTES));
        let done =
            Input::ToolDone { call_id: format!("c{round}").into(), content, is_error: false };
        let began = Instant::now();
        effects = session.step(done);
        session.take_records();
        history.catch_up(&provider, &session);
        let took = began.elapsed();
        for (times, mark) in times.iter_mut().zip(MARKS) {
            if (mark - 9..=mark).contains(&round) {
                times.push(took);
            }
        }
    }
    for (mark, times) in MARKS.into_iter().zip(&times) {
        let what = format!("round {mark}: a round closed and its request encoded, in process");
        table.times(&what, Unit::Micros, None, times);
    }
    let per_request = |bytes: usize| vec![bytes as f64 / ROUNDS as f64];
    let what = format!("bytes of a request, the mean of {ROUNDS}");
    table.row(&what, Unit::Bytes, None, per_request(sent));
    table.row("and of them copied again", Unit::Bytes, None, per_request(history.copied()));
}

fn session() -> Session {
    let dialect = Dialect::List(ListDialect::TodoWrite);
    let mut session = Session::new(TurnSettings {
        max_rounds: 10 * ROUNDS as u32,
        dialect,
        reminders: ReminderSettings::defaults(dialect),
        tools: vec![OfferedTool {
            name: "read_file".into(),
            parallel: true,
            arguments: [("path".to_owned(), serde_json::Value::Null)].into_iter().collect(),
        }],
        plans_only: false,
    });
    session.set_window(Window { tokens: 100_000_000, reserve: 0, head: 0 });
    session
}

fn call(round: usize) -> Reply {
    let call = ToolCall {
        id: format!("c{round}").into(),
        name: "read_file".into(),
        arguments: ToolArguments::Object(json!({ "path": format!("src/file_{round}.rs") })),
    };
    let message = AssistantMessage { blocks: vec![Block::ToolCall(call)] };
    Reply { message, stop: Stop::ToolUse, usage: Usage::default() }
}
