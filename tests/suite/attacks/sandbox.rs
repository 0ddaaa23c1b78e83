//! Real binary with a real sandbox, under attack and in daily use: one table of commands each, run
//! with every backend that works here.
//!
//! A skipped backend is printed. Where bubblewrap is installed it must work.

use std::{
    fs,
    io::Write,
    net::{TcpListener, UdpSocket},
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cairn_protocol::{PROTOCOL_VERSION, UiMessage};
use cairn_tests::{
    editor_double,
    lsp_client::{self, Daemon, binary},
};
use serde_json::{Value, json};

mod attacks;
mod builds;
mod control_files;
mod everyday_commands;
mod failures;
mod grants;
mod home;
mod loopback;
mod no_sandbox;
mod packages;
mod termination;
mod workspace_paths;

pub(crate) const WAYS: [&str; 2] = ["bubblewrap", "namespaces"];

/// Text that no command may print. Not the daemon's key, which would be removed from the output, so
/// that a read would go unnoticed.
const CANARY: &str = "the-canary-of-the-tests";
const KEY: &str = "the-key-of-the-daemon";

/// Home folder with secrets, a workspace in it, and a daemon with one sandbox backend.
pub(crate) struct SandboxTest {
    daemon: Daemon,
    root: tempfile::TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    sockets: Vec<(PathBuf, UnixListener)>,
    /// Questions to the user, who answers yes.
    asked: Arc<Mutex<Vec<Value>>>,
    /// True if the user keeps files in quarantine.
    keeps: Arc<AtomicBool>,
}

/// End of a command as the user sees it.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) said: String,
    pub(crate) ok: bool,
    /// Questions before the command.
    pub(crate) asked: Option<Value>,
}

impl SandboxTest {
    /// Opens the fixture; `None` if the backend does not work here.
    pub(crate) async fn set(way: &str, settings: Value) -> Option<Self> {
        Self::set_in(&visible_folder(), way, settings).await
    }

