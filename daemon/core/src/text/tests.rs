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
fn bytes_that_are_not_text_are_refused_with_the_reason() {
    let check = |bytes: &[u8], expect: &str| {
        let message = decode(bytes).map(|_| ()).map_err(|error| error.to_string());
        assert!(message.as_ref().is_err_and(|message| message.starts_with(expect)), "{message:?}");
    };
    check(b"ab\0c", "the file is binary: it has a NUL byte at offset 2");
    // UTF-16 with half a character, half a pair, and a lone NUL.
    check(b"\xFF\xFEa\0b", "the file begins as UTF-16");
    check(b"\xFE\xFF\xd8\x3d", "the file begins as UTF-16");
    check(b"\xFF\xFEa\0\0\0", "the file is binary");
    // UTF-32, numbers of two bytes, and a picture.
    check(b"\xFF\xFE\0\0a\0\0\0", "the file is binary");
    check(b"\x01\0\x02\0\x20\0\x03\0", "the file is binary");
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0", "the file is binary");
    check(b"caf\xe9", "the file is not valid UTF-8 at byte offset 3");
    check(b"na\xefve caf\xe9 \xe0 la carte\n", "the file is not valid UTF-8");
}

#[test]
fn a_byte_order_mark_is_kept_beside_the_text() {
    let bytes = b"\xEF\xBB\xBFa\r\n";
    let decoded = decode(bytes).unwrap();
    assert_eq!(decoded.text, Text::new("a\r\n"));
    assert!(decoded.encoding.has_bom() && decoded.encoding.is_utf8());
    assert_eq!(encode(&decoded.text, decoded.encoding).unwrap(), bytes);
    assert_eq!(encode(&decoded.text, FileEncoding::UTF_8).unwrap(), b"a\r\n");
}

const CHINESE: &str =
    "// 计算购物车的总价\r\nfunction total(cart) {\n  return 0; // 暂时返回零，以后再改\n}\n";
const TAIWANESE: &str =
    "# 計算購物車的總價\ndef total(cart):\n    return 0  # 暫時傳回零，以後再改\n";
const JAPANESE: &str = "# カートの合計を計算する\ndef total(cart):\n    return 0  # あとで直す。\n";
const KOREAN: &str =
    "# 장바구니의 합계를 계산합니다\ndef total(cart):\n    return 0  # 나중에 고칩니다\n";

fn file(label: &str, bom: bool, text: &str) -> Vec<u8> {
    encode(&Text::new(text), FileEncoding::of_label(label, bom).unwrap()).unwrap()
}

#[test]
fn encodings_are_detected_from_bytes() {
    let rare = "一个少见的字：𠮷，还有 😀 和其他的汉字。\n";
    for (label, bom, text) in [
        ("gbk", false, CHINESE),
        ("gbk", false, "价格：€\n这是一个测试文件\n"),
        ("gb18030", false, rare),
        ("big5", false, TAIWANESE),
        ("shift_jis", false, JAPANESE),
        ("euc-jp", false, JAPANESE),
        ("euc-kr", false, KOREAN),
        ("utf-16le", true, CHINESE),
        ("utf-16be", true, rare),
        ("utf-16le", false, CHINESE),
        ("utf-16be", false, JAPANESE),
        ("utf-8", true, KOREAN),
        ("utf-8", false, rare),
    ] {
        let bytes = file(label, bom, text);
        let decoded = decode(&bytes).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(decoded.encoding.label(), label, "{text}");
        assert_eq!((decoded.text.to_string().as_str(), decoded.encoding.has_bom()), (text, bom));
        assert_eq!(encode(&decoded.text, decoded.encoding).unwrap(), bytes, "{label}");
    }
}

#[test]
fn characters_that_an_encoding_lacks_are_named() {
    for (label, text, character) in [
        ("gbk", "价格 😀", '😀'),
        ("big5", "計算 简体", '简'),
        ("shift_jis", "円 €", '€'),
        // It has a byte for it, which means a backslash.
        ("shift_jis", "円 ¥", '¥'),
        ("euc-kr", "값 😀", '😀'),
    ] {
        let encoding = FileEncoding::of_label(label, false).unwrap();
        let error = encode(&Text::new(text), encoding).unwrap_err();
        assert_eq!(error.character, character, "{label}");
        let number = format!("`{character}` (U+{:04X})", u32::from(character));
        assert!(error.to_string().contains(&number), "{error}");
    }
    for label in ["gb18030", "utf-16le", "utf-16be", "utf-8"] {
        let encoding = FileEncoding::of_label(label, false).unwrap();
        assert!(encode(&Text::new("😀 ¥ € 简"), encoding).is_ok(), "{label}");
    }
}

#[test]
fn the_dominant_line_ending_wins() {
    let check = |text: &str, expect| assert_eq!(line_ending(&Text::new(text)), expect, "{text:?}");
    check("", "\n");
    check("a\r\nb\r\nc\n", "\r\n");
    check("a\r\nb\n", "\n");
    check("a\rb", "\n");
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
    fn any_position_and_bytes_are_handled_without_a_panic(text in "[ab😀\r\n]{0,20}", a: usize, b: usize, line: u32, character: u32) {
        let mut text = Text::new(&text);
        let _ = (text.char_of(at(line, character)), text.position_of(a), text.char_to_line(a));
        let _ = (text.slice(a..b), text.lines_slice(a..b), text.line_to_char(a));
        text.replace(a..b, "x");
    }

    #[test]
    fn decoding_and_encoding_again_gives_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..20), bom: bool) {
        let mut file = if bom { vec![0xEF, 0xBB, 0xBF] } else { vec![] };
        file.extend(bytes);
        if let Ok(decoded) = decode(&file) {
            prop_assert_eq!(encode(&decoded.text, decoded.encoding).unwrap(), file);
        }
    }

    #[test]
    fn bytes_outside_an_edit_stay(
        which in 0_usize..9,
        noise in prop::collection::vec(any::<u8>(), 0..30),
        at in 0_usize..40,
        insert in "[a-z\\n]{0,5}",
    ) {
        let (label, text) = [
            ("gbk", CHINESE),
            ("gb18030", CHINESE),
            ("big5", TAIWANESE),
            ("shift_jis", JAPANESE),
            ("euc-kr", KOREAN),
            ("euc-jp", JAPANESE),
            ("utf-16le", CHINESE),
            ("utf-16be", JAPANESE),
            ("utf-8", KOREAN),
        ][which];
        let mut bytes = file(label, false, text);
        bytes.extend(noise);
        let Ok(before) = decode(&bytes) else { return Ok(()) };
        let mut after = before.text.clone();
        after.replace(at..at, &insert);
        let at = at.min(before.text.len_chars());
        let piece = |text: String| encode(&Text::new(&text), before.encoding).unwrap();
        let after = encode(&after, before.encoding).unwrap();
        let start = piece(before.text.slice(0..at));
        prop_assert!(after.starts_with(&start) && bytes.starts_with(&start));
        prop_assert_eq!(after.len() - piece(insert).len(), bytes.len());
        prop_assert!(after.ends_with(&bytes[start.len()..]));
    }
}
