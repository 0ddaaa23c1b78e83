//! Copies of the user's settings for git and cargo, without credentials. A command sees them in place
//! of the originals.
//!
//! The copy for git holds what `git config --list` prints in the folder of the command, so includes and
//! their conditions are resolved. A copy is reused until one of its source files changes.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    io::{self, Read, Seek},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use cairn_core::policy::{
    home::{git_settings, looks_like_credential},
    sandbox::Placed,
};
use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::super::private_folders::PrivateFolders;
use crate::small_file;

/// Time limit for git: a named pipe in place of a settings file makes it wait.
const GIT_LIMIT: Duration = Duration::from_secs(2);
/// Pause between checks whether git has ended.
const POLL: Duration = Duration::from_millis(1);
/// Bytes of a settings file that are read; usually some kilobytes.
const MAX_BYTES: u64 = 1 << 20;
/// Copies that are reused.
const MAX_COPIES: usize = 32;

/// Copies by source file and folder of the command.
#[derive(Debug, Default)]
pub(in crate::exec::sandbox) struct Copies(Mutex<HashMap<(PathBuf, PathBuf), Copy>>);

#[derive(Debug)]
struct Copy {
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    /// Path of the copy. `None` if none could be made.
    file: Option<PathBuf>,
}

/// Identity, size and time stamp of a file.
type Stamp = (u64, u64, u64, i64, i64);

fn stamp(path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok()?;
    Some((data.dev(), data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
}

impl Copies {
    /// Returns copies for a command in `cwd`. `home` is the real path of the home folder.
    pub(in crate::exec::sandbox) fn of(
        &self,
        home: &Path,
        cwd: &Path,
        git: Option<&Path>,
        private: &PrivateFolders,
    ) -> Vec<Placed> {
        let mut copies = Vec::new();
        let mut add = |source: &Path, at: &str, make: &dyn Fn() -> Option<Made>| match self
            .copy(source, cwd, private, make)
        {
            Ok(Some(from)) => copies.push(Placed { from, at: home.join(at) }),
            Ok(None) => {}
            Err(error) => tracing::warn!("no copy for ~/{at}: {error}"),
        };
        let git_files = [".gitconfig", ".config/git/config"].map(|name| home.join(name));
        if let Some(git) = git.filter(|_| git_files.iter().any(|file| file.is_file())) {
            add(&git_files[0], ".gitconfig", &|| {
                let (text, mut files) = git_settings_in(git, home, cwd)?;
                files.extend(git_files.iter().cloned());
                // The branch of the repository determines which conditions of includes hold.
                files.push(cwd.join(".git/HEAD"));
                Some(Made { text, files })
            });
        }
        for name in [".cargo/config.toml", ".cargo/config"] {
            let source = home.join(name);
            if source.is_file() {
                add(&source, name, &|| {
                    let text = without_credentials(&read(&source)?)?;
                    Some(Made { text, files: vec![source.clone()] })
                });
            }
        }
        copies
    }

    /// Returns the copy of a source file, made again if a file it depends on changed.
    fn copy(
        &self,
        source: &Path,
        cwd: &Path,
        private: &PrivateFolders,
        make: &dyn Fn() -> Option<Made>,
    ) -> io::Result<Option<PathBuf>> {
        let key = (source.to_owned(), cwd.to_owned());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let valid = |copy: &&Copy| {
            copy.stamps.iter().all(|(path, was)| stamp(path) == *was)
                && copy.file.as_ref().is_none_or(|file| private.contains(file))
        };
        if let Some(copy) = known.get(&key).filter(valid) {
            return Ok(copy.file.clone());
        }
        if known.len() >= MAX_COPIES {
            known.clear();
        }
        let made = make();
        let files =
            made.as_ref().map_or_else(|| vec![source.to_owned()], |made| made.files.clone());
        let stamps = files.into_iter().map(|path| (path.clone(), stamp(&path))).collect();
        let file = match made {
            Some(made) => Some(private.write_copy(&made.text)?),
            None => None,
        };
        known.insert(key, Copy { stamps, file: file.clone() });
        Ok(file)
    }
}

/// Content of a copy.
struct Made {
    text: String,
    /// Source files of the copy.
    files: Vec<PathBuf>,
}

fn read(path: &Path) -> Option<String> {
    small_file::read_text(path, MAX_BYTES).ok()
}

/// Returns the user's settings as git reads them in a folder: the text of the copy, and the source
/// files.
fn git_settings_in(git: &Path, home: &Path, cwd: &Path) -> Option<(String, Vec<PathBuf>)> {
    let listing = list_git_settings(git, home, cwd)?;
    // An entry is the name of a file, then a key with its value. A zero byte ends each.
    let mut parts = listing.split(|byte| *byte == 0);
    let (mut files, mut all) = (Vec::<PathBuf>::new(), Vec::new());
    while let (Some(origin), Some(entry)) = (parts.next(), parts.next()) {
        if let Some(path) = origin.strip_prefix(b"file:") {
            let path = PathBuf::from(OsStr::from_bytes(path));
            if !files.contains(&path) {
                files.push(path);
            }
        }
        let Ok(entry) = str::from_utf8(entry) else { continue };
        // In git, a key without a value is true.
        all.push(entry.split_once('\n').unwrap_or((entry, "true")));
    }
    Some((git_settings(all), files))
}

#[allow(clippy::disallowed_methods, reason = "part of the module that starts processes")]
fn list_git_settings(git: &Path, home: &Path, cwd: &Path) -> Option<Vec<u8>> {
    let mut output = tempfile::tempfile().ok()?;
    let mut child = Command::new(git)
        .args(["config", "--global", "--includes", "--show-origin", "--list", "-z"])
        .current_dir(cwd)
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(output.try_clone().ok()?)
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if started.elapsed() < GIT_LIMIT => std::thread::sleep(POLL),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
        }
    };
    status.filter(std::process::ExitStatus::success)?;
    output.rewind().ok()?;
    let mut listing = Vec::new();
    output.take(MAX_BYTES).read_to_end(&mut listing).ok()?;
    Some(listing)
}

