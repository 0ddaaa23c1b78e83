//! A scripted model server on loopback that speaks the three wire formats over raw TCP.
//!
//! The server can stop at any byte. Unlike the real and mock servers that were measured, it checks each
//! request against the ordering rules of the real APIs; `finish` fails a test that broke one.

mod encode;
mod rules;

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
};

use crate::lsp_client::DEADLINE;
pub use encode::{Reply, ReplyCall};
pub use rules::{Wire, violations};

/// Answers requests in their order, one scripted response each.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// One scripted response.
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
    /// Bytes per HTTP chunk.
    chunk: usize,
    /// In the order of their bytes.
    holds: Vec<Hold>,
    ending: Ending,
    /// Text of the request that it is for; `None`: for any that has none of its own.
    wanted: Option<String>,
}

enum Body {
    /// Encoded in the format of the request.
    Reply(Box<Reply>),
    Raw(Vec<u8>),
}

enum Ending {
    Complete,
    /// The connection closes after so many bytes of the body.
    CutAfter(usize),
    /// Accepts the request and sends nothing, not even a status.
    Silence,
}

struct Hold {
    at: usize,
    reached: oneshot::Sender<()>,
    go_on: oneshot::Receiver<()>,
}

/// The test's hand on a response that waits in its middle.
pub struct Gate {
    reached: oneshot::Receiver<()>,
    go_on: oneshot::Sender<()>,
}

impl Gate {
    /// Returns when all bytes before the gate are on their way.
    pub async fn reached(&mut self) {
        (&mut self.reached).await.expect("the response was never sent");
    }

    pub fn open(self) {
        // A client that is gone needs no more bytes.
        let _ = self.go_on.send(());
    }
}

impl Response {
    pub fn reply(reply: Reply) -> Self {
        Self::new(200, "text/event-stream", Body::Reply(Box::new(reply)))
    }

    pub fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, content_type, Body::Raw(body.into()))
    }

    /// An error as both formats write it.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        let body =
            serde_json::json!({"type": "error", "error": {"type": kind, "message": message}});
        Self::raw(status, "application/json", body.to_string())
    }

    fn new(status: u16, content_type: &str, body: Body) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self {
            status,
            headers,
            body,
            chunk: usize::MAX,
            holds: Vec::new(),
            ending: Ending::Complete,
            wanted: None,
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// For requests that run at the same time: answers the next one with this in its body.
    pub fn to(mut self, text: &str) -> Self {
        self.wanted = Some(text.to_owned());
        self
    }

    pub fn chunks_of(mut self, bytes: usize) -> Self {
        self.chunk = bytes.max(1);
        self
    }

    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::CutAfter(bytes);
        self
    }

    pub fn silent(mut self) -> Self {
        self.ending = Ending::Silence;
        self
    }

    /// Waits before this byte of the body until the gate opens. Gates are set in their order.
    pub fn held_at(mut self, byte: usize) -> (Self, Gate) {
        let (reached, when_reached) = oneshot::channel();
        let (go_on, may_go_on) = oneshot::channel();
        self.holds.push(Hold { at: byte, reached, go_on: may_go_on });
        (self, Gate { reached: when_reached, go_on })
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The number of requests so far.
    count: watch::Sender<usize>,
    /// The number of clients that left before the end of their response.
    hang_ups: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    responses: VecDeque<Response>,
    /// Answers what is not scripted.
    otherwise: Option<Otherwise>,
    requests: VecDeque<Recorded>,
    /// Requests kept: a soak has too many.
    keep: Option<usize>,
    violations: Vec<String>,
    /// Roles must take turns, as some chat templates demand.
    alternating: bool,
}

type Otherwise = Box<dyn FnMut(&Recorded) -> Response + Send>;

