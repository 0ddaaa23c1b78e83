//! The frame guard: bytes of an editor to message bodies.

use std::sync::LazyLock;

use cairn::lsp::frame::{Framed, Frames, Limits};

use super::bytes::{Bytes, pieces};

/// Small, so that small inputs reach them.
const LIMITS: Limits = Limits { header: 64, body: 256 };

/// Beyond all that a header can announce and have skipped.
const PATIENCE: usize = 120;

pub(super) fn run(input: &[u8]) {
    let mut choices = Bytes::new(input);
    let seed = u32::from(choices.byte());
    let bytes = choices.rest();

    let whole = read([bytes]);
    assert_eq!(read(pieces(seed, bytes)), whole, "the pieces must not matter");
    assert_eq!(read(bytes.chunks(1)), whole, "the pieces must not matter");

    let fatal = |framed: &Framed| matches!(framed, Framed::Error(fault) if fault.is_fatal());
    if let Some(end) = whole.iter().position(fatal) {
        assert_eq!(end + 1, whole.len(), "nothing comes after the end: {whole:?}");
        return;
    }
    // Whatever came, messages come through again.
    static GOOD: LazyLock<String> =
        LazyLock::new(|| (0..PATIENCE).map(|n| frame(&format!("[{n}]"))).collect());
    let read = read([bytes, GOOD.as_bytes()]);
    if !read.iter().any(fatal) {
        let last = Framed::Body(format!("[{}]", PATIENCE - 1).as_bytes().into());
        assert_eq!(read.last(), Some(&last), "deaf after {:?}", String::from_utf8_lossy(bytes));
        let faults = read.iter().filter(|framed| matches!(framed, Framed::Error(_))).count();
        assert!(faults <= bytes.len() / 2 + 3, "{faults} faults are noise");
    }
}

fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Reads as the transport does.
fn read<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<Framed> {
    let mut frames = Frames::with_limits(LIMITS);
    let mut seen = Vec::new();
    for piece in pieces {
        frames.feed(piece);
        while let Some(framed) = frames.next() {
            seen.push(framed.clone());
            if let Framed::Body(body) = framed {
                assert!(body.len() <= LIMITS.body, "a body of {} bytes", body.len());
                if serde_json::from_slice::<serde_json::Value>(&body).is_err() {
                    frames.distrust(body);
                }
            }
        }
        let most = LIMITS.header.max(LIMITS.body);
        assert!(frames.held() <= most, "{} bytes are held", frames.held());
    }
    seen
}
