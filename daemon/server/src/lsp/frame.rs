//! Parser of LSP's framing (`Content-Length` headers), from bytes to message bodies.
//!
//! Pure and incremental: bytes may arrive in pieces of any size. It holds at most one header and one
//! body.

use bytes::{Buf, BytesMut};
use httparse::{Header, Status};

/// Maximum size of a header block in bytes.
pub const MAX_HEADER: usize = 8 * 1024;
/// Maximum size of a body in bytes.
pub const MAX_BODY: usize = 64 * 1024 * 1024;
/// Maximum announced length that is skipped. A larger one is no length of a message.
const MAX_SKIP: u64 = 4 * MAX_BODY as u64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    Body(BytesMut),
    Error(FrameError),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a message of {length} bytes was skipped: the limit is {MAX_BODY}")]
    BodyTooLarge { length: u64 },
    /// No later frame can be found.
    #[error("this is no header: a frame begins with Content-Length, in at most {MAX_HEADER} bytes")]
    Header,
}

#[derive(Debug, Default)]
pub struct Frames {
    buffer: BytesMut,
    /// Length of the body that follows, once its header is read.
    body: Option<usize>,
    /// Bytes of a body that is too large.
    skip: u64,
    ended: bool,
}

impl Frames {
    pub fn feed(&mut self, bytes: &[u8]) {
        if !self.ended {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Returns the next body or error; `None` until more bytes arrive, and after
    /// [`FrameError::Header`].
    #[expect(clippy::should_implement_trait, reason = "after a `None` more may come")]
    pub fn next(&mut self) -> Option<Framed> {
        let skipped = self.buffer.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        self.buffer.advance(skipped);
        self.skip -= skipped as u64;
        if self.skip > 0 || self.ended {
            return None;
        }
        if self.body.is_none() {
            match self.header() {
                Ok(length) => self.body = Some(length?),
                Err(FrameError::BodyTooLarge { length }) => {
                    self.skip = length;
                    return Some(Framed::Error(FrameError::BodyTooLarge { length }));
                }
                Err(FrameError::Header) => {
                    (self.ended, self.buffer) = (true, BytesMut::new());
                    return Some(Framed::Error(FrameError::Header));
                }
            }
        }
        let length = self.body.take_if(|length| *length <= self.buffer.len())?;
        let body = self.buffer.split_to(length);
        if self.buffer.is_empty() {
            // It would keep the memory of the body.
            self.buffer = BytesMut::new();
        }
        Some(Framed::Body(body))
    }

    /// Takes a whole header. Returns the length of the body.
    fn header(&mut self) -> Result<Option<usize>, FrameError> {
        // Some clients send blank lines between frames.
        let blank = self.buffer.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.buffer.advance(blank);
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let seen = &self.buffer[..self.buffer.len().min(MAX_HEADER)];
        let (end, headers) = match httparse::parse_headers(seen, &mut headers) {
            Ok(Status::Complete(complete)) => complete,
            Ok(Status::Partial) if seen.len() < MAX_HEADER => return Ok(None),
            Ok(Status::Partial) | Err(_) => return Err(FrameError::Header),
        };
        let is_length = |header: &&Header<'_>| header.name.eq_ignore_ascii_case("content-length");
        let length = headers.iter().find(is_length).and_then(|it| str::from_utf8(it.value).ok());
        let length: u64 = length.and_then(|it| it.parse().ok()).ok_or(FrameError::Header)?;
        self.buffer.advance(end);
        match usize::try_from(length) {
            Ok(length) if length <= MAX_BODY => Ok(Some(length)),
            _ if length <= MAX_SKIP => Err(FrameError::BodyTooLarge { length }),
            _ => Err(FrameError::Header),
        }
    }
}

#[cfg(test)]
mod tests;
