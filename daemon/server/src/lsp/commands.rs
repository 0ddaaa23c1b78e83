//! Parser of `workspace/executeCommand`: the requests of `agent/*` for an editor without the Cairn
//! extension. Performs nothing itself.

use cairn_protocol::{
    AnswerParams, DecideParams, Decision, Range, RequestProblem, RunTaskParams, Scope, TurnParams,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tower_lsp::{jsonrpc::Error, lsp_types};

use super::convert;
use crate::{event::Selection, workspace::path_of};

pub(super) const EXECUTE: &str = "workspace/executeCommand";

pub(super) const ACCEPT_HUNK: &str = "cairn.acceptHunk";
pub(super) const REJECT_HUNK: &str = "cairn.rejectHunk";
pub(super) const ACCEPT_FILE: &str = "cairn.acceptFile";
pub(super) const REJECT_FILE: &str = "cairn.rejectFile";
pub(super) const ACCEPT_ALL: &str = "cairn.acceptAll";
pub(super) const REJECT_ALL: &str = "cairn.rejectAll";
const UNDO_DECISION: &str = "cairn.undoDecision";
const RUN_TASK: &str = "cairn.runTask";
pub(super) const RUN_SELECTION: &str = "cairn.runSelection";
const REPLY: &str = "cairn.reply";
const CANCEL: &str = "cairn.cancel";
const DENY: &str = "cairn.deny";
pub(super) const ANSWER: &str = "cairn.answer";

/// Commands that `initialize` advertises.
pub(super) const ALL: [&str; 13] = [
    ACCEPT_HUNK,
    REJECT_HUNK,
    ACCEPT_FILE,
    REJECT_FILE,
    ACCEPT_ALL,
    REJECT_ALL,
    UNDO_DECISION,
    RUN_TASK,
    RUN_SELECTION,
    REPLY,
    CANCEL,
    DENY,
    ANSWER,
];

#[derive(Debug)]
pub(super) enum ClientCommand {
    Decide(DecideParams),
    UndoDecision,
    RunTask(RunTaskParams),
    RunSelection(Selection),
    Reply(RunTaskParams),
    /// Cancels the named turn, or every running turn.
    Cancel(Option<TurnParams>),
    /// Declines the open questions, with a text for the model.
    Deny(Option<String>),
    /// Answers one question.
    Answer(AnswerParams),
}

#[derive(Deserialize)]
struct ExecuteParams {
    command: String,
    #[serde(default)]
    arguments: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HunkArgument {
    uri: String,
    hunk_id: String,
    rev: Option<u32>,
}

#[derive(Deserialize)]
struct FileArgument {
    uri: String,
    rev: Option<u32>,
}

#[derive(Deserialize)]
struct SelectionArgument {
    uri: String,
    range: Range,
}

#[derive(Deserialize, Default)]
struct AllArgument {
    rev: Option<u32>,
}

/// Builds a command that the editor sends back with `argument`.
pub(super) fn offer(title: String, command: &str, argument: Value) -> lsp_types::Command {
    lsp_types::Command { title, command: command.to_owned(), arguments: Some(vec![argument]) }
}

pub(super) fn parse(params: Option<Value>) -> Result<ClientCommand, Error> {
    let ExecuteParams { command, arguments } =
        convert::params(EXECUTE, params, serde_json::from_value)?;
    let arguments = Argument { command: &command, given: arguments.unwrap_or_default() };
    let decide = |decision, scope, rev| {
        ClientCommand::Decide(DecideParams { decision, scope, rev, feedback: None })
    };
    let decision = match command.as_str() {
        ACCEPT_HUNK | ACCEPT_FILE | ACCEPT_ALL => Decision::Accept,
        _ => Decision::Reject,
    };
    Ok(match command.as_str() {
        ACCEPT_HUNK | REJECT_HUNK => {
            let HunkArgument { uri, hunk_id, rev } = arguments.one("{uri, hunkId, rev?}")?;
            decide(decision, Scope::Hunk { uri: file(&command, uri)?, hunk_id }, rev)
        }
        ACCEPT_FILE | REJECT_FILE => {
            let FileArgument { uri, rev } = arguments.one("{uri, rev?}")?;
            decide(decision, Scope::File { uri: file(&command, uri)? }, rev)
        }
        ACCEPT_ALL | REJECT_ALL => {
            let all: Option<AllArgument> = arguments.at_most_one("{rev?}")?;
            decide(decision, Scope::All, all.unwrap_or_default().rev)
        }
        UNDO_DECISION => {
            arguments.at_most_one::<Value>("nothing")?;
            ClientCommand::UndoDecision
        }
        RUN_TASK => ClientCommand::RunTask(arguments.task()?),
        RUN_SELECTION => {
            let SelectionArgument { uri, range } =
                arguments.one("{uri, range}, as the code action has it")?;
            ClientCommand::RunSelection(convert::selection(file(&command, uri)?, range))
        }
        REPLY => ClientCommand::Reply(arguments.task()?),
        CANCEL => ClientCommand::Cancel(arguments.at_most_one("{sessionId, turnId}, or nothing")?),
        DENY => ClientCommand::Deny(arguments.at_most_one("words for the model, or nothing")?),
        ANSWER => ClientCommand::Answer(
            arguments.one("{approvalId, decision, feedback?}, as the code action has it")?,
        ),
        _ => {
            let problem = RequestProblem::UnknownCommand { command };
            return Err(convert::refused(problem));
        }
    })
}

fn file(command: &str, uri: String) -> Result<String, Error> {
    match path_of(&uri) {
        Some(_) => Ok(uri),
        None => Err(wrong(command, &format!("`uri` is {}, which is no file", json!(uri)), "{uri}")),
    }
}

/// Arguments of one command.
struct Argument<'c> {
    command: &'c str,
    given: Vec<Value>,
}

impl Argument<'_> {
    fn one<T: DeserializeOwned>(self, form: &str) -> Result<T, Error> {
        let command = self.command;
        self.at_most_one(form)?.ok_or_else(|| wrong(command, "the argument is missing", form))
    }

    fn at_most_one<T: DeserializeOwned>(self, form: &str) -> Result<Option<T>, Error> {
        if self.given.len() > 1 {
            let why = format!("{} arguments are too many", self.given.len());
            return Err(wrong(self.command, &why, form));
        }
        match self.given.into_iter().next() {
            None | Some(Value::Null) => Ok(None),
            // An empty table in Lua is encoded as an array.
            Some(Value::Array(given)) if given.is_empty() => Ok(None),
            Some(given) => serde_json::from_value(given)
                .map(Some)
                .map_err(|error| wrong(self.command, &error.to_string(), form)),
        }
    }

    /// Reads a task: a string, or the params of `agent/runTask`.
    fn task(self) -> Result<RunTaskParams, Error> {
        const FORM: &str = "the text, or {text, sessionId?}";
        let command = self.command;
        match self.one(FORM)? {
            Value::String(text) => Ok(RunTaskParams { text, ..RunTaskParams::default() }),
            given => serde_json::from_value(given)
                .map_err(|error| wrong(command, &error.to_string(), FORM)),
        }
    }
}

fn wrong(command: &str, why: &str, form: &str) -> Error {
    let (command, reason, form) = (command.to_owned(), why.to_owned(), form.to_owned());
    let problem = RequestProblem::InvalidArguments { command, reason, form };
    convert::refused(problem)
}
