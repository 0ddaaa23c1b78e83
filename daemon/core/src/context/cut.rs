//! Recognition of a model server that drops a part of a request without an error, by its counts.
//!
//! Ollama and LM Studio do so. A request that exceeds the window is cut to the whole window or to half of
//! it and a few tokens, or its oldest messages are left out; an answer ends where the window is full.
//! Sources: issues 3839, 17427 and 17889 of ollama/ollama (2026).

use crate::model::{Reply, Stop};

/// Smallest count that shows a cut. Some servers leave tokens from their cache out of the count.
const LEAST_JUDGED: u64 = 1_024;
/// Most tokens above half of the window that are left of a cut request.
const KEPT: u64 = 8;

/// Finding about a request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The counts show the window, in tokens.
    Window(u64),
    /// The server counted fewer tokens than the request has.
    Likely { counted: u64, sent: u64 },
}

/// Size of a request in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Estimate that is somewhat too high.
    pub estimate: u64,
    /// Number that no tokenizer goes below.
    pub least: u64,
    /// Count for an earlier request that this one begins with; zero if there is none.
    pub before: u64,
}

/// Judges the counts of an answer. `None`: the request was read whole, as far as they show.
pub fn cut(reply: &Reply, sent: Sent) -> Option<Cut> {
    let counted = reply.usage.input_tokens;
    if counted < LEAST_JUDGED {
        return None;
    }
    let all = counted.saturating_add(reply.usage.output_tokens);
    if reply.stop == Stop::MaxTokens
        && let Some(window) = [all, all.saturating_add(1)].into_iter().find(|size| is_window(*size))
    {
        return Some(Cut::Window(window));
    }
    let is_less = counted < sent.estimate / 10 * 9;
    if is_less && is_window(counted) {
        return Some(Cut::Window(counted));
    }
    let half = counted - counted % LEAST_JUDGED;
    if is_less && counted - half <= KEPT && is_window(half) {
        return Some(Cut::Window(2 * half));
    }
    (counted < sent.least / 4 * 3 || counted < sent.before)
        .then_some(Cut::Likely { counted, sent: sent.least.max(sent.before) })
}

/// True for the sizes that windows usually have: powers of two.
fn is_window(tokens: u64) -> bool {
    tokens >= LEAST_JUDGED && tokens.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{conversation::AssistantMessage, model::Usage};

    fn judged(input: u64, output: u64, stop: Stop, sent: [u64; 3]) -> Option<Cut> {
        let usage = Usage { input_tokens: input, output_tokens: output, cached_tokens: 0 };
        let reply = Reply { message: AssistantMessage { blocks: Vec::new() }, stop, usage };
        let [estimate, least, before] = sent;
        cut(&reply, Sent { estimate, least, before })
    }

    #[test]
    fn a_cut_request_is_recognized_by_its_counts() {
        let window = |tokens| Some(Cut::Window(tokens));
        let likely = |counted, sent| Some(Cut::Likely { counted, sent });
        for (input, output, stop, sent, found) in [
            // The whole window, and half of it and a few tokens.
            (4_096, 80, Stop::EndTurn, [9_000, 5_000, 0], window(4_096)),
            (2_050, 80, Stop::EndTurn, [9_000, 5_000, 0], window(4_096)),
            (16_386, 80, Stop::ToolUse, [60_000, 30_000, 0], window(32_768)),
            // An answer that fills the window.
            (3_700, 396, Stop::MaxTokens, [4_400, 2_500, 0], window(4_096)),
            (8_000, 191, Stop::MaxTokens, [9_000, 5_000, 0], window(8_192)),
            // Left out messages.
            (3_900, 80, Stop::EndTurn, [11_000, 6_000, 0], likely(3_900, 6_000)),
            (3_900, 80, Stop::EndTurn, [5_500, 3_000, 4_050], likely(3_900, 4_050)),
            // Read whole.
            (4_096, 80, Stop::EndTurn, [4_300, 2_500, 0], None),
            (4_100, 80, Stop::EndTurn, [4_300, 2_500, 3_000], None),
            (9_000, 8_000, Stop::MaxTokens, [9_500, 5_000, 0], None),
            (12_288, 10, Stop::EndTurn, [14_000, 9_000, 12_000], None),
            // Outside of the cache only, or nothing.
            (500, 80, Stop::EndTurn, [9_000, 5_000, 4_000], None),
            (0, 0, Stop::EndTurn, [9_000, 5_000, 4_000], None),
            (u64::MAX, u64::MAX, Stop::MaxTokens, [9_000, 5_000, 0], None),
        ] {
            assert_eq!(judged(input, output, stop, sent), found, "{input} of {sent:?}");
        }
    }
}
