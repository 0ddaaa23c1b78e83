//! Models that can be chosen, and the servers that have them.

use macro_rules_attribute::apply;

use crate::{ModelInfo, UiMessage};

#[apply(wire)]
pub struct ModelsResult {
    pub active: ModelInfo,
    pub providers: Vec<ProviderStatus>,
}

#[apply(wire)]
pub struct ProviderStatus {
    /// `anthropic`, `openai` or `replay`.
    pub provider: String,
    pub usable: bool,
    /// Reason why it cannot be used now, with the next step; absent when usable.
    pub problem: Option<UiMessage>,
    /// Known model names, best first.
    pub models: Vec<String>,
    /// Origin of its requests (scheme, host and port), for which a newly entered key would be
    /// stored. Empty for a provider without a key.
    pub origin: String,
}

/// Asks a model server for its models, with the stored key for it.
#[apply(wire)]
#[derive(Default)]
pub struct ServerModelsParams {
    /// `anthropic` or `openai`: the format of its requests.
    pub provider: String,
    /// Base URL of the server; absent for the vendor's own.
    pub base_url: Option<String>,
}

/// Models of a server, or the reason why it named none.
#[apply(wire)]
#[derive(Default)]
pub struct ServerModelsResult {
    /// Origin of the server, for which a key would be stored; empty if the base URL is not usable.
    pub origin: String,
    /// At most 1000, in the order of the server.
    pub models: Vec<ServerModel>,
    /// Reason why there are none, with the next step; absent after an answer.
    pub problem: Option<UiMessage>,
}

#[apply(wire)]
pub struct ServerModel {
    pub name: String,
    /// Context window in tokens, if the server or the daemon knows it.
    #[ts(optional, type = "number")]
    pub context_tokens: Option<u64>,
    /// Present for a model of the vendor whose price is known.
    pub price: Option<ModelPrice>,
}

/// Price of a model in thousandths of a US dollar per million tokens.
#[apply(wire)]
#[derive(Copy)]
pub struct ModelPrice {
    #[ts(type = "number")]
    pub input: u64,
    #[ts(type = "number")]
    pub output: u64,
}

/// Checks a model with three small requests: a call, parallel calls, and a request with history.
/// `agent/models/checked` reports each finding as it comes; cancelling the request ends the check.
#[apply(wire)]
#[derive(Default)]
pub struct CheckModelParams {
    /// Chosen by the client, for the notifications.
    pub check_id: String,
    /// `anthropic` or `openai`: the format of its requests. Absent: the model of the settings.
    pub server: Option<ServerModelsParams>,
    /// Name of the model; absent for the model of the settings.
    pub name: Option<String>,
}

#[apply(wire)]
#[derive(Default)]
pub struct CheckModelResult {
    /// One for each part of the work with a model, in the order of a table.
    pub rows: Vec<ModelCheckRow>,
}

/// Findings of a check so far. A part without one yet is `not_checked`.
#[apply(wire)]
pub struct ModelCheckNotification {
    pub check_id: String,
    pub rows: Vec<ModelCheckRow>,
}

#[apply(wire)]
pub struct ModelCheckRow {
    pub part: UiMessage,
    pub state: UiMessage,
    pub finding: UiMessage,
}
