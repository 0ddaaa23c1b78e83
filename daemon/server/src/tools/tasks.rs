//! `TaskCreate`, `TaskGet`, `TaskUpdate`, `TaskList`: the task graph of a session, on disk.
//!
//! Core has the rules and the texts; this module has the files and the user's hooks. No hook runs while
//! the list is locked, because it may take seconds.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context;
use cairn_core::{
    hook::{HookDecision, HookEvent},
    marks::ModelText,
    plan::{
        Status,
        graph::{TaskCall, TaskChange, TaskOutcome, TaskRequest, TaskTool},
    },
    sanitize::one_line,
    turn::Input,
};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::{Value, json};

use super::{Access, Call, MAX_LABEL, Tool, ToolContext, ToolFailure, ToolOutput, blocking};
use crate::{
    hooks,
    store::tasks::{Contents, TaskList},
};

/// The four tools; they store their lists below `state`.
///
/// Errors of form are reported together with those of content, which only the list can find.
pub fn all(state: Option<PathBuf>) -> Vec<Arc<Tool>> {
    let one = |tool: TaskTool| {
        let state = state.clone();
        let parse = move |arguments: Value, _: &ToolContext| {
            let call = GraphCall { request: tool.read(&arguments), state: state.clone() };
            Ok(Call::new(call.label(), Access::Plan, |context| call.perform(context)))
        };
        Arc::new(Tool { spec: tool.spec(), kind: ToolKind::Plan, parse: Box::new(parse) })
    };
    TaskTool::ALL.map(one).into()
}

struct GraphCall {
    request: TaskRequest,
    state: Option<PathBuf>,
}

impl GraphCall {
    fn label(&self) -> ToolLabel {
        match &self.request.call {
            TaskCall::Create(new) => ToolLabel::AddTask {
                subject: one_line(new.subject.as_deref().unwrap_or_default(), MAX_LABEL),
            },
            TaskCall::Get { id: Some(task) } => ToolLabel::ViewTask { task: *task },
            TaskCall::Get { id: None } | TaskCall::List => ToolLabel::ViewTasks,
            TaskCall::Update(TaskChange { id: Some(task), status, .. }) => match status {
                Some(Status::InProgress) => ToolLabel::StartTask { task: *task },
                Some(Status::Completed) => ToolLabel::CompleteTask { task: *task },
                Some(Status::Pending | Status::Cancelled) | None => {
                    ToolLabel::UpdateTask { task: *task }
                }
            },
            TaskCall::Update(TaskChange { id: None, .. }) | TaskCall::Replace(_) => {
                ToolLabel::UpdateTasks
            }
        }
    }

    async fn perform(self, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let list = self.list(&context).map_err(obstacle)?;
        for task in self.completing(&list).await? {
            let verdict = ask_hooks(&context, HookEvent::TaskCompleted, task).await;
            if verdict.decision == HookDecision::Refuse {
                return Err(ToolFailure::Tell(format!(
                    "Nothing was changed: the user's own check of completed tasks refused. {}",
                    verdict.messages.join("\n")
                )));
            }
        }
        let updated = self.request.writes();
        let (outcome, contents) = apply(list, self.request).await?;
        let mut content = ModelText::from(outcome.content);
        if let Some(damage) = damage(&contents) {
            content.add(&damage);
        }
        for task in outcome.created.iter().filter_map(|id| contents.graph.view(*id)) {
            let verdict = ask_hooks(&context, HookEvent::TaskCreated, task).await;
            for message in verdict.messages {
                content.frame("words of a hook", &message);
            }
        }
        Ok(ToolOutput {
            detail: Some(content.as_str().to_owned()),
            content,
            news: vec![Input::TaskList { items: contents.graph.items(), updated }],
            ..ToolOutput::default()
        })
    }

    fn list(&self, context: &ToolContext) -> anyhow::Result<TaskList> {
        let state = self.state.as_ref();
        let state = state.context("no folder is known; set CAIRN_STATE_DIR to an absolute path")?;
        TaskList::new(state, &context.origin.session)
    }

    /// The tasks this call is about to complete, as they will be.
    async fn completing(&self, list: &TaskList) -> Result<Vec<Value>, ToolFailure> {
        match &self.request.call {
            TaskCall::Update(TaskChange { status: Some(Status::Completed), .. })
            | TaskCall::Replace(_) => {}
            TaskCall::Update(_) | TaskCall::Create(_) | TaskCall::Get { .. } | TaskCall::List => {
                return Ok(Vec::new());
            }
        }
        let (list, request) = (list.clone(), self.request.clone());
        blocking(move || {
            let mut contents = list.read()?;
            anyhow::Ok(contents.graph.apply(&request).map(|outcome| {
                outcome.completed.iter().filter_map(|id| contents.graph.view(*id)).collect()
            }))
        })
        .await?
        .map_err(obstacle)?
        .map_err(ToolFailure::tell)
    }
}

async fn apply(
    list: TaskList,
    request: TaskRequest,
) -> Result<(TaskOutcome, Contents), ToolFailure> {
    let (outcome, contents) = blocking(move || {
        if request.writes() {
            list.change(|graph| graph.apply(&request))
        } else {
            let mut contents = list.read()?;
            Ok((contents.graph.apply(&request), contents))
        }
    })
    .await?
    .map_err(obstacle)?;
    match outcome {
        Ok(outcome) => Ok((outcome, contents)),
        Err(faults) => {
            let damage = damage(&contents).unwrap_or_default();
            Err(ToolFailure::Tell(format!("{faults}{damage}")))
        }
    }
}

fn obstacle(error: anyhow::Error) -> ToolFailure {
    ToolFailure::Tell(format!("The task list could not be used: {error:#}."))
}

async fn ask_hooks(context: &ToolContext, event: HookEvent, task: Value) -> hooks::HookVerdict {
    hooks::run(context.hooks.as_ref(), event, None, || json!({"task": task})).await
}

fn damage(contents: &Contents) -> Option<String> {
    (!contents.damage.is_empty()).then(|| {
        let lines = contents.damage.join("\n- ");
        format!("\n\nParts of the list on disk are damaged; they are left as they are:\n- {lines}")
    })
}
