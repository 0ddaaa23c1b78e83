//! Token budget before each request, and compaction of the conversation between rounds.
//!
//! Must never separate calls from their results, and never repeat a request that the server found
//! too long.

use std::borrow::Cow;

use super::*;
use crate::context::{
    self, Cost, Cut, Epoch, Fill, Meter, Parts, Price, Shortened, Shortening, Window, stated_window,
};

/// Size of a session's context: window, epoch, token count and cost.
#[derive(Debug, Default)]
pub(super) struct ContextState {
    pub(super) window: Window,
    pub(super) price: Option<Price>,
    pub(super) epoch: Epoch,
    /// Indexes of the items that are digests. Neither the user nor the model wrote them.
    pub(super) digests: Vec<usize>,
    pub(super) meter: Meter,
    pub(super) cost: Cost,
    /// The user was told that the server seems to cut requests.
    pub(super) cut_told: bool,
    /// Records that [`Session::take_records`] has not returned yet.
    pub(super) unrecorded: Vec<Shortened>,
}

/// Tokens that a window must have beyond the system prompt and the tools for any work.
const LEAST_ROOM: u64 = 2_000;

/// State before images were left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct WithImages {
    images_from: usize,
    /// Tokens of the next request.
    used: u64,
}

/// True for a refusal that says so, or gives no other reason that is known.
fn may_be_due_to_images(failure: &Failure) -> bool {
    let message = failure.message.to_lowercase();
    let says_so = ["image", "vision", "multimodal"].iter().any(|word| message.contains(word));
    match failure.kind {
        FailureKind::Rejected => says_so || failure.advice.is_none(),
        FailureKind::Server => says_so,
        _ => false,
    }
}

/// State of the compaction in one turn.
#[derive(Debug, Default)]
pub(super) struct CompactionState {
    /// Requested by the user; starts before the next request.
    asked: bool,
    /// The turn exists only to compact.
    pub(super) only: bool,
    running: Option<Compaction>,
    /// The server refused a request as too long, and none was answered since.
    overflowed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compaction {
    /// Requested by the user.
    Asked,
    /// The window is nearly full.
    Full,
    /// The server refused the request as too long.
    Overflow,
}

impl Session {
    /// Sets the window of the model that answers next. May be called while a turn runs.
    pub fn set_window(&mut self, window: Window) {
        self.context.window = window;
    }

    /// Sets the price of the model's tokens; `None`: not known.
    pub fn set_price(&mut self, price: Option<Price>) {
        self.context.price = price;
    }

    pub fn epoch(&self) -> Epoch {
        self.context.epoch
    }

    /// Returns an item of this epoch as it is sent.
    pub fn sent(&self, index: usize) -> Cow<'_, Item> {
        context::sent(&self.conversation, self.context.epoch, index)
    }

