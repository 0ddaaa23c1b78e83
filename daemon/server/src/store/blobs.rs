//! Texts by the hash of their contents, so that a record names a text instead of repeating it.
//!
//! ```text
//! <folder>/ab/cdef…        the text whose SHA-256 is abcdef…
//!             cdef….bad    a file that was found there with another text
//!             .new-…       a file that is being written, or was when its writer died
//! ```
//!
//! A text is put in place whole, by a rename. Functions of this file block.
//!
//! Never returns a text that does not match the requested hash, and never makes a path of anything
//! but sixty-four hexadecimal digits.

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use cairn_core::text::Text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::files::{self, create_folder, private, sync_folder};

const TEMPORARY: &str = ".new-";
const BAD: &str = ".bad";
const DIGITS: usize = 64;
const FAN: usize = 2;
/// Largest text in bytes, far above the size of reviewed files.
const MAX_TEXT: usize = 64 * 1024 * 1024;

/// Texts by their hash, one file each. The folder is created with the first text.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
}

/// A SHA-256 in sixty-four lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Sha256Hex(String);

impl Blobs {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The text is on the disk when this returns.
    pub fn put(&self, text: &Text) -> io::Result<Sha256Hex> {
        let length = text.len_bytes();
        if length > MAX_TEXT {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the text is too long to keep"));
        }
        let hash = Sha256Hex::of_pieces(text.chunks().map(str::as_bytes));
        let (folder, path) = self.place(&hash);
        if let Ok(found) = path.symlink_metadata()
            && found.is_file()
            && found.len() == length as u64
        {
            // Young again, or it could be collected before anybody names it. When that cannot be
            // done, nothing can be removed there either.
            let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
            return Ok(hash);
        }
        let is_new = !folder.exists();
        create_folder(&folder)?;
        // Made 0600.
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&folder)?;
        let mut to = BufWriter::new(&mut file);
        text.chunks().try_for_each(|chunk| to.write_all(chunk.as_bytes()))?;
        to.flush()?;
        drop(to);
        file.as_file().sync_all()?;
        file.persist(&path)?;
        sync_folder(&folder)?;
        if is_new {
            sync_folder(&self.folder)?;
        }
        Ok(hash)
    }

    /// Reads a text. `None`: the file is missing, or has another text and was moved aside.
    pub fn get(&self, hash: &Sha256Hex) -> io::Result<Option<Vec<u8>>> {
        let (_, path) = self.place(hash);
        let Some(text) = read(&path)? else { return Ok(None) };
        if Sha256Hex::of(&text) == *hash {
            return Ok(Some(text));
        }
        let mut aside = path.clone().into_os_string();
        aside.push(BAD);
        // Where that cannot be done, it is found to be bad again.
        let _ = fs::rename(&path, aside);
        Ok(None)
    }

    /// Removes texts that are not listed, and temporary files of dead writers, unless younger than
    /// `age`: a new text may not be named in a record yet.
    pub fn retain(
        &self,
        age: Duration,
        mut keep: impl FnMut(&Sha256Hex) -> bool,
    ) -> io::Result<()> {
        for folder in entries(&self.folder)? {
            let folder = folder?;
            if !folder.file_type()?.is_dir() {
                continue;
            }
            let first = folder.file_name();
            let Some(first) = first.to_str().filter(|name| name.len() == FAN) else { continue };
            for entry in entries(&folder.path())? {
                let entry = entry?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                let unwanted = name.starts_with(TEMPORARY)
                    || Sha256Hex::try_from(format!("{first}{name}")).is_ok_and(|hash| !keep(&hash));
                // Another process may have removed it already.
                let Some(found) = present(entry.path().symlink_metadata())? else { continue };
                // One of the future is young.
                let old = found.modified()?.elapsed().is_ok_and(|passed| passed >= age);
                if unwanted && old {
                    present(fs::remove_file(entry.path()))?;
                }
            }
        }
        Ok(())
    }

    fn place(&self, hash: &Sha256Hex) -> (PathBuf, PathBuf) {
        let (first, rest) = hash.0.split_at(FAN);
        let folder = self.folder.join(first);
        let path = folder.join(rest);
        (folder, path)
    }
}

impl Sha256Hex {
    pub fn of(text: &[u8]) -> Self {
        Self::of_pieces(std::iter::once(text))
    }

    fn of_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Self {
        let hash = pieces.fold(Sha256::new(), |hash, piece| hash.chain_update(piece));
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Sha256Hex {
    type Error = &'static str;

    fn try_from(digits: String) -> Result<Self, &'static str> {
        let hexadecimal = |digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        let is_one = digits.len() == DIGITS && digits.bytes().all(hexadecimal);
        let fault = "is not the SHA-256 of a text in lower-case hexadecimal digits";
        is_one.then_some(Self(digits)).ok_or(fault)
    }
}

/// Follows no link, waits for no pipe. More than a text can be is enough to see that it is none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let opened = files::open(path, private().read(true));
    let Some(file) = present(opened)? else { return Ok(None) };
    let mut text = Vec::new();
    file.take(MAX_TEXT as u64 + 1).read_to_end(&mut text)?;
    Ok(Some(text))
}

fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    Ok(present(fs::read_dir(folder))?.into_iter().flatten())
}

fn present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests;
