//! The release binary in its own process, and the time at which each of its messages was there.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use cairn::environment::Environment;
use cairn_protocol::PROTOCOL_VERSION;
use serde_json::{Value, json};

/// Limit of each wait, far above the usual time.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A daemon process, killed on drop.
pub(crate) struct Daemon {
    child: Child,
    input: ChildStdin,
    /// With the time its last byte was read.
    messages: Receiver<(Instant, Vec<u8>)>,
    asked: u64,
    _state: Option<tempfile::TempDir>,
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) resident: f64,
    /// The most it ever was.
    pub(crate) peak: f64,
    /// Resident, with pages that other processes share counted in part.
    pub(crate) proportional: f64,
}

impl Daemon {
    pub(crate) fn spawn() -> Self {
        let state = tempfile::tempdir().expect("a folder for its state");
        let mut daemon = Self::spawn_in(state.path());
        daemon._state = Some(state);
        daemon
    }

    /// With what others have left in this folder.
    pub(crate) fn spawn_in(state: &Path) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a measurement is not the daemon")]
        let mut command = Command::new(binary());
        for name in Environment::VARIABLES {
            command.env_remove(name);
        }
        command.env("CAIRN_STATE_DIR", state).env(cairn::hardening::TRACEABLE, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("`cargo build --release -p cairn` made the binary");
        let input = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            while let Some(body) = read_message(&mut output) {
                if sender.send((Instant::now(), body)).is_err() {
                    return;
                }
            }
        });
        Self { child, input, messages, asked: 0, _state: None }
    }

    /// `initialize` and `initialized`. Returns when the first was answered.
    pub(crate) fn initialize(&mut self, folder: &Path, settings: &Value) -> Instant {
        let params = json!({
            "processId": std::process::id(),
            "rootUri": format!("file://{}", folder.display()),
            "capabilities": {
                "experimental": { "cairn": { "protocolVersion": PROTOCOL_VERSION } },
            },
            "initializationOptions": { "settings": settings },
        });
        let (answered, _) = self.request("initialize", &params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        answered
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> (Instant, Value) {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let (at, reply) =
            self.wait(method, |message| message["id"] == id && message.get("method").is_none());
        assert!(reply.get("error").is_none(), "{method} is refused: {reply}");
        (at, reply)
    }

    pub(crate) fn notification(&mut self, method: &str, fits: impl Fn(&Value) -> bool) -> Instant {
        self.wait(method, |message| message["method"] == method && fits(&message["params"])).0
    }

    /// Forgets what came until now.
    pub(crate) fn drain(&mut self) {
        while self.messages.try_recv().is_ok() {}
    }

    fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> (Instant, Value) {
        loop {
            let (at, body) = self
                .messages
                .recv_timeout(DEADLINE)
                .unwrap_or_else(|error| panic!("the daemon does not say {what}: {error}"));
            let message: Value = serde_json::from_slice(&body).expect("JSON");
            if fits(&message) {
                return (at, message);
            }
        }
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())
            .expect("the daemon reads");
    }

    /// `None` where there is no `/proc`.
    pub(crate) fn memory(&self) -> Option<Memory> {
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).ok()?;
            let value = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: f64 = value.split_whitespace().next()?.parse().ok()?;
            Some(kibibytes * 1024.0)
        };
        Some(Memory {
            resident: field("status", "VmRSS:")?,
            peak: field("status", "VmHWM:")?,
            proportional: field("smaps_rollup", "Pss:")?,
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Built into the same folder as this program.
pub(crate) fn binary() -> PathBuf {
    let program = std::env::current_exe().expect("the path of this program");
    program.with_file_name(format!("cairn{}", std::env::consts::EXE_SUFFIX))
}

/// `None` at the end of the stream.
fn read_message(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut header = String::new();
    input.read_line(&mut header).ok()?;
    let length = header.strip_prefix("Content-Length: ")?.trim_end().parse().ok()?;
    input.read_line(&mut header).ok()?;
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some(body)
}
