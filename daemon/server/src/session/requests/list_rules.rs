//! Lists the rules of "always".
//!
//! Background tasks read and write the file. Only `runner/consent` creates rules, when a question is
//! answered.

use cairn_protocol::{AllowedCommand, ListRulesResult, RequestProblem};

use crate::{
    event::{RequestError, Responder},
    session::Sessions,
    store::allowed::AllowedRule,
};

pub(crate) fn handle(sessions: &Sessions, reply: Responder<ListRulesResult>) {
    let Some(allowed) = sessions.config.allowed() else {
        return reply.send(Ok(ListRulesResult::default()));
    };
    let workspace = sessions.services.workspace.clone();
    sessions.answer_in_background(reply, move || {
        let here =
            |kept: &AllowedRule| workspace.as_ref().is_some_and(|ours| ours.holds(&kept.folder));
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

pub(super) fn unreadable(error: &anyhow::Error) -> RequestError {
    RequestProblem::RulesUnreadable { reason: format!("{error:#}") }.into()
}
