//! An editor that really holds documents: it applies `agent/applyEdit` to its own texts, tells
//! the daemon what changed, saves to disk, and answers approvals from a script.
//!
//! It has its own idea of text, so that a test compares two independent models. When it is
//! dropped, nothing may be left over: no unknown message, no unscripted question, no reply that
//! nobody took, no notice that went back in time.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use cairn_protocol::{
    ApplyEdit, ApplyEditParams, ApplyEditResult, ApprovalDecision, Approve, ApproveParams,
    ApproveResult, EndReason, FileChange, Notice, PROTOCOL_VERSION, Position, Range, RefusedEdit,
    RequestMethod, RunTask, RunTaskParams, RunTaskResult, Save, SaveFailure, SaveParams,
    SaveResult, TextEdit, TextEncoding, TurnPhase,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use crate::lsp_client::{DEADLINE, ErrorReply, LspClient};

mod places;
mod survival;

use places::{bytes, is_read_only, offset, path, read, remove_empty};
pub use places::{hash, range, uri};

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
    approvals: VecDeque<Approval>,
    /// For approvals that no answer is scripted for.
    habit: Option<Approval>,
    asked: Vec<ApproveParams>,
    applied: Vec<ApplyEditParams>,
    faults: VecDeque<ApplyFault>,
    unexpected: Vec<String>,
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

/// How the next approval is answered.
#[derive(Debug, Clone)]
pub enum Approval {
    Answer(ApproveResult),
    /// Never: the user is away.
    Silence,
}

/// What goes wrong with the next edit.
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

