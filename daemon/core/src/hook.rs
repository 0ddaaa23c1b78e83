//! Hooks: commands of the user that run at certain events of a turn, and the meaning of their
//! exit.
//!
//! Must never let a hook allow what the policy asks about or denies: a hook can only be stricter.

use serde_json::Value;

/// Default time limit of a hook, in seconds.
pub const USUAL_SECONDS: u32 = 10;
/// Maximum number of characters of a hook's output that people and models get.
const MAX_TEXT_CHARS: usize = 4_000;

/// HookEvent of a turn at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// Before a call runs. The hook can refuse it, or require an approval.
    BeforeTool,
    /// After a call. The hook can add a message for the model.
    AfterTool,
    /// Before a request to the model. The hook can end the turn.
    BeforeModel,
    /// At the end of a turn.
    TurnEnd,
    /// After an item or a task was added to the plan.
    TaskCreated,
    /// Completion of an item or task. In a task graph the hook can refuse it.
    TaskCompleted,
}

impl HookEvent {
    pub const ALL: [HookEvent; 6] = [
        HookEvent::BeforeTool,
        HookEvent::AfterTool,
        HookEvent::BeforeModel,
        HookEvent::TurnEnd,
        HookEvent::TaskCreated,
        HookEvent::TaskCompleted,
    ];

    /// Returns the name in settings, in the input of a hook, and in messages.
    pub fn name(self) -> &'static str {
        match self {
            HookEvent::BeforeTool => "beforeTool",
            HookEvent::AfterTool => "afterTool",
            HookEvent::BeforeModel => "beforeModel",
            HookEvent::TurnEnd => "turnEnd",
            HookEvent::TaskCreated => "taskCreated",
            HookEvent::TaskCompleted => "taskCompleted",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub event: HookEvent,
    /// Command line, run by a shell.
    pub command: String,
    /// Tools that the hook is for; all if empty.
    pub tools: Vec<String>,
    /// Time limit in seconds. At the limit the hook is killed, which is treated as a refusal.
    pub seconds: u32,
}

/// All of the user's hooks, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hooks(pub Vec<Hook>);

impl Hooks {
    /// Returns the hooks of an event that apply to `tool`, if it concerns one.
    pub fn at<'a>(
        &'a self,
        event: HookEvent,
        tool: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Hook> {
        self.0.iter().filter(move |hook| {
            hook.event == event
                && (hook.tools.is_empty()
                    || tool.is_some_and(|tool| hook.tools.iter().any(|name| name == tool)))
        })
    }

