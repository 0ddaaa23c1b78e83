//! Input and output of the search for a backend: the program that builds sandboxes, and the
//! specification of one sandbox.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use cairn_core::policy::{
    home::{GRADLE_MODULES, GRADLE_VARIABLE},
    sandbox::{OwnPaths, SandboxPaths},
};

use crate::exec::{sandbox::settings::SandboxBackend, search_path};

/// Command line that builds sandboxes, without the arguments for one of them.
#[derive(Debug, Clone)]
pub(super) struct Builder {
    pub(super) backend: SandboxBackend,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// Set if sandboxes can share a loopback here.
    pub(super) shares_loopback: bool,
}

/// Input of a backend for one sandbox.
pub(super) struct SandboxSpec<'a> {
    pub(super) paths: &'a SandboxPaths,
    pub(super) own: &'a OwnPaths,
    pub(super) network: bool,
    pub(super) cwd: &'a Path,
}

/// Settings by which package managers do not wait and ask again for a network that is not there. Cargo uses the
/// packages that it has.
const NO_RETRIES: &[(&str, &str)] = &[
    ("CARGO_NET_OFFLINE", "true"),
    ("PIP_RETRIES", "0"),
    ("UV_HTTP_RETRIES", "0"),
    ("YARN_HTTP_RETRY", "0"),
    ("npm_config_fetch_retries", "0"),
];

impl SandboxSpec<'_> {
    /// Environment variables by which programs are found, find the visible part of the home folder, and give up
    /// a missing network.
    pub(super) fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let path = self.paths.search_path(search_path());
        // Never fails: no folder of a search path contains a separator.
        let path = std::env::join_paths(path).unwrap_or_default();
        let mut variables = vec![("PATH", PathBuf::from(path))];
        if !self.network {
            variables.extend(NO_RETRIES.iter().map(|(name, value)| (*name, value.into())));
        }
        let home = self.paths.home.as_ref();
        let (_, modules) = GRADLE_MODULES;
        let at = home.map(|home| home.at.join(modules));
        if self.paths.placed.iter().any(|placed| Some(&placed.at) == at.as_ref()) {
            let (name, folder) = GRADLE_VARIABLE;
            variables.extend(home.map(|home| (name, home.at.join(folder))));
        }
        variables
    }
}
