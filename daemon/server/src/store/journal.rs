//! Append-only file of records, one on each line, that survives a crash of its writer.
//!
//! ```text
//! 1 e630f43a {"session":"…"}
//! 2 9cdaf54e {"said":"…"}
//! │ │        └ JSON: no line break in it, at most 32 MiB
//! │ └ CRC-32 (IEEE) of the line without it, `2 {"said":"…"}`: eight lower-case hexadecimal digits
//! └ sequence number: 1 on the first line, one more on each line
//!
//! <name>          the records
//! <name>.lock     held by the process that writes; the system frees it when that process dies
//! <name>.torn-1   the bytes after the last good record when the file was opened
//! ```
//!
//! A line is good if it ends in a line break, its checksum is right and its number is the next one. Bytes
//! after the last good line are the half-written record of a writer that died: they are copied to
//! `<name>.torn-…` and cut off. If good lines follow a bad one, something else damaged the file: the lines
//! before the bad one are read, and the file is left unchanged for a person to inspect.
//!
//! Functions of this file block; [`Writer`] is for callers that must not wait.
//!
//! Never follows a link, never changes a file without its lock, never writes after bytes that are
//! not a whole record, never interprets a record: its version is the caller's concern.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Seek, SeekFrom, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use self::lines::Scan;
use super::files;

pub use self::{
    lines::JournalRecord,
    writer::{State, Writer},
};
use super::files::{appending, create_folder, is_removed, private, sync_folder};

mod lines;
mod writer;

/// Highest number of a `.torn-` file.
const MAX_TORN: u32 = 1_000;
/// Largest write buffer that is kept for later batches, in bytes.
const KEPT_BUFFER: usize = 1024 * 1024;

/// Journal open for writing. Dropping it releases the lock.
pub struct Journal {
    sink: Box<dyn Sink>,
    written: Mark,
    durable: Mark,
    /// True if bytes after `written` could not be truncated yet.
    torn: bool,
    buffer: Vec<u8>,
    _lock: Lock,
}

/// Result of opening a journal.
#[derive(Debug)]
pub struct Opened {
    pub journal: Result<Journal, ReadOnly>,
    pub recovery: Recovery,
}

/// Reasons for which nothing can be appended.
#[derive(Debug)]
pub enum ReadOnly {
    /// Another process writes it, most likely another window.
    Locked,
    /// Good records follow a bad one.
    Corrupt,
    /// The file cannot be written, or not repaired now.
    Refused(io::Error),
}

