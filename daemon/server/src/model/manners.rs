//! Facts about what a server accepts, beyond its format: learned from its refusals, and remembered for
//! the server as long as the daemon runs.
//!
//! Each lesson is learned once, so a server that refuses everything is asked a bounded number of
//! times.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use cairn_core::model::{Failure, FailureKind};
use cairn_protocol::FormChange;

/// Servers that are remembered, at most. More than a user has.
const MOST_SERVERS: usize = 64;

/// True if the encoded conversation depends on it.
fn is_in_messages(change: FormChange) -> bool {
    match change {
        FormChange::AlwaysReasoning
        | FormChange::NeverReasoning
        | FormChange::NoUnknownMembers
        | FormChange::SignedCalls
        | FormChange::StrictTurns => true,
        FormChange::NoStreamOptions | FormChange::OtherLimitName => false,
    }
}

/// Reads a refusal. `None`: it says nothing about the form of the request.
pub(super) fn lesson(failure: &Failure) -> Option<FormChange> {
    let said = failure.said.as_ref()?;
    if failure.kind != FailureKind::Rejected || !matches!(said.status, Some(400 | 422)) {
        return None;
    }
    let words = said.words.to_ascii_lowercase();
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

/// FormChanges of one server.
#[derive(Debug, Clone, Default)]
pub struct KnownServer(Arc<Mutex<HashSet<FormChange>>>);

impl KnownServer {
    pub(super) fn knows(&self, lesson: FormChange) -> bool {
        self.with(|lessons| lessons.contains(&lesson))
    }

    pub(super) fn learn(&self, lesson: FormChange) {
        self.with(|lessons| lessons.insert(lesson));
    }

    /// Returns all lessons so far. A request that knew a lesson is not repeated because of it.
    pub(super) fn lessons(&self) -> HashSet<FormChange> {
        self.with(|lessons| lessons.clone())
    }

    /// Number of lessons that change the encoded conversation.
    pub(super) fn revision(&self) -> usize {
        self.with(|lessons| lessons.iter().filter(|lesson| is_in_messages(**lesson)).count())
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashSet<FormChange>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// FormChanges of all servers, by their origins.
#[derive(Debug, Default)]
pub struct KnownServers(Mutex<HashMap<String, KnownServer>>);

impl KnownServers {
    pub(super) fn of(&self, origin: String) -> KnownServer {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.len() >= MOST_SERVERS && !servers.contains_key(&origin) {
            servers.clear();
        }
        servers.entry(origin).or_default().clone()
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
        let other =
            Failure::new(FailureKind::Server, "").said("reasoning_content is missing", Some(500));
        assert_eq!(lesson(&other), None);
    }

    #[test]
    fn a_lesson_is_learned_once_and_for_one_server() {
        let servers = KnownServers::default();
        let one = servers.of("https://a.example".into());
        one.learn(FormChange::NeverReasoning);
        one.learn(FormChange::NeverReasoning);
        one.learn(FormChange::NoStreamOptions);
        assert_eq!(one.lessons().len(), 2);
        assert_eq!(servers.of("https://a.example".into()).revision(), 1);
        assert!(!servers.of("https://b.example".into()).knows(FormChange::NeverReasoning));
        for number in 0..1_000 {
            servers.of(format!("https://{number}.example"));
        }
        assert!(servers.0.lock().unwrap().len() <= MOST_SERVERS);
    }
}
