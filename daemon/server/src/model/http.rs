//! HTTP client of one model server: sends a request and streams the answer to a decoder.
//!
//! Follows no redirect. Sends a key over plain HTTP to this machine only. Removes the key from
//! messages. An ended connection is not treated as a finished answer. The client is built at the
//! first request, because building it costs time and memory.

mod base_url;

use std::{
    convert::Infallible,
    error::Error as _,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use cairn_core::model::{Advice, Failure, FailureKind, ModelEvent};
use futures_util::stream;
use reqwest::{
    Body, Client, RequestBuilder, Response, Url,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::{sync::mpsc, time::timeout};

pub use base_url::{BaseUrl, BaseUrlError};

use super::{
    encoding::{Decoding, protocol, stream_cut},
    failure,
    sse::SseReader,
};

/// Time limits for a server.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub connect: Duration,
    /// Longest time without any byte. A server sends pings while its model thinks.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(300) }
    }
}

/// Time limit for the token counts after a complete message. Some servers keep the connection open.
const TRAILER_PATIENCE: Duration = Duration::from_secs(5);
/// Time limit for the end of the body after the last event.
const REST_PATIENCE: Duration = Duration::from_secs(1);
/// Longest part of a body that is read when it is not a stream, in bytes.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// Longest answer that is one JSON value, in bytes.
const MAX_JSON: usize = 8 * 1024 * 1024;
/// Longest answer, in bytes of the stream. A word of text can take 300 of them.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Longest text and thinking of an answer, in bytes: eight times that of the longest answers of models.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Longest message of a failure, in characters.
const MAX_MESSAGE_CHARS: usize = 600;

/// Address of one API with its client and key.
#[derive(Debug)]
pub(super) struct Endpoint {
    url: Url,
    loopback: bool,
    key: Option<SecretString>,
    vendor: Vendor,
    patience: Patience,
    client: OnceLock<Client>,
}

/// Vendor whose headers a server expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    /// The key in `x-api-key`, and a version of the API.
    Anthropic,
    /// The key as a bearer token.
    OpenAi,
}

/// Version of Anthropic's API. Newer ones exist; every gateway understands this one.
const ANTHROPIC_VERSION: &str = "2023-06-01";

impl Endpoint {
    pub(super) fn new(
        base: &BaseUrl,
        path: &str,
        vendor: Vendor,
        key: Option<SecretString>,
        patience: Patience,
    ) -> Self {
        Self {
            url: base.join(path),
            loopback: base.is_loopback(),
            key: key.map(trimmed).filter(|key| !key.expose_secret().is_empty()),
            vendor,
            patience,
            client: OnceLock::new(),
        }
    }

