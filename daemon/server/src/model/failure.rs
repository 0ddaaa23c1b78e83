//! Refusals of a server as `Failure`s: HTTP statuses, error bodies, errors inside a stream.
//!
//! Pure: the clock comes in as an argument. Reads the error formats of both APIs and of the
//! servers that only resemble them.

use std::time::{Duration, SystemTime};

use cairn_core::model::{Advice, Failure, FailureKind};
use httpdate::parse_http_date;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

mod overflow;

/// Failure for an answer with a status other than success.
pub(super) fn from_status(
    status: u16,
    headers: &HeaderMap,
    body: &str,
    now: SystemTime,
) -> Failure {
    let error = serde_json::from_str(body).ok().and_then(|body| WireError::find(&body));
    let (tags, message) = match error {
        Some(WireError { tags, message }) => (tags, message),
        None => (Vec::new(), describe_body(body)),
    };
    let mut kind = special_kind(&tags, &message, Some(status)).unwrap_or(status_kind(status));
    match header(headers, "x-should-retry") {
        Some("false") if kind.is_retryable() => kind = FailureKind::Rejected,
        Some("true") if kind == FailureKind::Rejected => kind = FailureKind::Server,
        Some(_) | None => {}
    }
    let text = format!("The model server answered {status}: {message}");
    let mut failure = Failure::new(kind, text).said(message, Some(status));
    failure.retry_after_ms = retry_after(headers, now).map(millis);
    match (kind, status) {
        (FailureKind::Rejected, 404) => failure.advise(Advice::CheckModelName),
        (FailureKind::Rejected, 300..=399) => failure.advise(Advice::UseFinalAddress),
        _ => failure,
    }
}

/// Failure for an error object in a stream; `None` if `value` holds none.
pub(super) fn from_stream(value: &Value) -> Option<Failure> {
    let WireError { tags, message } = WireError::find(value)?;
    let kind = special_kind(&tags, &message, None)
        .or_else(|| tags.iter().find_map(|tag| tag_kind(tag)))
        .unwrap_or(FailureKind::Server);
    let text = format!("The model server reported an error: {message}");
    Some(Failure::new(kind, text).said(message, None))
}

/// Failure that a server reported in a stream.
pub(super) fn reported(value: &Value) -> Failure {
    from_stream(value)
        .unwrap_or_else(|| Failure::new(FailureKind::Server, "The model server reported an error."))
}

struct WireError {
    /// Types and codes of the error, from all fields that hold them.
    tags: Vec<String>,
    message: String,
}

impl WireError {
    /// `{"error": {…}}`, `{"error": "text"}`, `{"object": "error", …}`, `{"detail": …}`, the bare
    /// `{"code", "message", "type"}`, and each of them in a list of one, as Gemini has it.
    fn find(value: &Value) -> Option<WireError> {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let object = match value.get("error") {
            Some(Value::Object(_)) => &value["error"],
            Some(Value::String(text)) => {
                return Some(WireError { tags: Vec::new(), message: text.clone() });
            }
            Some(_) | None => value,
        };
        let mut tags = Vec::new();
        for place in [object.get("code"), object.get("type"), object.pointer("/details/error_code")]
        {
            match place {
                Some(Value::String(tag)) => tags.push(tag.clone()),
                Some(Value::Number(code)) => tags.push(code.to_string()),
                Some(_) | None => {}
            }
        }
        let message = match (object.get("message"), value.get("detail")) {
            (Some(Value::String(message)), _) => message.clone(),
            (_, Some(Value::String(detail))) => detail.clone(),
            (_, Some(detail)) => detail.to_string(),
            (_, None) if !std::ptr::eq(object, value) => object.to_string(),
            (_, None) => return None,
        };
        // The message of llama.cpp does not always state the size of its window.
        let message = match object.get("n_ctx").and_then(Value::as_u64) {
            Some(tokens) => format!("{message} (n_ctx: {tokens})"),
            None => message,
        };
        Some(WireError { tags, message })
    }
}

fn describe_body(body: &str) -> String {
    let text = body.trim();
    match text {
        "" => "(no explanation)".to_owned(),
        _ if text.starts_with('<') => format!("an HTML page of {} bytes", body.len()),
        _ => text.to_owned(),
    }
}

/// Kind of failure that follows from tags and message; takes precedence over the status.
fn special_kind(tags: &[String], message: &str, status: Option<u16>) -> Option<FailureKind> {
    const QUOTA_TAGS: [&str; 3] =
        ["billing_error", "billing_hard_limit_reached", "insufficient_quota"];
    if tags.iter().any(|tag| QUOTA_TAGS.contains(&tag.as_str())) {
        // Sent with 429, but waiting does not help.
        return Some(FailureKind::Rejected);
    }
    if overflow::is_rate_limit(tags, message, status) {
        return Some(FailureKind::RateLimited);
    }
    overflow::is_too_long(tags, message, status).then_some(FailureKind::ContextOverflow)
}

fn status_kind(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Auth,
        408 => FailureKind::Timeout,
        413 => FailureKind::ContextOverflow,
        429 => FailureKind::RateLimited,
        409 | 500.. => FailureKind::Server,
        _ => FailureKind::Rejected,
    }
}

