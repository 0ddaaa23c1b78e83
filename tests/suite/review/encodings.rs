//! Files that are not UTF-8: read, searched, edited and written back in their own encoding.

use std::fs;

use cairn_protocol::{
    Decide, DecideParams, DecideResult, Decision, RestoreCheckpoint, RestoreCheckpointParams,
    Scope, UndoDecision,
};
use cairn_tests::model_server::{Response, Wire};
use serde_json::{Value, json};

use crate::fixtures::{TestDaemon, call, result, say};

const CHINESE: &str =
    "// 计算购物车的总价\r\nfunction total(cart) {\r\n  return 0; // 暂时返回零\r\n}\r\n";
const TAIWANESE: &str = "# 計算購物車的總價\ndef total(cart):\n    return 0  # 暫時傳回零\n";
const JAPANESE: &str = "# カートの合計を計算する\ndef total(cart):\n    return 0  # あとで直す\n";
const RARE: &str = "一个少见的字：𠮷，还有其他的汉字。\nreturn 0\n";

/// For each encoding: its name, whether it begins with a mark, a text, and a character it lacks.
const TABLE: &[(&str, bool, &str, Option<char>)] = &[
    ("gbk", false, CHINESE, Some('😀')),
    ("gb18030", false, RARE, None),
    ("big5", false, TAIWANESE, Some('简')),
    ("shift_jis", false, JAPANESE, Some('¥')),
    ("utf-16le", true, CHINESE, None),
    ("utf-16be", true, JAPANESE, None),
];

fn encoded(name: &str, bom: bool, text: &str) -> Vec<u8> {
    let mark = if bom { "\u{feff}" } else { "" };
    let units = format!("{mark}{text}");
    match name {
        "utf-16le" => units.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => units.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        name => {
            let encoding = encoding_rs::Encoding::for_label(name.as_bytes()).unwrap();
            let (bytes, _, lost) = encoding.encode(text);
            assert!(!lost, "{name}");
            bytes.into_owned()
        }
    }
}

async fn told(test: &TestDaemon, calls: &[(&str, Value)]) -> Vec<String> {
    for (at, (tool, arguments)) in calls.iter().enumerate() {
        test.model.push(Response::reply(call(&format!("c{at}"), tool, arguments.clone())));
    }
    test.model.push(Response::reply(say("Done.")));
    test.editor.run("Do it").await;
    let requests = test.model.requests();
    let last = requests.last().unwrap();
    (0..calls.len()).map(|at| result(last, &format!("c{at}"))).collect()
}

async fn decide(test: &TestDaemon, decision: Decision, scope: Scope) -> DecideResult {
    let params = DecideParams { decision, scope, rev: None, feedback: None };
    test.editor.request::<Decide>(params).await.unwrap()
}

/// One file for each row of the table, and one in UTF-8 with a byte order mark: name and bytes.
fn write_files(test: &TestDaemon) -> Vec<(String, Vec<u8>)> {
    let rows = TABLE.iter().map(|(name, bom, text, _)| (*name, encoded(name, *bom, text)));
    let marked = ("marked", format!("\u{feff}{CHINESE}").into_bytes());
    let files: Vec<_> = rows.chain([marked]).map(|(name, it)| (name.to_owned(), it)).collect();
    for (name, bytes) in &files {
        fs::write(test.path(name), bytes).unwrap();
    }
    files
}

fn deletions(files: &[(String, Vec<u8>)]) -> Vec<(&str, Value)> {
    files.iter().map(|(name, _)| ("delete_file", json!({ "path": name }))).collect()
}

fn edits(files: &[(String, Vec<u8>)]) -> Vec<(&str, Value)> {
    let edit = |name| json!({ "path": name, "old_text": "return 0", "new_text": "return 10" });
    files.iter().map(|(name, _)| ("edit_file", edit(name))).collect()
}

fn assert_bytes(test: &TestDaemon, files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        assert_eq!(fs::read(test.path(name)).unwrap(), *bytes, "{name}");
    }
}

#[tokio::test]
async fn a_closed_file_is_changed_in_its_own_encoding() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    for (name, bom, text, lacking) in TABLE {
        let file = format!("{name}.txt");
        let before = encoded(name, *bom, text);
        fs::write(test.path(&file), &before).unwrap();
        let word = text.lines().next().unwrap();
        let mut calls = vec![
            ("read_file", json!({ "path": file })),
            ("grep", json!({ "pattern": format!("^{word}$"), "path": file })),
        ];
        if let Some(lacking) = lacking {
            let new = format!("return '{lacking}'");
            calls.push((
                "edit_file",
                json!({ "path": file, "old_text": "return 0", "new_text": new }),
            ));
        }
        let told = told(&test, &calls).await;
        assert!(told[0].starts_with(&format!("1\t{word}")), "{name}: {}", told[0]);
        assert!(told[1].ends_with(&format!("1:{word}")), "{name}: {}", told[1]);
        if let Some(lacking) = lacking {
            let named = format!("`{lacking}` (U+{:04X})", u32::from(*lacking));
            assert!(told[2].contains(&named), "{name}: {}", told[2]);
            assert!(told[2].contains("Nothing was changed"), "{name}: {}", told[2]);
        }
        assert_eq!(fs::read(test.path(&file)).unwrap(), before, "{name}");

        let edit = json!({ "path": file, "old_text": "return 0", "new_text": "return 10" });
        self::told(&test, &[("edit_file", edit)]).await;
        let after = encoded(name, *bom, &text.replace("return 0", "return 10"));
        assert_eq!(fs::read(test.path(&file)).unwrap(), after, "{name}");
        assert_eq!(test.hunks(&file).await.len(), 1, "{name}");
    }
    test.editor.forget();
}

