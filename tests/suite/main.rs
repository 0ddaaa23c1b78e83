//! One integration binary; each module is one suite.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper that meets what a test did not expect fails it on the spot"
)]

mod agent;
mod alternation;
mod ask_mode;
mod attacks;
mod checkpoints;
mod children;
mod context;
mod crashes;
mod decisions;
mod desk;
mod dialects;
mod edits;
mod emacs;
mod encodings;
mod faults;
mod files;
mod front_door;
mod fuzz;
mod generated;
mod git_config;
mod headless;
mod helix;
mod hooks;
mod house;
mod instructions;
mod kills;
mod language;
mod library;
mod lifecycle;
mod models;
mod neovim;
mod overflow;
mod pending;
mod plain_late;
mod plain_lsp;
mod queue;
mod reminders;
mod sessions;
mod soak;
mod tasks;
mod turns;
mod vim;
