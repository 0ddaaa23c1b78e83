//! Failures of providers in the form of the protocol.

use cairn_core::model::{Advice, Failure, FailureKind};
use cairn_protocol::{RetryReason, TurnProblem};

const BASE_URL: &str = "cairn.model.baseUrl";

/// Converts a failure: by its advice if that has a code, otherwise by its kind.
pub fn of_failure(failure: &Failure, provider: &str) -> TurnProblem {
    let (provider, reason) = (provider.to_owned(), failure.message.clone());
    let setting = |name: &str| name.to_owned();
    match &failure.advice {
        Advice::SetKey { variable, .. } => {
            return TurnProblem::NoApiKey { provider, variable: (*variable).to_owned() };
        }
        Advice::EnterKey { owners, origin, .. } => {
            let (owners, origin) = (owners.clone(), origin.clone());
            return TurnProblem::KeyOfOtherServer { provider, owners, origin };
        }
        Advice::StartLocalServer => {
            return TurnProblem::LocalModelUnreachable { reason, setting: setting(BASE_URL) };
        }
        Advice::CheckModelName => return TurnProblem::ModelNotFound { reason },
        Advice::CheckAddress | Advice::UseFinalAddress => {
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
        Advice::None
        | Advice::CheckKey
        | Advice::CheckNetwork
        | Advice::CheckAccount
        | Advice::CheckModelSettings
        | Advice::ShortenContext
        | Advice::ChangeServer => {}
    }
    match failure.kind {
        FailureKind::Connect => TurnProblem::ModelUnreachable { reason },
        FailureKind::Timeout => TurnProblem::ModelTimeout { reason },
        FailureKind::RateLimited => TurnProblem::ModelRateLimited { reason },
        FailureKind::Server => TurnProblem::ModelServerError { reason },
        FailureKind::StreamCut => TurnProblem::AnswerCut { reason },
        FailureKind::Protocol => TurnProblem::AnswerInvalid { reason },
        FailureKind::Auth => TurnProblem::KeyRejected { provider, reason },
        FailureKind::Rejected | FailureKind::Adapted => TurnProblem::ModelRejected { reason },
        FailureKind::ContextOverflow => TurnProblem::ContextFull { reason },
        FailureKind::Unusable => {
            TurnProblem::ModelUnusable { reason, setting: setting("cairn.model") }
        }
    }
}

/// Reason for another attempt; `None` for a failure after which there is none.
pub fn retry_reason(failure: &Failure) -> Option<RetryReason> {
    let answer = failure.said.as_deref();
    let status = answer.and_then(|answer| answer.status);
    let said = answer.map(|answer| answer.words.clone());
    Some(match failure.kind {
        FailureKind::Connect => RetryReason::ServerUnreachable { said },
        FailureKind::Timeout => RetryReason::ServerSilent,
        FailureKind::RateLimited => RetryReason::TooManyRequests { status, said },
        FailureKind::Server => RetryReason::ServerFailed { status, said },
        FailureKind::StreamCut => RetryReason::AnswerBroken,
        FailureKind::Protocol => RetryReason::AnswerUnreadable,
        FailureKind::Auth
        | FailureKind::Rejected
        | FailureKind::Adapted
        | FailureKind::ContextOverflow
        | FailureKind::Unusable => return None,
    })
}
