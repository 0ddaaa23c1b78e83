//! Runs the user's hooks for a moment, one after the other. Each reads the event as one JSON object
//! from its standard input.
//!
//! `core::hook` interprets how a hook ended. Hooks come only from the user's own settings, never from
//! the workspace. They run with the user's rights and the clean environment of commands, in the first
//! workspace folder.

use std::{path::PathBuf, sync::Arc, time::Duration};

use cairn_core::hook::{self, Hook, HookAnswer, HookDecision, HookEnd, Hooks, Moment};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    exec::{self, Exit, Spec},
    ports::Notices,
};

/// Combined result of the hooks for a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookVerdict {
    /// Strictest decision of all hooks.
    pub(crate) decision: HookDecision,
    /// Messages for the model.
    pub(crate) messages: Vec<String>,
}

/// Hooks of a turn, with their working directory, their cancellation and the turn that shows their output.
#[derive(Debug, Clone)]
pub(crate) struct HookContext {
    pub(crate) notices: Arc<dyn Notices>,
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) cwd: PathBuf,
    pub(crate) cancel: CancellationToken,
}

/// Runs the hooks for a moment until one refuses, and shows their output to the user. `about` is
/// added to the input, which names the moment, the session and the turn.
pub(crate) async fn run(
    context: Option<&HookContext>,
    moment: Moment,
    tool: Option<&str>,
    about: impl FnOnce() -> Value,
) -> HookVerdict {
    let mut verdict = HookVerdict { decision: HookDecision::GoOn, messages: Vec::new() };
    let Some(context) = context.filter(|context| context.hooks.at(moment, tool).next().is_some())
    else {
        return verdict;
    };
    let input = context.input(moment, about());
    for hook in context.hooks.at(moment, tool) {
        let said = context.ask(hook, &input).await;
        if let Some(text) = said.shown {
            context.notices.tell(&context.session, &context.turn, text);
        }
        verdict.messages.extend(said.message);
        match said.decision {
            HookDecision::GoOn => {}
            HookDecision::Ask => verdict.decision = HookDecision::Ask,
            HookDecision::Refuse => {
                verdict.decision = HookDecision::Refuse;
                break;
            }
        }
    }
    verdict
}

impl HookContext {
    fn input(&self, moment: Moment, about: Value) -> String {
        let mut input =
            json!({"event": moment.name(), "sessionId": self.session, "turnId": self.turn});
        if let (Some(input), Value::Object(about)) = (input.as_object_mut(), about) {
            input.extend(about);
        }
        format!("{input}\n")
    }

    async fn ask(&self, hook: &Hook, input: &str) -> HookAnswer {
        let spec = Spec {
            command: hook.command.clone(),
            cwd: self.cwd.clone(),
            timeout: Duration::from_secs(hook.seconds.into()),
            input: input.to_owned(),
            env: vec![("CAIRN_HOOK".to_owned(), hook.moment.name().to_owned())],
            // The user's own command, not the agent's.
            sandbox: None,
        };
        let (ended, printed) = match exec::run(spec, self.cancel.clone()).await {
            Ok(outcome) => (ended(outcome.exit), outcome.output.text()),
            Err(error) => (HookEnd::Otherwise("could not be run"), error.to_string()),
        };
        hook::read(hook.moment, ended, &printed)
    }
}

fn ended(exit: Exit) -> HookEnd {
    match exit {
        Exit::Code(code) => HookEnd::Code(code),
        Exit::Signal(_) => HookEnd::Otherwise("was ended by a signal"),
        Exit::TimedOut => HookEnd::Otherwise("did not end in time"),
        Exit::Cancelled => HookEnd::Otherwise("was cancelled"),
    }
}
