//! Neovim without a plugin does a task and reviews it, by the script `tests/clients/neovim.lua`.

use std::{fs, path::Path, process::Stdio, time::Duration};

use cairn_tests::lsp_client::binary;
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

use crate::fixtures::wait_until;

/// Bounds a Neovim that hangs; a scene takes a few seconds.
const LIMIT: Duration = Duration::from_secs(60);

async fn play(scene: &str, steps: Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let work = path("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("open.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
    fs::write(work.join("closed.txt"), "uno\ndos\n").unwrap();
    let script = path("script.json");
    fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/neovim.lua");
    #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut nvim = Command::new("nvim");
    nvim.args(["--clean", "--headless", "-c"])
        .arg(format!("luafile {}", scenes.display()))
        .env("CAIRN_TEST_COMMAND", binary())
        .env("CAIRN_TEST_FOLDER", &work)
        .env("CAIRN_TEST_SCRIPT", &script)
        .env("CAIRN_TEST_SCENE", scene)
        .env("HOME", folder.path());
    for home in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        nvim.env(home, path(home));
    }
    nvim.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let nvim = nvim.spawn().expect("Neovim is installed: `make system-packages` does it");
    let output = timeout(LIMIT, nvim.wait_with_output()).await;
    let output = output.expect("it ends in time").expect("it can be waited for");
    assert!(
        output.status.success(),
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let pid = fs::read_to_string(path("pid")).unwrap();
    // One that is over but not yet waited for has no words left in its command line.
    let command_line = Path::new("/proc").join(pid.trim()).join("cmdline");
    wait_until(Duration::from_secs(2), || fs::read(&command_line).unwrap_or_default().is_empty())
        .await;
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn read(path: &str) -> Value {
    call("read_file", json!({ "path": path }))
}

fn edit(path: &str, old_text: &str, new_text: &str) -> Value {
    call("edit_file", json!({ "path": path, "old_text": old_text, "new_text": new_text }))
}

fn plan(status: &str) -> Value {
    let item = json!({
        "content": "Count in digits",
        "status": status,
        "activeForm": "Counting in digits",
    });
    call("TodoWrite", json!({ "todos": [item] }))
}

fn counting() -> Value {
    json!([
        { "calls": [plan("in_progress"), read("open.txt"), read("closed.txt")] },
        { "calls": [edit("open.txt", "one", "1"), edit("open.txt", "five", "5")] },
        { "calls": [edit("closed.txt", "dos", "2"), plan("completed")] },
        { "text": "Both files count in digits now." },
    ])
}

#[tokio::test]
async fn neovim_reviews_with_its_built_in_client() {
    play("review", counting()).await;
}

#[tokio::test]
async fn text_typed_in_neovim_while_an_edit_arrives_is_kept() {
    let steps = json!([
        { "calls": [read("open.txt")] },
        { "calls": [edit("open.txt", "one", "1")] },
        { "calls": [read("open.txt")] },
        { "calls": [edit("open.txt", "one", "1"), edit("open.txt", "five", "5")] },
        { "text": "Both files count in digits now." },
    ]);
    play("typing", steps).await;
}

#[tokio::test]
async fn neovim_asks_before_a_command_runs() {
    let touch = |name: &str| call("bash", json!({ "command": format!("touch {name}") }));
    let steps = json!([
        { "calls": [touch("1")] },
        { "calls": [touch("2")] },
        { "calls": [touch("3")] },
        { "text": "One file was made." },
    ]);
    play("allowing", steps).await;
}

#[tokio::test]
async fn edits_at_the_end_of_a_file_work_in_neovim() {
    let steps = json!([
        { "calls": [read("open.txt")] },
        { "calls": [edit("open.txt", "five\n", "five\nsix\n")] },
        { "text": "Both files count in digits now." },
        { "calls": [edit("open.txt", "five\nsix\n", "five\n")] },
        { "text": "Only to five." },
    ]);
    play("last_line", steps).await;
}
