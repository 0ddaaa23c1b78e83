//! Wrong edits, and edits of files that cannot be edited: the tool guesses nothing and keeps all other
//! bytes.

use std::fs;

use cairn_protocol::EndReason;
use cairn_tests::editor_double::range;
use serde_json::{Value, json};

use super::AttackTest;

const BEFORE: &[(&str, &[u8])] = &[
    ("plain", b"one\ntwo\none\n"),
    ("long", b"the first line\n\nthe third line\n"),
    ("crlf", b"one\r\ntwo\r\nthree\r\n"),
    ("mixed", b"one\r\ntwo\nthree\r\nfour"),
    ("marked", b"\xef\xbb\xbfone\ntwo"),
    ("utf16", b"\xff\xfeo\0n\0e\0\x3d\xd8"),
    ("latin1", b"caf\xe9 one\n"),
    ("nul", b"one\0two\n"),
    ("curly", "say “one” here\n".as_bytes()),
    ("apart", "cafe\u{301} one\n".as_bytes()),
    ("emoji", "😀😀one\u{200d}two\n".as_bytes()),
];

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
}

#[tokio::test]
async fn a_wrong_edit_changes_nothing_and_says_why() {
    let test = AttackTest::open(BEFORE, json!({})).await;
    let huge = fs::File::create(test.root.join("huge")).unwrap();
    huge.set_len(1 << 30).unwrap();
    let write =
        |path: &str, content: &str| ("write_file", json!({ "path": path, "content": content }));
    let table = [
        (edit("plain", "three", "3"), "`old_text` is not in the file"),
        (edit("long", "the third linE", "x"), "3\tthe third line"),
        (edit("plain", "one", "1"), "is in the file 2 times (at lines 1, 3)"),
        (edit("plain", "", "1"), "`old_text` is empty"),
        (edit("plain", "two", "two"), "are the same"),
        (edit("missing", "a", "b"), "does not exist"),
        (edit("utf16", "one", "1"), "begins as UTF-16 and is not valid"),
        (edit("latin1", "one", "1"), "not valid UTF-8"),
        (edit("nul", "one", "1"), "NUL byte"),
        (edit("curly", "say \"one\" here", "x"), "`old_text` is not in the file"),
        (edit("apart", "caf\u{e9} one", "x"), "`old_text` is not in the file"),
        (edit("huge", "a", "b"), "files over 10 MiB are not read"),
        (write("utf16", "one\n"), "UTF-16"),
        (write("nul", "one\n"), "NUL byte"),
        (write("huge", "one\n"), "files over 10 MiB are not read"),
        (write("new", "a\0b"), "NUL character"),
        (write("plain", "one\ntwo\none\n"), "exactly this content already"),
    ];
    let told = test.told(table.iter().map(|((tool, call), _)| (*tool, call.clone()))).await;
    for ((call, expected), told) in table.iter().zip(&told) {
        assert!(told.contains(expected), "{call:?}: {told}");
    }
    for (name, bytes) in BEFORE {
        assert_eq!(test.read(name), *bytes, "{name}");
    }
    assert!(test.editor.edits().is_empty() && !test.has("new"));
    super::ran(table.len());
    test.finish();
}

#[tokio::test]
async fn a_right_edit_changes_nothing_else() {
    let test = AttackTest::open(BEFORE, json!({})).await;
    let table: &[((&str, Value), &[u8])] = &[
        (edit("plain", "two\n", "2\nmore\n"), b"one\n2\nmore\none\n"),
        (edit("crlf", "two\n", "2\nmore\n"), b"one\r\n2\r\nmore\r\nthree\r\n"),
        (edit("mixed", "three", "3"), b"one\r\ntwo\n3\r\nfour"),
        (edit("marked", "two", "2"), b"\xef\xbb\xbfone\n2"),
        (edit("curly", "“one”", "“1”"), "say “1” here\n".as_bytes()),
        (edit("apart", "cafe\u{301}", "the\u{301}"), "the\u{301} one\n".as_bytes()),
        (edit("emoji", "one\u{200d}", "1"), "😀😀1two\n".as_bytes()),
    ];
    // One file is open, with positions behind surrogate pairs.
    let uri = test.editor.open(&test.root.join("emoji"));
    test.editor.type_in(&uri, range((0, 4), (0, 4)), "");
    test.told(table.iter().map(|((tool, call), _)| (*tool, call.clone()))).await;
    test.editor.request::<cairn_protocol::State>(Default::default()).await.unwrap();
    assert_eq!(test.editor.text(&uri).as_bytes(), "😀😀1two\n".as_bytes());
    for ((_, call), bytes) in table {
        let name = call["path"].as_str().unwrap();
        if name != "emoji" {
            assert_eq!(test.read(name), *bytes, "{call}");
        }
    }
    super::ran(table.len());

    // Two in one answer are two steps of one file, and both stay.
    let both = crate::fixtures::edit("a", "crlf", "one", "1");
    let more = json!({ "path": "crlf", "old_text": "three", "new_text": "3" });
    test.model.push(cairn_tests::model_server::Response::reply(both.call("b", "edit_file", more)));
    test.model.push(cairn_tests::model_server::Response::reply(crate::fixtures::say("Done.")));
    assert_eq!(test.editor.run("Do it").await.reason, EndReason::Completed);
    assert_eq!(test.read("crlf"), b"1\r\n2\r\nmore\r\n3\r\n");
    super::ran(1);
    test.finish();
}
