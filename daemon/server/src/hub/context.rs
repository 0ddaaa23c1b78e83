//! What is sent of a conversation, encoded; and what the machine asks for to make it shorter.
//!
//! Must never change bytes that were sent, except when an epoch of the conversation begins.

use std::sync::Arc;

use bytes::Bytes;
use cairn_core::{
    context::{self, Shortened},
    conversation::{Item, UserMessage},
    model::ToolSpec,
    turn::{Input, Session},
};
use cairn_protocol::{CompactParams, CompactResult, ErrorKind, MessageRole, TurnPhase};

use super::{Hub, fates::FateKind, sessions::new_id};
use crate::{
    event::RequestError,
    model::{Provider, Request, history::History, window},
    runner, secrets,
    store::sessions::{Line, TurnLine},
    workspace::path_of,
};

/// Of one file's patch; the rest is in the file itself.
const MOST_PATCH_BYTES: usize = 8_000;
/// Words of the turn in which the user only wants this.
const COMPACT: &str = "Compact the conversation";

/// The conversation as its provider wants it.
pub(super) struct Wire {
    pub(super) provider: Arc<dyn Provider>,
    /// Of the settings and keys the provider was chosen by.
    pub(super) generation: u32,
    history: History,
}

impl Wire {
    pub(super) fn new(provider: Arc<dyn Provider>, generation: u32) -> Self {
        Self { provider, generation, history: History::default() }
    }

    /// The conversation as it is sent now.
    pub(super) fn catch_up(&mut self, machine: &Session) -> Bytes {
        self.history.catch_up(&*self.provider, machine)
    }

    /// The same with the wish for a summary after it, in bytes of its own.
    fn with_wish(&mut self, machine: &Session, shortest: bool) -> Bytes {
        let mut bytes = if shortest {
            let mut bytes = Vec::new();
            let mut previous = None;
            for item in machine.sent_shortest() {
                self.provider.encode(previous.as_deref(), &item, &mut bytes);
                previous = Some(item);
            }
            secrets::clean_bytes(bytes)
        } else {
            self.catch_up(machine).to_vec()
        };
        let text = context::SUMMARY_WANTED.to_owned();
        let wish = Item::User(UserMessage { text, notes: Vec::new() });
        self.provider.encode(machine.conversation().last(), &wish, &mut bytes);
        bytes.into()
    }
}

