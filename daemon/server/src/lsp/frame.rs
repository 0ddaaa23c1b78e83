//! Bytes to message bodies: the `Content-Length` framing of LSP, read leniently.
//!
//! Pure and incremental: bytes may come in any pieces. It must never wait for bytes that an
//! unbelievable header announces, hold more than one body, or give up because of one bad frame.

use bytes::{Buf, BytesMut};

/// A header block never needs more.
pub const MAX_HEADER: usize = 8 * 1024;
/// The largest body that is read.
pub const MAX_BODY: usize = 64 * 1024 * 1024;

/// How much is read of a header block and of a body.
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
    /// A larger announcement is noise: skipping so much would be deafness.
    fn skip(self) -> u64 {
        4 * self.body as u64
    }

    /// Garbage that is passed over in search of the next header: at most a body that lost its
    /// header.
    fn garbage(self) -> usize {
        self.body
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    Body(BytesMut),
    Fault(Fault),
}

/// What was wrong on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("a line that is no header: frames begin with Content-Length")]
    Garbage,
    #[error("a header block without Content-Length")]
    NoLength,
    #[error("Content-Length is not a number")]
    BadLength,
    #[error("a message of {length} bytes was skipped: the limit is {MAX_BODY}")]
    BodyTooLarge { length: u64 },
    #[error("a header of more than {MAX_HEADER} bytes")]
    HeaderTooLong,
    #[error("an announced length nobody would wait for")]
    AbsurdLength,
    #[error("no header in {MAX_BODY} bytes")]
    Lost,
}

impl Fault {
    /// There is no next frame to be found after this.
    pub fn is_fatal(&self) -> bool {
        match self {
            Fault::Garbage | Fault::NoLength | Fault::BadLength | Fault::BodyTooLarge { .. } => {
                false
            }
            Fault::HeaderTooLong | Fault::AbsurdLength | Fault::Lost => true,
        }
    }
}

#[derive(Debug, Default)]
pub struct Frames {
    limits: Limits,
    buffer: BytesMut,
    state: State,
    /// Bytes before here hold no line end.
    scanned: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a header block; `seen` counts its bytes.
    Header {
        length: Option<u64>,
        seen: usize,
    },
    Body {
        length: usize,
    },
    /// Passing over a body that is too large.
    Skip {
        left: u64,
    },
    /// Looking for the next header after a fault that was reported.
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

