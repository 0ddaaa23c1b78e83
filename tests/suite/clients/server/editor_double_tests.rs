//! The editor double, against the daemon's side of the port.

use super::*;

struct Fixture {
    editor: EditorDouble,
    hub: Hub,
    folder: tempfile::TempDir,
}

impl Fixture {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ServerFixture { client, hub, serving: _ } = knock().await;
        let editor = EditorDouble::connect(client, folder.path(), json!({})).await;
        Self { editor, hub, folder }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    async fn apply(&self, params: ApplyEditParams) -> ApplyEditResult {
        let workspace = Workspace::new(vec![self.folder.path().to_owned()]).unwrap();
        self.hub.editor.apply(params, Arc::new(workspace)).await
    }
}

#[tokio::test]
async fn the_double_applies_an_edit_and_sends_the_change_first() {
    let mut test = Fixture::open().await;
    let path = test.file("a", "\u{feff}a😀b\r\nc\n");
    let uri = test.editor.open(&path);
    let edits = [
        TextEdit { range: range((0, 1), (0, 3)), new_text: "-".into() },
        TextEdit { range: range((1, 0), (1, 1)), new_text: "C\nD".into() },
    ];
    let result = test.apply(edit(&uri, "a😀b\r\nc\n", Some(1), &edits)).await;
    assert_eq!((result.applied, result.was_dirty), (true, false));
    assert_eq!(test.editor.text(&uri), "a-b\r\nC\nD\n");
    assert_eq!(test.editor.version(&uri), 2);
    // In a tab: it is the user's to save, or the daemon's to ask for.
    assert!(test.editor.is_dirty(&uri));
    assert!(test.hub.editor.save(SaveParams { uris: vec![uri.clone()] }).await.failed.is_empty());
    assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}a-b\r\nC\nD\n");

    test.editor.type_in(&uri, range((0, 0), (0, 1)), "A");
    let result = test.apply(edit(&uri, "a-b\r\nC\nD\n", Some(2), &edits)).await;
    assert_eq!(result.reason, Some(RefusedEdit::Stale));
    let empty = edit(&uri, "A-b\r\nC\nD\n", Some(3), &[]);
    assert!(test.apply(empty).await.was_dirty, "the user's own text was there before");
    test.editor.save(&uri);
    test.editor.close(&uri);

    let mut seen = String::new();
    for _ in 0..8 {
        seen += match test.hub.next().await {
            ClientEvent::Initialized(_) => "initialized ",
            ClientEvent::DidOpen { version: 1, text, .. } if !text.starts_with('\u{feff}') => {
                "open "
            }
            ClientEvent::DidChange { changes, .. } if changes.len() == 2 => "both ",
            ClientEvent::DidChange { .. } => "change ",
            ClientEvent::DidSave { .. } => "save ",
            ClientEvent::DidClose { .. } => "close ",
            event => panic!("unexpected {event:?}"),
        };
    }
    expect!["initialized open both save change change save close "].assert_eq(&seen);
}

#[tokio::test]
async fn the_double_leaves_edits_of_files_that_are_not_open_to_the_daemon() {
    let test = Fixture::open().await;
    let path = test.file("a", "one\n");
    let uri = editor_double::uri(&path);
    let edits = [TextEdit { range: range((0, 0), (0, 3)), new_text: "two".into() }];
    let stale = test.apply(edit(&uri, "other", None, &edits)).await;
    assert_eq!(stale.reason, Some(RefusedEdit::Stale));
    assert!(test.apply(edit(&uri, "one\n", None, &edits)).await.applied);
    assert!(!test.editor.is_open(&uri));
    assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");

    let path = test.folder.path().join("new/deep/b");
    let uri = editor_double::uri(&path);
    let change = |change| ApplyEditParams {
        uri: uri.clone(),
        label: "Cairn".into(),
        encoding: None,
        change,
    };
    let create = || change(FileChange::Create { text: "three\n".into() });
    assert!(test.apply(create()).await.applied);
    assert_eq!(test.apply(create()).await.reason, Some(RefusedEdit::Stale));
    let delete = |text| {
        change(FileChange::Delete {
            expected_hash: editor_double::hash(text),
            empty_folders: Vec::new(),
        })
    };
    assert_eq!(test.apply(delete("x")).await.reason, Some(RefusedEdit::Stale));
    assert!(test.apply(delete("three\n")).await.applied);
    assert!(!path.exists() && !test.editor.is_open(&uri));
    assert_eq!(test.apply(delete("three\n")).await.reason, Some(RefusedEdit::Closed));
    assert_eq!(test.editor.edits().len(), 7);
}

#[tokio::test]
async fn the_double_follows_its_script() {
    let test = Fixture::open().await;
    let uri = test.editor.open(&test.file("a", "one\n"));
    let edits = [TextEdit { range: range((0, 0), (0, 3)), new_text: "two".into() }];
    let asked = || edit(&uri, "one\n", Some(1), &edits);
    test.editor.will_fail(ApplyFault::Refuse(RefusedEdit::ReadOnly));
    assert_eq!(test.apply(asked()).await.reason, Some(RefusedEdit::ReadOnly));
    test.editor.will_fail(ApplyFault::Lie);
    assert!(test.apply(asked()).await.applied);
    assert_eq!(test.editor.text(&uri), "one\n");
    let allow = ApproveResult { decision: ApprovalDecision::AllowOnce, feedback: None };
    test.editor.will_answer(Approval::Answer(allow.clone()));
    assert_eq!(test.hub.editor.approve(approve()).await, allow);
    assert_eq!(test.editor.asked(), [approve()]);
    test.hub.editor.notify(status(1));
    test.hub.editor.notify(status(2));
    let rev = test.editor.wait_for("a status", |notice| match notice {
        Notice::Status(status) if status.rev > 1 => Some(status.rev),
        _ => None,
    });
    assert_eq!(rev.await, 2);
    assert_eq!(test.editor.notices(), [status(1), status(2)]);
    test.editor.finish();
}

#[tokio::test]
async fn the_double_fails_on_unscripted_questions_and_unused_answers() {
    async fn leftovers(act: impl AsyncFnOnce(&Fixture)) -> String {
        let Fixture { editor, hub, folder } = Fixture::open().await;
        let test = Fixture { editor, hub, folder };
        act(&test).await;
        // A reply proves that everything said before it was heard.
        test.editor.client.request("unknown", json!({})).await.unwrap_err();
        let Fixture { editor, .. } = test;
        let finished = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| editor.finish()));
        *finished.unwrap_err().downcast::<String>().unwrap()
    }
    let said = leftovers(async |test| {
        test.hub.editor.approve(approve()).await;
    });
    assert!(said.await.contains("unscripted approval"));
    let said = leftovers(async |test| test.editor.will_answer(Approval::Silence));
    assert!(said.await.contains("never asked for Silence"));
    let said = leftovers(async |test| {
        test.hub.editor.notify(status(2));
        test.hub.editor.notify(status(2));
        for _ in 0..2 {
            test.editor.wait_for("a status", |_| Some(())).await;
        }
    });
    assert!(said.await.contains("agent/status: rev 2 after 2 of status"));
    let said = leftovers(async |test| {
        test.editor.client.ask("agent/nothing", json!({}));
    });
    assert!(said.await.contains("Method not found"));
}