/// For callers that only report the reason.
impl From<ReadOnly> for io::Error {
    fn from(reason: ReadOnly) -> Self {
        match reason {
            ReadOnly::Locked => Self::new(ErrorKind::WouldBlock, "another window has it"),
            ReadOnly::Corrupt => Self::new(ErrorKind::InvalidData, "it is damaged"),
            ReadOnly::Refused(error) => error,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Number of records read.
    pub records: u64,
    /// Number of lines that were not read because good ones follow a bad one: that one and all behind it.
    pub lost: u64,
}

/// Position between two records.
#[derive(Debug, Clone, Copy)]
struct Mark {
    end: u64,
    next: u64,
}

/// Operations on the file that appending needs; tests replace it by a full disk.
trait Sink: Write + Send {
    fn cut(&mut self, length: u64) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

impl Sink for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Journal {
    /// Creates an empty journal. Fails if the file exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        let folder = folder_of(path)?;
        create_folder(folder)?;
        let lock = Lock::take(path)?
            .ok_or_else(|| io::Error::new(ErrorKind::WouldBlock, "another process writes it"))?;
        let file = appending().create_new(true).open(path)?;
        file.sync_all()?;
        sync_folder(folder)?;
        Ok(Self::at(file, Mark { end: 0, next: 1 }, lock))
    }

    /// Passes each valid record to `visit`, in order, and repairs the end of the file. An error of
    /// `visit` leaves the file as it is.
    pub fn open(
        path: &Path,
        mut visit: impl FnMut(JournalRecord<'_>) -> io::Result<()>,
    ) -> io::Result<Opened> {
        let (file, refused) = match files::open(path, &mut appending()) {
            Err(error) if is_refusal(&error) => (files::open(path, &mut options())?, Some(error)),
            file => (file?, None),
        };
        let lock = match refused {
            Some(error) => Err(ReadOnly::Refused(error)),
            None => match Lock::take(path) {
                Ok(Some(lock)) => Ok(lock),
                Ok(None) => Err(ReadOnly::Locked),
                Err(error) => Err(ReadOnly::Refused(error)),
            },
        };
        // It may have been removed between the two.
        if is_removed(&file)? {
            return Err(ErrorKind::NotFound.into());
        }
        let scan = lines::scan(&file, |record| visit(record).map(ControlFlow::Continue))?;
        let journal = lock.and_then(|lock| {
            if scan.good_in_rest {
                return Err(ReadOnly::Corrupt);
            }
            cut_off(path, &file, &scan).map_err(ReadOnly::Refused)?;
            Ok(Self::at(file, Mark::behind(&scan), lock))
        });
        Ok(Opened { journal, recovery: Recovery::of(&scan) })
    }

    /// Appends all of them with one write, or none: then they are still the caller's to keep.
    pub fn append(&mut self, records: &[impl AsRef<[u8]>]) -> io::Result<()> {
        if self.torn {
            self.sink.cut(self.written.end)?;
            self.torn = false;
        }
        let mut next = self.written.next;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER);
        for record in records {
            lines::encode(&mut self.buffer, next, record.as_ref())
                .map_err(|fault| io::Error::new(ErrorKind::InvalidInput, fault))?;
            next += 1;
        }
        if let Err(error) = self.sink.write_all(&self.buffer) {
            self.go_back(self.written);
            return Err(error);
        }
        self.written = Mark { end: self.written.end + self.buffer.len() as u64, next };
        Ok(())
    }

    /// Makes all appended records durable.
    ///
    /// If it fails, the records since the last success are removed, and the caller must append them
    /// again. A second sync of the same bytes would prove nothing, because the system drops pages
    /// that it could not write and then reports success.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Err(error) = self.sink.sync() {
            self.go_back(self.durable);
            return Err(error);
        }
        self.durable = self.written;
        Ok(())
    }

    fn at(file: File, mark: Mark, lock: Lock) -> Self {
        Self {
            sink: Box::new(file),
            written: mark,
            durable: mark,
            torn: false,
            buffer: Vec::new(),
            _lock: lock,
        }
    }

    fn go_back(&mut self, to: Mark) {
        self.written = to;
        self.torn = self.sink.cut(to.end).is_err();
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("written", &self.written).finish_non_exhaustive()
    }
}

impl Mark {
    fn behind(scan: &Scan) -> Self {
        Self { end: scan.end, next: scan.records + 1 }
    }
}

impl Recovery {
    fn of(scan: &Scan) -> Self {
        Self { records: scan.records, lost: if scan.good_in_rest { scan.lines_in_rest } else { 0 } }
    }
}

