//! Cairn beside a bare agent loop: both get the same answers of a model in turn, and the time until their next
//! request is compared.
//!
//! The loop is the core of any agent, without questions, review, journal and limits. A multiple of it tells the cost
//! of these, whatever the machine.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use cairn_protocol::{ApprovalDecision, ApproveResult};
use cairn_tests::{
    editor_double::{Approval, EditorDouble},
    lsp_client,
    model_server::{Reply, Wire},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    model::ModelServer,
    pure::todos,
    table::{Aim::Below, Table, Unit, middle},
};

const ROUNDS: usize = 60;
/// A model thinks before it answers; by then everything has settled.
const THOUGHT: Duration = Duration::from_millis(5);
const FILE: &str = "notes.txt";

type MakeCall = fn(usize) -> (&'static str, Value);

/// Kinds of calls, each with the aim for its multiple. Repeated calls end a turn, so no two are equal.
const KINDS: [(&str, f64, MakeCall); 5] = [
    ("an unknown call", 3.0, |round| (["nothing", "none"][round % 2], json!({ "n": round }))),
    ("a plan", 1.5, |round| ("TodoWrite", todos(8, round % 8))),
    ("a read", 2.5, |round| ("read_file", json!({ "path": FILE, "offset": round + 1 }))),
    ("an edit", 3.0, |round| {
        let line = |number: usize| format!("version {number};");
        let (old, new) = (line(round), line(round + 1));
        ("edit_file", json!({ "path": FILE, "old_text": old, "new_text": new }))
    }),
    ("a sandboxed command", 6.0, |round| ("bash", json!({ "command": format!("true {round}") }))),
];

pub(crate) fn multiples(table: &mut Table) {
    let runtime = Runtime::new().expect("threads");
    for (kind, aim, call) in KINDS {
        let ratio = multiple(&runtime, kind, call);
        let what = format!("{kind}: answer sent → next request, as a multiple of a bare loop");
        table.row(&what, Unit::Ratio, Below(aim), vec![ratio]);
    }
}

/// Cairn's median time for a kind of call as a multiple of the loop's, in two conversations that begin.
fn multiple(runtime: &Runtime, kind: &str, call: MakeCall) -> f64 {
    let (ours, bare) = (folder(), folder());
    let (mut our_server, mut bare_server) = (ModelServer::start(), ModelServer::start());
    let (daemon, editor) = runtime.block_on(cairn(ours.path(), our_server.address));
    let (address, root) = (bare_server.address, bare.path().to_owned());
    thread::spawn(move || bare_loop(address, &root));
    our_server.receive();
    bare_server.receive();
    let (mut our_times, mut bare_times) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        our_times.push(answered(&mut our_server, kind, round, call));
        bare_times.push(answered(&mut bare_server, kind, round, call));
    }
    editor.abandon();
    drop(daemon);
    let (our_time, bare_time) = (middle(&our_times), middle(&bare_times));
    eprintln!("{kind}: {:.2} ms, the loop {:.2} ms", our_time * 1e3, bare_time * 1e3);
    our_time / bare_time
}

/// Sends an answer with one call. Returns the time until the first byte of the next request.
fn answered(server: &mut ModelServer, kind: &str, round: usize, call: MakeCall) -> Duration {
    thread::sleep(THOUGHT);
    let (name, arguments) = call(round);
    let reply = Reply::text("Next.").call(&format!("{kind} {round}"), name, arguments);
    let sent = server.answer(Wire::Anthropic, &reply).whole().send();
    server.receive().first_byte - sent
}

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let lines: String = (0..100).map(|line| format!("line {line} of a text\n")).collect();
    fs::write(folder.path().join(FILE), format!("version 0;\n{lines}")).expect("a file");
    folder
}

