use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Accepted, Draft, FaultKind, Faults, ListDialect, Plan, Status, apply_call, rules};

/// Plays lists in a short form and shows each as the plan keeps it, ours id first:
/// `[>] given:text`, with `[ ]`, `[!]` blocked, `[>]`, `[x]` and `[-]` cancelled.
fn check_lists(calls: &[&[&str]], expect: Expect) {
    let mut plan = Plan::default();
    let mut out = String::new();
    for call in calls {
        let drafts = call.iter().map(|line| draft(line)).collect();
        let Accepted { dropped, completed_all_now } =
            replaced(&mut plan, drafts, ListDialect::Todo).expect("a right list");
        out.push_str(&format!("rev {}\n", plan.rev()));
        for item in plan.items() {
            let status = match item.status {
                Status::Pending if item.blocked => '!',
                Status::Pending => ' ',
                Status::InProgress => '>',
                Status::Completed => 'x',
                Status::Cancelled => '-',
            };
            out.push_str(&format!("  {} [{status}] #{} {}\n", item.id, item.label(), item.content));
        }
        for content in dropped {
            out.push_str(&format!("  dropped {content}\n"));
        }
        if completed_all_now {
            out.push_str("  completed all now\n");
        }
    }
    expect.assert_eq(&out);
}

fn replaced(plan: &mut Plan, drafts: Vec<Draft>, dialect: ListDialect) -> Result<Accepted, Faults> {
    plan.replace(drafts, dialect, Faults::of_list(dialect.list_field()))
}

fn draft(line: &str) -> Draft {
    let (status, text) = line.split_at(4);
    let blocked = status == "[!] ";
    let status = match status {
        "[ ] " | "[!] " => Status::Pending,
        "[>] " => Status::InProgress,
        "[x] " => Status::Completed,
        "[-] " => Status::Cancelled,
        other => panic!("no status: {other}"),
    };
    let (id, content) = match text.split_once(':') {
        Some((id, content)) => (Some(id.to_owned()), content),
        None => (None, text),
    };
    Draft { id, content: content.to_owned(), active_form: None, status, blocked }
}

fn check_call(before: &[&str], arguments: Value, expect: Expect) {
    let mut plan = Plan::default();
    let drafts = before.iter().map(|line| draft(line)).collect();
    replaced(&mut plan, drafts, ListDialect::Todo).expect("a right list");
    let old = plan.clone();
    let outcome = apply_call(&mut plan, ListDialect::TodoWriteSnake, &arguments);
    assert_eq!(outcome.is_error, outcome.accepted.is_none());
    if outcome.is_error {
        assert_eq!(plan, old);
    }
    expect.assert_eq(&outcome.content);
}

