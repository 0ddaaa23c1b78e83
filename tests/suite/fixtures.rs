//! A whole daemon in process: the real LSP server and the real hub between an editor double and a
//! scripted model server, at work in a folder of its own.

pub(crate) mod attached;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cairn::{environment::Environment, hub, lsp};
use cairn_protocol::{
    ApprovalDecision, ApproveResult, Cancel, EndReason, Hunk, ItemStatus, MessageRole, Notice,
    Panel, ReviewNotification, RunTask, RunTaskParams, RunTaskResult, State, ToolNotification,
    ToolState, TurnParams, TurnPhase,
};
use cairn_tests::{
    editor_double::{self, Approval, EditorDouble, TurnEnd},
    lsp_client::{DEADLINE, LspClient, binary},
    model_server::{ModelServer, Recorded, Reply, Response, Wire},
};
use serde_json::{Value, json};
use tokio::{io::duplex, sync::oneshot, time::timeout};
use tokio_util::task::TaskTracker;

pub(crate) const BOTH: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];
pub(crate) const ALL: [Wire; 3] = [Wire::Anthropic, Wire::OpenAi, Wire::Responses];

const PIPE: usize = 64 * 1024;

pub(crate) struct TestDaemon {
    pub(crate) editor: EditorDouble,
    pub(crate) model: ModelServer,
    folder: tempfile::TempDir,
    state: tempfile::TempDir,
    settings: Value,
    daemon: TaskTracker,
}

impl TestDaemon {
    pub(crate) async fn open(wire: Wire, files: &[(&str, &str)]) -> Self {
        Self::with(wire, files, json!({})).await
    }

    /// Another model than the scripted server.
    pub(crate) async fn with_model(files: &[(&str, &str)], model: Value) -> Self {
        let test = Self::open(Wire::Anthropic, files).await;
        let Self { editor, model: server, folder, state, mut settings, daemon } = test;
        editor.client.close();
        editor.client.closed().await;
        drop(editor);
        timeout(DEADLINE, daemon.wait()).await.expect("the daemon ends");
        settings["model"] = model;
        Self::start(folder, state, server, settings).await
    }

    /// `settings` on top of those that name the model server.
    pub(crate) async fn with(wire: Wire, files: &[(&str, &str)], mut settings: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let model = ModelServer::start([]).await;
        let mut of_model = model.settings(wire);
        if let Some(name) = settings.as_object_mut().unwrap().remove("model.name") {
            of_model["name"] = name;
        }
        settings["model"] = of_model;
        let state = tempfile::tempdir().unwrap();
        Self::start(folder, state, model, settings).await
    }

    /// At work in a folder with a state that an earlier daemon left.
    pub(crate) async fn on(
        folder: tempfile::TempDir,
        state: tempfile::TempDir,
        mut settings: Value,
    ) -> Self {
        let model = ModelServer::start([]).await;
        settings["model"] = model.settings(Wire::Anthropic);
        Self::start(folder, state, model, settings).await
    }

    async fn start(
        folder: tempfile::TempDir,
        state: tempfile::TempDir,
        model: ModelServer,
        settings: Value,
    ) -> Self {
        let (to_daemon, input) = duplex(PIPE);
        let (output, from_daemon) = duplex(PIPE);
        let state_dir = Some(state.path().to_owned());
        let config_dir = Some(state.path().join("config"));
        let program = Some(binary());
        let environment = Environment { state_dir, config_dir, program, ..Environment::default() };
        let (told, tasks) = oneshot::channel();
        let start = |editor| {
            let (client, tasks) = hub::spawn(editor, environment);
            told.send(tasks.clone()).ok();
            (client, tasks)
        };
        tokio::spawn(lsp::serve(input, output, start, std::future::pending(), async {}));
        let client = LspClient::over(from_daemon, to_daemon);
        let editor = EditorDouble::connect(client, folder.path(), settings.clone()).await;
        let daemon = tasks.await.unwrap();
        Self { editor, model, folder, state, settings, daemon }
    }

    /// The editor goes, the daemon with it, and both begin anew on the same files.
    pub(crate) async fn restart(self) -> Self {
        self.restart_after(|| {}).await
    }

