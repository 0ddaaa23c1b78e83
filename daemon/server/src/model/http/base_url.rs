//! Base URLs of model servers.

use std::net::IpAddr;

use reqwest::Url;

/// Reasons for which a base URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    #[error("the base URL {0:?} is not a URL")]
    NotAUrl(String),
    #[error("the base URL must begin with https:// (http:// only for this machine)")]
    NotSecure,
    #[error("the base URL must not hold a user name, a password, a query or a fragment")]
    Extras,
}

/// Address of a provider's API: HTTPS for any host, HTTP for this machine only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
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
        let base = Self(url);
        match base.0.scheme() {
            "https" => Ok(base),
            "http" if base.is_loopback() => Ok(base),
            _ => Err(BaseUrlError::NotSecure),
        }
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
