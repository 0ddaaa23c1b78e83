//! Optional features of LSP that a client supports.

use cairn_core::text::Units;
use tower_lsp::lsp_types::{ClientCapabilities, InitializeParams, PositionEncodingKind};

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

/// Reads the capabilities of a client.
pub(super) fn supports(client: &InitializeParams) -> ClientSupport {
    let capabilities = &client.capabilities;
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
        takes_first_answer: client.client_info.as_ref().is_some_and(|it| it.name == "vim-lsp"),
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
