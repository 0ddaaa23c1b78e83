//! Sessions on disk: one journal each, in a folder that belongs to the workspace.
//!
//! [`lines`] has the stored form of a session, [`load`] reads one, and [`page`] reads a part of its
//! transcript. A journal that another process holds is never written.

use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use cairn_core::{
    conversation::{AssistantMessage, Block, Item},
    ids::{SessionId, TurnId},
    review::Origin,
    turn::{Record, RestoredSession},
};
use cairn_protocol::{
    EarlierPlan, EndReason, PlanNotification, ReadOnly, ReadOnlyProblem, SessionFacts,
    SubagentNotification, ToolNotification,
};
use sha2::{Digest as _, Sha256};

use self::transcript::Transcript;

pub use self::{
    attached::{attached, attachment_names, described, with_content},
    digest::DigestReader,
    lines::{
        Digest, EndedLine, FollowUpLine, ForkedFrom, Header, Line, NoticeLine, SubagentStep,
        TurnLine, VERSION,
    },
    transcript::{Page, PageEnd},
};
use super::journal::{self, Journal, Recovery};

mod attached;
mod digest;
mod earlier;
mod lines;
mod transcript;

/// Longest title of a session, in characters.
const TITLE: usize = 200;
/// Longest name of a session, in characters.
pub const NAME: usize = 200;

/// State of a session that was read from its journal.
#[derive(Debug)]
pub struct Loaded {
    pub header: Header,
    pub facts: Facts,
    /// Text that streamed when the process ended, as a record that the journal does not have.
    pub streamed: Option<Record>,
    /// Last page of the transcript.
    pub page: Page,
    /// Number of messages of the transcript.
    pub messages: u32,
    pub hold: Result<Journal, ReadOnly>,
}

/// Facts that the lines of a session tell.
#[derive(Debug, Default)]
pub struct Facts {
    pub memory: RestoredSession,
    /// Task of a turn that ended before the task was added to the conversation.
    pub unheard: Option<String>,
    /// First words of the first task.
    pub title: Option<String>,
    pub session: SessionFacts,
    /// Number of turns.
    pub turns: u32,
    /// Newest turn, and its end, if it has ended.
    pub turn: Option<(TurnLine, Option<EndedLine>)>,
    pub plan: Option<PlanNotification>,
    /// Plans of the turns that planned and have ended, oldest first.
    pub history: Vec<EarlierPlan>,
    /// Tool calls of the newest turn.
    pub tools: Vec<ToolNotification>,
    pub queue: Vec<FollowUpLine>,
    /// Newest state of each of the newest subagents.
    pub subagents: Vec<SubagentNotification>,
    /// Highest revision in the journal and the transcript.
    pub rev: u32,
}

/// Number of ended plans that are kept in memory.
const HISTORY_KEPT: usize = 50;
/// Number of subagents that are kept in memory.
const MAX_SUBAGENTS: usize = 50;

/// Folder of a workspace below the state folder. Its name is a hash of the workspace folders.
pub fn folder(state: &Path, workspace: &[PathBuf]) -> PathBuf {
    let mut hasher = Sha256::new();
    for folder in workspace {
        hasher.update(folder.as_os_str().as_encoded_bytes());
        hasher.update([0]);
    }
    let name: String =
        hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    state.join("workspaces").join(name)
}

/// Journal of a session in the folder of its workspace.
pub fn journal_path(folder: &Path, session_id: &SessionId) -> PathBuf {
    folder.join("sessions").join(format!("{session_id}.log"))
}

/// Line that records the start of a call.
pub fn begun(origin: &Origin) -> Vec<u8> {
    let (session, _, call) = origin.doer();
    let step = Record::Begun { call_id: call.clone() };
    let line = match &origin.subagent {
        None => Line::Step(step),
        Some(_) => Line::SubagentStep(SubagentStep { session_id: session.to_owned(), step }),
    };
    serde_json::to_vec(&line).unwrap_or_default()
}

/// Reads a whole session, and locks its journal unless another process has it.
pub fn load(path: &Path) -> io::Result<Loaded> {
    let mut reading = Reading::default();
    let opened = Journal::open(path, |record| {
        // A line of a later version, most likely.
        let line = serde_json::from_slice(record.json)
            .map_err(|error| fault(format!("line {}: {error}", record.sequence)))?;
        reading.add(line);
        Ok(())
    })?;
    let Recovery { records, lost } = opened.recovery;
    let hold = opened.journal.map_err(|reason| {
        ReadOnly::from(&match reason {
            journal::ReadOnly::Locked => ReadOnlyProblem::SessionInOtherWindow,
            journal::ReadOnly::Corrupt => {
                let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
                ReadOnlyProblem::JournalDamaged { records: number(records), lost: number(lost) }
            }
            journal::ReadOnly::Refused(error) => {
                ReadOnlyProblem::JournalNotWritable { reason: error.to_string() }
            }
        })
    });
    reading.done(hold)
}

