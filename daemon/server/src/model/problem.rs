//! Failures of providers in the form of the protocol.

use cairn_core::model::{Advice, Failure, FailureKind};
use cairn_protocol::{RetryReason, TurnProblem};

const BASE_URL: &str = "cairn.model.baseUrl";

/// Converts a failure: by its advice if that has a code, otherwise by its kind.
pub fn of_failure(failure: &Failure, provider: &str) -> TurnProblem {
    let (provider, reason) = (provider.to_owned(), part(&failure.message));
    let setting = |name: &str| name.to_owned();
    match (&failure.advice, failure.kind) {
        (Some(Advice::SetKey { variable }), _) => {
            let variable = (*variable).to_owned();
            TurnProblem::NoApiKey { name: name_of(&provider), provider, variable }
        }
        (Some(Advice::EnterKey { owners, origin }), _) => {
            let (owners, origin) = (owners.clone(), origin.clone());
            TurnProblem::KeyOfOtherServer { provider, owners, origin }
        }
        (Some(Advice::StartLocalServer), _) => {
            TurnProblem::LocalModelUnreachable { reason, setting: setting(BASE_URL) }
        }
        (Some(Advice::CheckModelName), _) => {
            TurnProblem::ModelNotFound { reason, setting: setting(BASE_URL) }
        }
        (Some(Advice::UseFinalAddress), _) => {
            TurnProblem::ModelRedirected { reason, setting: setting(BASE_URL) }
        }
        (Some(Advice::CheckAddress), _) => {
            TurnProblem::ModelAddress { reason, setting: setting(BASE_URL) }
        }
        (Some(Advice::CheckCertificates), _) => TurnProblem::HttpClientFailed { reason },
        (Some(Advice::CorrectScript), _) => {
            TurnProblem::ReplayScript { reason, setting: setting("cairn.model.replayFile") }
        }
        (Some(Advice::ChangeHook), _) => {
            TurnProblem::HookRefused { reason, setting: setting("cairn.hooks") }
        }
        (Some(Advice::ShowLog), _) => TurnProblem::ModelCrashed { reason },
        (Some(Advice::TryAgain), _) => TurnProblem::EmptyAnswer,
        (None, FailureKind::Connect) => TurnProblem::ModelUnreachable { reason },
        (None, FailureKind::Timeout) => TurnProblem::ModelTimeout { reason },
        (None, FailureKind::RateLimited) => TurnProblem::ModelRateLimited { reason },
        (None, FailureKind::Server) => TurnProblem::ModelServerError { reason },
        (None, FailureKind::StreamCut) => TurnProblem::AnswerCut { reason },
        (None, FailureKind::Protocol) => TurnProblem::AnswerInvalid { reason },
        (None, FailureKind::Auth) => {
            TurnProblem::KeyRejected { name: name_of(&provider), provider, reason }
        }
        (None, FailureKind::Rejected | FailureKind::Adapted) => {
            TurnProblem::ModelRejected { reason }
        }
        (None, FailureKind::ContextOverflow) => {
            TurnProblem::ContextFull { reason, compacted: false }
        }
        (None, FailureKind::Unusable) => {
            TurnProblem::ModelUnusable { reason, setting: setting("cairn.model") }
        }
    }
}

/// Name of a provider as its users know it.
fn name_of(provider: &str) -> String {
    match provider {
        "anthropic" => "Anthropic",
        "openai" => "OpenAI",
        other => other,
    }
    .to_owned()
}

/// Text as a part of a sentence: without its last period.
pub fn part(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}

/// Reason for another attempt.
pub fn retry_reason(failure: &Failure) -> RetryReason {
    let answer = failure.said.as_deref();
    let status = answer.and_then(|answer| answer.status);
    let said = answer.map(|answer| answer.words.clone());
    match failure.kind {
        FailureKind::Connect => RetryReason::ServerUnreachable { said },
        FailureKind::Timeout => RetryReason::ServerSilent,
        FailureKind::RateLimited => RetryReason::TooManyRequests { status, said },
        FailureKind::StreamCut => RetryReason::AnswerBroken,
        FailureKind::Protocol => RetryReason::AnswerUnreadable,
        FailureKind::Server
        | FailureKind::Auth
        | FailureKind::Rejected
        | FailureKind::Adapted
        | FailureKind::ContextOverflow
        | FailureKind::Unusable => RetryReason::ServerFailed { status, said },
    }
}
