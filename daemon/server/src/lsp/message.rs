//! Parser from a message body to a typed JSON-RPC message, or to the error that answers it.
//!
//! Repairs invalid UTF-8 and lone surrogate escapes, which real editors send. Rejects every message
//! whose id could not be answered.

use std::borrow::Cow;

use serde_json::{Map, Value};
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request(Request),
    Response(Response),
}

/// Rejected message, with the data of the error that answers it.
#[derive(Debug, PartialEq)]
pub(super) struct RefusedMessage {
    id: Id,
    code: ErrorCode,
    why: String,
}

impl RefusedMessage {
    pub(super) fn reply(self) -> Response {
        refusal(self.id, self.code, self.why)
    }
}

pub(super) fn parse(body: &[u8]) -> Result<Incoming, RefusedMessage> {
    let value = parse_json(body).map_err(|error| RefusedMessage {
        id: Id::Null,
        code: ErrorCode::ParseError,
        why: format!("not JSON: {error}"),
    })?;
    let refuse =
        |id, why: &str| RefusedMessage { id, code: ErrorCode::InvalidRequest, why: why.to_owned() };
    let Value::Object(mut message) = value else {
        let why = match value {
            Value::Array(_) => "batches are not part of LSP: send one message a frame",
            _ => "a message is an object",
        };
        return Err(refuse(Id::Null, why));
    };
    let id = match message.remove("id") {
        None => None,
        Some(Value::String(id)) => Some(Id::String(id)),
        Some(Value::Number(id)) => match id.as_i64() {
            Some(id) => Some(Id::Number(id)),
            None => return Err(refuse(Id::Null, "an id is a string or a 64-bit integer")),
        },
        // Answer to a message whose id was unreadable. No request waits for it.
        Some(Value::Null) if !message.contains_key("method") => Some(Id::Null),
        Some(_) => return Err(refuse(Id::Null, "an id is a string or a 64-bit integer")),
    };
    let reply_to = id.clone().unwrap_or(Id::Null);
    if message.get("jsonrpc") != Some(&Value::from("2.0")) {
        return Err(refuse(reply_to, "`jsonrpc` must be \"2.0\""));
    }
    match message.remove("method") {
        Some(Value::String(method)) => {
            let mut request = Request::build(method);
            if let Some(params) = message.remove("params") {
                request = request.params(params);
            }
            if let Some(id) = id {
                request = request.id(id);
            }
            Ok(Incoming::Request(request.finish()))
        }
        Some(_) => Err(refuse(reply_to, "`method` must be a string")),
        None => match id {
            Some(id) => Ok(Incoming::Response(Response::from_parts(id, outcome(message)))),
            None => Err(refuse(reply_to, "a message has a `method` or an `id`")),
        },
    }
}

/// Builds an error response.
pub(super) fn refusal(id: Id, code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Response {
    Response::from_error(id, Error { code, message: message.into(), data: None })
}

/// Reads the outcome of a response leniently. Some clients send `error: null` besides the result,
/// extra members, an error that is not an object, or neither of both. Every case answers the
/// request, because an open one would block its turn.
fn outcome(mut message: Map<String, Value>) -> Result<Value, Error> {
    let failed = |code, message: String, data| {
        Err(Error { code: ErrorCode::from(code), message: message.into(), data })
    };
    let no_reason = || "the client gave no reason".to_owned();
    match message.remove("error") {
        None | Some(Value::Null) => Ok(message.remove("result").unwrap_or_default()),
        Some(Value::Object(mut error)) => {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(-32603);
            match error.remove("message") {
                Some(Value::String(message)) => failed(code, message, error.remove("data")),
                _ => failed(code, no_reason(), error.remove("data")),
            }
        }
        Some(Value::String(message)) => failed(-32603, message, None),
        Some(_) => failed(-32603, no_reason(), None),
    }
}

fn parse_json(body: &[u8]) -> serde_json::Result<Value> {
    // Repair only what failed to parse: almost every body is valid.
    serde_json::from_slice(body).or_else(|error| {
        let text = String::from_utf8_lossy(body);
        let repaired = repair_surrogates(&text);
        match (&text, &repaired) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => Err(error),
            _ => serde_json::from_str(&repaired),
        }
    })
}

