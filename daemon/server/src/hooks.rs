//! Runs the user's hooks of a moment, one after the other, each with what happens as one JSON
//! object on its standard input.
//!
//! Never decides what an end means (`core::hook` does), and never runs what a workspace says: the
//! commands are the user's own settings. They run with the user's rights and a command's clean
//! environment, in the first workspace folder.

use std::{path::PathBuf, sync::Arc, time::Duration};

use cairn_core::hook::{self, Hook, HookAnswer, HookDecision, HookEnd, Hooks, Moment};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    exec::{self, Exit, Spec},
    ports::Notices,
};

/// What the hooks of a moment said together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The strictest of all.
    pub(crate) decision: HookDecision,
    /// For the model.
    pub(crate) messages: Vec<String>,
}

/// The hooks of a turn: where they run, what ends them, and to whom it is told what they said.
#[derive(Debug, Clone)]
pub(crate) struct HookContext {
    pub(crate) notices: Arc<dyn Notices>,
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) cwd: PathBuf,
    pub(crate) cancel: CancellationToken,
}

/// Runs those of a moment until one refuses, and shows what they said. `about` is what they read,
/// besides the names of moment, session and turn.
pub(crate) async fn run(
    desk: Option<&HookContext>,
    moment: Moment,
    tool: Option<&str>,
    about: impl FnOnce() -> Value,
) -> Verdict {
    let mut verdict = Verdict { decision: HookDecision::GoOn, messages: Vec::new() };
    let Some(desk) = desk.filter(|desk| desk.hooks.at(moment, tool).next().is_some()) else {
        return verdict;
    };
    let input = desk.input(moment, about());
    for hook in desk.hooks.at(moment, tool) {
        let said = desk.ask(hook, &input).await;
        if let Some(text) = said.shown {
            desk.notices.tell(&desk.session, &desk.turn, text);
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
