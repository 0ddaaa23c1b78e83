//! Which provider answers: settings, keys and environment in, a provider out.
//!
//! Pure: reads no file, no variable and no clock. A choice that cannot work is not replaced by
//! another one in silence; it becomes a provider that says why.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use cairn_core::{
    conversation::Item,
    model::{Failure, FailureKind, ModelEvent},
};
use cairn_protocol::{ModelInfo, ProviderStatus};
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::mpsc;

use super::{
    Provider, Request,
    anthropic::{self, Anthropic},
    failure,
    http::BaseUrl,
    openai::{self, OpenAi},
    replay::ReplayProvider,
    responses::Responses,
    window::ContextSettings,
};
use crate::{exec::sandbox::AllowedBackends, store};

/// Best first; the first is the default.
pub const ANTHROPIC_MODELS: [&str; 3] =
    ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"];
/// Best first; the first is the default.
pub const OPENAI_MODELS: [&str; 2] = ["gpt-5.5", "gpt-5.4-mini"];
/// For a server of the user's own without `model.name`: servers with one model ignore it, others
/// answer 404, whose hint names the setting.
pub const LOCAL_MODEL: &str = "local";

/// The `model` section of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelSettings {
    pub provider: ProviderChoice,
    pub api: ApiChoice,
    pub name: Option<String>,
    pub base_url: Option<String>,
    pub max_tokens: Option<u32>,
    pub replay_file: Option<PathBuf>,
    pub context: ContextSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProviderChoice {
    #[default]
    Auto,
    Anthropic,
    OpenAi,
    Replay,
}

impl ProviderChoice {
    /// `None` for a word that is no value of `cairn.model.provider`.
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

/// Which of OpenAI's formats is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApiChoice {
    /// Responses with OpenAI itself, and what everybody else speaks with everybody else.
    #[default]
    Auto,
    Chat,
    Responses,
}

impl ApiChoice {
    /// `None` for a word that is no value of `cairn.model.api`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "chat" => Some(Self::Chat),
            "responses" => Some(Self::Responses),
            _ => None,
        }
    }

    fn provider(self, config: openai::Config) -> Arc<dyn Provider> {
        let responses = match self {
            Self::Auto => openai::is_official(&config.base_url),
            Self::Chat => false,
            Self::Responses => true,
        };
        if responses { Arc::new(Responses::new(config)) } else { Arc::new(OpenAi::new(config)) }
    }
}

/// What `agent/credentials` brought: each key with the one origin it is for.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    pub anthropic: HashMap<String, SecretString>,
    pub openai: HashMap<String, SecretString>,
}

impl Keys {
    /// Sets or forgets a key for an origin, the provider's own if none is named.
    pub fn set(
        &mut self,
        provider: &str,
        origin: Option<&str>,
        key: Option<SecretString>,
    ) -> Result<(), String> {
        let (keys, own) = match provider {
            "anthropic" => (&mut self.anthropic, anthropic::OFFICIAL_BASE_URL),
            "openai" => (&mut self.openai, openai::OFFICIAL_BASE_URL),
            _ => return Err("it is for an unknown provider".to_owned()),
        };
        let origin = BaseUrl::parse(origin.unwrap_or(own)).map_err(|error| error.to_string())?;
        match key {
            Some(key) => keys.insert(origin.origin(), key),
            None => keys.remove(&origin.origin()),
        };
        Ok(())
    }
}

/// What the daemon's environment said at its start.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub anthropic_key: Option<SecretString>,
    pub anthropic_base_url: Option<String>,
    pub openai_key: Option<SecretString>,
    pub openai_base_url: Option<String>,
    /// Where to keep what outlives the daemon.
    pub state_dir: Option<PathBuf>,
    /// Where the user's own instructions lie.
    pub config_dir: Option<PathBuf>,
    /// This program, which is a part of every command's box. `None`: there are no boxes.
    pub program: Option<PathBuf>,
    /// How boxes may be built.
    pub backends: AllowedBackends,
}

