//! Facts about what a server accepts, beyond its format: learned from its refusals, and remembered for
//! the server and the model as long as the daemon runs.
//!
//! Each lesson is learned once, so a server that refuses everything is asked a bounded number of
//! times.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use cairn_core::model::{Failure, FailureKind};
use cairn_protocol::FormChange;
use parking_lot::Mutex;

use super::family::{self, Options};

/// Servers with a model that are remembered, at most. More than a user has.
const MOST_SERVERS: usize = 64;

/// True if the encoded conversation depends on it.
fn is_in_messages(change: FormChange) -> bool {
    match change {
        FormChange::AlwaysReasoning
        | FormChange::NeverReasoning
        | FormChange::NoUnknownMembers
        | FormChange::SignedCalls
        | FormChange::StrictTurns => true,
        FormChange::NoStreamOptions | FormChange::OtherLimitName | FormChange::NoModelOptions => {
            false
        }
    }
}

/// Words of a refusal that can be about the form of the request, in lower case.
fn refusal(failure: &Failure) -> Option<String> {
    let said = failure.said.as_ref()?;
    let is_form = failure.kind == FailureKind::Rejected && matches!(said.status, Some(400 | 422));
    is_form.then(|| said.words.to_ascii_lowercase())
}

/// Reads the refusal of a request with these options. `None`: it is not about them.
pub(super) fn options_lesson(options: Options, failure: &Failure) -> Option<FormChange> {
    const MEMBERS: [&str; 5] = ["thinking", "effort", "output_config", "reasoning", "max_tokens"];
    let words = refusal(failure).filter(|_| options != family::PLAIN)?;
    MEMBERS.iter().any(|member| words.contains(member)).then_some(FormChange::NoModelOptions)
}

/// Reads a refusal. `None`: it says nothing about the form of the request.
pub(super) fn lesson(failure: &Failure) -> Option<FormChange> {
    let words = refusal(failure)?;
    let has = |any: &[&str]| any.iter().any(|part| words.contains(part));
    let misses = has(&[
        "missing",
        "required",
        "must be passed",
        "must contain",
        "must include",
        "must have",
    ]);
    let refuses = has(&[
        "not permitted",
        "not allowed",
        "not supported",
        "unsupported",
        "unexpected",
        "unknown",
        "unrecognized",
        "unrecognised",
        "extra inputs",
        "extra fields",
        "extra_forbidden",
        "additional properties",
        "cannot find field",
        "invalid field",
        "instead",
    ]);
    if words.contains("thought_signature") && misses {
        return Some(FormChange::SignedCalls);
    }
    if words.contains("reasoning") {
        return match (misses, refuses) {
            (true, _) => Some(FormChange::AlwaysReasoning),
            (false, true) => Some(FormChange::NeverReasoning),
            (false, false) => None,
        };
    }
    if has(&["roles must alternate", "alternate between user", "alternating roles"]) {
        return Some(FormChange::StrictTurns);
    }
    if !refuses {
        return None;
    }
    if words.contains("stream_options") || words.contains("include_usage") {
        return Some(FormChange::NoStreamOptions);
    }
    if words.contains("max_tokens") || words.contains("max_completion_tokens") {
        return Some(FormChange::OtherLimitName);
    }
    // Members are named with their place, such as `messages.2.extra_content`.
    has(&["messages", "extra_content", "tool_calls", "assistant"])
        .then_some(FormChange::NoUnknownMembers)
}

/// Form changes of one server with one model.
#[derive(Debug, Clone, Default)]
pub struct KnownServer(Arc<Mutex<HashSet<FormChange>>>);

impl KnownServer {
    pub(super) fn knows(&self, lesson: FormChange) -> bool {
        self.with(|lessons| lessons.contains(&lesson))
    }

    pub(super) fn learn(&self, lesson: FormChange) {
        self.with(|lessons| lessons.insert(lesson));
    }

    /// Returns all lessons so far.
    pub(super) fn lessons(&self) -> HashSet<FormChange> {
        self.with(|lessons| lessons.clone())
    }

    /// Options of requests to this model.
    pub(super) fn options(&self, model: &str) -> Options {
        if self.knows(FormChange::NoModelOptions) { family::PLAIN } else { family::options(model) }
    }

    /// Number of lessons that change the encoded conversation.
    pub(super) fn revision(&self) -> usize {
        self.with(|lessons| lessons.iter().filter(|lesson| is_in_messages(**lesson)).count())
    }

