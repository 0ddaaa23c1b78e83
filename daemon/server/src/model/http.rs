//! One streaming request: the HTTP client, where it may connect to, and the bytes of an answer.
//!
//! Never follows a redirect, never sends a key over plain HTTP beyond this machine, never lets
//! the key into a message, and never takes an ended connection for a finished answer. Building
//! the client costs time and memory, so it waits for the first request.

use std::{
    convert::Infallible,
    error::Error as _,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use cairn_core::model::{Failure, FailureKind, ModelEvent};
use futures_util::stream;
use reqwest::{
    Body, Client, Response, Url,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::{sync::mpsc, time::timeout};

use super::{
    encoding::{Decoder, protocol, stream_cut},
    failure,
    sse::Reader,
};

/// How long to wait for a server.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub connect: Duration,
    /// Without any byte; a server that thinks sends pings.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(300) }
    }
}

/// After a complete message only usage can follow; some servers then keep the connection open.
const TRAILER_PATIENCE: Duration = Duration::from_secs(5);
/// After the last event comes the end of the body; a server that holds it back is left.
const REST_PATIENCE: Duration = Duration::from_secs(1);
/// Of an answer that is not a stream: enough to explain itself.
const MAX_ERROR_BODY: usize = 64 * 1024;
const MAX_ANSWER: usize = 64 * 1024 * 1024;
const MAX_MESSAGE_CHARS: usize = 600;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    #[error("the base URL {0:?} is not a URL")]
    NotAUrl(String),
    #[error("the base URL must begin with https:// (http:// only for this machine)")]
    NotSecure,
    #[error("the base URL must not hold a user name, a password, a query or a fragment")]
    Extras,
}

/// Where a provider's API is: https anywhere, http only on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        // The text may hold a password where the URL does not parse: show no more than its start.
        let url = Url::parse(text.trim())
            .map_err(|_| BaseUrlError::NotAUrl(text.trim().chars().take(12).collect()))?;
        if !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err(BaseUrlError::Extras);
        }
        let base = Self(url);
        match base.0.scheme() {
            "https" => Ok(base),
            "http" if base.is_loopback() => Ok(base),
            _ => Err(BaseUrlError::NotSecure),
        }
    }

    pub fn is_loopback(&self) -> bool {
        let Some(host) = self.0.host_str() else { return false };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Scheme, host and port: what a key is for.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The path without slashes at its ends.
    pub(super) fn path(&self) -> &str {
        self.0.path().trim_matches('/')
    }

    /// Appends to the path.
    pub(super) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{path}", self.0.path().trim_end_matches('/')));
        url
    }
}

/// One endpoint with its client and key.
#[derive(Debug)]
pub(super) struct Endpoint {
    url: Url,
    loopback: bool,
    key: Option<SecretString>,
    patience: Patience,
    client: OnceLock<Client>,
}

/// How the key goes into the request.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyHeader {
    XApiKey,
    Bearer,
}

impl Endpoint {
    pub(super) fn new(
        base: &BaseUrl,
        path: &str,
        key: Option<SecretString>,
        patience: Patience,
    ) -> Self {
        Self {
            url: base.join(path),
            loopback: base.is_loopback(),
            key: key.map(trimmed).filter(|key| !key.expose_secret().is_empty()),
            patience,
            client: OnceLock::new(),
        }
    }

