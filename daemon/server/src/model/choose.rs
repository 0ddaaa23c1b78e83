//! Choice of the provider from settings, keys and environment.
//!
//! Pure: reads no file, no variable and no clock. A choice that cannot work is never replaced by
//! another provider. It becomes a provider that answers each request with the reason.

mod keys;
mod settings;
mod unusable;

use std::sync::Arc;

use cairn_core::model::{Advice, Failure, FailureKind};
use cairn_protocol::{ModelInfo, ProviderStatus, TurnProblem};
use secrecy::{ExposeSecret, SecretString};

use crate::environment::Environment;

pub use keys::Keys;
use keys::ProviderKeys;
pub use settings::{ApiChoice, ModelSettings, ProviderChoice};
use unusable::Unusable;

use super::{
    Provider, anthropic,
    client::{Client, Format, ServerConfig},
    http::BaseUrl,
    manners::{KnownServer, KnownServers},
    openai, problem,
    replay::ReplayProvider,
    server::ModelServer,
};

/// Models of Anthropic that the user can choose, best first. The first is the default.
pub const ANTHROPIC_MODELS: [&str; 3] =
    ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"];
/// Models of OpenAI that the user can choose, best first. The first is the default.
pub const OPENAI_MODELS: [&str; 2] = ["gpt-5.5", "gpt-5.4-mini"];
/// Model name for the user's own server when `cairn.model.name` is not set. Servers with one model
/// ignore it. Others answer 404, and the hint for 404 names the setting.
pub const LOCAL_MODEL: &str = "local";

/// Chosen provider with the facts that follow from the choice.
pub struct Choice {
    pub provider: Arc<dyn Provider>,
    pub info: ModelInfo,
    /// `None`: the default of the format applies.
    pub max_tokens: Option<u32>,
    /// True if the server is not the vendor's official one.
    pub own_server: bool,
    /// True if the server uses Ollama's default port.
    pub is_ollama: bool,
    /// Changes of requests that the server needs. Empty for one without such changes.
    pub known: KnownServer,
    /// All providers; those that are not usable carry the reason.
    pub providers: Vec<ProviderStatus>,
    /// Reason why the chosen provider cannot be used, or why there is none; no turn starts then.
    pub unusable: Option<TurnProblem>,
}

/// Name of the provider in [`ModelInfo`] if there is none.
pub const NO_PROVIDER: &str = "none";
/// Ollama's default port, as the end of an origin.
const OLLAMA_PORT: &str = ":11434";

/// Vendor of models, or a server with its format.
struct ModelVendor {
    choice: ProviderChoice,
    official: &'static str,
    models: &'static [&'static str],
    /// Environment variable of its key.
    variable: &'static str,
}

const ANTHROPIC: ModelVendor = ModelVendor {
    choice: ProviderChoice::Anthropic,
    official: anthropic::OFFICIAL_BASE_URL,
    models: &ANTHROPIC_MODELS,
    variable: "ANTHROPIC_API_KEY",
};
const OPENAI: ModelVendor = ModelVendor {
    choice: ProviderChoice::OpenAi,
    official: openai::OFFICIAL_BASE_URL,
    models: &OPENAI_MODELS,
    variable: "OPENAI_API_KEY",
};

/// One vendor under these settings.
struct Candidate {
    vendor: ModelVendor,
    /// Configuration, or the reason why it cannot be used.
    config: Result<ServerConfig, Failure>,
    /// Origin of requests; empty if the address is not usable.
    origin: String,
    /// The address is not the vendor's own.
    own: bool,
}

