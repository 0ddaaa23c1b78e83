//! Revokes a rule of "always".

use std::path::PathBuf;

use cairn_core::policy::command::Rule;
use cairn_protocol::{RevokeRuleParams, RevokeRuleResult};

use super::list_rules::unreadable;
use crate::{event::Responder, session::Sessions};

pub(crate) fn handle(
    sessions: &mut Sessions,
    params: RevokeRuleParams,
    reply: Responder<RevokeRuleResult>,
) {
    let RevokeRuleParams { folder, command } = params;
    let (Some(allowed), Some(rule)) = (sessions.config.allowed(), Rule::parse(&command)) else {
        return reply.send(Ok(RevokeRuleResult { revoked: false }));
    };
    sessions.answer_in_background(reply, move || {
        let revoked = allowed.revoke(&PathBuf::from(folder), &rule);
        let revoked = revoked.map_err(|error| unreadable(&error))?;
        Ok(RevokeRuleResult { revoked })
    });
}
