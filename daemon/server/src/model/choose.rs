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
    let anthropic = anthropic_candidate(settings, keys, environment);
    let openai = openai_candidate(settings, keys, environment);
    let wanted = wanted(settings, anthropic.is_ok(), openai.is_ok());
    let [anthropic_origin, openai_origin] = origins(settings, environment);
    let known = match (wanted, &anthropic, &openai) {
        (ProviderChoice::Anthropic, Ok(config), _) => {
            servers.of(anthropic_origin.clone(), config.model.clone())
        }
        (ProviderChoice::OpenAi, _, Ok(config)) => {
            servers.of(openai_origin.clone(), config.model.clone())
        }
        _ => KnownServer::default(),
    };
    let is_ollama = match wanted {
        ProviderChoice::Anthropic => anthropic_origin.ends_with(OLLAMA_PORT),
        ProviderChoice::OpenAi => openai_origin.ends_with(OLLAMA_PORT),
        ProviderChoice::Auto | ProviderChoice::Replay => false,
    };
    let providers = vec![
        status("anthropic", anthropic.as_ref().err(), &ANTHROPIC_MODELS, anthropic_origin),
        status("openai", openai.as_ref().err(), &OPENAI_MODELS, openai_origin),
        status("replay", None, &[], String::new()),
    ];
    let unusable = match wanted {
        ProviderChoice::Anthropic => anthropic.as_ref().err(),
        ProviderChoice::OpenAi => openai.as_ref().err(),
        ProviderChoice::Replay | ProviderChoice::Auto => None,
    };
    let unusable = match wanted {
        ProviderChoice::Auto => {
            Some(TurnProblem::NoModelConfigured { setting: "cairn.model.baseUrl".to_owned() })
        }
        _ => unusable.map(|failure| problem::of_failure(failure, name_of(wanted))),
    };
    let (model, provider) = provider(wanted, anthropic, openai, settings, &known);
    let (provider_name, replay) = (name_of(wanted), wanted == ProviderChoice::Replay);
    let info = ModelInfo { provider: provider_name.to_owned(), name: model, replay };
    let max_tokens = settings.max_tokens.filter(|&tokens| tokens > 0);
    let own_server = is_own_server(wanted, settings, environment);
    Choice { provider, info, max_tokens, own_server, is_ollama, known, providers, unusable }
}

