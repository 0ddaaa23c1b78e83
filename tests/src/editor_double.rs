//! An editor that really holds documents: it applies `agent/applyEdit` to its own texts, tells
//! the daemon what changed, saves to disk, and answers approvals from a script.
//!
//! The double implements text on its own, so that a test compares two independent models. Dropping it
//! fails the test if anything is left over: an unknown message, an unscripted question, a reply that
//! no test took, a notice older than the one before it.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use cairn_protocol::{
    ApplyEditParams, ApproveParams, ApproveResult, AskParams, EndReason, Notice, PROTOCOL_VERSION,
    Range, RefusedEdit, RequestMethod, RunTask, RunTaskParams, RunTaskResult, TextEdit,
    TextEncoding, TurnPhase,
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use crate::lsp_client::{DEADLINE, ErrorReply, LspClient};

mod answers;
mod byte_law;
mod documents;
mod places;
mod survival;

use answers::respond;
use byte_law::ByteLaw;
pub use places::{hash, range, uri};
use places::{path, read};

pub struct EditorDouble {
    pub client: LspClient,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    noticed: Notify,
}

#[derive(Default)]
struct State {
    documents: HashMap<String, Document>,
    notices: Vec<Notice>,
    /// Notices before here were seen by `wait_for`.
    seen: usize,
    /// The newest `rev` of each stream.
    revs: HashMap<String, u32>,
    questions: Vec<AskParams>,
    approvals: VecDeque<Approval>,
    /// For approvals that no answer is scripted for.
    habit: Option<Approval>,
    asked: Vec<ApproveParams>,
    applied: Vec<ApplyEditParams>,
    faults: VecDeque<ApplyFault>,
    unexpected: Vec<String>,
    law: ByteLaw,
    held: VecDeque<(Value, ApplyEditParams)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Document {
    version: i32,
    text: String,
    encoding: TextEncoding,
    dirty: bool,
    /// The test opened it; one that an edit opened is in no tab.
    visible: bool,
}

/// Answer to the next approval.
#[derive(Debug, Clone)]
pub enum Approval {
    Answer(ApproveResult),
    /// Never: the user is away.
    Silence,
}

/// Fault of the next edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyFault {
    Refuse(RefusedEdit),
    /// Refuses with these words.
    RefuseSaying(&'static str),
    /// Says `applied` and does nothing.
    Lie,
    /// Does it, and says that it failed: something after the edit went wrong.
    DoneButFailed,
    /// Says that it failed, and does it after all, later.
    FailedButDone,
    /// Never answers and does nothing.
    Silence,
    /// Neither answers nor does anything until the test says `release`.
    Hold,
    /// Does it, and ends the text with a line break, as editors do whose every line has one.
    EndLine,
    /// The user writes this at the start of the open file just before the edit comes.
    Type(&'static str),
    /// Leaves the document of the file that it deletes open, for the test to close.
    LeaveOpen,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    pub session_id: String,
    pub turn_id: String,
    pub reason: EndReason,
    pub summary: String,
    pub open_items: u32,
}

impl EditorDouble {
    /// Connects as an editor that speaks `agent/*`, working in `root`.
    pub async fn connect(client: LspClient, root: &Path, settings: Value) -> Self {
        Self::connect_in(client, &[root], settings).await
    }

    /// The same, for an editor that shows the output of running commands and asks questions of the
    /// agent. It chooses the first option; a question without options stays open.
    pub async fn connect_with_all(client: LspClient, root: &Path, settings: Value) -> Self {
        let cairn = json!({ "protocolVersion": PROTOCOL_VERSION, "output": true, "ask": true });
        Self::connect_as(client, &[root], settings, cairn).await
    }

    /// The same, working in several folders.
    pub async fn connect_in(client: LspClient, roots: &[&Path], settings: Value) -> Self {
        let cairn = json!({ "protocolVersion": PROTOCOL_VERSION });
        Self::connect_as(client, roots, settings, cairn).await
    }

    /// Most scripts edit without a check, so `plan.endReminder` is off where a test does not set it.
    async fn connect_as(
        client: LspClient,
        roots: &[&Path],
        mut settings: Value,
        cairn: Value,
    ) -> Self {
        if let Some(settings) = settings.as_object_mut() {
            settings.entry("plan.endReminder").or_insert(json!(false));
        }
        let shared =
            Arc::new(Shared { state: Mutex::new(State::default()), noticed: Notify::new() });
        if settings.pointer("/review/mode").is_some_and(|mode| mode != "review") {
            // Edits are accepted as they are made.
            shared.state().law.end();
        }
        let answers = Arc::clone(&shared);
        client.answer_with(Box::new(move |client, id, method, params| {
            answers.answer(client, id, method, params);
        }));
        let listener = Arc::clone(&shared);
        client.listen_with(Box::new(move |method, params| listener.hear(method, params)));
        let folders: Vec<Value> =
            roots.iter().map(|root| json!({ "uri": uri(root), "name": "work" })).collect();
        client
            .initialize(json!({
                "processId": std::process::id(),
                "workspaceFolders": folders,
                "initializationOptions": { "settings": settings },
                "capabilities": {
                    "experimental": { "cairn": cairn },
                },
            }))
            .await;
        Self { client, shared }
    }

    /// Questions of the agent, oldest first.
    pub fn questions(&self) -> Vec<AskParams> {
        self.shared.state().questions.clone()
    }

    /// A typed request.
    pub async fn request<M: RequestMethod>(
        &self,
        params: M::Params,
    ) -> Result<M::Result, ErrorReply> {
        if M::METHOD.starts_with("agent/review/") || M::METHOD.starts_with("agent/checkpoints/") {
            self.shared.state().decided();
        }
        let params = serde_json::to_value(params).expect("params are JSON");
        let result = self.client.request(M::METHOD, params).await?;
        Ok(serde_json::from_value(result).expect("the result is of the method's form"))
    }

    /// Gives a task and waits for the end of its turn.
    pub async fn run(&self, text: &str) -> TurnEnd {
        let started = self.run_task(text).await;
        self.turn_end(&started.turn_id).await
    }

    /// Runs a task in a session that is there already.
    pub async fn run_in(&self, session_id: &str, text: &str) -> TurnEnd {
        let params = RunTaskParams {
            text: text.to_owned(),
            session_id: Some(session_id.to_owned()),
            ..RunTaskParams::default()
        };
        let started = self.request::<RunTask>(params).await.expect("the task is taken");
        self.turn_end(&started.turn_id).await
    }

    pub async fn run_task(&self, text: &str) -> RunTaskResult {
        let params = RunTaskParams { text: text.to_owned(), ..RunTaskParams::default() };
        self.request::<RunTask>(params).await.expect("the task is taken")
    }

    pub async fn turn_end(&self, turn_id: &str) -> TurnEnd {
        self.wait_for("the end of the turn", |notice| match notice {
            Notice::Turn(turn) if turn.turn_id == turn_id => match &turn.phase {
                TurnPhase::Ended { reason, summary, open_items, .. } => Some(TurnEnd {
                    session_id: turn.session_id.clone(),
                    turn_id: turn.turn_id.clone(),
                    reason: *reason,
                    summary: summary.clone(),
                    open_items: *open_items,
                }),
                TurnPhase::Started { .. } => None,
            },
            _ => None,
        })
        .await
    }

    /// The first notice that `pick` takes, of those that came after the one picked last.
    pub async fn wait_for<T>(&self, what: &str, pick: impl Fn(&Notice) -> Option<T>) -> T {
        let wait = async {
            loop {
                let noticed = self.shared.noticed.notified();
                {
                    let mut state = self.shared.state();
                    let seen = state.seen;
                    let mut fresh = state.notices[seen..].iter().map(&pick).enumerate();
                    if let Some((at, picked)) = fresh.find_map(|(at, picked)| Some((at, picked?))) {
                        drop(fresh);
                        state.seen = seen + at + 1;
                        return picked;
                    }
                }
                noticed.await;
            }
        };
        timeout(DEADLINE, wait)
            .await
            .unwrap_or_else(|_| panic!("no {what} in {DEADLINE:?}; notices: {:#?}", self.notices()))
    }

    /// Every notice so far, in order.
    pub fn notices(&self) -> Vec<Notice> {
        self.shared.state().notices.clone()
    }

    /// Opens a file in a tab.
    pub fn open(&self, path: &Path) -> String {
        let uri = uri(path);
        let mut state = self.shared.state();
        if let Some(document) = state.documents.get_mut(&uri) {
            document.visible = true;
        } else {
            let (text, encoding) = read(path, None).expect("the file can be read");
            state.open(&self.client, &uri, text, encoding).visible = true;
        }
        uri
    }

    /// Opens a file in a tab, in an encoding that the user chose.
    pub fn open_in(&self, path: &Path, encoding: &str) -> String {
        let uri = uri(path);
        let encoding = TextEncoding { name: encoding.to_owned(), bom: false };
        let (text, encoding) = read(path, Some(&encoding)).expect("the file can be read");
        let mut state = self.shared.state();
        state.open(&self.client, &uri, text, encoding).visible = true;
        uri
    }

    /// Opens a file with unsaved text, as an editor does that kept it over a restart.
    pub fn open_unsaved(&self, path: &Path, text: &str) {
        let uri = uri(path);
        let mut state = self.shared.state();
        let bom = read(path, None).is_ok_and(|(_, encoding)| encoding.bom);
        let encoding = TextEncoding { name: "utf-8".into(), bom };
        state.changed_by_others(&uri);
        let document = state.open(&self.client, &uri, text.to_owned(), encoding);
        (document.visible, document.dirty) = (true, true);
    }

    pub fn close(&self, uri: &str) {
        assert!(self.shared.state().documents.remove(uri).is_some(), "{uri} is not open");
        self.client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// The user replaces a range.
    pub fn type_in(&self, uri: &str, range: Range, new_text: &str) {
        self.change_at_once(uri, &[(range, new_text)]);
    }

    /// Several ranges change in one notification, as by an undo or redo; sorted by place.
    pub fn change_at_once(&self, uri: &str, pieces: &[(Range, &str)]) {
        let edit = |&(range, text): &(Range, &str)| TextEdit { range, new_text: text.to_owned() };
        let edits: Vec<TextEdit> = pieces.iter().map(edit).collect();
        let mut state = self.shared.state();
        state.changed_by_others(uri);
        let document = state.document_for(&self.client, uri);
        document.change(&self.client, uri, &edits);
        document.dirty = true;
    }

    /// The user moves a file or a folder.
    pub fn rename(&self, from: &Path, to: &Path) {
        self.shared.state().decided();
        let renamed = self.shared.state().rename(&self.client, &uri(from), &uri(to));
        renamed.expect("the file can be moved");
    }

    /// The user deletes a file or a folder.
    pub fn delete(&self, at: &Path) {
        if at.is_dir() { fs::remove_dir_all(at) } else { fs::remove_file(at) }
            .expect("it can be deleted");
        let mut state = self.shared.state();
        state.decided();
        let open: Vec<String> =
            state.documents.keys().filter(|uri| path(uri).starts_with(at)).cloned().collect();
        for uri in open {
            state.documents.remove(&uri);
            self.client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
        }
        let files = json!([{ "uri": uri(at) }]);
        self.client.notify("workspace/didDeleteFiles", json!({ "files": files }));
    }

    /// Another program writes a file. An editor reloads a document without unsaved text.
    pub fn changed_on_disk(&self, at: &Path, text: &str) {
        fs::write(at, text).expect("the file can be written");
        self.reload(at);
        self.watched(&[at]);
    }

    /// A document without unsaved text shows its file as it is now.
    pub fn reload(&self, at: &Path) {
        let uri = uri(at);
        let mut state = self.shared.state();
        state.changed_by_others(&uri);
        if let Some(document) = state.documents.get_mut(&uri).filter(|document| !document.dirty)
            && let Ok((text, _)) = read(at, Some(&document.encoding))
        {
            document.reload(&self.client, &uri, &text);
        }
    }

    /// Another program has created, changed or removed these files.
    pub fn watched(&self, files: &[&Path]) {
        let changes = files.iter().map(|at| {
            self.shared.state().changed_by_others(&uri(at));
            json!({ "uri": uri(at), "type": if at.exists() { 2 } else { 3 } })
        });
        let changes: Vec<Value> = changes.collect();
        self.client.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    }

    /// The user throws unsaved text away.
    pub fn revert(&self, uri: &str) {
        let mut state = self.shared.state();
        state.changed_by_others(uri);
        let document = state.documents.get_mut(uri).expect("the document is open");
        let (text, _) =
            read(&path(uri), Some(&document.encoding)).expect("the file can be read as text");
        document.reload(&self.client, uri, &text);
        document.dirty = false;
    }

    /// The user saves.
    pub fn save(&self, uri: &str) {
        let mut state = self.shared.state();
        let document = state.documents.get_mut(uri).expect("the document is open");
        document.save(&self.client, uri).expect("the file can be written");
    }

    pub fn is_open(&self, uri: &str) -> bool {
        self.shared.state().documents.contains_key(uri)
    }

    pub fn is_dirty(&self, uri: &str) -> bool {
        self.shared.state().documents.get(uri).is_some_and(|document| document.dirty)
    }

    /// Text that the user sees, or would see after opening the file.
    pub fn text(&self, uri: &str) -> String {
        match self.shared.state().documents.get(uri) {
            Some(document) => document.text.clone(),
            None => read(&path(uri), None).expect("the file can be read").0,
        }
    }

    pub fn version(&self, uri: &str) -> i32 {
        self.shared.state().document(uri).version
    }

    /// Scripts the answer to the next approval that is not scripted yet.
    pub fn will_answer(&self, approval: Approval) {
        self.shared.state().approvals.push_back(approval);
    }

    /// Answer to every approval without a script.
    pub fn will_always_answer(&self, approval: Approval) {
        self.shared.state().habit = Some(approval);
    }

    /// Edits are accepted from now on as they are made, so the byte law has nothing to compare with.
    pub fn will_accept_edits(&self) {
        self.shared.state().law.end();
    }

    /// Lets the next edit go wrong.
    pub fn will_fail(&self, fault: ApplyFault) {
        self.shared.state().faults.push_back(fault);
    }

    /// Does the edits that were held, in order.
    pub fn release(&self) {
        let mut state = self.shared.state();
        for (id, params) in std::mem::take(&mut state.held) {
            respond(&self.client, &id, &state.apply(&self.client, params));
        }
    }

    /// Approvals that were asked for, in order.
    pub fn asked(&self) -> Vec<ApproveParams> {
        self.shared.state().asked.clone()
    }

    /// Edits that were asked for, in order.
    pub fn edits(&self) -> Vec<ApplyEditParams> {
        self.shared.state().applied.clone()
    }

    /// The daemon was killed: what it owed nobody gets.
    pub fn abandon(self) {
        self.client.abandon();
        *self.shared.state() = State::default();
    }

    /// Forgets what was told and asked so far: it is much where a test is long.
    pub fn forget(&self) {
        let mut state = self.shared.state();
        assert!(state.unexpected.is_empty(), "{:#?}", state.unexpected);
        assert!(state.law.faults.is_empty(), "{:#?}", state.law.faults);
        state.notices.clear();
        state.law.end();
        state.seen = 0;
        state.applied.clear();
        state.asked.clear();
    }

    /// Waits until the byte law holds. An edit that was under way when a turn was cancelled may come, and
    /// be shown, after its end.
    pub async fn law_holds(&self) {
        let wait = async {
            loop {
                let noticed = self.shared.noticed.notified();
                {
                    let mut state = self.shared.state();
                    state.law.faults.clear();
                    state.check_byte_law();
                    if state.law.faults.is_empty() {
                        return;
                    }
                }
                noticed.await;
            }
        };
        if timeout(DEADLINE, wait).await.is_err() {
            panic!("{:#?}", self.shared.state().law.faults);
        }
    }

    /// Forgets a turn of a long test, but for the pending edits: the byte law is checked at the end of the
    /// next turn, too.
    pub fn forget_turn(&self) {
        let pending = self.shared.state().pending_reviews();
        self.forget();
        let mut state = self.shared.state();
        state.seen = pending.len();
        state.notices = pending;
        state.law = ByteLaw::default();
    }

    /// Fails if anything is left over. Dropping does the same.
    pub fn finish(self) {}

    fn leftovers(&self) -> Vec<String> {
        let state = self.shared.state();
        let mut left = state.unexpected.clone();
        left.extend(state.law.faults.iter().cloned());
        left.extend(state.approvals.iter().map(|approval| format!("never asked for {approval:?}")));
        left.extend(state.faults.iter().map(|fault| format!("no edit met {fault:?}")));
        left.extend(state.held.iter().map(|(_, params)| format!("held {params:?}")));
        left.extend(self.client.unread().iter().map(|message| format!("unread {message}")));
        left
    }
}

impl Drop for EditorDouble {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.client.assert_clean();
            let leftovers = self.leftovers();
            assert!(leftovers.is_empty(), "left over: {leftovers:#?}");
        }
    }
}