#[test]
fn an_item_keeps_its_id_when_its_status_or_place_changes() {
    check_lists(
        &[
            &["[>] Add type hints", "[ ] Add docstrings", "[ ] Add main guard"],
            &["[x] Add type hints", "[>] Add docstrings", "[ ] Add main guard"],
            &["[ ] Add main guard", "[x] Add type hints", "[x] Add docstrings"],
            &["[x] Add main guard", "[x] Add type hints", "[x] Add docstrings"],
        ],
        expect![[r#"
            rev 1
              1 [>] #1 Add type hints
              2 [ ] #2 Add docstrings
              3 [ ] #3 Add main guard
            rev 2
              1 [x] #1 Add type hints
              2 [>] #2 Add docstrings
              3 [ ] #3 Add main guard
            rev 3
              3 [ ] #3 Add main guard
              1 [x] #1 Add type hints
              2 [x] #2 Add docstrings
            rev 4
              3 [x] #3 Add main guard
              1 [x] #1 Add type hints
              2 [x] #2 Add docstrings
              completed all now
        "#]],
    );
}

#[test]
fn an_item_keeps_its_id_when_its_text_changes_slightly() {
    check_lists(
        &[
            &["[ ] Add type hints", "[ ] Fix typo in README", "[ ] 修复登录错误"],
            &[
                "[>] Add type hints to utils",
                "[ ] Fix typos in the README.",
                "[ ] 修复登录页面错误",
            ],
            &["[x] add type hints to utils", "[ ] Fix typos in README", "[ ] 修复登录错误"],
        ],
        expect![[r#"
            rev 1
              1 [ ] #1 Add type hints
              2 [ ] #2 Fix typo in README
              3 [ ] #3 修复登录错误
            rev 2
              1 [>] #1 Add type hints to utils
              2 [ ] #2 Fix typos in the README.
              3 [ ] #3 修复登录页面错误
            rev 3
              1 [x] #1 add type hints to utils
              2 [ ] #2 Fix typos in README
              3 [ ] #3 修复登录错误
        "#]],
    );
}

#[test]
fn a_replaced_word_makes_a_new_item_and_the_dropped_one_is_named() {
    check_lists(
        &[
            &["[ ] Test the parser", "[ ] Do step1", "[ ] Fix"],
            &["[ ] Test the lexer", "[ ] Do step2", "[ ] Fix the parser and the lexer"],
        ],
        expect![[r#"
            rev 1
              1 [ ] #1 Test the parser
              2 [ ] #2 Do step1
              3 [ ] #3 Fix
            rev 2
              4 [ ] #4 Test the lexer
              5 [ ] #5 Do step2
              6 [ ] #6 Fix the parser and the lexer
              dropped Test the parser
              dropped Do step1
              dropped Fix
        "#]],
    );
}

#[test]
fn the_closest_text_continues_an_item_that_was_split() {
    check_lists(
        &[
            &["[ ] Add tests"],
            &["[ ] Add tests for parser", "[ ] Add more tests", "[ ] Add tests"],
            &["[ ] Add tests for parser", "[ ] Add some more tests"],
        ],
        expect![[r#"
            rev 1
              1 [ ] #1 Add tests
            rev 2
              2 [ ] #2 Add tests for parser
              3 [ ] #3 Add more tests
              1 [ ] #1 Add tests
            rev 3
              2 [ ] #2 Add tests for parser
              3 [ ] #3 Add some more tests
              dropped Add tests
        "#]],
    );
}

#[test]
fn items_with_equal_texts_are_matched_by_order_and_status() {
    check_lists(
        &[
            &["[ ] Run tests", "[ ] Fix", "[ ] Run tests"],
            // As many as before: in order, though the statuses would match the other way round.
            &["[x] Run tests", "[ ] Fix", "[ ] Run tests"],
            // One left: the one that is still open stays.
            &["[x] Fix", "[ ] Run tests"],
            &["[x] Fix", "[ ] Run tests", "[ ] Run tests"],
        ],
        expect![[r#"
            rev 1
              1 [ ] #1 Run tests
              2 [ ] #2 Fix
              3 [ ] #3 Run tests
            rev 2
              1 [x] #1 Run tests
              2 [ ] #2 Fix
              3 [ ] #3 Run tests
            rev 3
              2 [x] #2 Fix
              3 [ ] #3 Run tests
            rev 4
              2 [x] #2 Fix
              3 [ ] #3 Run tests
              4 [ ] #4 Run tests
        "#]],
    );
}

#[test]
fn a_given_id_helps_to_recognise_an_item_and_is_not_its_identity() {
    check_lists(
        &[
            &["[>] 1:Fix the login form", "[ ] 2:Run tests", "[ ] 3:Run tests"],
            // Reworded under the same id; two of one text swapped.
            &["[>] 1:Repair the login dialog", "[ ] 3:Run tests", "[ ] 2:Run tests"],
            // The ids are left out, but known.
            &["[x] Repair the login dialog", "[x] Run tests", "[x] Run tests"],
            // A new list counts from 1 again: these are strangers.
            &["[ ] 1:Write the manual", "[ ] 2:Draw the figures"],
            // Ours and given ids in one list do not look the same.
            &["[ ] Something else", "[ ] 6:Draw the figures", "[ ] 1:Write the manual"],
        ],
        expect![[r#"
            rev 1
              1 [>] #1 Fix the login form
              2 [ ] #2 Run tests
              3 [ ] #3 Run tests
            rev 2
              1 [>] #1 Repair the login dialog
              3 [ ] #3 Run tests
              2 [ ] #2 Run tests
            rev 3
              1 [x] #1 Repair the login dialog
              3 [x] #3 Run tests
              2 [x] #2 Run tests
              completed all now
            rev 4
              4 [ ] #1 Write the manual
              5 [ ] #2 Draw the figures
            rev 5
              7 [ ] #7 Something else
              5 [ ] #6 Draw the figures
              4 [ ] #1 Write the manual
        "#]],
    );
}

#[test]
fn no_two_items_are_shown_under_one_name() {
    check_lists(
        &[
            &["[ ] Write the manual", "[ ] Draw the figures"],
            // The model calls another item what the first one is called.
            &["[ ] Write the manual", "[x] 1:Something else", "[ ] 3:Draw the figures"],
        ],
        expect![[r#"
            rev 1
              1 [ ] #1 Write the manual
              2 [ ] #2 Draw the figures
            rev 2
              1 [ ] #1 Write the manual
              3 [x] #3 Something else
              2 [ ] #2 Draw the figures
        "#]],
    );
}

#[test]
fn a_completed_item_comes_back_only_under_its_own_text() {
    check_lists(
        &[&["[x] Add tests", "[x] Write docs"], &["[ ] Add tests for errors", "[ ] Write docs"]],
        expect![[r#"
            rev 1
              1 [x] #1 Add tests
              2 [x] #2 Write docs
              completed all now
            rev 2
              3 [ ] #3 Add tests for errors
              2 [ ] #2 Write docs
        "#]],
    );
}

#[test]
fn a_cancelled_item_is_neither_open_nor_completed() {
    let mut plan = Plan::default();
    let accept = |plan: &mut Plan, items: &[&str]| {
        let drafts = items.iter().map(|item| draft(item)).collect();
        replaced(plan, drafts, ListDialect::Todo).expect("right")
    };
    assert!(!accept(&mut plan, &["[-] Read"]).completed_all_now);
    assert_eq!(plan.render(), "[-] #1 Read\n\n(0/0 completed, 1 cancelled)");
    assert!(!accept(&mut plan, &["[-] Read", "[>] Write"]).completed_all_now);
    assert!(accept(&mut plan, &["[-] Read", "[x] Write"]).completed_all_now);
    assert_eq!(
        (plan.open_count(), plan.progress().to_string()),
        (0, "1/1 completed, 1 cancelled".into())
    );
    assert_eq!(accept(&mut plan, &[]).dropped, [""; 0]);
}

#[test]
fn only_missing_open_items_are_reported_as_dropped() {
    check_lists(
        &[
            &["[x] Read", "[>] Write", "[ ] Send", "[!] Wait"],
            &["[-] Send", "[>] Write"],
            &[],
            &["[ ] Write"],
        ],
        expect![[r#"
            rev 1
              1 [x] #1 Read
              2 [>] #2 Write
              3 [ ] #3 Send
              4 [!] #4 Wait
            rev 2
              3 [-] #3 Send
              2 [>] #2 Write
              dropped Wait
            rev 3
              dropped Write
            rev 4
              5 [ ] #5 Write
        "#]],
    );
}

#[test]
fn a_list_is_completed_by_one_call_and_not_by_the_next() {
    check_lists(
        &[
            &["[x] One", "[ ] Two"],
            &["[x] One", "[x] Two"],
            &["[x] One", "[x] Two"],
            &["[x] Two"],
            &["[x] Three", "[x] Four"],
        ],
        expect![[r#"
            rev 1
              1 [x] #1 One
              2 [ ] #2 Two
            rev 2
              1 [x] #1 One
              2 [x] #2 Two
              completed all now
            rev 3
              1 [x] #1 One
              2 [x] #2 Two
            rev 4
              2 [x] #2 Two
            rev 5
              3 [x] #3 Three
              4 [x] #4 Four
              completed all now
        "#]],
    );
}

#[test]
fn the_model_reads_the_list() {
    let todos = json!([
        { "content": "Add type hints", "status": "completed" },
        { "content": "  Add docstrings ", "status": "in_progress" },
        { "content": "Add main guard", "status": "pending" },
    ]);
    check_call(
        &[],
        json!({ "todos": todos }),
        expect![[r#"
            [x] #1 Add type hints
            [>] #2 Add docstrings <- Adding docstrings
            [ ] #3 Add main guard

            (1/3 completed)"#]],
    );
    // A text without a known verb has no other form.
    check_call(
        &[],
        json!({ "todos": [{ "content": "Typen ergänzen", "status": "in_progress" }] }),
        expect![[r#"
            [>] #1 Typen ergänzen

            (0/1 completed)"#]],
    );
    check_call(&[], json!({ "todos": [] }), expect!["No todos."]);
}

#[test]
fn a_drop_is_named_to_the_model() {
    check_call(
        &["[ ] Update the changelog", "[x] Read the code", "[ ] Run the tests"],
        json!({ "todos": [{ "content": "Write the parser", "status": "pending" }] }),
        expect![[r#"
            [ ] #4 Write the parser

            (0/1 completed)

            No longer on the list, though not completed:
            - Update the changelog
            - Run the tests
            If any of this is still to be done, send the list again with it."#]],
    );
    check_call(
        &["[ ] Update the changelog"],
        json!({ "todos": [] }),
        expect![[r#"
            No todos.

            No longer on the list, though not completed:
            - Update the changelog
            If any of this is still to be done, send the list again with it."#]],
    );
}

#[test]
fn every_fault_is_named_in_the_order_of_the_rules() {
    let long = "x".repeat(1_001);
    let todos = json!([
        "Add type hints",
        { "content": "", "status": "pending" },
        { "content": "Fine", "status": "failed", "id": "a" },
        { "content": long, "status": 7, "id": "a" },
        { "status": "in_progress" },
        { "content": "bell \u{7}", "status": "in_progress" },
        { "content": "over\u{202E}ride", "status": "In_Progress", "id": 3 },
        { "content": 5, "id": "3" },
    ]);
    check_call(
        &["[>] Before"],
        json!({ "todos": todos }),
        expect![[r#"
            The list was not changed, because of:
            - #1: must be an object, not a string
            - #4.status: must be a string, not a number
            - #5.content: is missing
            - #8.content: must be a string, not a number
            - #2.content: is empty
            - #4.content: is 1001 characters long, but at most 1000 are allowed
            - #6.content: contains the forbidden character U+0007
            - #7.content: contains the forbidden character U+202E
            - #3.status: "failed" is not a status; use pending, in_progress, completed
            - #6.status: only one item may be in progress, and #5 already is
            - #7.status: only one item may be in progress, and #5 already is
            - #4.id: "a" is already the id of #3
            - #8.id: "3" is already the id of #7
            Correct this and send the whole list again."#]],
    );
}

#[test]
fn the_list_itself_can_be_wrong() {
    let item = json!({ "content": "Same", "status": "pending" });
    check_call(
        &["[ ] Before"],
        json!({ "todos": vec![item.clone(); 21] }),
        expect![[r#"
            The list was not changed, because of:
            - todos: 21 items, but at most 20 are allowed
            Correct this and send the whole list again."#]],
    );
    for (arguments, fault) in [
        (json!({}), "todos: is missing"),
        (json!({ "todos": null }), "todos: must be an array of objects, not null"),
        (json!({ "todos": "add hints" }), "todos: must be an array of objects, not a string"),
        (
            json!({ "todos": { "content": "x" } }),
            "todos: must be an array of objects, not an object",
        ),
        (json!(7), "todos: must be an array of objects, not a number"),
    ] {
        let mut plan = Plan::default();
        let outcome = apply_call(&mut plan, ListDialect::TodoWriteSnake, &arguments);
        assert!(outcome.content.contains(&format!("- {fault}\n")), "{}", outcome.content);
    }
}

#[test]
fn a_very_long_list_gets_a_bounded_answer() {
    check_call(
        &[],
        json!({ "todos": vec![json!("\u{202E}"); 50_000] }),
        expect![[r#"
            The list was not changed, because of:
            - todos: 50000 items, but at most 20 are allowed
            Correct this and send the whole list again."#]],
    );
    let mut plan = Plan::default();
    let arguments = json!({ "todos": vec![json!({ "content": "\u{202E}" }); 100] });
    let outcome = apply_call(&mut plan, ListDialect::TodoWrite, &arguments);
    assert!(outcome.content.contains("- todos: 100 items, but at most 20 are allowed\n"));
    assert!(outcome.content.contains("\n- and 61 more\n"), "{}", outcome.content);
    assert!(outcome.content.len() < 3_000);
}

#[test]
fn a_plan_survives_its_journal() {
    let mut plan = Plan::default();
    replaced(&mut plan, ["[x] 1:Read", "[>] Write"].map(draft).to_vec(), ListDialect::Todo)
        .expect("right");
    let text = serde_json::to_string(&plan).expect("plain data");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("own format"), plan);
}

fn any_draft() -> impl Strategy<Value = Draft> {
    let status = prop_oneof![
        Just((Status::Pending, false)),
        Just((Status::Pending, true)),
        Just((Status::InProgress, false)),
        Just((Status::Completed, false)),
        Just((Status::Cancelled, false)),
    ];
    let content = prop_oneof![
        8 => "(Add|Fix|Test) (the )?(parser|lexer|login form|表单错误)( again)?",
        1 => Just(" ".to_owned()),
        1 => any::<String>(),
    ];
    (proptest::option::weighted(0.3, "[1-9]"), content, status).prop_map(
        |(id, content, (status, blocked))| Draft {
            id,
            content,
            active_form: None,
            status,
            blocked,
        },
    )
}

fn any_calls() -> impl Strategy<Value = Vec<Vec<Draft>>> {
    proptest::collection::vec(proptest::collection::vec(any_draft(), 0..8), 1..6)
}

/// Makes a list right by leaving out what is wrong.
fn righted(mut drafts: Vec<Draft>) -> Vec<Draft> {
    let mut right: Vec<Draft> = Vec::new();
    for draft in drafts.drain(..) {
        right.push(draft);
        let faults = Faults::of_list("items");
        if rules::check(&right, ListDialect::Todo, faults).is_err() {
            right.pop();
        }
    }
    right
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_call_replaces_the_list_or_nothing(calls in any_calls()) {
        let mut plan = Plan::default();
        for drafts in calls {
            let old = plan.clone();
            let sent = drafts.len();
            match replaced(&mut plan, drafts, ListDialect::Todo) {
                Ok(_) => {
                    prop_assert!(plan.rev() > old.rev());
                    prop_assert_eq!(plan.items().len(), sent);
                }
                Err(faults) => {
                    prop_assert!(faults.iter().count() > 0);
                    prop_assert_eq!(&plan, &old);
                }
            }
        }
    }

    #[test]
    fn an_id_is_never_used_for_two_items(calls in any_calls()) {
        let mut plan = Plan::default();
        let mut gone = std::collections::HashSet::new();
        for drafts in calls {
            let old = plan.clone();
            replaced(&mut plan, righted(drafts), ListDialect::Todo).expect("righted");
            let ids: std::collections::HashSet<_> =
                plan.items().iter().map(|item| item.id.clone()).collect();
            prop_assert_eq!(ids.len(), plan.items().len());
            prop_assert!(ids.is_disjoint(&gone));
            let left = old.items().iter().map(|item| item.id.clone());
            gone.extend(left.filter(|id| !ids.contains(id)));
        }
    }

    #[test]
    fn an_open_item_stays_or_is_reported_as_dropped(calls in any_calls()) {
        let mut plan = Plan::default();
        for drafts in calls {
            let old = plan.clone();
            let accepted = replaced(&mut plan, righted(drafts), ListDialect::Todo).expect("righted");
            let stays = |id: &str| plan.items().iter().any(|item| item.id == id);
            let left =
                old.items().iter().filter(|item| item.is_open() && !stays(&item.id)).count();
            prop_assert_eq!(accepted.dropped.len(), left);
        }
    }

    #[test]
    fn ids_follow_distinct_texts_through_any_order_and_status(
        texts in proptest::collection::hash_set("[a-z]{1,3}( [a-z]{1,3}){0,3}", 1..20),
        seed in any::<u64>(),
    ) {
        let mut plan = Plan::default();
        let mut drafts: Vec<Draft> =
            texts.iter().map(|text| draft(&format!("[ ] {text}"))).collect();
        replaced(&mut plan, drafts.clone(), ListDialect::Todo).expect("right");
        let before = by_content(&plan);
        let turn = seed as usize % drafts.len();
        drafts.rotate_left(turn);
        for (index, draft) in drafts.iter_mut().enumerate() {
            if seed >> (index % 64) & 1 == 1 {
                (draft.status, draft.blocked) = (Status::Completed, false);
            }
        }
        let accepted = replaced(&mut plan, drafts, ListDialect::Todo).expect("right");
        prop_assert!(accepted.dropped.is_empty());
        prop_assert_eq!(by_content(&plan), before);
    }

    #[test]
    fn the_totals_count_the_lines(calls in any_calls()) {
        let mut plan = Plan::default();
        for drafts in calls {
            replaced(&mut plan, righted(drafts), ListDialect::Todo).expect("righted");
            let text = plan.render();
            let done = text.lines().filter(|line| line.starts_with("[x] #")).count();
            let working = text.lines().filter(|line| line.starts_with("[>] #")).count();
            let waiting = text.lines().filter(|line| line.starts_with("[ ] #")).count();
            prop_assert!(working <= 1);
            let total = done + working + waiting;
            let cancelled = text.lines().filter(|line| line.starts_with("[-] #")).count();
            prop_assert_eq!(total + cancelled, plan.items().len());
            let also = match cancelled {
                0 => String::new(),
                _ => format!(", {cancelled} cancelled"),
            };
            let totals = format!("({done}/{total} completed{also})");
            if plan.is_empty() {
                prop_assert_eq!(text, "No todos.");
            } else {
                prop_assert!(text.ends_with(&totals));
            }
        }
    }
}

fn by_content(plan: &Plan) -> std::collections::BTreeMap<String, String> {
    plan.items().iter().map(|item| (item.content.clone(), item.id.clone())).collect()
}

#[test]
fn faults_have_an_index_and_a_field() {
    let mut plan = Plan::default();
    let drafts = ["[>] Read", "[>] Write"].map(draft).to_vec();
    let faults =
        replaced(&mut plan, drafts, ListDialect::ManageTodoList).expect_err("two in progress");
    let fault = faults.iter().next().expect("one");
    assert_eq!(fault.index, Some(1));
    assert_eq!(fault.field, "status");
    assert_eq!(fault.kind, FaultKind::SecondInProgress { first: 0 });
}

/// Ids of the second list, which the next turn writes, with the items that it drops.
fn in_next_turn(first: &[&str], second: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut plan = Plan::default();
    let drafts = |lines: &[&str]| lines.iter().map(|line| draft(line)).collect();
    replaced(&mut plan, drafts(first), ListDialect::Todo).expect("a right list");
    plan.turn_started();
    let accepted = replaced(&mut plan, drafts(second), ListDialect::Todo).expect("a right list");
    (plan.items().iter().map(|item| item.id.clone()).collect(), accepted.dropped)
}

#[test]
fn a_step_that_begins_in_a_later_turn_has_no_earlier_work() {
    let old = ["[x] Read", "[>] Run the tests", "[ ] Write"];
    let (ids, dropped) = in_next_turn(&old, &["[>] Mend", "[ ] Run the tests"]);
    assert_eq!((ids, dropped), (vec!["4".into(), "5".into()], vec!["Write".to_owned()]));
    let (ids, _) = in_next_turn(&["[x] Run the tests"], &["[>] Run the tests"]);
    assert_eq!(ids, ["2"]);
    // The same plan, continued.
    let (ids, dropped) = in_next_turn(&old, &["[x] Read", "[>] Run the tests", "[ ] Write"]);
    assert_eq!((ids, dropped), (vec!["1".into(), "2".into(), "3".into()], vec![]));
    let (ids, dropped) = in_next_turn(&old, &["[x] Read", "[x] Run the tests"]);
    assert_eq!((ids, dropped), (vec!["1".into(), "2".into()], vec!["Write".to_owned()]));
}