/// Returns cargo's settings without tokens, passwords, URLs with a user, and comments. `None` for
/// settings that cargo could not parse.
fn without_credentials(text: &str) -> Option<String> {
    let mut settings: DocumentMut = text.parse().ok()?;
    settings.set_trailing("");
    clean(settings.as_table_mut());
    settings.decor_mut().clear();
    Some(settings.to_string())
}

/// Removes credentials and comments from a table.
fn clean(table: &mut dyn TableLike) {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let kept = !looks_like_credential(&key)
            && !key.contains("credential")
            && table.get_mut(&key).is_some_and(clean_item);
        if !kept {
            table.remove(&key);
        }
    }
    // Comments are part of the decoration of keys and values.
    table.fmt();
}

/// Cleans a value. False if it must be left out.
fn clean_item(item: &mut Item) -> bool {
    if let Some(tables) = item.as_array_of_tables_mut() {
        for table in tables.iter_mut() {
            clean(table);
            table.decor_mut().clear();
        }
        return true;
    }
    if let Some(table) = item.as_table_mut() {
        clean(table);
        table.decor_mut().clear();
        return true;
    }
    if let Some(table) = item.as_table_like_mut() {
        clean(table);
        return true;
    }
    match item.as_value_mut() {
        Some(Value::String(text)) => !looks_like_credential(text.value()),
        Some(Value::Array(array)) => {
            array.fmt();
            array.set_trailing("");
            array.iter().all(|value| match value {
                Value::String(text) => !looks_like_credential(text.value()),
                Value::Array(_) | Value::InlineTable(_) => false,
                _ => true,
            })
        }
        Some(_) | None => true,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_copy_for_cargo_has_no_credentials() {
        let text = "# token: a\n[registries.corp] # here\nindex = \"sparse+https://example.invalid/\"\n\
                    token = \"\"\"\nb\n\"\"\"\n[registry]\ndefault = \"corp\"\n\
                    global-credential-providers = [\"cargo:token\"]\n[http]\n\
                    proxy = \"http://me:c@example.invalid\"\ncainfo = \"ca.pem\" # d\n[env]\n\
                    MY_SECRET = \"e\"\nPLAIN = { value = \"1\", force = true }\n[source.crates-io]\n\
                    replace-with = \"corp\"\n[build]\nrustflags = [ # f\n\"-C\", \"opt\"\n# g\n]\n# h\n";
        expect![[r#"
            [registries.corp]
            index = "sparse+https://example.invalid/"

            [registry]
            default = "corp"

            [http]
            cainfo = "ca.pem"

            [env]
            PLAIN = { value = "1", force = true }

            [source.crates-io]
            replace-with = "corp"

            [build]
            rustflags = ["-C", "opt"]
        "#]]
        .assert_eq(&without_credentials(text).unwrap());
        assert_eq!(without_credentials("not = = toml"), None);
    }

    #[test]
    fn the_copy_for_git_holds_the_settings_that_apply_in_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let work = home.join("job/repo");
        fs::create_dir_all(work.join(".git")).unwrap();
        for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")] {
            fs::write(work.join(".git").join(name), text).unwrap();
        }
        for name in ["refs", "objects"] {
            fs::create_dir(work.join(".git").join(name)).unwrap();
        }
        let global = "[user]\nname = A\n[credential]\nhelper = store\n\
                      [includeIf \"gitdir:~/job/\"]\npath = job.inc\n";
        fs::write(home.join(".gitconfig"), global).unwrap();
        fs::write(home.join("job.inc"), "[user]\nemail = a@example.invalid\n").unwrap();
        let Some(git) = crate::exec::environment::search_path()
            .into_iter()
            .map(|folder| folder.join("git"))
            .find(|git| git.is_file())
        else {
            return;
        };
        let private = PrivateFolders::create().unwrap();
        let copies = Copies::default();
        let text = |cwd: &Path| {
            let made = copies.of(&home, cwd, Some(&git), &private);
            let [copy] = made.as_slice() else { panic!("{made:?}") };
            assert_eq!(copy.at, home.join(".gitconfig"));
            fs::read_to_string(&copy.from).unwrap()
        };
        let everywhere = "[user]\n\tname = \"A\"\n";
        assert_eq!(text(&home), everywhere);
        let at_work = format!("{everywhere}[user]\n\temail = \"a@example.invalid\"\n");
        assert_eq!(text(&work), at_work);
        // An included file changed.
        fs::write(home.join("job.inc"), "[user]\nemail = other@example.invalid\n").unwrap();
        assert!(text(&work).contains("other@"));
        // The settings are a named pipe, on which git waits.
        fs::remove_file(work.join(".git/config")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            work.join(".git/config"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        fs::write(home.join(".gitconfig"), "[user]\nname = B\n").unwrap();
        assert_eq!(copies.of(&home, &work, Some(&git), &private), []);
    }
}
