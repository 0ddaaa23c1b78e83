//! How much of a model's window a conversation takes, and what of the conversation is sent.
//!
//! Items are never changed. What is sent of them follows from an [`Epoch`]: where it starts, and
//! which old tool results are replaced by a note. Only a new epoch changes bytes that were sent
//! before, so it comes in big steps. Nothing here costs more as a conversation grows, except a new
//! epoch itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    conversation::{Arguments, Block, Item, ToolResult},
    marks,
    model::Usage,
};

mod digest;
mod price;
#[cfg(test)]
mod tests;

pub use digest::{Parts, REJECTED, SUMMARY_WANTED, TAKEN_BACK, WENT_BACK, digest};
pub use price::{Cost, Price};

/// Old tool results are left out from this share of the room on.
const ELIDE_PERCENT: u64 = 60;
/// The conversation is compacted from this share on.
const COMPACT_PERCENT: u64 = 85;
/// What a new epoch must free, and what must have been said since the last: a prompt cache that
/// breaks is paid for.
const STEP_PERCENT: u64 = 20;
/// Rounds whose results are always sent whole.
const ROUNDS_KEPT: usize = 4;
/// A smaller result is sent as it is: the note would save nothing.
const SMALL_RESULT: usize = 400;

/// What a model can take in and give out together, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub tokens: u64,
    /// Kept free for the answer.
    pub reserve: u64,
    /// What stands before the conversation in each request: the system prompt and the tools.
    pub head: u64,
}

impl Default for Window {
    /// Of a model nothing is known of.
    fn default() -> Self {
        Self { tokens: 32_000, reserve: 4_000, head: 0 }
    }
}

impl Window {
    /// For one request, its head included.
    pub fn room(&self) -> u64 {
        self.tokens - self.reserve.min(self.tokens / 2)
    }

    fn share(&self, percent: u64) -> u64 {
        self.room().saturating_mul(percent) / 100
    }
}

/// What of a conversation is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Epoch {
    /// The first item that is sent: the very first, or what an earlier part was compacted to.
    pub start: usize,
    /// Long tool results before this item are sent as a note.
    pub elided_before: usize,
}

/// The conversation takes less room from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    pub epoch: Epoch,
    pub how: Shortening,
    /// Tokens of the next request without it, and with it.
    pub before: u64,
    pub after: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortening {
    /// Old tool results are left out.
    Elided,
    /// The model wrote a summary.
    Summarized,
    /// It could not be asked for one, or wrote none.
    Mechanical,
}

impl Shortened {
    /// For the user.
    pub fn in_words(&self) -> String {
        let what = match self.how {
            Shortening::Elided => "Old tool results left out to save room",
            Shortening::Summarized => "Conversation compacted",
            Shortening::Mechanical => "Conversation compacted without a summary of the model",
        };
        format!("{what}: {} → {} tokens", rounded(self.before), rounded(self.after))
    }
}

fn rounded(tokens: u64) -> String {
    if tokens < 1_000 {
        tokens.to_string()
    } else {
        format!("{}k", tokens.saturating_add(500) / 1_000)
    }
}

/// How full a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fill {
    /// Tokens of the next request.
    pub used: u64,
    pub window: u64,
}

/// How many tokens the next request has: what the server counted the last time, and an estimate of
/// what was added since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Meter {
    /// Of the items before `counted`, and of the head if the server counted them.
    tokens: u64,
    counted: usize,
    /// The server's count is in `tokens`, so the head is, too.
    reported: bool,
    /// The next item is the answer that the server counted.
    answer_counted: bool,
    /// What leaving out results before `weighed` would save.
    gain: u64,
    weighed: usize,
}