    /// Sends the body and passes on the events of the decoder. Reports exactly one `Finished` or
    /// `Failed`, unless the receiver was dropped. `adapts`: the next request has another form because of
    /// this refusal.
    pub(super) async fn exchange(
        self: Arc<Self>,
        body: Vec<Bytes>,
        decoder: Decoding,
        adapts: impl FnOnce(&Failure) -> bool,
        events: mpsc::Sender<ModelEvent>,
    ) {
        let outcome = match self.send(body).await {
            Ok(response) => self.read(response, decoder, &events).await,
            Err(failure) if adapts(&failure) => {
                Err(Failure { kind: FailureKind::Adapted, ..failure })
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = outcome {
            // Fails only if the receiver was dropped; then nobody waits for the failure.
            let _ = events.send(ModelEvent::Failed(self.tidy(failure))).await;
        }
    }

    /// Reads a JSON value of at most [`MAX_JSON`] bytes.
    pub(super) async fn get(&self) -> Result<Value, Failure> {
        let read = async {
            let response = self.response(self.client()?.get(self.url.clone())).await?;
            self.json(response).await
        };
        let outcome = timeout(self.patience.idle, read).await;
        outcome.unwrap_or_else(|_| Err(self.timed_out())).map_err(|failure| self.tidy(failure))
    }

    async fn json(&self, mut response: Response) -> Result<Value, Failure> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => return Err(stream_cut(&reason(&error))),
            }
            if body.len() > MAX_JSON {
                return Err(protocol(format!("the answer is larger than {MAX_JSON} bytes")));
            }
        }
        serde_json::from_slice(&body)
            .map_err(|_| protocol("the answer is not JSON").advise(Advice::CheckAddress))
    }

    async fn send(&self, body: Vec<Bytes>) -> Result<Response, Failure> {
        // A streamed body gets no `Content-Length` automatically, and some servers require one.
        let length: usize = body.iter().map(Bytes::len).sum();
        let body = Body::wrap_stream(stream::iter(body.into_iter().map(Ok::<_, Infallible>)));
        let request = self.client()?.post(self.url.clone()).body(body);
        let request = request.header(CONTENT_TYPE, "application/json");
        self.response(request.header(CONTENT_LENGTH, length)).await
    }

    /// Sends a request with the key. Returns the answer of a server that accepts it.
    async fn response(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let request = request.headers(self.headers()?).send();
        match timeout(self.patience.idle, request).await {
            Ok(Ok(response)) if response.status().is_success() => Ok(response),
            Ok(Ok(response)) => Err(self.refusal(response).await),
            Ok(Err(error)) => Err(self.no_connection(&error)),
            Err(_) => Err(self.timed_out()),
        }
    }

    fn headers(&self) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        if self.vendor == Vendor::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        let Some(key) = &self.key else { return Ok(headers) };
        let (name, value) = match self.vendor {
            Vendor::Anthropic => {
                (HeaderName::from_static("x-api-key"), key.expose_secret().to_owned())
            }
            Vendor::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.expose_secret())),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            Failure::new(FailureKind::Auth, "The API key holds characters that cannot be sent.")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    async fn read(
        &self,
        mut response: Response,
        mut decoder: Decoding,
        events: &mpsc::Sender<ModelEvent>,
    ) -> Result<(), Failure> {
        let content_type = content_type(response.headers());
        if !matches!(content_type.as_str(), "text/event-stream" | "") {
            return Err(self.not_a_stream(response, &content_type).await);
        }
        let mut reader = SseReader::default();
        let mut pending = Vec::new();
        let (mut size, mut text) = (0_usize, 0_usize);
        let mut any_event = false;
        loop {
            let wait = match decoder.settled() {
                true => TRAILER_PATIENCE.min(self.patience.idle),
                false => self.patience.idle,
            };
            // After a complete message, a broken connection is no failure.
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
                let decoded = decoder.push(&event);
                text += decoded.iter().map(ModelEvent::text_bytes).sum::<usize>();
                if text > MAX_TEXT {
                    return Err(protocol(format!("the text is larger than {MAX_TEXT} bytes")));
                }
                if !forward(decoded, events).await.map_err(broken)? {
                    // Releases the conversation, so that the next round appends without a copy.
                    drop(decoder);
                    self.finish(response).await;
                    return Ok(());
                }
            }
            if let Err(error) = read {
                return Err(broken(protocol(error.to_string())));
            }
        }
    }

    /// Reads the rest of the body, so that the next round can use the same connection.
    async fn finish(&self, mut response: Response) {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        let _ = timeout(REST_PATIENCE.min(self.patience.idle), rest).await;
    }

    fn client(&self) -> Result<&Client, Failure> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Fails only if a provider is installed already.
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
            // Skips reading the system's certificates, which plain HTTP does not need.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| {
            let message = format!("The HTTP client cannot start: {}", reason(&error));
            Failure::new(FailureKind::Unusable, message).advise(Advice::CheckCertificates)
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let (body, _) = self.small_body(response).await;
        let body = self.redact(&String::from_utf8_lossy(&body));
        let failure = failure::from_status(status, &headers, &body, SystemTime::now());
        // Often the address is at fault.
        match status {
            404 | 405 => {
                Failure { message: format!("{} ({})", failure.message, self.url), ..failure }
            }
            _ => failure,
        }
    }

    async fn not_a_stream(&self, response: Response, content_type: &str) -> Failure {
        let (body, complete) = self.small_body(response).await;
        let error = serde_json::from_slice(&body).ok();
        error.as_ref().and_then(failure::from_stream).unwrap_or_else(|| {
            let more = if complete { "" } else { " or more" };
            let failure = protocol(format!(
                "expected text/event-stream, got {} of {}{more} bytes ({})",
                shown(content_type),
                body.len(),
                self.url
            ));
            failure.advise(Advice::CheckAddress)
        })
    }

    /// Reads at most [`MAX_ERROR_BODY`] bytes; the flag is true if they are the whole body.
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
        let said = reason(error);
        let message = format!("No connection to the model server {host}: {said}");
        let failure = Failure::new(FailureKind::Connect, message).said(said, None);
        if self.loopback { failure.advise(Advice::StartLocalServer) } else { failure }
    }

    fn timed_out(&self) -> Failure {
        let seconds = self.patience.idle.as_secs_f32();
        let message = format!("The model server sent nothing for {seconds} seconds.");
        Failure::new(FailureKind::Timeout, message)
    }

    fn tidy(&self, mut failure: Failure) -> Failure {
        failure.message = self.tidy_text(&failure.message);
        if let Some(said) = &mut failure.said {
            said.words = self.tidy_text(&said.words);
        }
        failure
    }

    /// Removes the key and control characters from a text and limits its length. The key is removed
    /// first, because a cut could leave a part of it.
    fn tidy_text(&self, text: &str) -> String {
        let mut tidy: String =
            self.redact(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if let Some((end, _)) = tidy.char_indices().nth(MAX_MESSAGE_CHARS) {
            tidy.truncate(end);
            tidy.push('…');
        }
        tidy
    }

    fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.expose_secret(), "[redacted]"),
            None => text.to_owned(),
        }
    }
}

