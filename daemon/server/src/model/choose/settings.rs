//! Settings that decide about the provider.

use std::path::PathBuf;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProviderChoice {
    #[default]
    Auto,
    Anthropic,
    OpenAi,
    Replay,
}

impl ProviderChoice {
    /// Parses the value of the setting; `None` if it is not one of the known values.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "anthropic" => Some(Self::Anthropic),
            "openai" => Some(Self::OpenAi),
            "replay" => Some(Self::Replay),
            _ => None,
        }
    }
}

/// Value of `cairn.model.api`: the format of requests to an OpenAI server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApiChoice {
    /// Responses for OpenAI's own servers, Chat Completions for all others.
    #[default]
    Auto,
    Chat,
    Responses,
}

impl ApiChoice {
    /// Parses the value of the setting; `None` if it is not one of the known values.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "chat" => Some(Self::Chat),
            "responses" => Some(Self::Responses),
            _ => None,
        }
    }
}