impl Candidate {
    fn new(
        vendor: ModelVendor,
        settings: &ModelSettings,
        keys: &Keys,
        environment: &Environment,
    ) -> Self {
        let (entered, key, url) = match vendor.choice {
            ProviderChoice::Anthropic => {
                (&keys.anthropic, &environment.anthropic_key, &environment.anthropic_base_url)
            }
            _ => (&keys.openai, &environment.openai_key, &environment.openai_base_url),
        };
        // With `auto` the base URL of the settings applies to OpenAI.
        let selected = match settings.provider {
            ProviderChoice::Auto => ProviderChoice::OpenAi,
            chosen => chosen,
        };
        let given = non_empty(&settings.base_url).filter(|_| selected == vendor.choice);
        let default_origin = non_empty(url).unwrap_or(vendor.official);
        let own = given.or(non_empty(url)).is_some();
        let base = BaseUrl::parse_with(given.unwrap_or(default_origin), &settings.plain_http_hosts);
        let origin = base.as_ref().map(BaseUrl::origin).unwrap_or_default();
        let base = base.map_err(|error| {
            let failure = Failure::new(FailureKind::Unusable, format!("Not usable: {error}."));
            failure.advise(Advice::CheckAddress)
        });
        let config = base.and_then(|base| {
            let keys = ProviderKeys { entered, inherited: present(key), default_origin };
            let key = keys.key_for(&base)?;
            if key.is_none() && !base.is_loopback() && !base.is_plain() {
                let failure = Failure::new(FailureKind::Unusable, "No API key.");
                return Err(failure.advise(Advice::SetKey { variable: vendor.variable }));
            }
            let is_local = own && vendor.choice == ProviderChoice::OpenAi;
            let default = if is_local { LOCAL_MODEL } else { vendor.models[0] };
            Ok(ServerConfig::new(base, name_or(settings, default), key.cloned()))
        });
        Self { vendor, config, origin, own }
    }

    fn status(&self) -> ProviderStatus {
        let (provider, failure) = (name_of(self.vendor.choice), self.config.as_ref().err());
        ProviderStatus {
            provider: provider.to_owned(),
            usable: failure.is_none(),
            problem: failure.map(|failure| problem::of_failure(failure, provider).message()),
            models: self.vendor.models.iter().map(|&name| name.to_owned()).collect(),
            origin: self.origin.clone(),
        }
    }
}

/// Chooses the provider.
///
/// With `auto`, a base URL in the settings selects OpenAI's format, which local servers and gateways
/// speak; Anthropic's key is never sent there. Without a base URL the order is: Anthropic with a
/// key, OpenAI with a key or a base URL from the environment, the replay script of the settings.
/// Without any of them there is no provider.
pub fn choose(
    settings: &ModelSettings,
    keys: &Keys,
    environment: &Environment,
    servers: &KnownServers,
) -> Choice {
    let anthropic = Candidate::new(ANTHROPIC, settings, keys, environment);
    let openai = Candidate::new(OPENAI, settings, keys, environment);
    let wanted = wanted(settings, anthropic.config.is_ok(), openai.config.is_ok());
    let replay_status = ProviderStatus {
        provider: name_of(ProviderChoice::Replay).to_owned(),
        usable: true,
        problem: None,
        models: Vec::new(),
        origin: String::new(),
    };
    let providers = vec![anthropic.status(), openai.status(), replay_status];
    let chosen = match wanted {
        ProviderChoice::Anthropic => Some(anthropic),
        ProviderChoice::OpenAi => Some(openai),
        ProviderChoice::Replay | ProviderChoice::Auto => None,
    };
    let own_server = chosen.as_ref().is_none_or(|chosen| chosen.own);
    let is_ollama = chosen.as_ref().is_some_and(|chosen| chosen.origin.ends_with(OLLAMA_PORT));
    let (mut known, mut unusable) = (KnownServer::default(), None);
    let (name, provider): (String, Arc<dyn Provider>) = match chosen {
        Some(Candidate { vendor, config: Ok(config), origin, .. }) => {
            let (name, format) = (config.model.clone(), format(&vendor, settings.api, &config));
            known = servers.of(origin, name.clone());
            (name, Arc::new(Client::new(format, config, known.clone())))
        }
        Some(Candidate { vendor, config: Err(failure), .. }) => {
            unusable = Some(problem::of_failure(&failure, name_of(wanted)));
            (name_or(settings, vendor.models[0]), Arc::new(Unusable(failure)))
        }
        None if wanted == ProviderChoice::Replay => {
            let (name, provider) = replay(settings);
            (name, Arc::new(provider))
        }
        None => {
            let setting = "cairn.model.baseUrl".to_owned();
            unusable = Some(TurnProblem::NoModelConfigured { setting });
            let failure = Failure::new(FailureKind::Unusable, "No model is configured");
            (String::new(), Arc::new(Unusable(failure)))
        }
    };
    let replay = wanted == ProviderChoice::Replay;
    let info = ModelInfo { provider: name_of(wanted).to_owned(), name, replay };
    let max_tokens = settings.max_tokens.filter(|&tokens| tokens > 0);
    Choice { provider, info, max_tokens, own_server, is_ollama, known, providers, unusable }
}

