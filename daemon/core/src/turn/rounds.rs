//! Tool calls of one answer: starts them, collects their results, and closes the round.
//!
//! Must never close a round while a call has no result.

use super::{tools::Work, *};
use crate::{
    ids::CallId,
    plan::{PlanForm, reminder::RoundFacts},
    subagent,
};

/// Number of tool calls from which on a turn is treated as multi-step, also without a plan.
const MULTI_STEP_CALLS: u32 = 3;

impl Session {
    pub(super) fn tool_done(&mut self, call_id: &CallId, content: String, is_error: bool) {
        let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn else { return };
        match batch.take_work(call_id) {
            // A command that was declined has no exit code. One that fails has checked something.
            Some(Work::Command(command)) => {
                if let Some((_, code)) =
                    content.rsplit_once(&format!("{}{}", marks::MARK, marks::EXIT_CODE))
                {
                    let digits = code.split(|c: char| !c.is_ascii_digit()).next();
                    self.reminders.command_ran(&command, digits == Some("0"));
                }
            }
            Some(Work::Edit(path)) if !is_error => self.reminders.edited(&path),
            Some(Work::Subagent) if content.contains(subagent::UNCHECKED) => {
                self.reminders.edited("");
            }
            Some(Work::Edit(_) | Work::Subagent) | None => {}
        }
        if batch.complete(call_id, content, is_error) {
            self.advance();
        }
    }

    /// Starts the calls that may start now, and closes the round when every call has its result.
    pub(super) fn advance(&mut self) {
        loop {
            let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn else { return };
            let Some(call) = batch.next(&self.settings) else { break };
            let plan_item = self.plan.in_progress().map(|item| item.id.clone());
            match tools::answer_without_running(&call, &self.settings) {
                tools::Answer::Run => self.effects.push(Effect::RunTool { call, plan_item }),
                tools::Answer::Wrong(content) => {
                    let content = marks::escape(&content).into_owned();
                    batch.complete(&call.id, content.clone(), true);
                    self.effects.push(Effect::ToolAnswered {
                        call,
                        plan_item,
                        content,
                        is_error: true,
                    });
                }
                tools::Answer::Todo(form, arguments) => self.todo(call, form, &arguments),
            }
        }
        if matches!(&self.turn, Some(Turn { phase: Phase::Tools(batch), .. }) if batch.is_done()) {
            self.close_round();
        }
    }

    fn todo(&mut self, call: ToolCall, form: PlanForm, arguments: &serde_json::Value) {
        let outcome = plan::apply_call(&mut self.plan, form, arguments);
        let mut content = marks::escape(&outcome.content).into_owned();
        let mut dropped = None;
        if let Some(accepted) = outcome.accepted {
            if let Some(reminder) = self.ask_for_proof(&accepted) {
                content.push_str(&reminder);
            }
            dropped = Some(accepted.dropped);
        }
        let plan_item = self.plan.in_progress().map(|item| item.id.clone());
        if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
            batch.complete(&call.id, content.clone(), outcome.is_error);
        }
        if let Some(dropped) = dropped {
            self.plan_updated(dropped);
        }
        self.effects.push(Effect::ToolAnswered {
            call,
            plan_item,
            content,
            is_error: outcome.is_error,
        });
    }

    /// Shows the task graph, which the server keeps.
    pub(super) fn task_list(&mut self, items: Vec<TodoItem>, updated: bool) {
        if !matches!(&self.turn, Some(Turn { phase: Phase::Tools(_), .. })) {
            return;
        }
        if updated {
            let accepted = self.plan.show(items);
            let postscript = self.ask_for_proof(&accepted);
            if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
                batch.postscript = postscript;
            }
            self.plan_updated(accepted.dropped);
        } else if items != self.plan.items() {
            self.plan.show(items);
            self.publish_plan(Vec::new());
        }
    }

    /// Returns the reminder that is appended to the result of the call that completed the list.
    fn ask_for_proof(&mut self, accepted: &Accepted) -> Option<String> {
        let text = self.reminders.verification(&self.settings.reminders, &self.plan, accepted)?;
        let note = Note::new(NoteKind::Reminder, text);
        let addition = format!("\n\n{}", note.wire_text());
        self.effects.push(Effect::NoteAdded(note));
        Some(addition)
    }

    fn plan_updated(&mut self, dropped: Vec<String>) {
        if let Some(Turn { phase: Phase::Tools(batch), worked, .. }) = &mut self.turn {
            batch.plan_updated = true;
            *worked = true;
        }
        self.publish_plan(dropped);
    }

    fn publish_plan(&mut self, dropped: Vec<String>) {
        self.expanded = !self.plan.is_empty();
        self.effects.push(Effect::PublishPlan { dropped });
    }

    fn close_round(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let Phase::Tools(batch) = &mut turn.phase else { return };
        let (calls, results) = (batch.fingerprint, batch.close("No result."));
        let round = RoundFacts {
            updated: batch.plan_updated,
            had_effects: batch.had_effects,
            multi_step: turn.tool_calls >= MULTI_STEP_CALLS,
        };
        let rounds = turn.rounds;
        let mut notes = image_note(std::mem::take(&mut batch.images));
        let warning = turn.repeat.count(calls, &results);
        notes.extend(warning.map(|text| Note::new(NoteKind::Notice, text)));
        notes.extend(turn.steers.drain(..).map(Note::from));
        self.take_notices(&mut notes);
        if let Some(text) = self.reminders.after_round(&self.settings.reminders, &self.plan, round)
        {
            notes.push(Note::new(NoteKind::Reminder, text));
        }
        self.effects.extend(notes.iter().cloned().map(Effect::NoteAdded));
        self.conversation.push(Item::ToolResults { results, notes });
        if rounds >= self.settings.max_rounds { self.end_at_limit() } else { self.call_model() }
    }

    pub(super) fn stop_loop(&mut self, name: String) {
        self.pair_open_calls("Not run: the same call was made again and again.");
        self.end(EndCause::RepeatedCall(name));
    }

    /// Gives every call without a result this one, so that the conversation stays legal.
    pub(super) fn pair_open_calls(&mut self, content: &str) {
        if let Some(Turn { phase: Phase::Tools(batch), .. }) = &mut self.turn {
            let results = batch.close(content);
            self.conversation.push(Item::ToolResults { results, notes: Vec::new() });
        }
    }
}

/// Largest size of all images of one round, in base 64.
const MAX_IMAGES_BYTES: usize = 12 * 1024 * 1024;

/// Returns a notice with the images that calls have read.
fn image_note(images: Vec<Attached>) -> Vec<Note> {
    if images.is_empty() {
        return Vec::new();
    }
    let (mut attached, mut lines, mut size) = (Vec::new(), Vec::new(), 0);
    for image in images {
        let name = &image.name;
        if size + image.size() > MAX_IMAGES_BYTES {
            lines.push(format!(
                "{name} is left out: it is too much for one answer. Read it again alone."
            ));
            continue;
        }
        size += image.size();
        lines.push(format!("The image of {name} is in this message."));
        attached.push(image);
    }
    vec![Note { attached, ..Note::new(NoteKind::Notice, lines.join("\n")) }]
}