/// The good records in order, for as long as `visit` wants them. Takes no lock and changes nothing;
/// tells of no damage behind the place where `visit` stopped.
pub fn read(
    path: &Path,
    visit: impl FnMut(JournalRecord<'_>) -> io::Result<ControlFlow<()>>,
) -> io::Result<Recovery> {
    let file = files::open(path, &mut options())?;
    Ok(Recovery::of(&lines::scan(&file, visit)?))
}

/// Visits the good lines in the last `bytes` of the file, oldest first, without checking earlier ones.
pub fn tail(path: &Path, bytes: u64, visit: impl FnMut(&[u8])) -> io::Result<()> {
    lines::tail(&files::open(path, &mut options())?, bytes, visit)
}

/// Sets the time of the last write, for a write that is not treated as a use.
pub fn set_modified(path: &Path, time: SystemTime) -> io::Result<()> {
    files::open(path, &mut appending())?.set_modified(time)
}

/// True if a process, or this one, has the journal open for writing.
pub fn is_locked(path: &Path) -> bool {
    // A shared lock, so that two readers do not exclude each other; a writer tries again until then.
    files::open(&beside(path, ".lock"), &mut options())
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Removes a journal and the files next to it. `false`: it is open for writing.
pub fn remove(path: &Path) -> io::Result<bool> {
    files::open(path, &mut options())?;
    let Some(lock) = Lock::take(path)? else { return Ok(false) };
    fs::remove_file(path)?;
    for number in 1..=MAX_TORN {
        if fs::remove_file(beside(path, &format!(".torn-{number}"))).is_err() {
            break;
        }
    }
    // Removed while it is held: a process that finds the free lock must not find the journal.
    fs::remove_file(beside(path, ".lock"))?;
    drop(lock);
    sync_folder(folder_of(path)?)?;
    Ok(true)
}

/// Moves a journal and its torn ends into a folder. `false`: it is open for writing.
pub fn move_into(path: &Path, folder: &Path) -> io::Result<bool> {
    files::open(path, &mut options())?;
    let Some(lock) = Lock::take(path)? else { return Ok(false) };
    create_folder(folder)?;
    let to = folder.join(path.file_name().unwrap_or_default());
    move_all(path, &to)?;
    // As in `remove`.
    fs::remove_file(beside(path, ".lock"))?;
    drop(lock);
    Ok(true)
}

/// Moves a journal and its torn ends from a folder to their place. Fails if the place has a journal.
pub fn move_out_of(folder: &Path, path: &Path) -> io::Result<()> {
    let from = folder.join(path.file_name().unwrap_or_default());
    files::open(&from, &mut options())?;
    create_folder(folder_of(path)?)?;
    let lock = Lock::take(path)?.ok_or(ErrorKind::AlreadyExists)?;
    if fs::exists(path)? {
        return Err(ErrorKind::AlreadyExists.into());
    }
    move_all(&from, path)?;
    drop(lock);
    Ok(())
}

/// Moves the journal first: the other files mean nothing without it.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    for number in 1..=MAX_TORN {
        let torn = format!(".torn-{number}");
        if fs::rename(beside(from, &torn), beside(to, &torn)).is_err() {
            break;
        }
    }
    sync_folder(folder_of(to)?)?;
    sync_folder(folder_of(from)?)
}

/// Lock of a journal that is open for writing.
struct Lock(File);

/// Longest wait for a lock: a reader holds it for a moment, and a child of a daemon that was killed
/// between fork and exec holds it until its exec.
const LOCK_WAIT: Duration = Duration::from_millis(300);

impl Lock {
    /// `None`: another one has it.
    fn take(path: &Path) -> io::Result<Option<Self>> {
        Ok(files::lock(&beside(path, ".lock"), LOCK_WAIT)?.map(Self))
    }
}

impl Drop for Lock {
    /// Unlocks explicitly: a child between fork and exec has the file open, too, so closing would not
    /// unlock it.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Copies the bytes behind the valid records to another file, then cuts them off.
fn cut_off(path: &Path, file: &File, scan: &Scan) -> io::Result<()> {
    if scan.rest == 0 {
        return Ok(());
    }
    let (saved, mut copy) = new_beside(path)?;
    let copied = (|| {
        let mut rest = file;
        rest.seek(SeekFrom::Start(scan.end))?;
        io::copy(&mut rest, &mut copy)?;
        copy.sync_all()?;
        sync_folder(folder_of(path)?)
    })();
    if let Err(error) = copied {
        // A full disk must not be filled further by each try.
        let _ = fs::remove_file(&saved);
        return Err(error);
    }
    file.set_len(scan.end)?;
    file.sync_all()
}

fn new_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    for number in 1..=MAX_TORN {
        let path = beside(path, &format!(".torn-{number}"));
        match options().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            file => return Ok((path, file?)),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "too many torn ends were saved"))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn folder_of(path: &Path) -> io::Result<&Path> {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "a journal needs a folder"))
}

fn options() -> OpenOptions {
    let mut options = private();
    options.read(true);
    options
}

/// True for errors after which the file may still be readable.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests;
