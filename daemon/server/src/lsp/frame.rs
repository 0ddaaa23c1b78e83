//! Parser of LSP's framing (`Content-Length` headers), from bytes to message bodies, read
//! leniently.
//!
//! Pure and incremental: bytes may arrive in pieces of any size. It does not wait for bytes that an
//! implausible header announces, holds at most one body, and continues after one malformed frame.

use bytes::{Buf, BytesMut};

/// Maximum size of a header block in bytes.
pub const MAX_HEADER: usize = 8 * 1024;
/// Maximum size of a body in bytes.
pub const MAX_BODY: usize = 64 * 1024 * 1024;

/// Limits for a header block and a body, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub header: usize,
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { header: MAX_HEADER, body: MAX_BODY }
    }
}

impl Limits {
    /// Maximum announced length that is skipped. A larger one cannot be trusted: skipping it would
    /// lose every later message.
    fn skip(self) -> u64 {
        4 * self.body as u64
    }

    /// Maximum bytes that are passed over in search of the next header: the size of a body without
    /// a header.
    fn garbage(self) -> usize {
        self.body
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    Body(BytesMut),
    Error(FrameError),
}

/// Malformed framing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a line that is not a header: frames begin with Content-Length")]
    Garbage,
    #[error("a header block without Content-Length")]
    NoLength,
    #[error("Content-Length is not a number")]
    BadLength,
    #[error("a message of {length} bytes was skipped: the limit is {MAX_BODY}")]
    BodyTooLarge { length: u64 },
    #[error("a header of more than {MAX_HEADER} bytes")]
    HeaderTooLong,
    #[error("the announced length is implausible")]
    AbsurdLength,
    #[error("no header in {MAX_BODY} bytes")]
    Lost,
}

impl FrameError {
    /// Returns true if no later frame can be found.
    pub fn is_fatal(&self) -> bool {
        match self {
            FrameError::Garbage
            | FrameError::NoLength
            | FrameError::BadLength
            | FrameError::BodyTooLarge { .. } => false,
            FrameError::HeaderTooLong | FrameError::AbsurdLength | FrameError::Lost => true,
        }
    }
}

#[derive(Debug, Default)]
pub struct Frames {
    limits: Limits,
    buffer: BytesMut,
    state: State,
    /// Bytes before this offset contain no line end.
    scanned: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Inside of a header block; `seen` counts its bytes.
    Header {
        length: Option<u64>,
        seen: usize,
    },
    Body {
        length: usize,
    },
    /// Skips a body that is too large.
    Skip {
        left: u64,
    },
    /// Searches the next header after a reported error.
    Resync {
        passed: usize,
    },
    Dead,
}

impl Default for State {
    fn default() -> Self {
        State::Header { length: None, seen: 0 }
    }
}