/// Replaces `\ud800`-style escapes that have no partner by `\ufffd`.
fn repair_surrogates(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(backslash) = text[at..].find('\\').map(|found| at + found) {
        // An escape is a backslash and one character; `\u` takes four digits more.
        let Some(unit) = escaped_unit(text, backslash) else {
            let escaped = text[backslash + 1..].chars().next();
            at = backslash + 1 + escaped.map_or(0, char::len_utf8);
            continue;
        };
        at = backslash + 6;
        match unit {
            0xd800..=0xdbff if matches!(escaped_unit(text, at), Some(0xdc00..=0xdfff)) => at += 6,
            0xd800..=0xdfff => {
                repaired.push_str(&text[copied..backslash]);
                repaired.push_str("\\ufffd");
                copied = at;
            }
            _ => {}
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(&text[copied..]);
    Cow::Owned(repaired)
}

/// Returns the code unit of the escape (a backslash, `u`, four hex digits) that begins at `at`.
fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(body: impl AsRef<[u8]>, expect: Expect) {
        let seen = match parse(body.as_ref()) {
            Ok(Incoming::Request(request)) => format!("request {request}"),
            Ok(Incoming::Response(response)) => {
                format!("response {}", serde_json::to_string(&response).unwrap())
            }
            Err(refused) => {
                let RefusedMessage { id, code, why } = refused;
                format!("refused {id} {code} {why}")
            }
        };
        expect.assert_eq(&seen);
    }

    #[test]
    fn requests_notifications_and_responses_are_distinguished() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1},"extra":0}"#,
            expect![[r#"request {"jsonrpc":"2.0","method":"a","params":{"x":1},"id":1}"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","method":"a"}"#,
            expect![[r#"request {"jsonrpc":"2.0","method":"a"}"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":"x","result":null,"error":null}"#,
            expect![[r#"response {"jsonrpc":"2.0","result":null,"id":"x"}"#]],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","stack":"s"}}"#,
            expect![[r#"response {"jsonrpc":"2.0","error":{"code":-1,"message":"no"},"id":1}"#]],
        );
        for (members, expect) in [
            ("", expect![[r#"response {"jsonrpc":"2.0","result":null,"id":1}"#]]),
            (r#","error":null"#, expect![[r#"response {"jsonrpc":"2.0","result":null,"id":1}"#]]),
            (
                r#","error":"quit""#,
                expect![[
                    r#"response {"jsonrpc":"2.0","error":{"code":-32603,"message":"quit"},"id":1}"#
                ]],
            ),
            (
                r#","error":{"code":32603}"#,
                expect![[
                    r#"response {"jsonrpc":"2.0","error":{"code":32603,"message":"the client gave no reason"},"id":1}"#
                ]],
            ),
        ] {
            check(format!(r#"{{"jsonrpc":"2.0","id":1{members}}}"#), expect);
        }
    }

    #[test]
    fn invalid_messages_are_refused() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(
            deep,
            expect!["refused null -32700 not JSON: recursion limit exceeded at line 1 column 128"],
        );
        check(
            "{",
            expect!["refused null -32700 not JSON: EOF while parsing an object at line 1 column 1"],
        );
        check(
            "",
            expect!["refused null -32700 not JSON: EOF while parsing a value at line 1 column 0"],
        );
        check("1", expect!["refused null -32600 a message is an object"]);
        check(
            "[]",
            expect!["refused null -32600 batches are not part of LSP: send one message a frame"],
        );
        for id in ["1.5", "[1]", "{}", "true", "18446744073709551615", "null"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
            check(body, expect!["refused null -32600 an id is a string or a 64-bit integer"]);
        }
        check(r#"{"id":7,"method":"a"}"#, expect![[r#"refused 7 -32600 `jsonrpc` must be "2.0""#]]);
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":1}"#,
            expect!["refused 7 -32600 `method` must be a string"],
        );
        check(
            r#"{"jsonrpc":"2.0"}"#,
            expect!["refused null -32600 a message has a `method` or an `id`"],
        );
    }

    #[test]
    fn broken_text_is_repaired() {
        check(
            b"{\"jsonrpc\":\"2.0\",\"method\":\"caf\xe9\"}",
            expect![[r#"request {"jsonrpc":"2.0","method":"caf�"}"#]],
        );
        for (escapes, expect) in [
            (r"\ud800", expect!["\u{fffd}"]),
            (r"\udc00 \uD83D", expect!["\u{fffd} \u{fffd}"]),
            (r"\ud83d\ude00", expect!["😀"]),
            (r"\ud83d\ud83d\ude00", expect!["\u{fffd}😀"]),
            (r"\ud800\\ud800", expect!["\u{fffd}\\ud800"]),
            (r"\ud800é\n", expect!["\u{fffd}é\n"]),
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"{escapes}"}}"#);
            let Ok(Incoming::Request(request)) = parse(body.as_bytes()) else { panic!("{body}") };
            expect.assert_eq(request.method());
        }
    }
}
