use super::*;

#[test]
fn base_urls_are_parsed_or_refused() {
    let loopback = |text| BaseUrl::parse(text).map(|base| base.is_loopback());
    assert_eq!(loopback("https://api.example.com/v1"), Ok(false));
    assert_eq!(loopback(" http://localhost:8080 "), Ok(true));
    assert_eq!(loopback("http://127.3.2.1:1/v1/"), Ok(true));
    assert_eq!(loopback("http://[::1]:1"), Ok(true));
    assert_eq!(loopback("http://api.example.com"), Err(BaseUrlError::NotSecure));
    assert_eq!(loopback("http://localhost.example.com"), Err(BaseUrlError::NotSecure));
    assert_eq!(loopback("http://10.0.0.1"), Err(BaseUrlError::NotSecure));
    assert_eq!(loopback("file:///etc/passwd"), Err(BaseUrlError::NotSecure));
    assert_eq!(loopback("https://a:b@example.com"), Err(BaseUrlError::Extras));
    assert_eq!(loopback("https://example.com/?key=1"), Err(BaseUrlError::Extras));
    assert_eq!(loopback("localhost"), Err(BaseUrlError::NotAUrl("localhost".into())));
}

#[test]
fn named_hosts_may_be_asked_without_encryption() {
    let hosts = ["ollama".to_owned(), "10.0.0.1".to_owned()];
    let plain = |text| BaseUrl::parse_with(text, &hosts).map(|base| base.is_plain());
    assert_eq!(plain("http://ollama:11434/v1"), Ok(true));
    assert_eq!(plain("http://OLLAMA:11434"), Ok(true));
    assert_eq!(plain("http://10.0.0.1"), Ok(true));
    assert_eq!(plain("https://ollama"), Ok(false));
    assert_eq!(plain("http://localhost:1"), Ok(false));
    for other in
        ["http://ollama.example.com", "http://my-ollama", "http://10.0.0.11", "ftp://ollama"]
    {
        assert_eq!(plain(other), Err(BaseUrlError::NotSecure), "{other}");
    }
}

#[test]
fn an_address_with_an_endpoint_is_the_base_of_it() {
    let list = |text| BaseUrl::parse(text).unwrap().join("models").to_string();
    for pasted in [
        "https://e.com/v1",
        "https://e.com/v1/",
        "https://e.com/v1/chat/completions",
        "https://e.com/v1/responses",
        "https://e.com/v1/models/",
        "https://e.com/v1/messages",
        "https://e.com/v1/v1",
        "https://e.com/v1/v1/chat/completions",
    ] {
        assert_eq!(list(pasted), "https://e.com/v1/models", "{pasted}");
    }
    assert_eq!(list("https://e.com/openai"), "https://e.com/openai/models");
    assert_eq!(list("https://e.com/my-models"), "https://e.com/my-models/models");
    assert_eq!(BaseUrl::parse("https://e.com/chat/completions").unwrap().path(), "");
    assert_eq!(BaseUrl::parse("https://e.com/models").unwrap().path(), "");
}

#[test]
fn paths_are_appended() {
    let join = |text| BaseUrl::parse(text).unwrap().join("v1/messages").to_string();
    assert_eq!(join("https://e.com"), "https://e.com/v1/messages");
    assert_eq!(join("https://e.com/gate/"), "https://e.com/gate/v1/messages");
}

#[test]
fn the_client_waits_for_the_first_request() {
    let base = BaseUrl::parse("http://localhost:1").unwrap();
    let endpoint = Endpoint::new(&base, "x", Vendor::OpenAi, None, Patience::default());
    assert!(endpoint.client.get().is_none());
    assert!(endpoint.client().is_ok() && endpoint.client.get().is_some());
}

#[test]
fn a_cut_message_keeps_no_part_of_the_key() {
    let base = BaseUrl::parse("https://e.com").unwrap();
    let key = "k".repeat(40);
    let endpoint = Endpoint::new(
        &base,
        "x",
        Vendor::OpenAi,
        Some(SecretString::from(format!(" {key}\n"))),
        Patience::default(),
    );
    let message = format!("{}{key}", "x".repeat(MAX_MESSAGE_CHARS - 20));
    let tidy = endpoint.tidy(protocol(message));
    assert!(!tidy.message.contains("kk"), "{}", tidy.message);
}