fn format(vendor: &ModelVendor, api: ApiChoice, config: &ServerConfig) -> Format {
    match api {
        _ if vendor.choice == ProviderChoice::Anthropic => Format::Messages,
        ApiChoice::Auto if openai::is_official(&config.base_url) => Format::Responses,
        ApiChoice::Responses => Format::Responses,
        ApiChoice::Auto | ApiChoice::Chat => Format::Chat,
    }
}

/// Provider of the settings, or of `auto`. The flags: its key and address can be used.
fn wanted(settings: &ModelSettings, anthropic: bool, openai: bool) -> ProviderChoice {
    match settings.provider {
        ProviderChoice::Auto if non_empty(&settings.base_url).is_some() => ProviderChoice::OpenAi,
        ProviderChoice::Auto if anthropic => ProviderChoice::Anthropic,
        ProviderChoice::Auto if openai => ProviderChoice::OpenAi,
        ProviderChoice::Auto if settings.replay_file.is_some() => ProviderChoice::Replay,
        choice => choice,
    }
}

fn name_of(choice: ProviderChoice) -> &'static str {
    match choice {
        ProviderChoice::Anthropic => "anthropic",
        ProviderChoice::OpenAi => "openai",
        ProviderChoice::Replay => "replay",
        ProviderChoice::Auto => NO_PROVIDER,
    }
}

/// Server that a user asks for its models, with the stored key for it, and the origin that a key for
/// it would be stored for; empty if the address is not usable. `base_url`: `None` for the provider's
/// own server.
pub fn model_server(
    provider: ProviderChoice,
    base_url: Option<String>,
    plain_http_hosts: &[String],
    keys: &Keys,
    environment: &Environment,
) -> (String, Result<ModelServer, Failure>) {
    let plain_http_hosts = plain_http_hosts.to_vec();
    let settings =
        ModelSettings { provider, base_url, plain_http_hosts, ..ModelSettings::default() };
    let (vendor, format) = match provider {
        ProviderChoice::Anthropic => (ANTHROPIC, Format::Messages),
        _ => (OPENAI, Format::Chat),
    };
    let Candidate { config, origin, .. } = Candidate::new(vendor, &settings, keys, environment);
    let server = match provider {
        ProviderChoice::Auto | ProviderChoice::Replay => {
            let message = "Only Anthropic and servers with the format of OpenAI list models.";
            Err(Failure::new(FailureKind::Unusable, message))
        }
        _ => config.map(|config| ModelServer::new(format, config)),
    };
    (origin, server)
}

/// Replay provider with the name of its script.
fn replay(settings: &ModelSettings) -> (String, ReplayProvider) {
    match &settings.replay_file {
        Some(path) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            (name.unwrap_or_default(), ReplayProvider::file(path))
        }
        None => ("demo".to_owned(), ReplayProvider::demo()),
    }
}

fn name_or(settings: &ModelSettings, default: &str) -> String {
    non_empty(&settings.name).unwrap_or(default).to_owned()
}

fn non_empty(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// Returns the key unless it is blank.
fn present(key: &Option<SecretString>) -> Option<&SecretString> {
    key.as_ref().filter(|key| !key.expose_secret().trim().is_empty())
}

#[cfg(test)]
mod tests;
