//! Doubles shared by the suites: an editor that really applies edits, and a model server.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a double that meets the unexpected fails its test"
)]

pub mod editor_double;
pub mod fuzz;
pub mod kills;
pub mod lsp_client;
pub mod model_server;
pub mod rng;
mod shell;
pub mod soak;

pub use shell::{by_bash, by_bash_in, by_git};
