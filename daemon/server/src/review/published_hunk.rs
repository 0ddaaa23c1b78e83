//! Hunk as a client was last shown it, for as long as its edit is pending.

use cairn_core::sanitize::excerpt;
use cairn_protocol::Hunk;
use sha2::{Digest, Sha256};

/// Most bytes of one text of a hunk.
pub(super) const MAX_HUNK_TEXT: usize = 16 * 1024;

/// Hunk with what tells a later one apart.
#[derive(Debug)]
pub(super) struct PublishedHunk {
    /// Its texts may be cut: those of a long line would be kept for as long as the edit is.
    pub(super) hunk: Hunk,
    /// SHA-256 of each whole text. A hash with collisions would let a change pass that nobody was shown.
    hashes: [[u8; 32]; 2],
    /// `rev` of its last change.
    pub(super) rev: u32,
}

impl PublishedHunk {
    pub(super) fn new(mut hunk: Hunk) -> Self {
        let hashes = [&mut hunk.old_text, &mut hunk.new_text].map(|text| {
            let hash = Sha256::digest(&*text).into();
            *text = excerpt(text, MAX_HUNK_TEXT);
            hash
        });
        Self { hunk, hashes, rev: 0 }
    }

    /// True if it is the same to the user who decides about it, although it may have moved.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let (a, b) = (&self.hunk, &other.hunk);
        a.id == b.id && self.hashes == other.hashes && a.outdated == b.outdated
    }
}
