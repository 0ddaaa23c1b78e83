//! Words of the model in the title of a call.

/// Longest part of a title that the model wrote, in characters.
const MAX_PART_CHARS: usize = 80;

/// Text of the model as a part of a title: one line, cut.
pub(crate) fn short(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(MAX_PART_CHARS) {
        line.truncate(cut);
        line.push('…');
    }
    line
}
