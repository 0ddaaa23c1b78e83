//! Ring of the newest output of a process, in bounded memory.

use std::collections::VecDeque;

/// The newest bytes of a stream. Positions count from the beginning of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputRing {
    bytes: VecDeque<u8>,
    /// Position after the newest byte.
    end: u64,
    capacity: usize,
}

/// Part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// Number of bytes before it that were asked for, and are no longer there.
    pub missed: u64,
    /// Position after its last byte.
    pub end: u64,
}

impl OutputRing {
    pub fn new(capacity: usize) -> Self {
        Self { bytes: VecDeque::new(), end: 0, capacity }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.end = self.end.saturating_add(bytes.len() as u64);
        let newest = bytes.get(bytes.len().saturating_sub(self.capacity)..).unwrap_or(bytes);
        let excess = (self.bytes.len() + newest.len()).saturating_sub(self.capacity);
        self.bytes.drain(..excess);
        self.bytes.extend(newest);
    }

    /// Position after the newest byte: the number of all bytes.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns at most `most` of the newest bytes from a position on. No character of UTF-8 is cut at
    /// the beginning.
    pub fn since(&self, position: u64, most: usize) -> Piece {
        let wanted = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
        let count = wanted.min(most).min(self.bytes.len());
        let mut bytes: Vec<u8> =
            self.bytes.iter().skip(self.bytes.len() - count).copied().collect();
        if count < wanted {
            let cut = bytes.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
            bytes.drain(..cut);
        }
        let missed = (wanted - bytes.len()) as u64;
        Piece { bytes, missed, end: self.end }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_character_is_cut_at_the_beginning() {
        let mut ring = OutputRing::new(5);
        ring.push("ééé".as_bytes());
        assert_eq!(ring.since(0, 9), Piece { bytes: "éé".into(), missed: 2, end: 6 });
        assert_eq!(ring.since(0, 3), Piece { bytes: "é".into(), missed: 4, end: 6 });
    }

    proptest! {
        #[test]
        fn a_ring_has_the_newest_bytes_however_they_came(
            chunks: Vec<Vec<u8>>,
            capacity in 0_usize..40,
            from in 0_u64..200,
            most in 0_usize..60,
        ) {
            let mut ring = OutputRing::new(capacity);
            chunks.iter().for_each(|chunk| ring.push(chunk));
            let all = chunks.concat();
            prop_assert_eq!(ring.end(), all.len() as u64);
            let piece = ring.since(from, most);
            prop_assert!(piece.bytes.len() <= capacity.min(most));
            prop_assert!(all.ends_with(&piece.bytes));
            let wanted = (all.len() as u64).saturating_sub(from);
            prop_assert_eq!(piece.missed + piece.bytes.len() as u64, wanted);
            // Only the rest of one character is left out beyond the limits.
            let room = capacity.min(most).min(all.len()) as u64;
            prop_assert!(piece.bytes.len() as u64 + 3 >= wanted.min(room));
        }
    }
}