/// How a turn ended.
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

    /// The same, working in several folders.
    pub async fn connect_in(client: LspClient, roots: &[&Path], settings: Value) -> Self {
        let shared =
            Arc::new(Shared { state: Mutex::new(State::default()), noticed: Notify::new() });
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
                    "experimental": { "cairn": { "protocolVersion": PROTOCOL_VERSION } },
                },
            }))
            .await;
        Self { client, shared }
    }

    /// A typed request.
    pub async fn request<M: RequestMethod>(
        &self,
        params: M::Params,
    ) -> Result<M::Result, ErrorReply> {
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
        let document = state.documents.get_mut(uri).expect("the document is open");
        document.change(&self.client, uri, &edits);
        document.dirty = true;
    }

    /// The user moves a file or a folder.
    pub fn rename(&self, from: &Path, to: &Path) {
        let renamed = self.shared.state().rename(&self.client, &uri(from), &uri(to));
        renamed.expect("the file can be moved");
    }

    /// The user deletes a file or a folder.
    pub fn delete(&self, at: &Path) {
        if at.is_dir() { fs::remove_dir_all(at) } else { fs::remove_file(at) }
            .expect("it can be deleted");
        let mut state = self.shared.state();
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
        let uri = uri(at);
        let mut state = self.shared.state();
        if let Some(document) = state.documents.get_mut(&uri).filter(|document| !document.dirty) {
            document.reload(&self.client, &uri, text);
        }
        let changes = json!([{ "uri": uri, "type": 2 }]);
        self.client.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    }

    /// The user throws unsaved text away.
    pub fn revert(&self, uri: &str) {
        let mut state = self.shared.state();
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
        self.shared.state().document(uri).dirty
    }

    pub fn text(&self, uri: &str) -> String {
        self.shared.state().document(uri).text.clone()
    }

    pub fn version(&self, uri: &str) -> i32 {
        self.shared.state().document(uri).version
    }

    /// Scripts the answer to the next approval that is not scripted yet.
    pub fn will_answer(&self, approval: Approval) {
        self.shared.state().approvals.push_back(approval);
    }

    /// How every approval is answered that has no script.
    pub fn will_always_answer(&self, approval: Approval) {
        self.shared.state().habit = Some(approval);
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
        state.notices.clear();
        state.seen = 0;
        state.applied.clear();
        state.asked.clear();
    }

    /// Fails if anything is left over. Dropping does the same.
    pub fn finish(self) {}

    fn leftovers(&self) -> Vec<String> {
        let state = self.shared.state();
        let mut left = state.unexpected.clone();
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

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if the notification was for us.
    fn hear(&self, method: &str, params: &Value) -> bool {
        let mut state = self.state();
        match Notice::parse(method, params.clone()) {
            Some(Ok(notice)) => state.notice(notice),
            Some(Err(error)) => state.unexpected.push(format!("{method}: {error}: {params}")),
            None => state.unexpected.push(format!("notification {method}")),
        }
        self.noticed.notify_waiters();
        true
    }

    fn answer(&self, client: &LspClient, id: &Value, method: &str, params: &Value) {
        let mut state = self.state();
        match method {
            ApplyEdit::METHOD => {
                let params: ApplyEditParams = read_params(params);
                state.applied.push(params.clone());
                let refuse = |reason| refused(reason, "scripted");
                match state.faults.pop_front() {
                    None => respond(client, id, &state.apply(client, params)),
                    Some(ApplyFault::Refuse(reason)) => respond(client, id, &refuse(reason)),
                    Some(ApplyFault::RefuseSaying(words)) => {
                        respond(client, id, &refused(RefusedEdit::Failed, words));
                    }
                    Some(ApplyFault::Lie) => respond(client, id, &applied(false)),
                    Some(ApplyFault::DoneButFailed) => {
                        state.apply(client, params);
                        respond(client, id, &refuse(RefusedEdit::Failed));
                    }
                    Some(ApplyFault::FailedButDone) => {
                        respond(client, id, &refuse(RefusedEdit::Failed));
                        state.apply(client, params);
                    }
                    Some(ApplyFault::Silence) => {}
                    Some(ApplyFault::Hold) => state.held.push_back((id.clone(), params)),
                    Some(ApplyFault::EndLine) => {
                        let FileChange::Edit { edits, .. } = params.change else {
                            unreachable!("only edits of text end a line");
                        };
                        let document = state.documents.get_mut(&params.uri);
                        let document = document.expect("an open document");
                        let mut text = document.text.clone();
                        for edit in edits.iter().rev() {
                            let from = offset(&text, edit.range.start);
                            text.replace_range(from..offset(&text, edit.range.end), &edit.new_text);
                        }
                        text.push('\n');
                        document.reload(client, &params.uri, &text);
                        document.dirty = true;
                        respond(client, id, &applied(false));
                    }
                    Some(ApplyFault::Type(text)) => {
                        let start = Position { line: 0, character: 0 };
                        let edit = TextEdit {
                            range: Range { start, end: start },
                            new_text: text.to_owned(),
                        };
                        let document = state.documents.get_mut(&params.uri);
                        let document = document.expect("the user types in an open document");
                        document.change(client, &params.uri, &[edit]);
                        document.dirty = true;
                        respond(client, id, &state.apply(client, params));
                    }
                    Some(ApplyFault::LeaveOpen) => {
                        let uri = params.uri.clone();
                        let document = state.documents.remove(&uri).expect("an open document");
                        respond(client, id, &state.apply(client, params));
                        state.documents.insert(uri, document);
                    }
                }
            }
            Save::METHOD => {
                let SaveParams { uris } = read_params(params);
                respond(client, id, &state.save_all(client, uris));
            }
            Approve::METHOD => {
                let asked: ApproveParams = read_params(params);
                let usual = match asked.quarantined {
                    // What a command left is kept only by a scripted answer.
                    true => Some(Approval::Answer(ApproveResult {
                        decision: ApprovalDecision::Deny,
                        feedback: None,
                    })),
                    false => state.habit.clone(),
                };
                state.asked.push(asked);
                match state.approvals.pop_front().or(usual) {
                    Some(Approval::Answer(result)) => respond(client, id, &result),
                    Some(Approval::Silence) => {}
                    None => {
                        state.unexpected.push(format!("unscripted approval {params}"));
                        client.respond_error(id, -32603, "no answer is scripted");
                    }
                }
            }
            _ => {
                state.unexpected.push(format!("request {method}"));
                client.respond_error(id, -32601, "unknown method");
            }
        }
    }
}

impl State {
    fn document(&self, uri: &str) -> &Document {
        self.documents.get(uri).unwrap_or_else(|| panic!("{uri} is not open"))
    }

    fn notice(&mut self, notice: Notice) {
        let (stream, rev) = stream(&notice);
        if let Some(newest) = self.revs.get(&stream).filter(|newest| rev <= **newest) {
            let method = notice.method();
            self.unexpected.push(format!("{method}: rev {rev} after {newest} of {stream}"));
        }
        self.revs.insert(stream, rev);
        self.notices.push(notice);
    }

