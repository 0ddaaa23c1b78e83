//! `process_stop`: ends a process, and answers with its last output.

use std::time::Duration;

use cairn_core::{policy::Access, process::StoppedBy};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, ToolOutput,
    processes::{find, id_argument, report},
};

/// Time for all processes of a command to end: a request, then a kill.
const END_LIMIT: Duration = Duration::from_secs(10);

pub(super) fn tool() -> Tool {
    let description = "Ends a process, and answers with its last output.";
    let properties = json!({"id": {"type": "integer"}});
    Tool::new("process_stop", ToolKind::Run, description, properties, &["id"], parse)
}

fn parse(arguments: Arguments, _: &ToolContext) -> Result<Call, ToolFailure> {
    let id = id_argument(&arguments);
    let label = ToolLabel::StopProcess { process: id };
    Ok(Call::new(label, Access::Process, move |context| async move {
        let (_, process) = find(id, &context)?;
        context.processes.stop(&context.origin.session, id, StoppedBy::Agent);
        let ended = process.ended(END_LIMIT).await;
        let (_, output) = report(id, None, &[], &context)?;
        Ok(ToolOutput { is_error: !ended, ..output })
    }))
}
