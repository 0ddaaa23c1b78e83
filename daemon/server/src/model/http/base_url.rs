//! Base URLs of model servers.

use std::net::IpAddr;

use reqwest::Url;

/// Reasons for which a base URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    #[error("the base URL {0:?} is not a URL")]
    NotAUrl(String),
    #[error(
        "the base URL must begin with https://; http:// is for this machine, and for hosts that the \
         setting `cairn.model.plainHttpHosts` names"
    )]
    NotSecure,
    #[error("the base URL must not hold a user name, a password, a query or a fragment")]
    Extras,
}

/// Names of endpoints, which people paste with the address before them.
const ENDPOINTS: [&str; 5] = ["chat/completions", "completions", "responses", "models", "messages"];

/// Address of a provider's API: HTTPS for any host, HTTP for this machine and for hosts that the user
/// named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        Self::parse_with(text, &[])
    }

    /// Parses an address. `plain` names the hosts that may be asked without encryption.
    pub fn parse_with(text: &str, plain: &[String]) -> Result<Self, BaseUrlError> {
        // The error shows only the start of the text, because the rest may hold a password.
        let url = Url::parse(text.trim())
            .map_err(|_| BaseUrlError::NotAUrl(text.trim().chars().take(12).collect()))?;
        if !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err(BaseUrlError::Extras);
        }
        let base = Self(without_endpoint(url));
        let bare = |host: &str| host.trim_matches(['[', ']']).to_ascii_lowercase();
        let is_named = || plain.iter().any(|host| bare(host) == bare(base.host()));
        match base.0.scheme() {
            "https" => Ok(base),
            "http" if base.is_loopback() || is_named() => Ok(base),
            _ => Err(BaseUrlError::NotSecure),
        }
    }

    /// Origin that a key is stored for. The key is sent there only if the settings allow the server.
    pub fn of_key(text: &str) -> Result<String, BaseUrlError> {
        let host = Url::parse(text.trim()).ok().and_then(|url| url.host_str().map(str::to_owned));
        Self::parse_with(text, host.as_slice()).map(|base| base.origin())
    }

    /// True if requests leave this machine without encryption.
    pub fn is_plain(&self) -> bool {
        self.0.scheme() == "http" && !self.is_loopback()
    }

    /// True for `localhost` and loopback addresses.
    pub fn is_loopback(&self) -> bool {
        let Some(host) = self.0.host_str() else { return false };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Scheme, host and port: the scope of a key.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Path without slashes at its ends.
    pub(in crate::model) fn path(&self) -> &str {
        self.0.path().trim_matches('/')
    }

    /// Returns the URL with `path` appended.
    pub(super) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{path}", self.0.path().trim_end_matches('/')));
        url
    }
}

/// Cuts the name of an endpoint off the end of the path, and a version that was written twice.
fn without_endpoint(mut url: Url) -> Url {
    let mut path = url.path().trim_end_matches('/');
    let cut = ENDPOINTS.iter().find_map(|endpoint| path.strip_suffix(endpoint)?.strip_suffix('/'));
    path = cut.unwrap_or(path);
    while let Some(rest) = path.strip_suffix("/v1").filter(|rest| rest.ends_with("/v1")) {
        path = rest;
    }
    let path = path.to_owned();
    url.set_path(&path);
    url
}
