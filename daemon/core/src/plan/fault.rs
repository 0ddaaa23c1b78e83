//! Faults of a planning call: each with its place and a text for the model.

use std::{borrow::Cow, fmt};

use serde_json::Value;

use super::Status;

/// Maximum number of listed faults. Further ones are only counted, because the text goes into the
/// model's context.
const LISTED: usize = 40;
const QUOTED_CHARS: usize = 40;

/// All faults of one call. `Display` gives the error text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults {
    form: Form,
    all: Vec<PlanFault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A whole list, in the field of this name.
    List(&'static str),
    /// A call about tasks of the graph.
    Tasks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFault {
    /// Index of the item in the list as sent, or in a list of ids, from 0; `None` for the list or the call.
    pub index: Option<usize>,
    /// Field of the item or the call; empty for the whole of it.
    pub field: Cow<'static, str>,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    #[error("is missing")]
    Missing,
    #[error("must be {expected}, not {found}")]
    WrongType { expected: &'static str, found: &'static str },
    #[error("{count} items, but at most {limit} are allowed")]
    TooMany { count: usize, limit: usize },
    #[error("is empty")]
    Empty,
    #[error("is {length} characters long, but at most {limit} are allowed")]
    TooLong { length: usize, limit: usize },
    #[error("contains the forbidden character U+{:04X}", u32::from(*.0))]
    ForbiddenCharacter(char),
    #[error("{given:?} is not a status; use {allowed}")]
    UnknownStatus { given: String, allowed: String },
    #[error("only one item may be in progress, and {} already is", Number(*.first))]
    SecondInProgress { first: usize },
    #[error("{id:?} is already the id of {}", Number(*.first))]
    DuplicateId { id: String, first: usize },
    #[error("there is no such field; the fields are {}", .known.join(", "))]
    UnknownField { known: &'static [&'static str] },
    #[error("there is no task #{id}")]
    UnknownTask { id: u32 },
    #[error("#{id} cannot wait for itself")]
    SelfBlocking { id: u32 },
    /// Path of the cycle; its first and last ids are the same.
    #[error("would make a circle: {}", numbered(.path, " waits for "))]
    Circle { path: Vec<u32> },
    #[error("it still waits for {}", numbered(.by, ", "))]
    Blocked { by: Vec<u32> },
    #[error("#{id} is already {}, so it cannot wait for an open task; set it back to pending first", in_words(*.status))]
    AlreadyBegun { id: u32, status: Status },
    #[error("the list has {} tasks, and more are not kept", super::graph::MAX_TASKS)]
    ListFull,
}

/// Number of an item as the list shows it, counted from 1, made from its index.
struct Number(usize);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0 + 1)
    }
}

impl Faults {
    pub(super) fn of_list(field: &'static str) -> Self {
        Self { form: Form::List(field), all: Vec::new() }
    }

    pub(super) fn of_tasks() -> Self {
        Self { form: Form::Tasks, all: Vec::new() }
    }

    /// The same faults, as those of a call about tasks.
    pub(super) fn for_tasks(self) -> Self {
        Self { form: Form::Tasks, ..self }
    }

    pub fn iter(&self) -> impl Iterator<Item = &PlanFault> {
        self.all.iter()
    }

    /// The value, if there are no faults.
    pub(super) fn or<T>(&self, value: T) -> Result<T, Faults> {
        if self.all.is_empty() { Ok(value) } else { Err(self.clone()) }
    }

    /// Only the first fault of a place counts, and none inside of an item that is wrong as a
    /// whole, because faults that only follow from another one would be noise.
    pub(super) fn push(
        &mut self,
        index: Option<usize>,
        field: impl Into<Cow<'static, str>>,
        kind: FaultKind,
    ) {
        let field = field.into();
        let is_known = |fault: &PlanFault| {
            let is_item = index.is_some() && fault.field.is_empty();
            fault.index == index && (is_item || fault.field == field)
        };
        if !self.all.iter().any(is_known) {
            self.all.push(PlanFault { index, field, kind });
        }
    }

    /// Sorts the faults: those of the list first, then by rule and item.
    pub(super) fn sort(&mut self) {
        self.all.sort_by_key(|fault| (fault.index.is_some(), fault.kind.rule(), fault.index));
    }

    /// Each fault with its place.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.all.iter().map(|fault| format!("{}{}", self.place(fault), fault.kind))
    }

    fn place(&self, PlanFault { index, field, .. }: &PlanFault) -> String {
        match (self.form, index) {
            (Form::List(list), None) => format!("{list}: "),
            (Form::List(_), Some(index)) if field.is_empty() => format!("{}: ", Number(*index)),
            (Form::List(_), Some(index)) => format!("{}.{field}: ", Number(*index)),
            (Form::Tasks, None) if field.is_empty() => String::new(),
            (Form::Tasks, None) => format!("{field}: "),
            (Form::Tasks, Some(index)) => format!("{field}[{index}]: "),
        }
    }
}

impl FaultKind {
    pub(super) fn wrong_type(expected: &'static str, found: &Value) -> Self {
        Self::WrongType { expected, found: kind_of(found) }
    }

    pub(super) fn unknown_status(word: &str, allowed: &[&str]) -> Self {
        Self::UnknownStatus { given: quoted(word), allowed: allowed.join(", ") }
    }

    /// Returns the rule's place in the order of checking a list.
    fn rule(&self) -> u8 {
        match self {
            FaultKind::Missing | FaultKind::WrongType { .. } => 0,
            FaultKind::TooMany { .. } => 1,
            FaultKind::Empty | FaultKind::TooLong { .. } | FaultKind::ForbiddenCharacter(_) => 2,
            FaultKind::UnknownStatus { .. } => 3,
            FaultKind::SecondInProgress { .. } => 4,
            _ => 5,
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unchanged, again) = match self.form {
            Form::List(_) => ("The list was not changed", "send the whole list"),
            Form::Tasks => ("Nothing was changed", "make the call"),
        };
        writeln!(f, "{unchanged}, because of:")?;
        for line in self.lines().take(LISTED) {
            writeln!(f, "- {line}")?;
        }
        if self.all.len() > LISTED {
            writeln!(f, "- and {} more", self.all.len() - LISTED)?;
        }
        write!(f, "Correct this and {again} again.")
    }
}

/// Beginning of a word of the model, for a text that quotes it.
pub(super) fn quoted(word: &str) -> String {
    word.chars().take(QUOTED_CHARS).collect()
}

fn numbered(ids: &[u32], between: &str) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(between)
}

pub(super) fn in_words(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::InProgress => "in progress",
        Status::Completed => "completed",
        Status::Cancelled => "cancelled",
    }
}

/// Name of a value's JSON type, for `WrongType`.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
