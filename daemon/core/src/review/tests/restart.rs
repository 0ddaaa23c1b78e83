//! A review that is written down and taken up again.

use proptest::prelude::*;

use super::{
    laws::{any_op, config, ops, text},
    *,
};

fn restored(snapshot: ReviewSnapshot) -> Result<FileReview, String> {
    let review = FileReview::from(snapshot);
    review.check()?;
    Ok(review)
}

impl Fixture {
    /// Another process goes on, with the text it finds.
    fn restart(&mut self, found: &str) -> Vec<Outdated> {
        *self = Fixture::of(restored(self.review.snapshot()).unwrap());
        let outdated = self.review.reconcile_restored(&Text::new(found));
        assert_eq!(self.text(), found);
        self.check();
        outdated
    }

    fn finds(mut self, found: &str, outdated: Expect, pending: Expect) {
        let show = |gone: &Outdated| {
            let Outdated { id, old_text, new_text, line, .. } = gone;
            format!("{} {old_text:?} → {new_text:?} at line {line}\n", id.0)
        };
        outdated.assert_eq(&self.restart(found).iter().map(show).collect::<String>());
        self.shows(pending);
    }
}

fn two_hunks() -> Fixture {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two\n", "2\n2b\n");
    fixture.agent("four\n", "");
    fixture
}

#[test]
fn a_snapshot_is_plain_data() {
    let review = two_hunks().review;
    let read: FileReview = serde_json::from_str(&serde_json::to_string(&review).unwrap()).unwrap();
    assert_eq!(read.snapshot(), review.snapshot());
    let mut named = review.clone();
    for text in RecordPart::Review(&mut named).texts() {
        *text = Text::new(&text.len_chars().to_string());
    }
    let [baseline, current] = [review.baseline(), review.current()].map(Text::len_chars);
    assert_eq!(named.baseline().to_string(), baseline.to_string());
    assert_eq!(named.current().to_string(), current.to_string());
}