    /// Sends the body and reports the answer as the decoder reads it: exactly one `Finished` or
    /// `Failed`, unless the receiver is gone.
    pub(super) async fn exchange(
        self: Arc<Self>,
        key_header: KeyHeader,
        headers: HeaderMap,
        body: Vec<Bytes>,
        decoder: impl Decoder,
        events: mpsc::Sender<ModelEvent>,
    ) {
        let outcome = match self.send(key_header, headers, body).await {
            Ok(response) => self.read(response, decoder, &events).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = outcome {
            // A receiver that is gone does not want to know.
            let _ = events.send(ModelEvent::Failed(self.tidy(failure))).await;
        }
    }

    async fn send(
        &self,
        key_header: KeyHeader,
        mut headers: HeaderMap,
        body: Vec<Bytes>,
    ) -> Result<Response, Failure> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            let (name, value) = key_value(key, key_header)?;
            headers.insert(name, value);
        }
        // A stream has no length of its own, and servers do not like to be left without.
        let length: usize = body.iter().map(Bytes::len).sum();
        headers.insert(CONTENT_LENGTH, length.into());
        let body = Body::wrap_stream(stream::iter(body.into_iter().map(Ok::<_, Infallible>)));
        let request = self.client()?.post(self.url.clone()).headers(headers).body(body).send();
        match timeout(self.patience.idle, request).await {
            Ok(Ok(response)) if response.status().is_success() => Ok(response),
            Ok(Ok(response)) => Err(self.refusal(response).await),
            Ok(Err(error)) => Err(self.no_connection(&error)),
            Err(_) => Err(self.timed_out()),
        }
    }

    async fn read(
        &self,
        mut response: Response,
        mut decoder: impl Decoder,
        events: &mpsc::Sender<ModelEvent>,
    ) -> Result<(), Failure> {
        let content_type = content_type(response.headers());
        if !matches!(content_type.as_str(), "text/event-stream" | "") {
            return Err(self.not_a_stream(response, &content_type).await);
        }
        let mut reader = Reader::default();
        let mut pending = Vec::new();
        let mut size = 0_usize;
        let mut any_event = false;
        loop {
            let wait = match decoder.settled() {
                true => TRAILER_PATIENCE.min(self.patience.idle),
                false => self.patience.idle,
            };
            // A complete message stays complete, however its connection ends.
            let chunk = match timeout(wait, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Err(error)) if !decoder.settled() => {
                    return Err(stream_cut(&reason(&error)));
                }
                Err(_) if !decoder.settled() => return Err(self.timed_out()),
                Ok(Ok(None)) if !any_event => {
                    return Err(protocol(format!(
                        "the answer has no event ({}, {size} bytes)",
                        shown(&content_type)
                    )));
                }
                Ok(Ok(None) | Err(_)) | Err(_) => {
                    return forward(decoder.end(), events).await.map(|_| ());
                }
            };
            size += chunk.len();
            if size > MAX_ANSWER {
                return Err(protocol(format!("the answer is larger than {MAX_ANSWER} bytes")));
            }
            let read = reader.push(&chunk, &mut pending);
            for event in pending.drain(..) {
                any_event = true;
                match forward(decoder.push(&event), events).await.map_err(broken)? {
                    Flow::Go => {}
                    Flow::Over => {
                        // It holds the conversation, which the next round wants for itself.
                        drop(decoder);
                        self.finish(response).await;
                        return Ok(());
                    }
                }
            }
            if let Err(error) = read {
                return Err(broken(protocol(error.to_string())));
            }
        }
    }

    /// Reads the end of an answer that was passed on already: a connection with unread bytes is
    /// closed, and the next round would have to make a new one.
    async fn finish(&self, mut response: Response) {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        let _ = timeout(REST_PATIENCE.min(self.patience.idle), rest).await;
    }

    fn client(&self) -> Result<&Client, Failure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // An error only says that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("cairn/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(self.patience.connect)
            .pool_idle_timeout(Duration::from_secs(60))
            .pool_max_idle_per_host(1);
        if self.loopback {
            builder = builder.no_proxy();
        }
        if self.url.scheme() == "http" {
            // Spares reading the system's certificates, which a local server does not need.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| Failure {
            kind: FailureKind::Unusable,
            message: format!("The HTTP client cannot start: {}", reason(&error)),
            hint: "Check the system's certificates and proxy settings.".to_owned(),
            retry_after_ms: None,
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let (body, _) = self.small_body(response).await;
        let body = self.redact(&String::from_utf8_lossy(&body));
        failure::from_status(status, &headers, &body, SystemTime::now())
    }

    async fn not_a_stream(&self, response: Response, content_type: &str) -> Failure {
        let (body, complete) = self.small_body(response).await;
        let error = serde_json::from_slice(&body).ok();
        error.as_ref().and_then(failure::from_stream).unwrap_or_else(|| {
            let more = if complete { "" } else { " or more" };
            let mut failure = protocol(format!(
                "expected text/event-stream, got {} of {}{more} bytes",
                shown(content_type),
                body.len()
            ));
            failure.hint = "Check the setting `cairn.model.baseUrl`.".to_owned();
            failure
        })
    }

    /// The start of a body, and whether that is all of it.
    async fn small_body(&self, mut response: Response) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        while body.len() < MAX_ERROR_BODY {
            match timeout(self.patience.idle.min(self.patience.connect), response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => return (body, true),
                Ok(Err(_)) | Err(_) => return (body, false),
            }
        }
        (body, false)
    }

    fn no_connection(&self, error: &reqwest::Error) -> Failure {
        let host = self.url.host_str().unwrap_or_default();
        let hint = match self.loopback {
            true => "Is the local model server running? Check the setting `cairn.model.baseUrl`.",
            false => failure::hint(FailureKind::Connect),
        };
        Failure {
            kind: FailureKind::Connect,
            message: format!("No connection to the model server {host}: {}", reason(error)),
            hint: hint.to_owned(),
            retry_after_ms: None,
        }
    }

    fn timed_out(&self) -> Failure {
        Failure {
            kind: FailureKind::Timeout,
            message: format!(
                "The model server sent nothing for {} seconds.",
                self.patience.idle.as_secs_f32()
            ),
            hint: String::new(),
            retry_after_ms: None,
        }
    }

    /// Every failure passes here on its way out: no key, no control characters, bounded. The key
    /// goes first, for a cut could leave a part of it.
    fn tidy(&self, mut failure: Failure) -> Failure {
        let mut message: String = self
            .redact(&failure.message)
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
            message.truncate(end);
            message.push('…');
        }
        failure.message = message;
        failure
    }

    fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.expose_secret(), "[redacted]"),
            None => text.to_owned(),
        }
    }
}

