//! Context window: estimates how full it is, and selects the items that are sent.
//!
//! Items are never changed. An [`Epoch`] says from which item on the conversation is sent, and
//! before which item long tool results are replaced by a note. Only a new epoch changes bytes that
//! were sent before, so epochs change rarely and by a large step. The cost of an operation does not
//! grow with the conversation, except for a new epoch.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    conversation::{Attached, AttachedContent, Block, Item, ToolArguments, ToolResult},
    ids::CallId,
    marks,
    model::Usage,
};

mod cut;
mod digest;
mod price;

pub use cut::{Cut, Sent, cut};
pub use digest::{Parts, REJECTED, SUMMARY_WANTED, TAKEN_BACK, WENT_BACK, digest};
pub use price::{Cost, Price};

/// Percentage of [`Window::room`] from which on old tool results are left out.
const ELIDE_PERCENT: u64 = 60;
/// Percentage of [`Window::room`] from which on the conversation is compacted.
const COMPACT_PERCENT: u64 = 85;
/// Percentage of [`Window::room`] that a new epoch must free, and that must have been added since
/// the last one. A new epoch invalidates the provider's prompt cache, which costs money.
const STEP_PERCENT: u64 = 20;
/// Number of newest rounds whose results are always sent whole.
const ROUNDS_KEPT: usize = 4;
/// Minimum size in bytes of a result that is left out. A note instead of a smaller one would save
/// nothing.
const SMALL_RESULT: usize = 400;

/// Size of a model's context, request and answer together, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub tokens: u64,
    /// Tokens kept free for the answer.
    pub reserve: u64,
    /// Tokens before the conversation in each request: the system prompt and the tools.
    pub head: u64,
}

impl Default for Window {
    /// Window of an unknown model.
    fn default() -> Self {
        Self { tokens: 32_000, reserve: 4_000, head: 0 }
    }
}

impl Window {
    /// Returns the tokens that one request may have, its head included.
    pub fn room(&self) -> u64 {
        self.tokens - self.reserve.min(self.tokens / 2)
    }

    fn share(&self, percent: u64) -> u64 {
        self.room().saturating_mul(percent) / 100
    }
}

/// View of a conversation: the part of it that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Epoch {
    /// The first item that is sent: the very first, or what an earlier part was compacted to.
    pub start: usize,
    /// Long tool results before this item are sent as a note.
    pub elided_before: usize,
    /// Images before this item are sent as a name: the model server refused them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub images_from: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Epoch {
    /// Returns the epoch without the images of all items; `None` if it sends none.
    pub fn without_images(self, items: &[Item]) -> Option<Self> {
        let first = self.start.max(self.images_from);
        let has_images = items.iter().skip(first).any(Item::has_images);
        has_images.then_some(Self { images_from: items.len(), ..self })
    }
}

/// Change to an epoch in which the conversation needs fewer tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    pub epoch: Epoch,
    pub how: Shortening,
    /// Tokens of the next request before and after the change.
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
    /// Facts were copied without a summary: the model could not be asked, or wrote none.
    Mechanical,
    /// Images are left out, because the model server refused a request with them.
    ImagesLeftOut,
}

/// Used part of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fill {
    /// Tokens of the next request.
    pub used: u64,
    pub window: u64,
}

/// Token count of the next request: the last count of the server, plus an estimate of the items
/// added since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Meter {
    /// Tokens of the items before `counted`, and of the head if `reported`.
    tokens: u64,
    counted: usize,
    /// True if `tokens` holds the server's count, which includes the head.
    reported: bool,
    /// The next item is the answer that the server counted.
    answer_counted: bool,
    /// Tokens saved by leaving out results before `weighed`.
    gain: u64,
    weighed: usize,
    /// Bytes of the items that are sent, without thinking, which a server may leave out. Only those
    /// since the start of this process.
    #[serde(skip)]
    bytes: u64,
    /// The server's count of the last request; zero after a message of the user, where a template
    /// leaves out earlier thinking.
    #[serde(skip)]
    last_input: u64,
}