impl ModelServer {
    pub async fn start(responses: impl IntoIterator<Item = Response>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared::default());
        shared.lock().responses.extend(responses);
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// Without a path: right for both formats.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The `model` section of settings that lead here.
    pub fn settings(&self, wire: Wire) -> Value {
        let (provider, api) = match wire {
            Wire::Anthropic => ("anthropic", "auto"),
            Wire::OpenAi => ("openai", "chat"),
            Wire::Responses => ("openai", "responses"),
        };
        let base_url = self.base_url();
        serde_json::json!({
            "provider": provider, "api": api, "baseUrl": base_url, "name": "scripted",
        })
    }

    pub fn push(&self, response: Response) {
        self.shared.lock().responses.push_back(response);
    }

    /// Answers each request that nothing is scripted for.
    pub fn otherwise(&self, answer: impl FnMut(&Recorded) -> Response + Send + 'static) {
        self.shared.lock().otherwise = Some(Box::new(answer));
    }

    /// Refuses neighbours of one role and a user message after tool results, like the chat
    /// templates of Mistral and Gemma in llama.cpp and vLLM.
    pub fn demand_alternation(&self) {
        self.shared.lock().alternating = true;
    }

    /// Keeps only the newest requests.
    pub fn keep(&self, newest: usize) {
        self.shared.lock().keep = Some(newest);
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.iter().cloned().collect()
    }

    /// Rules that requests broke so far.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// The number of requests so far.
    pub fn count(&self) -> usize {
        *self.shared.count.borrow()
    }

    /// Forgets what is scripted and was not asked for.
    pub fn unscript(&self) {
        self.shared.lock().responses.clear();
    }

    /// Returns when so many clients have left before the end of their response.
    pub async fn wait_for_hang_ups(&self, count: usize) {
        let mut seen = self.shared.hang_ups.subscribe();
        let wait = seen.wait_for(|&seen| seen >= count);
        let hung_up = tokio::time::timeout(DEADLINE, wait).await;
        hung_up.expect("the connection is closed in time").expect("the server lives");
    }

    /// The requests so far, which are forgotten here.
    pub fn take_requests(&self) -> Vec<Recorded> {
        std::mem::take(&mut self.shared.lock().requests).into()
    }

    /// Returns when so many requests have come.
    pub async fn wait_for_requests(&self, count: usize) {
        let mut seen = self.shared.count.subscribe();
        seen.wait_for(|&seen| seen >= count).await.expect("the server lives");
    }

    /// Ends the server. Panics if a request broke a rule or a response was not asked for.
    pub fn finish(self) -> Vec<Recorded> {
        let mut state = self.shared.lock();
        let violations = std::mem::take(&mut state.violations);
        assert!(violations.is_empty(), "requests broke rules:\n{}", violations.join("\n"));
        assert!(state.responses.is_empty(), "{} responses are left over", state.responses.len());
        std::mem::take(&mut state.requests).into()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, request: Recorded) -> Option<Response> {
        let mut state = self.lock();
        let number = *self.count.borrow() + 1;
        let mut faults = rules::check(&request);
        if state.alternating {
            faults.extend(rules::alternation(&request));
        }
        state
            .violations
            .extend(faults.into_iter().map(|fault| format!("request {number}: {fault}")));
        let body = String::from_utf8_lossy(&request.body);
        let mine =
            |it: &Response| it.wanted.as_ref().is_some_and(|text| body.contains(text.as_str()));
        let at = state.responses.iter().position(mine);
        let at = at.or_else(|| state.responses.iter().position(|it| it.wanted.is_none()));
        let response = match at.and_then(|at| state.responses.remove(at)) {
            Some(response) => Some(response),
            None => state.otherwise.as_mut().map(|answer| answer(&request)),
        };
        if response.is_none() {
            state.violations.push(format!("request {number}: no response is scripted for it"));
        }
        let limit = state.keep.unwrap_or(usize::MAX);
        while state.requests.len() >= limit {
            state.requests.pop_front();
        }
        state.requests.push_back(request);
        self.count.send_replace(number);
        response
    }
}

