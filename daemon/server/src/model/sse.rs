//! Incremental parser of server-sent events, as the HTML standard defines them. Chunks may end
//! anywhere.
//!
//! Holds at most one unfinished event. A line that is not UTF-8 and an event beyond the limit are
//! errors. An event without its closing empty line is dropped.

/// Event with data. Comments, `id` and `retry` are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field, empty when absent.
    pub name: String,
    /// The `data:` lines, joined by a line feed.
    pub data: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("a line is not UTF-8")]
    NotUtf8,
}

/// Largest event in bytes. It has room for a whole file in the arguments of a call.
pub const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct SseReader {
    limit: usize,
    /// Bytes of the unfinished line.
    line: Vec<u8>,
    name: String,
    data: String,
    /// True after a `data:` line. An empty one also makes an event.
    has_data: bool,
    /// True if the last byte was a carriage return, which a line feed may complete.
    after_cr: bool,
    at_start: bool,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseReader {
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            name: String::new(),
            data: String::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
        }
    }

    /// Appends the events that these bytes complete to `out`. After an error the reader must not be
    /// used again; events before the error are in `out`.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            match bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
                None => {
                    self.extend_line(bytes)?;
                    return Ok(());
                }
                Some(end) => {
                    self.extend_line(&bytes[..end])?;
                    self.after_cr = bytes[end] == b'\r';
                    bytes = &bytes[end + 1..];
                    self.end_line(out)?;
                }
            }
        }
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len() + bytes.len() + self.data.len() > self.limit {
            return Err(SseError::TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&bytes).map_err(|_| SseError::NotUtf8)?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            let data = std::mem::take(&mut self.data);
            if std::mem::take(&mut self.has_data) {
                out.push(SseEvent { name, data });
            }
        } else {
            self.field(line);
        }
        // Reuses the allocation for the next line.
        self.line = bytes;
        self.line.clear();
        Ok(())
    }

    fn field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "event" => {
                self.name.clear();
                self.name.push_str(value);
            }
            // Comments (an empty field name), `id`, `retry` and unknown fields.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]], limit: usize) -> (Vec<SseEvent>, Result<(), SseError>) {
        let mut reader = SseReader::with_limit(limit);
        let mut events = Vec::new();
        for chunk in chunks {
            if let Err(error) = reader.push(chunk, &mut events) {
                return (events, Err(error));
            }
        }
        (events, Ok(()))
    }

    fn check(input: &[u8], expect: Expect) {
        let (events, end) = read(&[input], 64);
        let mut shown: Vec<String> =
            events.iter().map(|event| format!("{:?} {:?}", event.name, event.data)).collect();
        if let Err(error) = end {
            shown.push(format!("error: {error}"));
        }
        expect.assert_eq(&shown.join("\n"));
        for split in 0..=input.len() {
            let (left, right) = input.split_at(split);
            assert_eq!(read(&[left, right], 64), read(&[input], 64), "split at {split}");
        }
    }

    #[test]
    fn events_of_a_table_of_streams_are_parsed() {
        check(b"data: a\n\n", expect![[r#""" "a""#]]);
        check(b"data:a\r\ndata: b\r\n\r\n", expect![[r#""" "a\nb""#]]);
        check(b"event: x\rdata:  a\r\r", expect![[r#""x" " a""#]]);
        check(
            ": ping\n\nid: 1\nretry: 5\nunknown: x\n\ndata: ü€😀\n\n".as_bytes(),
            expect![[r#""" "ü€😀""#]],
        );
        check("\u{feff}data: a\n\n".as_bytes(), expect![[r#""" "a""#]]);
        check(
            b"data\n\ndata:\n\n",
            expect![[r#"
            "" ""
            "" """#]],
        );
        check(b"event: lost\n\ndata: a\n\n", expect![[r#""" "a""#]]);
        check(b"data: unfinished\n", expect![""]);
        check(
            b"data: a\n\ndata: \xff\n\ndata: b\n\n",
            expect![[r#"
            "" "a"
            error: a line is not UTF-8"#]],
        );
        let mut long = b"data: a\n\ndata: ".to_vec();
        long.extend([b'x'; 70]);
        check(
            &long,
            expect![[r#"
            "" "a"
            error: an event is larger than 64 bytes"#]],
        );
    }

    #[test]
    fn many_short_lines_count_as_one_event() {
        let input = b"data: 12345678\n".repeat(10);
        assert_eq!(read(&[&input], 64).1, Err(SseError::TooLarge { limit: 64 }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_division_of_a_stream_does_not_matter(
            input in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), any::<u8>()], 0..80),
            size in 1_usize..7,
        ) {
            let pieces: Vec<&[u8]> = input.chunks(size).collect();
            prop_assert_eq!(read(&pieces, 64).0, read(&[&input], 64).0);
        }
    }
}
