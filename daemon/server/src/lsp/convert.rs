//! Conversion between the types of LSP and the daemon's events.
//!
//! URIs keep the client's spelling: they are keys, and a parsed URL may be spelled differently.
//! Never logs a text or an API key.

use std::path::PathBuf;

use cairn_core::text::{Position, Units};
use cairn_protocol::{self as protocol, ErrorData, ErrorKind, PROTOCOL_MINOR, PROTOCOL_VERSION};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tower_lsp::{
    jsonrpc::{Error, ErrorCode},
    lsp_types::{
        self as lsp, ClientCapabilities, InitializeParams, InitializeResult, PositionEncodingKind,
        ServerCapabilities, ServerInfo, TextDocumentSyncKind, TextDocumentSyncOptions, Url,
    },
};

use super::{lifecycle::Parent, review};
use crate::{
    config,
    event::{ClientEvent, ContentChange, Initialized, Remember, RequestError, Selection},
};

/// Result of `initialize`.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) hello: Initialized,
    pub(super) parent: Option<Parent>,
    pub(super) supports: ClientSupport,
}

/// Optional features of LSP that the client supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientSupport {
    /// `workspace/applyEdit` may carry the document's version.
    pub(super) versioned_edits: bool,
    /// Work-done progress.
    pub(super) progress: bool,
    pub(super) diagnostics: bool,
    /// Code actions may be more than commands.
    pub(super) action_literals: bool,
    /// `workspace/codeLens/refresh`.
    pub(super) lens_refresh: bool,
    /// The user types the number of an answer, and only 1 is accepted (vim-lsp).
    pub(super) takes_first_answer: bool,
    /// Units of columns: the client's first choice among the supported ones.
    pub(super) units: Units,
    /// `workspace/configuration`.
    pub(super) configuration: bool,
    /// Dynamic registration for `workspace/didChangeConfiguration`.
    pub(super) watches_settings: bool,
}

/// Reads `initialize`; refuses a client that speaks another major version of `agent/*`.
pub(super) fn accept(params: InitializeParams) -> Result<Handshake, Error> {
    let experimental = params.capabilities.experimental.as_ref();
    let speaks_agent = match experimental.and_then(|experimental| experimental.get("cairn")) {
        None | Some(Value::Null) => false,
        Some(cairn) => {
            agree(&cairn["protocolVersion"])?;
            true
        }
    };
    let options = params.initialization_options.as_ref();
    // Any value other than `true` counts as no trust.
    let trusted = match options.and_then(|options| options.get("trusted")) {
        None | Some(Value::Null) => true,
        Some(said) => *said == Value::Bool(true),
    };
    let name = params.client_info.as_ref().map(|client| client.name.as_str());
    let supports = ClientSupport {
        takes_first_answer: name == Some("vim-lsp"),
        ..supports(&params.capabilities)
    };
    // The extension uses the units of VS Code.
    let units = if speaks_agent { Units::Utf16 } else { supports.units };
    let hello = Initialized {
        settings: options.map(first_settings).unwrap_or_default(),
        speaks_agent,
        trusted,
        folders: folders(&params),
        remember: Remember::Sessions,
        units,
    };
    let parent = params.process_id.and_then(Parent::visible);
    Ok(Handshake { hello, parent, supports })
}

fn supports(capabilities: &ClientCapabilities) -> ClientSupport {
    let workspace = capabilities.workspace.as_ref();
    let edit = workspace.and_then(|workspace| workspace.workspace_edit.as_ref());
    let lens = workspace.and_then(|workspace| workspace.code_lens.as_ref());
    let document = capabilities.text_document.as_ref();
    let action = document.and_then(|document| document.code_action.as_ref());
    let window = capabilities.window.as_ref();
    let changes = workspace.and_then(|workspace| workspace.did_change_configuration);
    ClientSupport {
        // Neovim advertises only file operations. These need `documentChanges`, and Neovim compares
        // the version, which protects text that the user just typed.
        versioned_edits: edit.is_some_and(|edit| {
            edit.document_changes.unwrap_or_default() || edit.resource_operations.is_some()
        }),
        progress: window.and_then(|window| window.work_done_progress).unwrap_or_default(),
        diagnostics: document.is_some_and(|document| document.publish_diagnostics.is_some()),
        action_literals: action.is_some_and(|action| action.code_action_literal_support.is_some()),
        lens_refresh: lens.and_then(|lens| lens.refresh_support).unwrap_or_default(),
        takes_first_answer: false,
        units: units(capabilities),
        configuration: workspace.and_then(|it| it.configuration).unwrap_or_default(),
        watches_settings: changes.and_then(|it| it.dynamic_registration).unwrap_or_default(),
    }
}

