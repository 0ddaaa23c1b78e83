//! Encoded conversation for the model, and its compaction at the machine's request.
//!
//! Never changes bytes that were sent: only [`super::encoding`] does, when an epoch begins.

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    context::{self, Shortened},
    ids::{SessionId, TurnId},
    model::ToolSpec,
};
use cairn_protocol::TurnNotice;

use super::{Sessions, problem};
use crate::{
    model::{ModelRequest, window},
    runner, shortened,
};

impl Sessions {
    /// Updates the context window and the price for the model of the next turn.
    pub(super) fn measure(&mut self, session_id: &SessionId, system: &str, specs: &[ToolSpec]) {
        let model = &self.config.choice.info.name;
        let settings = &self.config.settings.model.context;
        let learned = self
            .config
            .learned_window
            .filter(|(of, _)| *of == self.config.generation)
            .map(|(_, tokens)| tokens);
        let mut window = window::window(
            model,
            self.config.choice.is_ollama,
            settings,
            self.config.choice.max_tokens,
            learned,
        );
        let tools = specs.iter().map(|spec| {
            let schema = context::text_tokens(&spec.schema.to_string());
            schema + context::text_tokens(&spec.description) + context::text_tokens(&spec.name)
        });
        if self.config.choice.info.replay && settings.tokens.is_none() {
            // A replay script has no answer to a request for a summary.
            window.tokens = window::SCRIPT_TOKENS;
        }
        window.head = context::text_tokens(system) + tools.sum::<u64>();
        let price = window::price(model, settings, self.config.choice.own_server);
        if let Some(session) = self.entries.get_mut(session_id) {
            session.machine.set_window(window);
            session.machine.set_price(price);
        }
    }

    pub(super) fn on_window_learned(&mut self, tokens: u64) {
        self.config.learned_window = Some((self.config.generation, tokens));
    }

    /// Tells the user that the server seems to drop a part of the requests.
    pub(super) fn on_likely_cut(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        counted: u64,
        sent: u64,
    ) {
        let notice = TurnNotice::RequestLikelyCut {
            counted: problem::tokens(counted),
            sent: problem::tokens(sent),
        };
        self.turn_notice(session_id, turn_id, notice);
    }

    pub(super) fn summarize(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        number: u32,
        shortest: bool,
    ) {
        let Some(session) = self.entries.get_mut(session_id) else { return };
        let Some(encoded) = &mut session.encoded else { return };
        let messages = encoded.with_wish(&session.machine, shortest);
        self.ask(session_id, turn_id, number, messages);
    }

    /// Sends a request to the model.
    pub(super) fn ask(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        number: u32,
        messages: Bytes,
    ) {
        let Some(session) = self.entries.get(session_id) else { return };
        let (Some(encoded), Some(turn)) = (&session.encoded, &session.turn) else { return };
        let request = ModelRequest {
            system: Arc::clone(&turn.system),
            tools: Arc::clone(&turn.specs),
            messages,
            session: session.id.clone(),
            max_tokens: turn.max_tokens,
        };
        let (provider, cancel) = (Arc::clone(&encoded.provider), turn.cancel.clone());
        let hooks = self.hook_context(session_id, turn_id, cancel.clone());
        let asking = runner::ask_model(
            self.notices(),
            provider,
            request,
            session_id.clone(),
            turn_id.clone(),
            number,
            hooks,
        );
        self.services.spawn_until(cancel, asking);
    }

    pub(super) fn on_shortened(
        &mut self,
        session_id: &SessionId,
        turn_id: &TurnId,
        shortened: Shortened,
    ) {
        self.show_notice(session_id, turn_id, shortened::notice(&shortened));
        self.publish_usage(session_id, turn_id);
    }
}
