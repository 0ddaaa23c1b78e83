//! Faults of a todo call: each with its place and a text for the model.

use std::fmt;

use serde_json::Value;

/// Maximum number of listed faults. Further ones are only counted, because the text goes into the
/// model's context.
const LISTED: usize = 40;

/// All faults of one call: those of the list first, then in the order of the rules. `Display` gives
/// the error text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults {
    list: &'static str,
    all: Vec<PlanFault>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFault {
    /// Index of the item in the list as sent, from 0; `None` for the list itself.
    pub index: Option<usize>,
    /// Field of the item; `None` for the item itself.
    pub field: Option<&'static str>,
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
}

/// Number of an item as the list shows it, counted from 1, made from its index.
struct Number(usize);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0 + 1)
    }
}

impl Faults {
    pub(super) fn new(list: &'static str) -> Self {
        Self { list, all: Vec::new() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &PlanFault> {
        self.all.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Only the first fault of a place counts, and none inside of an item that is wrong as a
    /// whole, because faults that only follow from another one would be noise.
    pub(super) fn push(
        &mut self,
        index: Option<usize>,
        field: Option<&'static str>,
        kind: FaultKind,
    ) {
        let known = self
            .all
            .iter()
            .any(|fault| fault.index == index && (fault.field == field || fault.field.is_none()));
        if !known {
            self.all.push(PlanFault { index, field, kind });
        }
    }

    /// Sorts the faults: those of the list first, then by rule and item.
    pub(super) fn sort(&mut self) {
        self.all.sort_by_key(|fault| (fault.index.is_some(), fault.kind.rule(), fault.index));
    }
}

impl FaultKind {
    /// Returns the rule's place in the order of checking.
    fn rule(&self) -> u8 {
        match self {
            FaultKind::Missing | FaultKind::WrongType { .. } => 0,
            FaultKind::TooMany { .. } => 1,
            FaultKind::Empty | FaultKind::TooLong { .. } | FaultKind::ForbiddenCharacter(_) => 2,
            FaultKind::UnknownStatus { .. } => 3,
            FaultKind::SecondInProgress { .. } => 4,
            FaultKind::DuplicateId { .. } => 5,
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "The list was not changed, because of:")?;
        for fault in self.all.iter().take(LISTED) {
            match fault.index {
                Some(index) => write!(f, "- {}", Number(index))?,
                None => write!(f, "- {}", self.list)?,
            }
            if let Some(field) = fault.field {
                write!(f, ".{field}")?;
            }
            writeln!(f, ": {}", fault.kind)?;
        }
        if self.all.len() > LISTED {
            writeln!(f, "- and {} more", self.all.len() - LISTED)?;
        }
        write!(f, "Correct this and send the whole list again.")
    }
}

/// Name of a value's JSON type, for `WrongType`.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
