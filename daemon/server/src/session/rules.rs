//! Requests of clients about the rules of "always": lists and revokes them.
//!
//! Background tasks read and write the file. Only `runner/consent` creates rules, when a question is
//! answered.

use std::path::PathBuf;

use cairn_core::policy::command::Rule;
use cairn_protocol::{
    AllowedCommand, ListRulesResult, RequestProblem, RevokeRuleParams, RevokeRuleResult,
};

use super::Sessions;
use crate::{
    event::{RequestError, Responder},
    store::allowed::{Allowed, AllowedRule},
};

impl Sessions {
    /// `None`: there is no state folder.
    pub(super) fn allowed(&self) -> Option<Allowed> {
        self.config.environment.state_dir.as_deref().map(Allowed::new)
    }

    pub(crate) fn list_rules(&self, reply: Responder<ListRulesResult>) {
        let Some(allowed) = self.allowed() else {
            return reply.send(Ok(ListRulesResult::default()));
        };
        let workspace = self.services.workspace.clone();
        self.answer_in_background(reply, move || {
            let here = |kept: &AllowedRule| {
                workspace.as_ref().is_some_and(|ours| ours.holds(&kept.folder))
            };
            let shown = |kept: AllowedRule| AllowedCommand {
                here: here(&kept),
                folder: kept.folder.display().to_string(),
                command: kept.rule.to_string(),
            };
            let kept = allowed.read().map_err(|error| unreadable(&error))?;
            let mut rules: Vec<AllowedCommand> = kept.into_iter().map(shown).collect();
            rules.sort_by_key(|rule| !rule.here);
            Ok(ListRulesResult { rules })
        });
    }

    pub(crate) fn revoke_rule(&self, params: RevokeRuleParams, reply: Responder<RevokeRuleResult>) {
        let RevokeRuleParams { folder, command } = params;
        let (Some(allowed), Some(rule)) = (self.allowed(), Rule::parse(&command)) else {
            return reply.send(Ok(RevokeRuleResult { revoked: false }));
        };
        self.answer_in_background(reply, move || {
            let revoked = allowed.revoke(&PathBuf::from(folder), &rule);
            let revoked = revoked.map_err(|error| unreadable(&error))?;
            Ok(RevokeRuleResult { revoked })
        });
    }
}

fn unreadable(error: &anyhow::Error) -> RequestError {
    RequestError::from(RequestProblem::RulesUnreadable { reason: format!("{error:#}") })
}
