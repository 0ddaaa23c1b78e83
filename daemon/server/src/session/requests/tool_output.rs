//! Returns the stored output of a call.

use cairn_core::conversation::Item;
use cairn_protocol::{ToolOutputParams, ToolOutputResult};

use crate::session::Sessions;

/// Returns the result of a call as the model got it.
pub(crate) fn handle(sessions: &Sessions, params: &ToolOutputParams) -> ToolOutputResult {
    let session = sessions.entries.get(&params.session_id.as_str().into());
    let items = session.map(|session| session.machine.conversation()).unwrap_or_default();
    let results = items.iter().rev().filter_map(|item| match item {
        Item::ToolResults { results, .. } => Some(results),
        Item::User(_) | Item::Assistant(_) => None,
    });
    let result = results.flatten().find(|result| result.call_id == params.call_id);
    ToolOutputResult { text: result.map(|result| result.content.clone()) }
}
