//! Runs the user's hooks for an event, one after the other. Each reads the event as one JSON object
//! from its standard input.
//!
//! `core::hook` interprets how a hook ended. Hooks come only from the user's own settings, never from
//! the workspace. They run with the user's rights and the clean environment of commands, in the first
//! workspace folder.

use std::{path::PathBuf, sync::Arc, time::Duration};

use cairn_core::hook::{self, Hook, HookAnswer, HookDecision, HookEnd, HookEvent, Hooks};
use cairn_protocol::TurnNotice;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    exec::{self, CommandInput, CommandSpec, Exit},
    ports::{TurnMailbox, TurnNews},
};

/// Combined result of the hooks for an event.
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
    pub(crate) mailbox: TurnMailbox,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) cwd: PathBuf,
    pub(crate) cancel: CancellationToken,
}

/// Runs the hooks for an event until one refuses, and shows their output to the user. `about` is
/// added to the input, which names the event, the session and the turn.
pub(crate) async fn run(
    context: Option<&HookContext>,
    event: HookEvent,
    tool: Option<&str>,
    about: impl FnOnce() -> Value,
) -> HookVerdict {
    let mut verdict = HookVerdict { decision: HookDecision::GoOn, messages: Vec::new() };
    let Some(context) = context.filter(|context| context.hooks.at(event, tool).next().is_some())
    else {
        return verdict;
    };
    let input = context.input(event, about());
    for hook in context.hooks.at(event, tool) {
        let said = context.ask(hook, &input).await;
        if let Some(text) = said.shown {
            context.mailbox.send(TurnNews::Tell(TurnNotice::HookOutput { text }));
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
    fn input(&self, event: HookEvent, about: Value) -> String {
        let TurnMailbox { session, turn, .. } = &self.mailbox;
        let mut input = json!({"event": event.name(), "sessionId": session, "turnId": turn});
        if let (Some(input), Value::Object(about)) = (input.as_object_mut(), about) {
            input.extend(about);
        }
        format!("{input}\n")
    }

    async fn ask(&self, hook: &Hook, input: &str) -> HookAnswer {
        let spec = CommandSpec {
            command: hook.command.clone(),
            cwd: self.cwd.clone(),
            timeout: Some(Duration::from_secs(hook.seconds.into())),
            input: CommandInput::Text(input.to_owned()),
            tap: None,
            env: vec![("CAIRN_HOOK", hook.event.name().to_owned())],
            // The user's own command, not the agent's.
            sandbox: None,
        };
        let (ended, printed) = match exec::run(spec, self.cancel.clone()).await {
            Ok(outcome) => (ended(outcome.exit), outcome.output.text()),
            Err(error) => (HookEnd::Otherwise("could not be run"), error.to_string()),
        };
        hook::read(hook.event, ended, &printed)
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
