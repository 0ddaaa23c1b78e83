//! `process_input`: sends a text to a process, after the user allowed exactly this text.

use std::time::Duration;

use cairn_core::{policy::Access, process::ProcessId, sanitize::one_line};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::json;

use super::{
    Arguments, Call, MAX_LABEL, Tool, ToolContext, ToolFailure, ToolOutput,
    processes::{find, id_argument, report},
};
use crate::processes::Written;

/// Longest text in bytes.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Time to wait for an answer of the process.
const ANSWER_WAIT: Duration = Duration::from_millis(500);

pub(super) fn tool() -> Tool {
    let description = "Types text into a process that was started with `background`, and answers with its new output. A line ends with \\n.";
    let properties = json!({
        "id": {"type": "integer"},
        "text": {"type": "string"},
        "eof": {"type": "boolean", "description": "Ends its input after the text"},
    });
    Tool::new("process_input", ToolKind::Run, description, properties, &["id", "text"], parse)
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let id = id_argument(&arguments);
    let text = arguments.string("text");
    let eof = arguments.flag("eof");
    if text.len() > MAX_TEXT_BYTES {
        return Err(ToolFailure::Tell(format!(
            "`text` has {} bytes; it may have at most 16 KiB. Write it to a file that the process reads.",
            text.len()
        )));
    }
    if text.is_empty() && !eof {
        return Err(ToolFailure::tell("`text` is empty."));
    }
    let (entry, _) = find(id, context)?;
    if !entry.is_running() {
        return Err(ToolFailure::Tell(format!("Process {id} has ended.")));
    }
    let label = ToolLabel::SendInput { process: id, text: one_line(&text, MAX_LABEL) };
    let access = Access::Input {
        process: id,
        command: entry.start.command,
        text: text.clone(),
        cwd: context.workspace.root().to_owned(),
        needs: entry.start.needs,
    };
    Ok(Call::new(label, access, move |context| send(id, text, eof, context)))
}

async fn send(
    id: ProcessId,
    text: String,
    eof: bool,
    context: ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    let (_, process) = find(id, &context)?;
    let before = process.written();
    let problem = match process.write(&text, eof).await {
        Written::All => None,
        Written::Part(taken) => Some(format!(
            "the process does not read its input: it took {taken} of {} bytes",
            text.len()
        )),
        Written::Closed => Some(
            "nothing was sent: the process takes no input (only one started with `background` does)".to_owned(),
        ),
    };
    if problem.is_none() {
        // An answer may come, and need not.
        process.wait(Some(before), |text| !text.is_empty(), ANSWER_WAIT).await;
    }
    let is_error = problem.is_some();
    let (_, output) = report(id, None, problem.as_slice(), &context)?;
    Ok(ToolOutput { is_error, ..output })
}