    /// Learns from the refusal of a request that is made now; true for a lesson that it did not know.
    /// Requests that run at the same time may be refused for the same reason.
    pub(super) fn learns<R: FnOnce(&Failure) -> Option<FormChange>>(
        &self,
        read: R,
    ) -> impl FnOnce(&Failure) -> bool + use<R> {
        let (known, before) = (self.clone(), self.lessons());
        move |failure| {
            let news = read(failure).filter(|lesson| !before.contains(lesson));
            news.inspect(|lesson| known.learn(*lesson)).is_some()
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashSet<FormChange>) -> T) -> T {
        work(&mut self.0.lock())
    }
}

/// Model on a server, as a format must know it.
#[derive(Debug)]
pub(super) struct ServedModel {
    pub(super) name: String,
    /// The server is the vendor's own. Others support a part of its formats.
    pub(super) is_official: bool,
    /// Origin of the server. Members of an answer go back to the same origin only.
    pub(super) origin: String,
    pub(super) known: KnownServer,
}

/// Form changes of all servers, by their origins and models.
#[derive(Debug, Default)]
pub struct KnownServers(Mutex<HashMap<(String, String), KnownServer>>);

impl KnownServers {
    pub(super) fn of(&self, origin: String, model: String) -> KnownServer {
        let mut servers = self.0.lock();
        let key = (origin, model);
        if servers.len() >= MOST_SERVERS && !servers.contains_key(&key) {
            servers.clear();
        }
        servers.entry(key).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &str) -> Option<FormChange> {
        lesson(&Failure::new(FailureKind::Rejected, words).said(words, Some(400)))
    }

    #[test]
    fn a_refusal_says_what_the_server_wants() {
        for (words, wanted) in [
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
                FormChange::AlwaysReasoning,
            ),
            (
                "Missing `reasoning_content` field in the assistant message at message index 2",
                FormChange::AlwaysReasoning,
            ),
            (
                "Extra inputs are not permitted: messages.2.reasoning_content",
                FormChange::NeverReasoning,
            ),
            ("property 'reasoning' is unsupported", FormChange::NeverReasoning),
            (
                "Function call is missing a thought_signature in functionCall parts.",
                FormChange::SignedCalls,
            ),
            (
                "Invalid JSON payload received. Unknown name \"extra_content\" at 'messages[1].tool_calls[0]': Cannot find field.",
                FormChange::NoUnknownMembers,
            ),
            ("body.messages.1: Extra inputs are not permitted", FormChange::NoUnknownMembers),
            ("Unrecognized request argument supplied: stream_options", FormChange::NoStreamOptions),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                FormChange::OtherLimitName,
            ),
            ("Unknown parameter: max_completion_tokens", FormChange::OtherLimitName),
            (
                "Conversation roles must alternate user/assistant/user/assistant/...",
                FormChange::StrictTurns,
            ),
        ] {
            assert_eq!(refused(words), Some(wanted), "{words}");
        }
        for words in [
            "max_tokens is too large: 64000. This model supports at most 8192.",
            "Unknown model: kimi-k9",
            "Invalid value for temperature",
            "reasoning effort: high",
            "",
        ] {
            assert_eq!(refused(words), None, "{words}");
        }
        let about_options = |words: &str, model| {
            let failure = Failure::new(FailureKind::Rejected, words).said(words, Some(400));
            options_lesson(family::options(model), &failure).is_some()
        };
        let words = "adaptive thinking is not supported on this model";
        assert!(about_options(words, "claude-opus-5"));
        assert!(!about_options(words, "claude-haiku-4-5"), "none were sent");
        assert!(!about_options("messages: text content blocks must be non-empty", "claude-opus-5"));
        let other =
            Failure::new(FailureKind::Server, "").said("reasoning_content is missing", Some(500));
        assert_eq!(lesson(&other), None);
    }

    #[test]
    fn a_lesson_is_learned_once_for_one_model_of_one_server() {
        let servers = KnownServers::default();
        let of = |origin: &str, model: &str| servers.of(origin.into(), model.into());
        let one = of("https://a.example", "m");
        one.learn(FormChange::NeverReasoning);
        one.learn(FormChange::NeverReasoning);
        one.learn(FormChange::NoStreamOptions);
        assert_eq!(one.lessons().len(), 2);
        assert_eq!(of("https://a.example", "m").revision(), 1);
        assert!(!of("https://a.example", "n").knows(FormChange::NeverReasoning));
        assert!(!of("https://b.example", "m").knows(FormChange::NeverReasoning));
        for number in 0..1_000 {
            of(&format!("https://{number}.example"), "m");
        }
        assert!(servers.0.lock().len() <= MOST_SERVERS);
    }
}
