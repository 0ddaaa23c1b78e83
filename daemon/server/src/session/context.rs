//! Encoded conversation for the model, and its compaction at the machine's request.
//!
//! Never changes bytes that were sent: only [`super::encoding`] does, when an epoch begins.

use std::sync::Arc;

use cairn_core::{context, model::ToolSpec};
use cairn_protocol::TurnNotice;

use super::{configuration::Configuration, entry::SessionEntry, problem};
use crate::{
    model::{ModelRequest, window},
    runner,
};

impl SessionEntry {
    /// Updates the context window and the price for the model of the next turn.
    pub(super) fn measure(&mut self, config: &Configuration, system: &str, specs: &[ToolSpec]) {
        let (choice, settings) = (&config.choice, &config.settings.model.context);
        let learned = config.learned_window.filter(|(of, _)| *of == config.generation);
        let mut window = window::window(
            &choice.info.name,
            choice.is_ollama,
            settings,
            choice.max_tokens,
            learned.map(|(_, tokens)| tokens),
        );
        let tools = specs.iter().map(|spec| {
            let schema = context::text_tokens(&spec.schema.to_string());
            schema + context::text_tokens(&spec.description) + context::text_tokens(&spec.name)
        });
        if choice.info.replay && settings.tokens.is_none() {
            // A replay script has no answer to a request for a summary.
            window.tokens = window::SCRIPT_TOKENS;
        }
        window.head = context::text_tokens(system) + tools.sum::<u64>();
        self.machine.set_window(window);
        self.machine.set_price(window::price(&choice.info.name, settings, choice.own_server));
    }

    /// Sends a request to the model: the conversation, or the wish for a summary of it
    /// (`Some(shortest)`).
    pub(super) fn ask(&mut self, config: &Configuration, number: u32, summary: Option<bool>) {
        let (Some(encoded), Some(turn)) = (&mut self.encoded, &self.turn) else { return };
        let messages = match summary {
            None => encoded.catch_up(&self.machine),
            Some(shortest) => encoded.with_wish(&self.machine, shortest),
        };
        let provider = Arc::clone(&encoded.provider);
        let request = ModelRequest {
            system: Arc::clone(&turn.system),
            tools: Arc::clone(&turn.specs),
            messages,
            session: self.id.clone(),
            max_tokens: turn.max_tokens,
        };
        let asking = runner::ask_model(
            self.turn_mailbox(),
            provider,
            request,
            number,
            self.hook_context(config, turn.cancel.clone()),
        );
        self.services.spawn_until(turn.cancel.clone(), asking);
    }

    /// Tells the user that the server seems to drop a part of the requests.
    pub(super) fn on_likely_cut(&mut self, counted: u64, sent: u64) {
        let (counted, sent) = (problem::tokens(counted), problem::tokens(sent));
        let notice = TurnNotice::RequestLikelyCut { counted, sent };
        self.turn_notice(&self.newest_turn(), notice);
    }

    /// Sends the request again after a delay, unless the turn ends before.
    pub(super) fn wait(&self, request: u32, delay_ms: u64) {
        let Some(turn) = &self.turn else { return };
        let waiting = runner::wait(self.turn_mailbox(), request, delay_ms);
        self.services.spawn_until(turn.cancel.clone(), waiting);
    }
}
