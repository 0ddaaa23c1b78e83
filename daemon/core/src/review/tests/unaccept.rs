//! What it means to take an accept back.

use proptest::prelude::*;

use super::{
    laws::{agent_op, any_op, config, ops, text, user_op},
    *,
};

/// Five lines, of which "two" and "four" were replaced; both are accepted.
fn accepted() -> (Bench, FileReview, Vec<HunkId>) {
    let mut bench = Bench::new(FIVE);
    bench.agent("two\n", "2\n2b\n");
    bench.agent("four\n", "");
    let former = bench.review.clone();
    let ids = former.hunks().iter().map(|hunk| hunk.id).collect();
    bench.review.accept_all();
    (bench, former, ids)
}

fn taken_back(after: impl Fn(&mut Bench), refused: Expect, pending: Expect) {
    let (mut bench, former, ids) = accepted();
    after(&mut bench);
    let text = bench.text();
    let reasons = bench.review.unaccept(&former, &ids);
    bench.check();
    assert_eq!(bench.text(), text);
    let show = |(id, reason): &(HunkId, StaysAccepted)| format!("{}: {reason}\n", id.0);
    refused.assert_eq(&reasons.iter().map(show).collect::<String>());
    bench.shows(pending);
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
        |bench| bench.user("one", "zero\nuno"),
        expect![],
        expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |bench| bench.agent("three", "3"),
        expect![],
        expect![[r#"
        0 "two\nthree\nfour\n" → "2\n2b\n3\n"
    "#]],
    );
    taken_back(
        |bench| bench.agent("five", "5\n6"),
        expect![],
        expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\nfive\n" → "5\n6\n"
    "#]],
    );
    taken_back(
        |bench| bench.agent("one\n", ""),
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
        |bench| bench.user("2b", "mine"),
        expect![[r#"
        0: its lines changed since
    "#]],
        expect![[r#"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |bench| bench.user("2\n", "2\nmine\n"),
        expect![[r#"
        0: its lines changed since
    "#]],
        expect![[r#"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |bench| bench.agent("2b", "two b"),
        expect![[r#"
        0: a newer proposal changes its lines
    "#]],
        expect![[r#"
        2 "2b\n" → "two b\n"
        1 "four\n" → ""
    "#]],
    );
    taken_back(
        |bench| bench.agent("three\nfive", "3\n5"),
        expect![[r#"
        1: a newer proposal changes its lines
    "#]],
        expect![[r#"
        0 "two\nthree\nfive\n" → "2\n2b\n3\n5\n"
    "#]],
    );
    taken_back(
        |bench| drop(bench.review.unaccept(&accepted().1, &[HunkId(0)])),
        expect![[r#"
            0: it is not accepted
        "#]],
        expect![[r#"
            0 "two\n" → "2\n2b\n"
            1 "four\n" → ""
        "#]],
    );
}

#[test]
fn a_creation_is_a_proposal_again() {
    let mut bench = Bench::of(FileReview::created());
    bench.splice(0..0, "a\n", &agent("call"));
    let former = bench.review.clone();
    bench.accept(0);
    assert_eq!(bench.review.unaccept(&former, &[HunkId(0)]), []);
    assert!(!bench.review.existed());
    assert_eq!(bench.review.snapshot(), former.snapshot());
}

/// What the last line ends with decides whether something can follow it.
#[test]
fn an_old_last_line_without_an_ending_does_not_run_into_what_follows() {
    let mut bench = Bench::new("a\nb");
    bench.agent("b", "c\n");
    let former = bench.review.clone();
    bench.accept(0);
    bench.splice(4..4, "mine\n", &Author::User);
    let refused = bench.review.unaccept(&former, &[HunkId(0)]);
    assert_eq!(refused, [(HunkId(0), StaysAccepted::Changed)]);
}

#[test]
fn no_undo_leads_back_to_an_accept_that_was_taken_back() {
    let (mut bench, former, ids) = accepted();
    bench.user("one", "uno");
    bench.agent("five", "5");
    assert_eq!(bench.review.unaccept(&former, &ids), []);
    let pending = bench.show();
    bench.undo();
    bench.undo();
    bench.shows(expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\n" → ""
    "#]]);
    bench.redo();
    bench.redo();
    assert_eq!(bench.show(), pending);
    bench.reject_all();
    assert_eq!(bench.text(), FIVE.replace("one", "uno"));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_accept_taken_back_at_once_was_never_there(
        original in text(),
        ops in ops(any_op()),
        picks in prop::collection::vec(any::<bool>(), 12),
    ) {
        let mut bench = Bench::new(&original);
        bench.run_all(ops);
        let former = bench.review.clone();
        let picked = former.hunks().iter().zip(picks).filter(|&(_, pick)| pick);
        let ids: Vec<HunkId> = picked.map(|(hunk, _)| hunk.id).collect();
        prop_assert_eq!(bench.review.accept_many(&ids), ids.len());
        prop_assert_eq!(bench.review.unaccept(&former, &ids), []);
        prop_assert_eq!(bench.review.snapshot(), former.snapshot());
    }

    #[test]
    fn an_accept_taken_back_later_is_pending_or_says_why(
        original in text(),
        before in ops(prop_oneof![agent_op(), user_op()]),
        after in ops(any_op()),
        then in ops(any_op()),
    ) {
        let mut bench = Bench::new(&original);
        bench.run_all(before);
        let former = bench.review.clone();
        let ids: Vec<HunkId> = former.hunks().iter().map(|hunk| hunk.id).collect();
        bench.review.accept_all();
        bench.run_all(after);
        let (text, newer) = (bench.text(), bench.review.snapshot());
        let refused = bench.review.unaccept(&former, &ids);
        bench.check();
        prop_assert_eq!(bench.text(), text);
        for hunk in &newer.hunks {
            let holds = |heir: &Hunk| heir.lineage().any(|id| id == hunk.id);
            prop_assert!(bench.review.hunks().iter().any(holds), "a newer hunk went");
        }
        if refused.len() == ids.len() {
            prop_assert_eq!(bench.review.snapshot(), newer);
        }
        bench.run_all(then);
    }
}
