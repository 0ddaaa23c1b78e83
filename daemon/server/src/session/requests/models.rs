//! Returns the providers with their models, and the model in use.

use cairn_protocol::ModelsResult;

use crate::session::Sessions;

pub(crate) fn handle(sessions: &Sessions) -> ModelsResult {
    let choice = &sessions.config.choice;
    ModelsResult { active: choice.info.clone(), providers: choice.providers.clone() }
}
