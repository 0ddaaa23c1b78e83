//! Tolerant tokenizer, for scripts that need not be understood.
//!
//! Returns the words that a shell might pass, and rather too many than too few. [`super::parse`] is
//! the tokenizer for decisions that let something run.

use super::CommandWords;

/// Characters at which a command may end.
pub(super) const COMMAND_ENDS: &str = "\n\r;&|(){}`";
/// Further characters at which [`loose_words`] splits.
const WORD_ENDS: &str = "<>$,=[]!";

/// Returns the commands of a script, each as its words without quotes. A command ends at each of
/// `ends`. A script with continued lines is read in several ways.
pub(in crate::policy) fn loose_commands(script: &str, ends: &str) -> Vec<CommandWords> {
    let bare = |word: &str| word.replace(['\'', '"'], "");
    let readings = readings(&script.replace("\\\r\n", "\\\n"));
    let commands = readings.iter().flat_map(|text| text.split(move |c: char| ends.contains(c)));
    commands.map(|command| command.split_whitespace().map(bare).collect()).collect()
}

/// Returns a script with its continued lines joined by a blank, apart, joined directly, and joined as
/// a shell does it.
fn readings(script: &str) -> Vec<String> {
    if !script.contains("\\\n") {
        return vec![script.to_owned()];
    }
    let mut readings: Vec<String> = [" ", "\n", ""].map(|with| script.replace("\\\n", with)).into();
    readings.push(joined_as_by_a_shell(script));
    readings
}

/// Joins continued lines, except where the backslash is in a comment or in single quotes.
fn joined_as_by_a_shell(script: &str) -> String {
    let (mut joined, mut chars) = (String::with_capacity(script.len()), script.chars());
    let (mut quote, mut word_begins, mut is_comment) = (None, true, false);
    while let Some(c) = chars.next() {
        match c {
            '\n' => is_comment = false,
            _ if is_comment => {}
            '\\' if quote != Some('\'') => match chars.next() {
                Some('\n') | None => continue,
                Some(escaped) => {
                    joined.extend([c, escaped]);
                    word_begins = false;
                    continue;
                }
            },
            '\'' | '"' if quote.is_none() => quote = Some(c),
            '#' if quote.is_none() && word_begins => is_comment = true,
            c if quote == Some(c) => quote = None,
            _ => {}
        }
        word_begins = quote.is_none() && (c.is_whitespace() || COMMAND_ENDS.contains(c));
        joined.push(c);
    }
    joined
}

/// Returns the words of a script that may name a program or be an argument of one.
pub(super) fn loose_words(script: &str) -> CommandWords {
    let commands = loose_commands(script, COMMAND_ENDS);
    let words = commands.into_iter().flatten().map(|word| word.replace('\\', ""));
    let split = |word: String| -> CommandWords {
        let ends = |c: char| c.is_control() || WORD_ENDS.contains(c);
        word.split(ends).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    words.flat_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_quoting() {
        for (script, words) in [
            ("git 'pu'\\sh \"x y\"", "git push x y"),
            ("a&&b|c;(d)`e`{f}\r\ng", "a b c d e f g"),
            ("A=1 b>c,d[e]!$f", "A 1 b c d e f"),
        ] {
            assert_eq!(loose_words(script).join(" "), words, "{script:?}");
        }
        let commands = loose_commands("a b; c=d 'e f'", COMMAND_ENDS);
        assert_eq!(commands, [vec!["a", "b"], vec!["c=d", "e", "f"]]);
    }

    #[test]
    fn lines_are_joined_as_by_a_shell() {
        for (script, joined) in [
            ("git pu\\\nsh", "git push"),
            ("# a\\\ngit pu\\\nsh", "# a\\\ngit push"),
            ("b;# a\\\nb", "b;# a\\\nb"),
            ("b# a\\\nb", "b# ab"),
            ("' # a'\\\nb", "' # a'b"),
            ("\" # \\\" a\\\nb\"", "\" # \\\" ab\""),
            ("'a\\\nb'", "'a\\\nb'"),
            ("\\# a\\\nb", "\\# ab"),
        ] {
            assert_eq!(joined_as_by_a_shell(script), joined, "{script:?}");
        }
    }
}
