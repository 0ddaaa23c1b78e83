//! Calls of file tools for paths outside the workspace. Each becomes a command, which sees what the sandbox shows, and
//! reaches nothing that a command would not.

use std::path::{Component, Path, PathBuf};

use cairn_core::policy::home::is_toolchain_place;

use super::{
    Call, ToolContext,
    bash::{BashCall, Instead},
};
use crate::workspace::{PathError, path_of};

/// Remark for the model about a file that it reads.
const READ_ONLY: &str = "Outside the workspace: it can be read, not edited.";
/// Remark about a file in the temporary folder.
const TEMPORARY: &str =
    "Outside the workspace: commands see this file; the user does not review it.";
/// Folders of the system with libraries and their sources.
const LIBRARIES: [&str; 5] =
    ["/usr/include", "/usr/lib", "/usr/local/include", "/usr/local/lib", "/usr/share"];
/// Folders that the private temporary folder replaces: on Linux, where a sandbox can mount it there.
const TEMPORARY_FOLDERS: &[&str] =
    if cfg!(target_os = "linux") { &["/tmp", "/var/tmp"] } else { &[] };

/// Search outside the workspace, as arguments of the program `grep`.
pub(super) struct Outline {
    pub(super) pattern: String,
    pub(super) ignore_case: bool,
    /// Pattern of file names.
    pub(super) names: Option<String>,
    pub(super) before: usize,
    pub(super) after: usize,
    /// Option for the form of the results.
    pub(super) form: &'static str,
}

/// Returns a path outside the workspace that a command may read and that has no secrets: in a library, a toolchain, a
/// package cache, the temporary folder of commands, or a folder that the user's settings show to commands. No link leads
/// there.
pub(super) fn readable(given: &str, context: &ToolContext) -> Option<PathBuf> {
    let path = outside(given, context)?;
    let existing = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    if existing.is_none_or(|(above, real)| above != real) {
        return None;
    }
    let below_one = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let names: Option<Vec<&str>> = home
        .and_then(|home| path.strip_prefix(home).ok())
        .and_then(|below| below.components().map(|part| part.as_os_str().to_str()).collect());
    let is_readable = below_one(&LIBRARIES)
        || below_one(TEMPORARY_FOLDERS)
        || is_shown_by_user(&path, context)
        || names.is_some_and(|names| is_toolchain_place(names.iter().copied()));
    is_readable.then_some(path)
}

/// Returns a readable path that may be searched. A folder that the user shows to commands may hold files with secrets,
/// which a search would send to the model without an approval.
pub(super) fn searchable(given: &str, context: &ToolContext) -> Option<PathBuf> {
    readable(given, context).filter(|path| path.is_file() || !is_shown_by_user(path, context))
}

fn is_shown_by_user(path: &Path, context: &ToolContext) -> bool {
    let shown = &context.sandbox_config.settings.readable;
    shown.iter().any(|folder| path.starts_with(folder))
}

/// Returns an absolute path outside the workspace.
fn outside(given: &str, context: &ToolContext) -> Option<PathBuf> {
    let path = path_of(given).unwrap_or_else(|| given.into());
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    let is_outside = || matches!(context.workspace.key(given), Err(PathError::Outside(_)));
    (path.is_absolute() && is_plain && is_outside()).then_some(path)
}

/// Reads a file, or these lines of it (the first is 1), or lists a folder.
pub(super) fn read(path: &Path, lines: Option<(usize, usize)>, context: &ToolContext) -> Call {
    let name = quoted(&path.to_string_lossy());
    let command = match lines {
        _ if path.is_dir() => format!("ls -Ap -- {name}"),
        None => format!("cat -n -- {name}"),
        Some((first, count)) => {
            let last = first.saturating_add(count - 1);
            format!("cat -n -- {name} | sed -n {}", quoted(&format!("{first},{last}p")))
        }
    };
    BashCall::instead(command, reading(path), context)
}

/// Searches a file, or all files of a folder.
pub(super) fn search(path: &Path, search: &Outline, context: &ToolContext) -> Call {
    let Outline { pattern, ignore_case, names, before, after, form } = search;
    let mut command = "grep -rnIP".to_owned();
    if *ignore_case {
        command.push('i');
    }
    command.push_str(form);
    for (flag, lines) in [("B", before), ("A", after)] {
        if *lines > 0 {
            command.push_str(&format!(" -{flag} {lines}"));
        }
    }
    if let Some(names) = names {
        command.push_str(&format!(" --include={}", quoted(names)));
    }
    let instead = reading(path);
    let (pattern, path) = (quoted(pattern), quoted(&path.to_string_lossy()));
    BashCall::instead(format!("{command} -e {pattern} -- {path}"), instead, context)
}

fn reading(path: &Path) -> Instead {
    Instead { remark: READ_ONLY, reads: Some(path.to_owned()) }
}

/// Writes a file in the temporary folder of the sandbox. `None` for another place.
pub(super) fn write(given: &str, content: &str, context: &ToolContext) -> Option<Call> {
    let path = outside(given, context)?;
    let is_temporary = TEMPORARY_FOLDERS.iter().any(|folder| path.starts_with(folder));
    let folder = path.parent().filter(|_| is_temporary)?;
    let (folder, path) = (quoted(&folder.to_string_lossy()), quoted(&path.to_string_lossy()));
    let command = format!("mkdir -p -- {folder} && printf %s {} > {path}", quoted(content));
    Some(BashCall::instead(command, Instead { remark: TEMPORARY, reads: None }, context))
}

/// Word of a shell that stands for this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_stays_in_its_word() {
        assert_eq!(quoted("a b; $(x)"), "'a b; $(x)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
