//! LSP server over in-memory pipes; the test takes the place of the hub.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use cairn::{
    event::{ClientEvent, LazyJson, Request, RequestError},
    lsp::{self, SessionEnd, SessionExit},
    ports::Editor,
    workspace::Workspace,
};
use cairn_protocol::{
    ApplyEditParams, ApplyEditResult, ApprovalDecision, ApprovalQuestion, ApprovalReason,
    ApproveParams, ApproveResult, Connection, Empty, FileChange, MessageNotification, MessageRole,
    ModelInfo, Notice, PROTOCOL_MINOR, PROTOCOL_VERSION, RefusedEdit, RequestProblem,
    RunTaskResult, SaveParams, SessionScope, StatusNotification, TextEdit,
};
use cairn_tests::{
    editor_double::{self, ApplyFault, Approval, EditorDouble, range},
    lsp_client::{LspClient, frame},
};
use expect_test::{Expect, expect};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncWriteExt, DuplexStream, duplex},
    sync::{
        mpsc::{self, UnboundedReceiver},
        oneshot,
    },
    task::JoinHandle,
    time::timeout,
};
use tokio_util::task::TaskTracker;

mod editor_double_tests;
mod handshake;
mod input;
mod load;
mod outbox;
mod progress;

const PIPE: usize = 64 * 1024;
const LIMIT: Duration = Duration::from_secs(10);

struct ServerFixture {
    client: LspClient,
    hub: Hub,
    serving: JoinHandle<SessionExit>,
}

struct Hub {
    editor: Arc<dyn Editor>,
    events: UnboundedReceiver<ClientEvent>,
}

impl Hub {
    async fn next(&mut self) -> ClientEvent {
        let event = timeout(LIMIT, self.events.recv()).await;
        event.expect("an event comes").expect("the door is open")
    }

    /// Skips to the next request.
    async fn request(&mut self) -> Request {
        loop {
            if let ClientEvent::Request(request) = self.next().await {
                return request;
            }
        }
    }
}

async fn serve(input: DuplexStream, output: DuplexStream) -> (Hub, JoinHandle<SessionExit>) {
    let (events, queue) = mpsc::unbounded_channel();
    let (tell, told) = oneshot::channel();
    let start = move |editor| {
        tell.send(editor).ok();
        (events, no_tasks())
    };
    let serving = tokio::spawn(lsp::serve(input, output, start, std::future::pending(), async {}));
    let editor = told.await.expect("serving begins at once");
    (Hub { editor, events: queue }, serving)
}

/// Handle of a hub that ends once its queue is closed.
fn no_tasks() -> TaskTracker {
    let tasks = TaskTracker::new();
    tasks.close();
    tasks
}

/// Connected, nothing said yet.
async fn knock() -> ServerFixture {
    let (to_server, input) = duplex(PIPE);
    let (output, from_server) = duplex(PIPE);
    let (hub, serving) = serve(input, output).await;
    ServerFixture { client: LspClient::over(from_server, to_server), hub, serving }
}

fn hello() -> Value {
    json!({
        "capabilities": { "experimental": { "cairn": { "protocolVersion": PROTOCOL_VERSION } } },
    })
}

async fn open() -> ServerFixture {
    let mut server = knock().await;
    server.client.initialize(hello()).await;
    assert!(matches!(server.hub.next().await, ClientEvent::Initialized(_)));
    server
}

async fn exit(serving: JoinHandle<SessionExit>) -> SessionExit {
    timeout(LIMIT, serving).await.expect("serving ends").expect("without a panic")
}

fn change(version: i32) -> Value {
    json!({
        "textDocument": { "uri": "file:///w/a", "version": version },
        "contentChanges": [{ "text": "x" }],
    })
}

fn status(rev: u32) -> Notice {
    let model = ModelInfo { provider: "replay".into(), name: "script".into(), replay: true };
    let (connection, sandbox) = (Connection::Idle, None);
    Notice::Status(StatusNotification { rev, model, connection, sandbox, banners: vec![] })
}

fn approve() -> ApproveParams {
    ApproveParams {
        approval_id: "a1".into(),
        session_id: "s1".into(),
        turn_id: "t1".into(),
        call_id: "c1".into(),
        title: ApprovalQuestion::RunCommand { needs: Vec::new() }.message(),
        kind: None,
        command: "npm test".into(),
        cwd: "/w".into(),
        files: None,
        reasons: vec![ApprovalReason::HookAsks.message()],
        rules: Vec::new(),
        pattern: None,
        rules_folder: None,
        needs: vec![],
        risks: vec![],
        subagent: None,
        preview: None,
        for_session: SessionScope::SameCommand.message(),
        quarantined: false,
        changed: None,
    }
}

/// URI of the folder of all temporary files.
fn workspace() -> Arc<Workspace> {
    Arc::new(Workspace::new(vec![std::env::temp_dir()]).unwrap())
}

fn edit(uri: &str, text: &str, version: Option<i32>, edits: &[TextEdit]) -> ApplyEditParams {
    ApplyEditParams {
        uri: uri.into(),
        label: "Cairn".into(),
        encoding: None,
        change: FileChange::Edit {
            expected_version: version,
            expected_hash: editor_double::hash(text),
            edits: edits.to_vec(),
        },
    }
}

/// Result of a request, as the hub hands it over.
fn result(result: impl Serialize + Send + 'static) -> LazyJson {
    LazyJson::new(result, false)
}

fn started(turn_id: impl ToString) -> RunTaskResult {
    RunTaskResult { session_id: "s1".into(), turn_id: turn_id.to_string() }
}