impl Environment {
    /// The variables read for models. They are to be kept from child processes.
    pub const VARIABLES: [&'static str; 4] =
        ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"];

    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let [anthropic_key, anthropic_base_url, openai_key, openai_base_url] =
            Self::VARIABLES.map(|name| variable(name).filter(|value| !value.trim().is_empty()));
        Self {
            anthropic_key: anthropic_key.map(SecretString::from),
            anthropic_base_url,
            openai_key: openai_key.map(SecretString::from),
            openai_base_url,
            state_dir: store::state_dir(&variable),
            config_dir: store::config_dir(&variable),
            program: std::env::current_exe().ok(),
            backends: variable("CAIRN_SANDBOX")
                .and_then(|name| AllowedBackends::parse(&name))
                .unwrap_or_default(),
        }
    }
}

/// The provider that answers now, and how it came to be.
pub struct Choice {
    pub provider: Arc<dyn Provider>,
    pub info: ModelInfo,
    /// `None`: the format's own default.
    pub max_tokens: Option<u32>,
    /// Another server than the vendor's own answers.
    pub own_server: bool,
    /// The server has the port of Ollama.
    pub is_ollama: bool,
    /// All providers, usable or not, with the reason.
    pub providers: Vec<ProviderStatus>,
}

/// End of the origin of an Ollama with its usual port.
const OLLAMA_PORT: &str = ":11434";

/// `auto`: a base URL in the settings means a server that speaks OpenAI's format, for that is
/// what local servers and gateways speak, and no other vendor's key shall go there. Else
/// Anthropic with a key, else OpenAI with a key or a base URL, else the replay.
pub fn choose(settings: &ModelSettings, keys: &Keys, environment: &Environment) -> Choice {
    let anthropic = anthropic_candidate(settings, keys, environment);
    let openai = openai_candidate(settings, keys, environment);
    let wanted = match settings.provider {
        ProviderChoice::Auto if set(&settings.base_url).is_some() => ProviderChoice::OpenAi,
        ProviderChoice::Auto if anthropic.is_ok() => ProviderChoice::Anthropic,
        ProviderChoice::Auto if openai.is_ok() => ProviderChoice::OpenAi,
        ProviderChoice::Auto => ProviderChoice::Replay,
        ProviderChoice::Anthropic | ProviderChoice::OpenAi | ProviderChoice::Replay => {
            settings.provider
        }
    };
    let [at_anthropic, at_openai] = origins(settings, environment);
    let is_ollama = match wanted {
        ProviderChoice::Anthropic => at_anthropic.ends_with(OLLAMA_PORT),
        ProviderChoice::OpenAi => at_openai.ends_with(OLLAMA_PORT),
        ProviderChoice::Auto | ProviderChoice::Replay => false,
    };
    let providers = vec![
        status("anthropic", reason(&anthropic), &ANTHROPIC_MODELS, at_anthropic),
        status("openai", reason(&openai), &OPENAI_MODELS, at_openai),
        status("replay", String::new(), &[], String::new()),
    ];
    let (name, model, provider): (_, _, Arc<dyn Provider>) = match wanted {
        ProviderChoice::Anthropic => match anthropic {
            Ok(config) => ("anthropic", config.model.clone(), Arc::new(Anthropic::new(config))),
            Err(reason) => ("anthropic", name_or(settings, ANTHROPIC_MODELS[0]), unusable(reason)),
        },
        ProviderChoice::OpenAi => match openai {
            Ok(config) => ("openai", config.model.clone(), settings.api.provider(config)),
            Err(reason) => ("openai", name_or(settings, OPENAI_MODELS[0]), unusable(reason)),
        },
        ProviderChoice::Auto | ProviderChoice::Replay => {
            let (name, provider) = replay(settings);
            ("replay", name, Arc::new(provider))
        }
    };
    let info = ModelInfo { provider: name.to_owned(), name: model, replay: name == "replay" };
    let max_tokens = settings.max_tokens.filter(|&tokens| tokens > 0);
    let own_server = match wanted {
        ProviderChoice::Anthropic => {
            set(&settings.base_url).or(set(&environment.anthropic_base_url)).is_some()
        }
        ProviderChoice::OpenAi => {
            set(&settings.base_url).or(set(&environment.openai_base_url)).is_some()
        }
        ProviderChoice::Auto | ProviderChoice::Replay => true,
    };
    Choice { provider, info, max_tokens, own_server, is_ollama, providers }
}

