use cairn_core::conversation::{AssistantMessage, Block, ToolCall};
use cairn_core::{conversation::Item, conversation::ToolArguments, turn::Record};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::replay::Script;

fn said(blocks: Vec<Block>) -> Line {
    Line::Step(Record::Item(Item::Assistant(AssistantMessage { blocks })))
}

fn script(lines: Vec<Line>) -> Value {
    let (mut form, mut out) = (replay::Replay::default(), Vec::new());
    for line in lines {
        form.line(line, &mut out).unwrap();
    }
    form.end(0, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    Script::parse(&text, "an export").unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_exported_script_is_valid() {
    assert_eq!(script(vec![])["steps"], json!([]));
    let call = |arguments| {
        let (id, name) = ("c1".into(), "bash".into());
        Block::ToolCall(ToolCall { id, name, arguments })
    };
    let invalid = ToolArguments::Invalid { raw: "{".into(), error: "…".into() };
    let thinking = Block::Thinking { text: "Hm.".into(), signature: Some("s".into()) };
    let results = Item::ToolResults { results: vec![], notes: vec![] };
    let lines = vec![
        said(vec![
            thinking,
            Block::Text("I look.".into()),
            call(ToolArguments::Object(json!({"command": "ls"}))),
        ]),
        Line::Steps(vec![Record::Item(results)]),
        said(vec![call(invalid)]),
        said(vec![Block::RedactedThinking("…".into())]),
    ];
    assert_eq!(
        script(lines)["steps"],
        json!([
            { "thinking": "Hm.", "text": "I look.", "calls": [{ "name": "bash", "arguments": { "command": "ls" } }] },
            { "calls": [{ "name": "bash", "arguments": {} }], "stop": "pause" },
            {},
        ])
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No text can close its fence early.
    #[test]
    fn no_text_closes_its_fence(text in "[`~\n a<!\\[\u{202e}\u{1b}]{0,60}") {
        let fenced = markdown::fenced("text", &text);
        let lines: Vec<&str> = fenced.lines().collect();
        let fence = lines.last().unwrap();
        prop_assert!(fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'));
        prop_assert_eq!(lines[0], format!("{fence}text"));
        for line in &lines[1..lines.len() - 1] {
            prop_assert!(!line.trim_start().starts_with(fence), "{}", fenced);
        }
        let obeyed = fenced.contains(['\u{202e}', '\u{1b}']);
        prop_assert!(!obeyed);
    }
}
