//! Laws that hold for every interleaving of edits and decisions.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Start and length as fractions of the text, and the new text.
    Agent(u8, u8, String),
    User(u8, u8, String),
    Accept(u8),
    Reject(u8),
    RejectAll,
    Undo,
    Redo,
    Reconcile(String),
}

pub(super) fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[ab😀]{0,2}\n",
        2 => "[ab]{0,2}\r\n",
        1 => "[ab]{0,1}\r",
        1 => "[ab]{0,2}",
        // Its successor is recognised, so that a block above or below is a separate part.
        2 => "name\\([ab]\\)\n",
    ];
    prop::collection::vec(line, 0..10).prop_map(|lines| lines.concat())
}

fn snippet() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[abx😀\r\n]{0,4}",
        2 => "([abx]{0,2}\n){1,3}",
        1 => "[ab]{1,2}\n\n?name\\([abx]\\)\n(\n[ab]\n)?",
        1 => Just(String::new()),
    ]
}

pub(super) fn ops(op: impl Strategy<Value = Op>) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op, 0..14)
}

pub(super) fn agent_op() -> impl Strategy<Value = Op> {
    (any::<u8>(), any::<u8>(), snippet()).prop_map(|(at, len, text)| Op::Agent(at, len % 60, text))
}

pub(super) fn user_op() -> impl Strategy<Value = Op> {
    (any::<u8>(), any::<u8>(), snippet()).prop_map(|(at, len, text)| Op::User(at, len % 40, text))
}

pub(super) fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => agent_op(),
        5 => user_op(),
        1 => any::<u8>().prop_map(Op::Accept),
        2 => any::<u8>().prop_map(Op::Reject),
        1 => Just(Op::RejectAll),
        3 => Just(Op::Undo),
        2 => Just(Op::Redo),
        1 => text().prop_map(Op::Reconcile),
    ]
}

impl Fixture {
    fn spot(&self, at: u8, len: u8) -> Range<usize> {
        let total = self.review.current().len_chars();
        let start = total * usize::from(at) / 255;
        start..(start + total * usize::from(len) / 255).min(total)
    }

    fn pick(&self, index: u8) -> Option<usize> {
        usize::from(index).checked_rem(self.review.hunks().len())
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Agent(at, len, text) => {
                // Of several calls.
                self.splice(self.spot(at, len), &text, &agent(&format!("call {}", at % 4)));
            }
            Op::User(at, len, text) => self.splice(self.spot(at, len), &text, &Author::User),
            Op::Accept(index) => {
                if let Some(index) = self.pick(index) {
                    let text = self.text();
                    self.accept(index);
                    assert_eq!(self.text(), text, "accepting edits nothing");
                }
            }
            Op::Reject(index) => {
                if let Some(index) = self.pick(index) {
                    self.reject(index);
                }
            }
            Op::RejectAll => self.reject_all(),
            Op::Undo => drop(self.undo()),
            Op::Redo => drop(self.redo()),
            Op::Reconcile(text) => {
                self.review.reconcile(&Text::new(&text));
                assert_eq!(self.text(), text);
                self.check();
                self.undo.clear();
                self.redo.clear();
            }
        }
    }

    pub(super) fn run_all(&mut self, ops: Vec<Op>) {
        ops.into_iter().for_each(|op| self.run(op));
    }
}

/// Whole lines that name themselves, so that a model can follow them by name.
pub(super) fn named_lines(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("line {i}\n")).collect()
}

/// An edit of whole lines: where, how many, and how many new ones.
fn line_ops() -> impl Strategy<Value = Vec<(bool, u8, usize, usize)>> {
    prop::collection::vec((any::<bool>(), any::<u8>(), 0..4_usize, 0..4_usize), 0..16)
}

/// The agent replaces whole lines by others that name themselves.
fn agent_lines(fixture: &mut Fixture, step: usize, at: u8, gone: usize, come: usize) {
    let text = fixture.review.current();
    let lines = text.filled_lines();
    let start = (lines + 1) * usize::from(at) / 256;
    let range = text.lines_to_chars(&(start..(start + gone).min(lines)));
    let insert: String = (0..come).map(|i| format!("agent {step} {i}\n")).collect();
    fixture.splice(range, &insert, &agent(&format!("call {}", step % 3)));
}

