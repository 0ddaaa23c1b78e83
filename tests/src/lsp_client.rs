//! A raw JSON-RPC client over any byte streams: the real binary or `cairn::lsp::serve` in process.
//!
//! The client is strict: anything on the wire that is not LSP framing with JSON fails the test.

use std::{
    collections::VecDeque,
    io::{self, BufRead},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt,
        BufReader,
    },
    process::{Child, Command},
    sync::{Notify, mpsc},
    time::timeout,
};

/// Limit of each wait, far above the usual time.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A handle; clones share the connection.
#[derive(Clone)]
pub struct LspClient(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Notify,
    next_id: AtomicI64,
}

struct State {
    /// `None` after the input of the server was closed.
    outgoing: Option<mpsc::UnboundedSender<Vec<u8>>>,
    answerer: Option<Answerer>,
    listener: Option<Listener>,
    /// Messages nobody took yet, in wire order.
    unread: VecDeque<Value>,
    closed: bool,
    violation: Option<String>,
}

/// Answers a request of the server, called with its id, method and params in wire order.
pub type Answerer = Box<dyn FnMut(&LspClient, &Value, &str, &Value) + Send>;

/// Hears a notification of the server; false leaves it among the unread messages.
pub type Listener = Box<dyn FnMut(&str, &Value) -> bool + Send>;

/// The error object of a refused request.
pub type ErrorReply = Value;

impl LspClient {
    pub fn over(
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let client = Self(Arc::new(Shared {
            state: Mutex::new(State {
                outgoing: Some(outgoing),
                answerer: None,
                listener: None,
                unread: VecDeque::new(),
                closed: false,
                violation: None,
            }),
            changed: Notify::new(),
            next_id: AtomicI64::new(1),
        }));
        tokio::spawn(write(output, queue));
        tokio::spawn(client.clone().read(BufReader::new(input)));
        client
    }

    /// Requests of the server go to `answerer`; without one they wait in the unread messages.
    pub fn answer_with(&self, answerer: Answerer) {
        self.state().answerer = Some(answerer);
    }

    pub fn listen_with(&self, listener: Listener) {
        self.state().listener = Some(listener);
    }

    /// Bytes as they are. A server that is gone is not an error here.
    pub fn send_raw(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(outgoing) = &self.state().outgoing {
            let _ = outgoing.send(bytes.into());
        }
    }

    pub fn send(&self, message: &Value) {
        self.send_raw(frame(message.to_string()));
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns its id.
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let id = Value::from(self.0.next_id.fetch_add(1, Ordering::Relaxed));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The reply to a request, whenever it comes.
    pub async fn reply(&self, id: &Value) -> Result<Value, ErrorReply> {
        let reply = self
            .take(&format!("the reply to {id}"), |message| {
                message.get("method").is_none() && message["id"] == *id
            })
            .await;
        match reply.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(reply["result"].clone()),
        }
    }

    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ErrorReply> {
        let id = self.ask(method, params);
        self.reply(&id).await
    }

