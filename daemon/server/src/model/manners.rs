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

/// Servers that are remembered, at most. More than a user has.
const MOST_SERVERS: usize = 64;

/// Answer to a refusal: another form of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lesson {
    /// Each message with calls needs its reasoning, an empty one where it is not known.
    AlwaysReasoning,
    /// No message may have its reasoning.
    NeverReasoning,
    /// Members that the server sent are unknown to it when they come back.
    NoUnknownMembers,
    /// Gemini wants a signature with each call, also with those of other models.
    SignedCalls,
    NoStreamOptions,
    /// The limit of the answer has the other one of its two names.
    OtherLimitName,
    /// The chat template demands alternating roles.
    StrictTurns,
}

impl Lesson {
    /// True if the encoded conversation depends on it.
    fn changes_messages(self) -> bool {
        match self {
            Self::AlwaysReasoning
            | Self::NeverReasoning
            | Self::NoUnknownMembers
            | Self::SignedCalls
            | Self::StrictTurns => true,
            Self::NoStreamOptions | Self::OtherLimitName => false,
        }
    }
}

/// Reads a refusal. `None`: it says nothing about the form of the request.
pub(super) fn lesson(failure: &Failure) -> Option<Lesson> {
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
        return Some(Lesson::SignedCalls);
    }
    if words.contains("reasoning") {
        return match (misses, refuses) {
            (true, _) => Some(Lesson::AlwaysReasoning),
            (false, true) => Some(Lesson::NeverReasoning),
            (false, false) => None,
        };
    }
    if has(&["roles must alternate", "alternate between user", "alternating roles"]) {
        return Some(Lesson::StrictTurns);
    }
    if !refuses {
        return None;
    }
    if words.contains("stream_options") || words.contains("include_usage") {
        return Some(Lesson::NoStreamOptions);
    }
    if words.contains("max_tokens") || words.contains("max_completion_tokens") {
        return Some(Lesson::OtherLimitName);
    }
    // Members are named with their place, such as `messages.2.extra_content`.
    has(&["messages", "extra_content", "tool_calls", "assistant"])
        .then_some(Lesson::NoUnknownMembers)
}

/// Lessons of one server.
#[derive(Debug, Clone, Default)]
pub struct KnownServer(Arc<Mutex<HashSet<Lesson>>>);

impl KnownServer {
    pub(super) fn knows(&self, lesson: Lesson) -> bool {
        self.with(|lessons| lessons.contains(&lesson))
    }

    pub(super) fn learn(&self, lesson: Lesson) {
        self.with(|lessons| lessons.insert(lesson));
    }

    /// Returns all lessons so far. A request that knew a lesson is not repeated because of it.
    pub(super) fn lessons(&self) -> HashSet<Lesson> {
        self.with(|lessons| lessons.clone())
    }

    /// Number of lessons that change the encoded conversation.
    pub(super) fn revision(&self) -> usize {
        self.with(|lessons| lessons.iter().filter(|lesson| lesson.changes_messages()).count())
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashSet<Lesson>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Lessons of all servers, by their origins.
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

    fn refused(words: &str) -> Option<Lesson> {
        lesson(&Failure::new(FailureKind::Rejected, words).said(words, Some(400)))
    }

    #[test]
    fn a_refusal_says_what_the_server_wants() {
        for (words, wanted) in [
            (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
                Lesson::AlwaysReasoning,
            ),
            (
                "Missing `reasoning_content` field in the assistant message at message index 2",
                Lesson::AlwaysReasoning,
            ),
            (
                "Extra inputs are not permitted: messages.2.reasoning_content",
                Lesson::NeverReasoning,
            ),
            ("property 'reasoning' is unsupported", Lesson::NeverReasoning),
            (
                "Function call is missing a thought_signature in functionCall parts.",
                Lesson::SignedCalls,
            ),
            (
                "Invalid JSON payload received. Unknown name \"extra_content\" at 'messages[1].tool_calls[0]': Cannot find field.",
                Lesson::NoUnknownMembers,
            ),
            ("body.messages.1: Extra inputs are not permitted", Lesson::NoUnknownMembers),
            ("Unrecognized request argument supplied: stream_options", Lesson::NoStreamOptions),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Lesson::OtherLimitName,
            ),
            ("Unknown parameter: max_completion_tokens", Lesson::OtherLimitName),
            (
                "Conversation roles must alternate user/assistant/user/assistant/...",
                Lesson::StrictTurns,
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
        one.learn(Lesson::NeverReasoning);
        one.learn(Lesson::NeverReasoning);
        one.learn(Lesson::NoStreamOptions);
        assert_eq!(one.lessons().len(), 2);
        assert_eq!(servers.of("https://a.example".into()).revision(), 1);
        assert!(!servers.of("https://b.example".into()).knows(Lesson::NeverReasoning));
        for number in 0..1_000 {
            servers.of(format!("https://{number}.example"));
        }
        assert!(servers.0.lock().unwrap().len() <= MOST_SERVERS);
    }
}
