//! Hunk as a client was last shown it, for as long as its edit is pending.

use cairn_core::sanitize::excerpt;
use cairn_protocol::Hunk;
use sha2::{Digest, Sha256};

/// Most bytes of one text of a hunk.
pub(super) const MAX_HUNK_TEXT: usize = 16 * 1024;

/// Hunk with what tells a later one apart.
#[derive(Debug)]
pub(super) struct PublishedHunk {
    /// Without its texts.
    pub(super) hunk: Hunk,
    pub(super) old: ShownText,
    pub(super) new: ShownText,
    /// `rev` of its last change.
    pub(super) rev: u32,
}

/// Text of a hunk: as much of it as is shown, and a hash of all of it. A long line would be kept for
/// as long as the edit is.
#[derive(Debug)]
pub(super) struct ShownText {
    pub(super) start: String,
    /// A hash with collisions would let a change pass that nobody was shown.
    hash: [u8; 32],
}

impl ShownText {
    /// From the pieces of the text, so that a long one is never copied as a whole.
    pub(super) fn new<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut start, mut hash) = (String::new(), Sha256::new());
        for piece in pieces {
            hash.update(piece);
            let shown = (MAX_HUNK_TEXT + 1).saturating_sub(start.len());
            start.push_str(&piece[..piece.ceil_char_boundary(shown)]);
        }
        Self { start: excerpt(&start, MAX_HUNK_TEXT), hash: hash.finalize().into() }
    }
}

impl PublishedHunk {
    /// True if it is the same to the user who decides about it, although it may have moved.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let (a, b) = (&self.hunk, &other.hunk);
        let is_same_text = self.old.hash == other.old.hash && self.new.hash == other.new.hash;
        a.id == b.id && is_same_text && a.outdated == b.outdated
    }
}