    pub fn respond(&self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub fn respond_error(&self, id: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    /// The params of the next notification that fits.
    pub async fn notification(&self, method: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut message = self
            .take(&format!("a {method} notification"), |message| {
                message["method"] == method
                    && message.get("id").is_none()
                    && fits(&message["params"])
            })
            .await;
        message["params"].take()
    }

    /// The next request of the server by method, whole. Only without an answerer.
    pub async fn server_request(&self, method: &str) -> Value {
        self.take(&format!("a {method} request"), |message| {
            message["method"] == method && message.get("id").is_some()
        })
        .await
    }

    /// Takes the first unread message that fits, waiting for it.
    pub async fn take(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            loop {
                let changed = self.0.changed.notified();
                {
                    let mut state = self.state();
                    if let Some(at) = state.unread.iter().position(&fits) {
                        return state.unread.remove(at);
                    }
                    if state.closed {
                        return None;
                    }
                }
                changed.await;
            }
        };
        match timeout(DEADLINE, wait).await {
            Ok(Some(message)) => message,
            Ok(None) => panic!("the server ended before {what}; unread: {:#?}", self.unread()),
            Err(_) => panic!("no {what} in {DEADLINE:?}; unread: {:#?}", self.unread()),
        }
    }

    /// `initialize` and `initialized`; the result of the first.
    pub async fn initialize(&self, params: Value) -> Value {
        let result = self.request("initialize", params).await.expect("initialize is accepted");
        self.notify("initialized", json!({}));
        result
    }

    /// Closes the server's input.
    pub fn close(&self) {
        self.state().outgoing = None;
    }

    /// Waits for the end of the server's output.
    pub async fn closed(&self) {
        let wait = async {
            loop {
                let changed = self.0.changed.notified();
                if self.state().closed {
                    return;
                }
                changed.await;
            }
        };
        timeout(DEADLINE, wait).await.expect("the server closes its output");
    }

    /// Messages received and not yet taken.
    pub fn unread(&self) -> Vec<Value> {
        self.state().unread.iter().cloned().collect()
    }

    /// The server was killed: it may have stopped in the middle of a message.
    pub fn abandon(&self) {
        let mut state = self.state();
        state.violation = None;
        state.unread.clear();
    }

    /// Fails if the server wrote anything that is not the protocol.
    pub fn assert_clean(&self) {
        if let Some(violation) = &self.state().violation {
            panic!("the output is not LSP: {violation}");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(self, mut input: impl AsyncBufRead + Unpin) {
        loop {
            match read_message(&mut input).await {
                Ok(Some(message)) => self.receive(message),
                Ok(None) => break,
                Err(violation) => {
                    self.state().violation = Some(violation);
                    break;
                }
            }
        }
        self.state().closed = true;
        self.0.changed.notify_waiters();
    }

    /// The callbacks are taken out while they run, since they send through this client.
    fn receive(&self, message: Value) {
        let method = message["method"].as_str();
        let taken = match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                let answerer = self.state().answerer.take();
                answerer.is_some_and(|mut answerer| {
                    answerer(self, id, method, &message["params"]);
                    self.state().answerer.get_or_insert(answerer);
                    true
                })
            }
            (Some(method), None) => {
                let listener = self.state().listener.take();
                listener.is_some_and(|mut listener| {
                    let taken = listener(method, &message["params"]);
                    self.state().listener.get_or_insert(listener);
                    taken
                })
            }
            (None, _) => false,
        };
        if !taken {
            self.state().unread.push_back(message);
        }
        self.0.changed.notify_waiters();
    }
}

/// A framed body, valid JSON or not.
pub fn frame(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        if output.write_all(&bytes).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
    let _ = output.shutdown().await;
}

/// `None` at the end of the stream.
async fn read_message(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Value>, String> {
    let mut header = Vec::new();
    if input.read_until(b'\n', &mut header).await.unwrap_or(0) == 0 {
        return Ok(None);
    }
    let header = String::from_utf8_lossy(&header).into_owned();
    let length = header.strip_prefix("Content-Length: ").and_then(|rest| rest.strip_suffix("\r\n"));
    let length: usize =
        length.and_then(|digits| digits.parse().ok()).ok_or(format!("header {header:?}"))?;
    let mut blank = [0; 2];
    input.read_exact(&mut blank).await.map_err(|error| error.to_string())?;
    if &blank != b"\r\n" {
        return Err(format!("{blank:?} after {header:?}"));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).await.map_err(|error| error.to_string())?;
    serde_json::from_slice(&body).map(Some).map_err(|error| error.to_string())
}

/// The real daemon in its own process. Dropping it kills it.
pub struct Daemon {
    pub client: LspClient,
    child: Child,
    memory_limit: Option<u64>,
    _state: tempfile::TempDir,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let (Some(limit), false) = (self.memory_limit, thread::panicking()) else { return };
        if let Some(peak) = self.peak_memory() {
            assert!(peak <= limit, "the daemon took {} MB of memory", peak / 1_000_000);
        }
    }
}

impl Daemon {
    pub fn spawn(configure: impl FnOnce(&mut Command)) -> Self {
        Self::of(&binary(), configure)
    }

