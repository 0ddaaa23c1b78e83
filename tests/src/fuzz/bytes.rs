//! Choices from bytes: the same bytes give the same choices; without bytes the first choice is taken.

#[derive(Debug, Clone)]
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Below `bound`, which is at most 256.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == many - 1
    }

    pub(super) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Up to `most` of the bytes as text, whatever they are.
    pub(super) fn text(&mut self, most: usize) -> String {
        let length = self.below(most + 1).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// The bytes in the pieces that another generator chooses, without end from a seed.
pub(super) fn pieces(mut seed: u32, bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        // A step of a linear congruential generator; its upper bits are good enough.
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = match seed >> 30 {
            0 => 1,
            1 => 1 + (seed >> 24) as usize % 8,
            _ => 1 + (seed >> 20) as usize % 200,
        };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
