//! `process_stop`: ends a process, and answers with its last output.

use std::time::Duration;

use cairn_core::{
    model::ToolSpec,
    policy::Access,
    process::{ProcessId, StoppedBy},
};
use cairn_protocol::{ToolKind, ToolLabel};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{
    Approved, ArgumentReader, Call, Tool, ToolContext, ToolFailure, ToolOutput,
    processes::{find, id_argument, report},
};

const NAME: &str = "process_stop";

/// Time for all processes of a command to end: a request, then a kill.
const END_LIMIT: Duration = Duration::from_secs(10);

pub(super) struct ProcessStop;

struct ProcessStopCall {
    id: ProcessId,
}

impl Tool for ProcessStop {
    fn kind(&self) -> ToolKind {
        ToolKind::Run
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: "Ends a process, and answers with its last output.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"id": {"type": "integer"}},
                "required": ["id"],
            }),
            parallel: false,
        }
    }

    fn parse(&self, arguments: Value, _: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = ArgumentReader::new(NAME, arguments);
        let id = id_argument(&mut arguments);
        arguments.finish()?;
        Ok(Box::new(ProcessStopCall { id }))
    }
}

impl Call for ProcessStopCall {
    fn label(&self) -> ToolLabel {
        ToolLabel::StopProcess { process: self.id }
    }

    fn access(&self) -> Access {
        Access::Process
    }

    fn run(
        self: Box<Self>,
        context: ToolContext,
        _approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let (_, process) = find(self.id, &context)?;
            context.processes.stop(&context.origin.session, self.id, StoppedBy::Agent);
            let ended = process.ended(END_LIMIT).await;
            let (_, output) = report(self.id, None, &[], &context)?;
            Ok(ToolOutput { is_error: !ended, ..output })
        }
        .boxed()
    }
}
