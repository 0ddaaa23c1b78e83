//! Answers of the model: streamed parts, the finished message, and failures.
//!
//! Must never run a call of an answer that was cut, refused, or ended without asking for it.

use super::*;

impl Session {
    pub(super) fn model(&mut self, request: u32, event: ModelEvent) {
        // A summary is not shown: the user gets a notice that it is being made.
        let compacting = self.is_compacting();
        let Some(Turn { phase: Phase::Calling { request: current, text }, .. }) = &mut self.turn
        else {
            return;
        };
        if *current != request {
            return;
        }
        match event {
            ModelEvent::Text(_)
            | ModelEvent::Thinking(_)
            | ModelEvent::TextWasThinking
            | ModelEvent::CallStarted { .. }
                if compacting => {}
            ModelEvent::Text(delta) => {
                text.push_str(&delta);
                self.effects.push(Effect::Text { delta });
            }
            ModelEvent::Thinking(delta) => self.effects.push(Effect::Thinking { delta }),
            ModelEvent::TextWasThinking => {
                text.clear();
                self.effects.push(Effect::TextWasThinking);
            }
            ModelEvent::CallStarted { id, name } => {
                self.effects.push(Effect::CallAnnounced { id, name })
            }
            ModelEvent::Finished(reply) => self.finished(reply),
            ModelEvent::Failed(failure) => self.failed(failure),
        }
    }

    fn finished(&mut self, reply: Reply) {
        let cut = crate::context::cut(&reply, self.context.meter.sent(&self.context.window));
        self.spent(reply.usage);
        if self.is_compacting() {
            return self.summarized(&reply);
        }
        if self.answered_in_part(cut, reply.usage) {
            return;
        }
        if reply.stop != Stop::ContextOverflow {
            self.fitted();
        }
        let Some(turn) = &mut self.turn else { return };
        let text = reply.message.text();
        let calls: VecDeque<ToolCall> = reply.message.tool_calls().cloned().collect();
        match reply.stop {
            Stop::EndTurn | Stop::Pause if !calls.is_empty() => {
                self.failed(calls_without_asking(&reply.stop))
            }
            Stop::ToolUse if !calls.is_empty() => self.called(reply.message, text, calls),
            Stop::EndTurn | Stop::ToolUse if text.trim().is_empty() => self.failed(empty_answer()),
            Stop::EndTurn | Stop::ToolUse if call_forms::is_written(&text) => {
                self.call_as_text(reply.message, text)
            }
            Stop::EndTurn | Stop::ToolUse => self.answered(reply.message, text),
            Stop::Pause => {
                turn.rounds += 1;
                let limit_reached = turn.rounds >= self.settings.max_rounds;
                self.say(reply.message, text);
                if limit_reached { self.end_at_limit() } else { self.call_model() }
            }
            Stop::MaxTokens => self.cut_at_output_limit(reply.message, text, !calls.is_empty()),
            Stop::Refusal => {
                self.effects.push(Effect::MessageDropped { reason: "the model refused".into() });
                self.end(EndCause::ModelRefused);
            }
            Stop::ContextOverflow => self.failed(Failure::new(
                FailureKind::ContextOverflow,
                "The conversation no longer fits the model's context",
            )),
            Stop::Other(reason) => {
                self.say(without_calls(reply.message), text);
                self.effects.push(Effect::CallsDropped);
                self.end(EndCause::UnknownStop(reason));
            }
        }
    }

    /// Runs the calls of an answer.
    fn called(&mut self, message: AssistantMessage, text: String, calls: VecDeque<ToolCall>) {
        let Some(turn) = &mut self.turn else { return };
        turn.retries.succeeded();
        turn.rounds += 1;
        turn.tool_calls += calls.len() as u32;
        turn.called_in_text = false;
        let first = calls.front().map(|call| call.name.clone()).unwrap_or_default();
        let batch = Batch::new(calls, &self.settings);
        turn.worked |= batch.had_effects;
        let is_loop = turn.repeat.is_loop(&batch);
        turn.phase = Phase::Tools(Box::new(batch));
        self.say(message, text);
        match is_loop {
            true => self.stop_loop(first),
            false => self.advance(),
        }
    }

    /// Ends the turn with an answer, unless the user or a reminder has something to say.
    fn answered(&mut self, message: AssistantMessage, text: String) {
        let Some(turn) = &mut self.turn else { return };
        turn.retries.succeeded();
        self.say(message, text.clone());
        if self.push_steers() {
            self.call_model();
        } else if asks_something(&text) {
            self.end(End::new(EndReason::NeedsInput, text));
        } else if let Some(reminder) = self.ask_to_finish() {
            self.ask_again(Note::new(NoteKind::Reminder, reminder));
        } else {
            self.end(End::new(EndReason::Completed, text));
        }
    }