    pub(crate) async fn restart_after(self, meanwhile: impl FnOnce()) -> Self {
        let Self { editor, model, folder, state, settings, daemon } = self;
        editor.client.close();
        editor.client.closed().await;
        drop(editor);
        timeout(DEADLINE, daemon.wait()).await.expect("the daemon ends");
        meanwhile();
        Self::start(folder, state, model, settings).await
    }

    /// Another window on the same folder, with a daemon of its own.
    pub(crate) async fn second_window(&self) -> EditorDouble {
        let client = self.second_daemon();
        EditorDouble::connect(client, self.folder.path(), self.settings.clone()).await
    }

    /// The same, in an editor with all optional features.
    pub(crate) async fn second_window_with_all(&self) -> EditorDouble {
        let client = self.second_daemon();
        EditorDouble::connect_with_all(client, self.folder.path(), self.settings.clone()).await
    }

    /// Another window on several folders below this one, with another daemon.
    pub(crate) async fn window_on(&self, names: &[&str]) -> EditorDouble {
        let folders: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let client = self.second_daemon();
        EditorDouble::connect_in(client, &folders, self.settings.clone()).await
    }

    fn second_daemon(&self) -> LspClient {
        let (to_daemon, input) = duplex(PIPE);
        let (output, from_daemon) = duplex(PIPE);
        let state_dir = Some(self.state.path().to_owned());
        let program = Some(binary());
        let environment = Environment { state_dir, program, ..Environment::default() };
        let start = |editor| hub::spawn(editor, environment);
        tokio::spawn(lsp::serve(input, output, start, std::future::pending(), async {}));
        LspClient::over(from_daemon, to_daemon)
    }

    /// The folder it works in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// State folder of the daemon.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn uri(&self, name: &str) -> String {
        editor_double::uri(&self.path(name))
    }

    pub(crate) fn open_file(&self, name: &str) -> String {
        self.editor.open(&self.path(name))
    }

    pub(crate) fn disk(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The text that the user sees.
    pub(crate) fn text(&self, name: &str) -> String {
        self.editor.text(&self.uri(name))
    }

    /// Queues the next answer of the model.
    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        for reply in replies {
            self.model.push(Response::reply(reply));
        }
    }

    /// Does a task with these answers of the model, to the end.
    pub(crate) async fn play(&self, replies: impl IntoIterator<Item = Reply>) -> TurnEnd {
        self.script(replies);
        self.editor.run("Do it").await
    }

    /// The same in a session that is there already.
    pub(crate) async fn play_on(
        &self,
        session_id: &str,
        replies: impl IntoIterator<Item = Reply>,
    ) -> TurnEnd {
        self.script(replies);
        let started = self.go_on(session_id).await;
        self.editor.turn_end(&started.turn_id).await
    }

    pub(crate) async fn go_on(&self, session_id: &str) -> RunTaskResult {
        let params = RunTaskParams {
            text: "Go on".into(),
            session_id: Some(session_id.into()),
            ..RunTaskParams::default()
        };
        self.editor.request::<RunTask>(params).await.unwrap()
    }

    /// Cancels, and sees the turn end.
    pub(crate) async fn cancel(&self, turn: &RunTaskResult) {
        let RunTaskResult { session_id, turn_id } = turn.clone();
        let params = TurnParams { session_id, turn_id };
        self.editor.request::<Cancel>(params).await.unwrap();
        let end = self.editor.turn_end(&turn.turn_id).await;
        assert_eq!(end.reason, EndReason::Cancelled);
    }

    /// Waits until a call is in this state.
    pub(crate) async fn tool(&self, call_id: &str, state: ToolState) -> ToolNotification {
        self.editor
            .wait_for(&format!("{call_id} {state:?}"), |notice| match notice {
                Notice::Tool(tool) if tool.call_id == call_id && tool.state == state => {
                    Some(tool.clone())
                }
                _ => None,
            })
            .await
    }

    /// Waits until the editor was asked for so many edits; what it answered was heard.
    pub(crate) async fn edits(&self, count: usize) {
        while self.editor.edits().len() < count {
            self.editor.request::<State>(Default::default()).await.unwrap();
        }
        self.editor.request::<State>(Default::default()).await.unwrap();
    }

    /// The newest review of a file, after everything that was said so far.
    pub(crate) async fn review(&self, name: &str) -> Option<ReviewNotification> {
        let state = self.editor.request::<State>(Default::default()).await.unwrap();
        let in_state = state.reviews.into_iter().find(|review| review.uri == self.uri(name));
        let told = self.editor.notices().into_iter().rev().find_map(|notice| match notice {
            Notice::Review(review)
                if review.uri == self.uri(name) && review.rev < state.status.rev =>
            {
                Some(review)
            }
            _ => None,
        });
        let told = told.filter(|review| !review.hunks.is_empty());
        assert_eq!(in_state, told, "agent/state and agent/review disagree");
        told
    }

    pub(crate) async fn hunks(&self, name: &str) -> Vec<Hunk> {
        self.review(name).await.map(|review| review.hunks).unwrap_or_default()
    }

    /// Ends the test: fails if a message or a reply is left over. Returns the requests that the
    /// model received.
    pub(crate) async fn finish(self) -> Vec<Recorded> {
        // Answered after everything before it was said.
        self.editor.request::<State>(Default::default()).await.unwrap();
        self.editor.finish();
        self.model.finish()
    }
}