fn anthropic_candidate(
    settings: &ModelSettings,
    keys: &Keys,
    environment: &Environment,
) -> Result<anthropic::Config, String> {
    let home = set(&environment.anthropic_base_url).unwrap_or(anthropic::OFFICIAL_BASE_URL);
    let base = parse_base(own_address(settings, ProviderChoice::Anthropic).unwrap_or(home))?;
    let purse = ProviderKeys {
        entered: &keys.anthropic,
        variable: "ANTHROPIC_API_KEY",
        inherited: present(&environment.anthropic_key),
        home,
    };
    let key = purse.key_for(&base)?;
    if key.is_none() && !base.is_loopback() {
        return Err("No API key: run the command `Agent: set API key`, or start the editor with \
                    ANTHROPIC_API_KEY in its environment."
            .to_owned());
    }
    Ok(anthropic::Config::new(base, name_or(settings, ANTHROPIC_MODELS[0]), key.cloned()))
}

fn openai_candidate(
    settings: &ModelSettings,
    keys: &Keys,
    environment: &Environment,
) -> Result<openai::Config, String> {
    let own = own_address(settings, ProviderChoice::OpenAi);
    let address = own.or(set(&environment.openai_base_url));
    let home = set(&environment.openai_base_url).unwrap_or(openai::OFFICIAL_BASE_URL);
    let base = parse_base(own.unwrap_or(home))?;
    let purse = ProviderKeys {
        entered: &keys.openai,
        variable: "OPENAI_API_KEY",
        inherited: present(&environment.openai_key),
        home,
    };
    let key = purse.key_for(&base)?;
    if key.is_none() && !base.is_loopback() {
        return Err("No API key: run the command `Agent: set API key`, start the editor with \
                    OPENAI_API_KEY in its environment, or set `cairn.model.baseUrl` to a server \
                    on this machine, which needs none."
            .to_owned());
    }
    let default = if address.is_some() { LOCAL_MODEL } else { OPENAI_MODELS[0] };
    Ok(openai::Config::new(base, name_or(settings, default), key.cloned()))
}

/// The base URL of the settings, where it is one for this provider. In `auto` it belongs to the
/// OpenAI format.
fn own_address(settings: &ModelSettings, provider: ProviderChoice) -> Option<&str> {
    let meant = match settings.provider {
        ProviderChoice::Auto => ProviderChoice::OpenAi,
        chosen @ (ProviderChoice::Anthropic | ProviderChoice::OpenAi | ProviderChoice::Replay) => {
            chosen
        }
    };
    set(&settings.base_url).filter(|_| meant == provider)
}

/// Where requests to Anthropic and to OpenAI would go; empty where that is no usable address.
fn origins(settings: &ModelSettings, environment: &Environment) -> [String; 2] {
    let at = |provider, variable: &Option<String>, official| {
        let own = own_address(settings, provider).or(set(variable));
        BaseUrl::parse(own.unwrap_or(official)).map(|base| base.origin()).unwrap_or_default()
    };
    use ProviderChoice::{Anthropic, OpenAi};
    [
        at(Anthropic, &environment.anthropic_base_url, anthropic::OFFICIAL_BASE_URL),
        at(OpenAi, &environment.openai_base_url, openai::OFFICIAL_BASE_URL),
    ]
}

/// The keys of a provider, and where each may go.
struct ProviderKeys<'k> {
    entered: &'k HashMap<String, SecretString>,
    variable: &'static str,
    inherited: Option<&'k SecretString>,
    /// Where the environment says that its key belongs.
    home: &'k str,
}

impl<'k> ProviderKeys<'k> {
    /// The key for this server. An error where there are keys, but for others: who gave a key to one
    /// server did not give it to the next one that a setting names. On this machine none is needed.
    fn key_for(&self, base: &BaseUrl) -> Result<Option<&'k SecretString>, String> {
        let origin = base.origin();
        if let Some(key) = self.entered.get(&origin) {
            return Ok(Some(key));
        }
        let home = BaseUrl::parse(self.home).ok();
        let is_home = home.as_ref().is_some_and(|home| {
            home.origin() == origin || (openai::is_official(home) && openai::is_official(base))
        });
        if let Some(key) = self.inherited.filter(|_| is_home) {
            return Ok(Some(key));
        }
        let inherited = self.inherited.and(home).map(|home| home.origin());
        let mut owners: Vec<String> = self.entered.keys().cloned().chain(inherited).collect();
        owners.sort();
        owners.dedup();
        if owners.is_empty() || base.is_loopback() {
            return Ok(None);
        }
        let base_url = self.variable.replace("_API_KEY", "_BASE_URL");
        Err(format!(
            "The API key was given for {} and is not sent to {origin}. If it belongs there, run the \
             command `Agent: set API key` and enter it for this server, or start the editor with \
             {base_url} beside {} in its environment.",
            owners.join(" and "),
            self.variable
        ))
    }
}

