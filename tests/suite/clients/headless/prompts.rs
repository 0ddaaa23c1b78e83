//! System prompt of a run: its reader, the options and the project; results where an option is missing.

use cairn_tests::model_server::{ModelServer, Reply, Response};

use super::*;

/// Runs a task with these options against a model server, and returns the requests.
async fn requests(options: &[&str], replies: Vec<Reply>) -> Vec<Value> {
    let run = Run::new(json!([]));
    let work = run.folder.path().join("work");
    fs::create_dir(work.join(".git")).unwrap();
    fs::write(work.join(".git/HEAD"), "ref: refs/heads/fix/cart\n").unwrap();
    fs::write(work.join("package.json"), r#"{"scripts": {"test": "node --test"}}"#).unwrap();
    let model = ModelServer::start(replies.into_iter().map(Response::reply)).await;
    fs::create_dir(run.folder.path().join("config")).unwrap();
    let settings = format!("[model]\nbaseUrl = \"{}\"\nname = \"mine\"\n", model.base_url());
    fs::write(run.folder.path().join("config/config.toml"), settings).unwrap();
    let words = ["run", "Do it", "--workspace", work.to_str().unwrap()];
    let arguments: Vec<String> =
        words.iter().chain(options).map(|word| (*word).to_owned()).collect();
    run.told(&arguments).await;
    model.finish().iter().map(|request| request.json()).collect()
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

#[tokio::test]
async fn the_agent_knows_its_reader_its_options_and_the_project() {
    let asked = requests(&["--yes", "--allow-network"], vec![Reply::text("Done.")]).await;
    let prompt = system(&asked[0]);
    for words in [
        "No editor is open",
        "in a sandbox with the network where a call asks for it",
        "Nobody answers while you work",
        "Git branch: fix/cart",
        "Scripts (npm run): test",
        "Top of the tree: a.txt, package.json",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
}

#[tokio::test]
async fn a_missing_option_is_no_refusal_of_the_user() {
    let call = Reply::text("").call("c1", "bash", json!({ "command": "npm test" }));
    let asked = requests(&[], vec![call, Reply::text("Not allowed.")]).await;
    let told = asked[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("This run may not do this; nothing was run"), "{told}");
    assert!(told.contains("--yes") && !told.contains("The user"), "{told}");
}

#[tokio::test]
async fn a_subagent_is_told_what_it_can_do() {
    let task = |tools: &str| {
        let call = json!({ "description": "Look", "prompt": "Look.", "tools": tools });
        Reply::text("").call("c1", "task", call)
    };
    for (tools, can) in
        [("read", "You cannot change them"), ("all", "change files, and run commands")]
    {
        let replies = vec![task(tools), Reply::text("Seen."), Reply::text("Done.")];
        let asked = requests(&[], replies).await;
        let prompt = system(&asked[1]);
        assert!(prompt.contains("You are a subagent") && prompt.contains(can), "{prompt}");
        assert!(!prompt.contains("terminal"), "{prompt}");
    }
}
