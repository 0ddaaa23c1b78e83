//! The review against the reference model, step by step.

use proptest::prelude::*;

use super::{
    super::reference::Reference,
    laws::{config, named_lines},
    *,
};

/// An edit is where, how many lines go, and how many come.
#[derive(Debug, Clone)]
enum Step {
    Agent(u8, usize, usize),
    User(u8, usize, usize),
    /// The agent changes a line and inserts a block above it, below it or both.
    Beside(u8, bool, bool),
    /// The agent takes a part of a hunk back.
    Restore(u8),
    /// The user puts a deleted line back.
    BringBack(u8),
    Accept(u8),
    Reject(u8),
    /// Undoes the last edit or rejection.
    Undo,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (any::<u8>(), 0..4_usize, 0..4_usize).prop_map(|(at, gone, come)| Step::Agent(at, gone, come)),
        6 => (any::<u8>(), 0..3_usize, 0..3_usize).prop_map(|(at, gone, come)| Step::User(at, gone, come)),
        3 => any::<(u8, bool, bool)>().prop_map(|(at, above, below)| Step::Beside(at, above, below)),
        1 => any::<u8>().prop_map(Step::Restore),
        1 => any::<u8>().prop_map(Step::BringBack),
        1 => any::<u8>().prop_map(Step::Accept),
        2 => any::<u8>().prop_map(Step::Reject),
        2 => Just(Step::Undo),
    ];
    prop::collection::vec(step, 0..16)
}

/// Both, side by side.
struct Pair {
    fixture: Fixture,
    model: Reference,
    /// The model before what the editor could undo.
    before: Option<Reference>,
    number: usize,
    seen: Vec<Text>,
}

impl Pair {
    fn new(lines: usize) -> Pair {
        let text = named_lines(lines).concat();
        let (fixture, model) = (Fixture::new(&text), Reference::new(&text));
        Pair { fixture, model, before: None, number: 0, seen: Vec::new() }
    }

    fn take(&mut self, step: &Step) {
        self.number += 1;
        let known: Vec<(HunkId, String, String)> = self.contents();
        let before = self.model.clone();
        let depth = self.fixture.undo.len();
        match *step {
            Step::Agent(at, gone, come) => {
                let gone = self.lines(at, gone);
                self.edit(gone, self.named("agent", come), &self.call());
            }
            Step::User(at, gone, come) => {
                let gone = self.lines(at, gone);
                self.edit(gone, self.named("user", come), &Author::User);
            }
            Step::Beside(at, above, below) => {
                let gone = self.lines(at, 1);
                let line = self.fixture.review.current().lines_slice(gone.clone());
                // A blank line with a name: each line is there once.
                let blank = |length: usize| " ".repeat(2 * self.number + length) + "\n";
                let block = |place: &str| format!("<{place} {}>\n", self.number);
                let mut come = vec![format!("{}{}\n", line.trim_end(), self.number)];
                if above {
                    come.splice(0..0, [block("above"), blank(0)]);
                }
                if below {
                    come.extend([blank(1), block("below")]);
                }
                self.edit(gone, come, &self.call());
            }
            Step::Restore(pick) => {
                let Some(hunk) = self.pick(pick).map(|i| self.fixture.review.hunks()[i].clone())
                else {
                    return;
                };
                let old = self.fixture.review.old_text(&hunk);
                let old =
                    old.split_inclusive('\n').map(str::to_owned).take(1 + usize::from(pick % 3));
                self.edit(hunk.new, old.collect(), &self.call());
            }
            Step::BringBack(pick) => {
                let Some(hunk) = self.pick(pick).map(|i| self.fixture.review.hunks()[i].clone())
                else {
                    return;
                };
                let old = self.fixture.review.old_text(&hunk);
                let Some(line) = old.split_inclusive('\n').next() else { return };
                if !hunk.new.is_empty() {
                    // Beside the agent's lines it is a separate line; the name would come twice.
                    return;
                }
                self.edit(hunk.new, vec![line.to_owned()], &Author::User);
            }
            Step::Accept(pick) => {
                if let Some(index) = self.pick(pick) {
                    self.fixture.accept(index);
                    self.model.accept(index);
                }
            }
            Step::Reject(pick) => {
                let Some(index) = self.pick(pick) else { return };
                self.fixture.reject(index);
                self.model.reject(index);
            }
            Step::Undo => {
                if let Some(before) = self.before.take()
                    && self.fixture.undo()
                {
                    self.model = before;
                }
            }
        }
        self.seen.push(self.fixture.review.current().clone());
        self.before = (self.fixture.undo.len() > depth).then_some(before);
        if let Err(error) = self.model.agrees_with(&self.fixture.review) {
            panic!("after {step:?}: {error}");
        }
        for (id, old, new) in self.contents() {
            let former = known.iter().find(|(_, a, b)| *a == old && *b == new);
            assert!(former.is_none_or(|(former, ..)| *former == id), "a hunk was renamed");
        }
    }

    /// Each edit of the agent is a separate call.
    fn call(&self) -> Author {
        agent(&format!("call {}", self.number))
    }

    fn edit(&mut self, gone: Range<usize>, come: Vec<String>, author: &Author) {
        if gone.is_empty() && come.is_empty() {
            // The review is not told of an edit that changes nothing.
            return;
        }
        let range = self.fixture.review.current().lines_to_chars(&gone);
        let mut after = self.fixture.review.current().clone();
        after.replace(range.clone(), &come.concat());
        if *author == Author::User && self.seen.contains(&after) {
            // It cannot be told from an undo: see `Memory::recall`.
            return;
        }
        self.fixture.splice(range, &come.concat(), author);
        match author {
            Author::Agent(_) => self.model.agent(gone, &come),
            Author::User => self.model.user(gone, &come),
        }
    }

    fn lines(&self, at: u8, count: usize) -> Range<usize> {
        let lines = self.fixture.review.current().filled_lines();
        let start = (lines + 1) * usize::from(at) / 256;
        start..(start + count).min(lines)
    }

    fn named(&self, who: &str, count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{who} {} {i}\n", self.number)).collect()
    }

    fn pick(&self, index: u8) -> Option<usize> {
        usize::from(index / 3).checked_rem(self.fixture.review.hunks().len())
    }

    fn contents(&self) -> Vec<(HunkId, String, String)> {
        let review = &self.fixture.review;
        let content = |hunk: &Hunk| (hunk.id, review.old_text(hunk), review.new_text(hunk));
        review.hunks().iter().map(content).collect()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_review_and_the_reference_agree(steps in steps()) {
        let mut pair = Pair::new(7);
        for step in &steps {
            pair.take(step);
        }
    }
}