    fn open(
        &mut self,
        client: &LspClient,
        uri: &str,
        text: String,
        encoding: TextEncoding,
    ) -> &mut Document {
        let item = json!({ "uri": uri, "languageId": "plaintext", "version": 1, "text": text });
        client.notify("textDocument/didOpen", json!({ "textDocument": item }));
        let document = Document { version: 1, text, encoding, dirty: false, visible: false };
        self.documents.entry(uri.to_owned()).insert_entry(document).into_mut()
    }

    fn apply(&mut self, client: &LspClient, params: ApplyEditParams) -> ApplyEditResult {
        let ApplyEditParams { uri, change, encoding, .. } = params;
        let encoding = encoding.as_ref();
        let path = path(&uri);
        match change {
            FileChange::Edit { expected_version, expected_hash, edits } => {
                if !self.documents.contains_key(&uri) {
                    match read(&path, encoding) {
                        Ok((text, _)) if hash(&text) != expected_hash => {
                            return refused(RefusedEdit::Stale, "the file has another text");
                        }
                        Ok((text, encoding)) => self.open(client, &uri, text, encoding),
                        Err(error) => return refused(RefusedEdit::Closed, &error.to_string()),
                    };
                }
                let Some(document) = self.documents.get_mut(&uri) else {
                    unreachable!("it was opened above")
                };
                if hash(&document.text) != expected_hash {
                    return refused(RefusedEdit::Stale, "the document has another text");
                }
                if is_read_only(&path) {
                    return refused(RefusedEdit::ReadOnly, "the file is read-only");
                }
                if expected_version.is_some_and(|version| version != document.version) {
                    return refused(RefusedEdit::Stale, "the document has another version");
                }
                let was_dirty = document.dirty;
                document.change(client, &uri, &edits);
                document.dirty = true;
                if !was_dirty
                    && !document.visible
                    && let Err(error) = document.save(client, &uri)
                {
                    return refused(RefusedEdit::Failed, &error.to_string());
                }
                applied(was_dirty)
            }
            FileChange::Create { text } => {
                if path.exists() || self.documents.contains_key(&uri) {
                    return refused(RefusedEdit::Stale, "the file exists");
                }
                let parent = path.parent().expect("a file has a folder");
                let utf8 = TextEncoding { name: "utf-8".into(), bom: false };
                let encoding = encoding.cloned().unwrap_or(utf8);
                let made = fs::create_dir_all(parent)
                    .and_then(|()| fs::write(&path, bytes(&text, &encoding)));
                if let Err(error) = made {
                    return refused(RefusedEdit::Failed, &error.to_string());
                }
                self.open(client, &uri, text, encoding);
                applied(false)
            }
            FileChange::Rename { to, expected_hash, empty_folders } => {
                let live = self.documents.get(&uri).map(|document| document.text.clone());
                let Some(text) = live.or_else(|| Some(read(&path, encoding).ok()?.0)) else {
                    return refused(RefusedEdit::Closed, "the file is gone");
                };
                if hash(&text) != expected_hash || self::path(&to).exists() {
                    return refused(RefusedEdit::Stale, "the file has another text");
                }
                if is_read_only(&path) {
                    return refused(RefusedEdit::ReadOnly, "the file is read-only");
                }
                let was_dirty = self.documents.get(&uri).is_some_and(|document| document.dirty);
                if let Err(error) = self.rename(client, &uri, &to) {
                    return refused(RefusedEdit::Failed, &error.to_string());
                }
                remove_empty(&empty_folders);
                applied(was_dirty)
            }
            FileChange::Delete { expected_hash, empty_folders } => {
                let live = self.documents.get(&uri).map(|document| document.text.clone());
                let Some(text) = live.or_else(|| Some(read(&path, encoding).ok()?.0)) else {
                    return refused(RefusedEdit::Closed, "the file is gone");
                };
                if hash(&text) != expected_hash {
                    return refused(RefusedEdit::Stale, "the file has another text");
                }
                if is_read_only(&path) {
                    return refused(RefusedEdit::ReadOnly, "the file is read-only");
                }
                if let Err(error) = fs::remove_file(&path) {
                    return refused(RefusedEdit::Failed, &error.to_string());
                }
                remove_empty(&empty_folders);
                let closed = self.documents.remove(&uri);
                if closed.is_some() {
                    let params = json!({ "textDocument": { "uri": uri } });
                    client.notify("textDocument/didClose", params);
                }
                applied(closed.is_some_and(|document| document.dirty))
            }
        }
    }

