//! Undo and redo of an editor, followed by the review.

use super::*;

#[test]
fn undo_of_a_proposal_takes_the_hunk_away_and_redo_brings_it_back() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "3");
    fixture.undo();
    fixture.shows(expect![[""]]);
    fixture.redo();
    fixture.shows(expect![[r#"
        0 "three\n" → "3\n"
    "#]]);
    assert_eq!(fixture.baseline(), FIVE);
}

#[test]
fn undo_of_a_rejection_makes_it_pending_again() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "3");
    fixture.reject(0);
    fixture.undo();
    fixture.shows(expect![[r#"
        0 "three\n" → "3\n"
    "#]]);
    fixture.redo();
    fixture.shows(expect![[""]]);
    assert_eq!(fixture.baseline(), FIVE);
}

#[test]
fn undo_does_not_take_an_acceptance_back() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two", "2");
    fixture.agent("four", "4");
    fixture.accept(0);
    fixture.undo();
    fixture.shows(expect![[""]]);
    assert_eq!(fixture.baseline(), "one\n2\nthree\nfour\nfive\n");
    fixture.redo();
    fixture.shows(expect![[r#"
        1 "four\n" → "4\n"
    "#]]);
}

#[test]
fn undo_of_a_rejection_after_an_acceptance_does_not_accept_what_it_brings_back() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two", "2");
    fixture.agent("four", "4");
    fixture.reject(1);
    fixture.accept(0);
    fixture.undo();
    fixture.shows(expect![[r#"
        1 "four\n" → "4\n"
    "#]]);
    assert_eq!(fixture.baseline(), "one\n2\nthree\nfour\nfive\n");
}

#[test]
fn undo_before_a_merge_of_accepted_hunks_shows_no_hunk() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two", "2");
    fixture.agent("four", "4");
    fixture.agent("three", "3");
    fixture.accept(0);
    while fixture.undo() {
        fixture.shows(expect![[""]]);
    }
    while fixture.redo() {
        fixture.shows(expect![[""]]);
    }
}

#[test]
fn undo_of_a_manual_revert_makes_it_pending_again() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "3");
    fixture.user("one", "uno");
    fixture.user("3", "three");
    fixture.shows(expect![[""]]);
    fixture.undo();
    fixture.shows(expect![[r#"
        0 "three\n" → "3\n"
    "#]]);
}

#[test]
fn a_text_that_was_there_before_by_chance_is_not_an_undo() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three", "3");
    fixture.user("one\n", "mine\nand this\none\n");
    fixture.agent("mine\n", "");
    fixture.user("and this\n", "");
    fixture.shows(expect![[r#"
        1 "mine\n" → ""
        0 "three\n" → "3\n"
    "#]]);
    fixture.reject_all();
    assert_eq!(fixture.text(), "mine\none\ntwo\nthree\nfour\nfive\n");
}

#[test]
fn undo_works_through_texts_that_occur_twice() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two", "2");
    fixture.agent("four", "4");
    fixture.reject(1);
    fixture.agent("five", "5");
    fixture.reject(1);
    let mut seen = vec![fixture.show()];
    while fixture.undo() {
        seen.push(fixture.show());
    }
    let two = "0 \"two\\n\" → \"2\\n\"\n";
    let (four, five) = ("1 \"four\\n\" → \"4\\n\"\n", "2 \"five\\n\" → \"5\\n\"\n");
    let expect = [two.to_owned(), two.to_owned() + five, two.to_owned(), two.to_owned() + four];
    assert_eq!(seen[..4], expect);
    assert_eq!(seen[4..], [two, ""]);
    while fixture.redo() {
        seen.pop();
        assert_eq!(Some(&fixture.show()), seen.last());
    }
}

#[test]
fn undo_of_a_user_edit_that_joined_hunks_splits_them_again() {
    let mut fixture = Fixture::new("zero\none\ntwo\nthree\nfour\nfive\n");
    fixture.agent("four\nfive\n", "");
    fixture.agent("two\n", "2\n2\n");
    fixture.agent("zero\none\n", "");
    fixture.user("2\n", "<mine>2\n");
    let apart = fixture.show();
    // Outside of all hunks, but it leaves nothing between the last two.
    fixture.user("three\n", "three<more>");
    fixture.shows(expect![[r#"
        1 mixed "zero\none\ntwo\nthree\nfour\nfive\n" → "<mine>2\n2\nthree<more>"
    "#]]);
    fixture.reject(0);
    fixture.undo();
    fixture.undo();
    assert_eq!(fixture.show(), apart);
    while fixture.undo() {}
    fixture.shows(expect![[""]]);
}

#[test]
fn a_step_that_is_an_undo_or_a_redo_accepts_nothing() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("one", "1");
    fixture.reject(0);
    fixture.user("two\n", "two\nmine\n");
    fixture.agent("mine\n", "");
    let deleted = fixture.show();
    expect![[r#"
        1 "mine\n" → ""
    "#]]
    .assert_eq(&deleted);
    fixture.undo();
    fixture.shows(expect![[""]]);
    fixture.redo();
    assert_eq!(fixture.show(), deleted);
    fixture.undo();
    fixture.undo();
    assert_eq!((fixture.text().as_str(), fixture.show()), (FIVE, deleted));
    fixture.reject(0);
    assert_eq!(fixture.text(), "one\ntwo\nmine\nthree\nfour\nfive\n");
}

#[test]
fn an_undo_of_several_edits_at_once_accepts_nothing() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two", "2");
    fixture.agent("four", "4");
    let pending = fixture.show();
    fixture.undo_at_once(2);
    fixture.shows(expect![[""]]);
    fixture.redo();
    assert_eq!((fixture.baseline().as_str(), fixture.show()), (FIVE, pending.clone()));

    // Two rejections: what comes back is pending again.
    fixture.reject(0);
    fixture.reject(0);
    fixture.undo_at_once(2);
    assert_eq!((fixture.baseline().as_str(), fixture.show()), (FIVE, pending));
    fixture.redo();
    fixture.shows(expect![[""]]);
}

#[test]
fn an_undo_of_edits_by_both_at_once_accepts_nothing() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("two", "2");
    fixture.user("three\n", "mine\nthree\n");
    fixture.agent("four", "4");
    let pending = fixture.show();
    fixture.undo_at_once(3);
    assert_eq!((fixture.text().as_str(), fixture.baseline().as_str()), (FIVE, FIVE));
    fixture.shows(expect![[""]]);
    fixture.redo();
    assert_eq!(fixture.show(), pending);

    // What was typed right beside a hunk cannot be told from it: shown once too often.
    let mut fixture = Fixture::new(FIVE);
    fixture.user("three\n", "three\nmine\n");
    fixture.agent("four", "4");
    let pending = fixture.show();
    fixture.undo_at_once(2);
    fixture.shows(expect![[r#"
        0 mixed "mine\n" → ""
    "#]]);
    fixture.redo();
    assert_eq!(fixture.show(), pending);
}

#[test]
fn undo_goes_back_past_a_rejection_and_typing_that_joined_hunks() {
    let mut fixture = Fixture::new("line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n");
    let original = fixture.text();
    fixture.agent("line 4\nline 5\n", "");
    fixture.agent("line 0\n", "");
    fixture.reject(0);
    fixture.agent("line 2\n", "agent 2 0\nagent 2 1\n");
    fixture.agent("line 0\nline 1\n", "");
    fixture.splice(0..0, "<user 4>", &Author::User);
    fixture.user("line 3\n", "line 3<user 5>");
    fixture.reject(0);
    fixture.splice(0..0, "agent 99 0\n", &agent("call"));
    let shown = fixture.show();
    while fixture.undo() {}
    assert_eq!((fixture.text(), fixture.show()), (original, String::new()));
    while fixture.redo() {}
    assert_eq!(fixture.show(), shown);
}

#[test]
fn a_line_of_the_agents_that_the_user_deletes_and_brings_back_is_the_agents() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three\n", "a\nb\n");
    fixture.user("a\n", "");
    fixture.undo();
    fixture.user("b", "mine");
    fixture.undo();
    fixture.shows(expect![[r#"
        0 "three\n" → "a\nb\n"
    "#]]);
    fixture.reject(0);
    assert_eq!(fixture.text(), FIVE);
}

/// Between what stands before a deletion and what stands behind it, the text tells no place.
#[test]
fn a_line_beside_a_deletion_that_comes_back_is_where_it_was() {
    let mut fixture = Fixture::new(FIVE);
    fixture.agent("three\n", "");
    fixture.user("one", "uno");
    fixture.user("two\n", "");
    fixture.undo();
    assert_eq!(fixture.baseline(), FIVE.replace("one", "uno"));
}

#[test]
fn an_undo_of_a_rejection_and_typing_elsewhere_at_once_accepts_nothing() {
    for elsewhere in ["one", "five"] {
        let mut fixture = Fixture::new(FIVE);
        fixture.agent("three", "3");
        let pending = fixture.show();
        fixture.user(elsewhere, "typed");
        fixture.reject(0);
        fixture.undo_at_once(2);
        assert_eq!((fixture.baseline().as_str(), fixture.show()), (FIVE, pending.clone()));

        fixture.user(elsewhere, "again");
        fixture.reject(0);
        fixture.user("again", "and more");
        fixture.undo_at_once(3);
        assert_eq!((fixture.baseline().as_str(), fixture.show()), (FIVE, pending));
        fixture.redo();
        fixture.shows(expect![[""]]);
        assert_eq!(fixture.baseline(), fixture.text());
    }
}
