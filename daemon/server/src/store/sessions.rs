//! Sessions on disk: one journal each, in a folder that belongs to the workspace.
//!
//! The first line of a journal says what it is, the others what happened, in order. What a client
//! is shown of a session after a restart is told from its lines alone. Must never write a line of
//! a session that another process holds.

use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use cairn_core::{
    conversation::Item,
    prompt::Surroundings,
    review::Origin,
    turn::{Record, RestoredSession},
};
use cairn_protocol::{
    ChildNotification, EarlierPlan, EndReason, FollowUp, PlanNotification, ReadOnly,
    ReadOnlyReason, ReviewMode, ToolNotification, Usage,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use self::telling::Page;
use self::telling::Telling;
use super::{
    journal::{self, Damage, Journal, JournalAccess, Recovery},
    session_list,
};

mod telling;

/// Version of the lines below. A journal with a higher one is not read.
pub const VERSION: u32 = 1;

/// Line of a session's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// First line of a journal.
    Session(Header),
    /// A turn began.
    Turn(TurnLine),
    /// The turn machine's memory.
    Step(Record),
    /// Changes of one step, in one line so that all or none are stored.
    Steps(Vec<Record>),
    /// The plan as it was shown, with the work under it.
    Plan(PlanNotification),
    /// A call that is over, as it was shown; of a child too.
    Tool(ToolNotification),
    /// A child as it stood then.
    Child(ChildNotification),
    /// The memory of a child. Nobody goes on with it.
    ChildStep(ChildStep),
    /// The turn is over; the plan as it stood then is the newest `Plan` line.
    Ended(EndedLine),
    /// All that waits to be done next.
    Queue(Vec<FollowUp>),
    /// Facts for the list of sessions, which reads only the end of the file.
    Digest(Digest),
}

