//! Failures of providers in the form of the protocol.

use cairn_core::model::{Advice, Failure, FailureKind};
use cairn_protocol::{RetryReason, TurnProblem};

const BASE_URL: &str = "cairn.model.baseUrl";

/// Converts a failure: by its advice if that has a code, otherwise by its kind.
pub fn of_failure(failure: &Failure, provider: &str) -> TurnProblem {
    let (provider, reason) = (provider.to_owned(), part(&failure.message));
    let setting = |name: &str| name.to_owned();
    match &failure.advice {
        Advice::SetKey { variable } => {
            let variable = (*variable).to_owned();
            return TurnProblem::NoApiKey { name: name_of(&provider), provider, variable };
        }
        Advice::EnterKey { owners, origin } => {
            let (owners, origin) = (owners.clone(), origin.clone());
            return TurnProblem::KeyOfOtherServer { provider, owners, origin };
        }
        Advice::StartLocalServer => {
            return TurnProblem::LocalModelUnreachable { reason, setting: setting(BASE_URL) };
        }
        Advice::CheckModelName => {
            return TurnProblem::ModelNotFound { reason, setting: setting(BASE_URL) };
        }
        Advice::UseFinalAddress => {
            return TurnProblem::ModelRedirected { reason, setting: setting(BASE_URL) };
        }
        Advice::CheckAddress => {
            return TurnProblem::ModelAddress { reason, setting: setting(BASE_URL) };
        }
        Advice::CheckCertificates => return TurnProblem::HttpClientFailed { reason },
        Advice::CorrectScript => {
            let setting = setting("cairn.model.replayFile");
            return TurnProblem::ReplayScript { reason, setting };
        }
        Advice::ChangeHook => {
            return TurnProblem::HookRefused { reason, setting: setting("cairn.hooks") };
        }
        Advice::ShowLog => return TurnProblem::ModelCrashed { reason },
        Advice::TryAgain => return TurnProblem::EmptyAnswer,
        _ => {}
    }
    match failure.kind {
        FailureKind::Connect => TurnProblem::ModelUnreachable { reason },
        FailureKind::Timeout => TurnProblem::ModelTimeout { reason },
        FailureKind::RateLimited => TurnProblem::ModelRateLimited { reason },
        FailureKind::Server => TurnProblem::ModelServerError { reason },
        FailureKind::StreamCut => TurnProblem::AnswerCut { reason },
        FailureKind::Protocol => TurnProblem::AnswerInvalid { reason },
        FailureKind::Auth => {
            TurnProblem::KeyRejected { name: name_of(&provider), provider, reason }
        }
        FailureKind::Rejected | FailureKind::Adapted => TurnProblem::ModelRejected { reason },
        FailureKind::ContextOverflow => TurnProblem::ContextFull { reason, compacted: false },
        FailureKind::Unusable => {
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
