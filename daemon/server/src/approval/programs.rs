//! Lookup of programs by name in the folders of `PATH`, as the shell does it.
//!
//! Not a lock: the program may be replaced before the command runs. But code that can write outside of
//! the workspace can already run programs.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::workspace::Workspace;

/// Folders in which any program may write.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// True if the shell finds this program outside of the workspace and of temporary folders, where neither
/// the agent nor the repository writes. The same must hold for the folder it is found in and for the shell itself. `path`
/// lists the folders of the search path in order.
pub(super) fn lies_outside(
    program: &str,
    path: &[PathBuf],
    workspace: &Workspace,
    temporary: &[&str],
) -> bool {
    ["bash", program].into_iter().all(|name| {
        let found = path.iter().find(|folder| can_run(&folder.join(name)));
        let outside = |place: &Path| {
            let is_temporary = |place: &Path| temporary.iter().any(|at| place.starts_with(at));
            fs::canonicalize(place)
                .is_ok_and(|place| !workspace.holds(&place) && !is_temporary(&place))
        };
        found.is_some_and(|folder| outside(folder) && outside(&folder.join(name)))
    })
}

fn can_run(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn program(file: &Path, mode: u32) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_of_a_name_must_lie_outside_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for file in ["ws/bin/mine", "ws/bin/both", "usr/both", "usr/tool", "usr/bash"] {
            program(&at(file), 0o755);
        }
        program(&at("ws/bin/plain"), 0o644);
        program(&at("usr/plain"), 0o755);
        fs::create_dir(at("ws/bin/folder")).unwrap();
        program(&at("usr/folder"), 0o755);
        symlink(at("ws/bin/mine"), at("usr/leads-in")).unwrap();
        symlink(at("usr/tool"), at("ws/bin/leads-out")).unwrap();
        symlink(at("ws/bin"), at("linked")).unwrap();
        let workspace = Workspace::new(vec![at("ws")]).unwrap();
        for (name, first, last) in [
            ("tool", true, true),
            ("mine", false, false),
            // Another one is found first.
            ("both", false, true),
            // Not a program, so the shell looks on.
            ("plain", true, true),
            ("folder", true, true),
            ("leads-in", false, false),
            ("leads-out", false, false),
            ("missing", false, false),
        ] {
            let (ours, usr) = (at("ws/bin"), at("usr"));
            let found = |path: &[PathBuf]| lies_outside(name, path, &workspace, &[]);
            assert_eq!(found(&[ours.clone(), usr.clone()]), first, "{name}");
            assert_eq!(found(&[usr, ours]), last, "{name}");
        }
        assert!(!lies_outside("mine", &[at("linked"), at("usr")], &workspace, &[]));
        program(&at("ws/bin/bash"), 0o755);
        assert!(!lies_outside("tool", &[at("ws/bin"), at("usr")], &workspace, &[]));
        let usr = at("usr");
        let temporary = usr.to_str().unwrap();
        assert!(lies_outside("tool", std::slice::from_ref(&usr), &workspace, &[]));
        assert!(!lies_outside("tool", std::slice::from_ref(&usr), &workspace, &[temporary]));
    }
}
