//! Commands that the user allowed for good: kept by the daemon, listed and revoked from an editor.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Empty, RequestMethod, request::request};

/// Every rule of the user, in whichever folder it holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ListRulesResult {
    /// Those of this workspace first, each group with the oldest first.
    pub rules: Vec<AllowedCommand>,
}

/// One simple command that runs unasked in one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AllowedCommand {
    /// The folder it runs in, as an absolute path without symbolic links.
    pub folder: String,
    /// Its exact words.
    pub command: String,
    /// The folder is of this workspace.
    pub here: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RevokeRuleParams {
    pub folder: String,
    pub command: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RevokeRuleResult {
    /// False when there was no such rule any more.
    pub revoked: bool,
}

request!(ListRules, "agent/rules/list", Empty, ListRulesResult);
request!(RevokeRule, "agent/rules/revoke", RevokeRuleParams, RevokeRuleResult);
