//! Command line of the hidden subcommand.

/// Subcommand that starts this program inside a sandbox, as the launcher of one, or as a guard.
pub const SUBCOMMAND: &str = "sandbox-run";
