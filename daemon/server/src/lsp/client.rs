//! The daemon's own messages to the client, without the known keys, and the client's answers to them.
//!
//! Every notification and request of the daemon begins here. `ingress` does the same for results.

use std::{collections::HashMap, sync::Arc};

use cairn_protocol::{ApplyEdit, RequestMethod};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Id, Request, RequestBuilder, Response, Result};

use super::transport::{MessageWriter, encode};
use crate::secrets;

pub(super) const APPLY_EDIT: &str = "workspace/applyEdit";

/// Gets the client's answer to a request.
pub(super) type AnswerSender = oneshot::Sender<Result<Value>>;

#[derive(Clone)]
pub(super) struct LspClient {
    writer: MessageWriter,
    asked: Arc<Mutex<Asked>>,
}

#[derive(Default)]
struct Asked {
    next: i64,
    waiting: HashMap<i64, AnswerSender>,
}

impl LspClient {
    pub(super) fn new(writer: MessageWriter) -> Self {
        Self { writer, asked: Arc::default() }
    }

    /// Sends a notification. Waits while too much output is unread.
    pub(super) async fn notify(&self, method: &'static str, params: Value) {
        self.writer.send(encode(&message(method, params).finish())).await;
    }

    /// Sends a request, whose answer is passed on when it comes.
    pub(super) async fn ask(&self, method: &'static str, params: Value, answered: AnswerSender) {
        let id = {
            let mut asked = self.asked.lock();
            let id = asked.next;
            asked.next += 1;
            // The client never answered these, and who asked has stopped waiting.
            asked.waiting.retain(|_, waits| !waits.is_closed());
            asked.waiting.insert(id, answered);
            id
        };
        self.writer.send(encode(&message(method, params).id(id).finish())).await;
    }

    /// Takes an answer of the client. One that nobody waits for is dropped.
    pub(super) fn answered(&self, response: Response) {
        if let (Id::Number(id), outcome) = response.into_parts() {
            let mut asked = self.asked.lock();
            let waits = asked.waiting.remove(&id);
            let _ = waits.map(|waits| waits.send(outcome));
        }
    }
}

/// Begins a message. Only edits keep their text, which is the user's own.
fn message(method: &'static str, mut params: Value) -> RequestBuilder {
    if !matches!(method, ApplyEdit::METHOD | APPLY_EDIT) {
        secrets::clean_json(&mut params);
    }
    let message = Request::build(method);
    // Absent params differ from null params.
    if params.is_null() { message } else { message.params(params) }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_has_no_key_unless_it_is_an_edit() {
        const KEY: &str = "a-key-of-the-redaction";
        secrets::register(&SecretString::from(KEY)).unwrap();
        for (method, has_key) in [
            ("agent/plan", false),
            ("window/showMessageRequest", false),
            ("$/progress", false),
            (ApplyEdit::METHOD, true),
            (APPLY_EDIT, true),
        ] {
            let message = message(method, json!({ "text": [KEY] })).finish();
            assert_eq!(message.to_string().contains(KEY), has_key, "{method}");
        }
        assert_eq!(message("shutdown", Value::Null).finish().params(), None);
    }
}
