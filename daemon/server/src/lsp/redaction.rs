//! Messages to the client, built without the known keys.
//!
//! Every notification and request of the daemon begins here. `ingress` does the same for results.

use cairn_protocol::{ApplyEdit, RequestMethod};
use serde_json::Value;
use tower_lsp::jsonrpc::{Request, RequestBuilder};

use crate::secrets;

pub(super) const APPLY_EDIT: &str = "workspace/applyEdit";

/// Begins a message. Only edits keep their text, which is the user's own.
pub(super) fn message(method: &'static str, mut params: Value) -> RequestBuilder {
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
