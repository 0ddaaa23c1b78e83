//! Effects of a command that a question names.

use std::path::{Path, PathBuf};

use cairn_core::policy::{
    command::{self, Places, Risk},
    is_protected,
};
use cairn_protocol::CommandRisk;

use crate::{
    tools::{Access, ToolContext},
    workspace::without_dots,
};

/// Effects of the command of a call, in the order in which they are shown. `is_sandboxed`: it runs in a sandbox.
pub(super) fn of(access: &Access, context: &ToolContext, is_sandboxed: bool) -> Vec<CommandRisk> {
    let Access::Command { command, cwd, needs } = access else { return Vec::new() };
    let settings = &context.sandbox_config.settings;
    let has_network = !is_sandboxed || needs.network || settings.network;
    let path = |word: &str| without_dots(&cwd.join(word));
    let is_outside = |word: &str| {
        let path = path(word);
        let writable = ["/tmp", "/var/tmp"].iter().map(Path::new);
        let mut writable = writable.chain(settings.writable.iter().map(PathBuf::as_path));
        word.starts_with('~')
            || (context.workspace.folder_of(&path).is_none()
                && !writable.any(|folder| path.starts_with(folder)))
    };
    let is_control = |word: &str| {
        let path = path(word);
        let folder = context.workspace.folder_of(&path);
        folder.and_then(|folder| path.strip_prefix(folder).ok()).is_some_and(is_protected)
    };
    let places = Places { is_outside: &is_outside, is_control: &is_control };
    let shown = |risk: Risk| match risk {
        Risk::DeletesFiles => Some(CommandRisk::DeletesFiles),
        Risk::DiscardsChanges => Some(CommandRisk::DiscardsChanges),
        Risk::RewritesHistory => Some(CommandRisk::RewritesHistory),
        Risk::LeavesWorkspace => Some(CommandRisk::LeavesWorkspace),
        Risk::ChangesControlFiles => Some(CommandRisk::ChangesControlFiles),
        Risk::NeedsNetwork => (!has_network).then_some(CommandRisk::LacksNetwork),
        Risk::CannotTell => Some(CommandRisk::CannotTell),
    };
    command::risks(command, &places).into_iter().filter_map(shown).collect()
}