/// Turns a format error within an event stream into a cut stream, which is retried. A server with
/// another format would not send an event stream.
fn broken(failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::Protocol => Failure { kind: FailureKind::StreamCut, ..failure },
        _ => failure,
    }
}

/// Passes events on. Returns false if the answer ended, or the receiver was dropped. Returns a `Failed` as an error, so that [`Endpoint::exchange`] reports it.
async fn forward(
    decoded: Vec<ModelEvent>,
    events: &mpsc::Sender<ModelEvent>,
) -> Result<bool, Failure> {
    for event in decoded {
        let over = match event {
            ModelEvent::Failed(failure) => return Err(failure),
            ModelEvent::Finished(_) => true,
            _ => false,
        };
        if events.send(event).await.is_err() || over {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes white space around a key: a pasted key often ends with a line feed.
fn trimmed(key: SecretString) -> SecretString {
    SecretString::from(key.expose_secret().trim())
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn shown(content_type: &str) -> &str {
    if content_type.is_empty() { "no content type" } else { content_type }
}

/// Text of the innermost cause, which is the most specific: `connection refused`, `unknown issuer`.
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

/// Builds the body around messages that are already encoded. It is returned in parts, so that a long
/// conversation is not copied. `list` is the format's name for the list of messages.
pub(super) fn body_around(
    head: &Value,
    tools: &str,
    list: &str,
    messages: impl IntoIterator<Item = Bytes>,
) -> Vec<Bytes> {
    let mut head = head.to_string();
    // `head` is an object with members: drop the brace and continue it.
    head.pop();
    if tools != "[]" {
        head.push_str(",\"tools\":");
        head.push_str(tools);
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

/// Returns a prefix of letters and digits that is new for each request. It has 37 characters: with
/// a number it stays within the 40 that Chat Completions allows for an id.
pub(super) fn call_id_prefix() -> String {
    format!("call_{}", uuid::Uuid::now_v7().simple())
}

#[cfg(test)]
mod tests;
