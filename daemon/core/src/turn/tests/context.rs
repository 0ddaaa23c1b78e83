//! The budget and compaction, without a runtime.

use super::*;
use crate::{
    context::{Fill, Window},
    conversation::{Attached, AttachedContent, Image},
};

fn test(tokens: u64) -> TurnTest {
    let mut test = TurnTest::new(settings());
    test.session.set_window(Window { tokens, reserve: 0, head: 100 });
    test.say("fix it");
    test.log();
    test
}

impl TurnTest {
    /// One round with a result of so many bytes, whose request had so many tokens.
    fn round(&mut self, id: &str, bytes: usize, tokens: u64) -> &mut Self {
        let blocks = vec![call(id, "read_file", json!({ "path": id }))];
        self.reply_of(blocks, Stop::ToolUse, tokens);
        self.done(id, &"x".repeat(bytes))
    }

    fn reply_of(&mut self, blocks: Vec<Block>, stop: Stop, tokens: u64) -> &mut Self {
        let usage = Usage { input_tokens: tokens, output_tokens: 10, cached_tokens: 0 };
        let event =
            ModelEvent::Finished(Reply { message: AssistantMessage { blocks }, stop, usage });
        let request = self.request;
        self.input(Input::Model { request, event })
    }

    fn overflow(&mut self, message: &str) -> &mut Self {
        let failure = Failure { message: message.into(), ..failure(FailureKind::ContextOverflow) };
        let request = self.request;
        self.input(Input::Model { request, event: ModelEvent::Failed(failure) })
    }

    fn stock(&mut self) -> &mut Self {
        self.input(Input::PendingEdits { proposals: vec!["--- a/x\n+++ b/x\n".into()] })
    }

    /// Returns the items that are sent, after a check that they are legal.
    fn view(&self) -> Vec<Item> {
        let items = self.session.conversation();
        let sent = self.session.epoch().start..items.len();
        let sent: Vec<Item> = sent.map(|index| self.session.sent(index).into_owned()).collect();
        assert_legal(&sent, self.session.is_running());
        sent
    }

    /// Between two rounds: a round that is open is closed otherwise by a restart.
    fn is_like_restored(&self) {
        let mut restored = memory::resumed(&self.records);
        restored.set_window(self.session.context.window);
        assert_eq!(restored.conversation(), self.session.conversation());
        assert_eq!(restored.epoch(), self.session.epoch());
        assert_eq!(restored.context.digests, self.session.context.digests);
        assert_eq!(restored.fill(), self.session.fill());
        assert_eq!(restored.cost(), self.session.cost());
    }
}

