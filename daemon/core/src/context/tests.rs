use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    conversation::{AssistantMessage, Note, NoteKind, ToolCall, UserMessage},
    plan::Plan,
};

fn user(text: &str) -> Item {
    Item::User(UserMessage { text: text.into(), ..UserMessage::default() })
}

fn round(id: usize, output: &str, is_error: bool) -> [Item; 2] {
    let call = ToolCall {
        id: format!("c{id}").into(),
        name: "read_file".into(),
        arguments: ToolArguments::Object(json!({ "path": "a" })),
    };
    let result = ToolResult { call_id: format!("c{id}").into(), content: output.into(), is_error };
    [
        Item::Assistant(AssistantMessage { blocks: vec![Block::ToolCall(call)] }),
        Item::ToolResults { results: vec![result], notes: Vec::new() },
    ]
}

fn rounds(count: usize, output: &str) -> Vec<Item> {
    let rounds = (0..count).flat_map(|id| round(id, output, false));
    std::iter::once(user("Do it")).chain(rounds).collect()
}

fn window(tokens: u64) -> Window {
    Window { tokens, reserve: 0, head: 0 }
}

#[test]
fn non_ascii_text_is_estimated_at_more_tokens() {
    let table = [("", 0), ("seven b", 2), ("fourteen bytes", 4), ("ж", 1), ("你好", 3), ("🦀", 2)];
    for (text, tokens) in table {
        assert_eq!(text_tokens(text), tokens, "{text}");
    }
}

#[test]
fn token_count_of_the_server_replaces_the_estimate() {
    let mut items = rounds(3, "x");
    let window = Window { tokens: 1_000, reserve: 0, head: 50 };
    let mut meter = Meter::default();
    let epoch = Epoch::default();
    let estimate = meter.used(&items, epoch, &window);
    assert!(estimate > 50);
    // It counted all but the answer and its results, and says how long the answer was.
    let asked = items.len() - 2;
    meter.report(Usage { input_tokens: 700, output_tokens: 30, cached_tokens: 0 }, asked);
    let results = item_tokens(&items[items.len() - 1]);
    assert_eq!(meter.used(&items, epoch, &window), 730 + results);
    items.push(user("More"));
    assert_eq!(meter.used(&items, epoch, &window), 730 + results + item_tokens(&user("More")));
    // Zeros are no count.
    let before = meter;
    meter.report(Usage::default(), items.len());
    assert_eq!(meter, before);
}

fn shown(items: &[Item], epoch: Epoch) -> String {
    let lines = (epoch.start..items.len()).filter_map(|index| match &*sent(items, epoch, index) {
        Item::ToolResults { results, .. } => Some(results[0].content.clone()),
        Item::User(_) | Item::Assistant(_) => None,
    });
    lines.map(|line| line.chars().take(120).collect::<String>() + "\n").collect()
}

