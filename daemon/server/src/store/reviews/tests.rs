use cairn_core::{
    change::Change,
    review::{
        Author, DecisionEffects, EditPurpose, EditRecord, FileReview, FileState, HunkId, Origin,
    },
    text::{FileEncoding, Text},
};

use super::*;

fn state(before: &str, after: &str) -> FileState {
    let (before, after) = (Text::new(before), Text::new(after));
    let mut review = FileReview::new(before.clone());
    let change = Change::between(&before, &after);
    review.apply(&change, &Author::Agent(Origin::default())).unwrap();
    FileState { review: Some(review), ..FileState::default() }
}

fn record(key: &str, before: &str, after: &str) -> FileRecord {
    let (state, under_way) = (state(before, after), None);
    let (late, outdated) = (Vec::new(), Vec::new());
    FileRecord { key: key.into(), saveable: true, state, under_way, late, outdated }
}

/// Text that is too large for a line of the journal.
fn large(line: &str) -> String {
    line.repeat(SMALL_TEXT)
}

fn undo(key: &str, text: &str) -> DecisionUndo {
    let (state, effects) = (state("old\n", text), DecisionEffects::default());
    DecisionUndo { key: key.into(), state, after: Some(Text::new(text)), effects }
}

/// Records as they are stored, with their texts: a review has memory that is not stored.
fn files(records: &[FileRecord]) -> Value {
    serde_json::to_value(records).unwrap()
}

fn decisions(undos: &[Vec<DecisionUndo>]) -> Value {
    serde_json::to_value(undos).unwrap()
}

/// Waits until one that was dropped is really gone: its thread frees the lock as it ends.
fn open(folder: &Path) -> (ReviewStore, Found) {
    loop {
        match ReviewStore::open(folder, |_| {}) {
            Ok(opened) => return opened,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}"),
        }
    }
}

/// Reviews that are found after this store was closed.
fn close(store: ReviewStore, folder: &Path) -> Found {
    store.sync().blocking_recv().unwrap().unwrap();
    drop(store);
    open(folder).1
}

#[test]
fn pending_edits_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (store, found) = open(folder.path());
    assert!(found.files.is_empty() && found.decisions.is_empty());
    store.write(ReviewLine::File(Box::new(record("a", "one\n", "1\n"))));
    store.write(ReviewLine::File(Box::new(record("b", "two\n", "2\n"))));
    let mut newest = record("a", "one\n", "eins\n");
    let edit = EditRecord {
        before: Some(Text::new("eins\n")),
        expected: Text::new("uno\n"),
        after: Some(state("one\n", "uno\n")),
        purpose: EditPurpose::Restored { deletes: false, is_undo: true },
        restarts: 1,
    };
    newest.late = vec![edit.clone()];
    newest.under_way = Some(edit);
    store.write(ReviewLine::File(Box::new(newest.clone())));
    store.write(ReviewLine::Settled("b".into()));
    let decided = vec![undo("b", "2\n")];
    store.write(ReviewLine::Decided(decided.clone()));
    store.write(ReviewLine::Decided(vec![undo("c", "3\n")]));
    store.write(ReviewLine::Undone);
    let found = close(store, folder.path());
    assert_eq!(files(&found.files), files(&[newest]));
    assert_eq!(decisions(&found.decisions), decisions(&[decided]));
}

#[test]
fn a_second_store_of_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, _) = open(folder.path());
    let error = ReviewStore::open(folder.path(), |_| {}).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_log_with_many_superseded_lines_is_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    store.write(ReviewLine::File(Box::new(record("a", "one\n", "299\n"))));
    for round in 0..300 {
        store.write(ReviewLine::Settled(format!("gone {round}").into()));
    }
    close(store, folder.path());
    let (store, _) = open(folder.path());
    let text = fs::read_to_string(folder.path().join("reviews.log")).unwrap();
    assert_eq!(text.lines().count(), 4, "the head, two texts and the file");
    let found = close(store, folder.path());
    assert_eq!(files(&found.files), files(&[record("a", "one\n", "299\n")]));
}

#[test]
fn a_failed_save_is_retried_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (told, states) = mpsc::channel();
    let (store, _) = ReviewStore::open(folder.path(), move |state| drop(told.send(state))).unwrap();
    // A file where the folder of the texts should be.
    let texts = folder.path().join("texts");
    fs::write(&texts, "").unwrap();
    store.write(ReviewLine::File(Box::new(record("a", "one\n", &large("1\n")))));
    assert!(store.sync().blocking_recv().unwrap().is_err());
    assert!(matches!(states.recv().unwrap(), State::Failing(_)));
    fs::remove_file(&texts).unwrap();
    store.sync().blocking_recv().unwrap().unwrap();
    assert_eq!(states.recv().unwrap(), State::Well);
    assert_eq!(close(store, folder.path()).files.len(), 1);
}

