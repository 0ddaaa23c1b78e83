//! The Cairn daemon as a library, so that tests can run it in process. `main.rs` contains only the
//! command line.

pub mod approval;
pub mod cli;
pub mod clock;
pub mod config;
mod disk;
pub mod docs;
pub mod environment;
pub mod event;
pub mod exec;
pub mod hardening;
pub mod headless;
mod hooks;
pub mod hub;
mod images;
mod instructions;
pub mod lsp;
pub mod model;
mod orientation;
pub mod ports;
pub mod processes;
mod review;
mod runner;
pub mod secrets;
mod services;
mod session;
mod shortened;
pub mod signals;
mod small_file;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod watchdog;
pub mod workspace;
