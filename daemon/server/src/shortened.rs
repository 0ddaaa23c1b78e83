//! Notice of a shorter conversation.

use cairn_core::context::{Shortened, Shortening};
use cairn_protocol::{Tokens, TurnNotice};

pub(crate) fn notice(shortened: &Shortened) -> TurnNotice {
    let (before, after) = (tokens(shortened.before), tokens(shortened.after));
    match shortened.how {
        Shortening::Elided => TurnNotice::ResultsElided { before, after },
        Shortening::Summarized => TurnNotice::ConversationCompacted { before, after },
        Shortening::Mechanical => TurnNotice::CompactedWithoutSummary { before, after },
        Shortening::ImagesLeftOut => TurnNotice::ImagesLeftOut,
    }
}

/// Returns the notice in English.
pub(crate) fn english(shortened: &Shortened) -> String {
    notice(shortened).english()
}

fn tokens(count: u64) -> Tokens {
    Tokens(u32::try_from(count).unwrap_or(u32::MAX))
}
