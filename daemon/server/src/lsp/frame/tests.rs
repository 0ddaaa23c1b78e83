use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Reads as the transport does.
fn read<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<String> {
    let mut frames = Frames::default();
    let mut seen = Vec::new();
    for piece in pieces {
        frames.feed(piece);
        while let Some(framed) = frames.next() {
            seen.push(match framed {
                Framed::Body(body) => String::from_utf8_lossy(&body).into_owned(),
                Framed::Error(fault) => format!("- {fault}"),
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
    check("CONTENT-LENGTH:  3  \r\nX-Other: y\r\n\r\n[1]", expect!["[1]"]);
    check("Content-Type: application/json\r\nContent-Length: 3\r\n\r\n[1]", expect!["[1]"]);
    check(&format!("{}\r\n\r\n{}", frame("[1]"), frame("[2]")), expect!["[1]\n[2]"]);
    check("Content-Length: 2\r\n\r\n", expect![""]);
    check(&(frame("[1]") + &frame("") + &frame("[2]")), expect!["[1]\n\n[2]"]);
}

#[test]
fn what_is_no_header_ends_the_stream() {
    let (long, many) = ("x".repeat(MAX_HEADER + 1), "X-Pad: y\r\n".repeat(1000));
    for bad in [
        "hello\r\n",
        "{\"a\":1}\n",
        "Content-Type: x\r\n\r\n[1]",
        "Content-Length: -3\r\n\r\n[1]",
        "Content-Length: abc\r\n\r\n[1]",
        "Content-Length: \r\n\r\n[1]",
        "Content-Length: 3.0\r\n\r\n[1]",
        "Content-Length: 0x3\r\n\r\n[1]",
        "Content-Length: 99999999999\r\n\r\n[1]",
        "Content-Length: 18446744073709551615\r\n\r\n[1]",
        "Content-Length: 99999999999999999999999\r\n\r\n[1]",
        &long,
        &many,
    ] {
        check(
            &format!("{bad}{}", frame("[2]")),
            expect![
                "- this is no header: a frame begins with Content-Length, in at most 8192 bytes"
            ],
        );
    }
}

#[test]
fn a_body_that_is_too_large_is_skipped() {
    let huge = "x".repeat(MAX_BODY + 1);
    let seen = read([frame(&huge).as_bytes(), frame("[2]").as_bytes()]);
    expect![[r#"
        [
            "- a message of 67108865 bytes was skipped: the limit is 67108864",
            "[2]",
        ]
    "#]]
    .assert_debug_eq(&seen);
}

#[test]
fn no_bytes_are_kept_after_the_end() {
    let mut frames = Frames::default();
    frames.feed(format!("Content-Length: 99999999999\r\n\r\n{}", "x".repeat(1000)).as_bytes());
    assert_eq!(frames.next(), Some(Framed::Error(FrameError::Header)));
    frames.feed(b"more");
    assert_eq!((frames.next(), frames.buffer.len()), (None, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_division_of_a_stream_does_not_matter(
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
