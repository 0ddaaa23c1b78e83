use cairn_core::{
    conversation::Item,
    model::{FailureKind, ModelEvent},
};
use expect_test::{Expect, expect};
use tokio::sync::mpsc;

use super::{super::ModelRequest, *};

fn check(settings: ModelSettings, variables: &[(&str, &str)], expect: Expect) {
    let environment = Environment::read(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    });
    let choice = choose(&settings, &Keys::default(), &environment, &KnownServers::default());
    let mut shown = format!(
        "{}/{} replay={} max={:?}\n",
        choice.info.provider, choice.info.name, choice.info.replay, choice.max_tokens
    );
    for status in choice.providers {
        let reason = status.problem.map(|problem| problem.english()).unwrap_or_default();
        let reason: String = reason.chars().take(40).collect();
        shown.push_str(&format!("{} {} {reason}\n", status.provider, status.usable));
    }
    expect.assert_eq(&shown);
}

fn with(provider: ProviderChoice, base_url: Option<&str>) -> ModelSettings {
    ModelSettings { provider, base_url: base_url.map(str::to_owned), ..ModelSettings::default() }
}

#[test]
fn auto_takes_the_first_that_works() {
    let auto = || with(ProviderChoice::Auto, None);
    check(
        auto(),
        &[],
        expect![[r#"
            none/ replay=false max=None
            anthropic false There is no API key for Anthropic. Set o
            openai false There is no API key for OpenAI. Set one,
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
            anthropic false There is no API key for Anthropic. Set o
            openai true 
            replay true 
        "#]],
    );
    check(
        auto(),
        &[("OPENAI_BASE_URL", "http://localhost:8080/v1")],
        expect![[r#"
            openai/local replay=false max=None
            anthropic false There is no API key for Anthropic. Set o
            openai true 
            replay true 
        "#]],
    );
    check(
        auto(),
        &[("ANTHROPIC_API_KEY", " ")],
        expect![[r#"
            none/ replay=false max=None
            anthropic false There is no API key for Anthropic. Set o
            openai false There is no API key for OpenAI. Set one,
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
            anthropic false There is no API key for Anthropic. Set o
            openai true 
            replay true 
        "#]],
    );
    check(
        with(ProviderChoice::OpenAi, Some("http://example.com")),
        &[],
        expect![[r#"
            openai/gpt-5.5 replay=false max=None
            anthropic false There is no API key for Anthropic. Set o
            openai false Not usable: the base URL must begin with
            replay true 
        "#]],
    );
    check(
        with(ProviderChoice::Replay, None),
        &[("OPENAI_API_KEY", "o")],
        expect![[r#"
            replay/demo replay=true max=None
            anthropic false There is no API key for Anthropic. Set o
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
            openai false There is no API key for OpenAI. Set one,
            replay true 
        "#]],
    );
}

#[test]
fn requests_to_openai_itself_use_responses() {
    let check = |api: &str, base_url: Option<&str>, expect: &str| {
        let settings = ModelSettings {
            api: serde_json::from_value(api.into()).unwrap(),
            ..with(ProviderChoice::OpenAi, base_url)
        };
        let mut keys = Keys::default();
        keys.set("openai", base_url, Some("k".into())).unwrap();
        let choice = choose(&settings, &keys, &Environment::default(), &KnownServers::default());
        let mut out = Vec::new();
        let said = cairn_core::conversation::UserMessage { text: "a".into(), ..Default::default() };
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
    assert!(serde_json::from_value::<ApiChoice>("messages".into()).is_err());
}

#[tokio::test]
async fn an_unusable_provider_has_a_reason() {
    let choice = choose(
        &with(ProviderChoice::Anthropic, None),
        &Keys::default(),
        &Environment::default(),
        &KnownServers::default(),
    );
    let (sender, mut events) = mpsc::channel(4);
    let request = ModelRequest {
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
    let reason = choice.unusable.unwrap();
    assert!(matches!(reason, TurnProblem::NoApiKey { .. }), "{reason:?}");
    let reason = choose(
        &ModelSettings::default(),
        &Keys::default(),
        &Environment::default(),
        &KnownServers::default(),
    )
    .unusable
    .unwrap();
    assert!(matches!(reason, TurnProblem::NoModelConfigured { .. }), "{reason:?}");
}

#[test]
fn keys_are_set_forgotten_and_never_shown() {
    let mut keys = Keys::default();
    keys.set("anthropic", None, Some("secret-word".into())).unwrap();
    assert!(keys.set("replay", None, Some("x".into())).is_err());
    assert!(keys.set("openai", Some("ftp://example.com"), Some("x".into())).is_err());
    assert!(!format!("{keys:?}").contains("secret-word"));
    assert!(
        choose(&ModelSettings::default(), &keys, &Environment::default(), &KnownServers::default())
            .info
            .provider
            == "anthropic"
    );
    keys.set("anthropic", Some("https://api.anthropic.com:443/v1"), None).unwrap();
    assert!(keys.anthropic.is_empty());
}

/// Key that a request to this base URL carries, or the start of the reason for none.
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
    let settings = with(ProviderChoice::OpenAi, base_url);
    match Candidate::new(OPENAI, &settings, &keys, &environment).config {
        Ok(config) => config.key.map_or("none".into(), |key| key.expose_secret().to_owned()),
        Err(failure) => failure.message.trim_end_matches('.').to_owned(),
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
        (Some("https://gate.example.com/v1"), &[(Some(gate), "gate"), (None, "own")], &[], "gate"),
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
        // A server on this machine needs no key, and gets only its own.
        (Some("http://localhost:1/v1"), &[(None, "own")], &[inherited], "none"),
        (
            Some("http://localhost:1/v1"),
            &[(Some("http://localhost:1"), "local")],
            &[inherited],
            "local",
        ),
        // The key of the environment goes to the base URL of the environment only.
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
fn each_provider_reports_the_origin_of_its_requests() {
    let origins = |settings: ModelSettings| -> Vec<String> {
        let choice =
            choose(&settings, &Keys::default(), &Environment::default(), &KnownServers::default());
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
