//! `process_output`: reads what a process wrote, and can wait for a text or for its end.

use std::time::Duration;

use cairn_core::{
    policy::Access,
    process::{ProcessExit, ProcessId, ProcessState},
};
use cairn_protocol::{ToolKind, ToolLabel, ToolStats};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, ToolOutput,
    grep::pattern::Pattern,
    processes::{find, id_argument, report},
};

/// Time to wait if the call names none.
const USUAL_WAIT: Duration = Duration::from_secs(30);

/// Value of `wait_for` for the end of the process.
const EXIT: &str = "exit";

enum Wait {
    Exit,
    Pattern(Box<Pattern>),
}

pub(super) fn tool() -> Tool {
    let description = "Reads the new output of a process, and tells its state.";
    let properties = json!({
        "id": {"type": "integer"},
        "since": {"type": "integer", "description": "Position in bytes; default: what was not read yet"},
        "wait_for": {"type": "string", "description": "Waits until the output matches this regular expression, or `exit`: for its end"},
        "timeout_ms": {"type": "integer", "description": "Longest wait; default 30000"},
    });
    Tool::new("process_output", ToolKind::Read, description, properties, &["id"], parse).parallel()
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let id = id_argument(&arguments);
    let since = arguments.count("since").map(|since| since as u64);
    let wait_for = arguments.optional_string("wait_for");
    let limit = arguments.count("timeout_ms");
    let wait = match wait_for.as_deref() {
        None | Some("") => None,
        Some(EXIT) => Some(Wait::Exit),
        Some(pattern) => {
            let pattern = Pattern::compile(pattern, false).map_err(ToolFailure::Tell)?;
            Some(Wait::Pattern(Box::new(pattern)))
        }
    };
    let limit = limit.map_or(USUAL_WAIT, |ms| Duration::from_millis(ms as u64));
    let limit = limit.min(context.command_limits.longest);
    let label = ToolLabel::ReadProcess { process: id };
    Ok(Call::new(label, Access::Process, move |context| read(id, since, wait, limit, context)))
}

async fn read(
    id: ProcessId,
    since: Option<u64>,
    wait: Option<Wait>,
    limit: Duration,
    context: ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    let (_, process) = find(id, &context)?;
    let came = match wait {
        None => true,
        Some(mut wait) => {
            let found = |text: &str| match &mut wait {
                Wait::Exit => false,
                Wait::Pattern(pattern) => pattern.is_in(text.as_bytes()),
            };
            tokio::select! {
                came = process.wait(since, found, limit) => came,
                () = context.cancel.cancelled() => false,
            }
        }
    };
    let vain = format!("waited {:.0} s for it in vain", limit.as_secs_f64());
    let notes = if came { Vec::new() } else { vec![vain] };
    let (entry, output) = report(id, since, &notes, &context)?;
    let exit_code = match entry.state {
        ProcessState::Ended(ProcessExit::Code(code)) => Some(code),
        ProcessState::Ended(_) | ProcessState::Running { .. } => None,
    };
    let stats = Some(ToolStats { exit_code, ..ToolStats::default() });
    Ok(ToolOutput { stats, ..output })
}
