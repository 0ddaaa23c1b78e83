//! What an editor's undo and redo mean for a review.

use super::*;

#[test]
fn undo_of_a_proposal_takes_the_hunk_away_and_redo_brings_it_back() {
    let mut bench = Bench::new(FIVE);
    bench.agent("three", "3");
    bench.undo();
    bench.shows(expect![[""]]);
    bench.redo();
    bench.shows(expect![[r#"
        0 "three\n" → "3\n"
    "#]]);
    assert_eq!(bench.baseline(), FIVE);
}

#[test]
fn undo_of_a_rejection_makes_it_pending_again() {
    let mut bench = Bench::new(FIVE);
    bench.agent("three", "3");
    bench.reject(0);
    bench.undo();
    bench.shows(expect![[r#"
        0 "three\n" → "3\n"
    "#]]);
    bench.redo();
    bench.shows(expect![[""]]);
    assert_eq!(bench.baseline(), FIVE);
}

#[test]
fn undo_does_not_take_an_acceptance_back() {
    let mut bench = Bench::new(FIVE);
    bench.agent("two", "2");
    bench.agent("four", "4");
    bench.accept(0);
    bench.undo();
    bench.shows(expect![[""]]);
    assert_eq!(bench.baseline(), "one\n2\nthree\nfour\nfive\n");
    bench.redo();
    bench.shows(expect![[r#"
        1 "four\n" → "4\n"
    "#]]);
}

#[test]
fn undo_of_a_rejection_after_an_acceptance_does_not_accept_what_it_brings_back() {
    let mut bench = Bench::new(FIVE);
    bench.agent("two", "2");
    bench.agent("four", "4");
    bench.reject(1);
    bench.accept(0);
    bench.undo();
    bench.shows(expect![[r#"
        1 "four\n" → "4\n"
    "#]]);
    assert_eq!(bench.baseline(), "one\n2\nthree\nfour\nfive\n");
}

#[test]
fn undo_before_a_merge_of_accepted_hunks_shows_no_hunk() {
    let mut bench = Bench::new(FIVE);
    bench.agent("two", "2");
    bench.agent("four", "4");
    bench.agent("three", "3");
    bench.accept(0);
    while bench.undo() {
        bench.shows(expect![[""]]);
    }
    while bench.redo() {
        bench.shows(expect![[""]]);
    }
}

#[test]
fn undo_of_a_manual_revert_makes_it_pending_again() {
    let mut bench = Bench::new(FIVE);
    bench.agent("three", "3");
    bench.user("one", "uno");
    bench.user("3", "three");
    bench.shows(expect![[""]]);
    bench.undo();
    bench.shows(expect![[r#"
        0 "three\n" → "3\n"
    "#]]);
}

#[test]
fn a_text_that_was_there_before_by_chance_is_not_an_undo() {
    let mut bench = Bench::new(FIVE);
    bench.agent("three", "3");
    bench.user("one\n", "mine\nand this\none\n");
    bench.agent("mine\n", "");
    bench.user("and this\n", "");
    bench.shows(expect![[r#"
        1 "mine\n" → ""
        0 "three\n" → "3\n"
    "#]]);
    bench.reject_all();
    assert_eq!(bench.text(), "mine\none\ntwo\nthree\nfour\nfive\n");
}

#[test]
fn undo_finds_its_way_through_texts_that_come_twice() {
    let mut bench = Bench::new(FIVE);
    bench.agent("two", "2");
    bench.agent("four", "4");
    bench.reject(1);
    bench.agent("five", "5");
    bench.reject(1);
    let mut seen = vec![bench.show()];
    while bench.undo() {
        seen.push(bench.show());
    }
    let two = "0 \"two\\n\" → \"2\\n\"\n";
    let (four, five) = ("1 \"four\\n\" → \"4\\n\"\n", "2 \"five\\n\" → \"5\\n\"\n");
    let expect = [two.to_owned(), two.to_owned() + five, two.to_owned(), two.to_owned() + four];
    assert_eq!(seen[..4], expect);
    assert_eq!(seen[4..], [two, ""]);
    while bench.redo() {
        seen.pop();
        assert_eq!(Some(&bench.show()), seen.last());
    }
}

#[test]
fn undo_of_a_user_edit_that_joins_hunks_parts_them_again() {
    let mut bench = Bench::new("zero\none\ntwo\nthree\nfour\nfive\n");
    bench.agent("four\nfive\n", "");
    bench.agent("two\n", "2\n2\n");
    bench.agent("zero\none\n", "");
    bench.user("2\n", "<mine>2\n");
    let apart = bench.show();
    // Outside of all hunks, but it leaves nothing between the last two.
    bench.user("three\n", "three<more>");
    bench.shows(expect![[r#"
        1 mixed "zero\none\ntwo\nthree\nfour\nfive\n" → "<mine>2\n2\nthree<more>"
    "#]]);
    bench.reject(0);
    bench.undo();
    bench.undo();
    assert_eq!(bench.show(), apart);
    while bench.undo() {}
    bench.shows(expect![[""]]);
}

#[test]
fn a_step_that_is_an_undo_or_a_redo_accepts_nothing() {
    let mut bench = Bench::new(FIVE);
    bench.agent("one", "1");
    bench.reject(0);
    bench.user("two\n", "two\nmine\n");
    bench.agent("mine\n", "");
    let deleted = bench.show();
    expect![[r#"
        1 "mine\n" → ""
    "#]]
    .assert_eq(&deleted);
    bench.undo();
    bench.shows(expect![[""]]);
    bench.redo();
    assert_eq!(bench.show(), deleted);
    bench.undo();
    bench.undo();
    assert_eq!((bench.text().as_str(), bench.show()), (FIVE, deleted));
    bench.reject(0);
    assert_eq!(bench.text(), "one\ntwo\nmine\nthree\nfour\nfive\n");
}

#[test]
fn an_undo_of_several_edits_at_once_accepts_nothing() {
    let mut bench = Bench::new(FIVE);
    bench.agent("two", "2");
    bench.agent("four", "4");
    let pending = bench.show();
    bench.undo_at_once(2);
    bench.shows(expect![[""]]);
    bench.redo();
    assert_eq!((bench.baseline().as_str(), bench.show()), (FIVE, pending.clone()));

    // Two rejections: what comes back is pending again.
    bench.reject(0);
    bench.reject(0);
    bench.undo_at_once(2);
    assert_eq!((bench.baseline().as_str(), bench.show()), (FIVE, pending));
    bench.redo();
    bench.shows(expect![[""]]);
}

#[test]
fn an_undo_of_edits_by_both_at_once_accepts_nothing() {
    let mut bench = Bench::new(FIVE);
    bench.agent("two", "2");
    bench.user("three\n", "mine\nthree\n");
    bench.agent("four", "4");
    let pending = bench.show();
    bench.undo_at_once(3);
    assert_eq!((bench.text().as_str(), bench.baseline().as_str()), (FIVE, FIVE));
    bench.shows(expect![[""]]);
    bench.redo();
    assert_eq!(bench.show(), pending);

    // What was typed right beside a hunk cannot be told from it: shown once too often.
    let mut bench = Bench::new(FIVE);
    bench.user("three\n", "three\nmine\n");
    bench.agent("four", "4");
    let pending = bench.show();
    bench.undo_at_once(2);
    bench.shows(expect![[r#"
        0 mixed "mine\n" → ""
    "#]]);
    bench.redo();
    assert_eq!(bench.show(), pending);
}

#[test]
fn undo_goes_back_past_a_rejection_and_typing_that_joined_hunks() {
    let mut bench = Bench::new("line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n");
    let original = bench.text();
    bench.agent("line 4\nline 5\n", "");
    bench.agent("line 0\n", "");
    bench.reject(0);
    bench.agent("line 2\n", "agent 2 0\nagent 2 1\n");
    bench.agent("line 0\nline 1\n", "");
    bench.splice(0..0, "<user 4>", &Author::User);
    bench.user("line 3\n", "line 3<user 5>");
    bench.reject(0);
    bench.splice(0..0, "agent 99 0\n", &agent("call"));
    let shown = bench.show();
    while bench.undo() {}
    assert_eq!((bench.text(), bench.show()), (original, String::new()));
    while bench.redo() {}
    assert_eq!(bench.show(), shown);
}

#[test]
fn a_line_of_the_agents_that_the_user_deletes_and_brings_back_is_the_agents() {
    let mut bench = Bench::new(FIVE);
    bench.agent("three\n", "a\nb\n");
    bench.user("a\n", "");
    bench.undo();
    bench.user("b", "mine");
    bench.undo();
    bench.shows(expect![[r#"
        0 "three\n" → "a\nb\n"
    "#]]);
    bench.reject(0);
    assert_eq!(bench.text(), FIVE);
}

/// Between what stands before a deletion and what stands behind it, the text tells no place.
#[test]
fn a_line_beside_a_deletion_that_comes_back_is_where_it_was() {
    let mut bench = Bench::new(FIVE);
    bench.agent("three\n", "");
    bench.user("one", "uno");
    bench.user("two\n", "");
    bench.undo();
    assert_eq!(bench.baseline(), FIVE.replace("one", "uno"));
}

#[test]
fn an_undo_of_a_rejection_and_typing_elsewhere_at_once_accepts_nothing() {
    for elsewhere in ["one", "five"] {
        let mut bench = Bench::new(FIVE);
        bench.agent("three", "3");
        let pending = bench.show();
        bench.user(elsewhere, "typed");
        bench.reject(0);
        bench.undo_at_once(2);
        assert_eq!((bench.baseline().as_str(), bench.show()), (FIVE, pending.clone()));

        bench.user(elsewhere, "again");
        bench.reject(0);
        bench.user("again", "and more");
        bench.undo_at_once(3);
        assert_eq!((bench.baseline().as_str(), bench.show()), (FIVE, pending));
        bench.redo();
        bench.shows(expect![[""]]);
        assert_eq!(bench.baseline(), bench.text());
    }
}