fn replay(settings: &ModelSettings) -> (String, ReplayProvider) {
    match &settings.replay_file {
        Some(path) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            (name.unwrap_or_default(), ReplayProvider::file(path))
        }
        None => ("demo".to_owned(), ReplayProvider::demo()),
    }
}

fn parse_base(text: &str) -> Result<BaseUrl, String> {
    BaseUrl::parse(text).map_err(|error| format!("Not usable: {error}."))
}

fn name_or(settings: &ModelSettings, default: &str) -> String {
    set(&settings.name).unwrap_or(default).to_owned()
}

fn set(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

fn present(key: &Option<SecretString>) -> Option<&SecretString> {
    key.as_ref().filter(|key| !key.expose_secret().trim().is_empty())
}

fn reason<T>(candidate: &Result<T, String>) -> String {
    candidate.as_ref().err().cloned().unwrap_or_default()
}

fn status(provider: &str, reason: String, models: &[&str], origin: String) -> ProviderStatus {
    ProviderStatus {
        provider: provider.to_owned(),
        usable: reason.is_empty(),
        reason,
        models: models.iter().map(|&name| name.to_owned()).collect(),
        origin,
    }
}

fn unusable(reason: String) -> Arc<dyn Provider> {
    Arc::new(Unusable(reason))
}

/// Stands for a provider that was asked for and cannot work.
struct Unusable(String);

impl Provider for Unusable {
    fn encode(&self, _previous: Option<&Item>, _item: &Item, _out: &mut Vec<u8>) {}

    fn answer(
        &self,
        _request: Request,
        events: mpsc::Sender<ModelEvent>,
    ) -> BoxFuture<'static, ()> {
        let failure = Failure {
            kind: FailureKind::Unusable,
            message: self.0.clone(),
            hint: failure::hint(FailureKind::Unusable).to_owned(),
            retry_after_ms: None,
        };
        Box::pin(async move {
            // A receiver that is gone does not want to know.
            let _ = events.send(ModelEvent::Failed(failure)).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(settings: ModelSettings, variables: &[(&str, &str)], expect: Expect) {
        let environment = Environment::read(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        });
        let choice = choose(&settings, &Keys::default(), &environment);
        let mut shown = format!(
            "{}/{} replay={} max={:?}\n",
            choice.info.provider, choice.info.name, choice.info.replay, choice.max_tokens
        );
        for status in choice.providers {
            let reason: String = status.reason.chars().take(40).collect();
            shown.push_str(&format!("{} {} {reason}\n", status.provider, status.usable));
        }
        expect.assert_eq(&shown);
    }

    fn with(provider: ProviderChoice, base_url: Option<&str>) -> ModelSettings {
        ModelSettings {
            provider,
            base_url: base_url.map(str::to_owned),
            ..ModelSettings::default()
        }
    }

    #[test]
    fn auto_takes_the_first_that_works() {
        let auto = || with(ProviderChoice::Auto, None);
        check(
            auto(),
            &[],
            expect![[r#"
                replay/demo replay=true max=None
                anthropic false No API key: run the command `Agent: set 
                openai false No API key: run the command `Agent: set 
                replay true 
            "#]],
        );
        check(
            auto(),
            &[("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "o")],
            expect![[r#"
                anthropic/claude-sonnet-5-5 replay=false max=None
                anthropic true 
                openai true 
                replay true 
            "#]],
        );
        check(
            auto(),
            &[("OPENAI_API_KEY", "o")],
            expect![[r#"
                openai/gpt-5.5 replay=false max=None
                anthropic false No API key: run the command `Agent: set 
                openai true 
                replay true 
            "#]],
        );
        check(
            auto(),
            &[("OPENAI_BASE_URL", "http://localhost:8080/v1")],
            expect![[r#"
                openai/local replay=false max=None
                anthropic false No API key: run the command `Agent: set 
                openai true 
                replay true 
            "#]],
        );
        check(
            auto(),
            &[("ANTHROPIC_API_KEY", " ")],
            expect![[r#"
                replay/demo replay=true max=None
                anthropic false No API key: run the command `Agent: set 
                openai false No API key: run the command `Agent: set 
                replay true 
            "#]],
        );
    }

    #[test]
    fn a_base_url_in_auto_gets_no_other_vendors_key() {
        check(
            with(ProviderChoice::Auto, Some("http://127.0.0.1:1")),
            &[("ANTHROPIC_API_KEY", "a")],
            expect![[r#"
                openai/local replay=false max=None
                anthropic true 
                openai true 
                replay true 
            "#]],
        );
    }

    #[test]
    fn an_explicit_choice_is_never_replaced() {
        check(
            with(ProviderChoice::Anthropic, None),
            &[("OPENAI_API_KEY", "o")],
            expect![[r#"
                anthropic/claude-sonnet-5-5 replay=false max=None
                anthropic false No API key: run the command `Agent: set 
                openai true 
                replay true 
            "#]],
        );
        check(
            with(ProviderChoice::OpenAi, Some("http://example.com")),
            &[],
            expect![[r#"
                openai/gpt-5.5 replay=false max=None
                anthropic false No API key: run the command `Agent: set 
                openai false Not usable: the base URL must begin with
                replay true 
            "#]],
        );
        check(
            with(ProviderChoice::Replay, None),
            &[("OPENAI_API_KEY", "o")],
            expect![[r#"
                replay/demo replay=true max=None
                anthropic false No API key: run the command `Agent: set 
                openai true 
                replay true 
            "#]],
        );
        check(
            ModelSettings {
                name: Some("mine".into()),
                max_tokens: Some(99),
                ..with(ProviderChoice::Anthropic, Some("https://gate.example.com"))
            },
            &[("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_BASE_URL", "https://gate.example.com")],
            expect![[r#"
                anthropic/mine replay=false max=Some(99)
                anthropic true 
                openai false No API key: run the command `Agent: set 
                replay true 
            "#]],
        );
    }

    #[test]
    fn openai_itself_is_asked_in_its_own_format() {
        let check = |api: &str, base_url: Option<&str>, expect: &str| {
            let settings = ModelSettings {
                api: ApiChoice::parse(api).unwrap(),
                ..with(ProviderChoice::OpenAi, base_url)
            };
            let mut keys = Keys::default();
            keys.set("openai", base_url, Some("k".into())).unwrap();
            let choice = choose(&settings, &keys, &Environment::default());
            let mut out = Vec::new();
            let notes = Vec::new();
            let said = cairn_core::conversation::UserMessage { text: "a".into(), notes };
            choice.provider.encode(None, &Item::User(said), &mut out);
            let is_responses = String::from_utf8(out).unwrap().contains("input_text");
            let used = if is_responses { "responses" } else { "chat" };
            assert_eq!(used, expect, "{api} {base_url:?}");
        };
        check("auto", None, "responses");
        check("auto", Some("https://api.openai.com/v1"), "responses");
        check("auto", Some("https://eu.api.openai.com/v1"), "responses");
        check("auto", Some("https://xapi.openai.com/v1"), "chat");
        check("auto", Some("https://gate.example.com/v1"), "chat");
        check("auto", Some("http://localhost:11434/v1"), "chat");
        check("chat", None, "chat");
        check("responses", Some("http://localhost:8080"), "responses");
        assert_eq!(ApiChoice::parse("messages"), None);
    }

    #[tokio::test]
    async fn an_unusable_provider_says_why() {
        let choice = choose(
            &with(ProviderChoice::Anthropic, None),
            &Keys::default(),
            &Environment::default(),
        );
        let (sender, mut events) = mpsc::channel(4);
        let request = Request {
            system: "".into(),
            tools: Arc::new([]),
            messages: bytes::Bytes::new(),
            session: "s".into(),
            max_tokens: None,
        };
        choice.provider.answer(request, sender).await;
        let Some(ModelEvent::Failed(failure)) = events.recv().await else { panic!("no failure") };
        assert_eq!(failure.kind, FailureKind::Unusable);
        assert!(failure.message.starts_with("No API key"), "{failure:?}");
        assert_eq!(events.recv().await, None);
    }

    #[test]
    fn keys_are_set_forgotten_and_never_shown() {
        let mut keys = Keys::default();
        keys.set("anthropic", None, Some("secret-word".into())).unwrap();
        assert!(keys.set("replay", None, Some("x".into())).is_err());
        assert!(keys.set("openai", Some("http://example.com"), Some("x".into())).is_err());
        assert!(!format!("{keys:?}").contains("secret-word"));
        assert!(
            choose(&ModelSettings::default(), &keys, &Environment::default()).info.provider
                == "anthropic"
        );
        keys.set("anthropic", Some("https://api.anthropic.com:443/v1"), None).unwrap();
        assert!(keys.anthropic.is_empty());
    }

    /// The key that a request to this base URL carries, or the beginning of the reason for none.
    fn key_at(
        base_url: Option<&str>,
        entered: &[(Option<&str>, &str)],
        variables: &[(&str, &str)],
    ) -> String {
        let mut keys = Keys::default();
        for (origin, key) in entered {
            keys.set("openai", *origin, Some((*key).into())).unwrap();
        }
        let environment = Environment::read(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        });
        match openai_candidate(&with(ProviderChoice::OpenAi, base_url), &keys, &environment) {
            Ok(config) => config.key.map_or("none".into(), |key| key.expose_secret().to_owned()),
            Err(reason) => reason.split(". ").next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn a_key_goes_to_the_origin_it_was_given_for_and_nowhere_else() {
        let gate = "https://gate.example.com";
        let inherited = ("OPENAI_API_KEY", "inherited");
        let withheld = "The API key was given for https://api.openai.com and is not sent to https://gate.example.com";
        for (base_url, entered, variables, expected) in [
            (None, &[(None, "own")][..], &[][..], "own"),
            (Some("https://api.openai.com:443/v2"), &[(None, "own")], &[], "own"),
            (Some("https://gate.example.com/v1"), &[(None, "own")], &[], withheld),
            (
                Some("https://gate.example.com/v1"),
                &[(Some(gate), "gate"), (None, "own")],
                &[],
                "gate",
            ),
            // Another port and another host that ends alike are other origins.
            (
                Some("https://gate.example.com:8443"),
                &[(Some(gate), "gate")],
                &[],
                "The API key was given for https://gate.example.com and is not sent to https://gate.example.com:8443",
            ),
            (
                Some("https://api.openai.com.example.com"),
                &[(None, "own")],
                &[],
                "The API key was given for https://api.openai.com and is not sent to https://api.openai.com.example.com",
            ),
            // A server on this machine needs none and gets none that is not its own.
            (Some("http://localhost:1/v1"), &[(None, "own")], &[inherited], "none"),
            (
                Some("http://localhost:1/v1"),
                &[(Some("http://localhost:1"), "local")],
                &[inherited],
                "local",
            ),
            // What the environment brings belongs where the environment says.
            (None, &[], &[inherited], "inherited"),
            (Some("https://eu.api.openai.com/v1"), &[], &[inherited], "inherited"),
            (Some(gate), &[], &[inherited], withheld),
            (None, &[], &[inherited, ("OPENAI_BASE_URL", gate)], "inherited"),
            (Some(gate), &[], &[inherited, ("OPENAI_BASE_URL", gate)], "inherited"),
            (
                Some("https://api.openai.com/v1"),
                &[],
                &[inherited, ("OPENAI_BASE_URL", gate)],
                "The API key was given for https://gate.example.com and is not sent to https://api.openai.com",
            ),
            (None, &[(None, "own")], &[inherited], "own"),
        ] {
            assert_eq!(
                key_at(base_url, entered, variables),
                expected,
                "{base_url:?} {entered:?} {variables:?}"
            );
        }
    }

    #[test]
    fn each_provider_says_where_its_requests_go() {
        let origins = |settings: ModelSettings| -> Vec<String> {
            let choice = choose(&settings, &Keys::default(), &Environment::default());
            choice.providers.into_iter().map(|status| status.origin).collect()
        };
        let (anthropic, openai) = ("https://api.anthropic.com", "https://api.openai.com");
        assert_eq!(origins(with(ProviderChoice::Auto, None)), [anthropic, openai, ""]);
        let local = "http://localhost:8080";
        let base_url = Some("http://localhost:8080/v1");
        assert_eq!(origins(with(ProviderChoice::Auto, base_url)), [anthropic, local, ""]);
        assert_eq!(origins(with(ProviderChoice::Anthropic, base_url)), [local, openai, ""]);
        assert_eq!(origins(with(ProviderChoice::OpenAi, Some("ftp://x"))), [anthropic, "", ""]);
    }
}
