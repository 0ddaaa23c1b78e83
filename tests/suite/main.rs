//! One integration binary; each module is one suite.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper that meets what a test did not expect fails it on the spot"
)]

mod agent;
mod attacks;
mod clients;
mod fixtures;
mod models;
mod project;
mod review;
mod session;
