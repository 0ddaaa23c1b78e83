//! Addresses of model servers as people have them: with the name of an endpoint, a host in a container.

use cairn_protocol::{EndReason, RunTask, RunTaskParams, ServerModels, ServerModelsParams};
use cairn_tests::model_server::{Response, Wire};
use serde_json::{Value, json};

use crate::fixtures::*;

const KEY: &str = "key-of-the-tests";

fn choose(test: &TestDaemon, model: Value) {
    let settings = json!({ "settings": { "cairn": { "model": model } } });
    test.editor.client.notify("workspace/didChangeConfiguration", settings);
}

fn server(base: &str) -> Value {
    json!({ "provider": "openai", "baseUrl": base, "name": "m" })
}

#[tokio::test]
async fn a_pasted_endpoint_is_the_server_for_tasks_and_lists() {
    for end in ["", "/v1", "/v1/", "/v1/chat/completions", "/v1/models", "/v1/responses", "/v1/v1"]
    {
        let test = TestDaemon::open(Wire::OpenAi, &[]).await;
        let base = format!("{}{end}", test.model.base_url());
        choose(&test, server(&base));
        let done = test.play([say("Done.")]).await;
        assert_eq!(done.reason, EndReason::Completed, "{end}: {}", done.summary);
        let list = json!({ "data": [{ "id": "one" }] }).to_string();
        test.model.push(Response::raw(200, "application/json", list));
        let params = ServerModelsParams { provider: "openai".into(), base_url: Some(base) };
        let told = test.editor.request::<ServerModels>(params).await.unwrap();
        assert_eq!(told.models.len(), 1, "{end}: {:?}", told.problem);
        let paths: Vec<_> = test.finish().await.iter().map(|it| it.path.clone()).collect();
        assert_eq!(paths, ["/v1/chat/completions", "/v1/models"], "{end}");
    }
}

#[tokio::test]
async fn an_address_that_is_not_there_is_shown_whole() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let base = format!("{}/openai", test.model.base_url());
    choose(&test, server(&base));
    test.model.push(Response::raw(404, "text/plain", "not found"));
    let end = test.editor.run("Do it").await;
    assert_eq!(end.reason, EndReason::Failed);
    assert!(end.summary.contains(&format!("{base}/chat/completions")), "{}", end.summary);
    assert_eq!(test.model.violations(), ["request 1: no such path: /openai/chat/completions"]);
}

/// The address 0.0.0.0 leads to this machine, but does not say so.
#[tokio::test]
async fn a_named_host_is_asked_without_encryption_and_without_an_inherited_key() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let base = test.model.base_url().replace("127.0.0.1", "0.0.0.0");
    choose(&test, server(&base));
    let params = RunTaskParams { text: "Do it".into(), ..RunTaskParams::default() };
    let refused = test.editor.request::<RunTask>(params).await.unwrap_err();
    assert!(refused.to_string().contains("cairn.model.plainHttpHosts"), "{refused}");
    let mut model = server(&base);
    model["plainHttpHosts"] = json!(["0.0.0.0"]);
    // A key for another server stays there.
    let other = json!({ "provider": "openai", "key": KEY, "origin": "https://example.com" });
    test.editor.client.notify("agent/credentials", other);
    choose(&test, model);
    let end = test.play([say("Done.")]).await;
    assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
    // One that the user entered for this server goes there.
    let own = json!({ "provider": "openai", "key": KEY, "origin": base });
    test.editor.client.notify("agent/credentials", own);
    test.play_on(&end.session_id, [say("Again.")]).await;
    let requests = test.finish().await;
    let sent: Vec<_> = requests.iter().map(|request| request.header("authorization")).collect();
    assert_eq!(sent, [None, Some(format!("Bearer {KEY}").as_str())]);
}
