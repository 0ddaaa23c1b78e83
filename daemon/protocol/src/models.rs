//! Models that can be chosen, and the servers that have them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{ModelInfo, UiMessage};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelsResult {
    pub active: ModelInfo,
    pub providers: Vec<ProviderStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderStatus {
    /// `anthropic`, `openai` or `replay`.
    pub provider: String,
    pub usable: bool,
    /// Reason why it cannot be used now, with the next step; absent when usable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<UiMessage>,
    /// Known model names, best first.
    pub models: Vec<String>,
    /// Origin of its requests (scheme, host and port), for which a newly entered key would be
    /// stored. Empty for a provider without a key.
    pub origin: String,
}

/// Asks a model server for its models, with the stored key for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerModelsParams {
    /// `anthropic` or `openai`: the format of its requests.
    pub provider: String,
    /// Base URL of the server; absent for the vendor's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub base_url: Option<String>,
}

/// Models of a server, or the reason why it named none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerModelsResult {
    /// Origin of the server, for which a key would be stored; empty if the base URL is not usable.
    pub origin: String,
    /// At most 1000, in the order of the server.
    pub models: Vec<ServerModel>,
    /// Reason why there are none, with the next step; absent after an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub problem: Option<UiMessage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerModel {
    pub name: String,
    /// Context window in tokens, if the server or the daemon knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "number")]
    pub context_tokens: Option<u64>,
    /// Present for a model of the vendor whose price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub price: Option<ModelPrice>,
}

/// Price of a model in thousandths of a US dollar per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    #[ts(type = "number")]
    pub input: u64,
    #[ts(type = "number")]
    pub output: u64,
}

/// Checks a model with three small requests: a call, parallel calls, and a request with history.
/// `agent/models/checked` reports each finding as it comes; cancelling the request ends the check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CheckModelParams {
    /// Chosen by the client, for the notifications.
    pub check_id: String,
    /// `anthropic` or `openai`: the format of its requests. Absent: the model of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub server: Option<ServerModelsParams>,
    /// Name of the model; absent for the model of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CheckModelResult {
    /// One for each part of the work with a model, in the order of a table.
    pub rows: Vec<ModelCheckRow>,
}

/// Findings of a check so far. A part without one yet is `not_checked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelCheckNotification {
    pub check_id: String,
    pub rows: Vec<ModelCheckRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelCheckRow {
    pub part: UiMessage,
    pub state: UiMessage,
    pub finding: UiMessage,
}
