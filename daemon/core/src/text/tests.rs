use proptest::prelude::*;

use super::*;

const SAMPLE: &str = "ab\r\nc😀d\re\n\n";

fn at(line: u32, character: u32) -> Position {
    Position { line, character }
}

#[test]
fn positions_clamp_as_lsp_says() {
    let check = |line, character, expect: usize| {
        assert_eq!(Text::new(SAMPLE).char_of(at(line, character)), expect, "{line}:{character}");
    };
    check(0, 0, 0);
    check(0, 2, 2);
    check(0, 3, 2); // never between \r and \n
    check(0, u32::MAX, 2);
    check(1, 1, 5);
    check(1, 2, 5); // inside the surrogate pair
    check(1, 3, 6);
    check(1, 9, 7);
    check(2, 0, 8); // a lone \r ends a line
    check(3, 5, 10);
    check(4, 0, 11);
    check(4, 7, 11);
    check(u32::MAX, u32::MAX, 11);
}

#[test]
fn lines_are_counted_for_editors_and_for_diffs() {
    let check = |text: &str, lines, filled| {
        let text = Text::new(text);
        assert_eq!((text.len_lines(), text.filled_lines()), (lines, filled), "{text:?}");
    };
    check("", 1, 0);
    check("a", 1, 1);
    check("a\n", 2, 1);
    check("\n", 2, 1);
    check("a\r\nb\rc\nd", 4, 4);
    check("a\u{2028}b\u{0b}c", 1, 1); // line separators of Unicode are none in LSP
}

#[test]
fn lines_slice_is_whole_lines() {
    let text = Text::new("a\r\nb\nc");
    assert_eq!(text.lines_slice(0..1), "a\r\n");
    assert_eq!(text.lines_slice(1..3), "b\nc");
    assert_eq!(text.lines_slice(3..9), "");
}

#[test]
fn bytes_that_are_not_text_say_why() {
    let check = |bytes: &[u8], expect: &str| {
        let message = decode(bytes).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(message, Err(expect.to_owned()));
    };
    check(b"ab\0c", "the file is binary: it has a NUL byte at offset 2");
    check(b"\xFF\xFEa\0", "the file is UTF-16; only UTF-8 is supported");
    check(b"\xFE\xFF\0a", "the file is UTF-16; only UTF-8 is supported");
    check(b"caf\xe9", "the file is not valid UTF-8 at byte offset 3");
}

#[test]
fn a_byte_order_mark_is_kept_beside_the_text() {
    let bytes = b"\xEF\xBB\xBFa\r\n";
    let decoded = decode(bytes).unwrap();
    assert_eq!(decoded, Decoded { text: Text::new("a\r\n"), bom: true });
    assert_eq!(encode(&decoded.text, decoded.bom), bytes);
    assert_eq!(encode(&decoded.text, false), b"a\r\n");
}

#[test]
fn the_dominant_line_ending_wins() {
    let check = |text: &str, expect| assert_eq!(line_ending(&Text::new(text)), expect, "{text:?}");
    check("", LineEnding::Lf);
    check("a\r\nb\r\nc\n", LineEnding::CrLf);
    check("a\r\nb\n", LineEnding::Lf);
    check("a\rb", LineEnding::Lf);
}

proptest! {
    #[test]
    fn position_and_offset_agree(text in "[ab😀\r\n]{0,40}", offset in 0_usize..50) {
        let text = Text::new(&text);
        let offset = offset.min(text.len_chars());
        let inside_crlf = offset > 0
            && text.char_at(offset - 1) == Some('\r')
            && text.char_at(offset) == Some('\n');
        let expect = if inside_crlf { offset - 1 } else { offset };
        prop_assert_eq!(text.char_of(text.position_of(offset)), expect);
    }

    #[test]
    fn nothing_from_outside_panics(text in "[ab😀\r\n]{0,20}", a: usize, b: usize, line: u32, character: u32) {
        let mut text = Text::new(&text);
        let _ = (text.char_of(at(line, character)), text.position_of(a), text.char_to_line(a));
        let _ = (text.slice(a..b), text.lines_slice(a..b), text.line_to_char(a));
        text.replace(a..b, "x");
    }

    #[test]
    fn decode_and_encode_are_opposites(bytes in prop::collection::vec(any::<u8>(), 0..20), bom: bool) {
        let mut file = if bom { vec![0xEF, 0xBB, 0xBF] } else { vec![] };
        file.extend(bytes);
        if let Ok(decoded) = decode(&file) {
            prop_assert_eq!(encode(&decoded.text, decoded.bom), file);
        }
    }
}