#[test]
fn a_record_with_a_missing_text_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    store.write(ReviewLine::File(Box::new(record("a", "one\n", "1\n"))));
    store.write(ReviewLine::File(Box::new(record("b", "two\n", &large("2\n")))));
    close(store, folder.path());
    let hash = Sha256Hex::of(large("2\n").as_bytes());
    let (head, tail) = hash.as_str().split_at(2);
    fs::remove_file(folder.path().join("texts").join(head).join(tail)).unwrap();
    let (_store, found) = open(folder.path());
    assert_eq!(found.files.iter().map(|record| &*record.key).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn the_encoding_of_a_file_is_stored_and_optional() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    let mut file = record("a", "one\n", "1\n");
    file.state.form.encoding = FileEncoding::of_label("gbk", false).unwrap();
    store.write(ReviewLine::File(Box::new(file.clone())));
    store.write(ReviewLine::File(Box::new(record("b", "one\n", "1\n"))));
    let found = close(store, folder.path());
    assert_eq!(files(&found.files), files(&[file, record("b", "one\n", "1\n")]));
    // Records of older versions have no such field.
    let old: FileState = serde_json::from_str(r#"{"review":null,"fate":null}"#).unwrap();
    assert_eq!(old.form.encoding, FileEncoding::UTF_8);
}

#[test]
fn a_small_text_is_written_once_and_a_large_one_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    let texts = || {
        let journal = fs::read_to_string(folder.path().join("reviews.log")).unwrap();
        let in_journal = journal.lines().filter(|line| line.contains(r#"{"text""#)).count();
        let files = fs::read_dir(folder.path().join("texts")).map(Iterator::count);
        (in_journal, files.unwrap_or_default())
    };
    store.write(ReviewLine::File(Box::new(record("a", "one\n", "1\n"))));
    close(store, folder.path());
    assert_eq!(texts(), (2, 0));
    let (store, _) = open(folder.path());
    let newest = record("a", "1\n", &large("2\n"));
    store.write(ReviewLine::File(Box::new(newest.clone())));
    let found = close(store, folder.path());
    assert_eq!(texts(), (2, 1), "one text was known");
    assert_eq!(files(&found.files), files(&[newest]));
}

#[test]
fn many_small_texts_leave_the_journal_readable_at_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    let last = record("a", "0\n", &format!("{MOST_SMALL_TEXTS}\n"));
    for number in 1..=MOST_SMALL_TEXTS {
        let key = format!("{number}");
        store.write(ReviewLine::File(Box::new(record(&key, "0\n", &format!("{number}\n")))));
    }
    store.write(ReviewLine::File(Box::new(last.clone())));
    drop(store);
    let (_store, found) = open(folder.path());
    let journal = fs::read_to_string(folder.path().join("reviews.log")).unwrap();
    let in_journal = journal.lines().filter(|line| line.contains(r#"{"text""#)).count();
    assert_eq!(in_journal, MOST_SMALL_TEXTS, "the others are files");
    let found = found.files.into_iter().filter(|record| *record.key == *"a").collect::<Vec<_>>();
    assert_eq!(files(&found), files(&[last]));
}

#[test]
fn a_journal_of_an_earlier_version_is_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    store.write(ReviewLine::File(Box::new(record("a", "one\n", "1\n"))));
    close(store, folder.path());
    edit_journal(folder.path(), r#""version":2"#, r#""version":1"#);
    let (_store, found) = open(folder.path());
    assert_eq!(found.files.len(), 1);
    let journal = fs::read_to_string(folder.path().join("reviews.log")).unwrap();
    assert!(journal.contains(r#""version":2"#), "{journal}");
}

fn is_known(line: &ReviewLine) -> bool {
    let ReviewLine::File(record) = line else { return true };
    let mut edits = record.under_way.iter().chain(&record.late);
    !edits.any(|edit| matches!(edit.purpose, EditPurpose::Unknown(_)))
}

/// Journals that earlier versions wrote: `tests/states/<scene>/<format>`.
#[test]
fn a_line_of_an_earlier_version_is_written_as_it_was_read() {
    let states = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/states");
    let mut lines = 0;
    let inside = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for format in inside(&states).flat_map(|scene| inside(&scene)).filter(|it| it.is_dir()) {
        let journal = format.join("state/workspace/reviews.log");
        for text in fs::read_to_string(journal).unwrap().lines() {
            let text = text.splitn(3, ' ').last().unwrap();
            let stored: StoredLine = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&stored).unwrap(), text);
            let line: ReviewLine = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&line).unwrap(), text);
            assert!(is_known(&line), "{text}");
            lines += 1;
        }
    }
    assert!(lines > 20, "{lines} lines");
}

/// Replaces a part of a line in the journal of a folder.
fn edit_journal(folder: &Path, from: &str, to: &str) {
    let path = folder.join("reviews.log");
    let text = fs::read_to_string(&path).unwrap();
    let changed = text.replacen(from, to, 1);
    assert_ne!(text, changed, "{from} is not in the journal");
    fs::remove_file(&path).unwrap();
    let lines = changed.lines().map(|line| line.splitn(3, ' ').last().unwrap().as_bytes().to_vec());
    let mut journal = Journal::create(&path).unwrap();
    journal.append(&lines.collect::<Vec<_>>()).unwrap();
    journal.sync().unwrap();
}

#[test]
fn a_file_with_an_unknown_operation_is_left_out_and_its_record_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    store.write(ReviewLine::File(Box::new(record("a", "one\n", "1\n"))));
    store.write(ReviewLine::File(Box::new(record("b", "two\n", "2\n"))));
    store.write(ReviewLine::Decided(vec![undo("c", "3\n")]));
    close(store, folder.path());
    edit_journal(folder.path(), r#""fate":null"#, r#""fate":{"copiedFrom":"z"}"#);
    let (store, found) = open(folder.path());
    assert_eq!(files(&found.files), files(&[record("b", "two\n", "2\n")]));
    assert_eq!(found.decisions.len(), 1);
    for round in 0..300 {
        store.write(ReviewLine::Settled(format!("gone {round}").into()));
    }
    close(store, folder.path());
    drop(open(folder.path()));
    let journal = fs::read_to_string(folder.path().join("reviews.log")).unwrap();
    assert_eq!(
        journal.lines().filter(|line| !line.contains(r#"{"text""#)).count(),
        4,
        "it was rewritten"
    );
    assert!(journal.contains(r#""fate":{"copiedFrom":"z"}"#), "{journal}");
}

#[test]
fn an_edit_with_an_unknown_purpose_does_not_hide_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    let mut file = record("a", "one\n", "1\n");
    file.under_way = Some(EditRecord {
        before: None,
        expected: Text::new("1\n"),
        after: None,
        purpose: EditPurpose::Rejected { ids: vec![HunkId(0)], drops: false },
        restarts: 0,
    });
    store.write(ReviewLine::File(Box::new(file.clone())));
    close(store, folder.path());
    edit_journal(
        folder.path(),
        r#""what":{"rejected":{"ids":[0],"drops":false}}"#,
        r#""what":{"copied":{"to":"z"}}"#,
    );
    let (_store, found) = open(folder.path());
    let unknown = serde_json::json!({"copied": {"to": "z"}});
    file.under_way.as_mut().unwrap().purpose = EditPurpose::Unknown(unknown);
    assert_eq!(files(&found.files), files(&[file]));
}

#[test]
fn a_decision_with_an_unknown_value_ends_the_decisions_that_can_be_undone() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = open(folder.path());
    store.write(ReviewLine::Decided(vec![undo("a", "1\n")]));
    store.write(ReviewLine::Decided(vec![undo("b", "2\n")]));
    store.write(ReviewLine::Decided(vec![undo("c", "3\n")]));
    close(store, folder.path());
    edit_journal(folder.path(), r#"{"key":"b","standing""#, r#"{"key":"b","later""#);
    let (_store, found) = open(folder.path());
    assert_eq!(decisions(&found.decisions), decisions(&[vec![undo("c", "3\n")]]));
}

#[test]
fn all_hashes_of_a_record_are_found() {
    let [one, other] = [b"1", b"2"].map(|text| Sha256Hex::of(text));
    let json = serde_json::json!({"a": [one.as_str(), {"b": other.as_str()}], "c": "d", "e": null});
    let mut hashes = HashSet::new();
    add_hashes(&json, &mut hashes);
    assert_eq!(hashes, [one, other].into());
}
