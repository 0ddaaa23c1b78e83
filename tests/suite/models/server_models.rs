//! Lists of models, asked of model servers.

use cairn_protocol::{ServerModels, ServerModelsParams, ServerModelsResult};
use serde_json::json;

use crate::fixtures::*;
use cairn_tests::model_server::{Response, Wire};

const KEY: &str = "key-of-the-tests";

async fn ask(test: &TestDaemon, provider: &str, base_url: &str) -> ServerModelsResult {
    let base_url = Some(base_url.to_owned());
    let params = ServerModelsParams { provider: provider.into(), base_url };
    test.editor.request::<ServerModels>(params).await.unwrap()
}

#[tokio::test]
async fn a_server_is_asked_for_its_models_with_its_own_key() {
    for (provider, header, value) in [
        ("openai", "authorization", format!("Bearer {KEY}")),
        ("anthropic", "x-api-key", KEY.to_owned()),
    ] {
        let test = TestDaemon::open(Wire::OpenAi, &[]).await;
        let base = test.model.base_url();
        let key = json!({ "provider": provider, "key": KEY, "origin": base });
        test.editor.client.notify("agent/credentials", key);
        let list = json!({ "data": [{ "id": "one", "context_length": 8_192 }, { "id": "two" }] });
        test.model.push(Response::raw(200, "application/json", list.to_string()));
        let told = ask(&test, provider, &base).await;
        assert_eq!((told.origin.as_str(), told.problem), (base.as_str(), None));
        let names: Vec<_> =
            told.models.iter().map(|it| (it.name.as_str(), it.context_tokens)).collect();
        assert_eq!(names, [("one", Some(8_192)), ("two", None)]);
        let [request] = &test.finish().await[..] else { panic!("one request") };
        assert_eq!(request.path, "/v1/models");
        assert_eq!(request.header(header), Some(value.as_str()));
    }
}

#[tokio::test]
async fn a_list_that_does_not_come_has_a_reason_without_the_key() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let base = test.model.base_url();
    let key = json!({ "provider": "openai", "key": KEY, "origin": base });
    test.editor.client.notify("agent/credentials", key);
    let cases = [
        (Response::error(401, "auth", &format!("no such key: {KEY}")), "key_rejected"),
        (Response::error(404, "none", "no such page"), "model_not_found"),
        (Response::raw(200, "text/html", "<html>"), "model_address"),
        (Response::raw(200, "application/json", "{}"), "answer_invalid"),
        (Response::raw(200, "application/json", " ".repeat(9 << 20)), "answer_invalid"),
        (
            Response::raw(302, "text/html", "").header("location", "http://localhost:1/"),
            "model_redirected",
        ),
    ];
    for (response, code) in cases {
        test.model.push(response);
        let told = ask(&test, "openai", &base).await;
        let shown = serde_json::to_value(&told).unwrap();
        assert_eq!(shown["problem"]["code"], code, "{shown}");
        assert!(told.models.is_empty(), "{shown}");
        assert!(!shown.to_string().contains(KEY), "{shown}");
    }
    test.finish().await;
}

#[tokio::test]
async fn no_server_is_asked_without_a_key_or_at_an_address_that_is_not_secure() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    for (provider, base, code, origin) in [
        ("openai", "https://models.invalid/v1", "no_api_key", "https://models.invalid"),
        ("openai", "http://models.invalid/v1", "model_address", ""),
        ("openai", "nonsense", "model_address", ""),
        ("anthropic", "https://models.invalid", "no_api_key", "https://models.invalid"),
        ("replay", "https://models.invalid", "model_unusable", "https://models.invalid"),
        ("other", "https://models.invalid", "model_unusable", ""),
    ] {
        let told = ask(&test, provider, base).await;
        let shown = serde_json::to_value(&told).unwrap();
        assert_eq!(shown["problem"]["code"], code, "{provider} {base}: {shown}");
        if code != "model_unusable" {
            assert_eq!(told.origin, origin);
        }
    }
    assert!(test.finish().await.is_empty());
}
