//! Crashes while an edit is in flight: the edit is found as pending, if its text arrives before the
//! restart or after it.

use std::{fs, path::Path, time::Duration};

use cairn_protocol::{
    Decide, DecideParams, DecideResult, Decision, Hunk, RequestMethod, RunTask, RunTaskParams,
    Scope, State, UndoDecision,
};
use cairn_tests::{
    editor_double::{self, ApplyFault, EditorDouble, range},
    lsp_client::Daemon,
};
use serde_json::{Value, json};

use crate::fixtures::wait_until;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const EDITED: &str = "one\n2\nthree\nfour\nfive\nsix\n";

/// A real daemon with an editor that outlives it.
struct Crash {
    folder: tempfile::TempDir,
    state: tempfile::TempDir,
    settings: Value,
    daemon: Daemon,
    editor: EditorDouble,
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    call("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "calls": [{ "name": name, "arguments": arguments }] })
}

fn spawn(state: &Path) -> Daemon {
    Daemon::spawn(|command| {
        command.env("CAIRN_STATE_DIR", state);
    })
}

impl Crash {
    /// `steps` are the answers of the model. `a` exists; it is open if `open`.
    async fn begin(steps: &[Value], open: bool) -> Self {
        let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(folder.path().join("a"), TEXT).unwrap();
        let script = state.path().join("script.json");
        let played = json!({ "cairnReplay": 1, "name": "crash", "steps": steps });
        fs::write(&script, played.to_string()).unwrap();
        let settings = json!({ "model": { "provider": "replay", "replayFile": script } });
        let daemon = spawn(state.path());
        let client = daemon.client.clone();
        let editor = EditorDouble::connect(client, folder.path(), settings.clone()).await;
        if open {
            editor.open(&folder.path().join("a"));
        }
        Self { folder, state, settings, daemon, editor }
    }

    fn uri(&self, name: &str) -> String {
        editor_double::uri(&self.folder.path().join(name))
    }

    fn disk(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The text as the user sees it.
    fn text(&self, name: &str) -> String {
        let uri = self.uri(name);
        if self.editor.is_open(&uri) { self.editor.text(&uri) } else { self.disk(name) }
    }

    async fn play(&self) {
        let turn = self.editor.run_task("Do it").await;
        self.editor.turn_end(&turn.turn_id).await;
    }

    /// Starts a turn and waits until its first edit is held.
    async fn play_until_held(&self) {
        self.editor.will_fail(ApplyFault::Hold);
        let params = RunTaskParams { text: "Do it".into(), ..RunTaskParams::default() };
        self.editor.request::<RunTask>(params).await.unwrap();
        self.until_held().await;
    }

    async fn until_held(&self) {
        wait_until(Duration::from_secs(10), || self.editor.held() > 0).await;
    }

    async fn decide(&self, decision: Decision) -> DecideResult {
        let params = DecideParams { decision, scope: Scope::All, rev: None, feedback: None };
        self.editor.request::<Decide>(params).await.unwrap()
    }

    async fn undo(&self) -> bool {
        self.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone
    }

    /// Asks for an undo of which the edit is held.
    async fn undo_until_held(&self) {
        self.editor.will_fail(ApplyFault::Hold);
        self.editor.client.ask(UndoDecision::METHOD, json!({}));
        self.until_held().await;
    }

    async fn kill(mut self) -> Dead {
        self.daemon.kill().await;
        self.editor.client.closed().await;
        Dead(self)
    }

    async fn hunks(&self, name: &str) -> Vec<Hunk> {
        let state = self.editor.request::<State>(Default::default()).await.unwrap();
        let uri = self.uri(name);
        let reviews = state.reviews.into_iter().filter(|review| review.uri == uri);
        reviews.flat_map(|review| review.hunks).collect()
    }

    async fn pending(&self, name: &str) -> Vec<(String, String, bool)> {
        let hunks = self.hunks(name).await.into_iter();
        hunks.map(|it| (it.old_text, it.new_text, it.outdated)).collect()
    }

    /// Waits until the late edit is heard; the disk is read in the background.
    async fn until_pending(&self, name: &str, count: usize) -> Vec<(String, String, bool)> {
        let limit = tokio::time::Instant::now() + Duration::from_secs(10);
        loop {
            let pending = self.pending(name).await;
            if pending.len() == count || tokio::time::Instant::now() > limit {
                return pending;
            }
        }
    }
}

/// The daemon is killed, its editor lives.
struct Dead(Crash);

impl Dead {
    fn arrive(self) -> Self {
        self.0.editor.arrive();
        self
    }

