//! Conversion between the types of LSP and the daemon's events.
//!
//! URIs keep the client's spelling: they are keys, and a parsed URL may be spelled differently.
//! Never logs a text or an API key.

use cairn_core::text::Position;
use cairn_protocol::{self as protocol, ErrorData, ErrorKind, NotificationMethod, RequestProblem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::{
    config,
    event::{ClientEvent, ContentChange, Selection},
};

/// Finds the section `cairn` in settings that an editor sent; `None` if it is absent.
///
/// The section is a member `cairn` (Neovim, eglot, lsp-mode, vim-lsp), members `cairn.…` with
/// dotted keys, the same in a member `settings` (Helix repeats its `initializationOptions`), or the
/// bare object (coc.nvim), recognized by a member that is a group of Cairn's settings.
pub(super) fn settings_in(settings: &Value) -> Option<Value> {
    let members = settings.as_object()?;
    if let Some(section) = members.get(config::SECTION) {
        return Some(section.clone()).filter(Value::is_object);
    }
    let dotted = |(key, value): (&String, &Value)| {
        let key = key.strip_prefix(config::SECTION)?.strip_prefix('.')?;
        Some((key.to_owned(), value.clone()))
    };
    let section: serde_json::Map<String, Value> = members.iter().filter_map(dotted).collect();
    if !section.is_empty() {
        return Some(Value::Object(section));
    }
    if members.iter().any(|(key, value)| config::is_setting(key, value)) {
        return Some(settings.clone());
    }
    settings_in(members.get("settings")?)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<T> {
    text_document: T,
    #[serde(default)]
    content_changes: Vec<WireChange>,
}

#[derive(Deserialize)]
struct OpenedItem {
    uri: String,
    version: i32,
    text: String,
}

#[derive(Deserialize)]
struct VersionedItem {
    uri: String,
    version: i32,
}

#[derive(Deserialize)]
struct Item {
    uri: String,
}

#[derive(Deserialize)]
struct WireChange {
    range: Option<protocol::Range>,
    text: String,
}

#[derive(Deserialize)]
struct Watched {
    changes: Vec<Item>,
}

#[derive(Deserialize)]
struct Files<T> {
    files: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Renamed {
    old_uri: String,
    new_uri: String,
}

#[derive(Deserialize, Default)]
struct Configuration {
    #[serde(default)]
    settings: Value,
}

/// Reads a notification for the hub. `None`: another method; `Some(Ok(None))`: nothing changed.
pub(super) fn notification(
    method: &str,
    params: Option<&Value>,
) -> Option<serde_json::Result<Option<ClientEvent>>> {
    let params = params.unwrap_or(&Value::Null);
    Some(match method {
        "textDocument/didOpen" => read(params).map(|Document { text_document, .. }| {
            let OpenedItem { uri, version, text } = text_document;
            Some(ClientEvent::DidOpen { uri, version, text })
        }),
        "textDocument/didChange" => {
            read(params).map(|Document { text_document, content_changes }| {
                let VersionedItem { uri, version } = text_document;
                let changes = content_changes.into_iter().map(content_change).collect();
                Some(ClientEvent::DidChange { uri, version, changes })
            })
        }
        "textDocument/didSave" => read(params).map(|Document { text_document, .. }| {
            let Item { uri } = text_document;
            Some(ClientEvent::DidSave { uri })
        }),
        "textDocument/didClose" => read(params).map(|Document { text_document, .. }| {
            let Item { uri } = text_document;
            Some(ClientEvent::DidClose { uri })
        }),
        "workspace/didChangeConfiguration" => {
            // Settings without the section change nothing: many clients send an empty object.
            read(params)
                .map(|Configuration { settings }| settings_in(&settings).map(ClientEvent::Settings))
        }
        "workspace/didChangeWatchedFiles" => read(params).map(|Watched { changes }| {
            let uris = changes.into_iter().map(|change| change.uri).collect();
            Some(ClientEvent::WatchedFiles(uris))
        }),
        "workspace/didCreateFiles" | "workspace/didDeleteFiles" => {
            let is_creation = method == "workspace/didCreateFiles";
            let event =
                if is_creation { ClientEvent::WatchedFiles } else { ClientEvent::DeletedFiles };
            read(params).map(|Files::<Item> { files }| {
                Some(event(files.into_iter().map(|file| file.uri).collect()))
            })
        }
        "workspace/didRenameFiles" => read(params).map(|Files::<Renamed> { files }| {
            let renames = files.into_iter().map(|file| (file.old_uri, file.new_uri)).collect();
            Some(ClientEvent::RenamedFiles(renames))
        }),
        protocol::Trust::METHOD => {
            read(params).map(|protocol::TrustParams { trusted }| Some(ClientEvent::Trust(trusted)))
        }
        protocol::Credentials::METHOD => {
            read(params).map(|credentials| Some(ClientEvent::Credentials(credentials)))
        }
        _ => return None,
    })
}

fn read<'v, T: Deserialize<'v>>(params: &'v Value) -> serde_json::Result<T> {
    T::deserialize(params)
}

pub(super) fn selection(uri: String, range: protocol::Range) -> Selection {
    let (start, end) = span(range);
    Selection { uri, start, end }
}

fn content_change(change: WireChange) -> ContentChange {
    ContentChange { range: change.range.map(span), text: change.text }
}

fn span(range: protocol::Range) -> (Position, Position) {
    let position = |at: protocol::Position| Position { line: at.line, character: at.character };
    (position(range.start), position(range.end))
}

/// Reads the params of a request. Absent params are treated as an empty object.
pub(super) fn params<P>(
    method: &str,
    params: Option<Value>,
    read: impl FnOnce(Value) -> serde_json::Result<P>,
) -> Result<P, Error> {
    let params = match params {
        None | Some(Value::Null) => json!({}),
        Some(params) => params,
    };
    let read = match params {
        Value::Object(_) => read(params).map_err(|error| error.to_string()),
        _ => Err("params must be one object".to_owned()),
    };
    read.map_err(|why| {
        let (method, reason) = (method.to_owned(), why.to_string());
        let problem = RequestProblem::InvalidParams { method, reason };
        error(&problem)
    })
}

pub(super) fn result(result: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|_| Error::internal_error())
}

pub(super) fn error(problem: &RequestProblem) -> Error {
    let data = ErrorData::from(problem);
    let code = match data.kind {
        ErrorKind::NotReady => -32002,
        ErrorKind::InvalidParams => -32602,
        ErrorKind::Overloaded => -32001,
        _ => -32803,
    };
    let message = data.message.english().into();
    Error { code: ErrorCode::from(code), message, data: serde_json::to_value(data).ok() }
}

pub(super) fn shut_down() -> Error {
    let error = refused(RequestProblem::AlreadyShutDown);
    Error { code: ErrorCode::InvalidRequest, ..error }
}

pub(super) fn panicked() -> Error {
    let error = refused(RequestProblem::InternalError);
    Error { code: ErrorCode::InternalError, ..error }
}

pub(super) fn duplicate_id() -> Error {
    Error {
        code: ErrorCode::InvalidRequest,
        message: "another request with this id still waits for its answer".into(),
        data: None,
    }
}

pub(super) fn refused(problem: RequestProblem) -> Error {
    error(&problem)
}