    /// Bytes that are kept until more come.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        if self.state != State::Dead {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next body or fault; `None` until more bytes come.
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
                        Fault::BodyTooLarge { length } => State::Skip { left: length },
                        _ if fault.is_fatal() => State::Dead,
                        _ => State::Resync { passed: 0 },
                    };
                    return Some(Framed::Fault(fault));
                }
            }
        }
    }

    /// The body just yielded was no JSON, so its length may have been wrong. If it swallowed the
    /// header of another frame, reading goes on there; what is left of it is passed over.
    pub fn distrust(&mut self, mut body: BytesMut) {
        if let Some(at) = swallowed_header(&body, self.limits) {
            self.unread(body.split_off(at));
        }
        self.state = State::Resync { passed: 0 };
    }

    fn header_line(&mut self, length: Option<u64>, seen: usize) -> Option<Step> {
        let Some(line) = self.line() else {
            let too_long = seen + self.buffer.len() > self.limits.header;
            return too_long.then_some(Step::Fail(Fault::HeaderTooLong));
        };
        let seen = seen + line.len();
        if seen > self.limits.header {
            return Some(Step::Fail(Fault::HeaderTooLong));
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return Some(match length {
                Some(length) => body_of(length, self.limits),
                // Blank lines between frames are harmless.
                None if seen == line.len() => Step::Go(State::default()),
                None => Step::Fail(Fault::NoLength),
            });
        }
        Some(match parse_header(text) {
            Header::Length(length) => Step::Go(State::Header { length: Some(length), seen }),
            Header::Other => Step::Go(State::Header { length, seen }),
            Header::BadLength => Step::Fail(Fault::BadLength),
            Header::None => {
                // Garbage may end where the next header begins, on the same line.
                self.unread_header(line);
                Step::Fail(Fault::Garbage)
            }
        })
    }

    fn resync_line(&mut self, passed: usize) -> Option<Step> {
        let Some(line) = self.line() else {
            // Keep a tail that could be the beginning of a header.
            let cut = self.buffer.len().saturating_sub(self.limits.header);
            self.buffer.advance(cut);
            self.scanned = self.buffer.len();
            self.state = State::Resync { passed: passed + cut };
            return (passed + cut > self.limits.garbage()).then_some(Step::Fail(Fault::Lost));
        };
        // What would have been cut off, had the line come in pieces.
        if passed + (line.len() - 1).saturating_sub(self.limits.header) > self.limits.garbage() {
            return Some(Step::Fail(Fault::Lost));
        }
        let passed = passed + line.len();
        if self.unread_header(line) {
            return Some(Step::Go(State::default()));
        }
        Some(match passed > self.limits.garbage() {
            true => Step::Fail(Fault::Lost),
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

    /// Puts a header back that follows garbage on the same line.
    fn unread_header(&mut self, mut line: BytesMut) -> bool {
        let Some(at) = find_header(&line, self.limits) else { return false };
        self.unread(line.split_off(at));
        true
    }

    /// Puts back what was taken last. It lies before the rest, so nothing is copied: a body may be
    /// full of headers.
    fn unread(&mut self, mut taken: BytesMut) {
        taken.unsplit(std::mem::take(&mut self.buffer));
        self.buffer = taken;
        self.scanned = 0;
    }
}

enum Step {
    Go(State),
    Yield(State, Framed),
    Fail(Fault),
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
        _ if length <= limits.skip() => Step::Fail(Fault::BodyTooLarge { length }),
        _ => Step::Fail(Fault::AbsurdLength),
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
    // More digits than a u64 holds are absurd, not malformed.
    Header::Length(value.parse().unwrap_or(u64::MAX))
}

/// Where the last usable `Content-Length` of a line begins.
fn find_header(line: &[u8], limits: Limits) -> Option<usize> {
    let at = line.windows(LENGTH.len()).rposition(|window| window.eq_ignore_ascii_case(LENGTH))?;
    let usable = line.len() - at <= limits.header
        && matches!(parse_header(line[at..].trim_ascii()), Header::Length(_));
    usable.then_some(at)
}

/// JSON strings hold no raw line ends, so a header line inside a body is another frame's.
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
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    /// Reads as the transport does; `!` marks the end of all reading.
    fn read<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<String> {
        let mut frames = Frames::default();
        let mut seen = Vec::new();
        for piece in pieces {
            frames.feed(piece);
            while let Some(framed) = frames.next() {
                seen.push(match framed {
                    Framed::Body(body) => {
                        let text = String::from_utf8_lossy(&body).into_owned();
                        if serde_json::from_slice::<serde_json::Value>(&body).is_err() {
                            frames.distrust(body);
                        }
                        text
                    }
                    Framed::Fault(fault) => {
                        let mark = if fault.is_fatal() { "!" } else { "-" };
                        format!("{mark} {fault}")
                    }
                });
            }
        }
        seen
    }

    fn check(input: &str, expect: Expect) {
        let whole = read([input.as_bytes()]);
        expect.assert_eq(&whole.join("\n"));
        let bytewise = read(input.as_bytes().chunks(1));
        assert_eq!(whole, bytewise, "the pieces must not matter");
    }

    fn frame(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn headers_are_read_leniently() {
        check(&(frame("[1]") + &frame("[2]")), expect!["[1]\n[2]"]);
        check("content-length:3\n\n[1]", expect!["[1]"]);
        check("CONTENT-LENGTH :  3  \r\nX-Other: y\r\n\r\n[1]", expect!["[1]"]);
        check("Content-Type: application/json\r\nContent-Length: 3\r\n\r\n[1]", expect!["[1]"]);
        check(&format!("{}\r\n\r\n{}", frame("[1]"), frame("[2]")), expect!["[1]\n[2]"]);
        check("Content-Length: 2\r\n\r\n", expect![""]);
        check(&(frame("[1]") + &frame("") + &frame("[2]")), expect!["[1]\n\n[2]"]);
    }

    #[test]
    fn one_fault_is_reported_and_the_next_frame_is_found() {
        let next = frame("[2]");
        check(
            &format!("hello\r\n{next}"),
            expect!["- a line that is no header: frames begin with Content-Length\n[2]"],
        );
        check(
            &format!("one\ntwo\r\n\r\nthree{next}"),
            expect!["- a line that is no header: frames begin with Content-Length\n[2]"],
        );
        check(
            &format!("{{\"a\":1}}{next}"),
            expect!["- a line that is no header: frames begin with Content-Length\n[2]"],
        );
        check(
            &format!("Content-Type: x\r\n\r\n[1]{next}"),
            expect!["- a header block without Content-Length\n[2]"],
        );
        for bad in ["-3", "abc", "", "3.0", "0x3"] {
            check(
                &format!("Content-Length: {bad}\r\n\r\n[1]{next}"),
                expect!["- Content-Length is not a number\n[2]"],
            );
        }
    }

    #[test]
    fn a_wrong_length_costs_one_message_only() {
        let next = frame("[2]");
        check(&format!("Content-Length: 2\r\n\r\n[1, 1]{next}"), expect!["[1\n[2]"]);
        // Too long: the body swallows the next header, which is found inside it.
        check(
            &format!("Content-Length: 12\r\n\r\n[1]{next}{}", frame("[3]")),
            expect![[r#"
                [1]Content-L
                [3]"#]],
        );
        check(
            &format!("Content-Length: 26\r\n\r\n[1]{next}{}", frame("[3]")),
            expect!["[1]Content-Length: 3\r\n\r\n[2\n[2]\n[3]"],
        );
    }

    #[test]
    fn what_is_too_large_is_skipped_or_ends_it() {
        let huge = "x".repeat(MAX_BODY + 1);
        let seen = read([frame(&huge).as_bytes(), frame("[2]").as_bytes()]);
        expect![[r#"
            [
                "- a message of 67108865 bytes was skipped: the limit is 67108864",
                "[2]",
            ]
        "#]]
        .assert_debug_eq(&seen);
        check(
            "Content-Length: 99999999999\r\n\r\n[1]",
            expect!["! an announced length nobody would wait for"],
        );
        check(
            "Content-Length: 18446744073709551615\r\n\r\n[1]",
            expect!["! an announced length nobody would wait for"],
        );
        check(
            "Content-Length: 99999999999999999999999\r\n\r\n[1]",
            expect!["! an announced length nobody would wait for"],
        );
        check(&"x".repeat(MAX_HEADER + 1), expect!["! a header of more than 8192 bytes"]);
        check(&"X-Pad: y\r\n".repeat(1000), expect!["! a header of more than 8192 bytes"]);
    }

    #[test]
    fn garbage_is_passed_over_for_as_long_as_a_lost_body() {
        let mut frames = Frames::default();
        frames.feed(b"oops\n");
        assert_eq!(frames.next(), Some(Framed::Fault(Fault::Garbage)));
        let megabyte = vec![b'x'; 1 << 20];
        for _ in 0..MAX_BODY >> 20 {
            frames.feed(&megabyte);
            assert_eq!(frames.next(), None);
            assert!(frames.buffer.len() <= MAX_HEADER, "garbage must not be kept");
        }
        frames.feed(&megabyte);
        assert_eq!(frames.next(), Some(Framed::Fault(Fault::Lost)));
    }

    #[test]
    fn a_line_too_long_for_a_header_is_none_however_it_comes() {
        let long = format!("a\n[1]Content-Length: {}3\r\n{}", "0".repeat(MAX_HEADER), frame("[2]"));
        check(&long, expect!["- a line that is no header: frames begin with Content-Length\n[2]"]);
        let spaces = format!("a\n{}{}", " ".repeat(2 * MAX_HEADER), frame("[2]"));
        check(
            &spaces,
            expect!["- a line that is no header: frames begin with Content-Length\n[2]"],
        );
    }

    #[test]
    fn nothing_is_kept_after_the_end() {
        let mut frames = Frames::default();
        frames.feed(format!("Content-Length: 99999999999\r\n\r\n{}", "x".repeat(1000)).as_bytes());
        assert_eq!(frames.next(), Some(Framed::Fault(Fault::AbsurdLength)));
        frames.feed(b"more");
        assert_eq!((frames.next(), frames.held()), (None, 0));
    }

    #[test]
    fn a_body_full_of_headers_is_not_copied_for_each() {
        let inner = "{Content-Length: 1\n".repeat(200_000);
        let started = std::time::Instant::now();
        let seen = read([frame(&inner).as_bytes(), frame("[2]").as_bytes()]);
        assert_eq!(seen.last().map(String::as_str), Some("[2]"));
        // Copying would move hundreds of gigabytes.
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn pieces_do_not_matter(
            parts in prop::collection::vec(prop_oneof![
                "[a-z:\\r\\n ]{0,12}",
                Just("Content-Length: 3\r\n\r\n[1]".to_owned()),
                Just("content-length: 5\n\n[1]".to_owned()),
                Just("Content-Length: x\r\n".to_owned()),
            ], 0..8),
            cuts in prop::collection::vec(0..200_usize, 0..6),
        ) {
            let bytes = parts.concat().into_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
            prop_assert_eq!(read(pieces), read([&bytes[..]]));
        }

        #[test]
        fn good_frames_survive_any_splitting(
            bodies in prop::collection::vec("\"[^\"\\\\\\p{Cc}]{0,20}\"", 1..6),
            size in 1..40_usize,
        ) {
            let wire: String = bodies.iter().map(|body| frame(body)).collect();
            prop_assert_eq!(read(wire.as_bytes().chunks(size)), bodies);
        }
    }
}