impl Meter {
    /// Adds the items since the last call to the estimate.
    pub fn catch_up(&mut self, items: &[Item], epoch: Epoch) {
        self.counted = self.counted.max(epoch.start);
        for (index, item) in items.iter().enumerate().skip(self.counted) {
            self.bytes = self.bytes.saturating_add(item_bytes(&sent(items, epoch, index)));
            if matches!(item, Item::User(_)) {
                self.last_input = 0;
            }
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

    /// Stores the server's count of a request with these items, and of its answer.
    pub fn report(&mut self, usage: Usage, items: usize) {
        // Some servers report zeros.
        if usage.input_tokens > 0 {
            self.tokens = usage.input_tokens.saturating_add(usage.output_tokens);
            self.counted = items;
            self.reported = true;
            self.answer_counted = true;
            self.last_input = usage.input_tokens;
        }
    }

    /// Returns the size of the request with the items counted so far.
    pub fn sent(&self, window: &Window) -> Sent {
        let head_bytes = window.head * 7 / 2;
        let bytes = head_bytes.saturating_add(self.bytes);
        let reported = self.tokens.saturating_add(if self.reported { 0 } else { window.head });
        Sent {
            estimate: reported.max(bytes / 7 * 2),
            least: bytes / LONGEST_TOKEN,
            before: self.last_input,
        }
    }

    /// Returns the tokens of the next request. Items not counted yet are estimated.
    pub fn used(mut self, items: &[Item], epoch: Epoch, window: &Window) -> u64 {
        self.catch_up(items, epoch);
        self.tokens.saturating_add(if self.reported { 0 } else { window.head })
    }

    /// Returns an epoch that leaves out old results; `None` if that would free too little or is not
    /// needed.
    pub fn elide(&mut self, items: &[Item], epoch: Epoch, window: &Window) -> Option<Epoch> {
        let used = self.used(items, epoch, window);
        let worth = self.gain >= window.share(STEP_PERCENT)
            && used >= window.share(ELIDE_PERCENT)
            && used.saturating_sub(self.gain) < window.share(COMPACT_PERCENT);
        if !worth {
            return None;
        }
        let gain = std::mem::take(&mut self.gain);
        self.tokens = self.tokens.saturating_sub(gain);
        self.bytes = self.bytes.saturating_sub(gain.saturating_mul(LONGEST_TOKEN));
        self.last_input = 0;
        Some(Epoch { elided_before: self.weighed, ..epoch })
    }

    /// Returns true if the conversation must be compacted, and is long enough for that to help.
    pub fn is_full(&self, items: &[Item], epoch: Epoch, window: &Window) -> bool {
        let used = self.used(items, epoch, window);
        let kept = match items.get(epoch.start) {
            Some(digest) if epoch.start > 0 => item_tokens(digest),
            Some(_) | None => 0,
        };
        used >= window.share(COMPACT_PERCENT)
            && used.saturating_sub(window.head + kept) >= window.share(STEP_PERCENT)
    }

    /// Starts the count of a new epoch.
    pub fn begin(epoch: Epoch) -> Self {
        Self { counted: epoch.start, weighed: epoch.start, ..Self::default() }
    }
}

/// Returns an item as it is sent in this epoch.
pub fn sent(items: &[Item], epoch: Epoch, index: usize) -> Cow<'_, Item> {
    let item = if index < epoch.elided_before {
        elided(items, index)
    } else {
        Cow::Borrowed(&items[index])
    };
    if index < epoch.images_from && item.has_images() {
        return Cow::Owned(item.into_owned().without_images());
    }
    item
}

/// Index of the first item whose results are always sent whole.
fn old_rounds(items: &[Item]) -> usize {
    let results = |item: &&Item| matches!(item, Item::ToolResults { .. });
    // Searches only the newest items: a round has two.
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

/// Returns the item with its long results replaced by a note.
fn elided(items: &[Item], index: usize) -> Cow<'_, Item> {
    let item = &items[index];
    let Item::ToolResults { results, notes } = item else { return Cow::Borrowed(item) };
    if results.iter().all(|result| result.content.len() < SMALL_RESULT) {
        return Cow::Borrowed(item);
    }
    let call = |id: &CallId| match index.checked_sub(1).and_then(|before| items.get(before)) {
        Some(Item::Assistant(message)) => {
            message.tool_calls().find(|call| call.id == *id).map(|call| call.name.as_str())
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
        // An error message is usually at the start.
        return format!("{}\n{}", start_of(content, SMALL_RESULT / 2), marks::own(&note));
    }
    marks::own(&note)
}

/// Returns the start of a text: at most so many bytes, cut at a character.
fn start_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Estimates tokens: two sevenths per byte of ASCII, half a token per other byte. This is somewhat
/// more than current tokenizers need for code and for languages in any script.
pub fn text_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.len() as u64 - ascii;
    (2 * ascii).div_ceil(7) + other.div_ceil(2)
}

/// Average length in bytes of a token, in any text and for any tokenizer, at most.
const LONGEST_TOKEN: u64 = 6;

/// Estimated tokens that a wire format adds to a message, a block or a call.
const AROUND: u64 = 8;

/// Bytes of the texts that each wire format sends.
fn item_bytes(item: &Item) -> u64 {
    let notes = |notes: &[crate::conversation::Note]| -> usize {
        notes.iter().map(|note| note.text.len()).sum()
    };
    let bytes = match item {
        Item::User(message) => message.text.len() + notes(&message.notes),
        Item::Assistant(message) => message.text().len(),
        Item::ToolResults { results, notes: after } => {
            results.iter().map(|result| result.content.len()).sum::<usize>() + notes(after)
        }
    };
    bytes as u64
}

fn item_tokens(item: &Item) -> u64 {
    let notes = |notes: &[crate::conversation::Note]| -> u64 {
        notes
            .iter()
            .map(|note| text_tokens(&note.text) + attached_tokens(&note.attached) + AROUND)
            .sum()
    };
    AROUND
        + match item {
            Item::User(message) => {
                text_tokens(&message.text)
                    + attached_tokens(&message.attached)
                    + notes(&message.notes)
            }
            Item::Assistant(message) => message.blocks.iter().map(block_tokens).sum(),
            Item::ToolResults { results, notes: after } => {
                let results = results.iter();
                results.map(|result| text_tokens(&result.content) + 2 * AROUND).sum::<u64>()
                    + notes(after)
            }
        }
}

/// Estimated tokens of an image: about the most that the servers count for one.
const IMAGE: u64 = 1_600;

fn attached_tokens(attached: &[Attached]) -> u64 {
    let tokens = attached.iter().map(|one| {
        let content = match &one.content {
            AttachedContent::File { text, .. }
            | AttachedContent::Selection { text, .. }
            | AttachedContent::Text(text) => text_tokens(text),
            AttachedContent::Folder | AttachedContent::RefusedImage => 0,
            AttachedContent::Image(_) => IMAGE,
        };
        content + text_tokens(&one.name) + 2 * AROUND
    });
    tokens.sum()
}

fn block_tokens(block: &Block) -> u64 {
    AROUND
        + match block {
            Block::Text(text) | Block::RedactedThinking(text) => text_tokens(text),
            Block::Returned { message, calls, .. } => {
                text_tokens(&message.to_string()) + text_tokens(&calls.to_string())
            }
            Block::Thinking { text, signature } => {
                text_tokens(text) + signature.as_deref().map_or(0, text_tokens)
            }
            Block::Reasoning { id: _, summary, sealed } => {
                text_tokens(sealed) + summary.iter().map(|text| text_tokens(text)).sum::<u64>()
            }
            Block::ToolCall(call) => {
                let arguments = match &call.arguments {
                    ToolArguments::Object(object) => text_tokens(&object.to_string()),
                    ToolArguments::Invalid { raw, .. } => text_tokens(raw),
                };
                text_tokens(&call.name) + arguments + AROUND
            }
        }
}

/// Parses the window from a refusal: `200001 tokens > 200000 maximum`, `maximum context length is
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

#[cfg(test)]
mod tests;