impl Shared {
    fn hung_up(&self) {
        self.hang_ups.send_modify(|count| *count += 1);
    }
}

impl Recorded {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The items of the conversation.
    pub fn items(&self) -> Vec<Value> {
        let mut body = self.json();
        match body[self.list()].take() {
            Value::Array(items) => items,
            other => panic!("no list of items: {other}"),
        }
    }

    fn list(&self) -> &'static str {
        Wire::of(&self.path).expect("a known path").list()
    }

    /// The bytes between the brackets of the conversation.
    pub fn message_bytes(&self) -> &[u8] {
        let key = format!("\"{}\":", self.list());
        let start = top_level_value(&self.body, key.as_bytes()).expect("a list") + 1;
        // They stand last: `]}` follows.
        &self.body[start..self.body.len() - 2]
    }
}

/// Asserts that history only grew: each request repeats the bytes of the one before. This is what
/// keeps a provider's prompt cache warm.
pub fn assert_append_only(requests: &[Recorded]) {
    for (number, pair) in requests.windows(2).enumerate() {
        let (earlier, later) = (pair[0].message_bytes(), pair[1].message_bytes());
        assert!(
            later.starts_with(earlier),
            "request {} rewrites the history of request {}:\n{}\n{}",
            number + 2,
            number + 1,
            String::from_utf8_lossy(earlier),
            String::from_utf8_lossy(later),
        );
    }
}

/// Byte offset of the value of a key of the outermost object.
fn top_level_value(body: &[u8], key: &[u8]) -> Option<usize> {
    let (mut depth, mut in_text, mut at) = (0_u32, false, 0);
    while at < body.len() {
        match body[at] {
            b'"' if !in_text && depth == 1 && body[at..].starts_with(key) => {
                return Some(at + key.len());
            }
            b'"' => in_text = !in_text,
            b'\\' if in_text => at += 1,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and the connections with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // A client that hangs up is part of many tests.
            let _ = serve(stream, &shared).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let Some(request) = read_request(&mut stream).await? else { return Ok(()) };
    let wire = Wire::of(&request.path);
    let Some(response) = shared.record(request) else {
        let text = "HTTP/1.1 500 Script\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        return stream.write_all(text.as_bytes()).await;
    };
    let limit = match response.ending {
        Ending::Silence => {
            until_gone(&mut stream).await;
            shared.hung_up();
            return Ok(());
        }
        Ending::CutAfter(bytes) => Some(bytes),
        Ending::Complete => None,
    };
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let body = match response.body {
        Body::Raw(bytes) => bytes,
        Body::Reply(reply) => reply.encode(wire.unwrap_or(Wire::Anthropic)),
    };
    let body = &body[..limit.unwrap_or(body.len()).min(body.len())];
    let mut sent = 0;
    for Hold { at, reached, go_on } in response.holds {
        let at = at.min(body.len());
        send_chunks(&mut stream, &body[sent..at], response.chunk).await?;
        sent = at;
        let _ = reached.send(());
        // A gate that was dropped without opening means: never go on.
        let opened = async {
            if go_on.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = opened => {}
            () = until_gone(&mut stream) => {
                shared.hung_up();
                return Ok(());
            }
        }
    }
    send_chunks(&mut stream, &body[sent..], response.chunk).await?;
    if limit.is_none() {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.shutdown().await
}

/// Returns when the client has closed the connection.
async fn until_gone(stream: &mut TcpStream) {
    let mut rest = [0; 64];
    while matches!(stream.read(&mut rest).await, Ok(read) if read > 0) {}
}

async fn send_chunks(stream: &mut TcpStream, body: &[u8], size: usize) -> std::io::Result<()> {
    for chunk in body.chunks(size) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
        stream.write_all(chunk).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
    }
    Ok(())
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Recorded>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Recorded { path, headers, body }))
}
