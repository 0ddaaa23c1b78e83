//! `cairn models check`: the table and the exit codes.

use cairn_core::model::Usage;
use cairn_tests::model_server::{ModelServer, Reply, Response};

use super::*;

#[tokio::test]
async fn a_model_is_checked_in_a_table() {
    let run = Run::new(json!([]));
    let model = ModelServer::start([]).await;
    let call = |id: &str, a: u32| {
        Reply::text("I add.").call(id, "add", json!({ "a": a, "b": 3 })).usage(Usage {
            input_tokens: 90,
            output_tokens: 12,
            cached_tokens: 0,
        })
    };
    let written = Reply::text("<tool_call>\n{\"name\": \"add\"}\n</tool_call>");
    let last = || Reply::text("The tool added two and three, and five came out.");
    let base = model.base_url();
    fs::create_dir(run.folder.path().join("config")).unwrap();
    let settings = format!("[model]\nbaseUrl = \"{base}\"\nname = \"mine\"\n");
    fs::write(run.folder.path().join("config/config.toml"), settings).unwrap();

    for reply in [call("c1", 2), call("c2", 2), last()] {
        model.push(Response::reply(reply));
    }
    let check = ["models", "check"].map(str::to_owned);
    let told = run.told(&check).await;
    assert_eq!((told.code, told.err.as_str()), (Some(0), "Asking mine: three small requests…\n"));
    let timed = told.out.split_once(" took ").unwrap();
    let out = format!("{} took …\n{}", timed.0, timed.1.split_once('\n').unwrap().1);
    expect![[r#"
        works    Answers                the first answer took …
        works    Calls tools            the call is complete
        limited  Several calls at once  one call in each answer
        works    Second request         the server accepts its own answers
        works    Streams its answers    the text comes in pieces
        works    Counts tokens          90 in, 12 out for the first request
        works    Form of requests       as usual
        limited  Context window         not known; Cairn assumes 32000 tokens. model.contextTokens in config.toml sets the size
    "#]]
    .assert_eq(&out);

    for reply in [written, call("c2", 2), last()] {
        model.push(Response::reply(reply));
    }
    let told = run.told(&check).await;
    assert_eq!(told.code, Some(1));
    assert!(
        told.out.contains("broken   Calls tools            the call came as text"),
        "{}",
        told.out
    );

    model.push(Response::error(401, "auth", "no such key"));
    let told = run.told(&check).await;
    assert_eq!(told.code, Some(1));
    assert!(told.out.starts_with("broken   Answers"), "{}", told.out);
    assert_eq!(model.finish().len(), 7);

    fs::remove_file(run.folder.path().join("config/config.toml")).unwrap();
    let told = run.told(&check).await;
    assert!(told.code == Some(2) && told.err.contains("no model can be used"), "{}", told.err);
}
