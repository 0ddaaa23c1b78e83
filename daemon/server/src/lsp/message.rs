//! Parser from a message body to a typed JSON-RPC message, or to the error that answers it.
//!
//! Repairs invalid UTF-8 and lone surrogate escapes, which real editors send. Rejects every message
//! whose id could not be answered.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request(Request),
    Response(Response),
    /// Answer to a rejected message.
    Refused(Response),
}

/// Reads a message.
pub(super) fn parse(body: &[u8]) -> Incoming {
    let refuse = |id, code, why: String| Incoming::Refused(refusal(id, code, why));
    let invalid = |id, why: &str| refuse(id, ErrorCode::InvalidRequest, why.to_owned());
    let mut message = match parse_json(body) {
        Ok(message) => message,
        Err(error) => return refuse(Id::Null, ErrorCode::ParseError, format!("not JSON: {error}")),
    };
    let is_request = message.get("method").is_some();
    match message.get("id").map(Id::deserialize).transpose() {
        // One with the id null answers a message whose id was unreadable. No request waits for it.
        Ok(Some(id)) if !is_request => {
            Incoming::Response(Response::from_parts(id, outcome(&mut message)))
        }
        Ok(None) if !is_request => invalid(Id::Null, "a message has a `method` or an `id`"),
        Ok(Some(Id::Null)) | Err(_) => invalid(Id::Null, "an id is a string or a 64-bit integer"),
        Ok(id) => match serde_json::from_value(message) {
            Ok(request) => Incoming::Request(request),
            Err(error) => invalid(id.unwrap_or(Id::Null), &error.to_string()),
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
fn outcome(message: &mut Value) -> Result<Value, Error> {
    match message.get("error").filter(|error| !error.is_null()) {
        None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
        Some(error) => Err(Error {
            code: error.get("code").and_then(Value::as_i64).unwrap_or(-32603).into(),
            message: match error.get("message").unwrap_or(error).as_str() {
                Some(reason) => reason.to_owned().into(),
                None => "the client gave no reason".into(),
            },
            data: error.get("data").cloned(),
        }),
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
            Incoming::Request(request) => format!("request {request}"),
            Incoming::Response(response) => {
                format!("response {}", serde_json::to_string(&response).unwrap())
            }
            Incoming::Refused(refused) => {
                let (id, error) = refused.into_parts();
                let error = error.unwrap_err();
                format!("refused {id} {} {}", error.code, error.message)
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
        check("1", expect!["refused null -32600 a message has a `method` or an `id`"]);
        check("[]", expect!["refused null -32600 a message has a `method` or an `id`"]);
        for id in ["1.5", "[1]", "{}", "true", "18446744073709551615", "null"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
            check(body, expect!["refused null -32600 an id is a string or a 64-bit integer"]);
        }
        check(r#"{"id":7,"method":"a"}"#, expect!["refused 7 -32600 missing field `jsonrpc`"]);
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":1}"#,
            expect!["refused 7 -32600 invalid type: integer `1`, expected a string"],
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
            let Incoming::Request(request) = parse(body.as_bytes()) else { panic!("{body}") };
            expect.assert_eq(request.method());
        }
    }
}
