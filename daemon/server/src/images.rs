//! Images that a model gets: their types and sizes.

use std::path::Path;

/// Largest image, in bytes.
pub(crate) const MAX_BYTES: usize = 5 * 1024 * 1024;

/// Returns the media type of an image by its first bytes.
pub(crate) fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// True for the name of a file that may be such an image.
pub(crate) fn is_named_so(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["png", "jpg", "jpeg", "gif", "webp"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}