/// Chooses the units: the first supported ones in the client's order of preference.
fn units(capabilities: &ClientCapabilities) -> Units {
    let offered = capabilities.general.as_ref().and_then(|it| it.position_encodings.as_ref());
    let known = |kind: &PositionEncodingKind| match kind.as_str() {
        "utf-8" => Some(Units::Utf8),
        "utf-16" => Some(Units::Utf16),
        "utf-32" => Some(Units::Utf32),
        _ => None,
    };
    offered.into_iter().flatten().find_map(known).unwrap_or_default()
}

/// Builds the answer to `initialize`.
pub(super) fn welcome(accepted: &Handshake) -> InitializeResult {
    // The extension has lenses and commands of its own under the same names.
    let reviewing = if accepted.hello.speaks_agent {
        ServerCapabilities::default()
    } else {
        review::provided(accepted.supports)
    };
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(match accepted.hello.units {
                Units::Utf8 => PositionEncodingKind::UTF8,
                Units::Utf16 => PositionEncodingKind::UTF16,
                Units::Utf32 => PositionEncodingKind::UTF32,
            }),
            text_document_sync: Some(
                TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(true.into()),
                    ..Default::default()
                }
                .into(),
            ),
            workspace: Some(lsp::WorkspaceServerCapabilities {
                workspace_folders: Some(lsp::WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: None,
                }),
                file_operations: Some(file_operations()),
            }),
            experimental: Some(json!({
                "cairn": { "protocolVersion": PROTOCOL_VERSION, "protocolMinor": PROTOCOL_MINOR },
            })),
            ..reviewing
        },
        server_info: Some(ServerInfo {
            name: "cairn".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    }
}

/// Asks for notifications about every file operation of the user.
fn file_operations() -> lsp::WorkspaceFileOperationsServerCapabilities {
    let all = lsp::FileOperationRegistrationOptions {
        filters: vec![lsp::FileOperationFilter {
            scheme: Some("file".to_owned()),
            pattern: lsp::FileOperationPattern {
                glob: "**/*".to_owned(),
                matches: None,
                options: None,
            },
        }],
    };
    lsp::WorkspaceFileOperationsServerCapabilities {
        did_create: Some(all.clone()),
        did_rename: Some(all.clone()),
        did_delete: Some(all),
        ..Default::default()
    }
}

fn agree(version: &Value) -> Result<(), Error> {
    if version.as_u64() == Some(u64::from(PROTOCOL_VERSION)) {
        return Ok(());
    }
    let message = format!(
        "This Cairn daemon speaks version {PROTOCOL_VERSION} of the agent protocol and the editor \
         speaks version {version}"
    );
    let hint = "Install the extension and the daemon from the same release";
    let mut error = refused(ErrorKind::InvalidParams, message, hint);
    // LSP defines this field for this error: a retry would not help.
    if let Some(Value::Object(data)) = &mut error.data {
        data.insert("retry".to_owned(), Value::Bool(false));
    }
    Err(error)
}

fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let path = |uri: &Url| uri.to_file_path().ok();
    let folders = params.workspace_folders.iter().flatten();
    let folders: Vec<_> = folders.filter_map(|folder| path(&folder.uri)).collect();
    if !folders.is_empty() {
        return folders;
    }
    #[allow(deprecated, reason = "older clients send nothing else")]
    let root = params
        .root_uri
        .as_ref()
        .and_then(path)
        .or_else(|| params.root_path.as_ref().map(PathBuf::from));
    root.into_iter().collect()
}