impl Line {
    /// Records of the turn machine.
    pub fn records(&self) -> &[Record] {
        match self {
            Line::Step(record) => std::slice::from_ref(record),
            Line::Steps(records) => records,
            Line::Session(_)
            | Line::Turn(_)
            | Line::Plan(_)
            | Line::Tool(_)
            | Line::Child(_)
            | Line::ChildStep(_)
            | Line::Ended(_)
            | Line::Queue(_)
            | Line::Digest(_) => &[],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    pub version: u32,
    pub session_id: String,
    pub surroundings: Surroundings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

/// Where the conversation of a fork comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    pub session_id: String,
    /// The last turn it took along.
    pub turn_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// The words the session began with, cut.
    pub task: String,
    pub turns: u32,
    pub running: bool,
    pub done: u32,
    pub open: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnLine {
    pub turn_id: String,
    /// The user's words.
    pub task: String,
    pub mode: ReviewMode,
    /// The follow-up that it was: it does not wait any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildStep {
    /// The child's.
    pub session_id: String,
    pub step: Record,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedLine {
    pub turn_id: String,
    pub reason: EndReason,
    pub summary: String,
    pub open_items: u32,
    pub usage: Usage,
}

/// A session read back.
#[derive(Debug)]
pub struct Loaded {
    pub header: Header,
    pub memory: RestoredSession,
    /// Words a turn began with that never reached the conversation.
    pub unheard: Option<String>,
    pub page: Page,
    /// The words the session began with, cut.
    pub title: Option<String>,
    pub turns: u32,
    /// The newest turn, and how it ended if it did.
    pub turn: Option<(TurnLine, Option<EndedLine>)>,
    pub plan: Option<PlanNotification>,
    /// The plans of turns that are over and planned, oldest first.
    pub history: Vec<EarlierPlan>,
    /// Calls of the newest turn.
    pub tools: Vec<ToolNotification>,
    pub queue: Vec<FollowUp>,
    /// The newest children, as they stood last.
    pub children: Vec<ChildNotification>,
    pub messages: u32,
    /// The highest of what is shown of it.
    pub rev: u32,
    pub hold: Hold,
}

/// Access that this process has to the session.
#[derive(Debug)]
pub enum Hold {
    Ours(Journal),
    ReadOnly(ReadOnly),
}

/// The session that was used last.
#[derive(Debug)]
pub enum Newest {
    Here(Box<Loaded>),
    /// Another window has it.
    Elsewhere,
}

const HISTORY_KEPT: usize = 50;
const CHILDREN_KEPT: usize = 50;
/// Longest title of a session, in characters.
const TITLE: usize = 200;

/// Below the folder of state: one folder for each set of workspace folders.
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

pub fn journal_path(folder: &Path, session_id: &str) -> PathBuf {
    folder.join("sessions").join(format!("{session_id}.log"))
}

/// `None`: there is none, or it cannot be written; the log says why.
pub fn newest(folder: &Path) -> Option<Newest> {
    let path = session_list::newest(folder)?;
    match load(&path) {
        Ok(Loaded { hold: Hold::ReadOnly(ReadOnly { reason, text }), .. }) => {
            tracing::warn!("{} is not taken up: {text}", path.display());
            (reason == ReadOnlyReason::OpenElsewhere).then_some(Newest::Elsewhere)
        }
        Ok(loaded) => Some(Newest::Here(Box::new(loaded))),
        Err(error) => {
            tracing::warn!("{} is not taken up: {error}", path.display());
            None
        }
    }
}

/// The line that says that a call begins to run.
pub fn begun(origin: &Origin) -> Vec<u8> {
    let (session, _, call) = origin.doer();
    let step = Record::Begun { call_id: call.to_owned() };
    let line = match &origin.child {
        None => Line::Step(step),
        Some(_) => Line::ChildStep(ChildStep { session_id: session.to_owned(), step }),
    };
    serde_json::to_vec(&line).unwrap_or_default()
}

/// The first words of a task.
pub fn title(task: &str) -> String {
    let task = task.trim();
    match task.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", &task[..end]),
        None => task.to_owned(),
    }
}

/// Reads a session whole, and holds its journal if nobody else does.
pub fn load(path: &Path) -> io::Result<Loaded> {
    let mut reading = Reading::default();
    let mut unreadable = None;
    let opened = Journal::open(path, |record| {
        match serde_json::from_slice(record.json) {
            Ok(line) => reading.add(line),
            // A later version may know more.
            Err(error) => unreadable = unreadable.take().or(Some((record.sequence, error))),
        };
    })?;
    if let Some((number, error)) = unreadable {
        return Err(fault(format!("line {number}: {error}")));
    }
    let read_only = |reason, text| Hold::ReadOnly(ReadOnly { reason, text });
    let hold = match opened.access {
        JournalAccess::Write(journal) => Hold::Ours(journal),
        JournalAccess::Read(journal::ReadOnly::Locked) => {
            read_only(ReadOnlyReason::OpenElsewhere, "Open in another window".into())
        }
        JournalAccess::Read(journal::ReadOnly::Corrupt) => {
            read_only(ReadOnlyReason::Damaged, in_words(&opened.recovery))
        }
        JournalAccess::Read(journal::ReadOnly::Refused(error)) => {
            read_only(ReadOnlyReason::NotWritable, format!("It cannot be written here ({error})"))
        }
    };
    reading.done(hold)
}

/// Returns the entries before number `before`, or the last ones. Holds one page in memory.
pub fn page(path: &Path, before: Option<u64>) -> io::Result<Page> {
    let mut telling = Telling::until(before);
    journal::read(path, |record| {
        // A line of a later version tells us nothing.
        if let Ok(line) = serde_json::from_slice(record.json) {
            telling.add(&line);
        }
        if telling.is_complete() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(telling.page())
}

fn in_words(recovery: &Recovery) -> String {
    let lost = match recovery.damage {
        Damage::Corrupt { lost } => lost,
        Damage::None | Damage::Torn { .. } => 0,
    };
    format!(
        "Recovered {} records of a damaged file; {lost} lines from the damage on are left out",
        recovery.records
    )
}

fn fault(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Builder of a session from its lines in order.
#[derive(Default)]
struct Reading {
    header: Option<Header>,
    memory: RestoredSession,
    unheard: Option<String>,
    telling: Telling,
    title: Option<String>,
    turns: u32,
    turn: Option<(TurnLine, Option<EndedLine>)>,
    plan: Option<PlanNotification>,
    history: Vec<EarlierPlan>,
    tools: Vec<ToolNotification>,
    queue: Vec<FollowUp>,
    children: Vec<ChildNotification>,
    rev: u32,
}

impl Reading {
    fn add(&mut self, line: Line) {
        self.telling.add(&line);
        match line {
            Line::Session(header) => self.header = Some(header),
            Line::Turn(turn) => {
                self.queue.retain(|item| Some(&item.id) != turn.follow_up.as_ref());
                self.tools.clear();
                self.turns += 1;
                self.title.get_or_insert_with(|| title(&turn.task));
                self.unheard = Some(turn.task.clone());
                self.turn = Some((turn, None));
            }
            Line::Step(record) => self.step(record),
            Line::Steps(records) => records.into_iter().for_each(|record| self.step(record)),
            Line::Plan(plan) => {
                self.rev = self.rev.max(plan.rev);
                self.plan = Some(plan);
            }
            Line::Tool(tool) => {
                self.rev = self.rev.max(tool.rev);
                self.tools.push(tool);
            }
            Line::Child(child) => self.child(child),
            Line::ChildStep(_) => {}
            Line::Ended(ended) => self.ended(ended),
            Line::Queue(queue) => self.queue = queue,
            Line::Digest(_) => {}
        }
    }

    fn child(&mut self, child: ChildNotification) {
        match self.children.iter_mut().find(|known| known.session_id == child.session_id) {
            Some(known) => *known = child,
            None => self.children.push(child),
        }
        if self.children.len() > CHILDREN_KEPT {
            self.children.remove(0);
        }
    }

    fn step(&mut self, record: Record) {
        if let Record::Item(Item::User(_)) = &record {
            self.unheard = None;
        }
        self.memory.add(record);
    }

    fn ended(&mut self, ended: EndedLine) {
        let (turn_id, reason) = (ended.turn_id.clone(), ended.reason);
        let Some((turn, end)) = self.turn.as_mut().filter(|(turn, _)| turn.turn_id == turn_id)
        else {
            return;
        };
        *end = Some(ended);
        if let Some(plan) =
            self.plan.clone().filter(|plan| plan.turn_id == turn_id && plan.total > 0)
        {
            let task = turn.task.clone();
            self.history.push(EarlierPlan { turn_id, task, reason, plan });
            if self.history.len() > HISTORY_KEPT {
                self.history.remove(0);
            }
        }
    }

    fn done(self, hold: Hold) -> io::Result<Loaded> {
        let Reading { header, memory, unheard, telling, title, turns, .. } = self;
        let header = header.ok_or_else(|| fault("it has no beginning"))?;
        if header.version > VERSION {
            return Err(fault(format!("version {} is newer than this Cairn", header.version)));
        }
        Ok(Loaded {
            header,
            memory,
            unheard,
            title,
            turns,
            turn: self.turn,
            plan: self.plan,
            history: self.history,
            tools: self.tools,
            queue: self.queue,
            children: self.children,
            messages: telling.messages(),
            rev: self.rev.max(telling.rev()),
            page: telling.page(),
            hold,
        })
    }
}
