//! Folder that a command's rules apply to, resolved once for each question.
//!
//! Not a lock: another folder may be there when the command runs. Whoever can replace the folder can
//! also change its content, and the command runs in its sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_core::policy::{Access, command};

use crate::workspace::Workspace;

#[derive(Debug)]
pub struct RuleFolder {
    /// Path without symbolic links. `None`: the working directory does not exist.
    folder: Option<PathBuf>,
    /// Name by which the script enters it with `cd`.
    entered: Option<String>,
}

impl RuleFolder {
    pub fn of(access: &Access, workspace: &Workspace) -> Self {
        let Access::Command { command, cwd, .. } = access else {
            return Self { folder: None, entered: None };
        };
        let start = fs::canonicalize(cwd).ok();
        let below = start.as_deref().and_then(|start| {
            let name = command::entered(command)?;
            Some((folder_below(start, cwd, &name, workspace)?, name))
        });
        match below {
            Some((folder, name)) => Self { folder: Some(folder), entered: Some(name) },
            None => Self { folder: start, entered: None },
        }
    }

    /// Folder for which rules apply and are stored.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// True if the script first enters a folder below its working directory.
    pub fn is_entered(&self) -> bool {
        self.entered.is_some()
    }

    pub(super) fn enters(&self, name: &str) -> bool {
        self.entered.as_deref() == Some(name)
    }
}

/// Folder of this name below `start`, or of this absolute path. `None` if a link leads there, or if the
/// path jail does not allow reading it without approval.
fn folder_below(start: &Path, cwd: &Path, name: &str, workspace: &Workspace) -> Option<PathBuf> {
    // The model knows a workspace that was opened through a link by the link's name.
    let name = Path::new(name).strip_prefix(cwd).unwrap_or(Path::new(name));
    let path = workspace.resolve(cwd.join(name).to_str()?).ok()?;
    let folder = fs::canonicalize(start.join(name)).ok()?;
    let in_place = folder == start.join(name) && folder.is_dir();
    (in_place && !path.is_secret()).then_some(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use cairn_core::policy::sandbox::Needs;

    use super::*;

    #[test]
    fn the_rule_folder_is_the_entered_folder_unless_a_link_leads_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        for folder in
            ["ws/packages/web", "ws/.git/hooks", "ws/.ssh", "ws/~", "ws/-P", "beside", "ws/a b"]
        {
            fs::create_dir_all(real.join(folder)).unwrap();
        }
        fs::write(real.join("ws/file"), "").unwrap();
        for (target, link) in
            [("packages", "ws/same"), ("../beside", "ws/out"), ("web", "ws/packages/linked")]
        {
            symlink(target, real.join(link)).unwrap();
        }
        // The workspace may be opened by a link.
        symlink(real.join("ws"), real.join("opened")).unwrap();
        for root in ["ws", "opened"] {
            let cwd = real.join(root);
            let workspace = Workspace::new(vec![cwd.clone()]).unwrap();
            for (command, expected) in [
                ("npm test", Some("")),
                ("cd packages/web && npm test", Some("packages/web")),
                ("cd ./packages//web/ && npm test 2>&1 | tail", Some("packages/web")),
                ("cd 'packages' && a && b", Some("packages")),
                ("cd . && a", Some("")),
                // Rules are those of the folder in which the script starts, and none covers a `cd`.
                ("cd missing && a", None),
                ("cd file && a", None),
                ("cd same && a", None),
                ("cd same/web && a", None),
                ("cd packages/linked && a", None),
                ("cd out && a", None),
                ("cd .git && a", None),
                ("cd .git/hooks && a", None),
                ("cd .ssh && a", None),
                ("cd .. && a", None),
                ("cd packages/../packages && a", None),
                ("cd '~' && a", None),
                ("cd 'a b' && a", None),
                ("cd ./-P && a", Some("-P")),
                ("cd -P && a", None),
                ("cd packages; a", None),
                ("cd packages", None),
                // Models often use absolute paths.
                ("cd @ && a", Some("")),
                ("cd @/ && a", Some("")),
                ("cd @/packages/web && a", Some("packages/web")),
                ("cd @/same && a", None),
                ("cd @/.git && a", None),
                ("cd @/.. && a", None),
                ("cd @/../beside && a", None),
                ("cd / && a", None),
                ("cd /tmp && a", None),
                ("cd /@ && a", None),
            ] {
                let command = &command.replace('@', cwd.to_str().unwrap());
                let access = Access::Command {
                    command: command.into(),
                    cwd: cwd.clone(),
                    needs: Needs::NONE,
                };
                let place = RuleFolder::of(&access, &workspace);
                let ws = real.join("ws");
                let folder = expected.map_or(ws.clone(), |inside| ws.join(inside));
                assert_eq!(place.folder(), Some(folder.as_path()), "{command}");
                let entered = expected.is_some() && command.starts_with("cd");
                assert_eq!(place.is_entered(), entered, "{command}");
            }
        }
    }

    #[test]
    fn a_folder_of_another_workspace_folder_is_not_reached_by_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(real.join("one")).unwrap();
        fs::create_dir_all(real.join("two/sub")).unwrap();
        symlink(real.join("two"), real.join("one/link")).unwrap();
        let folders = [real.join("one"), real.join("one/link")];
        let workspace = Workspace::new(folders.to_vec()).unwrap();
        let access = Access::Command {
            command: "cd link/sub && a".into(),
            cwd: folders[0].clone(),
            needs: Needs::NONE,
        };
        assert!(!RuleFolder::of(&access, &workspace).is_entered());
    }
}
