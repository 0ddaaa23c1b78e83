//! API keys, and the origin that each may be sent to.

use std::collections::HashMap;

use cairn_core::model::{Advice, Failure, FailureKind};
use secrecy::SecretString;

use super::super::{anthropic, http::BaseUrl, openai};

/// API keys from `agent/credentials`, each by the origin that it may be sent to.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    pub anthropic: HashMap<String, SecretString>,
    pub openai: HashMap<String, SecretString>,
}

impl Keys {
    /// Sets or removes the key for an origin. Without an origin it is the provider's official one.
    pub fn set(
        &mut self,
        provider: &str,
        origin: Option<&str>,
        key: Option<SecretString>,
    ) -> Result<(), String> {
        let (keys, official) = match provider {
            "anthropic" => (&mut self.anthropic, anthropic::OFFICIAL_BASE_URL),
            "openai" => (&mut self.openai, openai::OFFICIAL_BASE_URL),
            _ => return Err("it is for an unknown provider".to_owned()),
        };
        let origin =
            BaseUrl::of_key(origin.unwrap_or(official)).map_err(|error| error.to_string())?;
        match key {
            Some(key) => keys.insert(origin, key),
            None => keys.remove(&origin),
        };
        Ok(())
    }

    pub fn all(&self) -> impl Iterator<Item = &SecretString> {
        self.anthropic.values().chain(self.openai.values())
    }
}

/// Keys of one provider, with the origins that they may be sent to.
pub(super) struct ProviderKeys<'k> {
    /// Keys that the user entered, by origin.
    pub(super) entered: &'k HashMap<String, SecretString>,
    pub(super) inherited: Option<&'k SecretString>,
    /// Base URL that the inherited key belongs to.
    pub(super) default_origin: &'k str,
}

impl<'k> ProviderKeys<'k> {
    /// Returns the key for this server; `None` if there is none.
    ///
    /// Fails if the only keys belong to other origins: a setting alone must not redirect a key.
    /// A server on this machine needs no key, so there the result is `None` instead. Without encryption
    /// only a key that the user entered for this server is sent.
    pub(super) fn key_for(&self, base: &BaseUrl) -> Result<Option<&'k SecretString>, Failure> {
        let origin = base.origin();
        if let Some(key) = self.entered.get(&origin) {
            return Ok(Some(key));
        }
        if base.is_plain() {
            return Ok(None);
        }
        let default_origin = BaseUrl::parse(self.default_origin).ok();
        let is_default = default_origin.as_ref().is_some_and(|default| {
            default.origin() == origin
                || (openai::is_official(default) && openai::is_official(base))
        });
        if let Some(key) = self.inherited.filter(|_| is_default) {
            return Ok(Some(key));
        }
        let inherited = self.inherited.and(default_origin).map(|default| default.origin());
        let mut owners: Vec<String> = self.entered.keys().cloned().chain(inherited).collect();
        owners.sort();
        owners.dedup();
        if owners.is_empty() || base.is_loopback() {
            return Ok(None);
        }
        let owners = owners.join(" and ");
        let message = format!("The API key was given for {owners} and is not sent to {origin}.");
        let advice = Advice::EnterKey { owners, origin };
        Err(Failure::new(FailureKind::Unusable, message).advise(advice))
    }
}