/// Returns the page of the transcript with this end; `None` if the journal has no such entry.
pub fn page(path: &Path, end: PageEnd) -> io::Result<Option<Page>> {
    let mut transcript = Transcript::until(end);
    journal::read(path, |record| {
        // A line of a later version is left out.
        if let Ok(line) = serde_json::from_slice(record.json) {
            transcript.add(&line);
        }
        Ok(match transcript.is_complete() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(transcript.page())
}

fn fault(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Builder of a session from its lines in order.
#[derive(Default)]
struct Reading {
    header: Option<Header>,
    facts: Facts,
    /// Text of the answer that streams.
    streamed: String,
    transcript: Transcript,
}

impl Reading {
    fn add(&mut self, line: Line) {
        self.transcript.add(&line);
        match line {
            Line::Session(header) => self.header = Some(header),
            Line::Turn(turn) => {
                self.facts.queue.retain(|item| Some(&item.id) != turn.follow_up.as_ref());
                self.facts.tools.clear();
                self.facts.turns += 1;
                self.facts.title.get_or_insert_with(|| title(&turn.task));
                self.facts.unheard = Some(turn.task.clone());
                self.facts.turn = Some((turn, None));
            }
            Line::Step(record) => self.step(record),
            Line::Steps(records) => records.into_iter().for_each(|record| self.step(record)),
            Line::Plan(plan) => {
                self.facts.rev = self.facts.rev.max(plan.rev);
                self.facts.plan = Some(plan);
            }
            Line::Tool(tool) => {
                self.facts.rev = self.facts.rev.max(tool.rev);
                self.facts.tools.push(tool);
            }
            Line::Subagent(subagent) => self.subagent(subagent),
            Line::SubagentStep(_) | Line::Notice(_) => {}
            Line::Streamed(Some(text)) => self.streamed.push_str(&text),
            Line::Streamed(None) => self.streamed.clear(),
            Line::Ended(ended) => self.ended(ended),
            Line::Queue(queue) => self.facts.queue = queue,
            Line::Digest(digest) => self.facts.session = digest.facts,
        }
    }

    fn subagent(&mut self, subagent: SubagentNotification) {
        match self.facts.subagents.iter_mut().find(|known| known.session_id == subagent.session_id)
        {
            Some(known) => *known = subagent,
            None => self.facts.subagents.push(subagent),
        }
        if self.facts.subagents.len() > MAX_SUBAGENTS {
            self.facts.subagents.remove(0);
        }
    }

    fn step(&mut self, record: Record) {
        if let Record::Item(Item::User(_)) = &record {
            self.facts.unheard = None;
        }
        if let Record::Item(Item::Assistant(_)) = &record {
            self.streamed.clear();
        }
        self.facts.memory.add(record);
    }

    fn ended(&mut self, ended: EndedLine) {
        let (turn_id, reason) = (ended.turn_id.clone(), ended.reason);
        let Some((turn, end)) =
            self.facts.turn.as_mut().filter(|(turn, _)| turn.turn_id == turn_id)
        else {
            return;
        };
        *end = Some(ended);
        let task = turn.task.clone();
        keep_plan(&mut self.facts.history, self.facts.plan.as_ref(), &turn_id, task, reason);
    }

    fn done(mut self, hold: Result<Journal, ReadOnly>) -> io::Result<Loaded> {
        let streamed = unfinished(&self.streamed);
        if let Some(record) = &streamed {
            self.transcript.record(record);
            self.facts.memory.add(record.clone());
        }
        let header = self.header.ok_or_else(|| fault("it has no beginning"))?;
        if header.version > VERSION {
            return Err(fault(format!("version {} is newer than this Cairn", header.version)));
        }
        let (mut facts, transcript) = (self.facts, self.transcript);
        facts.rev = facts.rev.max(transcript.rev());
        let (messages, page) = (transcript.messages(), transcript.page().unwrap_or_default());
        Ok(Loaded { header, facts, streamed, page, messages, hold })
    }
}

/// Keeps the plan of a turn that has ended, if it planned.
pub fn keep_plan(
    history: &mut Vec<EarlierPlan>,
    plan: Option<&PlanNotification>,
    turn_id: &TurnId,
    task: String,
    reason: EndReason,
) {
    let plan = plan.filter(|plan| *turn_id == plan.turn_id && plan.total > 0).cloned();
    history.extend(plan.map(|plan| EarlierPlan { turn_id: turn_id.into(), task, reason, plan }));
    history.drain(..history.len().saturating_sub(HISTORY_KEPT));
}

/// Record of an answer whose stream did not end. `None`: it has no text, which no model accepts.
pub fn unfinished(text: &str) -> Option<Record> {
    let text = Some(text.trim_end()).filter(|text| !text.is_empty())?;
    let blocks = vec![Block::Text(text.to_owned())];
    Some(Record::Item(Item::Assistant(AssistantMessage { blocks })))
}

/// First words of a task, as the title of a session.
pub fn title(task: &str) -> String {
    let task = task.trim();
    match task.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", &task[..end]),
        None => task.to_owned(),
    }
}

/// Returns a name without the space around it. `None`: it is too long, or holds control characters.
pub fn name(name: &str) -> Option<&str> {
    let name = name.trim();
    (name.chars().count() <= NAME && !name.chars().any(char::is_control)).then_some(name)
}

/// Last line of a text that is not empty, shortened like a title.
pub fn last_line(text: &str) -> Option<String> {
    text.lines().rev().find(|line| !line.trim().is_empty()).map(title)
}

#[cfg(test)]
mod tests;
