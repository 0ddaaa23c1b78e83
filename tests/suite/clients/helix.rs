//! Helix, which knows nothing of Cairn, by the recipe of docs/editors.md: a task from a selection,
//! its plan, questions that are denied, dismissed and allowed, an acceptance, a rejection, a cancel.
//! Helix 25.01 does not know `window/showMessageRequest`; later ones do. `CAIRN_TEST_HELIX` names
//! the program, else it is `hx` or `helix` of the PATH.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use cairn_tests::lsp_client::binary;
use serde_json::{Value, json};

use crate::fixtures::wait_until;

const LIMIT: Duration = Duration::from_secs(30);

/// A terminal with Helix in it: tmux on a socket of its own.
struct Screen {
    folder: tempfile::TempDir,
}

impl Screen {
    fn tmux(&self, arguments: &[&str]) -> Output {
        #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
        let mut tmux = std::process::Command::new("tmux");
        tmux.arg("-S").arg(self.folder.path().join("tmux")).args(["-f", "/dev/null"]);
        tmux.args(arguments).env("TERM", "xterm-256color").output().expect("tmux runs")
    }

    fn text(&self) -> String {
        let shown = self.tmux(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    /// Types keys by tmux's names of them.
    fn keys(&self, keys: &[&str]) {
        let typed = self.tmux(&[&["send-keys"], keys].concat());
        assert!(typed.status.success(), "{typed:?}");
    }

    fn line(&self, text: &str) {
        self.keys(&[":"]);
        self.tmux(&["send-keys", "-l", text]);
        self.keys(&["Enter"]);
    }

    #[allow(clippy::print_stderr, reason = "says what the screen showed when it fails")]
    async fn shows(&self, text: &str) {
        let waiting = wait_until(LIMIT, || self.text().contains(text));
        if tokio::time::timeout(LIMIT - Duration::from_secs(1), waiting).await.is_err() {
            let log = self.folder.path().join(".cache/helix/helix.log");
            let log = fs::read_to_string(log).unwrap_or_default();
            let log: Vec<_> = log.lines().rev().take(20).collect();
            eprintln!("{}\n{}", self.text(), log.join("\n"));
            panic!("not on the screen: {text}");
        }
    }

    async fn shows_no_more(&self, text: &str) {
        wait_until(LIMIT, || !self.text().contains(text)).await;
    }

    /// Opens the menu of code actions and takes the entry at `place`, when `text` is shown.
    async fn action(&self, text: &str, place: usize) {
        self.keys(&["Space", "a"]);
        self.shows(text).await;
        let down = vec!["Down"; place];
        self.keys(&[down.as_slice(), &["Enter"]].concat());
        self.shows_no_more(text).await;
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn version(helix: &Path) -> Option<String> {
    #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let said = std::process::Command::new(helix).arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    Some(said.strip_prefix("helix ")?.trim().to_owned())
}

/// The files of the recipe, with a script in the place of the model.
fn recipe(script: &Path) -> [String; 2] {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/editors.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## Helix\n").expect("the heading");
    let mut blocks = section.split("```toml\n").skip(1);
    let mut block = || blocks.next().and_then(|it| it.split_once("```")).expect("a recipe").0;
    let (languages, config) = (block(), block());
    let model = "provider = \"anthropic\"";
    assert!(languages.contains(model), "{languages}");
    let replay = format!("provider = \"replay\", replayFile = \"{}\"", script.display());
    [languages.replace(model, &replay), config.to_owned()]
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn plan(status: &str, active: &str) -> Value {
    let item = json!({ "content": active, "status": status, "activeForm": active });
    call("TodoWrite", json!({ "todos": [item] }))
}

fn steps() -> Value {
    let run = |command: &str| call("bash", json!({ "command": command }));
    let edit = |old: &str, new: &str| {
        call("edit_file", json!({ "path": "open.py", "old_text": old, "new_text": new }))
    };
    json!([
        { "calls": [plan("in_progress", "Counting in digits"), call("read_file", json!({ "path": "open.py" }))] },
        // The plan is to be seen for a while.
        { "text": "I count.", "chunkChars": 0, "delayMs": 1500,
          "calls": [edit("one two", "1 two"), edit("five", "5")] },
        { "calls": [run("touch 1")] },
        { "expect": { "lastContains": ["declined"] }, "calls": [run("touch 2")] },
        { "expect": { "lastContains": ["declined"] }, "calls": [run("touch 3")] },
        { "calls": [plan("completed", "Counting in digits")] },
        { "text": "It counts in digits now." },
    ])
}

#[tokio::test]
#[allow(clippy::print_stderr, reason = "what is skipped is said aloud")]
async fn helix_recipe_reviews_a_task() {
    let named = std::env::var_os("CAIRN_TEST_HELIX").map(PathBuf::from);
    let programs = named.map_or(vec!["hx".into(), "helix".into()], |named| vec![named]);
    let found = programs.iter().find_map(|it| Some((it, version(it)?)));
    let Some((helix, version)) = found else {
        eprintln!("skipped: Helix is not installed (`make clients` does it where Debian has it)");
        return;
    };
    let screen = Screen { folder: tempfile::tempdir().unwrap() };
    let path = |name: &str| screen.folder.path().join(name);
    let (work, config, script) = (path("work"), path("config/helix"), path("script.json"));
    fs::create_dir_all(work.join(".git")).unwrap();
    fs::create_dir_all(&config).unwrap();
    fs::write(work.join("open.py"), "# 😀 one two\n# two\n# three\n# four\n# five\n").unwrap();
    let slow = [
        json!({ "calls": [plan("in_progress", "Thinking")] }),
        json!({ "text": "This is never said.", "chunkChars": 0, "delayMs": 60_000 }),
    ];
    let subagents = json!([{ "prompt": "# five", "steps": slow }]);
    let played = json!({ "cairnReplay": 1, "steps": steps(), "subagents": subagents });
    fs::write(&script, played.to_string()).unwrap();
    let [languages, settings] = recipe(&script);
    fs::write(config.join("languages.toml"), languages).unwrap();
    fs::write(config.join("config.toml"), settings).unwrap();
    let programs = binary().parent().unwrap().display().to_string();
    let home = screen.folder.path().display();
    let homes = format!(
        "HOME={home} XDG_CONFIG_HOME={home}/config XDG_CACHE_HOME={home}/.cache \
         XDG_STATE_HOME={home}/state XDG_DATA_HOME={home}/data"
    );
    let start = format!(
        "cd {} && {homes} PATH={programs}:$PATH {} -v open.py",
        work.display(),
        helix.display()
    );
    let started = screen.tmux(&["new-session", "-d", "-x", "120", "-y", "40", &start]);
    if !started.status.success() {
        eprintln!("skipped: tmux does not run ({started:?})");
        return;
    }
    // Helix shows the first message of a server that is ready.
    screen.shows("No model is configured").await;
    screen.keys(&["x"]);
    screen.action("Run the selected text as a task", 0).await;
    screen.shows("0/1 Counting in digits").await;

    if version.starts_with("25.01") {
        // Return takes the first answer.
        screen.shows("Run a command: touch 1. Answer with a code action").await;
        screen.action("Deny: Run a command: touch 1", 0).await;
        screen.shows("Run a command: touch 2. Answer with a code action").await;
        screen.line("lsp-workspace-command cairn.deny");
        screen.shows("Run a command: touch 3. Answer with a code action").await;
        screen.action("Allow once: Run a command: touch 3", 1).await;
    } else {
        screen.shows("touch 1").await;
        screen.keys(&["Enter"]);
        screen.shows("touch 2").await;
        screen.keys(&["Escape"]);
        screen.shows("touch 3").await;
        screen.keys(&["Down", "Enter"]);
    }
    screen.shows("It counts in digits now.").await;
    let made = ["1", "2", "3"].map(|name| work.join(name).exists());
    assert_eq!(made, [false, false, true], "the command that was allowed, and no other");

    screen.keys(&["g", "g"]);
    screen.action("Accept the change at line 1", 0).await;
    screen.keys(&["g", "e"]);
    screen.action("Reject the change at line 5", 1).await;
    screen.shows("# five").await;
    screen.line("w");
    let decided = "# 😀 1 two\n# two\n# three\n# four\n# five\n";
    let disk = || fs::read_to_string(work.join("open.py")).unwrap();
    wait_until(LIMIT, || disk() == decided).await;

    // Another task, whose model takes its time.
    screen.keys(&["x"]);
    screen.action("Run the selected text as a task", 0).await;
    screen.shows("0/1 Thinking").await;
    screen.line("lsp-workspace-command cairn.cancel");
    screen.shows("Stopped.").await;
    screen.line("q!");
    wait_until(LIMIT, || !screen.tmux(&["has-session"]).status.success()).await;
}
