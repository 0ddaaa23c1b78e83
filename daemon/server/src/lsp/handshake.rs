//! `initialize`: capabilities of the client, and the answer.

use std::path::PathBuf;

use cairn_core::{prompt::Audience, text::Units};
use cairn_protocol::{PROTOCOL_MINOR, PROTOCOL_VERSION, RequestProblem};
use rustix::process::Pid;
use serde_json::{Value, json};
use tower_lsp::{
    jsonrpc::Error,
    lsp_types::{
        self as lsp, InitializeParams, InitializeResult, PositionEncodingKind, ServerCapabilities,
        ServerInfo, TextDocumentSyncKind, TextDocumentSyncOptions, Url,
    },
};

use super::{
    client_support::{ClientSupport, supports},
    convert::{self, settings_in},
    lifecycle::visible_parent,
    review,
};
use crate::{
    event::{Initialized, Remember},
    workspace::OpenFolder,
};

/// Result of `initialize`.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) hello: Initialized,
    pub(super) parent: Option<Pid>,
    pub(super) supports: ClientSupport,
    /// The client shows the output of running commands: `experimental.cairn.output`.
    pub(super) wants_output: bool,
    /// The client can ask the user: `experimental.cairn.ask`.
    pub(super) can_ask: bool,
}

/// Reads `initialize`; refuses a client that speaks another major version of `agent/*`.
pub(super) fn accept(params: InitializeParams) -> Result<Handshake, Error> {
    let experimental = params.capabilities.experimental.as_ref();
    let cairn = experimental.and_then(|experimental| experimental.get("cairn"));
    let cairn = cairn.filter(|cairn| !cairn.is_null());
    if let Some(cairn) = cairn {
        agree(&cairn["protocolVersion"])?;
    }
    let says = |name: &str| cairn.is_some_and(|cairn| cairn[name] == Value::Bool(true));
    let (speaks_agent, wants_output, can_ask) = (cairn.is_some(), says("output"), says("ask"));
    let options = params.initialization_options.as_ref();
    // Any value other than `true` is treated as no trust.
    let trusted = match options.and_then(|options| options.get("trusted")) {
        None | Some(Value::Null) => true,
        Some(said) => *said == Value::Bool(true),
    };
    let supports = supports(&params);
    // The extension uses the units of VS Code.
    let units = if speaks_agent { Units::Utf16 } else { supports.units };
    let hello = Initialized {
        settings: options.map(first_settings).unwrap_or_default(),
        speaks_agent,
        trusted,
        folders: folders(&params),
        remember: Remember::Sessions,
        audience: Audience::Editor,
        units,
    };
    let parent = params.process_id.and_then(visible_parent);
    Ok(Handshake { hello, parent, supports, wants_output, can_ask })
}

/// Builds the answer to `initialize`.
pub(super) fn welcome(accepted: &Handshake) -> InitializeResult {
    // The extension has its own lenses and commands under the same names.
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
    let problem = RequestProblem::ProtocolVersion {
        daemon: PROTOCOL_VERSION.to_string(),
        editor: version.to_string(),
    };
    let mut error = convert::refused(problem);
    // LSP defines this field for this error: a retry would not help.
    if let Some(Value::Object(data)) = &mut error.data {
        data.insert("retry".to_owned(), Value::Bool(false));
    }
    Err(error)
}

fn folders(params: &InitializeParams) -> Vec<OpenFolder> {
    let path = |uri: &Url| uri.to_file_path().ok();
    let folders = params.workspace_folders.iter().flatten();
    let folders: Vec<_> = folders
        .filter_map(|it| Some(OpenFolder { path: path(&it.uri)?, name: Some(it.name.clone()) }))
        .collect();
    if !folders.is_empty() {
        return folders;
    }
    #[allow(deprecated, reason = "older clients send nothing else")]
    let root = params
        .root_uri
        .as_ref()
        .and_then(path)
        .or_else(|| params.root_path.as_ref().map(PathBuf::from));
    root.into_iter().map(OpenFolder::from).collect()
}

/// Returns the settings in `initializationOptions`: the member `settings`, else the section as in
/// `didChangeConfiguration` (Helix sends one object for both).
fn first_settings(options: &Value) -> Value {
    match options.get("settings") {
        None | Some(Value::Null) => settings_in(options).unwrap_or_default(),
        Some(settings) => settings_in(settings).unwrap_or_else(|| settings.clone()),
    }
}