#[tokio::test]
async fn an_open_file_has_the_text_that_the_editor_shows() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    // One that nothing can tell from its bytes: the user told the editor.
    let latin = encoded("windows-1252", false, "caf\u{e9} one\n");
    fs::write(test.path("latin"), &latin).unwrap();
    let chinese = encoded("gbk", false, CHINESE);
    fs::write(test.path("right"), &chinese).unwrap();
    fs::write(test.path("wrong"), &chinese).unwrap();
    let uri = test.editor.open_in(&test.path("latin"), "windows-1252");
    test.editor.open_in(&test.path("right"), "gbk");
    test.editor.open(&test.path("wrong"));
    let edit = |path: &str, old: &str| {
        ("edit_file", json!({ "path": path, "old_text": old, "new_text": "2" }))
    };
    let calls = [
        ("read_file", json!({ "path": "latin" })),
        edit("latin", "one"),
        edit("right", "0"),
        edit("wrong", "return"),
    ];
    let told = told(&test, &calls).await;
    assert_eq!(told[0], "1\tcaf\u{e9} one");
    assert_eq!(test.text("latin"), "caf\u{e9} 2\n");
    assert_eq!(test.text("right"), CHINESE.replace('0', "2"));
    assert!(told[3].contains("in another encoding") && told[3].contains("GBK"), "{}", told[3]);
    test.editor.save(&uri);
    assert_eq!(fs::read(test.path("latin")).unwrap(), b"caf\xe9 2\n");
    assert_eq!(fs::read(test.path("wrong")).unwrap(), chinese);
    test.editor.forget();
}

#[tokio::test]
async fn a_deleted_file_comes_back_with_its_bytes() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let marked = "\u{feff}one\n".as_bytes().to_vec();
    for (name, bytes) in [("gbk", encoded("gbk", false, CHINESE)), ("marked", marked)] {
        fs::write(test.path(name), &bytes).unwrap();
        told(&test, &[("delete_file", json!({ "path": name }))]).await;
        assert!(!test.path(name).exists());
        decide(&test, Decision::Reject, Scope::File { uri: test.uri(name) }).await;
        assert_eq!(fs::read(test.path(name)).unwrap(), bytes, "{name}");
    }
    test.editor.forget();
}

#[tokio::test]
async fn rejecting_after_a_restart_restores_the_bytes_of_deleted_files() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let files = write_files(&test);
    told(&test, &deletions(&files)).await;
    // The second restart finds what the first one wrote down.
    let test = test.restart().await.restart().await;
    assert_eq!(decide(&test, Decision::Reject, Scope::All).await.applied as usize, files.len());
    assert_bytes(&test, &files);
    test.editor.forget();
}

#[tokio::test]
async fn rejecting_after_a_restart_restores_the_bytes_of_edited_files() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let files = write_files(&test);
    told(&test, &edits(&files)).await;
    let test = test.restart().await;
    assert_eq!(decide(&test, Decision::Reject, Scope::All).await.applied as usize, files.len());
    assert_bytes(&test, &files);
    test.editor.forget();
}

#[tokio::test]
async fn undoing_an_accepted_deletion_after_a_restart_keeps_the_encoding() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let files = write_files(&test);
    told(&test, &edits(&files)).await;
    told(&test, &deletions(&files)).await;
    decide(&test, Decision::Accept, Scope::All).await;
    let test = test.restart().await;
    assert!(test.editor.request::<UndoDecision>(Default::default()).await.unwrap().undone);
    let test = test.restart().await;
    decide(&test, Decision::Reject, Scope::All).await;
    assert_bytes(&test, &files);
    test.editor.forget();
}

#[tokio::test]
async fn a_checkpoint_restores_the_bytes_after_a_restart() {
    for calls in [deletions, edits] {
        let test = TestDaemon::open(Wire::Anthropic, &[]).await;
        let files = write_files(&test);
        told(&test, &calls(&files)).await;
        decide(&test, Decision::Accept, Scope::All).await;
        let test = test.restart().await;
        let checkpoints = test.editor.request::<cairn_protocol::Checkpoints>(Default::default());
        let turn_id = checkpoints.await.unwrap().checkpoints[0].turn_id.clone();
        let params = RestoreCheckpointParams { turn_id, overwrite: false };
        let result = test.editor.request::<RestoreCheckpoint>(params).await.unwrap();
        assert_eq!(result.restored.len(), files.len(), "{result:?}");
        assert_bytes(&test, &files);
        test.editor.forget();
    }
}

#[tokio::test]
async fn a_file_written_anew_after_a_restart_has_the_encoding_of_the_deleted_one() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    fs::write(test.path("gbk"), encoded("gbk", false, CHINESE)).unwrap();
    told(&test, &[("delete_file", json!({ "path": "gbk" }))]).await;
    let test = test.restart().await;
    let write = |content| ("write_file", json!({ "path": "gbk", "content": content }));
    let told = told(&test, &[write("\u{1f600}\n"), write("计算\n")]).await;
    assert!(told[0].contains("Nothing was changed"), "{}", told[0]);
    assert_eq!(fs::read(test.path("gbk")).unwrap(), encoded("gbk", false, "计算\n"));
    test.editor.forget();
}

#[tokio::test]
async fn a_file_that_is_open_in_another_encoding_is_not_deleted() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let bytes = encoded("gbk", false, CHINESE);
    fs::write(test.path("gbk"), &bytes).unwrap();
    // These bytes are text in that encoding, too.
    test.editor.open_in(&test.path("gbk"), "windows-1252");
    let told = told(&test, &[("delete_file", json!({ "path": "gbk" }))]).await;
    assert!(told[0].contains("reopen it with its encoding"), "{}", told[0]);
    assert_eq!(fs::read(test.path("gbk")).unwrap(), bytes);
    test.editor.forget();
}
