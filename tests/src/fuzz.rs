//! Fuzz targets: one for each parser of untrusted input.
//!
//! libFuzzer generates inputs (`make fuzz`, `bin/fuzz.rs`); `make test` runs the inputs stored in
//! `tests/fuzz`. A target panics if an invariant is broken. It must be quick and deterministic.

use std::path::{Path, PathBuf};

mod bytes;
mod command;
mod frames;
mod jail;
mod sse;
mod tasks;
mod todo;

pub struct Target {
    /// Name of the target and of its folder in `tests/fuzz`.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: [Target; 5] = [
    Target { name: "command", run: command::run },
    Target { name: "jail", run: jail::run },
    Target { name: "sse", run: sse::run },
    Target { name: "frames", run: frames::run },
    Target { name: "todo", run: todo::run },
];

pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

impl Target {
    /// The inputs that are kept: what reaches much of the code, and `found-…` for each fault that
    /// was one.
    pub fn kept(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(self.name)
    }
}
