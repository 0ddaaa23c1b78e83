use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{
    between::{Ends, ends},
    *,
};

mod compose;

impl Change {
    pub(crate) fn len_after(&self) -> usize {
        self.edits
            .iter()
            .fold(self.len, |len, edit| len - edit.range.len() + edit.insert.chars().count())
    }

    /// Combines this change and then `next` into one. `next` is for the result of this change.
    pub(crate) fn compose(&self, next: &Change) -> Change {
        assert_eq!(next.len, self.len_after());
        Change::normal(self.len, compose::edits(self, next))
    }

    /// Returns the inverse change. `old` is the text to which this change applies.
    pub(crate) fn invert(&self, old: &Text) -> Change {
        let (mut removed, mut inserted) = (0, 0);
        let edits = self.edits.iter().map(|edit| {
            let start = edit.range.start - removed + inserted;
            let len = edit.insert.chars().count();
            removed += edit.range.len();
            inserted += len;
            Edit { range: start..start + len, insert: old.slice(edit.range.clone()) }
        });
        let edits = edits.collect();
        Change::normal(self.len_after(), edits)
    }
}

fn edit(range: Range<usize>, insert: &str) -> Edit {
    Edit { range, insert: insert.to_owned() }
}

fn show(change: &Change) -> String {
    let show = |edit: &Edit| format!("{:?} {:?}", edit.range, edit.insert);
    change.edits().iter().map(show).collect::<Vec<_>>().join("\n")
}

