//! The byte law of docs/review.md for whole calls of the agent: text of a file with its encoding and
//! line endings, calls as a model makes them, lines that the user types between them, and a rejection.

use proptest::prelude::*;

use super::{laws::config, *};
use crate::{
    edit::{self, Occurrences},
    text::{FileEncoding, decode, encode},
};

/// A call of the agent, or a line that the user types.
#[derive(Debug, Clone, Copy)]
enum Step {
    Change,
    Insert,
    Delete,
    Write,
    Type,
}

/// Lines that name themselves. Those without an ending end a text.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let indent = prop::sample::select(vec!["", "  ", "    ", "\t", "\u{3000}"]);
    let blanks = prop::sample::select(vec!["", "", " ", "  ", "\t", "\u{a0}"]);
    let ending = prop::sample::select(vec!["\n", "\n", "\r\n", "\r\n", "\r"]);
    let lines = prop::collection::vec((indent, blanks, ending), 2..9);
    (lines, any::<bool>()).prop_map(|(lines, is_open)| {
        let last = lines.len() - 1;
        let line = |(number, (indent, blanks, ending)): (usize, (&str, &str, &str))| {
            let ending = if is_open && number == last { "" } else { ending };
            format!("{indent}line {number}{blanks}{ending}")
        };
        lines.into_iter().enumerate().map(line).collect()
    })
}

fn steps() -> impl Strategy<Value = Vec<(Step, u8, bool)>> {
    let step = prop::sample::select(vec![
        Step::Change,
        Step::Insert,
        Step::Delete,
        Step::Write,
        Step::Type,
    ]);
    prop::collection::vec((step, any::<u8>(), any::<bool>()), 1..8)
}

fn encoding() -> impl Strategy<Value = FileEncoding> {
    let labels = vec![("utf-8", false), ("utf-8", true), ("utf-16le", true), ("utf-16be", true)];
    prop::sample::select(labels)
        .prop_map(|(label, bom)| FileEncoding::of_label(label, bom).unwrap())
}

fn body(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

fn ending(line: &str) -> &str {
    &line[body(line).len()..]
}

/// The text as a model repeats it.
fn seen(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", body(line))).collect()
}

/// The text without the blanks at its end.
fn without_blanks(text: &str) -> String {
    let end = if text.ends_with('\n') { "\n" } else { "" };
    format!("{}{end}", text.trim_end_matches([' ', '\t', '\n']))
}

struct Player {
    fixture: Fixture,
    /// The lines of the file as they have to be.
    now: Vec<String>,
    /// The lines that a rejection has to leave.
    kept: Vec<String>,
}

impl Player {
    /// Makes one step at a line, and compares the whole text with the one that was meant.
    fn step(&mut self, number: usize, step: Step, at: u8, is_loose: bool) {
        if self.now.len() < 2 {
            return;
        }
        // The last line stays as it is: one without an ending has no rule for its neighbor.
        let at = usize::from(at) % (self.now.len() - 1);
        let text = self.fixture.text();
        let old = seen(&self.now[at..at + 2]);
        let changed = format!("new {number}");
        let mut wanted = self.now.clone();
        let new = match step {
            Step::Type => return self.type_line(at, &format!("typed {number}")),
            Step::Change | Step::Write => {
                wanted[at] = format!("{changed}{}", ending(&wanted[at]));
                seen(&wanted[at..at + 2])
            }
            Step::Insert => {
                wanted.insert(at + 1, format!("{changed}{}", ending(&wanted[at])));
                seen(&wanted[at..at + 3])
            }
            Step::Delete => {
                wanted.remove(at);
                seen(&wanted[at..at + 1])
            }
        };
        // A model ends no line that the file does not end.
        let cut = |text: &str, ends: bool| text[..text.len() - usize::from(!ends)].to_owned();
        let ends = |line: &String| !ending(line).is_empty();
        let (old, new) = (cut(&old, ends(&self.now[at + 1])), cut(&new, ends(&self.now[at + 1])));
        let got = match step {
            Step::Write => Ok(edit::rewrite(
                &text,
                &match text.contains('\r') {
                    true => cut(&seen(&wanted), wanted.last().is_some_and(ends)),
                    false => wanted.concat(),
                },
            )),
            _ if is_loose => {
                // Blanks at the end of a line that stays, which a model left out in both texts.
                let (old, new) = (without_blanks(&old), without_blanks(&new));
                edit::replace(&text, &old, &new, Occurrences::One).map(|replaced| replaced.text)
            }
            _ => edit::replace(&text, &old, &new, Occurrences::One).map(|replaced| replaced.text),
        };
        let got = match got {
            Ok(got) => got,
            // A text that differs may be refused, but is never guessed.
            Err(_) if is_loose => return,
            Err(error) => panic!("{step:?} of {old:?} in {text:?}: {error:?}"),
        };
        assert_eq!(got, wanted.concat(), "{step:?} of {old:?} to {new:?} in {text:?}");
        let change = Change::between(&Text::new(&text), &Text::new(&got));
        self.fixture.perform(&change, &agent(&format!("call {number}")));
        self.now = wanted;
    }

    /// The user changes a line that no edit shows.
    fn type_line(&mut self, at: usize, typed: &str) {
        let is_shown = self.fixture.review.hunks().iter().any(|hunk| hunk.new.contains(&at));
        let line = self.now[at].clone();
        let Some(place) = self.kept.iter().position(|kept| *kept == line) else { return };
        if is_shown {
            return;
        }
        let typed_line = format!("{typed}{}", ending(&line));
        let start = self.fixture.review.current().line_to_char(at);
        let end = start + body(&line).chars().count();
        self.fixture.splice(start..end, typed, &Author::User);
        self.now[at].clone_from(&typed_line);
        self.kept[place] = typed_line;
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn calls_change_the_bytes_of_their_lines_alone_and_a_rejection_gives_them_back(
        lines in lines(),
        encoding in encoding(),
        steps in steps(),
    ) {
        let before = encode(&Text::new(&lines.concat()), encoding).unwrap();
        let decoded = decode(&before).unwrap();
        prop_assert_eq!(decoded.text.to_string(), lines.concat());
        let fixture = Fixture::of(FileReview::new(decoded.text));
        let mut player = Player { fixture, now: lines.clone(), kept: lines };
        for (number, (step, at, is_loose)) in steps.into_iter().enumerate() {
            player.step(number, step, at, is_loose);
        }
        prop_assert_eq!(player.fixture.text(), player.now.concat());
        player.fixture.reject_all();
        let after = encode(player.fixture.review.current(), decoded.encoding).unwrap();
        let kept = encode(&Text::new(&player.kept.concat()), encoding).unwrap();
        prop_assert_eq!(after, kept);
    }
}