    async fn restart(self) -> Crash {
        let Crash { folder, state, settings, editor, .. } = self.0;
        let daemon = spawn(state.path());
        let client = daemon.client.clone();
        let editor = editor.reconnect(client, folder.path(), settings.clone()).await;
        let crash = Crash { folder, state, settings, daemon, editor };
        // Answered when what was pending is known.
        crash.editor.request::<State>(Default::default()).await.unwrap();
        crash
    }
}

fn two() -> Vec<(String, String, bool)> {
    vec![("two".into(), "2".into(), false)]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrives {
    BeforeRestart,
    AfterRestart,
}

async fn first_edit(open: bool, arrives: Arrives) {
    let crash = Crash::begin(&[edit("a", "two", "2"), json!({ "text": "Done." })], open).await;
    crash.play_until_held().await;
    arrived_as_proposed(crash, arrives).await;
}

async fn undo_of_a_rejection(open: bool, arrives: Arrives) {
    let crash = Crash::begin(&[edit("a", "two", "2"), json!({ "text": "Done." })], open).await;
    crash.play().await;
    assert_eq!(crash.decide(Decision::Reject).await.applied, 1);
    assert_eq!(crash.text("a"), TEXT);
    crash.undo_until_held().await;
    arrived_as_proposed(crash, arrives).await;
}

/// The held edit puts the agent's line into the text. It can be rejected.
async fn arrived_as_proposed(crash: Crash, arrives: Arrives) {
    let dead = crash.kill().await;
    let crash = match arrives {
        Arrives::BeforeRestart => dead.arrive().restart().await,
        Arrives::AfterRestart => {
            let crash = dead.restart().await;
            assert_eq!(crash.pending("a").await, [], "nothing of it stands in the text yet");
            crash.editor.arrive();
            crash
        }
    };
    assert_eq!(crash.text("a"), EDITED);
    assert_eq!(crash.until_pending("a", 1).await, two());
    assert_eq!(crash.decide(Decision::Reject).await.applied, 1);
    assert_eq!(crash.text("a"), TEXT);
    crash.editor.finish();
}

#[tokio::test]
async fn a_first_edit_that_reaches_an_open_file_before_the_restart_is_proposed() {
    first_edit(true, Arrives::BeforeRestart).await;
}

#[tokio::test]
async fn a_first_edit_that_reaches_an_open_file_after_the_restart_is_proposed() {
    first_edit(true, Arrives::AfterRestart).await;
}

#[tokio::test]
async fn a_first_edit_that_reaches_a_closed_file_before_the_restart_is_proposed() {
    first_edit(false, Arrives::BeforeRestart).await;
}

#[tokio::test]
async fn a_first_edit_that_reaches_a_closed_file_after_the_restart_is_proposed() {
    first_edit(false, Arrives::AfterRestart).await;
}

#[tokio::test]
async fn an_undone_rejection_that_reaches_an_open_file_before_the_restart_is_proposed() {
    undo_of_a_rejection(true, Arrives::BeforeRestart).await;
}

#[tokio::test]
async fn an_undone_rejection_that_reaches_an_open_file_after_the_restart_is_proposed() {
    undo_of_a_rejection(true, Arrives::AfterRestart).await;
}

#[tokio::test]
async fn an_undone_rejection_that_reaches_a_closed_file_before_the_restart_is_proposed() {
    undo_of_a_rejection(false, Arrives::BeforeRestart).await;
}

#[tokio::test]
async fn an_undone_rejection_that_reaches_a_closed_file_after_the_restart_is_proposed() {
    undo_of_a_rejection(false, Arrives::AfterRestart).await;
}

/// The text is neither the one before the edit nor the one it makes.
#[tokio::test]
async fn a_first_edit_that_arrives_next_to_typed_text_is_proposed() {
    let crash = Crash::begin(&[edit("a", "two", "2"), json!({ "text": "Done." })], true).await;
    crash.play_until_held().await;
    let dead = crash.kill().await.arrive();
    let uri = dead.0.uri("a");
    dead.0.editor.type_in(&uri, range((4, 0), (4, 0)), "mine\n");
    dead.0.editor.type_in(&uri, range((0, 0), (0, 0)), "mine, too\n");
    let crash = dead.restart().await;
    assert_eq!(crash.pending("a").await, two());
    assert_eq!(crash.decide(Decision::Reject).await.applied, 1);
    assert_eq!(crash.text("a"), "mine, too\none\ntwo\nthree\nfour\nmine\nfive\nsix\n");
    crash.editor.finish();
}

/// The same if the daemon has read the file before the editor opens what the user typed.
#[tokio::test]
async fn an_edit_that_never_arrived_is_outdated_if_typed_text_is_opened_later() {
    let crash = Crash::begin(&[edit("a", "two", "2"), json!({ "text": "Done." })], false).await;
    crash.play_until_held().await;
    let crash = crash.kill().await.restart().await;
    assert_eq!(crash.pending("a").await, []);
    crash.editor.open_unsaved(&crash.folder.path().join("a"), &format!("mine\n{TEXT}"));
    assert_eq!(crash.until_pending("a", 1).await, [("two".into(), "2".into(), true)]);
    crash.editor.arrive();
    assert_eq!(crash.decide(Decision::Accept).await.applied, 1);
    assert_eq!(crash.text("a"), format!("mine\n{EDITED}"));
    crash.editor.finish();
}

#[tokio::test]
async fn an_edit_that_never_arrived_is_outdated_if_the_user_typed_there() {
    let crash = Crash::begin(&[edit("a", "two", "2"), json!({ "text": "Done." })], true).await;
    crash.play_until_held().await;
    let dead = crash.kill().await;
    let uri = dead.0.uri("a");
    dead.0.editor.type_in(&uri, range((0, 0), (0, 0)), "mine\n");
    let crash = dead.restart().await;
    assert_eq!(crash.pending("a").await, [("two".into(), "2".into(), true)]);
    assert_eq!(crash.decide(Decision::Accept).await.applied, 1);
    assert_eq!(crash.text("a"), format!("mine\n{EDITED}"));
    // The editor refuses the older one, made for another text.
    crash.editor.arrive();
    assert_eq!(crash.pending("a").await, []);
    crash.editor.finish();
}

#[tokio::test]
async fn an_undo_that_never_arrived_can_be_repeated() {
    let crash = Crash::begin(&[edit("a", "two", "2"), json!({ "text": "Done." })], true).await;
    crash.play().await;
    crash.decide(Decision::Reject).await;
    crash.undo_until_held().await;
    let crash = crash.kill().await.restart().await;
    assert_eq!(crash.pending("a").await, []);
    assert!(crash.undo().await);
    assert_eq!((crash.text("a").as_str(), crash.pending("a").await), (EDITED, two()));
    crash.editor.arrive();
    assert_eq!(crash.pending("a").await, two());
    crash.editor.finish();
}

#[tokio::test]
async fn a_rejection_is_restored_after_a_crash_at_any_record() {
    for arrives in [Arrives::BeforeRestart, Arrives::AfterRestart] {
        let steps = [edit("a", "two", "2"), edit("a", "five", "5"), json!({ "text": "Done." })];
        let crash = Crash::begin(&steps, true).await;
        crash.play().await;
        crash.editor.will_fail(ApplyFault::Hold);
        let params = json!({ "decision": "reject", "scope": { "kind": "all" } });
        crash.editor.client.ask(Decide::METHOD, params);
        crash.until_held().await;
        let dead = crash.kill().await;
        let crash = match arrives {
            Arrives::BeforeRestart => dead.arrive().restart().await,
            Arrives::AfterRestart => {
                let crash = dead.restart().await;
                assert_eq!(crash.pending("a").await.len(), 2, "still to be decided");
                crash.editor.arrive();
                crash
            }
        };
        assert_eq!((crash.text("a").as_str(), crash.pending("a").await), (TEXT, vec![]));
        crash.editor.finish();
    }
}

#[tokio::test]
async fn files_made_deleted_and_moved_after_the_restart_can_be_rejected() {
    for (step, at) in [
        (call("write_file", json!({ "path": "new", "content": "new\n" })), "new"),
        (call("delete_file", json!({ "path": "a" })), "a"),
        (call("move_file", json!({ "from": "a", "to": "b" })), "b"),
    ] {
        for arrives in [Arrives::BeforeRestart, Arrives::AfterRestart] {
            let crash = Crash::begin(&[step.clone(), json!({ "text": "Done." })], false).await;
            crash.play_until_held().await;
            let dead = crash.kill().await;
            let crash = match arrives {
                Arrives::BeforeRestart => dead.arrive().restart().await,
                Arrives::AfterRestart => {
                    let crash = dead.restart().await;
                    crash.editor.arrive();
                    // VS Code watches the workspace.
                    let files = json!([{ "uri": crash.uri("a"), "type": 3 }]);
                    let params = json!({ "changes": files });
                    crash.editor.client.notify("workspace/didChangeWatchedFiles", params);
                    crash
                }
            };
            assert_eq!(crash.until_pending(at, 1).await.len(), 1, "{step} {arrives:?}");
            assert_eq!(crash.decide(Decision::Reject).await.applied, 1, "{step} {arrives:?}");
            assert_eq!(crash.disk("a"), TEXT);
            assert!(!crash.folder.path().join("new").exists());
            assert!(!crash.folder.path().join("b").exists());
            crash.editor.finish();
        }
    }
}

#[tokio::test]
async fn a_deleted_file_that_the_user_created_again_meanwhile_is_the_users() {
    let steps = [call("delete_file", json!({ "path": "a" })), json!({ "text": "Done." })];
    let crash = Crash::begin(&steps, false).await;
    crash.play().await;
    assert_eq!(crash.hunks("a").await.len(), 1);
    let dead = crash.kill().await;
    fs::write(dead.0.folder.path().join("a"), "mine\n").unwrap();
    let crash = dead.restart().await;
    assert_eq!(crash.hunks("a").await.len(), 0);
    crash.decide(Decision::Reject).await;
    assert_eq!(crash.disk("a"), "mine\n");
    crash.editor.finish();
}

#[tokio::test]
async fn an_answered_decision_survives_a_crash() {
    let crash = Crash::begin(&[edit("a", "two", "2"), json!({ "text": "Done." })], true).await;
    crash.play().await;
    assert_eq!(crash.decide(Decision::Accept).await.applied, 1);
    let crash = crash.kill().await.restart().await;
    assert_eq!(crash.pending("a").await, []);
    assert!(crash.undo().await);
    let crash = crash.kill().await.restart().await;
    assert_eq!(crash.pending("a").await, two());
    crash.editor.finish();
}