/// Returns the settings in `initializationOptions`: the member `settings`, else the section as in
/// `didChangeConfiguration` (Helix sends one object for both).
fn first_settings(options: &Value) -> Value {
    match options.get("settings") {
        None | Some(Value::Null) => settings_in(options).unwrap_or_default(),
        Some(settings) => settings_in(settings).unwrap_or_else(|| settings.clone()),
    }
}

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
            read(params).map(|Files::<Item> { files }| {
                let uris = files.into_iter().map(|file| file.uri).collect();
                Some(ClientEvent::WatchedFiles(uris))
            })
        }
        "workspace/didRenameFiles" => read(params).map(|Files::<Renamed> { files }| {
            let renames = files.into_iter().map(|file| (file.old_uri, file.new_uri)).collect();
            Some(ClientEvent::RenamedFiles(renames))
        }),
        protocol::TRUST => {
            read(params).map(|protocol::TrustParams { trusted }| Some(ClientEvent::Trust(trusted)))
        }
        protocol::CREDENTIALS => {
            read(params).map(|credentials| Some(ClientEvent::Credentials(credentials)))
        }
        _ => return None,
    })
}

fn read<'v, T: Deserialize<'v>>(params: &'v Value) -> serde_json::Result<T> {
    T::deserialize(params)
}

pub(super) fn selection(uri: String, range: protocol::Range) -> Selection {
    let position = |at: protocol::Position| Position { line: at.line, character: at.character };
    Selection { uri, start: position(range.start), end: position(range.end) }
}

fn content_change(change: WireChange) -> ContentChange {
    let position = |at: protocol::Position| Position { line: at.line, character: at.character };
    ContentChange {
        range: change.range.map(|range| (position(range.start), position(range.end))),
        text: change.text,
    }
}

/// Reads the params of a request. Absent params count as an empty object.
pub(super) fn params<P: DeserializeOwned>(method: &str, params: Option<Value>) -> Result<P, Error> {
    let params = match params {
        None | Some(Value::Null) => json!({}),
        Some(params) => params,
    };
    let read = match params {
        Value::Object(_) => serde_json::from_value(params).map_err(|error| error.to_string()),
        _ => Err("params must be one object".to_owned()),
    };
    read.map_err(|why| {
        let hint = "Send one object as the protocol describes";
        refused(ErrorKind::InvalidParams, format!("{method}: {why}"), hint)
    })
}

pub(super) fn result(result: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|_| Error::internal_error())
}

pub(super) fn error(RequestError { message, data }: RequestError) -> Error {
    let code = match data.kind {
        ErrorKind::NotReady => -32002,
        ErrorKind::InvalidParams => -32602,
        ErrorKind::Overloaded => -32001,
        ErrorKind::NoModel
        | ErrorKind::StaleRevision
        | ErrorKind::UnknownSession
        | ErrorKind::SessionLocked
        | ErrorKind::TurnMismatch
        | ErrorKind::Untrusted
        | ErrorKind::Internal => -32803,
    };
    let data = serde_json::to_value(data).ok();
    Error { code: ErrorCode::from(code), message: message.into(), data }
}

pub(super) fn not_initialized() -> Error {
    refused(ErrorKind::NotReady, "Not initialized yet", "Send `initialize` first")
}

pub(super) fn shut_down() -> Error {
    let error = refused(ErrorKind::NotReady, "Already shut down", "Send `exit`, then start anew");
    Error { code: ErrorCode::InvalidRequest, ..error }
}

pub(super) fn overloaded() -> Error {
    refused(ErrorKind::Overloaded, "Too many requests are waiting", "Wait for answers, then retry")
}

/// Error of a request that the hub dropped.
pub(super) fn unanswered() -> Error {
    refused(ErrorKind::Internal, "Cairn dropped the request", "Try again. The log has details")
}

pub(super) fn panicked() -> Error {
    let error = refused(
        ErrorKind::Internal,
        "Cairn failed with an internal error",
        "Try again. The log has details",
    );
    Error { code: ErrorCode::InternalError, ..error }
}

pub(super) fn duplicate_id() -> Error {
    Error {
        code: ErrorCode::InvalidRequest,
        message: "another request with this id still waits for its answer".into(),
        data: None,
    }
}

pub(super) fn refused(kind: ErrorKind, message: impl Into<String>, hint: &str) -> Error {
    let data = ErrorData { kind, hint: hint.to_owned() };
    error(RequestError { message: message.into(), data })
}