impl Meter {
    /// Takes the items in that were added since the last time.
    pub fn catch_up(&mut self, items: &[Item], epoch: Epoch) {
        self.counted = self.counted.max(epoch.start);
        for (index, item) in items.iter().enumerate().skip(self.counted) {
            let known =
                std::mem::take(&mut self.answer_counted) && matches!(item, Item::Assistant(_));
            if !known {
                let added = item_tokens(&sent(items, epoch, index));
                self.tokens = self.tokens.saturating_add(added);
            }
        }
        self.counted = items.len();
        let end = old_rounds(items);
        self.weighed = self.weighed.max(epoch.elided_before).max(epoch.start);
        for index in self.weighed..end {
            if let Cow::Owned(elided) = elided(items, index) {
                self.gain += item_tokens(&items[index]).saturating_sub(item_tokens(&elided));
            }
        }
        self.weighed = self.weighed.max(end);
    }

    /// The server counted a request that had these items, and its answer.
    pub fn report(&mut self, usage: Usage, items: usize) {
        // Some servers report zeros.
        if usage.input_tokens > 0 {
            self.tokens = usage.input_tokens.saturating_add(usage.output_tokens);
            self.counted = items;
            self.reported = true;
            self.answer_counted = true;
        }
    }

    /// Tokens of the next request. Items that were not taken in yet are estimated.
    pub fn used(mut self, items: &[Item], epoch: Epoch, window: &Window) -> u64 {
        self.catch_up(items, epoch);
        self.tokens.saturating_add(if self.reported { 0 } else { window.head })
    }

    /// From here on old results are left out. `None`: that would free too little, or there is
    /// room enough.
    pub fn elide(&mut self, items: &[Item], epoch: Epoch, window: &Window) -> Option<Epoch> {
        let used = self.used(items, epoch, window);
        let worth = self.gain >= window.share(STEP_PERCENT)
            && used >= window.share(ELIDE_PERCENT)
            && used.saturating_sub(self.gain) < window.share(COMPACT_PERCENT);
        if !worth {
            return None;
        }
        self.tokens = self.tokens.saturating_sub(std::mem::take(&mut self.gain));
        Some(Epoch { elided_before: self.weighed, ..epoch })
    }

    /// So full that the conversation must be compacted, and with enough in it that this helps.
    pub fn is_full(&self, items: &[Item], epoch: Epoch, window: &Window) -> bool {
        let used = self.used(items, epoch, window);
        let kept = match items.get(epoch.start) {
            Some(digest) if epoch.start > 0 => item_tokens(digest),
            Some(_) | None => 0,
        };
        used >= window.share(COMPACT_PERCENT)
            && used.saturating_sub(window.head + kept) >= window.share(STEP_PERCENT)
    }

    /// Counts anew for another epoch.
    pub fn begin(epoch: Epoch) -> Self {
        Self { counted: epoch.start, weighed: epoch.start, ..Self::default() }
    }
}

/// What is sent of an item of this epoch.
pub fn sent(items: &[Item], epoch: Epoch, index: usize) -> Cow<'_, Item> {
    if index < epoch.elided_before { elided(items, index) } else { Cow::Borrowed(&items[index]) }
}

/// Where the rounds begin whose results are sent whole.
fn old_rounds(items: &[Item]) -> usize {
    let results = |item: &&Item| matches!(item, Item::ToolResults { .. });
    // Looks at the newest items only: they hold a round each two.
    let kept = items.iter().rev().take(4 * ROUNDS_KEPT);
    let mut rounds = 0;
    let mut looked = 0;
    for item in kept {
        rounds += usize::from(results(&item));
        if rounds > ROUNDS_KEPT {
            return items.len() - looked;
        }
        looked += 1;
    }
    items.len() - looked
}

