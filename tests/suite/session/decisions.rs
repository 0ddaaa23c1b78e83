//! Decisions about calls: shown as they are made, after a restart, and in the export.

use cairn_protocol::{
    ApprovalDecision, CallDecision, ExportFormat, Notice, ToolState, TranscriptEntry,
};
use cairn_tests::model_server::Wire;
use expect_test::expect;

use super::session_list::{export, open};
use crate::fixtures::*;

/// Decision in one line, without its time.
fn words(call_id: &str, state: ToolState, decision: &CallDecision) -> String {
    let CallDecision { decision, by, words, at } = decision;
    assert!(*at > 1_700_000_000_000, "{at}");
    format!("{call_id} {state:?}: {decision:?} by {by:?} {}", words.as_deref().unwrap_or("–"))
}

#[tokio::test]
async fn a_decision_about_a_call_is_kept_with_its_time() {
    let test = TestDaemon::open(Wire::Anthropic, &[("build.sh", "echo fine\n")]).await;
    for (decision, said) in [
        (ApprovalDecision::AllowOnce, None),
        (ApprovalDecision::Deny, Some("Not that one")),
        (ApprovalDecision::AllowSession, None),
        (ApprovalDecision::AllowAlways, Some("Good")),
    ] {
        test.editor.will_answer(answer(decision, said));
    }
    let calls = [
        bash("c1", "echo 1 > a"),
        bash("c2", "echo 2 > b"),
        bash("c3", "echo 3 > c"),
        bash("c4", "echo 3 > c"),
        bash("c5", "bash build.sh"),
        bash("c6", "bash build.sh"),
        call("c7", "read_file", serde_json::json!({ "path": "build.sh" })),
        say("Done."),
    ];
    let end = test.play(calls).await;
    let live: Vec<String> = (1..=7)
        .filter_map(|number| {
            let id = format!("c{number}");
            let notices = test.editor.notices();
            let last = notices.iter().rev().find_map(|notice| match notice {
                Notice::Tool(tool) if tool.call_id == id => Some(tool),
                _ => None,
            });
            let tool = last.expect("each call is told");
            Some(words(&id, tool.state, tool.decision.as_deref()?))
        })
        .collect();
    expect![[r#"
        c1 Done: AllowOnce by Answer –
        c2 Declined: Deny by Answer Not that one
        c3 Done: AllowSession by Answer –
        c4 Done: AllowSession by Session –
        c5 Done: AllowAlways by Answer Good
        c6 Done: AllowAlways by Rule –"#]]
    .assert_eq(&live.join("\n"));

    let test = test.restart().await;
    let session = open(&test.editor, &end.session_id).await;
    let stored = session.transcript.iter().filter_map(|entry| match entry {
        TranscriptEntry::Tool(tool) => {
            Some(words(&tool.call_id, tool.state, tool.decision.as_deref()?))
        }
        TranscriptEntry::Turn(_) | TranscriptEntry::Message(_) => None,
    });
    let again: Vec<String> = stored.collect();
    assert_eq!(again, live);

    let markdown = export(&test.editor, &end.session_id, ExportFormat::Markdown).await;
    let lines = markdown.lines().filter(|line| line.contains(" UTC)"));
    let lines: Vec<&str> = lines.map(|line| line.split_once(" (").unwrap().0).collect();
    expect![[r#"
        *`c1` was allowed once
        *`c2` was denied
        *`c3` was allowed for this session
        *`c4` was allowed earlier for this session
        *`c5` was always allowed
        *`c6` was allowed by a rule"#]]
    .assert_eq(&lines.join("\n"));
    assert!(
        markdown.contains("### User, with the answer\n\n```text\nNot that one\n```"),
        "{markdown}"
    );
    test.finish().await;
}
