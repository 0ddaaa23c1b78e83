//! State of a file by Git's index, read without running git: settings of a repository can name programs
//! that git starts.
//!
//! Format: <https://git-scm.com/docs/index-format>, versions 2 to 4. Of a repository with SHA-256 or a
//! split index nothing is known.

use std::{
    fs::{File, Metadata},
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::MetadataExt,
    path::Path,
};

use super::git_repository::{named_repository, search_upwards};

/// Git's view of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Git wrote the file or has seen it since, and takes it for the one of its index.
    Unmodified,
    /// Git does not know the file in this form.
    Other,
    /// A git command is at work.
    Locked,
}

/// Compares a file with the entry for it in the index of its repository. Blocks.
pub fn index_state(file: &Path) -> IndexState {
    let found = file.parent().and_then(|folder| search_upwards(folder, named_repository));
    let Some((top, repository)) = found else { return IndexState::Other };
    let index = repository.own.join("index");
    if index.with_extension("lock").exists() {
        return IndexState::Locked;
    }
    let inside = file.strip_prefix(top).ok().map(|inside| inside.as_os_str().as_encoded_bytes());
    let (Some(inside), Ok(data)) = (inside, std::fs::symlink_metadata(file)) else {
        return IndexState::Other;
    };
    match entry_of(&index, inside) {
        Ok(Some(entry)) if entry.is_of(&data) => IndexState::Unmodified,
        Ok(_) => IndexState::Other,
        Err(error) => {
            tracing::debug!("the index {} was not read: {error}", index.display());
            IndexState::Other
        }
    }
}

/// Modification time and size of a file when git last saw it.
struct IndexEntry {
    seconds: u32,
    nanoseconds: u32,
    size: u32,
}

impl IndexEntry {
    fn is_of(&self, data: &Metadata) -> bool {
        let low = |number: u64| (number & u64::from(u32::MAX)) as u32;
        let is_same_second = low(data.mtime() as u64) == self.seconds;
        let is_same_moment =
            self.nanoseconds == 0 || data.mtime_nsec() == i64::from(self.nanoseconds);
        data.is_file() && is_same_second && is_same_moment && low(data.len()) == self.size
    }
}

/// Finds the entry of a path in an index. `None`: no entry, or one of a conflict.
fn entry_of(index: &Path, wanted: &[u8]) -> io::Result<Option<IndexEntry>> {
    let file = File::open(index)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut input = BufReader::new(file);
    let mut header = [0; 12];
    input.read_exact(&mut header)?;
    let (version, count) = (number(&header, 4), number(&header, 8));
    if &header[..4] != b"DIRC" || !(2..=4).contains(&version) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut name = Vec::new();
    for _ in 0..count {
        let (entry, is_staged) = read_entry(&mut input, version, &mut name)?;
        if name == wanted {
            return Ok(is_staged.then_some(entry));
        }
        if name.as_slice() > wanted {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Reads an entry, and its name in the place of the one before. False: it is of a conflict.
fn read_entry(
    input: &mut impl BufRead,
    version: u32,
    name: &mut Vec<u8>,
) -> io::Result<(IndexEntry, bool)> {
    const STATS: usize = 40;
    const HASH: usize = 20;
    const LONGEST_NAME: u64 = 4096;
    let mut fixed = [0; STATS + HASH + 2];
    input.read_exact(&mut fixed)?;
    let flags = u16::from_be_bytes([fixed[STATS + HASH], fixed[STATS + HASH + 1]]);
    let mut length = fixed.len();
    if flags & 0x4000 != 0 {
        input.read_exact(&mut [0; 2])?;
        length += 2;
    }
    if version == 4 {
        let kept = name.len().checked_sub(removed(input)?);
        name.truncate(kept.ok_or(io::ErrorKind::InvalidData)?);
    } else {
        name.clear();
    }
    let before = name.len();
    input.take(LONGEST_NAME).read_until(0, name)?;
    if name.pop() != Some(0) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if version < 4 {
        // Padded with NULs to a multiple of eight bytes; one of them is read.
        let padding = 7 - (length + name.len() - before) % 8;
        input.read_exact(&mut [0; 7][..padding])?;
    }
    let entry = IndexEntry {
        seconds: number(&fixed, 8),
        nanoseconds: number(&fixed, 12),
        size: number(&fixed, 36),
    };
    Ok((entry, flags & 0x3000 == 0))
}

/// Number of bytes that are removed from the end of the name before: a variable width number of Git's
/// packs ("offset encoding").
fn removed(input: &mut impl Read) -> io::Result<usize> {
    let mut byte = [0];
    input.read_exact(&mut byte)?;
    let mut value = usize::from(byte[0] & 0x7f);
    while byte[0] & 0x80 != 0 {
        input.read_exact(&mut byte)?;
        let next = value.checked_add(1).and_then(|value| value.checked_mul(128));
        value = next.ok_or(io::ErrorKind::InvalidData)? + usize::from(byte[0] & 0x7f);
    }
    Ok(value)
}

/// Number of four bytes at an offset that is in the bytes.
fn number(bytes: &[u8], at: usize) -> u32 {
    let at = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    at.map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        #[expect(clippy::disallowed_methods, reason = "a test is not the daemon")]
        let run = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
        assert!(run.status.success(), "{arguments:?}: {run:?}");
    }

    #[test]
    fn the_index_knows_what_git_wrote() {
        for version in ["2", "3", "4"] {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            let at = |name: &str| top.join(name);
            fs::create_dir_all(at("deep/er")).unwrap();
            let names = ["a", "deep/er/some name", "deep/er/some", "deep/z", "z"];
            for name in names {
                fs::write(at(name), name).unwrap();
            }
            git(&top, &["init", "-q"]);
            git(&top, &["add", "."]);
            git(&top, &["update-index", "--index-version", version]);
            if version == "3" {
                git(&top, &["update-index", "--skip-worktree", "a"]);
            }
            fs::write(at("new"), "new").unwrap();
            fs::write(at("deep/z"), "other").unwrap();
            let states =
                names.into_iter().chain(["new", "gone"]).map(|name| (name, index_state(&at(name))));
            for (name, state) in states {
                let is_other = ["deep/z", "new", "gone"].contains(&name);
                let expected = if is_other { IndexState::Other } else { IndexState::Unmodified };
                assert_eq!(state, expected, "{name} in version {version}");
            }
            fs::write(at(".git/index.lock"), "").unwrap();
            assert_eq!(index_state(&at("a")), IndexState::Locked);
        }
    }

    #[test]
    fn a_malformed_index_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::write(top.join("a"), "a").unwrap();
        git(&top, &["init", "-q"]);
        git(&top, &["add", "."]);
        let index = top.join(".git/index");
        let whole = fs::read(&index).unwrap();
        for end in 0..whole.len() - 20 {
            fs::write(&index, &whole[..end]).unwrap();
            // Any answer, but no panic; the entry is whole at the end.
            let state = index_state(&top.join("a"));
            assert!(state == IndexState::Other || end >= 12 + 64, "{end}");
        }
        for at in 12..whole.len() {
            let mut broken = whole.clone();
            broken[at] = 0xff;
            fs::write(&index, broken).unwrap();
            let _ = index_state(&top.join("a"));
        }
    }
}
