use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;
use crate::tools::testing::Fixture;

async fn check(fixture: &Fixture, arguments: Value, expect: Expect) {
    expect.assert_eq(&fixture.call("grep", arguments).await);
}

#[tokio::test]
async fn only_files_or_numbers_of_matches_are_listed() {
    let fixture = Fixture::new(&[("a.rs", "x\nx\ny x\n"), ("b.rs", "x\n"), ("c.rs", "y\n")]);
    fixture.open("b.rs", "x\nx\n");
    let search = |output: &str| json!({"pattern": "x", "output": output, "context": 2});
    check(&fixture, search("files"), expect!["a.rs\nb.rs"]).await;
    check(&fixture, search("count"), expect!["a.rs: 3\nb.rs: 2"]).await;
    let nothing = json!({"pattern": "z", "output": "count"});
    check(&fixture, nothing, expect!["[cairn] No matches."]).await;
    check(
        &fixture,
        search("lines"),
        expect!["failure: grep: `output` is a string (one of content, files, count expected)."],
    )
    .await;
}

#[tokio::test]
async fn the_list_of_files_with_matches_is_bounded() {
    let names: Vec<String> = (0..300).map(|n| format!("f{n:03}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\n")).collect();
    let fixture = Fixture::new(&files);
    let found = fixture.call("grep", json!({"pattern": "x", "output": "files"})).await;
    assert_eq!(found.lines().count(), MAX_MATCHES + 1);
    assert!(found.contains("Stopped after 200 files"), "{found}");
}

#[tokio::test]
async fn matching_lines_are_found() {
    let fixture = Fixture::new(&[
        (".gitignore", "out/"),
        ("out/a.rs", "fn one"),
        ("a.rs", "x\nfn one() {\r\n}\ny\nz\nfn two() {}\n"),
        ("b.md", "No Fn here\n"),
        ("binary", "fn\0one"),
    ]);
    check(&fixture, json!({"pattern": "fn \\w+"}), expect!["a.rs\n2:fn one() {\n6:fn two() {}"])
        .await;
    check(
        &fixture,
        json!({"pattern": "\\{$", "context": 1}),
        expect!["a.rs\n1-x\n2:fn one() {\n3-}"],
    )
    .await;
    check(
        &fixture,
        json!({"pattern": "fn", "context": 1, "glob": "*.rs"}),
        expect!["a.rs\n1-x\n2:fn one() {\n3-}\n--\n5-z\n6:fn two() {}"],
    )
    .await;
    check(
        &fixture,
        json!({"pattern": "fn", "before": 1, "after": 0, "glob": "*.rs"}),
        expect!["a.rs\n1-x\n2:fn one() {\n--\n5-z\n6:fn two() {}"],
    )
    .await;
    check(&fixture, json!({"pattern": "two", "context": 300}), expect![[r#"
        a.rs
        1-x
        2-fn one() {
        3-}
        4-y
        5-z
        6:fn two() {}
        [cairn] At most 50 lines before and after a match are shown, not 300; read_file shows more."#]]).await;
    check(
        &fixture,
        json!({"pattern": "FN", "ignore_case": true, "glob": "*.md"}),
        expect!["b.md\n1:No Fn here"],
    )
    .await;
    check(
        &fixture,
        json!({"pattern": "fn", "path": "a.rs", "glob": "*.rs"}),
        expect!["a.rs\n2:fn one() {\n6:fn two() {}"],
    )
    .await;
    check(&fixture, json!({"pattern": "^z$"}), expect!["a.rs\n5:z"]).await;
    check(&fixture, json!({"pattern": "nothing"}), expect!["[cairn] No matches."]).await;
    check(
        &fixture,
        json!({"pattern": ""}),
        expect!["failure: `pattern` is empty. Give a regular expression."],
    )
    .await;
    let error = fixture.call("grep", json!({"pattern": "("})).await;
    assert!(error.starts_with("failure: The pattern is not a regular expression"), "{error}");
}

#[tokio::test]
async fn the_text_of_an_open_document_is_searched() {
    let fixture = Fixture::new(&[("a", "disk\n"), ("b", "disk\n")]);
    fixture.open("a", "buffer\n");
    check(&fixture, json!({"pattern": "disk|buffer"}), expect!["a\n1:buffer\n\nb\n1:disk"]).await;
}

#[tokio::test]
async fn the_first_line_of_the_result_reports_an_incomplete_search() {
    let mut fixture = Fixture::new(&[("a", "x\n")]);
    fixture.without_time();
    for (tool, nothing) in [("grep", "No matches so far."), ("glob", "No files found so far.")] {
        let found = fixture.call(tool, json!({"pattern": "x"})).await;
        assert!(
            found.starts_with("[cairn] The search is incomplete: it was stopped after "),
            "{found}"
        );
        assert!(found.ends_with(&format!("\n[cairn] {nothing}")), "{found}");
    }
}

#[tokio::test]
async fn the_result_of_a_search_is_bounded() {
    let fixture = Fixture::new(&[("many", &"x\n".repeat(1000)), ("wide", &"y".repeat(9000))]);
    let found = fixture.call("grep", json!({"pattern": "x"})).await;
    assert_eq!(found.lines().count(), MAX_MATCHES + 2);
    assert!(found.ends_with("there may be more. Use a narrower pattern, `path` or `glob`."));
    let found = fixture.call("grep", json!({"pattern": "y"})).await;
    assert_eq!(found.chars().count(), "wide\n1:…".chars().count() + MAX_LINE_CHARS);
}