    pub(crate) async fn set_in(within: &Path, way: &str, settings: Value) -> Option<Self> {
        let root = tempfile::Builder::new().prefix("cairn-sandbox-").tempdir_in(within).unwrap();
        let home = root.path().join("home");
        for (name, text) in [
            (".ssh/id_test", CANARY),
            (".netrc", CANARY),
            (".bash_history", CANARY),
            (".config/Code/User/settings.json", CANARY),
            (".bashrc", "# mine\n"),
            ("other/file.txt", "untouched\n"),
            ("state/other-session", CANARY),
            ("ws/a.txt", "one\n"),
            ("ws/CLAUDE.md", "Be kind.\n"),
            ("ws/sub/.vscode/tasks.json", "{}\n"),
        ] {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let ws = home.join("ws");
        git(&ws, &["init", "-q", "-b", "main"]);
        git(&ws, &["config", "user.email", "a@example.invalid"]);
        git(&ws, &["config", "user.name", "A"]);
        git(&ws, &["add", "-A"]);
        git(&ws, &["commit", "-q", "-m", "First"]);
        std::os::unix::fs::symlink(home.join("other"), ws.join("link")).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let sockets = ["/run", "/tmp"]
            .into_iter()
            .filter_map(|folder| {
                let name = root.path().file_name().unwrap().to_string_lossy().into_owned();
                let path = Path::new(folder).join(format!("{name}.sock"));
                let listener = UnixListener::bind(&path).ok()?;
                listener.set_nonblocking(true).unwrap();
                Some((path, listener))
            })
            .collect();
        let daemon = daemon_at(&home, way);
        let (asked, keeps) = Default::default();
        let test = Self { daemon, root, tcp, udp, sockets, asked, keeps };
        let status = test.shake_hands(settings).await;
        let kind = status["sandbox"]["kind"].as_str().unwrap().to_owned();
        if way == "none" || kind == way || kind == "off" {
            return Some(test);
        }
        // A machine may forbid namespaces. CI, where they must work, sets the variable.
        assert!(std::env::var_os("CAIRN_NEEDS_SANDBOX").is_none(), "no sandbox by {way}: {status}");
        // Not captured by the harness, so it is printed although the test passes.
        let why = english(&status["sandbox"]);
        let line = format!("SKIPPED, 1 way of {}: no sandbox by {way} here: {why}\n", WAYS.len());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        None
    }

    /// Status of the daemon once the sandbox is probed.
    async fn shake_hands(&self, settings: Value) -> Value {
        let (client, asked) = (&self.daemon.client, Arc::clone(&self.asked));
        let keeps = Arc::clone(&self.keeps);
        client.answer_with(Box::new(move |client, id, method, params| match method {
            "agent/approve" => {
                asked.lock().unwrap().push(params.clone());
                let no = params["quarantined"] == true && !keeps.load(Ordering::SeqCst);
                client.respond(id, json!({ "decision": if no { "deny" } else { "allowOnce" } }));
            }
            "agent/save" => client.respond(id, json!({ "failed": [] })),
            _ => panic!("{method}"),
        }));
        let hello = json!({
            "processId": null,
            "capabilities": { "experimental": { "cairn": { "protocolVersion": PROTOCOL_VERSION } } },
            "workspaceFolders": [{ "uri": editor_double::uri(&self.ws()), "name": "ws" }],
            "initializationOptions": { "settings": self.settings(settings) },
        });
        client.initialize(hello).await;
        let known = |status: &Value| status.get("sandbox").is_some();
        client.notification("agent/status", known).await
    }

    /// Starts another daemon in its place.
    pub(crate) async fn begin_anew(&mut self, way: &str) {
        self.go_on_with(daemon_at(&self.home(), way)).await;
    }

    async fn go_on_with(&mut self, daemon: Daemon) {
        self.daemon = daemon;
        self.shake_hands(json!({})).await;
    }

    fn script(&self) -> PathBuf {
        self.root.path().join("script.json")
    }

    fn settings(&self, mut settings: Value) -> Value {
        settings["model"] = json!({ "provider": "replay", "replayFile": self.script() });
        // The first session reads it at its start.
        fs::write(self.script(), json!({ "cairnReplay": 1, "steps": [] }).to_string()).unwrap();
        settings
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn ws(&self) -> PathBuf {
        self.home().join("ws")
    }

    /// Replaces placeholders in a command: `@home`, `@port`, …
    fn filled(&self, command: &str) -> String {
        let mut command = command
            .replace("@home", &self.home().display().to_string())
            .replace("@port", &self.tcp.local_addr().unwrap().port().to_string())
            .replace("@udp", &self.udp.local_addr().unwrap().port().to_string())
            .replace("@daemon", &self.daemon.id().to_string());
        for (place, (path, _)) in ["@run", "@tmp"].into_iter().zip(&self.sockets) {
            command = command.replace(place, &path.display().to_string());
        }
        command
    }

    /// Makes the agent run a command in a new session. All questions are approved.
    pub(crate) async fn run(&self, command: &str, needs: &[&str]) -> Ran {
        let turn = self.begin(command, needs).await;
        self.ran(&turn).await
    }

    /// Makes the agent call bash in one turn after the other of a new session. All questions are approved.
    pub(crate) async fn turns<const N: usize>(&self, calls: [Value; N]) -> [Ran; N] {
        let mut turn = self.start(json!({ "text": "Do it" }), &calls).await;
        let mut all = vec![self.ran(&turn).await];
        while all.len() < N {
            let next = json!({ "text": "Go on", "sessionId": turn["sessionId"] });
            turn = self.daemon.client.request("agent/runTask", next).await.unwrap();
            all.push(self.ran(&turn).await);
        }
        all.try_into().unwrap()
    }

    /// Result of the command of a turn.
    async fn ran(&self, turn: &Value) -> Ran {
        let over = |tool: &Value| {
            tool["turnId"] == turn["turnId"]
                && ["done", "failed", "declined", "cancelled"]
                    .contains(&tool["state"].as_str().unwrap_or_default())
        };
        let tool = self.daemon.client.notification("agent/tool", over).await;
        self.over(turn).await;
        Ran {
            said: tool["detail"].as_str().unwrap_or_default().to_owned(),
            ok: tool["state"] == "done",
            asked: self.asked.lock().unwrap().drain(..).next_back(),
        }
    }

    /// Starts a command. Returns the ids of the turn.
    pub(crate) async fn begin(&self, command: &str, needs: &[&str]) -> Value {
        self.call(json!({ "command": self.filled(command), "needs": needs })).await
    }

    /// Starts a process. Returns the ids of the turn, which ends while the process runs.
    pub(crate) async fn process(&self, command: &str) -> Value {
        let turn = self.call(json!({ "command": self.filled(command), "background": true })).await;
        self.over(&turn).await;
        turn
    }

    /// Makes the agent call bash in a new session.
    async fn call(&self, arguments: Value) -> Value {
        self.start(json!({ "text": "Do it" }), &[arguments]).await
    }

    /// Starts a turn of a new session, whose agent calls bash once in each turn.
    async fn start(&self, task: Value, calls: &[Value]) -> Value {
        let turn = |arguments: &Value| {
            let call = json!({ "name": "bash", "arguments": arguments });
            [json!({ "calls": [call] }), json!({ "text": "Done." })]
        };
        let steps: Vec<Value> = calls.iter().flat_map(turn).collect();
        fs::write(self.script(), json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
        self.daemon.client.request("agent/runTask", task).await.unwrap()
    }

    /// Takes the next question to the user, who has answered it.
    pub(crate) async fn next_question(&self) -> Value {
        crate::fixtures::wait_until(SOON, || !self.asked.lock().unwrap().is_empty()).await;
        self.asked.lock().unwrap().remove(0)
    }

    pub(crate) async fn over(&self, turn: &Value) {
        let ended = |params: &Value| {
            params["turnId"] == turn["turnId"] && params["phase"]["kind"] == "ended"
        };
        self.daemon.client.notification("agent/turn", ended).await;
    }

    /// Checks that nothing outside the workspace changed, that no server got a connection, and that
    /// control files are unchanged.
    fn unharmed(&self) -> Result<(), String> {
        let home = self.home();
        for (name, text) in [
            (".bashrc", "# mine\n"),
            ("other/file.txt", "untouched\n"),
            (".ssh/id_test", CANARY),
            ("ws/CLAUDE.md", "Be kind.\n"),
            ("ws/sub/.vscode/tasks.json", "{}\n"),
        ] {
            let now = fs::read_to_string(home.join(name));
            if now.as_deref().ok() != Some(text) {
                return Err(format!("{name} is {now:?}"));
            }
        }
        if fs::read_dir(home.join("other")).unwrap().count() != 1 || home.join("new").exists() {
            return Err("a file is where none was".to_owned());
        }
        for name in [".vscode", ".envrc", ".mcp.json", "AGENTS.md", ".cairn"] {
            if home.join("ws").join(name).exists() {
                return Err(format!("{name} is there"));
            }
        }
        let config = fs::read_to_string(home.join("ws/.git/config")).unwrap_or_default();
        if config.contains("evil") || home.join("ws/.git/hooks/pre-commit").exists() {
            return Err("git would run something".to_owned());
        }
        if let Ok((_, from)) = self.tcp.accept() {
            return Err(format!("a TCP connection from {from} was accepted"));
        }
        // Another program's late answer may come to this port: only the command's own text counts.
        let mut datagram = [0; 16];
        while let Ok(length) = self.udp.recv(&mut datagram) {
            if datagram[..length].starts_with(b"BREACH") {
                return Err("a UDP datagram of the command was received".to_owned());
            }
        }
        if let Some((path, _)) = self.sockets.iter().find(|(_, socket)| socket.accept().is_ok()) {
            return Err(format!("a connection to {} was accepted", path.display()));
        }
        Ok(())
    }
}

impl Drop for SandboxTest {
    fn drop(&mut self) {
        for (path, _) in &self.sockets {
            let _ = fs::remove_file(path);
        }
    }
}

fn daemon_at(home: &Path, way: &str) -> Daemon {
    daemon_of(&binary(), home, way, &std::env::temp_dir())
}

/// Copy of the binary with another folder for temporary files.
fn daemon_of(binary: &Path, home: &Path, way: &str, temporary: &Path) -> Daemon {
    let own =
        [".local/bin", ".cargo/bin", ".nvm/versions/node/v20/bin", ".rbenv/shims", ".volta/bin"];
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = own.map(|name| home.join(name)).into_iter().chain(std::env::split_paths(&usual));
    let path = std::env::join_paths(path).unwrap();
    let mut daemon = Daemon::of(binary, |command| {
        command
            .env("PATH", path)
            .env("HOME", home)
            .env("TMPDIR", temporary)
            .env("CAIRN_STATE_DIR", home.join("state"))
            .env("CAIRN_SANDBOX", way)
            .env("ANTHROPIC_API_KEY", KEY)
            .env("LD_BIND_NOW", CANARY)
            .env("RUSTUP_HOME", real_home(".rustup", "RUSTUP_HOME"))
            .env("CARGO_HOME", real_home(".cargo", "CARGO_HOME"));
    });
    daemon.limit_memory(crate::attacks::MOST_MEMORY);
    daemon
}

/// Temporary folder that commands can see: they have their own `/tmp`, `/var/tmp` and `/run`, and
/// the home folder or the checkout may lie below one of these.
pub(crate) fn visible_folder() -> PathBuf {
    let home = std::env::home_dir().unwrap_or_default().join(".cache");
    let places = [home, env!("CARGO_TARGET_TMPDIR").into(), "/var/lib".into(), "/srv".into()];
    let visible = |place: &PathBuf| {
        let hidden = ["/tmp", "/var/tmp", "/run"].iter().any(|hidden| place.starts_with(hidden));
        !hidden && fs::create_dir_all(place).is_ok() && tempfile::tempdir_in(place).is_ok()
    };
    let place = places.into_iter().find(visible);
    place.expect("a folder that can be written and is not below /tmp, /var/tmp or /run")
}

/// Keeps the real toolchains although the home folder is another one.
fn real_home(name: &str, variable: &str) -> PathBuf {
    let usual = std::env::home_dir().unwrap_or_default().join(name);
    std::env::var_os(variable).map(PathBuf::from).unwrap_or(usual)
}

pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let output = Command::new("git").current_dir(folder).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Contents that commands may see.
const SOON: Duration = Duration::from_secs(3);

/// Runs a command in a workspace by `cairn run`, and returns the exit code and the printed texts. The script and
/// the state are in `folder`; `last` is the step after the command.
async fn run_alone(
    way: &str,
    (folder, workspace): (&Path, &Path),
    command: &str,
    last: Value,
) -> (Option<i32>, String) {
    let script = folder.join("script.json");
    let call = json!({ "name": "bash", "arguments": { "command": command } });
    let steps = json!([{ "calls": [call] }, last]);
    fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
    let child = lsp_client::start(|command| {
        command.args(["run", "Do it", "--yes", "--replay"]).arg(&script);
        command.arg("--workspace").arg(workspace).env("CAIRN_SANDBOX", way);
        command.env("CAIRN_STATE_DIR", folder.join("state"));
        command.stdin(Stdio::null()).stderr(Stdio::piped());
    });
    let output = tokio::time::timeout(Duration::from_secs(20), child.wait_with_output());
    let output = output.await.expect("it ends").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// English text of a message that was sent.
fn english(message: &Value) -> String {
    serde_json::from_value::<UiMessage>(message.clone()).unwrap().english()
}