    /// Returns all items that are sent, with every result left out that can be.
    pub fn sent_shortest(&self) -> impl Iterator<Item = Cow<'_, Item>> {
        let epoch = Epoch { elided_before: self.conversation.len(), ..self.context.epoch };
        let items = epoch.start..self.conversation.len();
        items.map(move |index| context::sent(&self.conversation, epoch, index))
    }

    pub fn fill(&self) -> Fill {
        let ContextState { window, epoch, meter, .. } = &self.context;
        Fill { used: meter.used(&self.conversation, *epoch, window), window: window.tokens }
    }

    pub fn cost(&self) -> Cost {
        self.context.cost
    }

    /// Returns true if there is more to compact than a message of the user or a digest.
    pub fn can_compact(&self) -> bool {
        self.conversation.len() > self.context.epoch.start + 1
    }

    pub(super) fn compact_asked(&mut self) {
        if !self.can_compact() {
            return;
        }
        match &mut self.turn {
            Some(turn) => turn.compaction.asked = true,
            None => {
                let compaction =
                    CompactionState { asked: true, only: true, ..CompactionState::default() };
                self.turn = Some(Turn { compaction, ..Turn::default() });
                self.call_model();
            }
        }
    }

    /// Frees context before a request, if needed. Returns the reason if the next request must ask
    /// for a summary.
    pub(super) fn ensure_capacity(&mut self) -> Option<Compaction> {
        let ContextState { window, epoch, meter, .. } = &mut self.context;
        meter.catch_up(&self.conversation, *epoch);
        let compaction = &mut self.turn.as_mut()?.compaction;
        if compaction.running.is_none() {
            if std::mem::take(&mut compaction.asked) {
                compaction.running = Some(Compaction::Asked);
            } else {
                let before = meter.used(&self.conversation, *epoch, window);
                if let Some(next) = meter.elide(&self.conversation, *epoch, window) {
                    *epoch = next;
                    let after = meter.used(&self.conversation, next, window);
                    let how = Shortening::Elided;
                    self.shortened(Shortened { epoch: next, how, before, after });
                } else if meter.is_full(&self.conversation, *epoch, window) {
                    compaction.running = Some(Compaction::Full);
                }
            }
        }
        self.turn.as_ref()?.compaction.running
    }

    fn shortened(&mut self, shortened: Shortened) {
        self.context.unrecorded.push(shortened);
        self.effects.push(Effect::Shortened(shortened));
    }

    pub(super) fn spent(&mut self, usage: Usage) {
        self.usage += usage;
        self.context.cost.add(usage, self.context.price);
        if let Some(turn) = &mut self.turn {
            turn.usage += usage;
            if turn.compaction.running.is_none() {
                self.context.meter.report(usage, turn.asked_items);
            }
        }
        self.effects.push(Effect::Spent);
    }

    /// Records that an ordinary request was answered.
    pub(super) fn fitted(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        turn.compaction.overflowed = false;
        if let Some(WithImages { used, .. }) = turn.tried_without_images.take() {
            let (epoch, how) = (self.context.epoch, Shortening::ImagesLeftOut);
            self.shortened(Shortened { epoch, how, before: used, after: self.fill().used });
        }
    }

    /// Leaves the images out of the next request, if the failure may be due to them and the request had
    /// any. False if it had none, or was refused without them too.
    pub(super) fn leave_images_out(&mut self, failure: &Failure) -> bool {
        let used = self.fill().used;
        let Some(turn) = &mut self.turn else { return false };
        if turn.tried_without_images.is_some() || !may_be_due_to_images(failure) {
            return false;
        }
        let ContextState { epoch, meter, .. } = &mut self.context;
        let Some(next) = epoch.without_images(&self.conversation) else { return false };
        turn.tried_without_images = Some(WithImages { images_from: epoch.images_from, used });
        *epoch = next;
        *meter = Meter::begin(next);
        true
    }

    /// Sends the images again if no request without them was answered in the turn.
    pub(super) fn restore_images(&mut self, turn: &Turn) {
        if let Some(WithImages { images_from, .. }) = turn.tried_without_images {
            self.context.epoch.images_from = images_from;
        }
    }

    /// Returns true if the running request asks for a summary.
    pub(super) fn is_compacting(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.compaction.running.is_some())
    }

    /// Handles a refusal of the server because the request is too long.
    pub(super) fn overflow(&mut self, failure: Failure) {
        let stated = stated_window(&failure.message);
        self.does_not_fit(failure, stated);
    }

    /// Handles an answer to a part of the request: the server dropped the rest without an error. False
    /// if the counts do not show it for certain; the user is told once if it is likely.
    pub(super) fn answered_in_part(&mut self, cut: Option<Cut>, usage: Usage) -> bool {
        match cut {
            None => false,
            Some(Cut::Likely { counted, sent }) => {
                if !std::mem::replace(&mut self.context.cut_told, true) {
                    self.effects.push(Effect::LikelyCut { counted, sent });
                }
                false
            }
            Some(Cut::Window(window)) => {
                let counted = usage.input_tokens;
                let message = format!(
                    "The model server read {counted} tokens of the request, as much as fits its context window of {window} tokens"
                );
                let failure = Failure::new(FailureKind::ContextOverflow, message);
                self.does_not_fit(failure, Some(window));
                true
            }
        }
    }

    fn does_not_fit(&mut self, failure: Failure, stated: Option<u64>) {
        let can_compact = self.can_compact();
        let used = self.fill().used;
        let Some(turn) = &mut self.turn else { return };
        self.effects.push(Effect::MessageDropped { reason: failure.message.clone() });
        let head = self.context.window.head;
        if let Some(window) = stated.filter(|window| *window < head + LEAST_ROOM) {
            // Not learned: the next step is a larger window of the same server.
            return self.end(EndCause::WindowTooSmall { window, head });
        }
        // If the server names no limit, guess one. The refusal may have had another reason, so the
        // guess is at least half of the window.
        let guess = used.max(self.context.window.tokens / 2);
        let window = stated.unwrap_or(guess);
        if window < self.context.window.tokens {
            self.context.window.tokens = window;
            self.effects.push(Effect::WindowLearned { tokens: window });
        }
        if turn.compaction.overflowed || !can_compact {
            let compacted = turn.compaction.overflowed;
            self.end(EndCause::ContextFull { message: failure.message, compacted });
            return;
        }
        turn.compaction.overflowed = true;
        turn.compaction.running = Some(Compaction::Overflow);
        self.call_model();
    }

    pub(super) fn summarized(&mut self, reply: &Reply) {
        let text = reply.message.text();
        let summary = (!text.trim().is_empty()).then(|| text.trim().to_owned());
        self.take_stock(summary, "The model wrote no summary.");
    }

    /// Handles the failure of a summary after the last retry.
    pub(super) fn summary_failed(&mut self, failure: &Failure) {
        self.take_stock(None, &failure.message);
    }

    /// Requests the pending edits from the server, or ends the compaction. Without a summary, a
    /// compaction that only the user asked for leaves the conversation unchanged.
    fn take_stock(&mut self, summary: Option<String>, why: &str) {
        let Some(turn) = &mut self.turn else { return };
        turn.retries.succeeded();
        match (&summary, turn.compaction.running) {
            (None, Some(Compaction::Asked)) => {
                turn.compaction.running = None;
                if turn.compaction.only {
                    self.end(EndCause::NotCompacted(why.to_owned()));
                } else {
                    self.call_model();
                }
            }
            (Some(_), _) | (None, Some(Compaction::Full | Compaction::Overflow) | None) => {
                turn.phase = Phase::PendingEdits { summary };
                self.effects.push(Effect::RequestPendingEdits);
            }
        }
    }

    pub(super) fn compact(&mut self, proposals: &[String]) {
        let Some(Turn { phase: Phase::PendingEdits { summary }, compaction, .. }) = &mut self.turn
        else {
            return;
        };
        let summary = summary.take();
        compaction.running = None;
        let only = compaction.only;
        let ContextState { window, epoch, meter, digests, .. } = &mut self.context;
        let before = meter.used(&self.conversation, *epoch, window);
        let parts = Parts {
            items: &self.conversation,
            digests,
            plan: &self.plan,
            proposals,
            summary: summary.as_deref(),
        };
        let text = context::digest(&parts, window);
        let start = self.conversation.len();
        self.conversation.push(Item::User(UserMessage { text, ..UserMessage::default() }));
        digests.push(start);
        *epoch = Epoch { start, elided_before: start, images_from: start };
        *meter = Meter::begin(*epoch);
        let after = meter.used(&self.conversation, *epoch, window);
        let how = match summary {
            Some(_) => Shortening::Summarized,
            None => Shortening::Mechanical,
        };
        let shortened = Shortened { epoch: *epoch, how, before, after };
        self.shortened(shortened);
        if only {
            let end = End::new(EndReason::Completed, "");
            self.end(End { compacted: Some(shortened), ..end });
        } else {
            self.call_model();
        }
    }
}
