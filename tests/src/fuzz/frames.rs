//! The frame guard: bytes of an editor to message bodies.

use cairn::lsp::frame::{FrameError, Framed, Frames, MAX_BODY};

use super::bytes::{Bytes, pieces};

pub(super) fn run(input: &[u8]) {
    let mut choices = Bytes::new(input);
    let seed = u32::from(choices.byte());
    let bytes = choices.rest();

    let whole = read([bytes]);
    assert_eq!(read(pieces(seed, bytes)), whole, "the pieces must not matter");
    assert_eq!(read(bytes.chunks(1)), whole, "the pieces must not matter");

    let ended = |framed: &Framed| *framed == Framed::Error(FrameError::Header);
    if let Some(end) = whole.iter().position(ended) {
        assert_eq!(end + 1, whole.len(), "nothing comes after the end: {whole:?}");
    }
}

/// Reads as the transport does.
fn read<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<Framed> {
    let mut frames = Frames::default();
    let mut seen = Vec::new();
    for piece in pieces {
        frames.feed(piece);
        while let Some(framed) = frames.next() {
            if let Framed::Body(body) = &framed {
                assert!(body.len() <= MAX_BODY, "a body of {} bytes", body.len());
            }
            seen.push(framed);
        }
    }
    seen
}
