//! Keys are only in expected places. Against the real binary.

use std::{
    fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    pin::Pin,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use cairn_protocol::{
    ApprovalDecision, EndReason, ExportFormat, ExportSession, ExportSessionParams,
};
use cairn_tests::{
    editor_double::EditorDouble,
    lsp_client::{LspClient, start},
    model_server::{ModelServer, Response, Wire},
};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use crate::fixtures::*;

/// A different key in each run, so that it cannot occur by chance.
fn random_key() -> String {
    let mut bytes = [0; 24];
    fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("made-by-a-test-{hex}")
}

/// Stream that stores all bytes.
struct Tee<R> {
    inner: R,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Tee<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend_from_slice(&buffer.filled()[before..]);
        polled
    }
}

fn each_file(folder: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        visit(&path);
        if path.is_dir() {
            each_file(&path, visit);
        }
    }
}

/// Encodings of a key in the texts below.
fn forms(key: &str, in_base64: &str) -> Vec<String> {
    vec![key.to_owned(), in_base64.trim_end_matches('=').to_owned()]
}

fn assert_nowhere(forms: &[String], place: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for form in forms {
        assert!(!text.contains(form), "a key is in {place}: {text}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Message,
    Environment,
}

#[tokio::test]
async fn an_api_key_is_only_in_request_headers() {
    for from in [From::Message, From::Environment] {
        for wire in ALL {
            nowhere(from, wire).await;
        }
    }
}

async fn nowhere(from: From, wire: Wire) {
    let key = random_key();
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    fs::write(at("secret"), &key).unwrap();
    fs::write(at("a"), "one\n").unwrap();
    let model = ModelServer::start([]).await;
    let (provider, variable) = match wire {
        Wire::Anthropic => ("anthropic", "ANTHROPIC"),
        Wire::OpenAi | Wire::Responses => ("openai", "OPENAI"),
    };
    let mut child = start(|command| {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("CAIRN_STATE_DIR", state.path()).env("CAIRN_LOG", "trace");
        command.env("RUST_BACKTRACE", "1").stderr(Stdio::piped());
        if from == From::Environment {
            command.env(format!("{variable}_API_KEY"), &key);
            command.env(format!("{variable}_BASE_URL"), model.base_url());
        }
    });
    let mut log = child.stderr.take().unwrap();
    let logged = tokio::spawn(async move {
        let mut bytes = Vec::new();
        log.read_to_end(&mut bytes).await.unwrap();
        bytes
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let output = Tee { inner: child.stdout.take().unwrap(), seen: Arc::clone(&seen) };
    let client = LspClient::over(output, child.stdin.take().unwrap());
    let settings = json!({ "model": model.settings(wire) });
    let editor = EditorDouble::connect(client.clone(), folder.path(), settings).await;
    if from == From::Message {
        let origin = model.base_url();
        let params = json!({ "provider": provider, "key": key, "origin": origin });
        client.notify("agent/credentials", params);
    }
    editor.will_always_answer(answer(ApprovalDecision::AllowOnce, None));

    let watch = "cat secret; base64 -w0 secret; cat /proc/self/environ > environ; cat /proc/$$/cmdline > cmdline";
    for response in [
        Response::error(503, "error", &format!("busy, {key}")).header("retry-after", "0"),
        Response::raw(200, "text/html", format!("<p>{key}</p>")),
        Response::reply(bash("c1", watch)).chunks_of(7),
        Response::reply(bash("c2", &format!("echo {key} > echoed"))).chunks_of(3),
        Response::reply(call("c3", "read_file", json!({ "path": "secret" }))),
        Response::reply(edit("c4", "a", "one", &format!("the key is {key}"))),
        Response::reply(call(&key, "read_file", json!({ "path": key, "x": { &key: [key] } }))),
        Response::reply(plan("c6", &[('>', &format!("Use {key}"))])),
        Response::reply(say(&format!("I found {key}."))).chunks_of(5),
    ] {
        model.push(response);
    }
    let end = editor.run(&format!("Look for {key}")).await;
    assert_eq!(end.reason, EndReason::Completed, "{end:?}");
    assert_eq!(end.summary, "I found [key].");
    assert_eq!(fs::read_to_string(at("echoed")).unwrap(), "[key]\n");
    for format in [ExportFormat::Markdown, ExportFormat::Replay] {
        let params = ExportSessionParams { session_id: end.session_id.clone(), format };
        editor.request::<ExportSession>(params).await.unwrap();
    }
    model.push(Response::error(401, "error", &format!("no such key: {key}")));
    assert_eq!(editor.run("Again").await.reason, EndReason::Failed);

    let in_base64 = result(&model.requests()[3], "c1");
    assert_eq!(in_base64.matches("[key]").count(), 2, "{in_base64}");
    client.request("shutdown", serde_json::Value::Null).await.unwrap();
    client.close();
    child.wait().await.unwrap();
    client.closed().await;
    drop(editor);

    let forms = forms(&key, &base64(key.as_bytes()));
    assert_nowhere(&forms, "standard error", &logged.await.unwrap());
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(!seen.is_empty());
    assert_nowhere(&forms, "standard output", &seen);
    for name in ["environ", "cmdline", "echoed"] {
        assert_nowhere(&forms, name, &fs::read(at(name)).unwrap());
    }
    let mut kept = 0;
    each_file(state.path(), &mut |path| {
        if path.is_file() {
            kept += 1;
            assert_nowhere(&forms, &path.display().to_string(), &fs::read(path).unwrap());
        }
    });
    assert!(kept > 0, "a session was kept");
    for request in model.finish() {
        assert!(request.headers.iter().any(|(_, value)| value.contains(&key)), "{from:?} {wire:?}");
        assert_nowhere(&forms, "the body of a request", &request.body);
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |chunk: &[u8], at: usize| {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        char::from(DIGITS[(all >> (18 - 6 * at) & 63) as usize])
    };
    bytes.chunks(3).flat_map(|chunk| (0..=chunk.len()).map(move |at| digit(chunk, at))).collect()
}

/// Tells the test below that it is the panicking process.
const PANICS: &str = "CAIRN_TEST_PANICS_WITH_A_KEY";

/// Runs in a process of its own, because the panic hook and stderr belong to a process: starts like
/// `main`, registers a key, then panics with it.
#[test]
fn a_panic_message_is_redacted() {
    if std::env::var_os(PANICS).is_some() {
        return panic_with_the_key();
    }
    let key = random_key();
    // Full name of this test.
    let (_, module) = module_path!().split_once("::").unwrap();
    let name = format!("{module}::a_panic_message_is_redacted");
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(PANICS, "1")
        .env("ANTHROPIC_API_KEY", &key)
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    assert_nowhere(&forms(&key, &base64(key.as_bytes())), "standard error", told.as_bytes());
    for said in ["plain: [key]!", "in JSON: {\"key\":\"[key]\"}", "in base64: [key]", "none at all"]
    {
        assert!(told.contains(said), "{said} is not in {told}");
    }
    assert!(told.contains("thread 'keeps-a-key'") && told.contains("secrets.rs:"), "{told}");
    assert!(told.contains("panic_with_the_key"), "no backtrace in {told}");
}

fn panic_with_the_key() {
    let environment = cairn::environment::Environment::read(|name| std::env::var(name).ok());
    let key = std::env::var("ANTHROPIC_API_KEY").unwrap();
    cairn::telemetry::start(cairn::telemetry::OF_EDITOR);
    cairn::secrets::register(environment.anthropic_key.as_ref().unwrap()).unwrap();
    let in_base64 = base64(key.as_bytes());
    for said in [
        format!("plain: {key}!"),
        format!("in JSON: {}", json!({ "key": key })),
        format!("in base64: {in_base64}"),
        "none at all".to_owned(),
    ] {
        let thread = std::thread::Builder::new().name("keeps-a-key".to_owned());
        let panicked = thread.spawn(move || panic!("{said}")).unwrap().join();
        assert!(panicked.is_err());
    }
}

/// Files in `/proc` with the memory of a process.
const TELLING: [&str; 3] = ["environ", "mem", "maps"];

/// True if another process of this user can read the file. Root may read everything, so tests as
/// root switch to `nobody`.
#[cfg(target_os = "linux")]
async fn can_read(path: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut command = tokio::process::Command::new("head");
    as_nobody(&mut command);
    let status =
        command.args(["-c", "1", path]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.await.unwrap().success()
}

#[cfg(target_os = "linux")]
fn as_nobody(command: &mut tokio::process::Command) {
    const NOBODY: u32 = 65_534;
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn other_programs_of_the_user_cannot_read_the_daemons_memory() {
    use std::os::unix::fs::chown;
    // A folder in which `nobody` can start it.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let binary: PathBuf = folder.path().join("cairn");
    fs::copy(cairn_tests::lsp_client::binary(), &binary).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let state = folder.path().join("state");
    fs::create_dir(&state).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&state, Some(65_534), Some(65_534)).unwrap();
    }
    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut command = tokio::process::Command::new(binary);
    as_nobody(&mut command);
    let mut child = command
        .env("CAIRN_STATE_DIR", &state)
        .env("ANTHROPIC_API_KEY", random_key())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let process = child.id().unwrap();
    let client = LspClient::over(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    client.initialize(json!({ "capabilities": {} })).await;

    #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut other = tokio::process::Command::new("sleep");
    as_nobody(&mut other);
    let mut other = other.arg("60").kill_on_drop(true).spawn().unwrap();
    let usual = format!("/proc/{}/environ", other.id().unwrap());
    assert!(can_read(&usual).await, "else this test would tell nothing");
    for file in TELLING {
        assert!(!can_read(&format!("/proc/{process}/{file}")).await, "{file}");
    }
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let cores = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(cores.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "{cores}");
    other.kill().await.unwrap();
    client.close();
    child.wait().await.unwrap();
}

#[tokio::test]
async fn state_files_are_private_to_the_user() {
    let settings = json!({ "plan": { "dialect": "tasks", "initialReminder": false } });
    // A small text is in the journal, and no file.
    let large = format!("one\n{}", "two\n".repeat(5_000));
    let test = TestDaemon::with(Wire::Anthropic, &[("a", &large), ("b", "two\n")], settings).await;
    test.editor.will_answer(allow());
    let end = test
        .play([
            call("c1", "TaskCreate", json!({ "subject": "Look" })),
            edit("c2", "a", "one", "1"),
            call("c3", "delete_file", json!({ "path": "b" })),
            bash("c4", "true"),
            say("Done."),
        ])
        .await;
    let params = ExportSessionParams { session_id: end.session_id, format: ExportFormat::Markdown };
    test.editor.request::<ExportSession>(params).await.unwrap();
    let (mut files, mut folders) = (Vec::new(), 0);
    each_file(test.state(), &mut |path| {
        let metadata = fs::symlink_metadata(path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        assert!(!metadata.is_symlink(), "{}", path.display());
        if metadata.is_dir() {
            folders += 1;
            assert_eq!(mode, 0o700, "{}", path.display());
        } else {
            assert_eq!(mode, 0o600, "{}", path.display());
            files.push(path.strip_prefix(test.state()).unwrap().display().to_string());
        }
    });
    for kind in ["sessions", "tasks", "reviews", "texts"] {
        assert!(files.iter().any(|file| file.contains(kind)), "no {kind} in {files:?}");
    }
    assert!(folders > 2);
    test.finish().await;
}
