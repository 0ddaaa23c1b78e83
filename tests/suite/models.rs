//! The wire formats: recorded streams of third-party software, cut everywhere, and live
//! requests to a server that checks the rules.

mod addresses;
mod certificates;
mod check;
mod live;
mod manners;
mod reasoning;
mod recorded;
mod rules;
mod server_models;
mod windows;