pub(crate) fn say(text: &str) -> Reply {
    Reply::text(text)
}

/// An answer that only calls one tool.
pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Reply {
    Reply::text("").call(id, name, arguments)
}

pub(crate) fn edit(id: &str, path: &str, old: &str, new: &str) -> Reply {
    call(id, "edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
}

/// The journals of all sessions, in no order.
pub(crate) fn journals(state: &Path) -> Vec<PathBuf> {
    let workspaces = fs::read_dir(state.join("workspaces")).into_iter().flatten();
    let folders = workspaces.map(|entry| entry.unwrap().path().join("sessions"));
    folders
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect()
}

pub(crate) fn bash(id: &str, command: &str) -> Reply {
    call(id, "bash", json!({ "command": command }))
}

/// Mark of an item: `x` done, `>` in progress, `-` cancelled.
pub(crate) fn mark(status: ItemStatus) -> char {
    match status {
        ItemStatus::Pending => ' ',
        ItemStatus::InProgress => '>',
        ItemStatus::Completed => 'x',
        ItemStatus::Cancelled => '-',
    }
}

/// A plan of items with statuses: `x` done, `>` in progress, ` ` open.
pub(crate) fn plan(id: &str, items: &[(char, &str)]) -> Reply {
    let todos: Vec<Value> = items
        .iter()
        .map(|(mark, content)| {
            let status = match mark {
                'x' => "completed",
                '>' => "in_progress",
                _ => "pending",
            };
            json!({ "content": content, "status": status, "activeForm": format!("{content}…") })
        })
        .collect();
    call(id, "TodoWrite", json!({ "todos": todos }))
}

pub(crate) fn answer(decision: ApprovalDecision, feedback: Option<&str>) -> Approval {
    Approval::Answer(ApproveResult { decision, feedback: feedback.map(str::to_owned) })
}

pub(crate) fn allow() -> Approval {
    answer(ApprovalDecision::AllowOnce, None)
}

/// Result of a call, in any format.
pub(crate) fn result(request: &Recorded, call_id: &str) -> String {
    // Only one of the formats has a mark for errors.
    let unmarked = |content: &Value| {
        let content = content.as_str().unwrap();
        content.strip_prefix("[cairn] this call failed\n").unwrap_or(content).to_owned()
    };
    let items = request.items();
    for item in &items {
        if item["role"] == "tool" && item["tool_call_id"] == call_id {
            return unmarked(&item["content"]);
        }
        if item["type"] == "function_call_output" && item["call_id"] == call_id {
            return unmarked(&item["output"]);
        }
        for block in item["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_result" && block["tool_use_id"] == call_id {
                return match &block["content"] {
                    Value::String(text) => text.clone(),
                    other => texts(other),
                };
            }
        }
    }
    panic!("no result of {call_id} in {items:#?}")
}

/// All text of the newest message, in any format.
pub(crate) fn newest(request: &Recorded) -> String {
    let last = request.items().pop().unwrap();
    match (&last["content"], &last["output"]) {
        (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
        (other, _) => texts(other),
    }
}

fn texts(blocks: &Value) -> String {
    let blocks = blocks.as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

/// A turn as a user would retell it: one line for each thing, in the order they began.
pub(crate) fn story(notices: &[Notice], turn_id: &str) -> String {
    let mut lines = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    for notice in notices {
        match notice {
            Notice::Turn(turn) if turn.turn_id == turn_id => lines.push(match &turn.phase {
                TurnPhase::Started { text, .. } => format!("started: {text}"),
                TurnPhase::Ended { reason, summary, open_items, .. } => {
                    format!("ended: {reason:?}, {open_items} open: {summary}")
                }
            }),
            Notice::Plan(plan) if plan.turn_id == turn_id => {
                let panel = match plan.panel {
                    Panel::Expanded => "expanded",
                    Panel::Collapsed => "collapsed",
                    Panel::Hidden => "hidden",
                };
                let line = format!("plan: {panel} {}/{}", plan.completed, plan.total);
                // The same plan comes again when work is done under an item, at no set moment.
                if lines.iter().rfind(|line| line.starts_with("plan: ")) != Some(&line) {
                    lines.push(line);
                }
            }
            Notice::Message(message) if message.turn_id == turn_id => {
                let Some(text) = &message.text else { continue };
                let text = match message.role {
                    MessageRole::Reminder => "…",
                    _ => text,
                };
                let cut = if message.incomplete { " (cut)" } else { "" };
                lines.push(format!("{:?}: {text}{cut}", message.role));
            }
            Notice::Tool(tool) if tool.turn_id == turn_id => {
                if tools.contains(&tool.call_id.as_str()) {
                    continue;
                }
                tools.push(&tool.call_id);
                let mine: Vec<&ToolNotification> = notices
                    .iter()
                    .filter_map(|notice| match notice {
                        Notice::Tool(it) if it.turn_id == turn_id => Some(it),
                        _ => None,
                    })
                    .filter(|it| it.call_id == tool.call_id)
                    .collect();
                let mut states: Vec<String> =
                    mine.iter().map(|it| format!("{:?}", it.state)).collect();
                states.dedup();
                let title = mine.last().unwrap().title.english();
                lines.push(format!("{}: {title}: {}", tool.call_id, states.join(" ")));
            }
            Notice::Usage(usage) if usage.turn_id == turn_id => {
                lines.push(format!("usage: round {}", usage.rounds));
            }
            _ => {}
        }
    }
    lines.join("\n")
}

/// Every message's deltas, put together, are its text.
pub(crate) fn assert_deltas_are_the_text(notices: &[Notice]) {
    let mut streamed: Vec<(&str, String)> = Vec::new();
    for notice in notices {
        let Notice::Message(message) = notice else { continue };
        if matches!(message.role, MessageRole::User | MessageRole::Reminder) {
            continue;
        }
        let at = match streamed.iter().position(|(id, _)| *id == message.item_id) {
            Some(at) => at,
            None => {
                streamed.push((&message.item_id, String::new()));
                streamed.len() - 1
            }
        };
        streamed[at].1.push_str(&message.delta);
        if let Some(text) = &message.text {
            assert_eq!(streamed[at].1, *text, "{}", message.item_id);
        }
    }
}

/// Unique number of seconds for `sleep`, by which a test finds its process.
pub(crate) fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    // All of one length, so that none is a part of another.
    format!("600.{:07}{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Living processes with this in their command line.
pub(crate) fn processes(marker: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter(|entry| {
            fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
        })
        .count()
}

/// Waits until the command runs, not only the shell or the sandbox that starts it.
pub(crate) async fn until_running(marker: &str) {
    let sleep = format!("sleep\0{marker}");
    wait_until(Duration::from_secs(10), || processes(&sleep) > 0).await;
}

/// The promise for everything a turn started.
pub(crate) async fn until_gone(marker: &str) {
    wait_until(Duration::from_secs(30), || processes(marker) == 0).await;
}

/// For what tells nobody when it happens.
pub(crate) async fn wait_until(limit: Duration, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "not so within {limit:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
