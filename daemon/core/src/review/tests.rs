mod bytes;
mod large;
mod laws;
mod model;
mod parts;
mod restart;
mod unaccept;
mod undo;

use expect_test::{Expect, expect};

use super::*;

/// An editor with an undo stack, and the review that listens to it.
struct Fixture {
    review: FileReview,
    undo: Vec<Change>,
    redo: Vec<Change>,
}

impl Fixture {
    fn new(text: &str) -> Fixture {
        Fixture::of(FileReview::new(Text::new(text)))
    }

    fn of(review: FileReview) -> Fixture {
        Fixture { review, undo: Vec::new(), redo: Vec::new() }
    }

    fn text(&self) -> String {
        self.review.current().to_string()
    }

    fn baseline(&self) -> String {
        self.review.baseline().to_string()
    }

    fn perform(&mut self, change: &Change, author: &Author) {
        let before = self.review.current().clone();
        self.review.apply(change, author).unwrap();
        assert_eq!(*self.review.current(), change.apply(&before).unwrap());
        self.did(change, &before);
    }

    fn did(&mut self, change: &Change, before: &Text) {
        if !change.is_empty() {
            self.undo.push(change.invert(before));
            self.redo.clear();
        }
        self.check();
    }

    fn check(&self) {
        if let Err(error) = self.review.check_invariants() {
            panic!("{error}\n{:#?}", self.review.state);
        }
    }

    fn splice(&mut self, range: Range<usize>, insert: &str, author: &Author) {
        let change = Change::single(self.review.current().len_chars(), range, insert).unwrap();
        self.perform(&change, author);
    }

    /// Replaces the first occurrence.
    fn replace(&mut self, what: &str, with: &str, author: &Author) {
        let text = self.text();
        let start = text[..text.find(what).unwrap()].chars().count();
        self.splice(start..start + what.chars().count(), with, author);
    }

    fn agent(&mut self, what: &str, with: &str) {
        self.replace(what, with, &agent("call"));
    }

    fn user(&mut self, what: &str, with: &str) {
        self.replace(what, with, &Author::User);
    }

    fn revert(&mut self, from_redo: bool) -> bool {
        let stack = if from_redo { &mut self.redo } else { &mut self.undo };
        let Some(change) = stack.pop() else { return false };
        let inverse = change.invert(self.review.current());
        self.review.apply(&change, &Author::User).unwrap();
        if from_redo {
            self.undo.push(inverse)
        } else {
            self.redo.push(inverse)
        }
        self.check();
        true
    }

    fn undo(&mut self) -> bool {
        self.revert(false)
    }

    /// As an editor that groups edits does.
    fn undo_at_once(&mut self, steps: usize) {
        let first = self.undo.len() - steps;
        let grouped = self.undo.drain(first..).rev().reduce(|a, b| a.compose(&b));
        self.undo.extend(grouped);
        self.undo();
    }

    fn redo(&mut self) -> bool {
        self.revert(true)
    }

    fn accept(&mut self, index: usize) {
        let id = self.review.hunks()[index].id;
        assert_eq!(self.review.accept_many(&[id]), 1);
        self.check();
    }

    fn reject(&mut self, index: usize) {
        let id = self.review.hunks()[index].id;
        self.reject_these(&[id], OwnText::Keep);
        assert!(self.review.hunk(id).is_none(), "rejected, but still there");
    }

    fn reject_all(&mut self) {
        self.reject_these(&self.review.ids(), OwnText::Keep);
        assert!(self.review.is_settled(), "{:#?}", self.review.hunks());
    }

    fn reject_these(&mut self, ids: &[HunkId], own: OwnText) {
        let Some(change) = self.review.rejection(ids, own) else { return };
        let before = self.review.current().clone();
        assert_eq!(self.review.reject(ids, own), ids.len());
        assert_eq!(*self.review.current(), change.apply(&before).unwrap());
        self.did(&change, &before);
    }

    /// One line a hunk: id, what goes, what comes.
    fn show(&self) -> String {
        let show = |hunk: &Hunk| {
            format!(
                "{}{} {:?} → {:?}\n",
                hunk.id.0,
                if hunk.mixed { " mixed" } else { "" },
                self.review.old_text(hunk),
                self.review.new_text(hunk)
            )
        };
        self.review.hunks().iter().map(show).collect()
    }