/// Name of the model, and the provider that answers with it.
fn provider(
    wanted: ProviderChoice,
    anthropic: Result<ServerConfig, Failure>,
    openai: Result<ServerConfig, Failure>,
    settings: &ModelSettings,
    known: &KnownServer,
) -> (String, Arc<dyn Provider>) {
    match (wanted, anthropic, openai) {
        (ProviderChoice::Anthropic, Ok(config), _) => {
            let model = config.model.clone();
            (model, Arc::new(Client::new(Format::Messages, config, known.clone())))
        }
        (ProviderChoice::Anthropic, Err(failure), _) => {
            (name_or(settings, ANTHROPIC_MODELS[0]), Arc::new(Unusable(failure)))
        }
        (ProviderChoice::OpenAi, _, Ok(config)) => {
            (config.model.clone(), openai_provider(settings.api, config, known.clone()))
        }
        (ProviderChoice::OpenAi, _, Err(failure)) => {
            (name_or(settings, OPENAI_MODELS[0]), Arc::new(Unusable(failure)))
        }
        (ProviderChoice::Replay, _, _) => {
            let (name, provider) = replay(settings);
            (name, Arc::new(provider))
        }
        (ProviderChoice::Auto, _, _) => {
            let failure = Failure::new(FailureKind::Unusable, "No model is configured");
            (String::new(), Arc::new(Unusable(failure)))
        }
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

/// True if the address is not the vendor's own.
fn is_own_server(
    choice: ProviderChoice,
    settings: &ModelSettings,
    environment: &Environment,
) -> bool {
    let inherited = match choice {
        ProviderChoice::Anthropic => &environment.anthropic_base_url,
        ProviderChoice::OpenAi => &environment.openai_base_url,
        ProviderChoice::Auto | ProviderChoice::Replay => return true,
    };
    non_empty(&settings.base_url).or(non_empty(inherited)).is_some()
}

/// Server that a user asks for its models, with the stored key for it. `base_url`: `None` for
/// the provider's own server.
pub fn model_server(
    provider: ProviderChoice,
    base_url: Option<String>,
    plain_http_hosts: &[String],
    keys: &Keys,
    environment: &Environment,
) -> Result<ModelServer, Failure> {
    let plain_http_hosts = plain_http_hosts.to_vec();
    let settings =
        ModelSettings { provider, base_url, plain_http_hosts, ..ModelSettings::default() };
    match provider {
        ProviderChoice::Anthropic => {
            let config = anthropic_candidate(&settings, keys, environment)?;
            Ok(ModelServer::new(Format::Messages, config))
        }
        ProviderChoice::OpenAi => {
            let config = openai_candidate(&settings, keys, environment)?;
            Ok(ModelServer::new(Format::Chat, config))
        }
        ProviderChoice::Auto | ProviderChoice::Replay => {
            let message = "Only Anthropic and servers with the format of OpenAI list models.";
            Err(Failure::new(FailureKind::Unusable, message))
        }
    }
}

/// Origin that a key for this server would be stored for; empty if the address is not usable.
pub fn origin_of(
    provider: ProviderChoice,
    base_url: Option<String>,
    plain_http_hosts: &[String],
    environment: &Environment,
) -> String {
    let plain_http_hosts = plain_http_hosts.to_vec();
    let settings =
        ModelSettings { provider, base_url, plain_http_hosts, ..ModelSettings::default() };
    let [anthropic, openai] = origins(&settings, environment);
    if provider == ProviderChoice::Anthropic { anthropic } else { openai }
}

/// Configuration of Anthropic, or the reason why it cannot be used.
fn anthropic_candidate(
    settings: &ModelSettings,
    keys: &Keys,
    environment: &Environment,
) -> Result<ServerConfig, Failure> {
    let default_origin =
        non_empty(&environment.anthropic_base_url).unwrap_or(anthropic::OFFICIAL_BASE_URL);
    let base = parse_base(
        configured_base_url(settings, ProviderChoice::Anthropic).unwrap_or(default_origin),
        settings,
    )?;
    let provider_keys = ProviderKeys {
        entered: &keys.anthropic,
        inherited: present(&environment.anthropic_key),
        default_origin,
    };
    let key = provider_keys.key_for(&base)?;
    if key.is_none() && !base.is_loopback() && !base.is_plain() {
        let advice = Advice::SetKey { variable: "ANTHROPIC_API_KEY" };
        return Err(no_key(advice));
    }
    Ok(ServerConfig::new(base, name_or(settings, ANTHROPIC_MODELS[0]), key.cloned()))
}

/// Configuration of OpenAI, or the reason why it cannot be used.
fn openai_candidate(
    settings: &ModelSettings,
    keys: &Keys,
    environment: &Environment,
) -> Result<ServerConfig, Failure> {
    let configured = configured_base_url(settings, ProviderChoice::OpenAi);
    let base_url = configured.or(non_empty(&environment.openai_base_url));
    let default_origin =
        non_empty(&environment.openai_base_url).unwrap_or(openai::OFFICIAL_BASE_URL);
    let base = parse_base(configured.unwrap_or(default_origin), settings)?;
    let provider_keys = ProviderKeys {
        entered: &keys.openai,
        inherited: present(&environment.openai_key),
        default_origin,
    };
    let key = provider_keys.key_for(&base)?;
    if key.is_none() && !base.is_loopback() && !base.is_plain() {
        let advice = Advice::SetKey { variable: "OPENAI_API_KEY" };
        return Err(no_key(advice));
    }
    let default = if base_url.is_some() { LOCAL_MODEL } else { OPENAI_MODELS[0] };
    Ok(ServerConfig::new(base, name_or(settings, default), key.cloned()))
}

/// Returns the base URL of the settings if it applies to this provider. With `auto` it applies to
/// OpenAI.
fn configured_base_url(settings: &ModelSettings, provider: ProviderChoice) -> Option<&str> {
    let selected = match settings.provider {
        ProviderChoice::Auto => ProviderChoice::OpenAi,
        chosen @ (ProviderChoice::Anthropic | ProviderChoice::OpenAi | ProviderChoice::Replay) => {
            chosen
        }
    };
    non_empty(&settings.base_url).filter(|_| selected == provider)
}

/// Origins of requests to Anthropic and to OpenAI. An address that is not usable gives an empty
/// string.
fn origins(settings: &ModelSettings, environment: &Environment) -> [String; 2] {
    let origin = |provider, variable: &Option<String>, official| {
        let configured = configured_base_url(settings, provider).or(non_empty(variable));
        BaseUrl::parse_with(configured.unwrap_or(official), &settings.plain_http_hosts)
            .map(|base| base.origin())
            .unwrap_or_default()
    };
    use ProviderChoice::{Anthropic, OpenAi};
    [
        origin(Anthropic, &environment.anthropic_base_url, anthropic::OFFICIAL_BASE_URL),
        origin(OpenAi, &environment.openai_base_url, openai::OFFICIAL_BASE_URL),
    ]
}

/// Provider for a server with one of OpenAI's formats.
fn openai_provider(api: ApiChoice, config: ServerConfig, known: KnownServer) -> Arc<dyn Provider> {
    let is_responses = match api {
        ApiChoice::Auto => openai::is_official(&config.base_url),
        ApiChoice::Chat => false,
        ApiChoice::Responses => true,
    };
    let format = if is_responses { Format::Responses } else { Format::Chat };
    Arc::new(Client::new(format, config, known))
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

fn parse_base(text: &str, settings: &ModelSettings) -> Result<BaseUrl, Failure> {
    BaseUrl::parse_with(text, &settings.plain_http_hosts).map_err(|error| {
        let message = format!("Not usable: {error}.");
        Failure::new(FailureKind::Unusable, message).advise(Advice::CheckAddress)
    })
}

fn no_key(advice: Advice) -> Failure {
    Failure::new(FailureKind::Unusable, "No API key.").advise(advice)
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

fn status(
    provider: &str,
    failure: Option<&Failure>,
    models: &[&str],
    origin: String,
) -> ProviderStatus {
    ProviderStatus {
        provider: provider.to_owned(),
        usable: failure.is_none(),
        problem: failure.map(|failure| problem::of_failure(failure, provider).message()),
        models: models.iter().map(|&name| name.to_owned()).collect(),
        origin,
    }
}

#[cfg(test)]
mod tests;
