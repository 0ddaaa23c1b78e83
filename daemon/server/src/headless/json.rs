//! Output of a run for programs: one JSON object a line on standard output, described in docs/run.md.
//!
//! Within a version members and types are only added. A change of a meaning is a new version.

use std::{collections::HashSet, io::Write, path::Path};

use cairn_protocol::{
    BannerKind, Connection, MessageRole, Notice, PlanItem, PlanNotification, ToolNotification,
    ToolState, TurnPhase,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    report::{ChangedFile, Report, RunEnd, RunStart, elapsed_ms},
    settings::in_words_of_run,
};
use crate::secrets;

/// Version of the events.
const VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum RunEvent<'a> {
    Start {
        version: u32,
        cairn: &'a str,
        session_id: &'a str,
        turn_id: &'a str,
        workspace: &'a Path,
        model: &'a str,
    },
    /// A complete text of the agent, or a notice of Cairn.
    Message {
        role: MessageRole,
        text: &'a str,
    },
    Plan {
        completed: u32,
        total: u32,
        items: &'a [Value],
    },
    CallStarted {
        #[serde(flatten)]
        call: Call<'a>,
    },
    CallEnded {
        #[serde(flatten)]
        call: Call<'a>,
        state: ToolState,
        #[serde(skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        added: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        removed: Option<u32>,
        /// Output of a command, or the reason of a failure; bounded.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    Retry {
        reason: &'a str,
        delay_ms: u64,
    },
    Warning {
        text: &'a str,
    },
    Declined {
        title: &'a str,
        reason: &'a str,
    },
    Change(&'a ChangedFile),
    End(&'a RunEnd),
    Error {
        message: &'a str,
        exit_code: u8,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    call_id: &'a str,
    name: &'a str,
    title: &'a str,
    /// Call that started the subagent that makes this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
}

#[derive(Default)]
pub(super) struct JsonReport {
    start: RunStart,
    banners: HashSet<String>,
    running: HashSet<String>,
    /// Items of the plan that was written last.
    plan: Vec<Value>,
}

impl JsonReport {
    fn write(&self, event: &RunEvent<'_>) {
        // A value of these types always has a JSON form.
        let Ok(mut value) = serde_json::to_value(event) else { return };
        secrets::clean_json(&mut value);
        let mut out = std::io::stdout().lock();
        // A closed pipe: its reader wants no more.
        let _ = writeln!(out, "{value}").and_then(|()| out.flush());
    }

    /// Writes a plan, unless only the work on its steps has changed.
    fn plan(&mut self, plan: &PlanNotification) {
        let item = |item: &PlanItem| json!({ "content": item.content, "status": item.status });
        let items: Vec<Value> = plan.items.iter().map(item).collect();
        if self.plan != items {
            let (completed, total) = (plan.completed, plan.total);
            self.write(&RunEvent::Plan { completed, total, items: &items });
            self.plan = items;
        }
    }

    fn call(&mut self, tool: &ToolNotification) {
        let title = tool.title.english();
        let call = || Call {
            call_id: &tool.call_id,
            name: &tool.name,
            title: &title,
            parent: tool.parent.as_ref().map(|parent| parent.call_id.as_str()),
        };
        if tool.state == ToolState::Running && self.running.insert(tool.call_id.clone()) {
            self.write(&RunEvent::CallStarted { call: call() });
        } else if tool.state.is_over() {
            self.running.remove(&tool.call_id);
            let stats = tool.stats.unwrap_or_default();
            self.write(&RunEvent::CallEnded {
                call: call(),
                state: tool.state,
                elapsed_ms: elapsed_ms(tool),
                exit_code: stats.exit_code,
                added: stats.added,
                removed: stats.removed,
                detail: tool.detail.as_deref(),
            });
        }
    }
}

impl Report for JsonReport {
    fn begins(&mut self, start: RunStart) {
        self.start = start;
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Plan(plan) => self.plan(plan),
            Notice::Message(message) => {
                let is_shown = matches!(message.role, MessageRole::Assistant | MessageRole::Notice);
                if let Some(text) = message.text.as_ref().filter(|_| is_shown) {
                    let text = match message.role {
                        MessageRole::Notice => in_words_of_run(text),
                        _ => text.clone(),
                    };
                    self.write(&RunEvent::Message { role: message.role, text: &text });
                }
            }
            Notice::Tool(tool) => self.call(tool),
            Notice::Status(status) => {
                if let Connection::Retrying { delay_ms, reason, .. } = &status.connection {
                    self.write(&RunEvent::Retry { reason: &reason.english(), delay_ms: *delay_ms });
                }
                // A script plays only where the user asked for it.
                for banner in status.banners.iter().filter(|it| it.kind != BannerKind::Replay) {
                    let text = banner.message.english();
                    if self.banners.insert(text.clone()) {
                        self.warning(&text);
                    }
                }
            }
            Notice::Turn(turn) => {
                if let TurnPhase::Started { .. } = turn.phase {
                    self.write(&RunEvent::Start {
                        version: VERSION,
                        cairn: env!("CARGO_PKG_VERSION"),
                        session_id: &turn.session_id,
                        turn_id: &turn.turn_id,
                        workspace: &self.start.workspace,
                        model: &self.start.model,
                    });
                }
            }
            _ => {}
        }
    }

    fn warning(&mut self, text: &str) {
        self.write(&RunEvent::Warning { text: &in_words_of_run(text) });
    }

    fn declined(&mut self, title: &str, reason: &str) {
        self.write(&RunEvent::Declined { title, reason });
    }

    fn changed(&mut self, file: &ChangedFile) {
        self.write(&RunEvent::Change(file));
    }

    /// Writes nothing: the end is the last event, with its cost.
    fn ended(&mut self, _: &RunEnd) {}

    fn spent(&mut self, end: &RunEnd) {
        self.write(&RunEvent::End(end));
    }

    fn failed(&mut self, reason: &str, exit_code: u8) {
        self.write(&RunEvent::Error { message: &in_words_of_run(reason), exit_code });
    }

    fn pause(&mut self) {}
}
