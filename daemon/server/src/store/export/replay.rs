//! Export as a script for the `replay` provider (`model/replay.rs`): each answer of the model is a step.
//!
//! To play it, give the same tasks in the same order; its name lists them. A journal has no failed
//! requests, so a script has no failures either. A call whose arguments were not a JSON object has no
//! arguments in the script, and fails there as well.

use std::io::{self, Write};

use cairn_core::{
    conversation::{AssistantMessage, Block, Item, ToolArguments},
    ids::SessionId,
    turn::Record,
};
use serde_json::{Value, json};

use super::Form;
use crate::store::sessions::{self, Line, SubagentStep};

#[derive(Default)]
pub(super) struct Replay {
    tasks: Vec<String>,
    /// Newest answer. It is written when the next record shows whether the server had paused.
    last: Option<Value>,
    steps: u64,
    /// Id, prompt and answers of each subagent.
    subagents: Vec<(SessionId, String, Vec<Value>)>,
}

const TASKS: usize = 20;

impl Form for Replay {
    fn line(&mut self, line: Line, out: &mut dyn Write) -> io::Result<()> {
        match line {
            Line::Turn(turn) => {
                if self.tasks.len() < TASKS {
                    self.tasks.push(sessions::title(&turn.task));
                }
                Ok(())
            }
            Line::Step(_) | Line::Steps(_) => {
                line.records().iter().try_for_each(|record| self.record(record, out))
            }
            Line::SubagentStep(SubagentStep { session_id, step }) => {
                self.subagent(session_id, &step);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, _: u64, out: &mut dyn Write) -> io::Result<()> {
        self.flush(out)?;
        if self.steps == 0 {
            out.write_all(b"{\n  \"cairnReplay\": 1,\n  \"steps\": [")?;
        }
        let name = Value::from(self.tasks.join(" / "));
        let subagents: Vec<Value> = self
            .subagents
            .iter()
            .map(|(_, prompt, steps)| json!({ "prompt": prompt, "steps": steps }))
            .collect();
        let subagents = Value::from(subagents);
        write!(out, "\n  ],\n  \"subagents\": {subagents},\n  \"name\": {name}\n}}\n")
    }
}

impl Replay {
    fn record(&mut self, record: &Record, out: &mut dyn Write) -> io::Result<()> {
        match record {
            Record::Item(Item::Assistant(message)) => {
                if let Some(last) = &mut self.last {
                    // Two answers in a row: the server had paused, and was asked to continue.
                    last["stop"] = "pause".into();
                }
                self.flush(out)?;
                self.last = Some(step(message));
                Ok(())
            }
            Record::Item(Item::User(_) | Item::ToolResults { .. }) => self.flush(out),
            Record::Begun { .. } | Record::Result(_) | Record::Memo(_) | Record::Shortened(_) => {
                Ok(())
            }
        }
    }

    fn subagent(&mut self, session_id: SessionId, record: &Record) {
        let known = self.subagents.iter_mut().find(|(id, ..)| *id == session_id);
        match (record, known) {
            (Record::Item(Item::User(message)), None) => {
                self.subagents.push((session_id, message.text.clone(), Vec::new()));
            }
            (Record::Item(Item::Assistant(message)), Some((_, _, steps))) => {
                steps.push(step(message));
            }
            _ => {}
        }
    }

    fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(step) = self.last.take() else { return Ok(()) };
        let before = if self.steps == 0 { "{\n  \"cairnReplay\": 1,\n  \"steps\": [" } else { "," };
        self.steps += 1;
        write!(out, "{before}\n    {step}")
    }
}

fn step(message: &AssistantMessage) -> Value {
    let mut step = json!({});
    let thinking = message.blocks.iter().filter_map(|block| match block {
        Block::Thinking { text, .. } => Some(text.clone()),
        Block::Reasoning { summary, .. } => Some(summary.join("\n")),
        _ => None,
    });
    let thinking = thinking.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let text = message.text();
    for (name, text) in [("thinking", thinking), ("text", text)] {
        if !text.is_empty() {
            step[name] = text.into();
        }
    }
    let calls: Vec<Value> = message
        .tool_calls()
        .map(|call| {
            let arguments = match &call.arguments {
                ToolArguments::Object(value) => value.clone(),
                ToolArguments::Invalid { .. } => json!({}),
            };
            json!({ "name": call.name, "arguments": arguments })
        })
        .collect();
    if !calls.is_empty() {
        step["calls"] = calls.into();
    }
    step
}
