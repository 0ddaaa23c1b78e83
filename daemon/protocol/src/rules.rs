//! Commands that the user allowed permanently: stored by the daemon, listed and revoked from an
//! editor.

use macro_rules_attribute::apply;

use crate::{Empty, method::declare_client_requests};

/// Every rule of the user, in all folders.
#[apply(wire)]
#[derive(Default)]
pub struct ListRulesResult {
    /// Rules of this workspace first, oldest first in each group.
    pub rules: Vec<AllowedCommand>,
}

/// Simple command that runs without a question in one folder.
#[apply(wire)]
pub struct AllowedCommand {
    /// Folder of the rule, as an absolute path without symbolic links.
    pub folder: String,
    /// The exact words of the command.
    pub command: String,
    /// The folder belongs to this workspace.
    pub here: bool,
}

#[apply(wire)]
pub struct RevokeRuleParams {
    pub folder: String,
    pub command: String,
}

#[apply(wire)]
pub struct RevokeRuleResult {
    /// False if no such rule existed.
    pub revoked: bool,
}

declare_client_requests! {
    REQUESTS:
    ListRules("agent/rules/list", Empty {}) -> ListRulesResult,
    RevokeRule("agent/rules/revoke", RevokeRuleParams {}) -> RevokeRuleResult,
}