    /// Asks the model for smaller calls after its call was cut, twice at most. The cut call never
    /// runs.
    fn cut_at_output_limit(&mut self, message: AssistantMessage, text: String, in_call: bool) {
        const MOST_SPLITS: u32 = 2;
        self.say(without_calls(message), text);
        if in_call {
            self.effects.push(Effect::CallsDropped);
        }
        let Some(turn) = &mut self.turn else { return };
        turn.rounds += 1;
        if in_call && turn.splits < MOST_SPLITS && turn.rounds < self.settings.max_rounds {
            turn.splits += 1;
            self.ask_again(
                Note::new(NoteKind::Notice, "Your last tool call was cut off at the output limit and was not run. Do the same in smaller steps: write less text in each call."),
            );
        } else {
            self.end(EndCause::OutputLimit);
        }
    }

    /// Asks the model once to make its call with the API. A call in text never runs.
    fn call_as_text(&mut self, message: AssistantMessage, text: String) {
        self.say(message, text);
        let Some(turn) = &mut self.turn else { return };
        turn.retries.succeeded();
        turn.rounds += 1;
        if std::mem::replace(&mut turn.called_in_text, true) {
            return self.end(EndCause::CallInText);
        }
        if turn.rounds >= self.settings.max_rounds {
            return self.end_at_limit();
        }
        self.ask_again(
                Note::new(NoteKind::Notice, "Your last answer has a tool call written as text. It was not run. Make the call with the tools of this API, not as text in your answer. If you meant to show it, put it into a code fence."),
            );
    }

    /// Returns the reminder for an answer that leaves work open, if a round is left for it.
    fn ask_to_finish(&mut self) -> Option<String> {
        if self.settings.plans_only {
            return None;
        }
        let turn = self.turn.as_mut().filter(|turn| turn.rounds + 1 < self.settings.max_rounds)?;
        let can_run = self.settings.tools.iter().any(|tool| tool.name == "bash");
        let text = self.reminders.end(&self.settings.reminders, &self.plan, can_run)?;
        turn.rounds += 1;
        Some(text)
    }

    fn ask_again(&mut self, note: Note) {
        self.effects.push(Effect::NoteAdded(note.clone()));
        self.conversation
            .push(Item::User(UserMessage { notes: vec![note], ..UserMessage::default() }));
        self.call_model();
    }

    /// Appends a message to the conversation. An empty one is not stored: providers refuse an empty
    /// assistant message.
    pub(super) fn say(&mut self, message: AssistantMessage, text: String) {
        if !message.blocks.is_empty() {
            self.conversation.push(Item::Assistant(message));
        }
        self.effects.push(Effect::MessageDone { text });
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        let compacting = self.is_compacting();
        if failure.kind == FailureKind::ContextOverflow && !compacting {
            return self.overflow(failure);
        }
        if !compacting && self.leave_images_out(&failure) {
            self.effects.push(Effect::MessageDropped { reason: failure.message });
            return self.call_model();
        }
        if failure.kind == FailureKind::Adapted {
            self.effects.push(Effect::MessageDropped { reason: failure.message });
            return self.call_model();
        }
        let Some(turn) = &mut self.turn else { return };
        self.effects.push(Effect::MessageDropped { reason: failure.message.clone() });
        match turn.retries.next(&failure) {
            Some((attempt, delay_ms)) => {
                let request = self.requests;
                turn.phase = Phase::Waiting { request };
                self.effects.push(Effect::Wait { request, attempt, delay_ms, failure });
            }
            None if compacting => self.summary_failed(&failure),
            None => self.end(EndCause::Model(failure)),
        }
    }
}

fn empty_answer() -> Failure {
    Failure::new(FailureKind::Protocol, "The model answered with nothing").advise(Advice::TryAgain)
}

/// Failure for an answer with calls that does not ask to run them. A provider reports `ToolUse`
/// where its format asks for that.
fn calls_without_asking(stop: &Stop) -> Failure {
    let how = if *stop == Stop::Pause { "paused" } else { "ended its turn" };
    let message = format!("The model called a tool but {how} in the same answer; nothing was run");
    Failure::new(FailureKind::Protocol, message)
}

fn without_calls(message: AssistantMessage) -> AssistantMessage {
    let blocks = message
        .blocks
        .into_iter()
        .filter(|block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            // Thinking without the call it led to is refused by the provider that made it.
            _ => false,
        })
        .collect();
    AssistantMessage { blocks }
}
