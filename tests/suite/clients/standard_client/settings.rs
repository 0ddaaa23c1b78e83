//! Settings in every form in which real standard clients send them.

use serde_json::{Value, json};

use super::StandardClient;

/// An editor whose settings name the model `first`.
async fn started(workspace: Value) -> StandardClient {
    let (plain, _) = StandardClient::open(json!({ "workspace": workspace }), json!([])).await;
    plain.configure(json!({ "settings": { "cairn": section("first") } }));
    plain
}

impl StandardClient {
    /// The model of the newest settings, once all that came before is done.
    async fn model(&self) -> String {
        let models = self.client.request("agent/models", json!({})).await.unwrap();
        models["active"]["name"].as_str().unwrap().to_owned()
    }

    fn configure(&self, params: Value) {
        self.client.notify("workspace/didChangeConfiguration", params);
    }

    /// Answers the next question for the settings.
    async fn answers(&self, section: &Value) {
        let question = self.client.server_request("workspace/configuration").await;
        assert_eq!(question["params"], json!({ "items": [{ "section": "cairn" }] }));
        self.client.respond(&question["id"], section.clone());
    }
}

/// A section that names a model of a server of the user's own.
fn section(model: &str) -> Value {
    json!({ "model": { "provider": "openai", "name": model, "baseUrl": "http://127.0.0.1:9/v1" } })
}

#[tokio::test(start_paused = true)]
async fn settings_without_the_cairn_section_change_nothing() {
    for (client, params) in [
        ("eglot without eglot-workspace-configuration", json!({ "settings": {} })),
        ("eglot for other servers", json!({ "settings": { "pylsp": { "plugins": {} } } })),
        ("Helix with other options", json!({ "settings": { "trusted": true } })),
        ("Helix, coc.nvim without a configuration", json!({ "settings": null })),
        ("coc.nvim without settings", json!({})),
        ("lsp-mode without registered settings", json!({ "settings": { "cairn": null } })),
        ("Neovim with an empty table", json!({ "settings": { "cairn": [] } })),
        ("vim-lsp with an empty list", json!({ "settings": [] })),
        (
            "a whole configuration of an editor",
            json!({ "settings": { "trace": "off", "plan": 1 } }),
        ),
    ] {
        let plain = started(json!({})).await;
        plain.configure(params);
        assert_eq!(plain.model().await, "first", "{client}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_cairn_section_is_found_in_every_form_of_settings() {
    let model = section("mine")["model"].clone();
    for (client, settings) in [
        ("Neovim, eglot, lsp-mode, vim-lsp, yegappan/lsp", json!({ "cairn": section("mine") })),
        ("eglot for several servers", json!({ "pylsp": {}, "cairn": section("mine") })),
        ("coc.nvim: languageserver.cairn.settings", section("mine")),
        (
            "Helix, whose config is also initializationOptions",
            json!({ "settings": section("mine") }),
        ),
        ("Helix with a section", json!({ "settings": { "cairn": section("mine") } })),
        (
            "dotted keys of VS Code",
            json!({
                "cairn.model.provider": "openai",
                "cairn.model": { "name": "mine", "baseUrl": model["baseUrl"] },
            }),
        ),
        (
            "dotted keys of the section",
            json!({ "model.provider": "openai", "model.name": "mine", "model.baseUrl": model["baseUrl"] }),
        ),
    ] {
        let plain = started(json!({})).await;
        plain.configure(json!({ "settings": settings }));
        assert_eq!(plain.model().await, "mine", "{client}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_supports_workspace_configuration_is_asked() {
    let asking = || json!({ "configuration": true, "didChangeConfiguration": { "dynamicRegistration": true } });
    for (client, answer, counts) in [
        ("lsp-mode, Helix, coc.nvim", json!([section("mine")]), true),
        ("eglot, where nothing is set", json!([null]), false),
        ("lsp-mode, where nothing is set", json!([{}]), false),
        ("one that does not understand", json!([]), false),
        ("one that answers with something else", json!({ "cairn": {} }), false),
    ] {
        let plain = started(asking()).await;
        let registered = plain.client.server_request("client/registerCapability").await;
        let registration = &registered["params"]["registrations"][0];
        assert_eq!(registration["method"], "workspace/didChangeConfiguration");
        assert_eq!(registration["registerOptions"], json!({ "section": "cairn" }));
        plain.client.respond_error(&registered["id"], -32601, "not here");
        // At first, and when the news is only that there are news.
        plain.answers(&answer).await;
        plain.configure(json!({ "settings": null }));
        plain.answers(&answer).await;
        if counts {
            while plain.model().await != "mine" {}
        } else {
            assert_eq!(plain.model().await, "first", "{client}");
        }
        // What is pushed is not asked for.
        plain.configure(json!({ "settings": { "cairn": section("mine") } }));
        assert_eq!(plain.model().await, "mine", "{client}");
        assert_eq!(plain.heard("workspace/configuration"), 0, "{client}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_workspace_configuration_is_not_asked() {
    let plain = started(json!({})).await;
    plain.configure(json!({ "settings": null }));
    assert_eq!(plain.model().await, "first");
    assert_eq!(plain.heard("workspace/configuration"), 0);
}