impl Hub {
    /// What the model of the next turn can take, and what it costs.
    pub(super) fn measure(&mut self, session_id: &str, system: &str, specs: &[ToolSpec]) {
        let model = &self.choice.info.name;
        let settings = &self.settings.model.context;
        let learned =
            self.learned_window.filter(|(of, _)| *of == self.generation).map(|(_, tokens)| tokens);
        let mut window =
            window::window(model, self.choice.is_ollama, settings, self.choice.max_tokens, learned);
        let tools = specs.iter().map(|spec| {
            let schema = context::text_tokens(&spec.schema.to_string());
            schema + context::text_tokens(&spec.description) + context::text_tokens(&spec.name)
        });
        if self.choice.info.replay && settings.tokens.is_none() {
            // A script has an answer for each of its requests, and none for a summary.
            window.tokens = window::SCRIPT_TOKENS;
        }
        window.head = context::text_tokens(system) + tools.sum::<u64>();
        let price = window::price(model, settings, self.choice.own_server);
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.machine.set_window(window);
            session.machine.set_price(price);
        }
    }

    pub(super) fn window_learned(&mut self, tokens: u64) {
        self.learned_window = Some((self.generation, tokens));
    }

    pub(super) fn summarize(
        &mut self,
        session_id: &str,
        turn_id: &str,
        number: u32,
        shortest: bool,
    ) {
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(wire) = &mut session.wire else { return };
        let messages = wire.with_wish(&session.machine, shortest);
        self.ask(session_id, turn_id, number, messages);
    }

    /// Has the model answer these messages.
    pub(super) fn ask(&mut self, session_id: &str, turn_id: &str, number: u32, messages: Bytes) {
        let Some(session) = self.sessions.get(session_id) else { return };
        let (Some(wire), Some(turn)) = (&session.wire, &session.turn) else { return };
        let request = Request {
            system: Arc::clone(&turn.system),
            tools: Arc::clone(&turn.specs),
            messages,
            session: session.id.clone(),
            max_tokens: turn.max_tokens,
        };
        let (provider, cancel) = (Arc::clone(&wire.provider), turn.cancel.clone());
        let hooks = self.hook_desk(session_id, turn_id, cancel.clone());
        let asking = runner::ask_model(
            self.handle.clone(),
            provider,
            request,
            session_id.into(),
            turn_id.into(),
            number,
            hooks,
        );
        self.spawn_in_turn(cancel, asking);
    }

    /// Tells the machine what of this session waits for a decision, at this moment.
    pub(super) fn take_stock(&mut self, session_id: &str, turn_id: &str) {
        let mut keys: Vec<&String> = self.files.entries.keys().collect();
        keys.sort();
        let proposals = keys.into_iter().filter_map(|key| self.proposal(key, session_id)).collect();
        self.turn_input(session_id, turn_id, Input::PendingEdits { proposals });
    }

    fn proposal(&self, key: &str, session_id: &str) -> Option<String> {
        let entry = self.files.entries.get(key)?;
        let mut out = String::new();
        if let Some(fate) =
            entry.fate.as_ref().filter(|fate| fate.origin.sessions().any(|id| id == session_id))
        {
            out += &match &fate.kind {
                FateKind::Deleted => format!("You deleted {}.\n", entry.path),
                FateKind::MovedFrom(from) => {
                    let from = path_of(from).map(|path| self.display(&path)).unwrap_or_default();
                    format!("You moved {from} to {}.\n", entry.path)
                }
            };
        }
        let ids: Vec<_> = entry
            .lines()
            .iter()
            .filter(|hunk| hunk.origin.sessions().any(|id| id == session_id))
            .map(|hunk| hunk.id)
            .collect();
        if let Some(review) = entry.review.as_ref().filter(|_| !ids.is_empty()) {
            let patch = self.told_patch(review, &ids, &entry.path);
            let end = patch.floor_char_boundary(MOST_PATCH_BYTES);
            out += &patch[..end];
            if end < patch.len() {
                out += &format!("\n[the patch goes on; read {}]\n", entry.path);
            }
        }
        (!out.is_empty()).then_some(out)
    }

    pub(super) fn shortened(&mut self, session_id: &str, turn_id: &str, shortened: Shortened) {
        self.message(session_id, turn_id, MessageRole::Notice, shortened.in_words());
        self.publish_usage(session_id, turn_id);
    }

    /// By the user: between two rounds of the turn that runs, else at once, in a turn of its own.
    pub(super) fn compact(&mut self, params: CompactParams) -> Result<CompactResult, RequestError> {
        let session_id = params.session_id;
        let nothing = || {
            RequestError::new(
                ErrorKind::InvalidParams,
                "There is nothing to compact yet",
                "Compact a conversation once it has become long.",
            )
        };
        let session = self.known(&session_id)?;
        if !session.machine.can_compact() {
            return Err(nothing());
        }
        let running = session.turn.as_ref().map(|turn| turn.id.clone());
        let turn_id = match running {
            Some(turn_id) => turn_id,
            None => {
                let turn_id = new_id("t");
                self.begin_turn(&session_id, &turn_id)?;
                let Some(session) = self.sessions.get(&session_id) else { return Err(nothing()) };
                let mode = session.mode;
                let line = TurnLine {
                    turn_id: turn_id.clone(),
                    task: COMPACT.into(),
                    mode,
                    follow_up: None,
                };
                self.write(&session_id, &Line::Turn(line));
                let phase = TurnPhase::Started { text: COMPACT.into() };
                self.publish_turn(&session_id, &turn_id, phase);
                self.status_dirty = true;
                turn_id
            }
        };
        self.turn_input(&session_id, &turn_id, Input::Compact);
        Ok(CompactResult { session_id, turn_id })
    }
}
