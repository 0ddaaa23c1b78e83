//! `process_input`: sends a text to a process, after the user allowed exactly this text.

use std::{path::PathBuf, time::Duration};

use cairn_core::{
    model::ToolSpec,
    policy::{Access, sandbox::Needs},
    process::ProcessId,
};
use cairn_protocol::{ToolKind, ToolLabel};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{
    Approved, ArgumentReader, Call, Tool, ToolContext, ToolFailure, ToolOutput, label,
    processes::{find, id_argument, report},
};
use crate::processes::Written;

const NAME: &str = "process_input";

/// Longest text in bytes.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Time to wait for an answer of the process.
const ANSWER_WAIT: Duration = Duration::from_millis(500);

pub(super) struct ProcessInput;

struct ProcessInputCall {
    id: ProcessId,
    text: String,
    eof: bool,
    /// Command of the process.
    command: String,
    needs: Needs,
    cwd: PathBuf,
}

impl Tool for ProcessInput {
    fn kind(&self) -> ToolKind {
        ToolKind::Run
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: "Types text into a process that was started with `background`, and answers with its new output. A line ends with \\n.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "text": {"type": "string"},
                    "eof": {"type": "boolean", "description": "Ends its input after the text"},
                },
                "required": ["id", "text"],
            }),
            parallel: false,
        }
    }

    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = ArgumentReader::new(NAME, arguments);
        let id = id_argument(&mut arguments);
        let text = arguments.string("text");
        let eof = arguments.optional_bool("eof").unwrap_or_default();
        arguments.finish()?;
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
        Ok(Box::new(ProcessInputCall {
            id: entry.id,
            text,
            eof,
            command: entry.start.command,
            needs: entry.start.needs,
            cwd: context.workspace.root().to_owned(),
        }))
    }
}

impl Call for ProcessInputCall {
    fn label(&self) -> ToolLabel {
        ToolLabel::SendInput { process: self.id, text: label::short(&self.text) }
    }

    fn access(&self) -> Access {
        Access::Input {
            process: self.id,
            command: self.command.clone(),
            text: self.text.clone(),
            cwd: self.cwd.clone(),
            needs: self.needs,
        }
    }

    fn run(
        self: Box<Self>,
        context: ToolContext,
        _approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let Self { id, text, eof, .. } = *self;
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
        .boxed()
    }
}
