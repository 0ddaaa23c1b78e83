//! Measurements of the whole daemon, from outside.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use cairn_core::context;
use cairn_tests::model_server::{Reply, Wire};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    daemon::{Daemon, binary},
    model::{Arrival, ModelServer},
    pure::todos,
    table::{
        Aim::{Below, None},
        Table, Unit, middle,
    },
};

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::OpenAi, Wire::Responses];
const STARTS: usize = 30;
const PLANS: usize = 60;
const PLAN_ITEMS: usize = 8;
const SESSIONS: usize = 3;
const ROUNDS: usize = 1_000;
/// Rounds that are measured: these and the four before each.
const MARKS: [usize; 4] = [7, 50, 200, ROUNDS];
/// Context window that no conversation here fills, so that none is compacted.
const WINDOW: usize = 100_000_000;
const FILES: usize = 10;
const FILE_BYTES: usize = 4096;
const MB: f64 = 1e6;

/// A model thinks before it answers; by then everything has settled and gone to sleep.
const THOUGHT: Duration = Duration::from_millis(5);

pub(crate) fn start(table: &mut Table) {
    let folder = TempDir::new().expect("a folder");
    let (mut times, mut resident, mut peak, mut proportional) = (vec![], vec![], vec![], vec![]);
    for _ in 0..STARTS {
        let began = Instant::now();
        let mut daemon = Daemon::spawn();
        times.push(daemon.initialize(folder.path(), &json!({})) - began);
        daemon.notification("agent/status", |_| true);
        thread::sleep(Duration::from_millis(100));
        if let Some(memory) = daemon.memory() {
            resident.push(memory.resident / MB);
            peak.push(memory.peak / MB);
            proportional.push(memory.proportional / MB);
        }
    }
    table.times("spawn → `initialize` answered", Unit::Millis, Below(10.0), &times);
    table.row("idle: resident memory", Unit::MegaBytes, Below(12.0), resident);
    table.row("idle: its peak until then", Unit::MegaBytes, None, peak);
    table.row("idle: proportional set size", Unit::MegaBytes, None, proportional);
    let size = fs::metadata(binary()).map(|file| file.len() as f64 / MB).ok();
    table.row("the binary", Unit::MegaBytes, None, size.into_iter().collect());
}

/// Cost of a round trip to the hub.
pub(crate) fn floor(table: &mut Table) {
    let mut fixture = Fixture::new(Wire::Anthropic);
    let mut times = Vec::new();
    for _ in 0..PLANS {
        thread::sleep(THOUGHT);
        let asked = Instant::now();
        times.push(fixture.daemon.request("agent/models", &json!({})).0 - asked);
    }
    table.times("for comparison: `agent/models` asked → answered", Unit::Millis, None, &times);
}

pub(crate) fn plan(table: &mut Table) {
    for wire in WIRES {
        let mut fixture = Fixture::new(wire);
        for pace in [Pace::Streamed, Pace::AtOnce] {
            let mut times = Vec::new();
            fixture.run_task();
            fixture.server.receive();
            for update in 0..PLANS {
                let call = Reply::text("Next.").call(
                    &format!("todo_{update}"),
                    "TodoWrite",
                    todos(PLAN_ITEMS, update % PLAN_ITEMS),
                );
                let sent = fixture.answer(&call, pace);
                times.push(fixture.daemon.notification("agent/plan", |_| true) - sent);
                fixture.server.receive();
            }
            fixture.end_turn();
            let what = match pace {
                Pace::Streamed => "last byte of a todo call",
                Pace::AtOnce => "all of a todo call",
            };
            let what = format!("{what} sent → `agent/plan` read ({})", name(wire));
            let aim = match pace {
                Pace::Streamed => Below(0.5),
                Pace::AtOnce => None,
            };
            // The first one also loads code that was never run before.
            table.times(&what, Unit::Millis, aim, &times[1..]);
        }
    }
}

/// Models of the families that get requests of their own, and the API that they are asked by.
const FAMILIES: [(&str, Wire); 5] = [
    ("claude-opus-5", Wire::Anthropic),
    ("gpt-5.6", Wire::Responses),
    ("gpt-4o", Wire::OpenAi),
    ("gemini-3-pro", Wire::OpenAi),
    ("qwen3-coder:30b", Wire::OpenAi),
];

/// Size of a conversation's first request: the instructions, the tools and a short task.
pub(crate) fn first_request(table: &mut Table) {
    for (model, wire) in FAMILIES {
        let mut fixture = Fixture::with(wire, model, "auto");
        fixture.run_task();
        let body = fixture.server.receive().body;
        let tokens = context::text_tokens(&String::from_utf8_lossy(&body));
        table.row(
            &format!("first request of {model}, in tokens"),
            Unit::Count,
            None,
            vec![tokens as f64],
        );
        fixture.end_turn();
    }
}

pub(crate) fn rounds(table: &mut Table) {
    for wire in WIRES {
        rounds_in(wire, table);
    }
}