/// A quarter of the usual cases keeps the suite quick; `PROPTEST_CASES` asks for more. Found
/// failures become tests with a name, not files of seeds.
pub(super) fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.div_ceil(4), failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn hunks_are_always_a_correct_difference(text in text(), ops in ops(any_op())) {
        Fixture::new(&text).run_all(ops);
    }

    #[test]
    fn accepting_all_takes_the_current_text(text in text(), ops in ops(any_op())) {
        let mut fixture = Fixture::new(&text);
        fixture.run_all(ops);
        let current = fixture.text();
        fixture.review.accept_all();
        prop_assert!(fixture.review.is_settled());
        prop_assert_eq!(fixture.text(), current);
        prop_assert_eq!(fixture.review.baseline(), fixture.review.current());
    }

    #[test]
    fn rejecting_all_leaves_the_baseline_and_the_users_lines(text in text(), ops in ops(any_op())) {
        let mut fixture = Fixture::new(&text);
        fixture.run_all(ops);
        let baseline = fixture.baseline();
        let mixed = fixture.review.hunks().iter().any(|hunk| hunk.mixed);
        fixture.reject_all();
        prop_assert_eq!(fixture.review.baseline(), fixture.review.current());
        if !mixed {
            prop_assert_eq!(fixture.text(), baseline);
        }
    }

    #[test]
    fn rejecting_the_agent_alone_gives_the_original(
        text in text(),
        ops in ops(prop_oneof![
            4 => agent_op(),
            1 => any::<u8>().prop_map(Op::Reject),
            1 => Just(Op::Undo),
            1 => Just(Op::Redo),
        ]),
    ) {
        let mut fixture = Fixture::new(&text);
        fixture.run_all(ops);
        prop_assert_eq!(&fixture.baseline(), &text);
        fixture.reject_all();
        prop_assert_eq!(fixture.text(), text);
    }

    #[test]
    fn user_edits_outside_of_hunks_are_exactly_what_a_rejection_leaves(ops in line_ops()) {
        let mut model = named_lines(8);
        let mut fixture = Fixture::new(&model.concat());
        let mut seen = vec![fixture.text()];
        for (step, (by_agent, at, gone, come)) in ops.into_iter().enumerate() {
            if by_agent {
                agent_lines(&mut fixture, step, at, gone, come);
                seen.push(fixture.text());
                continue;
            }
            let inside = |line: &usize| fixture.review.hunks().iter().any(|h| h.new.contains(line));
            let current = fixture.review.current();
            let outside: Vec<usize> = (0..current.filled_lines()).filter(|l| !inside(l)).collect();
            let Some(pick) = usize::from(at).checked_rem(outside.len()) else { continue };
            let name = current.lines_slice(outside[pick]..outside[pick] + 1);
            let place = model.iter().position(|line| *line == name).unwrap();
            let start = current.line_to_char(outside[pick]);
            let end = start + name.len() - 1;
            match come {
                0 => {
                    fixture.splice(end..end, &format!("\nuser {step}"), &Author::User);
                    model.insert(place + 1, format!("user {step}\n"));
                }
                1 => {
                    fixture.splice(start..end, &format!("other {step}"), &Author::User);
                    model[place] = format!("other {step}\n");
                }
                2 => {
                    fixture.splice(start..start, &format!("user {step}\n"), &Author::User);
                    model.insert(place, format!("user {step}\n"));
                }
                _ => {
                    let mut after = fixture.review.current().clone();
                    after.replace(start..end + 1, "");
                    if seen.contains(&after.to_string()) {
                        // It cannot be told from an undo: see `Memory::recall`.
                        continue;
                    }
                    fixture.splice(start..end + 1, "", &Author::User);
                    model.remove(place);
                }
            }
            seen.push(fixture.text());
        }
        prop_assert_eq!(fixture.baseline(), model.concat());
        fixture.reject_all();
        prop_assert_eq!(fixture.text(), model.concat());
    }

    #[test]
    fn what_the_user_types_is_never_lost(
        ops in line_ops(),
        rejects in prop::collection::vec(any::<u8>(), 16),
    ) {
        let mut fixture = Fixture::new(&named_lines(6).concat());
        let mut typed = Vec::new();
        for (step, (by_agent, at, gone, come)) in ops.into_iter().enumerate() {
            if by_agent {
                agent_lines(&mut fixture, step, at, gone, come);
            } else {
                let word = format!("<user {step}>");
                let line = format!("{word}\n");
                let lines = fixture.review.current().filled_lines();
                let start = fixture.review.current().line_to_char((lines + 1) * usize::from(at) / 256);
                match come {
                    0 => fixture.splice(start..start, &word, &Author::User),
                    1 => fixture.splice(start..start, &line, &Author::User),
                    _ => {
                        // At the end of a line, as typed after Enter.
                        let ends_line = fixture.text().chars().nth(start.wrapping_sub(1)) == Some('\n');
                        let end = if ends_line { start - 1 } else { start };
                        fixture.splice(end..end, &format!("\n{word}"), &Author::User);
                    }
                }
                typed.push(word);
            }
            if rejects[step] % 4 == 0 && let Some(index) = fixture.pick(rejects[step] / 4) {
                fixture.reject(index);
            }
        }
        fixture.reject_all();
        let text = fixture.text();
        for word in typed {
            prop_assert!(text.contains(&word), "{} is not in {:?}", word, text);
        }
    }

    #[test]
    fn undoing_everything_leaves_nothing_pending_and_redo_brings_it_back(
        ops in line_ops(),
        rejects in prop::collection::vec(any::<u8>(), 16),
    ) {
        let original = named_lines(6).concat();
        let mut fixture = Fixture::new(&original);
        let mut seen = HashMap::new();
        for (step, (by_agent, at, gone, come)) in ops.into_iter().enumerate() {
            if by_agent {
                agent_lines(&mut fixture, step, at, gone, come);
            } else if !fixture.text().is_empty() {
                // Never a separate line, see below.
                fixture.splice(fixture.spot(at.min(254), 9), &format!("<user {step}>"), &Author::User);
            }
            if rejects[step] % 4 == 0 && let Some(index) = fixture.pick(rejects[step] / 4) {
                fixture.reject(index);
            }
            // If the agent deletes just what the user typed, or the user rejects just that,
            // undoing the one and redoing the other are the same step between the same texts:
            // see `a_step_that_is_an_undo_or_a_redo_accepts_nothing`.
            let first = seen.entry(fixture.text()).or_insert_with(|| fixture.baseline());
            prop_assume!(*first == fixture.baseline());
        }
        agent_lines(&mut fixture, 99, 0, 0, 1);
        let (baseline, shown) = (fixture.baseline(), fixture.show());
        while fixture.undo() {}
        prop_assert_eq!(fixture.text(), &*original);
        prop_assert_eq!(fixture.show(), "");
        while fixture.redo() {}
        prop_assert_eq!((fixture.baseline(), fixture.show()), (baseline, shown));
    }

    #[test]
    fn nothing_accepted_is_ever_pending_again(
        ops in line_ops(),
        walk in prop::collection::vec(any::<bool>(), 0..20),
    ) {
        let mut fixture = Fixture::new(&named_lines(6).concat());
        for (step, (by_agent, at, gone, come)) in ops.into_iter().enumerate() {
            if by_agent {
                // It takes back nothing of its own: that would be pending again, and rightly so.
                let gone = if fixture.review.is_settled() { gone } else { 0 };
                agent_lines(&mut fixture, step, at, gone, come);
            } else {
                fixture.splice(fixture.spot(at, 9), &format!("<user {step}>"), &Author::User);
            }
        }
        fixture.review.accept_all();
        for redo in walk {
            fixture.revert(redo);
            prop_assert_eq!(fixture.show(), "");
        }
    }
}
