//! The recipes of docs/editors.md for vim-lsp, yegappan/lsp and coc.nvim, run by Vim with doubles of the
//! plugins, which Debian does not package.

use std::{fs, path::Path, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

const TASK: &str = "add a \"test\" | here";

/// The parts that the recipe below a heading gives to the plugin; nothing where Vim is missing.
#[allow(clippy::print_stderr, reason = "what is skipped is said aloud")]
async fn given(heading: &str) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../docs/editors.md")).unwrap();
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let (_, code) = section.split_once("```vim\n").expect("a recipe");
    let (code, _) = code.split_once("```").expect("its end");
    let folder = tempfile::tempdir().unwrap();
    let (recipe, output) = (folder.path().join("recipe.vim"), folder.path().join("out"));
    fs::write(&recipe, code).unwrap();
    let doubles = root.join("clients/vim");
    #[allow(clippy::disallowed_methods, reason = "a test is not the daemon")]
    let mut vim = Command::new("vim");
    vim.args(["-Nu", "NONE", "-es", "--cmd"])
        .arg(format!("set runtimepath^={}", doubles.display()))
        .arg("-S")
        .arg(doubles.join("scene.vim"))
        .env("CAIRN_TEST_RECIPE", &recipe)
        .env("CAIRN_TEST_OUTPUT", &output)
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let Ok(mut vim) = vim.spawn() else {
        eprintln!("skipped: Vim is not installed (`make clients` does it)");
        return None;
    };
    timeout(Duration::from_secs(30), vim.wait()).await.expect("it ends in time").unwrap();
    let Ok(given) = fs::read_to_string(output) else {
        eprintln!("skipped: this Vim runs no scripts (`make clients` installs one that does)");
        return None;
    };
    Some(serde_json::from_str(&given).unwrap())
}

#[tokio::test]
async fn vim_lsp_recipe_registers_runs_and_shows_the_plan() {
    let Some(given) = given("Vim with vim-lsp").await else { return };
    let command = |name: &str, arguments: Value| json!({ "server_name": "cairn", "command_name": name, "command_args": arguments });
    let sent = [command("cairn.runTask", json!([TASK])), command("cairn.cancel", json!([]))];
    assert_eq!(given["sent"], json!(sent));
    let server = &given["servers"][0];
    assert_eq!((&server["name"], &server["cmd"]), (&json!("cairn"), &json!(["cairn"])));
    let options = &server["initialization_options"];
    assert_eq!(options["settings"]["model"]["provider"], "anthropic");
    assert_eq!(given["messages"], json!(["Cairn: Plan 1/2"]));
}

#[tokio::test]
async fn yegappan_lsp_recipe_adds_the_server_and_runs_a_task() {
    let Some(given) = given("Vim with yegappan/lsp").await else { return };
    let command = |name: &str, arguments: Value| json!({ "command": name, "arguments": arguments });
    let sent = [command("cairn.runTask", json!([TASK])), command("cairn.cancel", json!([]))];
    assert_eq!(given["sent"], json!(sent));
    let server = &given["servers"][0];
    assert_eq!((&server["name"], &server["path"]), (&json!("cairn"), &json!("cairn")));
    let options = &server["initializationOptions"];
    assert_eq!(options["settings"]["model"]["provider"], "anthropic");
}

#[tokio::test]
async fn coc_recipe_runs_a_task() {
    let Some(given) = given("coc.nvim").await else { return };
    let request = |command: Value| json!(["cairn", "workspace/executeCommand", command]);
    let run = json!({ "command": "cairn.runTask", "arguments": [TASK] });
    let sent = [request(run), request(json!({ "command": "cairn.cancel" }))];
    assert_eq!(given["sent"], json!(sent));
}
