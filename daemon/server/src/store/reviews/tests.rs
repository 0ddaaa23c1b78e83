use cairn_core::{
    change::Change,
    review::{Author, FileReview, Origin},
};
use serde_json::Value;

use super::*;

fn kept(key: &str, before: &str, after: &str) -> Kept<Text> {
    let (before, after) = (Text::new(before), Text::new(after));
    let mut review = FileReview::new(before.clone());
    let change = Change::between(&before, &after);
    review.apply(&change, &Author::Agent(Origin::default())).unwrap();
    let standing = Standing { review: Some(review.snapshot()), fate: Value::Null, encoding: None };
    let (under_way, late) = (None, Vec::new());
    Kept { key: key.into(), saveable: true, standing, under_way, late, rest: Value::Null }
}

fn former(key: &str, text: &str) -> Former<Text> {
    let standing = kept(key, "old\n", text).standing;
    Former { key: key.into(), standing, after: Some(Text::new(text)), rest: Value::Null }
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
fn close(keeper: ReviewStore, folder: &Path) -> Found {
    keeper.sync().blocking_recv().unwrap().unwrap();
    drop(keeper);
    open(folder).1
}

#[test]
fn what_is_pending_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (keeper, found) = open(folder.path());
    assert!(found.files.is_empty() && found.decisions.is_empty());
    keeper.file(kept("a", "one\n", "1\n"));
    keeper.file(kept("b", "two\n", "2\n"));
    let mut newest = kept("a", "one\n", "eins\n");
    let edit = UnderWay {
        before: Some(Text::new("eins\n")),
        expected: Text::new("uno\n"),
        after: Some(kept("a", "one\n", "uno\n").standing),
        what: Value::from(7),
        restarts: 1,
    };
    newest.late = vec![edit.clone()];
    newest.under_way = Some(edit);
    keeper.file(newest.clone());
    keeper.settled("b".into());
    let decided = vec![former("b", "2\n")];
    keeper.decided(decided.clone());
    keeper.decided(vec![former("c", "3\n")]);
    keeper.undone();
    let found = close(keeper, folder.path());
    assert_eq!(found.files, [newest]);
    assert_eq!(found.decisions, [decided]);
}

#[test]
fn only_one_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let (_keeper, _) = open(folder.path());
    let error = ReviewStore::open(folder.path(), |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "another window keeps them");
}

#[test]
fn many_lines_that_come_to_little_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (keeper, _) = open(folder.path());
    keeper.file(kept("a", "one\n", "299\n"));
    for round in 0..300 {
        keeper.settled(format!("gone {round}"));
    }
    close(keeper, folder.path());
    let (keeper, _) = open(folder.path());
    let text = fs::read_to_string(folder.path().join("reviews.log")).unwrap();
    assert_eq!(text.lines().count(), 2, "the head and the file");
    let found = close(keeper, folder.path());
    assert_eq!(found.files, [kept("a", "one\n", "299\n")]);
}

#[test]
fn what_cannot_be_saved_is_tried_again_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let (told, states) = mpsc::channel();
    let (keeper, _) =
        ReviewStore::open(folder.path(), move |state| drop(told.send(state))).unwrap();
    // A file where the folder of the texts should be.
    let texts = folder.path().join("texts");
    fs::write(&texts, "").unwrap();
    keeper.file(kept("a", "one\n", "1\n"));
    assert!(keeper.sync().blocking_recv().unwrap().is_err());
    assert!(matches!(states.recv().unwrap(), State::Failing(_)));
    fs::remove_file(&texts).unwrap();
    keeper.sync().blocking_recv().unwrap().unwrap();
    assert_eq!(states.recv().unwrap(), State::Well);
    assert_eq!(close(keeper, folder.path()).files.len(), 1);
}

#[test]
fn what_names_a_lost_text_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (keeper, _) = open(folder.path());
    keeper.file(kept("a", "one\n", "1\n"));
    keeper.file(kept("b", "two\n", "2\n"));
    close(keeper, folder.path());
    let hash = Sha256Hex::of(b"2\n");
    let (head, tail) = hash.as_str().split_at(2);
    fs::remove_file(folder.path().join("texts").join(head).join(tail)).unwrap();
    let (_keeper, found) = open(folder.path());
    assert_eq!(found.files.iter().map(|kept| kept.key.as_str()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn the_encoding_of_a_file_is_kept_and_need_not_be_on_record() {
    let folder = tempfile::tempdir().unwrap();
    let (keeper, _) = open(folder.path());
    let mut file = kept("a", "one\n", "1\n");
    file.standing.encoding = Some(Encoding { name: "gbk".into(), bom: false });
    keeper.file(file.clone());
    keeper.file(kept("b", "one\n", "1\n"));
    assert_eq!(close(keeper, folder.path()).files, [file, kept("b", "one\n", "1\n")]);
    // Records of older versions have no such field.
    let old: Standing<Sha256Hex> = serde_json::from_str(r#"{"review":null,"fate":null}"#).unwrap();
    assert_eq!(old.encoding, None);
}