#[test]
fn a_snapshot_whose_hunks_do_not_fit_its_texts_is_refused() {
    let check = |spoil: fn(&mut ReviewSnapshot), expect: Expect| {
        let mut snapshot = two_hunks().review.snapshot();
        spoil(&mut snapshot);
        let error = restored(snapshot).unwrap_err();
        // Which hunk it is takes many words.
        let (head, tail) = (error.find("Hunk {"), error.rfind('}'));
        let short = match (head, tail) {
            (Some(head), Some(tail)) => format!("{}…{}", &error[..head], &error[tail + 1..]),
            _ => error,
        };
        expect.assert_eq(&short);
    };
    check(|s| s.baseline = Text::new("one\n"), expect!["… is not in the texts"]);
    check(
        |s| s.current = Text::new(FIVE),
        expect![[r#""three\n" and "four\n" differ outside of hunks"#]],
    );
    check(
        |s| s.hunks.reverse(),
        expect![[r#""one\ntwo\nthree\n" and "one\n2\n2b\nthree\n" differ outside of hunks"#]],
    );
    check(|s| s.hunks[1].id = HunkId(0), expect!["… is there twice"]);
    check(|s| s.hunks[0].new = usize::MAX - 1..usize::MAX, expect!["… is not in the texts"]);
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    check(|s| s.hunks[0].old = 2..1, expect!["… is not in the texts"]);
    check(|s| s.hunks[0].user.push(true), expect!["… does not know whose its lines are"]);
    check(|s| s.hunks[0].user[0] = true, expect!["… would lose what the user typed"]);
    check(|s| s.hunks[0].kin.push(HunkId(7)), expect!["id 7 was never given out"]);
    check(|s| s.next_id = 1, expect!["id 1 was never given out"]);
    check(|s| s.next_id = u64::MAX, expect!["18446744073709551615 ids cannot have been given out"]);
    check(
        |s| s.hunks.truncate(1),
        expect![[r#""three\nfour\nfive\n" and "three\nfive\n" differ outside of hunks"#]],
    );
}

#[test]
fn a_hunk_still_in_the_text_is_pending_after_a_restart() {
    two_hunks().finds(
        "one\n2\n2b\nthree\nfive\n",
        expect![],
        expect![[r#"
        0 "two\n" → "2\n2b\n"
        1 "four\n" → ""
    "#]],
    );
    // The user edited beside and inside.
    two_hunks().finds(
        "zero\none\n2\nmine\n2b\nthree\nfive\n",
        expect![],
        expect![[r#"
        0 mixed "two\n" → "2\nmine\n2b\n"
        1 "four\n" → ""
    "#]],
    );
    // A formatter re-indented it.
    two_hunks().finds(
        "one\n  2\n  2b\nthree\nfive\n",
        expect![],
        expect![[r#"
        0 mixed "two\n" → "  2\n  2b\n"
        1 "four\n" → ""
    "#]],
    );
    // One line of it is left.
    two_hunks().finds(
        "one\n2b\nthree\nfive\n",
        expect![],
        expect![[r#"
        0 mixed "two\n" → "2b\n"
        1 "four\n" → ""
    "#]],
    );
}

#[test]
fn a_hunk_gone_from_the_text_is_outdated_after_a_restart() {
    two_hunks().finds(
        FIVE,
        expect![[r#"
        0 "two\n" → "2\n2b\n" at line 1
        1 "four\n" → "" at line 3
    "#]],
        expect![],
    );
    // Only the first one: back to the old lines, to others, to none.
    two_hunks().finds(
        "one\ntwo\nthree\nfive\n",
        expect![[r#"
        0 "two\n" → "2\n2b\n" at line 1
    "#]],
        expect![[r#"
        1 "four\n" → ""
    "#]],
    );
    two_hunks().finds(
        "zero\none\nzwei\nthree\nfive\n",
        expect![[r#"
        0 "two\n" → "2\n2b\n" at line 2
    "#]],
        expect![[r#"
        1 "four\n" → ""
    "#]],
    );
    two_hunks().finds(
        "one\nthree\nfive\n",
        expect![[r#"
        0 "two\n" → "2\n2b\n" at line 1
    "#]],
        expect![[r#"
        1 "four\n" → ""
    "#]],
    );
}

#[test]
fn a_restored_review_goes_on_as_before() {
    let mut fixture = two_hunks();
    assert_eq!(fixture.restart("one\nmine\n2\n2b\nthree\nfive\n"), []);
    fixture.agent("three", "3");
    assert_eq!(fixture.review.hunks().len(), 1);
    fixture.reject_all();
    assert_eq!(fixture.text(), "one\nmine\ntwo\nthree\nfour\nfive\n");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_restart_loses_no_hunk_silently(
        original in text(),
        ops in ops(any_op()),
        found in text(),
        edits in ops(any_op()),
    ) {
        let mut fixture = Fixture::new(&original);
        fixture.run_all(ops);
        let (recorded, snapshot) = (fixture.text(), fixture.review.snapshot());
        prop_assert_eq!(fixture.restart(&recorded), []);
        prop_assert_eq!(fixture.review.snapshot(), snapshot.clone());

        let mut far = Fixture::of(fixture.review.clone());
        let outdated = far.restart(&found);
        prop_assert!(outdated.iter().all(|gone| far.review.hunk(gone.id).is_none()));
        prop_assert!(outdated.len() <= snapshot.hunks.len());
        if far.review.is_settled() {
            prop_assert_eq!(outdated.len(), snapshot.hunks.len());
        }
        far.run_all(edits.clone());

        // An edit that the user made while nobody looked.
        let mut near = Fixture::of(fixture.review.clone());
        near.run_all(edits);
        fixture.restart(&near.text());
        fixture.reject_all();
    }

    #[test]
    fn any_snapshot_is_refused_or_gives_a_valid_review(
        baseline in text(),
        current in text(),
        next_id in 0..4_u64,
        hunks in prop::collection::vec((0..4_u64, 0..6_usize, 0..6_usize, 0..6_usize, 0..6_usize, prop::collection::vec(any::<bool>(), 0..4)), 0..3),
        ops in ops(any_op()),
    ) {
        let hunk = |(id, a, b, c, d, user): (u64, usize, usize, usize, usize, Vec<bool>)| Hunk {
            id: HunkId(id),
            old: a..b,
            new: c..d,
            origin: Arc::new(Origin::default()),
            mixed: user.contains(&true),
            typed_inside: user.contains(&true),
            kin: Vec::new(),
            user,
        };
        let [baseline, current] = [baseline, current].map(|text| Text::new(&text));
        let hunks = hunks.into_iter().map(hunk).collect();
        let snapshot = ReviewSnapshot { baseline, current, existed: true, next_id, hunks };
        if let Ok(review) = restored(snapshot) {
            Fixture::of(review).run_all(ops);
        }
    }
}
