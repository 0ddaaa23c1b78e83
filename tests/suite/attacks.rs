//! Attacks against the real binary, each a row of a table: by path, command, plan, stream, message
//! and edit, on keys, from untrusted content, and combinations.
//!
//! `cargo test -p cairn-tests --test suite -- attacks::` runs them all. Afterwards the file
//! `target/tmp/attacks.txt` says how many rows were run and how many could not be, and why. Beside
//! the tables stand longer tests of the same promises; some of them have the daemon in process.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use cairn_protocol::{Notice, SandboxKind};
use cairn_tests::{
    editor_double::EditorDouble,
    lsp_client::Daemon,
    model_server::{ModelServer, Response, Wire},
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::fixtures::{call, result, say};

mod allowed_commands;
mod client_messages;
mod combined_attacks;
mod commands;
mod definitions;
mod denied_subcommands;
mod edits;
mod file_names;
mod imitated_marks;
mod instructions;
mod limits;
mod paths;
mod provider_streams;
pub(crate) mod sandbox;
mod secrets;
mod shell_policy;
mod todo;
mod tool_calls;
mod trust;

/// The most memory of a daemon in a row that sets no other limit, in bytes: 150 MB with the code of a
/// release build.
const MOST_MEMORY: u64 = 138_000_000;

/// Rows so far, and those that could not be run here, each with why.
static TALLY: Mutex<(usize, BTreeMap<String, usize>)> = Mutex::new((0, BTreeMap::new()));

/// So many rows of a table were run.
fn ran(rows: usize) {
    tally(|(run, _)| *run += rows);
}

/// So many rows of a table cannot be run on this machine.
fn skipped(rows: usize, why: String) {
    tally(|(_, skipped)| *skipped.entry(why).or_default() += rows);
}

fn tally(change: impl FnOnce(&mut (usize, BTreeMap<String, usize>))) {
    let mut tally = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut tally);
    let (run, reasons) = &*tally;
    let count: usize = reasons.values().sum();
    let why: String = reasons.iter().map(|(why, rows)| format!(" ({rows}: {why})")).collect();
    let line = format!("attacks: {run} run, {count} skipped{why}\n");
    fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/attacks.txt"), line).unwrap();
}

/// Fails with all faults of a table. They are also printed at once, past the harness, so that a log
/// that is cut short holds them.
fn assert_none(faults: &[String]) {
    let faults = faults.join("\n\n");
    if !faults.is_empty() {
        std::io::stderr().write_all(faults.as_bytes()).unwrap();
        panic!("{faults}");
    }
}

/// The real binary between an editor double and a scripted model.
struct AttackTest {
    editor: EditorDouble,
    model: ModelServer,
    /// First workspace folder.
    root: PathBuf,
    roots: Vec<PathBuf>,
    settings: Value,
    _folder: tempfile::TempDir,
    daemon: Daemon,
}

impl AttackTest {
    async fn open(files: &[(&str, &[u8])], settings: Value) -> Self {
        Self::with(Wire::Anthropic, files, settings, |_| {}).await
    }

    async fn with(
        wire: Wire,
        files: &[(&str, &[u8])],
        settings: Value,
        configure: impl FnOnce(&mut Command),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), files);
        Self::within(folder, &[""], wire, settings, configure).await
    }

    /// Opens several folders below one. Files created there exist as long as the test.
    async fn within(
        folder: tempfile::TempDir,
        roots: &[&str],
        wire: Wire,
        mut settings: Value,
        configure: impl FnOnce(&mut Command),
    ) -> Self {
        let top = fs::canonicalize(folder.path()).unwrap();
        // Joining an empty name would add a slash.
        let place = |name: &&str| if name.is_empty() { top.clone() } else { top.join(name) };
        let roots: Vec<PathBuf> = roots.iter().map(place).collect();
        let model = ModelServer::start([]).await;
        if settings.get("model").is_none() {
            settings["model"] = model.settings(wire);
        }
        let daemon = daemon(configure);
        let folders: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        let client = daemon.client.clone();
        let editor = EditorDouble::connect_in(client, &folders, settings.clone()).await;
        let root = roots[0].clone();
        Self { editor, model, root, roots, settings, _folder: folder, daemon }
    }

    /// Runs commands in one way of building a sandbox, or without one (`off`), and keeps state in a
    /// folder of the caller. `None`: that way does not work here.
    async fn boxed(way: &str, files: &[(&str, &[u8])], state: &Path) -> Option<Self> {
        let mode = if way == "off" { "off" } else { "auto" };
        let settings = json!({ "sandbox": { "mode": mode } });
        let test = Self::with(Wire::Anthropic, files, settings, in_way(way, state)).await;
        let known = |notice: &Notice| match notice {
            Notice::Status(status) => status.sandbox.as_ref().map(|sandbox| sandbox.kind),
            _ => None,
        };
        let kind = test.editor.wait_for("status of the sandbox", known).await;
        let expected = match way {
            "off" => SandboxKind::Off,
            "bubblewrap" => SandboxKind::Bubblewrap,
            _ => SandboxKind::Namespaces,
        };
        if kind == expected {
            return Some(test);
        }
        assert!(std::env::var_os("CAIRN_NEEDS_SANDBOX").is_none(), "no sandbox by {way}");
        test.finish();
        None
    }

    /// Kills the daemon and starts another one in its place.
    async fn killed_and_restarted(mut self, way: &str, state: &Path) -> Self {
        self.daemon.kill().await;
        let daemon = daemon(in_way(way, state));
        let folders: Vec<&Path> = self.roots.iter().map(PathBuf::as_path).collect();
        let (client, settings) = (daemon.client.clone(), self.settings.clone());
        let editor = EditorDouble::connect_in(client, &folders, settings).await;
        std::mem::replace(&mut self.editor, editor).abandon();
        self.daemon = daemon;
        self
    }

    /// Makes the model call these tools one after the other in one turn. Returns the result of
    /// each.
    async fn told(&self, calls: impl IntoIterator<Item = (&str, Value)>) -> Vec<String> {
        let mut ids = Vec::new();
        for (tool, arguments) in calls {
            let id = format!("c{}", ids.len());
            self.model.push(Response::reply(call(&id, tool, arguments)));
            ids.push(id);
        }
        self.model.push(Response::reply(say("Done.")));
        self.editor.run("Do it").await;
        let requests = self.model.requests();
        let last = requests.last().unwrap();
        ids.iter().map(|id| result(last, id)).collect()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.root.join(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        Path::exists(&self.root.join(name))
    }

    /// Checks that nothing is left over.
    fn finish(self) {
        self.editor.finish();
        self.model.finish();
    }
}

/// A daemon that no attack may make take much memory.
fn daemon(configure: impl FnOnce(&mut Command)) -> Daemon {
    let mut daemon = Daemon::spawn(configure);
    daemon.limit_memory(MOST_MEMORY);
    daemon
}

fn in_way<'a>(way: &'a str, state: &'a Path) -> impl Fn(&mut Command) + 'a {
    let allowed = if way == "off" { "any" } else { way };
    move |command| {
        command.env("CAIRN_SANDBOX", allowed).env("CAIRN_STATE_DIR", state);
    }
}

fn put(folder: &Path, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
