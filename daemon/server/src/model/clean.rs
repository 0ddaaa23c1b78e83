//! Redaction of known keys in a model's answer, before it is shown, stored or run.
//!
//! Finds keys that are split over pieces of a stream. Text without a key stays unchanged.

use cairn_core::{
    conversation::{AssistantMessage, Block, ToolArguments},
    model::{Advice, ModelEvent, Reply, Stop},
    redact::{RedactedStream, Redactor},
};

use crate::secrets;

/// Redactor of one answer.
#[derive(Debug, Default)]
pub struct Cleaner {
    text: RedactedStream,
    thinking: RedactedStream,
}

impl Cleaner {
    /// Redacts an event. Returns the events to pass on, in order; text that may be the start of a key
    /// is held back.
    pub fn pass(&mut self, event: ModelEvent) -> Vec<ModelEvent> {
        let redactor = &*secrets::redactor();
        match event {
            ModelEvent::Text(piece) => text(self.text.push(redactor, &piece)),
            ModelEvent::Thinking(piece) => thinking(self.thinking.push(redactor, &piece)),
            ModelEvent::TextWasThinking => {
                let mut events = text(self.text.end(redactor));
                events.push(ModelEvent::TextWasThinking);
                events
            }
            ModelEvent::CallStarted { id, name } => vec![ModelEvent::CallStarted {
                id: redactor.text(&id).into_owned().into(),
                name: redactor.text(&name).into_owned(),
            }],
            ModelEvent::Finished(mut answer) => {
                reply(redactor, &mut answer);
                self.ended(redactor, ModelEvent::Finished(answer))
            }
            ModelEvent::Failed(mut failure) => {
                redactor.string(&mut failure.message);
                if let Some(Advice::EnterKey { owners, origin }) = &mut failure.advice {
                    redactor.string(owners);
                    redactor.string(origin);
                }
                self.ended(redactor, ModelEvent::Failed(failure))
            }
        }
    }

    /// Returns the text held back, and then the end.
    fn ended(&mut self, redactor: &Redactor, end: ModelEvent) -> Vec<ModelEvent> {
        let mut events = thinking(self.thinking.end(redactor));
        events.extend(text(self.text.end(redactor)));
        events.push(end);
        events
    }
}

fn text(piece: String) -> Vec<ModelEvent> {
    if piece.is_empty() { Vec::new() } else { vec![ModelEvent::Text(piece)] }
}

fn thinking(piece: String) -> Vec<ModelEvent> {
    if piece.is_empty() { Vec::new() } else { vec![ModelEvent::Thinking(piece)] }
}

fn reply(redactor: &Redactor, reply: &mut Reply) {
    if redactor.is_empty() {
        return;
    }
    let Reply { message: AssistantMessage { blocks }, stop, usage: _ } = reply;
    for block in blocks {
        match block {
            Block::Text(text) => redactor.string(text),
            Block::Thinking { text, signature } => {
                let before = text.len();
                redactor.string(text);
                // The signature covers the unredacted text.
                if text.len() != before {
                    *signature = None;
                }
            }
            // Encrypted data is opaque to everybody but the provider.
            Block::RedactedThinking(_) => {}
            Block::Returned { server: _, thinking, message, calls } => {
                redactor.string(thinking);
                redactor.json(message);
                redactor.json(calls);
            }
            Block::Reasoning { id: _, summary, sealed: _ } => {
                summary.iter_mut().for_each(|part| redactor.string(part));
            }
            Block::ToolCall(call) => {
                call.id = redactor.text(&call.id).into_owned().into();
                redactor.string(&mut call.name);
                match &mut call.arguments {
                    ToolArguments::Object(object) => redactor.json(object),
                    ToolArguments::Invalid { raw, error } => {
                        redactor.string(raw);
                        redactor.string(error);
                    }
                }
            }
        }
    }
    if let Stop::Other(reason) = stop {
        redactor.string(reason);
    }
}

#[cfg(test)]
mod tests {
    use cairn_core::{
        conversation::ToolCall,
        model::{Failure, FailureKind, Usage},
    };
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;

    const KEY: &str = "a-key-of-the-cleaner";

    #[test]
    fn a_key_is_removed_from_all_output_of_a_model() {
        secrets::register(&SecretString::from(KEY)).unwrap();
        let (first, second) = KEY.split_at(7);
        let call = ToolCall {
            id: "c".into(),
            name: "bash".into(),
            arguments: ToolArguments::Object(json!({ "command": format!("echo {KEY}") })),
        };
        let message = AssistantMessage {
            blocks: vec![
                Block::Thinking { text: format!("{KEY}."), signature: Some("of it".into()) },
                Block::Thinking { text: "none".into(), signature: Some("of it".into()) },
                Block::Reasoning {
                    id: "r".into(),
                    summary: vec![KEY.into()],
                    sealed: "sealed".into(),
                },
                Block::Text(format!("It is {KEY}")),
                Block::ToolCall(call),
            ],
        };
        let answer = Reply { message, stop: Stop::Other(KEY.into()), usage: Usage::default() };
        let mut cleaner = Cleaner::default();
        let mut said = Vec::new();
        for event in [
            ModelEvent::Thinking(KEY.into()),
            ModelEvent::Thinking(".".into()),
            ModelEvent::Text(format!("It is {first}")),
            ModelEvent::Text(second.into()),
            ModelEvent::Text(" a-ke".into()),
            ModelEvent::Finished(answer),
        ] {
            said.extend(cleaner.pass(event));
        }
        let (owners, origin) = (KEY.into(), KEY.into());
        let failure =
            Failure::new(FailureKind::Auth, KEY).advise(Advice::EnterKey { owners, origin });
        said.extend(cleaner.pass(ModelEvent::Failed(failure)));
        let shown: Vec<_> = said
            .iter()
            .map(|event| match event {
                ModelEvent::Text(text) => format!("text {text}"),
                ModelEvent::Thinking(text) => format!("thinking {text}"),
                other => format!("{other:?}"),
            })
            .collect();
        assert!(!shown.concat().contains(KEY), "{shown:#?}");
        assert_eq!(
            shown[..5],
            ["thinking [key]", "thinking .", "text It is ", "text [key]", "text  "]
        );
        assert_eq!(shown[5], "text a-ke");
        for part in [
            r#"text: "[key].", signature: None"#,
            r#"text: "none", signature: Some("of it")"#,
            r#"String("echo [key]")"#,
            r#"Text("It is [key]")"#,
        ] {
            assert!(shown[6].contains(part), "{part} in {}", shown[6]);
        }
    }
}