    /// The same of a copy of the binary.
    pub fn of(binary: &Path, configure: impl FnOnce(&mut Command)) -> Self {
        let state = tempfile::tempdir().expect("a folder for its state");
        let mut child = start_of(binary, |command| {
            command.env("CAIRN_STATE_DIR", state.path()).stderr(Stdio::piped());
            configure(command);
        });
        if let Some(log) = child.stderr.take() {
            print_log(log);
        }
        let (output, input) = (child.stdin.take(), child.stdout.take());
        let client = LspClient::over(input.expect("piped"), output.expect("piped"));
        Self { client, child, memory_limit: None, _state: state }
    }

    /// Its process, which runs.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// The most memory that it has had so far without its code, in bytes: the code of a debug build is
    /// several times that of a release build. `None`: it has ended, or the system does not tell.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let bytes = |name| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(value.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
        };
        Some(bytes("VmHWM:")?.saturating_sub(bytes("RssFile:")?))
    }

    /// Fails the test, when this is dropped, if the daemon had more memory, in bytes.
    pub fn limit_memory(&mut self, limit: u64) {
        self.memory_limit = Some(limit);
    }

    /// Ends it with SIGKILL.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("the child can be killed");
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the child can be waited for").is_none()
    }

    /// The exit status, which must come within `limit`; all output up to the end is read and is
    /// the protocol.
    pub async fn ends_within(&mut self, limit: Duration) -> ExitStatus {
        let status = ends_within(&mut self.child, limit).await;
        self.client.closed().await;
        self.client.assert_clean();
        status
    }
}

/// Starts the binary that was built beside the test, its pipes not yet read, its log on our
/// stderr. Dropping the child kills it.
pub fn start(configure: impl FnOnce(&mut Command)) -> Child {
    start_of(&binary(), configure)
}

fn start_of(path: &Path, configure: impl FnOnce(&mut Command)) -> Child {
    assert!(path.exists(), "{} is missing: run `cargo build -p cairn` first", path.display());
    #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut command = Command::new(path);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    configure(&mut command);
    let began = Instant::now();
    loop {
        match command.spawn() {
            // A copy of the binary: a process that another test starts at this moment has inherited the
            // file that is written, until it runs its own program.
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && began.elapsed() < DEADLINE =>
            {
                thread::yield_now();
            }
            started => return started.expect("the daemon starts"),
        }
    }
}

pub async fn ends_within(child: &mut Child, limit: Duration) -> ExitStatus {
    let status = timeout(limit, child.wait()).await;
    let status = status.unwrap_or_else(|_| panic!("still running after {limit:?}"));
    status.expect("the child can be waited for")
}

/// Prints the log of a daemon as output of the test, which the harness shows if the test fails. A
/// thread inherits the capture of output; a task of the runtime may not.
fn print_log(log: tokio::process::ChildStderr) {
    let log = std::fs::File::from(log.into_owned_fd().expect("a pipe"));
    std::thread::spawn(move || {
        for line in std::io::BufReader::new(log).split(b'\n').map_while(Result::ok) {
            #[allow(clippy::print_stderr, reason = "the harness captures it")]
            {
                eprintln!("{}", String::from_utf8_lossy(&line));
            }
        }
    });
}

/// `target/<profile>/cairn`, found from `target/<profile>/deps/<this test>` or from a binary that
/// stands beside it.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    let folder = test.parent().expect("a folder");
    let in_deps = folder.file_name().is_some_and(|name| name == "deps");
    let profile = if in_deps { folder.parent().expect("target/<profile>") } else { folder };
    profile.join(format!("cairn{}", std::env::consts::EXE_SUFFIX))
}