/// The item with its long results replaced by a note; as it is if it has none.
fn elided(items: &[Item], index: usize) -> Cow<'_, Item> {
    let item = &items[index];
    let Item::ToolResults { results, notes } = item else { return Cow::Borrowed(item) };
    if results.iter().all(|result| result.content.len() < SMALL_RESULT) {
        return Cow::Borrowed(item);
    }
    let call = |id: &str| match index.checked_sub(1).and_then(|before| items.get(before)) {
        Some(Item::Assistant(message)) => {
            message.tool_calls().find(|call| call.id == id).map(|call| call.name.as_str())
        }
        Some(Item::User(_) | Item::ToolResults { .. }) | None => None,
    };
    let results = results
        .iter()
        .map(|result| ToolResult {
            content: elided_content(result, call(&result.call_id).unwrap_or("the tool")),
            ..result.clone()
        })
        .collect();
    Cow::Owned(Item::ToolResults { results, notes: notes.clone() })
}

fn elided_content(result: &ToolResult, tool: &str) -> String {
    let content = &result.content;
    if content.len() < SMALL_RESULT {
        return content.clone();
    }
    let lines = content.lines().count();
    let note =
        format!("output of {lines} lines left out to save room; call {tool} again if you need it");
    if result.is_error {
        // What went wrong is mostly said at once.
        return format!("{}\n{}", start_of(content, SMALL_RESULT / 2), marks::own(&note));
    }
    marks::own(&note)
}

/// The start of a text: at most so many bytes, and whole characters.
fn start_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Two sevenths of a token for a byte of ASCII, half a token for each other one: rather more than
/// the tokenizers of today need for code and for languages in any script.
pub fn text_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.len() as u64 - ascii;
    (2 * ascii).div_ceil(7) + other.div_ceil(2)
}

/// What the format puts around a message, a block or a call.
const AROUND: u64 = 8;

fn item_tokens(item: &Item) -> u64 {
    let notes = |notes: &[crate::conversation::Note]| -> u64 {
        notes.iter().map(|note| text_tokens(&note.text) + AROUND).sum()
    };
    AROUND
        + match item {
            Item::User(message) => text_tokens(&message.text) + notes(&message.notes),
            Item::Assistant(message) => message.blocks.iter().map(block_tokens).sum(),
            Item::ToolResults { results, notes: after } => {
                let results = results.iter();
                results.map(|result| text_tokens(&result.content) + 2 * AROUND).sum::<u64>()
                    + notes(after)
            }
        }
}

fn block_tokens(block: &Block) -> u64 {
    AROUND
        + match block {
            Block::Text(text) | Block::RedactedThinking(text) => text_tokens(text),
            Block::Thinking { text, signature } => {
                text_tokens(text) + signature.as_deref().map_or(0, text_tokens)
            }
            Block::Reasoning { id: _, summary, sealed } => {
                text_tokens(sealed) + summary.iter().map(|text| text_tokens(text)).sum::<u64>()
            }
            Block::ToolCall(call) => {
                let arguments = match &call.arguments {
                    Arguments::Object(object) => text_tokens(&object.to_string()),
                    Arguments::Invalid { raw, .. } => text_tokens(raw),
                };
                text_tokens(&call.name) + arguments + AROUND
            }
        }
}

/// The window that a refusal names: `200001 tokens > 200000 maximum`, `maximum context length is
/// 8192 tokens`, `exceeds the available context size (4096 tokens)`, `n_ctx: 4096`.
pub fn stated_window(refusal: &str) -> Option<u64> {
    const BEFORE: [&str; 19] = [
        "maximum context length is",
        "maximum context length of",
        "available context size (",
        "n_ctx",
        "tokens >",
        "number of tokens allowed (",
        "maximum prompt length is",
        "model's context length (",
        "maximum model length of",
        "fit into the model (context length",
        "maximum allowed length (",
        "context length of only",
        "model token limit",
        "input length should be [1,",
        "too large for model with",
        "configured limit of",
        "exceeds the limit of",
        "`max_new_tokens` must be <=",
        "cannot exceed",
    ];
    const LEAST: u64 = 256;
    let refusal = refusal.to_lowercase();
    BEFORE.iter().find_map(|words| {
        let (_, rest) = refusal.split_once(words)?;
        let rest = rest.trim_start_matches([' ', ':', '=', '"']);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok().filter(|tokens| *tokens >= LEAST)
    })
}
