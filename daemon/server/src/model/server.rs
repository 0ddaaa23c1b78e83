//! Lists of models from model servers: `GET /v1/models`.
//!
//! Formats: <https://docs.anthropic.com/en/api/models-list>,
//! <https://platform.openai.com/docs/api-reference/models/list>. Other servers add the size of the
//! context window under their own names.

use std::time::Duration;

use cairn_core::model::Failure;
use cairn_protocol::{ModelPrice, ServerModel};
use serde_json::Value;

use super::{
    client::{Format, ServerConfig},
    encoding::protocol,
    http::{Endpoint, Patience},
    window::{self, ContextSettings},
};

/// Most models of a list.
const MOST_MODELS: usize = 1_000;
/// Longest name of a model, in characters.
const MOST_NAME_CHARS: usize = 200;
/// Time limit for a connection on this machine, where a server answers at once or is not there.
const LOCAL_CONNECT: Duration = Duration::from_secs(2);
/// Time limit for the answer.
const ANSWER: Duration = Duration::from_secs(20);

/// Fields in which servers state the context window: OpenRouter, vLLM, LM Studio, Groq, Anthropic.
const WINDOW_FIELDS: [&str; 5] =
    ["context_length", "max_model_len", "max_context_length", "context_window", "max_input_tokens"];

/// Server that is asked for its models.
pub struct ModelServer {
    endpoint: Endpoint,
    /// True for a server that is not the vendor's: known prices do not apply.
    own: bool,
}

impl ModelServer {
    pub(super) fn new(format: Format, mut config: ServerConfig) -> Self {
        let own = !format.is_official(&config.base_url);
        let usual = Patience::default().connect;
        let connect = if config.base_url.is_loopback() { LOCAL_CONNECT } else { usual };
        config.patience = Patience { connect, idle: ANSWER };
        Self { endpoint: format.endpoint(config, "models"), own }
    }

    /// Asks for the list. Fails if the server refuses, cannot be reached, or sends something else.
    pub async fn models(self) -> Result<Vec<ServerModel>, Failure> {
        let answer = self.endpoint.get().await?;
        read(&answer, self.own).ok_or_else(|| protocol("the answer is no list of models"))
    }
}

/// Models of an answer. Entries without a usable name are left out.
fn read(answer: &Value, own: bool) -> Option<Vec<ServerModel>> {
    let entries = answer.get("data")?.as_array()?;
    Some(entries.iter().filter_map(|entry| model(entry, own)).take(MOST_MODELS).collect())
}

fn model(entry: &Value, own: bool) -> Option<ServerModel> {
    let name = entry.get("id")?.as_str()?;
    let usable = !name.is_empty()
        && name.chars().count() <= MOST_NAME_CHARS
        && !name.chars().any(char::is_control);
    let stated = WINDOW_FIELDS.iter().find_map(|field| entry.get(field)?.as_u64());
    let price = window::price(name, &ContextSettings::default(), own);
    usable.then(|| ServerModel {
        name: name.to_owned(),
        context_tokens: stated.or_else(|| window::known(name)),
        price: price.map(|it| ModelPrice { input: it.input, output: it.output }),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_has_names_windows_and_prices() {
        let answer = json!({ "object": "list", "data": [
            { "id": "gpt-5.5", "object": "model" },
            { "id": "qwen/coder", "context_length": 262_144 },
            { "id": "mine", "max_model_len": 8_192 },
            { "id": "unheard-of" },
            { "id": "" }, { "id": 7 }, "gpt-5.5", { "id": "a\u{1b}[2J" }, { "id": "x".repeat(201) },
        ] });
        let models = read(&answer, false).unwrap();
        let facts: Vec<_> =
            models.iter().map(|it| (&*it.name, it.context_tokens, it.price)).collect();
        let price = Some(ModelPrice { input: 5_000, output: 30_000 });
        assert_eq!(
            facts,
            [
                ("gpt-5.5", Some(272_000), price),
                ("qwen/coder", Some(262_144), None),
                ("mine", Some(8_192), None),
                ("unheard-of", None, None),
            ]
        );
        assert!(read(&answer, true).unwrap().iter().all(|it| it.price.is_none()));
    }

    #[test]
    fn a_list_is_bounded_and_another_answer_is_none() {
        let many: Vec<_> = (0..3_000).map(|n| json!({ "id": format!("m{n}") })).collect();
        assert_eq!(read(&json!({ "data": many }), true).unwrap().len(), MOST_MODELS);
        for other in [json!([]), json!({ "data": {} }), json!("models"), json!({})] {
            assert_eq!(read(&other, true), None);
        }
    }
}
