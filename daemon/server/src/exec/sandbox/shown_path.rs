//! Format of paths in messages.

use std::path::Path;

use cairn_core::quote::quoted;

/// Formats a path for the model and the user: quoted if it contains anything but printable
/// characters.
pub fn shown_path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).into_owned()
}
