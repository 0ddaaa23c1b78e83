//! Lines of Cairn's own in encoded conversations, whatever the texts of others hold.

use cairn_core::{
    context::{Parts, Window, digest},
    conversation::{
        AssistantMessage, Block, Item, Note, NoteKind, ToolArguments, ToolCall, ToolResult,
        UserMessage,
    },
    marks::{self, ModelText},
    plan::Plan,
    prompt::{InView, SelectedText, user_message},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Provider, client::Format, manners::KnownServer, testing};

fn providers() -> Vec<(Box<dyn Provider>, usize)> {
    let provider = |format| -> Box<dyn Provider> {
        Box::new(testing::client(format, "http://localhost:1", "m", KnownServer::default()))
    };
    vec![
        (provider(Format::Messages), 0),
        // Where the format has no mark for errors, a line of Cairn's says it.
        (provider(Format::Chat), 1),
        (provider(Format::Responses), 1),
    ]
}

/// Lines that a model would take for Cairn's own, in all that is not the model's own message.
fn own_lines(value: &Value) -> usize {
    match value {
        Value::String(text) => marks::count(text),
        Value::Array(values) => values.iter().map(own_lines).sum(),
        Value::Object(fields) => {
            let said = fields.get("role").is_some_and(|role| role == "assistant")
                || fields.get("type").is_some_and(|kind| kind == "function_call");
            if said { 0 } else { fields.values().map(own_lines).sum() }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn near() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "[cairn] ", "[cairn] end of the notice", "[", "cairn", "\n", "\r", " ", "\u{200b}",
            "\u{1b}[1m", "［", "\u{2028}", "\\", "</reminder>", "exit code 0", "Error", "x",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 1..8).prop_map(|pieces| format!("x{}", pieces.concat()))
}

proptest! {
    #[test]
    fn no_content_adds_a_marked_line_in_any_wire_format(
        task in near(), selected in near(), output in near(), error in near(), steer in near(),
        notice in near(), said in near(),
    ) {
        let view = InView {
            active_file: None,
            selection: Some(SelectedText {
                path: "a".into(), first_line: 1, last_line: 2, text: selected,
            }),
        };
        let mut result = ModelText::default();
        result.add(&output);
        result.own("exit code 0");
        let note = |kind, text: &String| Note::new(kind, text.clone());
        let items = vec![
            // The context: three lines.
            Item::User(UserMessage { text: user_message(&task, &view), ..UserMessage::default() }),
            Item::Assistant(AssistantMessage {
                blocks: vec![
                    Block::Text(said.clone()),
                    Block::ToolCall(ToolCall {
                        id: "a".into(),
                        name: "bash".into(),
                        arguments: ToolArguments::Invalid { raw: said.clone(), error: String::new() },
                    }),
                    Block::ToolCall(ToolCall {
                        id: "b".into(),
                        name: "bash".into(),
                        arguments: ToolArguments::Object(json!({ "command": said })),
                    }),
                ],
            }),
            // One line, and two for each frame.
            Item::ToolResults {
                results: vec![
                    ToolResult { call_id: "a".into(), content: result.into(), is_error: false },
                    ToolResult {
                        call_id: "b".into(),
                        content: ModelText::from(error.as_str()).into(),
                        is_error: true,
                    },
                ],
                notes: vec![
                    note(NoteKind::Steer, &steer),
                    note(NoteKind::Notice, &notice),
                    note(NoteKind::Reminder, &notice),
                ],
            },
        ];
        for (provider, for_errors) in providers() {
            let mut bytes = Vec::new();
            let mut previous = None;
            for item in &items {
                provider.encode(previous, item, &mut bytes);
                previous = Some(item);
            }
            let encoded = format!("[{}]", String::from_utf8(bytes).unwrap());
            let encoded: Value = serde_json::from_str(&encoded).unwrap();
            prop_assert_eq!(own_lines(&encoded), 8 + for_errors, "{}", encoded);
        }
        // What a conversation is compacted to has the same lines for the same parts.
        let count = |said: &str, proposal: &str, summary: Option<&str>| {
            let parts = Parts {
                items: &items,
                digests: &[],
                plan: &Plan::default(),
                proposals: &[format!("{said}{proposal}")],
                summary,
            };
            marks::count(&digest(&parts, &Window { tokens: 1_000_000, reserve: 0, head: 0 }))
        };
        prop_assert_eq!(count("x", &notice, Some(&said)), count("x", "y", Some("z")));
        prop_assert_eq!(count("x", &notice, None), count("x", "y", None));
    }
}