#[test]
fn long_results_of_old_rounds_become_a_note() {
    let check = |output: &str, is_error, expect: Expect| {
        let items: Vec<Item> =
            std::iter::once(user("Do it")).chain(round(1, output, is_error)).collect();
        expect.assert_eq(&shown(&items, Epoch { elided_before: items.len(), ..Epoch::default() }));
        assert_eq!(sent(&items, Epoch::default(), 2).as_ref(), &items[2]);
    };
    check(
        "short",
        false,
        expect![[r#"
        short
    "#]],
    );
    check(
        &"line\n".repeat(100),
        false,
        expect![[r#"
            [cairn] output of 100 lines left out to save room; call read_file again if you need it
        "#]],
    );
    let error = "no such file\n".to_owned() + &"at é\n".repeat(200);
    let items: Vec<Item> = std::iter::once(user("Do it")).chain(round(1, &error, true)).collect();
    let sent = sent(&items, Epoch { elided_before: 3, ..Epoch::default() }, 2).into_owned();
    let Item::ToolResults { results, .. } = sent else { panic!("results") };
    assert!(results[0].content.starts_with("no such file\n") && results[0].content.len() < 400);
    assert!(results[0].content.ends_with("call read_file again if you need it"));
}

#[test]
fn results_are_left_out_in_large_steps_and_never_the_newest() {
    let output = "word ".repeat(200);
    let items = rounds(40, &output);
    let all = Meter::default().used(&items, Epoch::default(), &window(1));
    // 70 % full, and half of it can go.
    let window = window(all * 10 / 7);
    let mut meter = Meter::default();
    meter.catch_up(&items, Epoch::default());
    let epoch = meter.elide(&items, Epoch::default(), &window).expect("it is worth it");
    let elided_before = items.len() - 2 * ROUNDS_KEPT;
    assert_eq!(epoch, Epoch { elided_before, ..Epoch::default() });
    let after = meter.used(&items, epoch, &window);
    assert!(after < all / 3, "{after} of {all}");
    let whole = shown(&items, epoch).lines().filter(|line| line.starts_with("word")).count();
    assert_eq!(whole, ROUNDS_KEPT);
    // What the meter believes is what it would count anew.
    assert_eq!(after, Meter::begin(epoch).used(&items, epoch, &window));
    assert_eq!(meter.elide(&items, epoch, &window), None, "nothing more to gain");
    // Less than 60 % full: nothing is done.
    let roomy = self::window(all * 2);
    let mut meter = Meter::default();
    meter.catch_up(&items, Epoch::default());
    assert_eq!(meter.elide(&items, Epoch::default(), &roomy), None);
}

#[test]
fn window_is_read_from_the_refusal_of_a_server() {
    let table = [
        ("prompt is too long: 200001 tokens > 200000 maximum", Some(200_000)),
        ("This model's maximum context length is 8192 tokens. However, you…", Some(8_192)),
        ("request (5000 tokens) exceeds the available context size (4096 tokens)", Some(4_096)),
        ("the request exceeds the available context size, n_ctx: 4096", Some(4_096)),
        ("the request exceeds the available context size, try increasing it", None),
        ("n_ctx 3", None),
        ("", None),
    ];
    for (refusal, expected) in table {
        assert_eq!(stated_window(refusal), expected, "{refusal}");
    }
}

#[test]
fn cost_is_known_only_where_every_price_is() {
    let usage = Usage { input_tokens: 1_000_000, output_tokens: 100_000, cached_tokens: 400_000 };
    let price = Price::per_million(2.0, 0.1, 10.0);
    let mut cost = Cost::default();
    assert_eq!(cost.micro_dollars(), None, "nothing was spent");
    cost.add(usage, price);
    assert_eq!(cost.micro_dollars(), Some(1_200_000 + 40_000 + 1_000_000));
    cost.add(usage, None);
    assert_eq!(cost.micro_dollars(), None);
    assert_eq!(Price::per_million(-1.0, 0.0, 0.0), None);
    assert_eq!(Price::per_million(f64::NAN, 0.0, 0.0), None);
}

fn notice(text: &str) -> Note {
    Note::new(NoteKind::Notice, text)
}

#[test]
fn digest_quotes_plan_edits_and_notices_unchanged() {
    let mut items = vec![user("Fix the cart.\nNo new crates.")];
    items.extend(round(1, "text of the file", false));
    if let Some(Item::ToolResults { notes, .. }) = items.last_mut() {
        notes.push(Note::new(NoteKind::Steer, "Use tabs"));
        notes.push(notice(&format!("{REJECTED} this change of yours in a:\n-x\n+y")));
        notes.push(notice("Not as you last saw them: b"));
        notes.push(Note::new(NoteKind::Reminder, "Mind the plan"));
    }
    items.push(user("an earlier digest"));
    items.push(user("And the tests?"));
    let plan = Plan::default();
    let proposals = ["--- a/c\n+++ b/c\n@@ -1 +1 @@\n-1\n+2\n".to_owned()];
    let mut parts = Parts {
        items: &items,
        digests: &[3],
        plan: &plan,
        proposals: &proposals,
        summary: Some("Read a; changed c."),
    };
    expect![[r#"
        [cairn] The conversation up to here was compacted to save room. This is what was kept of it.
        [cairn] # What the user said, word for word, oldest first
        [cairn] message:
        Fix the cart.
        No new crates.
        [cairn] message:
        Use tabs
        [cairn] message:
        And the tests?
        [cairn] # Your edits that wait for the user's decision; they are in the files
        --- a/c
        +++ b/c
        @@ -1 +1 @@
        -1
        +2
        [cairn] # What the user decided about your edits, oldest first
        The user rejected this change of yours in a:
        -x
        +y
        [cairn] # Other notices
        Not as you last saw them: b
        [cairn] # Your summary of the rest
        Read a; changed c.
        [cairn] Go on from here with what the user wants and is not done yet. Read files again before you rely on their text."#]]
    .assert_eq(&digest(&parts, &window(200_000)));
    parts.summary = None;
    let mechanical = digest(&parts, &window(200_000));
    assert!(mechanical.contains("You called read_file {\"path\":\"a\"}\nResult: text of the file"));
}

#[test]
fn digest_has_the_first_and_the_newest_message_and_fits_any_window() {
    let long = |n: usize| format!("message {n} {}", "é".repeat(1_000));
    let mut items: Vec<Item> = (0..100).map(|n| user(&long(n))).collect();
    for id in 0..50 {
        items.extend(round(id, &"x".repeat(5_000), false));
    }
    let proposals: Vec<String> =
        (0..50).map(|n| format!("patch {n} {}", "z".repeat(4_000))).collect();
    let plan = Plan::default();
    for tokens in [2_000, 8_000, 32_000, 200_000, 1_000_000] {
        for summary in [None, Some("words ".repeat(20_000))] {
            let parts = Parts {
                items: &items,
                digests: &[],
                plan: &plan,
                proposals: &proposals,
                summary: summary.as_deref(),
            };
            let window = window(tokens);
            let text = digest(&parts, &window);
            let size = text_tokens(&text);
            assert!(size < window.share(65) + 400, "{size} of {tokens}");
            assert!(text.contains("message 0 ") && text.contains("message 99 "), "{tokens}");
            assert!(text.contains("patch 49 "), "{tokens}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn longer_text_is_never_estimated_at_fewer_tokens(texts in prop::collection::vec(".{0,40}", 1..20), reported in 0..20usize) {
        let window = window(10_000);
        let epoch = Epoch::default();
        let mut items = Vec::new();
        let mut meter = Meter::default();
        let mut last = 0;
        for (index, text) in texts.iter().enumerate() {
            items.push(user(text));
            if index % 3 == 0 { meter.catch_up(&items, epoch); }
            if index == reported {
                meter.report(Usage { input_tokens: last + 1, ..Usage::default() }, items.len());
            }
            let used = meter.used(&items, epoch, &window);
            prop_assert!(used > last, "{} after {}", used, last);
            last = used;
        }
        if reported >= texts.len() {
            let anew = Meter::default().used(&items, epoch, &window);
            prop_assert_eq!(last, anew, "whenever it was counted");
        }
    }

    #[test]
    fn repeated_estimates_are_equal(sizes in prop::collection::vec(0..3_000usize, 1..40), percent in 10..200u64) {
        let mut items = vec![user("Do it")];
        for (id, size) in sizes.iter().enumerate() {
            items.extend(round(id, &"word ".repeat(size / 5), size % 7 == 0));
        }
        let all = Meter::default().used(&items, Epoch::default(), &window(1));
        let window = window((all * 100 / percent).max(10));
        let (mut meter, mut epoch) = (Meter::default(), Epoch::default());
        let mut epochs = 0;
        for end in 1..=items.len() {
            let now = &items[..end];
            meter.catch_up(now, epoch);
            if let Some(next) = meter.elide(now, epoch, &window) {
                prop_assert!(next.elided_before > epoch.elided_before);
                (epoch, epochs) = (next, epochs + 1);
            }
            prop_assert_eq!(meter.used(now, epoch, &window), Meter::begin(epoch).used(now, epoch, &window));
        }
        // Each had a fifth of the window to gain, all of which was said since the one before.
        prop_assert!(epochs * window.share(STEP_PERCENT) <= all, "{} epochs", epochs);
    }
}