fn tag_kind(tag: &str) -> Option<FailureKind> {
    if let Ok(code) = tag.parse::<u16>() {
        return (code >= 400).then(|| status_kind(code));
    }
    match tag {
        "api_error"
        | "conflict_error"
        | "overloaded_error"
        | "server_error"
        | "internal_server_error"
        | "unavailable_error" => Some(FailureKind::Server),
        "rate_limit_error" | "rate_limit_exceeded" => Some(FailureKind::RateLimited),
        "timeout_error" => Some(FailureKind::Timeout),
        "authentication_error" | "permission_error" | "invalid_api_key" => Some(FailureKind::Auth),
        "invalid_request_error" | "invalid_prompt" | "not_found_error" => {
            Some(FailureKind::Rejected)
        }
        _ => None,
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let seconds = |text: &str| {
        text.trim().parse::<f64>().ok().and_then(|value| Duration::try_from_secs_f64(value).ok())
    };
    if let Some(wait) = header(headers, "retry-after-ms").and_then(seconds) {
        return Some(wait / 1000);
    }
    let text = header(headers, RETRY_AFTER.as_str())?;
    // A date in the past means no wait.
    seconds(text)
        .or_else(|| Some(parse_http_date(text).ok()?.duration_since(now).unwrap_or(Duration::ZERO)))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(status: u16, headers: &[(&'static str, &str)], body: &str, expect: Expect) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let failure = from_status(status, &map, body, now);
        expect.assert_eq(&format!(
            "{:?} {:?} | {}",
            failure.kind, failure.retry_after_ms, failure.message
        ));
    }

    #[test]
    fn a_status_and_a_body_give_a_failure() {
        check(
            429,
            &[("retry-after", "7")],
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
            expect!["RateLimited Some(7000) | The model server answered 429: slow down"],
        );
        check(
            429,
            &[("retry-after-ms", "250"), ("retry-after", "9")],
            "",
            expect!["RateLimited Some(250) | The model server answered 429: (no explanation)"],
        );
        check(
            529,
            &[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")],
            "{}",
            expect!["Server Some(60000) | The model server answered 529: {}"],
        );
        check(
            503,
            &[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")],
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            expect!["Server Some(0) | The model server answered 503: Loading model"],
        );
        check(
            503,
            &[("retry-after", "soon")],
            r#"{"error":"busy"}"#,
            expect!["Server None | The model server answered 503: busy"],
        );
        check(
            401,
            &[],
            r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            expect!["Auth None | The model server answered 401: bad key"],
        );
        check(
            400,
            &[],
            r#"{"error":{"code":400,"message":"too big","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":4}}"#,
            expect!["ContextOverflow None | The model server answered 400: too big (n_ctx: 4)"],
        );
        check(
            400,
            &[],
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}"#,
            expect![
                "ContextOverflow None | The model server answered 400: prompt is too long: 2 tokens > 1 maximum"
            ],
        );
        check(
            400,
            &[],
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            expect!["Rejected None | The model server answered 400: bad"],
        );
        check(
            422,
            &[],
            r#"{"detail":[{"loc":["max_tokens"]}]}"#,
            expect![[r#"Rejected None | The model server answered 422: [{"loc":["max_tokens"]}]"#]],
        );
        check(
            429,
            &[],
            r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            expect!["Rejected None | The model server answered 429: pay"],
        );
        check(
            500,
            &[("x-should-retry", "false")],
            "",
            expect!["Rejected None | The model server answered 500: (no explanation)"],
        );
        check(
            400,
            &[("x-should-retry", "true")],
            "",
            expect!["Server None | The model server answered 400: (no explanation)"],
        );
        check(
            502,
            &[],
            "<html>bad gateway</html>",
            expect!["Server None | The model server answered 502: an HTML page of 24 bytes"],
        );
        check(
            302,
            &[],
            "",
            expect!["Rejected None | The model server answered 302: (no explanation)"],
        );
    }

    #[test]
    fn an_error_in_a_stream_gives_a_failure() {
        let kind = |value| from_stream(&value).map(|failure| failure.kind);
        assert_eq!(
            kind(json!({"type":"error","error":{"type":"overloaded_error","message":"x"}})),
            Some(FailureKind::Server)
        );
        assert_eq!(
            kind(json!({"code":500,"message":"x","type":"server_error"})),
            Some(FailureKind::Server)
        );
        assert_eq!(
            kind(json!({"error":{"code":429,"message":"x"}})),
            Some(FailureKind::RateLimited)
        );
        assert_eq!(
            kind(json!({"error":{"type":"authentication_error","message":"x"}})),
            Some(FailureKind::Auth)
        );
        assert_eq!(
            kind(json!({"error":{"code":"context_length_exceeded","message":"x"}})),
            Some(FailureKind::ContextOverflow)
        );
        assert_eq!(kind(json!({"error":{"odd":1}})), Some(FailureKind::Server));
        assert_eq!(kind(json!({"error":null,"choices":[]})), None);
    }
}
