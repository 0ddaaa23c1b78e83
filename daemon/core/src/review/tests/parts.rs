//! Parts of one replacement, each decided alone.

use proptest::prelude::*;

use super::{laws::config, *};

const BASE: &str =
    "import re\n\n\ndef short(text, max_length=45):\n    words = text.split()\n    return words\n";
const NEW: &str = "import re\n\n\ndef _cut(words, limit):\n    return words[:limit]\n\n\ndef short(text, limit=45):\n    words = text.split(None, limit)\n    return words\n";

/// The agent has inserted a function above one whose first lines it changed.
fn beside() -> Fixture {
    let mut fixture = Fixture::new(BASE);
    let change = Change::between(fixture.review.current(), &Text::new(NEW));
    fixture.perform(&change, &agent("call"));
    fixture
}

const INSERTED: &str = "0 \"\" → \"def _cut(words, limit):\\n    return words[:limit]\\n\\n\\n\"\n";
const CHANGED: &str = "1 \"def short(text, max_length=45):\\n    words = text.split()\\n\" → \"def short(text, limit=45):\\n    words = text.split(None, limit)\\n\"\n";

#[test]
fn an_insertion_above_changed_lines_is_an_edit_of_its_own() {
    let fixture = beside();
    assert_eq!(fixture.show(), format!("{INSERTED}{CHANGED}"));
}

/// Accepted alone, the lower part would turn the `\r` and its own `\n` into one ending.
#[test]
fn lines_behind_a_bare_carriage_return_have_no_parts() {
    for (before, hunks) in [("a\n", 2), ("a\r", 1)] {
        let old = format!("{before}name(a)\n");
        let mut fixture = Fixture::new(&old);
        let new = format!("{before}new\n\nname(b)\n");
        let change = Change::between(fixture.review.current(), &Text::new(&new));
        fixture.perform(&change, &agent("call"));
        assert_eq!(fixture.review.hunks().len(), hunks, "{before:?}: {}", fixture.show());
        fixture.accept(hunks - 1);
        fixture.reject_all();
        let expected = if hunks == 1 { new } else { format!("{before}name(b)\n") };
        assert_eq!(fixture.text(), expected);
    }
}

#[test]
fn each_part_is_decided_alone_and_undone_alone() {
    let both = format!("{INSERTED}{CHANGED}");
    for (index, left) in [(0, CHANGED), (1, INSERTED)] {
        let mut fixture = beside();
        fixture.reject(index);
        assert_eq!((fixture.show(), fixture.baseline()), (left.to_owned(), BASE.to_owned()));
        fixture.undo();
        assert_eq!(fixture.show(), both);
        fixture.redo();
        assert_eq!(fixture.show(), left);
        fixture.reject(0);
        assert_eq!(fixture.text(), BASE);

        let mut fixture = beside();
        let former = fixture.review.clone();
        let id = fixture.review.hunks()[index].id;
        fixture.accept(index);
        assert_eq!(fixture.show(), left);
        assert_eq!(fixture.review.unaccept(&former, &[id]), vec![]);
        fixture.check();
        assert_eq!((fixture.show(), fixture.baseline()), (both.clone(), BASE.to_owned()));
    }
}

#[test]
fn typing_in_one_part_leaves_the_other_as_it_is() {
    let mut fixture = beside();
    fixture.user("None, limit)", "None, limit)  # mine");
    assert_eq!(fixture.show().lines().next(), INSERTED.lines().next());
    fixture.reject(0);
    assert!(fixture.text().contains("# mine"));
    assert_eq!(fixture.review.hunks().len(), 1);

    let mut fixture = beside();
    fixture.user("def short(text, limit", "MINE = 1\ndef short(text, limit");
    assert_eq!(fixture.review.hunks().len(), 2);
    fixture.reject_all();
    assert_eq!(fixture.text(), BASE.replace("def short", "MINE = 1\ndef short"));
}

#[test]
fn a_later_call_that_changes_one_part_is_the_origin_of_that_part_alone() {
    let mut fixture = beside();
    fixture.replace("limit=45", "limit=40", &agent("later"));
    let calls: Vec<&str> =
        fixture.review.hunks().iter().map(|hunk| hunk.origin.call.as_ref()).collect();
    assert_eq!(calls, ["call", "later"]);
}

#[test]
fn neighbouring_lines_that_two_calls_changed_are_decided_alone() {
    let both = "0 \"two\\n\" → \"2\\n\"\n1 \"three\\n\" → \"3\\n\"\n";
    for is_second_above in [false, true] {
        let mut fixture = Fixture::new(FIVE);
        fixture.replace(
            if is_second_above { "three" } else { "two" },
            if is_second_above { "3" } else { "2" },
            &agent("a"),
        );
        let first = fixture.show();
        fixture.replace(
            if is_second_above { "two" } else { "three" },
            if is_second_above { "2" } else { "3" },
            &agent("b"),
        );
        let show = fixture.show();
        if !is_second_above {
            assert_eq!(show, both);
        }
        assert_eq!(fixture.review.hunks().len(), 2);
        // The editor undoes the second call; its accept does not touch the first.
        fixture.undo();
        assert_eq!(fixture.show(), first);
        fixture.redo();
        assert_eq!(fixture.show(), show);
        fixture.accept(0);
        assert_eq!(fixture.review.hunks().len(), 1);
        fixture.reject(0);
        assert_eq!(fixture.text(), FIVE.replace("two", "2"));
    }
}