fn rounds_in(wire: Wire, table: &mut Table) {
    let mut fixture = Fixture::new(wire);
    let mut marks: [Latencies; MARKS.len()] = Default::default();
    let mut resident = [const { Vec::new() }; MARKS.len()];
    for session in 0..SESSIONS {
        fixture.run_task();
        fixture.server.receive();
        for round in 1..=ROUNDS {
            let path = format!("src/file_{}.rs", round % FILES);
            let id = format!("read_{session}_{round}");
            let call = Reply::text("I look at it.").call(&id, "read_file", json!({ "path": path }));
            let sent = fixture.answer(&call, Pace::Streamed);
            let next = fixture.server.receive();
            for (at, mark) in MARKS.into_iter().enumerate() {
                if (mark - 4..=mark).contains(&round) {
                    marks[at].add(sent, &next);
                }
                if round == mark && session == 0 {
                    thread::sleep(Duration::from_millis(100));
                    resident[at].extend(fixture.daemon.memory().map(|memory| memory.resident / MB));
                }
            }
        }
        fixture.end_turn();
    }
    let name = name(wire);
    for (mark, of) in MARKS.into_iter().zip(&marks) {
        let what = |part: &str| format!("round {}: answer sent → {part} ({name})", mark - 2);
        table.times(&what("next request's first byte"), Unit::Millis, Below(1.0), &of.first);
        let last = format!("all of the next request, {:.2} MB", of.size as f64 / MB);
        table.times(&what(&last), Unit::Millis, Below(1.0), &of.last);
    }
    for (mark, of) in MARKS.into_iter().zip(&marks).skip(1) {
        let what = |part: &str| format!("round {} : round 5, {part} ({name})", mark - 2);
        let ratio = |late: &[Duration], early: &[Duration]| vec![middle(late) / middle(early)];
        table.row(&what("first byte"), Unit::Ratio, None, ratio(&of.first, &marks[0].first));
        table.row(&what("all"), Unit::Ratio, None, ratio(&of.last, &marks[0].last));
    }
    for (mark, resident) in MARKS.into_iter().zip(resident).skip(1) {
        let what = format!("resident memory after {mark} rounds ({name})");
        table.row(&what, Unit::MegaBytes, None, resident);
    }
    let connections = fixture.server.connections();
    eprintln!("{name}: {connections} connections for {} requests", SESSIONS * (ROUNDS + 1));
}

#[derive(Default)]
struct Latencies {
    first: Vec<Duration>,
    last: Vec<Duration>,
    size: usize,
}

impl Latencies {
    fn add(&mut self, sent: Instant, next: &Arrival) {
        self.first.push(next.first_byte - sent);
        self.last.push(next.last_byte - sent);
        self.size = next.size;
    }
}

/// Pace of an answer.
#[derive(Clone, Copy)]
enum Pace {
    /// Its last event comes after the daemon has read the others: models are slower than readers.
    Streamed,
    /// All of it in one write, so that reading all of it counts.
    AtOnce,
}

/// A daemon at work in a folder with files, and the model server it asks.
struct Fixture {
    wire: Wire,
    daemon: Daemon,
    server: ModelServer,
    _folder: TempDir,
}

impl Fixture {
    fn new(wire: Wire) -> Self {
        Self::with(wire, "scripted", "todo-write")
    }

    fn with(wire: Wire, name: &str, dialect: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        write_files(folder.path());
        let server = ModelServer::start();
        let mut daemon = Daemon::spawn();
        let (provider, api) = match wire {
            Wire::Anthropic => ("anthropic", "auto"),
            Wire::OpenAi => ("openai", "chat"),
            Wire::Responses => ("openai", "responses"),
        };
        let settings = json!({
            "model": {
                "provider": provider,
                "api": api,
                "baseUrl": format!("http://{}", server.address),
                "name": name,
                "contextTokens": WINDOW,
            },
            "plan": { "dialect": dialect, "endReminder": false },
            "limits": { "rounds": 10 * ROUNDS },
        });
        daemon.initialize(folder.path(), &settings);
        Self { wire, daemon, server, _folder: folder }
    }

    fn run_task(&mut self) {
        self.daemon.request("agent/runTask", &json!({ "text": "Go on until you are done" }));
    }

    /// Returns the time just before the last byte is sent.
    fn answer(&mut self, reply: &Reply, pace: Pace) -> Instant {
        thread::sleep(THOUGHT);
        let answer = self.server.answer(self.wire, reply);
        let end = match pace {
            Pace::Streamed => {
                let end = answer.begin();
                thread::sleep(THOUGHT);
                end
            }
            Pace::AtOnce => answer.whole(),
        };
        self.daemon.drain();
        end.send()
    }

    fn end_turn(&mut self) {
        self.answer(&Reply::text("Done."), Pace::AtOnce);
        self.daemon.notification("agent/turn", |params| params["phase"]["kind"] == "ended");
    }
}

fn name(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "Messages",
        Wire::OpenAi => "Chat Completions",
        Wire::Responses => "Responses",
    }
}

/// Lines like those of a program, with what JSON has to escape.
fn write_files(folder: &Path) {
    fs::create_dir(folder.join("src")).expect("a folder");
    for file in 0..FILES {
        let text: String = (0..)
            .map(|line| format!("    let value_{line} = read(\"file {file}\", {line})?;\n"))
            .scan(0, |size, line| {
                *size += line.len();
                (*size <= FILE_BYTES).then_some(line)
            })
            .collect();
        fs::write(folder.join(format!("src/file_{file}.rs")), text).expect("a file");
    }
}