    fn shows(&self, expect: Expect) {
        expect.assert_eq(&self.show());
    }
}

fn agent(call: &str) -> Author {
    Author::Agent(Origin {
        session: "s".into(),
        turn: "t".into(),
        call: call.into(),
        subagent: None,
        plan_item: None,
        plan_item_text: None,
    })
}

const FIVE: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn an_agent_edit_is_a_hunk_and_a_user_edit_beside_it_is_not() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "THREE");
    fixture.user("one", "uno");
    fixture.user("five", "cinque");
    fixture.shows(expect![[r#"
        0 "three\n" → "THREE\n"
    "#]]);
    assert_eq!(fixture.baseline(), "uno\ntwo\nthree\nfour\ncinque\n");
    fixture.reject_all();
    assert_eq!(fixture.text(), "uno\ntwo\nthree\nfour\ncinque\n");
}

#[test]
fn hunks_keep_their_ids_when_others_are_decided() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("one\n", "");
    fixture.agent("three", "3\n3");
    fixture.agent("five", "5");
    fixture.shows(expect![[r#"
        0 "one\n" → ""
        1 "three\n" → "3\n3\n"
        2 "five\n" → "5\n"
    "#]]);
    fixture.accept(0);
    fixture.user("two", "zwei");
    fixture.reject(0);
    fixture.shows(expect![[r#"
        2 "five\n" → "5\n"
    "#]]);
    assert_eq!(fixture.text(), "zwei\nthree\nfour\n5\n");
    assert_eq!(fixture.baseline(), "zwei\nthree\nfour\nfive\n");
}

#[test]
fn a_decision_on_a_hunk_that_is_gone_changes_nothing() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "3");
    let id = fixture.review.hunks()[0].id;
    fixture.reject(0);
    assert_eq!(fixture.review.rejection(&[id], OwnText::Keep), None);
    assert_eq!(fixture.review.reject(&[id], OwnText::Keep), 0);
    assert_eq!(fixture.review.accept_many(&[id]), 0);
    assert_eq!(fixture.text(), FIVE);
}

#[test]
fn a_newer_agent_edit_takes_over_a_hunk_that_it_changes() {
    let mut fixture = Fixture::new(FIVE);
    fixture.replace("two", "2", &agent("first"));
    fixture.replace("four", "4", &agent("second"));
    fixture.replace("2\nthree", "II\n3", &agent("third"));
    let calls: Vec<_> =
        fixture.review.hunks().iter().map(|hunk| hunk.origin.call.clone()).collect();
    assert_eq!(calls, ["third", "second"]);
    fixture.shows(expect![[r#"
        0 "two\nthree\n" → "II\n3\n"
        1 "four\n" → "4\n"
    "#]]);
}

#[test]
fn an_agent_that_takes_its_edit_back_leaves_no_hunk() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "3");
    fixture.agent("3", "three");
    fixture.shows(expect![[""]]);
}

#[test]
fn a_line_the_user_types_in_a_hunk_survives_its_rejection() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three\n", "a\nb\nc\n");
    fixture.user("b\n", "b\nmine\n");
    fixture.shows(expect![[r#"
        0 mixed "three\n" → "a\nb\nmine\nc\n"
    "#]]);
    fixture.reject(0);
    assert_eq!(fixture.text(), "one\ntwo\nthree\nmine\nfour\nfive\n");
    assert_eq!(fixture.baseline(), fixture.text());
    assert!(fixture.undo());
    fixture.shows(expect![[r#"
        0 mixed "three\n" → "a\nb\nmine\nc\n"
    "#]]);
    fixture.accept(0);
    assert_eq!(fixture.baseline(), "one\ntwo\na\nb\nmine\nc\nfour\nfive\n");
}

#[test]
fn deleting_and_indenting_in_a_hunk_does_not_make_its_lines_the_users() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three\n", "if a {\nb\n}\n");
    fixture.user("b\n", "    b\n\n");
    fixture.user(" a ", " ");
    fixture.reject(0);
    assert_eq!(fixture.text(), FIVE);
}

#[test]
fn a_hunk_the_user_rewrote_entirely_can_still_be_decided() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three\n", "three\nagent\n");
    fixture.user("agent", "my own");
    fixture.shows(expect![[r#"
        0 mixed "" → "my own\n"
    "#]]);
    let ids = fixture.review.ids();
    assert!(fixture.review.rejection(&ids, OwnText::Keep).unwrap().is_empty());
    fixture.reject(0);
    assert_eq!(fixture.baseline(), "one\ntwo\nthree\nmy own\nfour\nfive\n");
}

/// Only the ending of the old line differs: the user's line came behind it.
#[test]
fn a_rejection_that_has_nothing_to_take_away_settles_the_hunk() {
    let mut fixture = Fixture::new("a");
    fixture.splice(1..1, "\nb", &agent("call"));
    fixture.user("b", "bb");
    fixture.shows(expect![[r#"
        0 mixed "a" → "a\nbb"
    "#]]);
    fixture.reject_all();
    assert_eq!(fixture.text(), "a\nbb");
}

/// But other lines beside it are not a part of it.
#[test]
fn a_deleted_line_that_the_user_brings_back_is_no_longer_pending() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two\nthree\n", "");
    fixture.user("four", "\nfour!");
    fixture.user("\nfour!", "three\n\nfour!");
    fixture.shows(expect![[r#"
        0 mixed "two\n" → ""
    "#]]);
    fixture.user("three", "two\nthree");
    fixture.shows(expect![]);
    assert_eq!(fixture.baseline(), fixture.text());
}

#[test]
fn an_agent_that_overwrites_the_users_lines_does_not_lose_them() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three\n", "a\nb\n");
    fixture.user("a\n", "a\nmine\n");
    fixture.agent("mine\nb\n", "c\n");
    assert_eq!(fixture.text(), "one\ntwo\na\nc\nfour\nfive\n");
    fixture.reject_all();
    assert_eq!(fixture.text(), "one\ntwo\nthree\nmine\nfour\nfive\n");
}

/// Undoing the typing and redoing the deletion are the same step between the same texts.
#[test]
fn lines_the_user_inserts_between_a_hunk_and_its_neighbours_are_not_part_of_it() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two\n", "");
    fixture.agent("four", "4");
    fixture.user("one\n", "one\nafter one\n");
    fixture.user("4\n", "4\nbefore five\n");
    fixture.user("4\n", "after three\n4\n");
    fixture.shows(expect![[r#"
        0 "two\n" → ""
        1 "four\n" → "4\n"
    "#]]);
    assert_eq!(
        fixture.baseline(),
        "one\ntwo\nafter one\nthree\nafter three\nfour\nbefore five\nfive\n"
    );
    while fixture.undo() {}
    fixture.shows(expect![[""]]);
    assert_eq!(fixture.baseline(), FIVE);
}

#[test]
fn a_new_file_is_one_hunk_until_it_is_kept() {
    let mut fixture = Fixture::of(FileReview::created());
    fixture.splice(0..0, "a\nb", &agent("call"));
    fixture.shows(expect![[r#"
        0 "" → "a\nb"
    "#]]);
    fixture.reject_all();
    assert_eq!((fixture.text().as_str(), fixture.review.existed()), ("", false));
    fixture.undo();
    fixture.accept(0);
    assert!(fixture.review.existed());
}

#[test]
fn text_at_the_end_of_a_file_without_a_final_newline() {
    let mut fixture = Fixture::new("a\nb");
    fixture.agent("\nb", "\n");
    fixture.splice(2..2, "mine", &Author::User);
    fixture.shows(expect![[r#"
        0 mixed "b" → "mine"
    "#]]);
    fixture.reject_all();
    assert_eq!(fixture.text(), "a\nb\nmine");
}

#[test]
fn a_text_changed_while_not_observed_counts_as_a_user_edit() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "3");
    fixture.review.reconcile(&Text::new("zero\none\ntwo\n3\nfour\n"));
    fixture.check();
    fixture.shows(expect![[r#"
        0 "three\n" → "3\n"
    "#]]);
    fixture.review.reconcile(&Text::new(FIVE));
    fixture.shows(expect![[""]]);
}

#[test]
fn a_change_for_another_text_is_refused() {
    let mut fixture = Fixture::new(FIVE);
    assert!(fixture.review.apply(&Change::new(3, Vec::new()).unwrap(), &Author::User).is_err());
}

#[test]
fn patches_apply_to_the_baseline() {
    let mut fixture = Fixture::new("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12");
    fixture.agent("2\n", "");
    fixture.agent("4", "four\nvier");
    fixture.agent("12", "end\n");
    expect![[r#"
        --- a/dir/file.txt
        +++ b/dir/file.txt
        @@ -1,7 +1,7 @@
         1
        -2
         3
        -4
        +four
        +vier
         5
         6
         7
        @@ -9,4 +9,4 @@
         9
         10
         11
        -12
        \ No newline at end of file
        +end
    "#]]
    .assert_eq(&fixture.review.unified_patch(None, "dir/file.txt"));

    let last = fixture.review.hunks()[2].id;
    expect![[r#"
        --- a/f
        +++ b/f
        @@ -9,4 +9,4 @@
         9
         10
         11
        -12
        \ No newline at end of file
        +end
    "#]]
    .assert_eq(&fixture.review.unified_patch(Some(&[last]), "f"));
    assert_eq!(fixture.review.unified_patch(Some(&[]), "f"), "");

    let mut fixture = Fixture::of(FileReview::created());
    fixture.splice(0..0, "new\n", &agent("call"));
    expect![[r#"
        --- /dev/null
        +++ b/f
        @@ -0,0 +1 @@
        +new
    "#]]
    .assert_eq(&fixture.review.unified_patch(None, "f"));
}

#[test]
fn a_word_typed_inside_a_line_of_the_agent_is_known_and_can_go_with_the_hunk() {
    let inside = |what: &str, with: &str| {
        let mut fixture = Fixture::new("a\nold\nb\n");
        fixture.agent("old\n", "first\nsecond\n");
        fixture.user(what, with);
        let hunk = fixture.review.hunks()[0].clone();
        let kept = fixture.review.rejection(&[hunk.id], OwnText::Keep).unwrap();
        let dropped = fixture.review.rejection(&[hunk.id], OwnText::Drop).unwrap();
        let text = |change: Change| change.apply(fixture.review.current()).unwrap().to_string();
        (fixture.review.line_typed_in(&hunk), text(kept), text(dropped))
    };
    let base = "a\nold\nb\n".to_owned();
    for (what, with, line, kept) in [
        ("first", "first // short", Some("first // short\n"), "a\nfirst // short\nold\nb\n"),
        ("second", "seXcond", Some("seXcond\n"), "a\nold\nseXcond\nb\n"),
        // Lines of the user's own are none of the agent's.
        ("first\n", "first\nmine\n", None, "a\nold\nmine\nb\n"),
        ("first\n", "mine\n", None, "a\nmine\nold\nb\n"),
        ("second", "mine\nsecond", None, "a\nold\nmine\nb\n"),
    ] {
        assert_eq!(inside(what, with), (line.map(Into::into), kept.into(), base.clone()), "{with}");
    }
}

/// Also where the rest of the file changed meanwhile, so that the text is no former one.
#[test]
fn typing_that_the_user_takes_back_by_hand_leaves_no_trace() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three\n", "first\nsecond\n");
    for (typed, again) in [("first // short", "first"), ("first\nmine", "first")] {
        fixture.user("first", typed);
        assert!(fixture.review.hunks()[0].mixed);
        fixture.user("five", "five!");
        fixture.user(typed, again);
        let hunk = fixture.review.hunks()[0].clone();
        assert_eq!((hunk.mixed, fixture.review.line_typed_in(&hunk)), (false, None), "{typed}");
    }
    fixture.reject_all();
    assert_eq!(fixture.text(), FIVE.replace("five", "five!!"));
}

#[test]
fn dropping_what_the_user_typed_settles_the_hunk_and_can_be_undone() {
    let mut fixture = Fixture::new("a\nold\nb\n");
    fixture.agent("old\n", "first\nsecond\n");
    fixture.user("first", "first // short");
    let shown = fixture.show();
    let id = fixture.review.hunks()[0].id;
    fixture.reject_these(&[id], OwnText::Drop);
    assert_eq!((fixture.text().as_str(), fixture.show().as_str()), ("a\nold\nb\n", ""));
    assert!(fixture.undo());
    assert_eq!(fixture.show(), shown);
}