#[test]
fn new_sorts_and_joins_edits_and_refuses_overlapping_ones() {
    let check = |edits: &[Edit], expect: Expect| match Change::new(5, edits.to_vec()) {
        Ok(change) => expect.assert_eq(&show(&change)),
        Err(error) => expect.assert_eq(&error.to_string()),
    };
    check(
        &[edit(4..5, "b"), edit(0..1, "a")],
        expect![[r#"
        0..1 "a"
        4..5 "b""#]],
    );
    check(&[edit(2..2, "a"), edit(2..2, "b"), edit(2..3, "c")], expect![[r#"2..3 "abc""#]]);
    check(&[edit(2..2, "")], expect![[""]]);
    check(&[edit(0..3, "a"), edit(2..4, "b")], expect!["the edits 0..3 and 2..4 overlap"]);
    check(&[edit(4..6, "")], expect!["the edit 4..6 does not fit a text of 5 characters"]);
}

#[test]
fn between_is_minimal() {
    let check = |old: &str, new: &str, expect: Expect| {
        expect.assert_eq(&show(&Change::between(&Text::new(old), &Text::new(new))));
    };
    check("same\n", "same\n", expect![[""]]);
    check("", "a", expect![[r#"0..0 "a""#]]);
    check("one\ntwo\nthree\n", "one\n2\nthree\n", expect![[r#"4..7 "2""#]]);
    check("a\nb\nc\n", "a\nc\n", expect![[r#"2..4 """#]]);
    check("let x = 1;\n", "let x = 12;\n", expect![[r#"9..9 "2""#]]);
    check(
        "a\nb\nc\nd\n",
        "A\nb\nc\nD\n",
        expect![[r#"
        0..1 "A"
        6..7 "D""#]],
    );
    check("a😀b", "a😁b", expect![[r#"1..2 "😁""#]]);
    // A line ending is replaced as a whole, or not at all.
    check("a\r\n", "a\n", expect![[r#"1..3 "\n""#]]);
    check("a\n", "a\r\n", expect![[r#"1..2 "\r\n""#]]);
    check("a\rb", "a\r\nb", expect![[r#"1..2 "\r\n""#]]);
    check("a\r\n", "a\r", expect![[r#"1..3 "\r""#]]);
}

#[test]
fn a_change_between_texts_has_a_limited_number_of_edits() {
    let old: String = (0..5000).map(|i| format!("line {i}\n")).collect();
    let new: String = (0..5000)
        .map(|i| if i % 2 == 0 { format!("line {i}\n") } else { format!("{i}\n") })
        .collect();
    let (old, new) = (Text::new(&old), Text::new(&new));
    let change = Change::between(&old, &new);
    assert_eq!(change.edits().len(), 900);
    assert_eq!(change.apply(&old).unwrap(), new);
}

#[test]
fn between_is_minimal_for_a_change_far_inside_a_text() {
    let lines = |changed: &str| -> Text {
        let around = |range: Range<u32>| range.map(|i| format!("line {i}\n")).collect::<String>();
        Text::new(&format!("{}{changed}{}", around(0..1000), around(1000..2000)))
    };
    let change = Change::between(&lines("a\nb\nc\n"), &lines("a\nB\nc\nd\n"));
    expect![[r#"
        8892..8893 "B"
        8896..8896 "d\n""#]]
    .assert_eq(&show(&change));
}

#[test]
fn a_text_of_another_length_is_refused() {
    let change = Change::single(3, 0..1, "x").unwrap();
    let error = change.apply(&Text::new("ab")).unwrap_err();
    assert_eq!(error.to_string(), "a change made for 3 characters cannot apply to 2");
}

#[test]
fn offsets_follow_a_change() {
    // 0123456789 → 01XY234789
    let change = Change::new(10, vec![edit(2..2, "XY"), edit(5..7, "")]).unwrap();
    let check = |offset, before, after| {
        assert_eq!(change.map_offset(offset, Assoc::Before), before, "{offset} before");
        assert_eq!(change.map_offset(offset, Assoc::After), after, "{offset} after");
    };
    check(0, 0, 0);
    check(2, 2, 4);
    check(3, 5, 5);
    check(5, 7, 7);
    check(6, 7, 7);
    check(7, 7, 7);
    check(10, 10, 10);
    check(99, 10, 10);
}

fn text() -> impl Strategy<Value = Text> {
    let line = prop_oneof!["[ab😀]{0,3}\n", "[ab]{0,3}\r\n", "[ab]{0,2}\r", "[ab]{0,2}"];
    prop::collection::vec(line, 0..8).prop_map(|lines| Text::new(&lines.concat()))
}

fn change(len: usize) -> impl Strategy<Value = Change> {
    let cut = (0..=len, "[xy\r\n😀]{0,3}");
    prop::collection::vec(cut, 0..7).prop_map(move |mut cuts| {
        cuts.sort();
        let edits = cuts.chunks(2).map(|pair| edit(pair[0].0..pair[pair.len() - 1].0, &pair[0].1));
        Change::new(len, edits.collect()).unwrap()
    })
}

fn text_and_change() -> impl Strategy<Value = (Text, Change)> {
    text().prop_flat_map(|text| {
        let change = change(text.len_chars());
        (Just(text), change)
    })
}

proptest! {
    #[test]
    fn between_gives_the_change_from_the_old_to_the_new_text(old in text(), new in text()) {
        let change = Change::between(&old, &new);
        prop_assert_eq!(change.len_after(), new.len_chars());
        prop_assert_eq!(change.apply(&old).unwrap(), new);
        for edit in change.edits() {
            for at in [edit.range.start, edit.range.end] {
                prop_assert_eq!(old.char_of(old.position_of(at)), at, "an editor can say it");
            }
        }
    }

    /// Lines that a comparison leaves out are equal, and no line is counted twice.
    #[test]
    fn common_prefix_and_suffix_of_two_texts_are_equal_and_do_not_overlap(old in text(), new in text()) {
        let Ends { before, after } = ends(&old, &new);
        let [a, b] = [&old, &new].map(|text| text.filled_lines());
        prop_assert!(before + after <= a.min(b));
        prop_assert_eq!(old.lines_slice(0..before), new.lines_slice(0..before));
        prop_assert_eq!(old.lines_slice(a - after..a), new.lines_slice(b - after..b));
    }

    #[test]
    fn inverted_change_restores_the_old_text((old, change) in text_and_change()) {
        let new = change.apply(&old).unwrap();
        let inverse = change.invert(&old);
        prop_assert_eq!(&inverse.apply(&new).unwrap(), &old);
        prop_assert_eq!(inverse.invert(&new), change);
    }

    #[test]
    fn composed_change_equals_both_changes_in_turn(
        (old, first, second) in text_and_change().prop_flat_map(|(text, first)| {
            let second = change(first.len_after());
            (Just(text), Just(first), second)
        }),
    ) {
        let both = second.apply(&first.apply(&old).unwrap()).unwrap();
        prop_assert_eq!(first.compose(&second).apply(&old).unwrap(), both);
    }

    #[test]
    fn offsets_outside_of_edits_stay_at_the_same_character((old, change) in text_and_change()) {
        let new = change.apply(&old).unwrap();
        for at in 0..old.len_chars() {
            if !change.edits().iter().any(|edit| edit.range.contains(&at)) {
                let mapped = change.map_offset(at, Assoc::After);
                prop_assert_eq!(new.char_at(mapped), old.char_at(at));
            }
        }
    }
}