impl Frames {
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Number of buffered bytes.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        if self.state != State::Dead {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Returns the next body or error; `None` until more bytes arrive.
    #[expect(clippy::should_implement_trait, reason = "after a `None` more may come")]
    pub fn next(&mut self) -> Option<Framed> {
        loop {
            let step = match self.state {
                State::Header { length, seen } => self.header_line(length, seen)?,
                State::Resync { passed } => self.resync_line(passed)?,
                State::Skip { left } => {
                    let skipped = left.min(self.buffer.len() as u64);
                    self.buffer.advance(skipped as usize);
                    if skipped < left {
                        self.state = State::Skip { left: left - skipped };
                        return None;
                    }
                    Step::Go(State::default())
                }
                State::Body { length } => {
                    if self.buffer.len() < length {
                        return None;
                    }
                    let body = self.buffer.split_to(length);
                    if self.buffer.is_empty() {
                        // It would keep the memory of the body.
                        self.buffer = BytesMut::new();
                    }
                    Step::Yield(State::default(), Framed::Body(body))
                }
                State::Dead => return None,
            };
            match step {
                Step::Go(state) => self.state = state,
                Step::Yield(state, framed) => {
                    self.state = state;
                    return Some(framed);
                }
                Step::Fail(fault) => {
                    if fault.is_fatal() {
                        self.buffer = BytesMut::new();
                    }
                    self.state = match fault {
                        FrameError::BodyTooLarge { length } => State::Skip { left: length },
                        _ if fault.is_fatal() => State::Dead,
                        _ => State::Resync { passed: 0 },
                    };
                    return Some(Framed::Error(fault));
                }
            }
        }
    }

    /// Handles a yielded body that is not JSON, whose length may have been wrong. If it contains
    /// the header of another frame, reading continues there. Otherwise the rest is passed over.
    pub fn distrust(&mut self, mut body: BytesMut) {
        if let Some(at) = swallowed_header(&body, self.limits) {
            self.unread(body.split_off(at));
        }
        self.state = State::Resync { passed: 0 };
    }

    fn header_line(&mut self, length: Option<u64>, seen: usize) -> Option<Step> {
        let Some(line) = self.line() else {
            let too_long = seen + self.buffer.len() > self.limits.header;
            return too_long.then_some(Step::Fail(FrameError::HeaderTooLong));
        };
        let seen = seen + line.len();
        if seen > self.limits.header {
            return Some(Step::Fail(FrameError::HeaderTooLong));
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return Some(match length {
                Some(length) => body_of(length, self.limits),
                // Blank lines between frames are allowed.
                None if seen == line.len() => Step::Go(State::default()),
                None => Step::Fail(FrameError::NoLength),
            });
        }
        Some(match parse_header(text) {
            Header::Length(length) => Step::Go(State::Header { length: Some(length), seen }),
            Header::Other => Step::Go(State::Header { length, seen }),
            Header::BadLength => Step::Fail(FrameError::BadLength),
            Header::None => {
                // Garbage may end where the next header begins, on the same line.
                self.unread_header(line);
                Step::Fail(FrameError::Garbage)
            }
        })
    }

    fn resync_line(&mut self, passed: usize) -> Option<Step> {
        let Some(line) = self.line() else {
            // Keep the end, which may be the beginning of a header.
            let cut = self.buffer.len().saturating_sub(self.limits.header);
            self.buffer.advance(cut);
            self.scanned = self.buffer.len();
            self.state = State::Resync { passed: passed + cut };
            return (passed + cut > self.limits.garbage()).then_some(Step::Fail(FrameError::Lost));
        };
        // Count the bytes that would have been dropped if the line had arrived in pieces.
        if passed + (line.len() - 1).saturating_sub(self.limits.header) > self.limits.garbage() {
            return Some(Step::Fail(FrameError::Lost));
        }
        let passed = passed + line.len();
        if self.unread_header(line) {
            return Some(Step::Go(State::default()));
        }
        Some(match passed > self.limits.garbage() {
            true => Step::Fail(FrameError::Lost),
            false => Step::Go(State::Resync { passed }),
        })
    }

    /// Takes the next line with its terminator.
    fn line(&mut self) -> Option<BytesMut> {
        let from = self.scanned.min(self.buffer.len());
        let Some(end) = self.buffer[from..].iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.buffer.len();
            return None;
        };
        self.scanned = 0;
        Some(self.buffer.split_to(from + end + 1))
    }

    /// Returns a header to the buffer that follows garbage on the same line.
    fn unread_header(&mut self, mut line: BytesMut) -> bool {
        let Some(at) = find_header(&line, self.limits) else { return false };
        self.unread(line.split_off(at));
        true
    }

    /// Returns the last taken bytes to the buffer. They lie directly before it, so nothing is
    /// copied, even if a body contains many headers.
    fn unread(&mut self, mut taken: BytesMut) {
        taken.unsplit(std::mem::take(&mut self.buffer));
        self.buffer = taken;
        self.scanned = 0;
    }
}

enum Step {
    Go(State),
    Yield(State, Framed),
    Fail(FrameError),
}

enum Header {
    Length(u64),
    BadLength,
    Other,
    None,
}

const LENGTH: &[u8] = b"content-length";

fn body_of(length: u64, limits: Limits) -> Step {
    match usize::try_from(length) {
        Ok(length) if length <= limits.body => Step::Go(State::Body { length }),
        _ if length <= limits.skip() => Step::Fail(FrameError::BodyTooLarge { length }),
        _ => Step::Fail(FrameError::AbsurdLength),
    }
}

fn parse_header(line: &[u8]) -> Header {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return Header::None };
    let name = line[..colon].trim_ascii();
    if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
        return Header::None;
    }
    if !name.eq_ignore_ascii_case(LENGTH) {
        return Header::Other;
    }
    let value = line[colon + 1..].trim_ascii();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Header::BadLength;
    }
    let value = str::from_utf8(value).unwrap_or_default();
    // A number beyond u64 is well-formed, but too large.
    Header::Length(value.parse().unwrap_or(u64::MAX))
}

/// Finds the last usable `Content-Length` in a line.
fn find_header(line: &[u8], limits: Limits) -> Option<usize> {
    let at = line.windows(LENGTH.len()).rposition(|window| window.eq_ignore_ascii_case(LENGTH))?;
    let usable = line.len() - at <= limits.header
        && matches!(parse_header(line[at..].trim_ascii()), Header::Length(_));
    usable.then_some(at)
}

/// Finds the header of another frame inside a body. JSON strings contain no raw line ends, so a
/// header line cannot be part of the body.
fn swallowed_header(body: &[u8], limits: Limits) -> Option<usize> {
    let mut start = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        if line.ends_with(b"\n")
            && let Some(at) = find_header(line, limits)
        {
            return Some(start + at);
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests;