    pub fn has(&self, event: HookEvent) -> bool {
        self.0.iter().any(|hook| hook.event == event)
    }
}

/// End of a hook's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEnd {
    Code(i32),
    /// Description of another end: by a signal, at the time limit, cancelled.
    Otherwise(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookDecision {
    GoOn,
    /// Requires an approval by the user, whatever the policy decides.
    Ask,
    Refuse,
}

/// Answer of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    pub decision: HookDecision,
    /// Message for the model, with a refusal or on its own.
    pub message: Option<String>,
    /// Text for people; `None` if the hook passed without output.
    pub shown: Option<String>,
}

/// Reads a hook's exit and output.
///
/// Exit code 0 continues, and anything else refuses, because a failed check has checked nothing. At
/// exit code 0 the last line may be a JSON object with `decision` (`allow`, `ask`, `refuse`) and
/// `message`.
pub fn read(event: HookEvent, ended: HookEnd, printed: &str) -> HookAnswer {
    let name = event.name();
    let printed: String = printed.trim().chars().take(MAX_TEXT_CHARS).collect();
    let how = match ended {
        HookEnd::Code(0) => return passed(name, &printed),
        HookEnd::Code(code) => format!("exited with {code}"),
        HookEnd::Otherwise(how) => how.to_owned(),
    };
    let text = with(&format!("The hook {name} {how}"), &printed);
    HookAnswer { decision: HookDecision::Refuse, message: Some(text.clone()), shown: Some(text) }
}

fn passed(name: &str, printed: &str) -> HookAnswer {
    let (before, last) = printed.rsplit_once('\n').unwrap_or(("", printed));
    let Ok(Value::Object(answer)) = serde_json::from_str::<Value>(last) else {
        let shown =
            (!printed.is_empty()).then(|| with(&format!("The hook {name} passed"), printed));
        return HookAnswer { decision: HookDecision::GoOn, message: None, shown };
    };
    let message = answer.get("message").and_then(Value::as_str).map(str::to_owned);
    let (decision, how) = match answer.get("decision").map(Value::as_str) {
        None | Some(Some("allow")) => (HookDecision::GoOn, "passed".to_owned()),
        Some(Some("ask")) => (HookDecision::Ask, "wants you to be asked".to_owned()),
        Some(Some("refuse")) => (HookDecision::Refuse, "refused".to_owned()),
        // An unknown decision is stricter than `allow`, so it refuses.
        Some(other) => {
            let found = other.unwrap_or("something that is no string");
            (
                HookDecision::Refuse,
                format!("decided `{found}`, which is none of allow, ask, refuse"),
            )
        }
    };
    let words: Vec<&str> = [Some(before.trim()), message.as_deref()]
        .into_iter()
        .flatten()
        .filter(|it| !it.is_empty())
        .collect();
    let text = with(&format!("The hook {name} {how}"), &words.join("\n"));
    let quiet = decision == HookDecision::GoOn && words.is_empty();
    let message = match decision {
        HookDecision::Refuse => Some(text.clone()),
        HookDecision::Ask | HookDecision::GoOn => message,
    };
    HookAnswer { decision, message, shown: (!quiet).then_some(text) }
}

fn with(head: &str, words: &str) -> String {
    if words.is_empty() { format!("{head}.") } else { format!("{head}:\n{words}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_and_output_of_a_hook_give_its_decision_and_message() {
        use HookDecision::{Ask, GoOn, Refuse};
        for (ended, printed, decision, message, shown) in [
            (HookEnd::Code(0), "", GoOn, None, None),
            (HookEnd::Code(0), "fine\n", GoOn, None, Some("The hook beforeTool passed:\nfine")),
            (HookEnd::Code(0), r#"{"decision":"allow"}"#, GoOn, None, None),
            (
                HookEnd::Code(0),
                r#"{"message":"Mind the gap."}"#,
                GoOn,
                Some("Mind the gap."),
                Some("The hook beforeTool passed:\nMind the gap."),
            ),
            (
                HookEnd::Code(0),
                "log\n{\"decision\":\"ask\"}",
                Ask,
                None,
                Some("The hook beforeTool wants you to be asked:\nlog"),
            ),
            (
                HookEnd::Code(0),
                r#"{"decision":"refuse","message":"Not now."}"#,
                Refuse,
                Some("The hook beforeTool refused:\nNot now."),
                Some("The hook beforeTool refused:\nNot now."),
            ),
            (
                HookEnd::Code(0),
                r#"{"decision":"maybe"}"#,
                Refuse,
                Some("The hook beforeTool decided `maybe`, which is none of allow, ask, refuse."),
                Some("The hook beforeTool decided `maybe`, which is none of allow, ask, refuse."),
            ),
            (
                HookEnd::Code(0),
                r#"{"decision":1}"#,
                Refuse,
                Some(
                    "The hook beforeTool decided `something that is no string`, which is none of allow, ask, refuse.",
                ),
                Some(
                    "The hook beforeTool decided `something that is no string`, which is none of allow, ask, refuse.",
                ),
            ),
            // Only an object is an answer.
            (HookEnd::Code(0), "[1]", GoOn, None, Some("The hook beforeTool passed:\n[1]")),
            // A refusal by exit cannot be taken back by words.
            (
                HookEnd::Code(2),
                r#"{"decision":"allow"}"#,
                Refuse,
                Some("The hook beforeTool exited with 2:\n{\"decision\":\"allow\"}"),
                Some("The hook beforeTool exited with 2:\n{\"decision\":\"allow\"}"),
            ),
            (
                HookEnd::Otherwise("did not end in time"),
                "",
                Refuse,
                Some("The hook beforeTool did not end in time."),
                Some("The hook beforeTool did not end in time."),
            ),
        ] {
            let said = read(HookEvent::BeforeTool, ended, printed);
            let expected = HookAnswer {
                decision,
                message: message.map(str::to_owned),
                shown: shown.map(str::to_owned),
            };
            assert_eq!(said, expected, "{ended:?} {printed}");
        }
    }

    #[test]
    fn a_hook_with_a_list_of_tools_runs_only_for_these() {
        let hook = |event, tools: &[&str]| Hook {
            event,
            command: "true".into(),
            tools: tools.iter().map(|&name| name.into()).collect(),
            seconds: USUAL_SECONDS,
        };
        let hooks = Hooks(vec![
            hook(HookEvent::BeforeTool, &["bash", "grep"]),
            hook(HookEvent::BeforeTool, &[]),
            hook(HookEvent::TurnEnd, &[]),
        ]);
        let count = |event, tool| hooks.at(event, tool).count();
        assert_eq!(count(HookEvent::BeforeTool, Some("bash")), 2);
        assert_eq!(count(HookEvent::BeforeTool, Some("glob")), 1);
        assert_eq!(count(HookEvent::TurnEnd, None), 1);
        assert!(hooks.has(HookEvent::TurnEnd) && !hooks.has(HookEvent::AfterTool));
    }

    #[test]
    fn names_of_events_are_parsed() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::named(event.name()), Some(event));
        }
        assert_eq!(HookEvent::named("never"), None);
    }
}
