//! Emacs with eglot and with lsp-mode, which know nothing of Cairn, by the recipes of docs/editors.md:
//! a task with questions that are answered by Return, by C-g and by a choice; then a rejection.

use std::{fs, path::Path, process::Stdio, time::Duration};

use cairn_tests::lsp_client::binary;
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

/// Bounds an Emacs that hangs; a scene takes a few seconds.
const LIMIT: Duration = Duration::from_secs(60);

fn emacs(arguments: &[&str]) -> Command {
    #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut emacs = Command::new("emacs");
    emacs.args(["--batch", "-f", "package-initialize"]).args(arguments);
    emacs.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    emacs
}

/// The recipe below a heading of the page, with a script in the place of the model.
fn recipe(heading: &str, script: &Path) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/editors.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let (_, code) = section.split_once("```elisp\n").expect("a recipe");
    let (code, _) = code.split_once("```").expect("its end");
    let model = "(:provider \"anthropic\")";
    assert!(code.contains(model), "{code}");
    let replay = format!("(:provider \"replay\" :replayFile \"{}\")", script.display());
    code.replace(model, &replay)
}

#[allow(clippy::print_stderr, reason = "what is skipped is said aloud")]
async fn play(client: &str, heading: &str) {
    let found = emacs(&["--eval", &format!("(require '{client})")]).output().await;
    if !found.is_ok_and(|found| found.status.success()) {
        eprintln!("skipped: Emacs with {client} is not installed (`make clients` does it)");
        return;
    }
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let plan = |status: &str, active: &str| {
        let items = [("Count", "Counting"), ("Check", "Checking")].map(|(content, form)| {
            let status = if form == active { status } else { "pending" };
            json!({ "content": content, "status": status, "activeForm": form })
        });
        call("TodoWrite", json!({ "todos": items }))
    };
    let touch = |name: &str| call("bash", json!({ "command": format!("touch {name}") }));
    let edit = json!({ "path": "open.txt", "old_text": "one two", "new_text": "1 two" });
    let last = json!({ "path": "open.txt", "old_text": "five", "new_text": "5" });
    let steps = json!([
        { "calls": [plan("in_progress", "Counting"), call("read_file", json!({ "path": "open.txt" }))] },
        { "calls": [call("edit_file", edit), call("edit_file", last)] },
        { "calls": [touch("1")] },
        { "calls": [touch("2")] },
        { "calls": [touch("3")] },
        { "calls": [plan("completed", "Counting")] },
        { "text": "It counts in digits now." },
        { "calls": [touch("4")] },
        { "text": "This is never said." },
    ]);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (work, script, recipe_file) = (path("work"), path("script.json"), path("recipe.el"));
    fs::create_dir(&work).unwrap();
    fs::write(work.join("open.txt"), "😀 one two\ntwo\nthree\nfive\n").unwrap();
    fs::write(&script, json!({ "cairnReplay": 1, "steps": steps }).to_string()).unwrap();
    fs::write(&recipe_file, recipe(heading, &script)).unwrap();
    let scene = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("clients/{client}.el"));
    let mut programs = vec![binary().parent().unwrap().to_owned()];
    programs.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut emacs = emacs(&["-l", recipe_file.to_str().unwrap(), "-l", scene.to_str().unwrap()]);
    emacs
        .current_dir(&work)
        .env("PATH", std::env::join_paths(programs).unwrap())
        .env("CAIRN_TEST_FOLDER", format!("{}/", work.display()))
        .env("HOME", folder.path());
    for home in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        emacs.env(home, path(home));
    }
    let output = timeout(LIMIT, emacs.output()).await.expect("it ends in time").unwrap();
    assert!(
        output.status.success(),
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

#[tokio::test]
async fn eglot_recipe_reviews_a_task() {
    play("eglot", "Emacs with eglot").await;
}

#[tokio::test]
async fn lsp_mode_recipe_reviews_a_task() {
    play("lsp-mode", "Emacs with lsp-mode").await;
}