#[test]
fn a_nearly_full_window_is_compacted_between_two_rounds() {
    let mut test = test(10_000);
    test.round("a", 100, 5_000).round("b", 100, 8_600);
    test.check(expect![[r#"
        spent
        message done: 
        run read_file a under None
        call model
        spent
        message done: 
        run read_file b under None
        summarize, shortest: false
    "#]]);
    let request = test.request;
    test.input(Input::Model { request, event: ModelEvent::Text("Read a".into()) });
    test.input(Input::Steer { text: "Hurry".into(), attached: Vec::new() });
    test.reply_of(vec![text("Read a and b.")], Stop::EndTurn, 8_800);
    test.stock();
    test.check(expect![[r#"
        spent
        take stock
        Summarized: 8663 → 233 tokens
        call model
    "#]]);
    let view = test.view();
    let [Item::User(digest)] = view.as_slice() else { panic!("{view:?}") };
    for kept in ["fix it", "--- a/x", "Read a and b."] {
        assert!(digest.text.contains(kept), "{kept} in {}", digest.text);
    }
    test.is_like_restored();
    // The summary's own count is not the conversation's.
    assert_eq!(test.session.fill(), Fill { used: 233, window: 10_000 });
    // What was said meanwhile comes with the next round, and the turn ends as any other.
    test.round("c", 10, 300);
    test.reply(vec![text("Done.")], Stop::EndTurn);
    test.check(expect![[r#"
        spent
        message done: 
        run read_file c under None
        note Steer: Hurry
        call model
        spent
        message done: Done.
        end Completed: Done.
    "#]]);
}

#[test]
fn without_a_summary_the_newest_steps_are_kept() {
    type Answer = fn(&mut TurnTest);
    let answers: [(&str, Answer); 3] = [
        ("silence", |test| {
            test.reply_of(vec![], Stop::EndTurn, 10);
        }),
        ("a call", |test| {
            test.reply_of(vec![call("z", "bash", json!({}))], Stop::ToolUse, 10);
        }),
        ("a failure", |test| {
            test.fail(FailureKind::Rejected);
        }),
    ];
    for (what, answer) in answers {
        let mut test = test(10_000);
        test.round("a", 100, 9_000);
        test.log();
        answer(&mut test);
        test.stock();
        let log = test.log();
        assert!(log.contains("Mechanical: ") && log.ends_with("call model\n"), "{what}: {log}");
        assert!(!log.contains("run bash"), "{what}: {log}");
        let Some(Item::User(digest)) = test.view().pop() else { panic!("{what}") };
        assert!(digest.text.contains("You called read_file {\"path\":\"a\"}"), "{what}");
        test.input(Input::Cancel).is_like_restored();
    }
}

#[test]
fn a_summary_has_the_same_retries_as_an_answer() {
    let mut test = test(10_000);
    test.round("a", 100, 9_000);
    test.log();
    test.fail(FailureKind::Server);
    let request = test.request;
    test.input(Input::RetryDue { request });
    test.check(expect![[r#"
        message dropped: Server happened
        wait 500 ms before attempt 2: Server happened
        summarize, shortest: false
    "#]]);
}

#[test]
fn a_refused_length_is_compacted_once_and_never_sent_again() {
    let mut test = test(100_000);
    test.round("a", 100, 50).round("b", 100, 80);
    test.log();
    test.overflow("Too long: 5000 tokens > 4096 maximum");
    test.check(expect![[r#"
        message dropped: Too long: 5000 tokens > 4096 maximum
        window: 4096
        summarize, shortest: true
    "#]]);
    test.overflow("Too long: 4500 tokens > 4096 maximum");
    test.stock();
    test.check(expect![[r#"
        message dropped: Too long: 4500 tokens > 4096 maximum
        take stock
        Mechanical: 143 → 318 tokens
        call model
    "#]]);
    test.overflow("Too long: 4100 tokens > 4096 maximum");
    test.check(expect![[r#"
        message dropped: Too long: 4100 tokens > 4096 maximum
        end Failed: ContextFull { message: "Too long: 4100 tokens > 4096 maximum
    "#]]);
    test.is_like_restored();
}

#[test]
fn after_an_answer_a_refused_length_is_compacted_again() {
    let mut test = test(100_000);
    for id in ["a", "b"] {
        test.round(id, 100, 50).overflow("Too long");
        test.reply_of(vec![text("Summary.")], Stop::EndTurn, 50).stock();
    }
    assert_eq!(test.log().matches("Summarized: ").count(), 2);
    assert!(test.session.is_running());
}

#[test]
fn compacting_by_hand_is_a_turn_of_its_own_or_part_of_one() {
    let mut test = test(10_000);
    test.input(Input::Compact).check(expect![[r#"
        nothing
    "#]]);
    test.round("a", 100, 50);
    test.log();
    test.input(Input::Compact);
    test.round("b", 100, 80).check(expect![[r#"
        spent
        message done: 
        run read_file b under None
        summarize, shortest: false
    "#]]);
    test.reply_of(vec![text("Summary.")], Stop::EndTurn, 50).stock();
    test.reply(vec![text("Done.")], Stop::EndTurn);
    assert!(!test.session.is_running());
    test.log();
    // Idle.
    test.input(Input::Compact);
    test.reply_of(vec![text("Another.")], Stop::EndTurn, 50).stock();
    test.check(expect![[r#"
        summarize, shortest: false
        spent
        take stock
        Summarized: 11 → 231 tokens
        end Completed: Summarized
    "#]]);
    test.is_like_restored();
    test.input(Input::Compact);
    assert!(!test.session.is_running(), "nothing was said since");
    test.say("go on");
    assert_eq!(test.view().len(), 2);
}

#[test]
fn compacting_by_hand_without_a_summary_changes_nothing() {
    let mut test = test(10_000);
    test.reply(vec![text("Half of it.")], Stop::MaxTokens);
    test.input(Input::Compact);
    test.log();
    test.fail(FailureKind::Auth).check(expect![[r#"
        message dropped: Auth happened
        end Failed: NotCompacted("Auth happened")
    "#]]);
    assert_eq!(test.session.epoch(), Default::default());
    // What was interrupted before still is.
    assert!(test.session.interrupted);
    test.input(Input::Compact).input(Input::Cancel);
    assert!(!test.session.is_running());
}

#[test]
fn old_results_are_left_out_first() {
    let mut test = test(10_000);
    for round in 0..10 {
        // 570 tokens each.
        test.round(&format!("c{round}"), 2_000, 500 + 600 * round);
    }
    let log = test.log();
    assert_eq!(log.matches("Elided: ").count(), 1, "{log}");
    assert!(!log.contains("summarize"), "{log}");
    test.view();
    test.is_like_restored();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// After any compaction at any time, the request is legal, a restart restores the same
    /// conversation, and the words of the user are still in it.
    #[test]
    fn every_epoch_starts_at_a_legal_item(inputs in prop::collection::vec((0..12u8, 0..4usize), 1..60)) {
        let mut test = test(3_000);
        let mut calls = 0;
        for (kind, n) in inputs {
            match kind {
                0..=3 => {
                    let blocks = (0..=n).map(|n| call(&format!("c{}", calls + n), "read_file", json!({ "n": calls + n })));
                    let (blocks, stop) = (blocks.collect(), if kind == 3 { Stop::MaxTokens } else { Stop::ToolUse });
                    calls += n + 1;
                    test.reply_of(blocks, stop, 0);
                }
                4..=6 => for id in 0..calls { test.done(&format!("c{id}"), &"word ".repeat(150 * n)); },
                7 => { test.reply_of(vec![text("words")], Stop::EndTurn, 0); }
                8 => { test.input(Input::Compact); }
                9 => { test.stock(); }
                10 => { test.overflow("too long"); }
                _ => { test.say("go on"); }
            }
            let view = test.view();
            prop_assert!(view.iter().any(|item| matches!(item, Item::User(user) if user.text.contains("fix it"))) );
        }
        test.input(Input::Cancel).is_like_restored();
    }
}

/// A task with an image, sent to a server.
fn with_image() -> TurnTest {
    let mut test = TurnTest::new(settings());
    let image = Image { mime: "image/png".into(), data: "AAAA".into() };
    let content = AttachedContent::Image(image);
    let attached = vec![Attached { name: "shot.png".into(), uri: None, content }];
    test.input(Input::UserMessage { text: "what is this".into(), attached });
    test.log();
    test
}

fn sends_the_image(test: &TurnTest) -> bool {
    let Item::User(message) = &test.view()[0] else { panic!("a message of the user") };
    let text = message.wire_text();
    let sends = message.attached[0].image().is_some();
    assert_eq!(text.contains("you cannot see: the model server refused it"), !sends, "{text}");
    sends
}

#[test]
fn refused_images_are_left_out_from_then_on() {
    let mut test = with_image();
    assert!(sends_the_image(&test));
    test.fail(FailureKind::Rejected).check(expect![[r#"
        message dropped: Rejected happened
        call model
    "#]]);
    assert!(!sends_the_image(&test));
    test.reply(vec![Block::Text("I cannot see it.".into())], Stop::EndTurn).check(expect![[r#"
        spent
        ImagesLeftOut: 1720 → 11 tokens
        message done: I cannot see it.
        end Completed: I cannot see it.
    "#]]);
    assert!(!sends_the_image(&test));
    test.is_like_restored();
    test.say("and now").log();
    assert!(!sends_the_image(&test));
}

#[test]
fn images_are_sent_again_if_they_were_not_the_reason() {
    let mut test = with_image();
    test.fail(FailureKind::Rejected).fail(FailureKind::Rejected).check(expect![[r#"
        message dropped: Rejected happened
        call model
        message dropped: Rejected happened
        end Failed: Model(Failure { kind: Rejected, message: "Rejected happened"
    "#]]);
    assert!(sends_the_image(&test));
    for kind in [FailureKind::Auth, FailureKind::RateLimited] {
        let mut test = with_image();
        test.fail(kind);
        assert!(sends_the_image(&test), "{kind:?}");
    }
    let mut test = with_image();
    test.fail(FailureKind::Rejected).input(Input::Cancel).log();
    assert!(sends_the_image(&test));
}

#[test]
fn a_server_error_that_names_images_is_a_refusal_of_them() {
    let mut test = with_image();
    let message = "The model server answered 500: image input is not supported".to_owned();
    let failure = Failure { message, ..failure(FailureKind::Server) };
    let request = test.request;
    test.input(Input::Model { request, event: ModelEvent::Failed(failure) }).log();
    assert!(!sends_the_image(&test));
}