#[test]
fn twenty_calls_on_neighbouring_lines_are_decided_in_any_order() {
    let base: String = (0..20).map(|n| format!("old {n}\n")).collect();
    let mut fixture = Fixture::new(&base);
    for n in 0..20 {
        fixture.replace(&format!("old {n}\n"), &format!("new_{n}\n"), &agent(&n.to_string()));
    }
    assert_eq!(fixture.review.hunks().len(), 20);
    for index in [7, 3, 11] {
        fixture.reject(index);
    }
    assert_eq!(fixture.review.hunks().len(), 17);
    fixture.reject_all();
    assert_eq!(fixture.text(), base);
}

/// The agent then changes or deletes the lines below.
#[test]
fn a_line_that_the_user_typed_between_lines_of_the_agent_keeps_its_place() {
    for below in ["", "4\n", "four\nmore\n"] {
        let mut fixture = Fixture::new(FIVE);
        fixture.replace("three\n", "a\nb\n", &agent("first"));
        fixture.user("a\n", "a\nmine\n");
        fixture.replace("four\n", below, &agent("second"));
        fixture.reject_all();
        assert_eq!(fixture.text(), "one\ntwo\nthree\nmine\nfour\nfive\n", "{below:?}");
    }
}

/// A part as the user sees it: its texts, and the decision, if there is one.
type Part = (String, String, Option<bool>);

proptest! {
    #![proptest_config(config())]

    #[test]
    fn decisions_in_any_order_give_the_texts_of_the_parts(
        shapes in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 1..5),
        picks in prop::collection::vec((any::<u8>(), any::<bool>(), any::<bool>()), 0..16),
    ) {
        let (mut base, mut new) = (String::new(), String::new());
        for (n, &(above, below, kept)) in shapes.iter().enumerate() {
            base += &format!("value_{n} = measure(text)\n");
            if above {
                new += &format!("fn above_{n}() {{\n}}\n\n");
            }
            new += &format!("value_{n} = measure(line)\n");
            if below {
                new += &format!("\nfn below_{n}() {{\n}}\n");
            }
            if kept {
                base += &format!("// kept {n}\n");
                new += &format!("// kept {n}\n");
            }
        }
        let mut fixture = Fixture::new(&base);
        fixture.perform(&Change::between(&Text::new(&base), &Text::new(&new)), &agent("call"));

        // The lines between hunks, and the hunks.
        let review = &fixture.review;
        let (mut between, mut parts): (Vec<String>, Vec<Part>) = (Vec::new(), Vec::new());
        let mut at = 0;
        for hunk in review.hunks() {
            between.push(review.current().lines_slice(at..hunk.new.start));
            parts.push((review.old_text(hunk), review.new_text(hunk), None));
            at = hunk.new.end;
        }
        let rest = review.current().lines_slice(at..review.current().filled_lines());
        let text = |parts: &[Part], pending_is_new: bool| -> String {
            let of = |(old, new, decided): &Part| {
                if decided.unwrap_or(pending_is_new) { new.clone() } else { old.clone() }
            };
            let lines = between.iter().zip(parts).map(|(lines, part)| lines.clone() + &of(part));
            lines.collect::<String>() + &rest
        };
        for (pick, accepts, undoes) in picks {
            let pending: Vec<usize> = (0..parts.len()).filter(|&at| parts[at].2.is_none()).collect();
            let Some(index) = usize::from(pick).checked_rem(pending.len()) else { break };
            let ids: Vec<HunkId> = fixture.review.hunks().iter().map(|hunk| hunk.id).collect();
            if accepts { fixture.accept(index) } else { fixture.reject(index) }
            if undoes && !accepts {
                fixture.undo();
                let now: Vec<HunkId> = fixture.review.hunks().iter().map(|hunk| hunk.id).collect();
                prop_assert_eq!(now, ids);
            } else {
                parts[pending[index]].2 = Some(accepts);
            }
            prop_assert_eq!(fixture.text(), text(&parts, true));
            prop_assert_eq!(fixture.baseline(), text(&parts, false));
            let left = parts.iter().filter(|part| part.2.is_none()).count();
            prop_assert_eq!(fixture.review.hunks().len(), left);
        }
        let expected = text(&parts, false);
        fixture.reject_all();
        prop_assert_eq!(fixture.text(), expected);
    }
}
