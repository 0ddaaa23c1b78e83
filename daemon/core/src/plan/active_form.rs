//! Active form of an item's content, derived for dialects that do not send one.
//!
//! Inflects only verbs of its table. A text that begins otherwise, for example in another language,
//! is unchanged.

const VERBS: &str = "add adjust analyze apply build check clean compare configure convert create debug define \
    delete deploy document ensure explore extend extract find fix format handle identify \
    implement improve inspect install integrate investigate make measure merge migrate move \
    optimize parse read refactor remove rename replace review rewrite run search simplify \
    split test update upgrade use validate verify write";
/// Verbs that double their last letter.
const DOUBLED: &str = "debug format run split";

pub(super) fn derive(content: &str) -> String {
    let (verb, rest) = content.split_at(content.find(char::is_whitespace).unwrap_or(content.len()));
    let plain = verb.to_ascii_lowercase();
    let is_in = |verbs: &str| verbs.split(' ').any(|known| known == plain);
    if !is_in(VERBS) {
        return content.to_owned();
    }
    let stem = verb.strip_suffix(['e', 'E']).unwrap_or(verb);
    let doubled = if is_in(DOUBLED) { stem.get(stem.len() - 1..).unwrap_or_default() } else { "" };
    format!("{stem}{doubled}ing{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_inflected() {
        for (content, active) in [
            ("Add tests", "Adding tests"),
            ("analyze", "analyzing"),
            ("Debug it", "Debugging it"),
            ("Run\tall", "Running\tall"),
            ("Make", "Making"),
            ("Split a file", "Splitting a file"),
            ("Verify", "Verifying"),
            ("Tests first", "Tests first"),
            ("", ""),
        ] {
            assert_eq!(derive(content), active);
        }
    }
}
