//! Recorded state folders: `tests/states/<scene>/<n>` holds a workspace, and the state folder with the path
//! of the workspace replaced by [`PLACEHOLDER`].
//!
//! The ignored test of each scene records a folder (`CAIRN_RECORD_STATE=<n>`). Record one after a change of
//! a format, and keep the older ones.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};

use crate::fixtures::journals;

pub(super) const PLACEHOLDER: &str = "/@WORKSPACE@";

/// Folder of the recorded folders of a scene.
pub(super) fn recorded(scene: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("states").join(scene)
}

/// Recorded folders of a scene, the oldest format first.
pub(super) fn of(scene: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(recorded(scene)).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|it| it.is_dir());
    folders.sort();
    assert!(!folders.is_empty(), "no recorded state");
    folders
}

/// Copies a workspace and its state, without the path of the workspace.
pub(super) fn keep(folder: &Path, state: &Path, target: &Path) {
    let path = fs::canonicalize(folder).unwrap().display().to_string();
    each_file(folder, &mut |file, inside| put(&target.join("workspace").join(inside), &read(file)));
    each_file(state, &mut |file, inside| {
        if file.extension().is_some_and(|it| it == "lock") {
            return;
        }
        let mut parts = inside.components();
        let place = match parts.next().unwrap().as_os_str().to_str().unwrap() {
            "workspaces" => {
                let name = parts.next().unwrap().as_os_str().to_owned();
                assert_eq!(name.to_str().unwrap(), folder_name(&path));
                Path::new("workspace").join(parts.as_path())
            }
            _ => inside.to_owned(),
        };
        let target = target.join("state").join(place);
        match file.extension().and_then(|it| it.to_str()) {
            Some("log" | "json") => {
                let text = String::from_utf8(read(file)).unwrap().replace(&path, PLACEHOLDER);
                assert!(!text.contains(state.to_str().unwrap()), "{}", file.display());
                put(&target, text.as_bytes());
            }
            _ => put(&target, &read(file)),
        }
    });
}

/// A workspace and its state in folders of their own, as an earlier version left them.
pub(super) fn lay_out(corpus: &Path) -> (tempfile::TempDir, tempfile::TempDir) {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = fs::canonicalize(folder.path()).unwrap().display().to_string();
    each_file(&corpus.join("workspace"), &mut |file, inside| {
        put(&folder.path().join(inside), &read(file));
    });
    each_file(&corpus.join("state"), &mut |file, inside| {
        let place = match inside.strip_prefix("workspace") {
            Ok(rest) => Path::new("workspaces").join(folder_name(&path)).join(rest),
            Err(_) => inside.to_owned(),
        };
        let bytes = read(file);
        let is_journal = inside.extension().is_some_and(|it| it == "log");
        let bytes = match String::from_utf8(bytes) {
            Ok(text) if is_journal => {
                text.lines().map(|line| with_path(line, &path)).collect::<String>().into_bytes()
            }
            Ok(text) => text.replace(PLACEHOLDER, &path).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        put(&state.path().join(place), &bytes);
    });
    // A session can be restored for ten minutes after its deletion.
    for (id, folder) in trash(state.path()) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        fs::rename(&folder, folder.with_file_name(format!("{id}.{now}"))).unwrap();
    }
    // The newest session is the one whose journal changed last, and ids sort by time.
    let mut journals = journals(state.path());
    journals.sort();
    for (journal, age) in journals.iter().rev().zip(1..) {
        let changed = SystemTime::now() - Duration::from_secs(age);
        File::open(journal).and_then(|file| file.set_modified(changed)).unwrap();
    }
    (folder, state)
}

/// A line of a journal with the path of a workspace in it, and the checksum that this makes.
fn with_path(line: &str, path: &str) -> String {
    let mut parts = line.splitn(3, ' ');
    let (sequence, _, json) = (parts.next().unwrap(), parts.next(), parts.next().unwrap());
    let content = format!("{sequence} {}", json.replace(PLACEHOLDER, path));
    let crc = crc32fast::hash(content.as_bytes());
    let (sequence, json) = content.split_once(' ').unwrap();
    format!("{sequence} {crc:08x} {json}\n")
}

/// The name of the folder of state of a workspace, as version 1 makes it.
fn folder_name(path: &str) -> String {
    let hash = Sha256::digest(format!("{path}\0"));
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn each_file(folder: &Path, visit: &mut impl FnMut(&Path, &Path)) {
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                visit(&path, path.strip_prefix(folder).unwrap());
            }
        }
    }
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap()
}

fn put(file: &Path, bytes: &[u8]) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, bytes).unwrap();
}

/// Id and folder of each deleted session.
fn trash(state: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for workspace in fs::read_dir(state.join("workspaces")).unwrap() {
        let trash = workspace.unwrap().path().join("trash");
        for deleted in fs::read_dir(trash).into_iter().flatten() {
            let folder = deleted.unwrap().path();
            found.push((folder.file_stem().unwrap().to_str().unwrap().to_owned(), folder));
        }
    }
    found
}

/// Ids of the deleted sessions.
pub(super) fn trashed(state: &Path) -> Vec<String> {
    trash(state).into_iter().map(|(id, _)| id).collect()
}