enum Flow {
    Go,
    Over,
}

/// What is no event in a stream of events is a fault on the way, and is met like a cut; a server
/// that speaks another format sends no such stream.
fn broken(failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::Protocol => Failure { kind: FailureKind::StreamCut, ..failure },
        _ => failure,
    }
}

/// Passes events on. A `Failed` comes back as an error, so that it takes the one way out.
async fn forward(
    decoded: Vec<ModelEvent>,
    events: &mpsc::Sender<ModelEvent>,
) -> Result<Flow, Failure> {
    for event in decoded {
        let over = match event {
            ModelEvent::Failed(failure) => return Err(failure),
            ModelEvent::Finished(_) => true,
            ModelEvent::Text(_) | ModelEvent::Thinking(_) | ModelEvent::CallStarted { .. } => false,
        };
        if events.send(event).await.is_err() || over {
            return Ok(Flow::Over);
        }
    }
    Ok(Flow::Go)
}

/// A pasted key often ends with a line feed.
fn trimmed(key: SecretString) -> SecretString {
    SecretString::from(key.expose_secret().trim())
}

fn key_value(key: &SecretString, header: KeyHeader) -> Result<(HeaderName, HeaderValue), Failure> {
    let (name, value) = match header {
        KeyHeader::XApiKey => {
            (HeaderName::from_static("x-api-key"), key.expose_secret().to_owned())
        }
        KeyHeader::Bearer => {
            (reqwest::header::AUTHORIZATION, format!("Bearer {}", key.expose_secret()))
        }
    };
    let mut value = HeaderValue::try_from(value).map_err(|_| Failure {
        kind: FailureKind::Auth,
        message: "The API key holds characters that cannot be sent.".to_owned(),
        hint: failure::hint(FailureKind::Auth).to_owned(),
        retry_after_ms: None,
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn shown(content_type: &str) -> &str {
    if content_type.is_empty() { "no content type" } else { content_type }
}

/// The innermost cause, which is the one that tells: `connection refused`, `unknown issuer`.
fn reason(error: &reqwest::Error) -> String {
    let mut text = None;
    let mut source = error.source();
    while let Some(cause) = source {
        text = Some(cause.to_string());
        source = cause.source();
    }
    match text {
        Some(text) => text,
        None if error.is_timeout() => "timed out".to_owned(),
        None => "the request failed".to_owned(),
    }
}

/// The body around messages that are already encoded, in parts: a long conversation is not copied.
/// `list` is what the format calls them.
pub(super) fn body_around(
    head: &serde_json::Value,
    tools: &[impl Serialize],
    list: &str,
    messages: impl IntoIterator<Item = Bytes>,
) -> Vec<Bytes> {
    let mut head = head.to_string();
    // It is an object and has members: continue it.
    head.pop();
    if !tools.is_empty() {
        head.push_str(",\"tools\":");
        // Names, texts and JSON values: encoding them cannot fail.
        head.push_str(&serde_json::to_string(tools).unwrap_or_default());
    }
    head.push_str(&format!(",\"{list}\":["));
    let mut body = vec![Bytes::from(head)];
    for part in messages.into_iter().filter(|part| !part.is_empty()) {
        if body.len() > 1 {
            body.push(Bytes::from_static(b","));
        }
        body.push(part);
    }
    body.push(Bytes::from_static(b"]}"));
    body
}

/// Letters and digits, new for each request: 37 characters leave room for a number below the
/// 40 that one API allows an id.
pub(super) fn call_id_prefix() -> String {
    format!("call_{}", uuid::Uuid::now_v7().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        let loopback = |text| BaseUrl::parse(text).map(|base| base.is_loopback());
        assert_eq!(loopback("https://api.example.com/v1"), Ok(false));
        assert_eq!(loopback(" http://localhost:8080 "), Ok(true));
        assert_eq!(loopback("http://127.3.2.1:1/v1/"), Ok(true));
        assert_eq!(loopback("http://[::1]:1"), Ok(true));
        assert_eq!(loopback("http://api.example.com"), Err(BaseUrlError::NotSecure));
        assert_eq!(loopback("http://localhost.example.com"), Err(BaseUrlError::NotSecure));
        assert_eq!(loopback("http://10.0.0.1"), Err(BaseUrlError::NotSecure));
        assert_eq!(loopback("file:///etc/passwd"), Err(BaseUrlError::NotSecure));
        assert_eq!(loopback("https://a:b@example.com"), Err(BaseUrlError::Extras));
        assert_eq!(loopback("https://example.com/?key=1"), Err(BaseUrlError::Extras));
        assert_eq!(loopback("localhost"), Err(BaseUrlError::NotAUrl("localhost".into())));
    }

    #[test]
    fn paths_are_appended() {
        let join = |text| BaseUrl::parse(text).unwrap().join("v1/messages").to_string();
        assert_eq!(join("https://e.com"), "https://e.com/v1/messages");
        assert_eq!(join("https://e.com/gate/"), "https://e.com/gate/v1/messages");
    }

    #[test]
    fn the_client_waits_for_the_first_request() {
        let base = BaseUrl::parse("http://localhost:1").unwrap();
        let endpoint = Endpoint::new(&base, "x", None, Patience::default());
        assert!(endpoint.client.get().is_none());
        assert!(endpoint.client().is_ok() && endpoint.client.get().is_some());
    }

    #[test]
    fn a_cut_message_keeps_no_part_of_the_key() {
        let base = BaseUrl::parse("https://e.com").unwrap();
        let key = "k".repeat(40);
        let endpoint = Endpoint::new(
            &base,
            "x",
            Some(SecretString::from(format!(" {key}\n"))),
            Patience::default(),
        );
        let message = format!("{}{key}", "x".repeat(MAX_MESSAGE_CHARS - 20));
        let tidy = endpoint.tidy(protocol(message));
        assert!(!tidy.message.contains("kk"), "{}", tidy.message);
    }
}
