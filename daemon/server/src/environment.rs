//! Settings from environment variables.

use std::path::PathBuf;

use secrecy::SecretString;

use crate::{exec::sandbox::AllowedBackends, store};

/// Settings that the daemon takes from environment variables when it starts.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub anthropic_key: Option<SecretString>,
    pub anthropic_base_url: Option<String>,
    pub openai_key: Option<SecretString>,
    pub openai_base_url: Option<String>,
    /// Folder of sessions, reviews and tasks. `None`: nothing is kept.
    pub state_dir: Option<PathBuf>,
    /// Folder of the user's own instructions and hooks.
    pub config_dir: Option<PathBuf>,
    /// Path of this program, which runs as the first process of each sandbox. `None`: sandboxes
    /// cannot be used.
    pub program: Option<PathBuf>,
    /// Sandbox backends that may be used.
    pub backends: AllowedBackends,
}

impl Environment {
    /// Variables for model providers. Child processes do not inherit them.
    pub const VARIABLES: [&'static str; 4] =
        ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"];

    /// Reads the variables through `variable`; blank values are treated as missing.
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