    /// On disk and in the editor: a document goes along with its unsaved text. Then the client
    /// says that there was a rename, whoever asked for it, as VS Code does.
    fn rename(&mut self, client: &LspClient, from: &str, to: &str) -> std::io::Result<()> {
        let target = path(to);
        fs::create_dir_all(target.parent().expect("a file has a folder"))?;
        fs::rename(path(from), &target)?;
        let below = format!("{from}/");
        let inside = |uri: &String| *uri == from || uri.starts_with(&below);
        let moved: Vec<String> = self.documents.keys().filter(|uri| inside(uri)).cloned().collect();
        for old in moved {
            let Some(document) = self.documents.remove(&old) else { continue };
            client.notify("textDocument/didClose", json!({ "textDocument": { "uri": old } }));
            let new = format!("{to}{}", &old[from.len()..]);
            let Document { text, encoding, dirty, visible, .. } = document;
            let opened = self.open(client, &new, text, encoding);
            (opened.dirty, opened.visible) = (dirty, visible);
        }
        let files = json!([{ "oldUri": from, "newUri": to }]);
        client.notify("workspace/didRenameFiles", json!({ "files": files }));
        Ok(())
    }

    fn save_all(&mut self, client: &LspClient, uris: Vec<String>) -> SaveResult {
        let mut result = SaveResult::default();
        for uri in uris {
            let saved = match self.documents.get_mut(&uri) {
                Some(document) if document.dirty => document.save(client, &uri),
                _ => Ok(()),
            };
            if let Err(error) = saved {
                result.failed.push(SaveFailure { uri, reason: error.to_string() });
            }
        }
        result
    }
}

impl Document {
    /// All edits are against the text before the first.
    fn change(&mut self, client: &LspClient, uri: &str, edits: &[TextEdit]) {
        let mut changes = Vec::new();
        for edit in edits.iter().rev() {
            let from = offset(&self.text, edit.range.start);
            let to = offset(&self.text, edit.range.end);
            self.text.replace_range(from..to, &edit.new_text);
            changes.push(json!({ "range": edit.range, "text": edit.new_text }));
        }
        self.version += 1;
        let document = json!({ "uri": uri, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        client.notify("textDocument/didChange", params);
    }

    /// The whole text at once, as editors reload.
    fn reload(&mut self, client: &LspClient, uri: &str, text: &str) {
        text.clone_into(&mut self.text);
        self.version += 1;
        let document = json!({ "uri": uri, "version": self.version });
        let changes = json!([{ "text": text }]);
        let params = json!({ "textDocument": document, "contentChanges": changes });
        client.notify("textDocument/didChange", params);
    }

    fn save(&mut self, client: &LspClient, uri: &str) -> std::io::Result<()> {
        fs::write(path(uri), bytes(&self.text, &self.encoding))?;
        self.dirty = false;
        client.notify("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
        Ok(())
    }
}

/// What the `rev` of a notice counts, and the `rev`.
fn stream(notice: &Notice) -> (String, u32) {
    match notice {
        Notice::Turn(it) => (format!("turn {}", it.turn_id), it.rev),
        Notice::Plan(it) => (format!("plan {}", it.session_id), it.rev),
        Notice::Child(it) => (format!("child {}", it.session_id), it.rev),
        Notice::Message(it) => (format!("message {}", it.item_id), it.rev),
        Notice::Tool(it) => (format!("tool {} {}", it.turn_id, it.call_id), it.rev),
        Notice::Review(it) => (format!("review {}", it.uri), it.rev),
        Notice::Usage(it) => (format!("usage {}", it.session_id), it.rev),
        Notice::Queue(it) => (format!("queue {}", it.session_id), it.rev),
        Notice::Status(it) => ("status".to_owned(), it.rev),
    }
}

fn applied(was_dirty: bool) -> ApplyEditResult {
    ApplyEditResult { applied: true, reason: None, message: None, was_dirty }
}

fn refused(reason: RefusedEdit, message: &str) -> ApplyEditResult {
    ApplyEditResult {
        applied: false,
        reason: Some(reason),
        message: Some(message.to_owned()),
        was_dirty: false,
    }
}

fn respond(client: &LspClient, id: &Value, result: &impl Serialize) {
    client.respond(id, serde_json::to_value(result).expect("results are JSON"));
}

fn read_params<T: DeserializeOwned>(params: &Value) -> T {
    serde_json::from_value(params.clone()).expect("params are of the method's form")
}
