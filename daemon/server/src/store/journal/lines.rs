//! The lines of a journal: writing one, telling a good one, reading them.
//!
//! Never holds more of a file than two lines, however long the file claims its lines to be.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, Write},
    ops::ControlFlow,
    os::unix::fs::FileExt,
};

use memchr::memchr;

const MAX_RECORD: usize = 32 * 1024 * 1024;
const CRC_DIGITS: usize = 8;
/// The digits of the largest number.
const MAX_SEQUENCE: usize = 20;
const MAX_LINE: usize = MAX_SEQUENCE + 1 + CRC_DIGITS + 1 + MAX_RECORD + 1;
const CHUNK: usize = 64 * 1024;

/// A good line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalRecord<'a> {
    pub sequence: u64,
    pub json: &'a [u8],
}

/// Result of a pass over the lines.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Number of valid records at the start of the file, and the offset where the last one ends.
    pub records: u64,
    pub end: u64,
    /// Content after them.
    pub rest: u64,
    pub lines_in_rest: u64,
    pub good_in_rest: bool,
}

pub(super) fn check(record: &[u8]) -> Result<(), &'static str> {
    if record.is_empty() {
        Err("an empty text is no record")
    } else if record.len() > MAX_RECORD {
        Err("a record of more than 32 MiB")
    } else if memchr(b'\n', record).is_some() {
        Err("a record has a line break in it")
    } else {
        Ok(())
    }
}

pub(super) fn encode(line: &mut Vec<u8>, sequence: u64, json: &[u8]) -> Result<(), &'static str> {
    check(json)?;
    let sequence = sequence.to_string();
    let crc = checksum(sequence.as_bytes(), json);
    line.reserve(sequence.len() + 1 + CRC_DIGITS + 1 + json.len() + 1);
    line.extend_from_slice(sequence.as_bytes());
    line.push(b' ');
    line.extend_from_slice(&crc);
    line.push(b' ');
    line.extend_from_slice(json);
    line.push(b'\n');
    Ok(())
}

/// Visits the good lines the file begins with, until `visit` has enough.
pub(super) fn scan(
    mut file: &File,
    mut visit: impl FnMut(JournalRecord<'_>) -> io::Result<ControlFlow<()>>,
) -> io::Result<Scan> {
    file.rewind()?;
    // Another process may append: the file could grow as fast as it is read.
    let length = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(CHUNK, file.take(length));
    let (mut scan, mut line) = (Scan::default(), Vec::new());
    loop {
        let length = read_line(&mut reader, &mut line)?;
        if length == 0 {
            return Ok(scan);
        }
        match parse(&line) {
            Some(record) if scan.rest == 0 && record.sequence == scan.records + 1 => {
                scan.records += 1;
                scan.end += length;
                if visit(record)?.is_break() {
                    return Ok(scan);
                }
            }
            other => {
                scan.rest += length;
                scan.lines_in_rest += 1;
                scan.good_in_rest |= other.is_some();
            }
        }
    }
}

/// The good lines in the last `bytes` of a file.
pub(super) fn tail(file: &File, bytes: u64, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(bytes);
    let mut end = vec![0; usize::try_from(length - start).unwrap_or_default()];
    file.read_exact_at(&mut end, start)?;
    // The first one is whole at the beginning of the file only; else it is the end of one, which
    // its checksum tells.
    for line in end.split_inclusive(|&byte| byte == b'\n') {
        if let Some(record) = parse(line) {
            visit(record.json);
        }
    }
    Ok(())
}

/// A line with its line break, if it is a good one.
fn parse(line: &[u8]) -> Option<JournalRecord<'_>> {
    let line = line.strip_suffix(b"\n")?;
    let space = memchr(b' ', line.get(..=MAX_SEQUENCE).unwrap_or(line))?;
    let (sequence, rest) = line.split_at_checked(space)?;
    let (crc, rest) = rest.get(1..)?.split_at_checked(CRC_DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    if json.is_empty() || crc != checksum(sequence, json) {
        return None;
    }
    let sequence = str::from_utf8(sequence).ok()?.parse().ok()?;
    Some(JournalRecord { sequence, json })
}

fn checksum(sequence: &[u8], json: &[u8]) -> [u8; CRC_DIGITS] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(sequence);
    hasher.update(b" ");
    hasher.update(json);
    let crc = hasher.finalize();
    std::array::from_fn(|digit| {
        let nibble = (crc >> (28 - 4 * digit)) & 0xf;
        b"0123456789abcdef"[nibble as usize]
    })
}

/// Reads the next line and returns its length, 0 at the end. If it is too long, `line` gets only its
/// beginning, without a line break.
pub(super) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut length = 0;
    loop {
        let chunk = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        let newline = memchr(b'\n', chunk);
        let taken = newline.map_or(chunk.len(), |at| at + 1);
        let room = MAX_LINE.saturating_sub(line.len());
        if taken <= room {
            line.write_all(&chunk[..taken])?;
        } else {
            // Full, and stays so: a good line ends in a line break.
            line.resize(MAX_LINE, 0);
        }
        let at_end = chunk.is_empty();
        reader.consume(taken);
        length += taken as u64;
        if newline.is_some() || at_end {
            return Ok(length);
        }
    }
}