/// A daemon that begins a task, with an editor that allows each command.
async fn cairn(root: &Path, server: SocketAddr) -> (lsp_client::Daemon, EditorDouble) {
    let daemon = lsp_client::Daemon::spawn(|_| {});
    let settings = json!({
        "model": { "provider": "anthropic", "baseUrl": format!("http://{server}"), "name": "scripted" },
        "plan": { "dialect": "todo-write", "endReminder": false },
        "limits": { "rounds": 10 * ROUNDS },
        "review": { "mode": "auto" },
    });
    let editor = EditorDouble::connect(daemon.client.clone(), root, settings).await;
    let allow = ApproveResult { decision: ApprovalDecision::AllowOnce, feedback: None };
    editor.will_always_answer(Approval::Answer(allow));
    editor.run_task("Work").await;
    (daemon, editor)
}

/// Sends the conversation, runs the calls of the answer, and begins again.
fn bare_loop(server: SocketAddr, root: &Path) {
    let mut stream = BufReader::new(TcpStream::connect(server).expect("a server"));
    let mut messages = vec![json!({ "role": "user", "content": "Work" })];
    loop {
        let body = json!({ "model": "scripted", "stream": true, "messages": messages }).to_string();
        let head = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all((head + &body).as_bytes()).expect("the server reads");
        let Some(content) = read_answer(&mut stream) else { return };
        let calls = content.iter().filter(|block| block["type"] == "tool_use");
        let result = |call: &Value| {
            let output = run(call["name"].as_str().unwrap_or_default(), &call["input"], root);
            json!({ "type": "tool_result", "tool_use_id": call["id"], "content": output })
        };
        let results: Vec<Value> = calls.map(result).collect();
        messages.push(json!({ "role": "assistant", "content": content }));
        messages.push(json!({ "role": "user", "content": results }));
    }
}

/// Content blocks of an answer; `None` at the end of the connection.
fn read_answer(stream: &mut BufReader<TcpStream>) -> Option<Vec<Value>> {
    let (mut line, mut events) = (String::new(), Vec::new());
    while line != "\r\n" {
        line.clear();
        (stream.read_line(&mut line).ok()? > 0).then_some(())?;
    }
    loop {
        line.clear();
        stream.read_line(&mut line).ok()?;
        let mut chunk = vec![0; usize::from_str_radix(line.trim(), 16).ok()? + 2];
        stream.read_exact(&mut chunk).ok()?;
        if chunk.len() == 2 {
            break;
        }
        events.extend(chunk);
    }
    let (mut blocks, mut inputs): (Vec<Value>, String) = (Vec::new(), String::new());
    for event in String::from_utf8(events).ok()?.lines().filter_map(|it| it.strip_prefix("data: "))
    {
        let event: Value = serde_json::from_str(event).ok()?;
        match event["type"].as_str()? {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => match event["delta"]["partial_json"].as_str() {
                Some(part) => inputs.push_str(part),
                None => blocks.last_mut()?["text"] = event["delta"]["text"].clone(),
            },
            "content_block_stop" if !inputs.is_empty() => {
                blocks.last_mut()?["input"] = serde_json::from_str(&inputs).ok()?;
                inputs.clear();
            }
            _ => {}
        }
    }
    Some(blocks)
}

/// Runs a call. Returns its result for the model.
fn run(tool: &str, input: &Value, root: &Path) -> String {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let path = root.join(text("path"));
    match tool {
        "TodoWrite" => "The plan is updated.".to_owned(),
        "read_file" => fs::read_to_string(path).expect("a file"),
        "edit_file" => {
            let before = fs::read_to_string(&path).expect("a file");
            let after = before.replacen(text("old_text"), text("new_text"), 1);
            fs::write(path, after).expect("a file");
            "The file is changed.".to_owned()
        }
        "bash" => sandboxed(root, text("command")),
        _ => format!("There is no tool {tool}."),
    }
}

fn sandboxed(root: &Path, command: &str) -> String {
    let root: PathBuf = root.to_owned();
    #[expect(clippy::disallowed_methods, reason = "a measurement is not the daemon")]
    let output = Command::new("bwrap")
        .args([
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--unshare-all",
            "--bind",
        ])
        .args([&root, &root])
        .args(["bash", "-c", command])
        .output();
    String::from_utf8_lossy(&output.expect("bubblewrap").stdout).into_owned()
}
