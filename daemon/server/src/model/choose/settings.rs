//! Settings that decide about the provider.

use std::path::PathBuf;

use serde::Deserialize;

use super::super::window::ContextSettings;

/// Values of the `cairn.model.*` settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelSettings {
    pub provider: ProviderChoice,
    pub api: ApiChoice,
    pub name: Option<String>,
    pub base_url: Option<String>,
    /// Hosts that may be asked by plain HTTP.
    pub plain_http_hosts: Vec<String>,
    pub max_tokens: Option<u32>,
    pub replay_file: Option<PathBuf>,
    pub context: ContextSettings,
}

/// Value of `cairn.model.provider`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderChoice {
    #[default]
    Auto,
    Anthropic,
    OpenAi,
    Replay,
}

impl ProviderChoice {
    /// The value with this name in the settings.
    pub fn named(word: &str) -> Option<Self> {
        serde_json::from_value(word.into()).ok()
    }
}

/// Value of `cairn.model.api`: the format of requests to an OpenAI server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApiChoice {
    /// Responses for OpenAI's own servers, Chat Completions for all others.
    #[default]
    Auto,
    Chat,
    Responses,
}
