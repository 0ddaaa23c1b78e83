//! Taking an accept back.

use proptest::prelude::*;

use super::{
    laws::{agent_op, any_op, config, ops, text, user_op},
    *,
};

/// Five lines, of which "two" and "four" were replaced; both are accepted.
fn accepted() -> (Fixture, FileReview, Vec<HunkId>) {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two\n", "2\n2b\n");
    fixture.agent("four\n", "");
    let former = fixture.review.clone();
    let ids = former.hunks().iter().map(|hunk| hunk.id).collect();
    fixture.review.accept_all();
    (fixture, former, ids)
}

fn taken_back(after: impl Fn(&mut Fixture), refused: Expect, pending: Expect) {
    let (mut fixture, former, ids) = accepted();
    after(&mut fixture);
    let text = fixture.text();
    let reasons = fixture.review.unaccept(&former, &ids);
    fixture.check();
    assert_eq!(fixture.text(), text);
    let show = |(id, reason): &(HunkId, StaysAccepted)| format!("{}: {reason}\n", id.0);
    refused.assert_eq(&reasons.iter().map(show).collect::<String>());
    fixture.shows(pending);
}

#[test]
fn an_accept_is_taken_back_beside_newer_edits() {
    taken_back(
        |_| {},
        expect![],
        expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |fixture| fixture.user("one", "zero\nuno"),
        expect![],
        expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |fixture| fixture.agent("three", "3"),
        expect![],
        expect![[r#"
        0 "two\nthree\nfour\n" → "2\n2b\n3\n"
    "#]],
    );
    taken_back(
        |fixture| fixture.agent("five", "5\n6"),
        expect![],
        expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\nfive\n" → "5\n6\n"
    "#]],
    );
    taken_back(
        |fixture| fixture.agent("one\n", ""),
        expect![],
        expect![[r#"
        2 "one\ntwo\n" → "2\n2b\n"
        1 "four\n" → ""
    "#]],
    );
}

#[test]
fn an_accept_stays_where_its_lines_changed_since() {
    taken_back(
        |fixture| fixture.user("2b", "mine"),
        expect![[r#"
        0: its lines changed since
    "#]],
        expect![[r#"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |fixture| fixture.user("2\n", "2\nmine\n"),
        expect![[r#"
        0: its lines changed since
    "#]],
        expect![[r#"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |fixture| fixture.agent("2b", "two b"),
        expect![[r#"
        0: a newer proposal changes its lines
    "#]],
        expect![[r#"
        2 "2b\n" → "two b\n"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |fixture| fixture.agent("three\nfive", "3\n5"),
        expect![[r#"
        1: a newer proposal changes its lines
    "#]],
        expect![[r#"
        0 "two\nthree\nfive\n" → "2\n2b\n3\n5\n"
    "#]],
    );
    taken_back(
        |fixture| drop(fixture.review.unaccept(&accepted().1, &[HunkId(0)])),
        expect![[r#"
            0: it is not accepted
        "#]],
        expect![[r#"
            0 "two\n" → "2\n2b\n"
            1 "four\n" → ""
        "#]],
    );
}

/// A closed file without proposals is forgotten, so that its next review gives out the same ids.
#[test]
fn an_accept_of_a_forgotten_review_is_taken_back_beside_a_hunk_of_the_same_id() {
    let (mut fixture, former, ids) = accepted();
    fixture.review = FileReview::new(Text::from(fixture.text().as_str()));
    fixture.replace("five", "5", &agent("newer"));
    assert_eq!(fixture.review.unaccept(&former, &ids), []);
    fixture.check();
    fixture.shows(expect![[r#"
        2 "two\n" → "2\n2b\n"
        1 "four\nfive\n" → "5\n"
    "#]]);
    fixture.reject_all();
    assert_eq!(fixture.text(), FIVE);
}

#[test]
fn a_creation_is_a_proposal_again() {
    let mut fixture = Fixture::of(FileReview::created());
    fixture.splice(0..0, "a\n", &agent("call"));
    let former = fixture.review.clone();
    fixture.accept(0);
    assert_eq!(fixture.review.unaccept(&former, &[HunkId(0)]), []);
    assert!(!fixture.review.existed());
    assert_eq!(fixture.review.snapshot(), former.snapshot());
}

/// The end of the last line decides whether a line can follow it.
#[test]
fn an_old_last_line_without_an_ending_does_not_run_into_what_follows() {
    let mut fixture = Fixture::new("a\nb");
    fixture.agent("b", "c\n");
    let former = fixture.review.clone();
    fixture.accept(0);
    fixture.splice(4..4, "mine\n", &Author::User);
    let refused = fixture.review.unaccept(&former, &[HunkId(0)]);
    assert_eq!(refused, [(HunkId(0), StaysAccepted::Changed)]);
}

#[test]
fn no_undo_restores_an_accept_that_was_taken_back() {
    let (mut fixture, former, ids) = accepted();
    fixture.user("one", "uno");
    fixture.agent("five", "5");
    assert_eq!(fixture.review.unaccept(&former, &ids), []);
    let pending = fixture.show();
    fixture.undo();
    fixture.undo();
    fixture.shows(expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\n" → ""
    "#]]);
    fixture.redo();
    fixture.redo();
    assert_eq!(fixture.show(), pending);
    fixture.reject_all();
    assert_eq!(fixture.text(), FIVE.replace("one", "uno"));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_accept_taken_back_at_once_leaves_no_trace(
        original in text(),
        ops in ops(any_op()),
        picks in prop::collection::vec(any::<bool>(), 12),
    ) {
        let mut fixture = Fixture::new(&original);
        fixture.run_all(ops);
        let former = fixture.review.clone();
        let picked = former.hunks().iter().zip(picks).filter(|&(_, pick)| pick);
        let ids: Vec<HunkId> = picked.map(|(hunk, _)| hunk.id).collect();
        prop_assert_eq!(fixture.review.accept_many(&ids), ids.len());
        prop_assert_eq!(fixture.review.unaccept(&former, &ids), []);
        prop_assert_eq!(fixture.review.snapshot(), former.snapshot());
    }

    #[test]
    fn an_accept_taken_back_later_is_pending_or_says_why(
        original in text(),
        before in ops(prop_oneof![agent_op(), user_op()]),
        after in ops(any_op()),
        then in ops(any_op()),
    ) {
        let mut fixture = Fixture::new(&original);
        fixture.run_all(before);
        let former = fixture.review.clone();
        let ids: Vec<HunkId> = former.hunks().iter().map(|hunk| hunk.id).collect();
        fixture.review.accept_all();
        fixture.run_all(after);
        let (text, newer) = (fixture.text(), fixture.review.snapshot());
        let refused = fixture.review.unaccept(&former, &ids);
        fixture.check();
        prop_assert_eq!(fixture.text(), text);
        for hunk in &newer.hunks {
            let holds = |heir: &Hunk| heir.lineage().any(|id| id == hunk.id);
            prop_assert!(fixture.review.hunks().iter().any(holds), "a newer hunk went");
        }
        if refused.len() == ids.len() {
            prop_assert_eq!(fixture.review.snapshot(), newer);
        }
        fixture.run_all(then);
    }
}
