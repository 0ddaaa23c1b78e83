use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Reads as the transport does; `!` marks a fatal error.
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
                Framed::Error(fault) => {
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
        expect!["- a line that is not a header: frames begin with Content-Length\n[2]"],
    );
    check(
        &format!("one\ntwo\r\n\r\nthree{next}"),
        expect!["- a line that is not a header: frames begin with Content-Length\n[2]"],
    );
    check(
        &format!("{{\"a\":1}}{next}"),
        expect!["- a line that is not a header: frames begin with Content-Length\n[2]"],
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
    // Too long: the body contains the next header, which is found inside it.
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
fn a_body_that_is_too_large_is_skipped_or_ends_the_stream() {
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
        expect!["! the announced length is implausible"],
    );
    check(
        "Content-Length: 18446744073709551615\r\n\r\n[1]",
        expect!["! the announced length is implausible"],
    );
    check(
        "Content-Length: 99999999999999999999999\r\n\r\n[1]",
        expect!["! the announced length is implausible"],
    );
    check(&"x".repeat(MAX_HEADER + 1), expect!["! a header of more than 8192 bytes"]);
    check(&"X-Pad: y\r\n".repeat(1000), expect!["! a header of more than 8192 bytes"]);
}

#[test]
fn garbage_is_skipped_up_to_the_size_of_a_body() {
    let mut frames = Frames::default();
    frames.feed(b"oops\n");
    assert_eq!(frames.next(), Some(Framed::Error(FrameError::Garbage)));
    let megabyte = vec![b'x'; 1 << 20];
    for _ in 0..MAX_BODY >> 20 {
        frames.feed(&megabyte);
        assert_eq!(frames.next(), None);
        assert!(frames.buffer.len() <= MAX_HEADER, "garbage must not be kept");
    }
    frames.feed(&megabyte);
    assert_eq!(frames.next(), Some(Framed::Error(FrameError::Lost)));
}

#[test]
fn a_line_too_long_for_a_header_is_garbage_in_any_division() {
    let long = format!("a\n[1]Content-Length: {}3\r\n{}", "0".repeat(MAX_HEADER), frame("[2]"));
    check(&long, expect!["- a line that is not a header: frames begin with Content-Length\n[2]"]);
    let spaces = format!("a\n{}{}", " ".repeat(2 * MAX_HEADER), frame("[2]"));
    check(&spaces, expect!["- a line that is not a header: frames begin with Content-Length\n[2]"]);
}

#[test]
fn no_bytes_are_kept_after_the_end() {
    let mut frames = Frames::default();
    frames.feed(format!("Content-Length: 99999999999\r\n\r\n{}", "x".repeat(1000)).as_bytes());
    assert_eq!(frames.next(), Some(Framed::Error(FrameError::AbsurdLength)));
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
