//! The loop without a runtime: inputs in, effects out.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    context::Shortened,
    plan::{ListDialect, reminder::NagPolicy},
};

mod context;
mod ends;
mod memory;
mod repeats;

fn settings() -> TurnSettings {
    TurnSettings {
        max_rounds: 20,
        dialect: Dialect::List(ListDialect::TodoWrite),
        reminders: ReminderSettings::defaults(Dialect::List(ListDialect::TodoWrite)),
        tools: ["read_file:p", "grep:p", "edit_file", "bash"]
            .iter()
            .map(|name| match name.strip_suffix(":p") {
                Some(name) => tool(name, true),
                None => tool(name, false),
            })
            .collect(),
        plans_only: false,
    }
}

fn tool(name: &str, parallel: bool) -> OfferedTool {
    let arguments = ["path", "pattern", "command", "a", "n"].map(|it| (it.to_owned(), json!({})));
    OfferedTool { name: name.into(), parallel, arguments: arguments.into_iter().collect() }
}

fn call(id: &str, name: &str, arguments: Value) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: ToolArguments::Object(arguments),
    })
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

fn todos(items: &[(&str, &str)]) -> Value {
    let todos: Vec<Value> = items
        .iter()
        .map(|(content, status)| json!({"content": content, "status": status, "activeForm": format!("Doing {content}")}))
        .collect();
    json!({ "todos": todos })
}

fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, format!("{kind:?} happened"))
}

/// Drives a session and writes down what it asks for.
struct TurnTest {
    session: Session,
    log: Vec<String>,
    request: u32,
    delay: Option<u64>,
    records: Vec<Record>,
}

impl TurnTest {
    fn new(settings: TurnSettings) -> Self {
        Self {
            session: Session::new(settings),
            log: Vec::new(),
            request: 0,
            delay: None,
            records: Vec::new(),
        }
    }

    fn start() -> Self {
        let mut test = Self::new(settings());
        test.say("fix it");
        test
    }

    fn input(&mut self, input: Input) -> &mut Self {
        for effect in self.session.step(input) {
            match &effect {
                Effect::CallModel { request } | Effect::Summarize { request, .. } => {
                    self.request = *request;
                }
                Effect::Wait { delay_ms, .. } => self.delay = Some(*delay_ms),
                _ => {}
            }
            self.log.push(describe(&effect));
        }
        self.records.extend(self.session.take_records());
        assert_legal(self.session.conversation(), self.session.is_running());
        self
    }

    fn say(&mut self, words: &str) -> &mut Self {
        self.input(Input::UserMessage { text: words.into(), attached: Vec::new() })
    }

    fn reply(&mut self, blocks: Vec<Block>, stop: Stop) -> &mut Self {
        let usage = Usage { input_tokens: 10, output_tokens: 1, cached_tokens: 0 };
        let event =
            ModelEvent::Finished(Reply { message: AssistantMessage { blocks }, stop, usage });
        let request = self.request;
        self.input(Input::Model { request, event })
    }

    fn fail(&mut self, kind: FailureKind) -> &mut Self {
        let request = self.request;
        self.input(Input::Model { request, event: ModelEvent::Failed(failure(kind)) })
    }

    fn done(&mut self, id: &str, content: &str) -> &mut Self {
        self.input(Input::ToolDone { call_id: id.into(), content: content.into(), is_error: false })
    }

    fn log(&mut self) -> String {
        if self.log.is_empty() {
            return "nothing\n".into();
        }
        std::mem::take(&mut self.log).join("\n") + "\n"
    }

    fn check(&mut self, expected: Expect) -> &mut Self {
        expected.assert_eq(&self.log());
        self
    }
}

fn describe(effect: &Effect) -> String {
    let short =
        |text: &str| text.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
    match effect {
        Effect::CallModel { .. } => "call model".into(),
        Effect::Summarize { shortest, .. } => format!("summarize, shortest: {shortest}"),
        Effect::RequestPendingEdits => "take stock".into(),
        Effect::Shortened(Shortened { how, before, after, .. }) => {
            format!("{how:?}: {before} → {after} tokens")
        }
        Effect::WindowLearned { tokens } => format!("window: {tokens}"),
        Effect::LikelyCut { counted, sent } => format!("likely cut: {counted} of {sent}"),
        Effect::Wait { attempt, delay_ms, failure, .. } => {
            format!("wait {delay_ms} ms before attempt {attempt}: {}", failure.message)
        }
        Effect::RunTool { call, plan_item } => {
            format!("run {} {} under {plan_item:?}", call.name, call.id)
        }
        Effect::ToolAnswered { call, is_error, content, .. } => {
            format!("answered {} {} error={is_error}: {}", call.name, call.id, short(content))
        }
        Effect::CallAnnounced { name, .. } => format!("announce {name}"),
        Effect::Text { delta } => format!("text {delta:?}"),
        Effect::Thinking { delta } => format!("thinking {delta:?}"),
        Effect::TextWasThinking => "the text was thinking".to_owned(),
        Effect::MessageDone { text } => format!("message done: {}", short(text)),
        Effect::MessageDropped { reason } => format!("message dropped: {reason}"),
        Effect::CallsDropped => "calls dropped".into(),
        Effect::NoteAdded(note) => format!("note {:?}: {}", note.kind, short(&note.text)),
        Effect::PublishPlan { dropped } => format!("plan dropped={dropped:?}"),
        Effect::Spent => "spent".into(),
        Effect::EndTurn(End { reason, summary, cause, compacted, .. }) => {
            let text = match (cause, compacted) {
                (Some(cause), _) => format!("{cause:?}"),
                (None, Some(Shortened { how, .. })) => format!("{how:?}"),
                (None, None) => summary.clone(),
            };
            format!("end {reason:?}: {}", short(&text))
        }
    }
}

/// Every call has exactly one result in the item after it; nothing else stands there; no empty
/// assistant message.
fn assert_legal(items: &[Item], running: bool) {
    assert!(matches!(items.first(), None | Some(Item::User(_))), "starts with the user");
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Assistant(message) => {
                assert!(!message.blocks.is_empty(), "an empty assistant message");
                let calls: Vec<&str> = message.tool_calls().map(|call| &*call.id).collect();
                match items.get(at + 1) {
                    Some(Item::ToolResults { results, .. }) => {
                        let answered: Vec<&str> =
                            results.iter().map(|result| &*result.call_id).collect();
                        assert_eq!(calls, answered);
                    }
                    Some(Item::User(_) | Item::Assistant(_)) => {
                        assert!(calls.is_empty(), "calls without results")
                    }
                    None => {
                        assert!(calls.is_empty() || running, "calls without results at the end")
                    }
                }
            }
            Item::ToolResults { .. } => {
                assert!(matches!(items[at - 1], Item::Assistant(_)), "results without calls")
            }
            Item::User(user) => assert!(!user.text.trim().is_empty() || !user.notes.is_empty()),
        }
    }
}

#[test]
fn a_task_runs_from_its_plan_to_its_final_text() {
    let mut test = TurnTest::start();
    test.check(expect![[r#"
        note Reminder: If this takes three or more steps, write them down with Todo
        call model
    "#]]);
    test.reply(
        vec![
            text("Let me see."),
            call(
                "a",
                "TodoWrite",
                todos(&[("read", "in_progress"), ("fix", "pending"), ("test", "pending")]),
            ),
            call("b", "read_file", json!({"path": "x"})),
            call("c", "grep", json!({"pattern": "y"})),
            call("d", "edit_file", json!({"path": "x"})),
        ],
        Stop::ToolUse,
    );
    test.check(expect![[r#"
        spent
        message done: Let me see.
        plan dropped=[]
        answered TodoWrite a error=false: [>] #1 read <- Doing read
        run read_file b under Some("1")
        run grep c under Some("1")
    "#]]);
    test.done("c", "hit").check(expect![[r#"
        nothing
    "#]]);
    test.done("b", "text").check(expect![[r#"
        run edit_file d under Some("1")
    "#]]);
    test.done("d", "ok").check(expect![[r#"
        call model
    "#]]);
    assert!(test.session.is_expanded());
    test.reply(vec![text("Fixed.")], Stop::EndTurn).check(expect![[r#"
        spent
        message done: Fixed.
        note Reminder: Your answer would end the turn, but work is left:
        call model
    "#]]);
    test.reply(vec![text("All fixed.")], Stop::EndTurn).check(expect![[r#"
        spent
        message done: All fixed.
        plan dropped=[]
        end Completed: All fixed.
    "#]]);
    assert!(!test.session.is_expanded());
    let Some(Item::ToolResults { results, .. }) = test.session.conversation().get(2) else {
        panic!()
    };
    let order: Vec<&str> = results.iter().map(|result| &*result.call_id).collect();
    assert_eq!(order, ["a", "b", "c", "d"], "results in call order, whatever finished first");
    assert_eq!(test.session.usage().input_tokens, 30);
    let (rounds, of_turn) = test.session.turn_usage();
    assert_eq!((rounds, of_turn.input_tokens), (2, 30), "still known when it is told");
}

#[test]
fn a_faulty_call_gets_an_error_result_and_the_turn_continues() {
    let mut test = TurnTest::start();
    test.log();
    test.reply(
        vec![
            call("a", "teleport", json!({})),
            Block::ToolCall(ToolCall {
                id: "b".into(),
                name: "bash".into(),
                arguments: ToolArguments::Invalid { raw: "{".into(), error: "EOF".into() },
            }),
            call("c", "TodoWrite", json!({"todos": [{"content": ""}]})),
        ],
        Stop::ToolUse,
    );
    test.check(expect![[r#"
        spent
        message done: 
        answered teleport a error=true: There is no tool named teleport. The tools are: read_file, g
        answered bash b error=true: The arguments of bash are not a JSON object (EOF). Nothing w
        answered TodoWrite c error=true: The list was not changed, because of:
        call model
    "#]]);
    assert!(!test.session.is_expanded());
}

#[test]
fn cancel_gives_every_call_a_result_and_later_events_have_no_effect() {
    let mut test = TurnTest::start();
    test.reply(
        vec![
            call("a", "TodoWrite", todos(&[("x", "in_progress"), ("y", "pending")])),
            call("b", "bash", json!({})),
            call("c", "bash", json!({})),
        ],
        Stop::ToolUse,
    );
    test.log();
    for (id, text) in [("b", "one\n"), ("c", "does not run yet\n"), ("b", "[cairn] two\n")] {
        test.input(Input::Printed { call_id: id.into(), text: text.into() });
    }
    test.input(Input::Cancel).check(expect![[r#"
        plan dropped=[]
        end Cancelled: Stopped.
    "#]]);
    let Some(Item::ToolResults { results, .. }) = test.session.conversation().last() else {
        panic!("no results: {:?}", test.session.conversation());
    };
    let stopped = "Cancelled by the user; it may have had effects before it was stopped.";
    let contents: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
    let printed = format!("{stopped} It had printed:\none\n\\[cairn] two\n");
    assert_eq!(contents[1..], [printed.as_str(), stopped]);
    let before = test.session.conversation().to_vec();
    test.done("b", "late").reply(vec![text("late")], Stop::EndTurn).input(Input::Cancel);
    test.check(expect![[r#"
        nothing
    "#]]);
    assert_eq!(test.session.conversation(), before);
    // The next request says how things stand.
    test.say("go on").check(expect![[r#"
        note Notice: The last turn ended before its work was done. The step in pr
        call model
    "#]]);
}

#[test]
fn cancel_while_text_streams_keeps_the_text() {
    let mut test = TurnTest::start();
    let request = test.request;
    test.input(Input::Model { request, event: ModelEvent::Text("I will ".into()) });
    test.input(Input::Cancel);
    assert_eq!(
        test.session.conversation().last(),
        Some(&Item::Assistant(AssistantMessage { blocks: vec![text("I will")] }))
    );
}

#[test]
fn events_of_an_older_request_are_ignored() {
    let mut test = TurnTest::start();
    test.fail(FailureKind::Server);
    let stale = Input::Model { request: 1, event: ModelEvent::Text("ghost".into()) };
    test.log();
    test.input(stale.clone()).check(expect![[r#"
        nothing
    "#]]);
    test.input(Input::RetryDue { request: 1 }).input(stale).check(expect![[r#"
        call model
    "#]]);
}

#[test]
fn retries_back_off_and_give_up() {
    let table = [
        (FailureKind::Server, vec![500, 1000, 2000, 4000]),
        (FailureKind::StreamCut, vec![500, 1000, 2000]),
        (FailureKind::Protocol, vec![500]),
        (FailureKind::Auth, vec![]),
        (FailureKind::Rejected, vec![]),
        (FailureKind::ContextOverflow, vec![]),
    ];
    for (kind, expected) in table {
        let mut test = TurnTest::start();
        let mut waits = Vec::new();
        loop {
            test.delay = None;
            test.fail(kind);
            let Some(delay) = test.delay else { break };
            waits.push(delay);
            let request = test.request;
            test.input(Input::RetryDue { request });
        }
        assert_eq!(waits, expected, "{kind:?}");
        assert!(test.log().contains("end Failed"), "{kind:?}");
        assert_eq!(test.session.conversation().len(), 1, "nothing of a failed answer is kept");
    }
}

#[test]
fn the_retry_delay_of_a_server_is_used_up_to_a_limit() {
    for (wish, expected) in [(2_000, Some(2_000)), (MAX_SERVER_WAIT_MS + 1, None)] {
        let mut test = TurnTest::start();
        let request = test.request;
        let failure = Failure { retry_after_ms: Some(wish), ..failure(FailureKind::RateLimited) };
        test.input(Input::Model { request, event: ModelEvent::Failed(failure) });
        assert_eq!(test.delay, expected);
    }
}

#[test]
fn an_empty_answer_is_requested_again_once() {
    let mut test = TurnTest::start();
    test.log();
    test.reply(vec![], Stop::EndTurn).check(expect![[r#"
        spent
        message dropped: The model answered with nothing
        wait 500 ms before attempt 2: The model answered with nothing
    "#]]);
    let request = test.request;
    test.input(Input::RetryDue { request }).reply(vec![text("  ")], Stop::EndTurn).check(expect![
        [r#"
        call model
        spent
        message dropped: The model answered with nothing
        end Failed: Model(Failure { kind: Protocol, message: "The model answered
    "#]
    ]);
}

#[test]
fn a_call_in_text_never_runs_and_ends_the_turn_the_second_time() {
    let written = "Now.\n<tool_call>\n{\"name\": \"bash\"}\n</tool_call>";
    let mut test = TurnTest::start();
    test.log();
    test.reply(vec![text(written)], Stop::EndTurn);
    // A proper call in between begins the count again.
    test.reply(vec![call("a", "bash", json!({"command": "ls"}))], Stop::ToolUse);
    test.input(Input::ToolDone { call_id: "a".into(), content: "b".into(), is_error: false });
    test.log();
    test.reply(vec![text(written)], Stop::EndTurn).check(expect![[r#"
        spent
        message done: Now.
        note Notice: Your last answer has a tool call written as text. It was not
        call model
    "#]]);
    test.reply(vec![text(written)], Stop::EndTurn).check(expect![[r#"
        spent
        message done: Now.
        end Failed: CallInText
    "#]]);
}

#[test]
fn a_call_cut_at_the_output_limit_never_runs() {
    let mut test = TurnTest::start();
    test.log();
    for _ in 0..2 {
        test.reply(
            vec![text("writing"), call("a", "bash", json!({"command": "rm"}))],
            Stop::MaxTokens,
        );
    }
    test.reply(vec![call("a", "bash", json!({"command": "rm"}))], Stop::MaxTokens).check(expect![
        [r#"
        spent
        message done: writing
        calls dropped
        note Notice: Your last tool call was cut off at the output limit and was 
        call model
        spent
        message done: writing
        calls dropped
        note Notice: Your last tool call was cut off at the output limit and was 
        call model
        spent
        message done: 
        calls dropped
        end Limit: OutputLimit
    "#]
    ]);
}

#[test]
fn rounds_are_limited() {
    let mut test = TurnTest::new(TurnSettings { max_rounds: 2, ..settings() });
    test.say("go");
    for n in 0..2 {
        test.reply(vec![call(&format!("c{n}"), "bash", json!({ "n": n }))], Stop::ToolUse)
            .done(&format!("c{n}"), "ok");
    }
    assert!(test.log().contains("end Limit: RoundLimit(2)"));
}

#[test]
fn steering_reaches_the_model_after_the_tool_results() {
    let mut test = TurnTest::start();
    test.reply(vec![call("a", "bash", json!({}))], Stop::ToolUse)
        .input(Input::Steer { text: "use tabs".into(), attached: Vec::new() })
        .done("a", "ok");
    let Some(Item::ToolResults { notes, .. }) = test.session.conversation().last() else {
        panic!()
    };
    assert_eq!(notes, &[Note::new(NoteKind::Steer, "use tabs")]);
}

#[test]
fn steering_as_the_model_finishes_starts_another_round() {
    let mut test = TurnTest::start();
    test.input(Input::Steer { text: "and b".into(), attached: Vec::new() });
    test.log();
    test.reply(vec![text("did a")], Stop::EndTurn).check(expect![[r#"
        spent
        message done: did a
        note Steer: and b
        call model
    "#]]);
}

#[test]
fn a_rejection_reaches_the_model_at_the_next_safe_point_also_turns_later() {
    let mut test = TurnTest::start();
    test.reply(vec![text("done")], Stop::EndTurn)
        .input(Input::Notice { text: "rejected: -a".into() })
        .say("more");
    let Some(Item::User(user)) = test.session.conversation().last() else { panic!() };
    assert_eq!(user.notes, [Note::new(NoteKind::Notice, "rejected: -a")]);
}

#[test]
fn a_plan_completed_without_verification_gets_one_reminder() {
    let mut test = TurnTest::start();
    test.reply(
        vec![call(
            "a",
            "TodoWrite",
            todos(&[("one", "in_progress"), ("two", "pending"), ("three", "pending")]),
        )],
        Stop::ToolUse,
    );
    test.log();
    test.reply(
        vec![call(
            "b",
            "TodoWrite",
            todos(&[("one", "completed"), ("two", "completed"), ("three", "completed")]),
        )],
        Stop::ToolUse,
    );
    assert!(test.log().contains("note Reminder: All items are completed"));
    let Some(Item::ToolResults { results, .. }) = test.session.conversation().last() else {
        panic!()
    };
    assert!(results[0].content.ends_with("\n[cairn] end of the reminder"));
}

/// Settings with the task graph and a reminder in every round.
fn task_settings() -> TurnSettings {
    let mut settings = TurnSettings {
        dialect: Dialect::Tasks,
        reminders: ReminderSettings {
            nag: NagPolicy::EveryRound { rounds: 1 },
            ..ReminderSettings::defaults(Dialect::Tasks)
        },
        ..settings()
    };
    let tasks = ["TaskCreate", "TaskUpdate", "TaskList"];
    settings.tools.extend(tasks.map(|name| tool(name, false)));
    settings
}

/// Items of the task graph as the server reports them, in the form of `todos`.
fn tasks(items: &[(&str, plan::Status)]) -> Vec<TodoItem> {
    let item = |(at, (content, status)): (usize, &(&str, plan::Status))| TodoItem {
        id: (at + 1).to_string(),
        given_id: None,
        content: (*content).to_owned(),
        active_form: (*content).to_owned(),
        status: *status,
        blocked: false,
        blocked_by: Vec::new(),
    };
    items.iter().enumerate().map(item).collect()
}

#[test]
fn the_task_graph_is_run_outside_and_shown_as_the_plan() {
    use plan::Status::{Completed, InProgress, Pending};
    let mut test = TurnTest::new(task_settings());
    test.say("fix it").check(expect![[r#"
        note Reminder: If this takes three or more steps, write them down with Task
        call model
    "#]]);
    let create = |id| call(id, "TaskCreate", json!({"subject": id}));
    test.reply(vec![create("a"), create("b"), call("c", "read_file", json!({}))], Stop::ToolUse);
    // One after the other, although the news of the first is here before its result.
    test.input(Input::TaskList { items: tasks(&[("read", Pending)]), updated: true });
    test.done("a", "Created #1.");
    test.input(Input::TaskList {
        items: tasks(&[("read", Pending), ("fix", Pending)]),
        updated: true,
    });
    test.done("b", "Created #2.").done("c", "text");
    test.check(expect![[r#"
        spent
        message done: 
        run TaskCreate a under None
        plan dropped=[]
        run TaskCreate b under None
        plan dropped=[]
        run read_file c under None
        call model
    "#]]);
    assert!(test.session.is_expanded());

    // A look is no update: the next round but one nags, though the look brought news.
    test.reply(vec![call("d", "TaskList", json!({}))], Stop::ToolUse);
    let news = tasks(&[("read", InProgress), ("fix", Pending)]);
    test.input(Input::TaskList { items: news.clone(), updated: false }).done("d", "list");
    test.reply(vec![call("e", "TaskList", json!({"again": 1}))], Stop::ToolUse);
    test.input(Input::TaskList { items: news, updated: false }).done("e", "list");
    test.check(expect![[r#"
        spent
        message done: 
        run TaskList d under None
        plan dropped=[]
        call model
        spent
        message done: 
        run TaskList e under Some("1")
        note Reminder: The plan has not been updated for some rounds. If it no long
        call model
    "#]]);

    // The call that completes the list is asked for proof, in its own result.
    let done = [("read", Completed), ("fix", Completed), ("write", Completed)];
    test.reply(vec![call("f", "TaskUpdate", json!({}))], Stop::ToolUse);
    test.input(Input::TaskList { items: tasks(&done), updated: true }).done("f", "Updated #2.");
    let Some(Item::ToolResults { results, .. }) = test.session.conversation().last() else {
        panic!()
    };
    assert!(
        results[0].content.starts_with("Updated #2.\n\n[cairn] reminder:\nAll items are completed")
    );
    test.reply(vec![text("Done.")], Stop::EndTurn);
    assert!(!test.session.is_expanded());
    // Late news of a turn that is over.
    test.log();
    test.input(Input::TaskList { items: Vec::new(), updated: true }).check(expect![[r#"
        nothing
    "#]]);
    assert_eq!(test.session.plan_items().len(), 3);
}

fn any_input() -> impl Strategy<Value = (u8, u8, u8)> {
    (0..14u8, 0..4u8, 0..4u8)
}

proptest! {
    #[test]
    fn after_any_inputs_the_conversation_is_legal_and_only_grows(inputs in prop::collection::vec(any_input(), 1..60)) {
        let mut test = TurnTest::new(settings());
        let mut before: Vec<Item> = Vec::new();
        let mut calls = 0;
        for (kind, a, b) in inputs {
            let old_ids: Vec<String> = (0..calls).map(|n| format!("c{n}")).collect();
            let pick = old_ids.get(old_ids.len().saturating_sub(1 + usize::from(a))).cloned().unwrap_or_default();
            match kind {
                0 => { test.say("hello"); }
                1..=4 => {
                    let mut blocks = Vec::new();
                    if b == 0 { blocks.push(text("words")); }
                    for n in 0..=a {
                        let name = ["read_file", "bash", "TodoWrite", "nonsense"][usize::from((n + b) % 4)];
                        blocks.push(call(&format!("c{calls}"), name, todos(&[("t", "in_progress"), ("u", "pending")])));
                        calls += 1;
                    }
                    test.reply(blocks, if b == 3 { Stop::MaxTokens } else { Stop::ToolUse });
                }
                5 => { test.reply(vec![text("bye")], Stop::EndTurn); }
                6 => { test.fail([FailureKind::Server, FailureKind::StreamCut, FailureKind::Auth, FailureKind::Protocol][usize::from(a)]); }
                7 => { let request = test.request; test.input(Input::RetryDue { request }); }
                8..=10 => { test.done(&pick, "result"); }
                11 => { test.input(Input::Steer { text: "steer".into(), attached: Vec::new() }); }
                12 => { test.input(Input::Notice { text: "notice".into() }); }
                _ => { test.input(Input::Cancel); }
            }
            let now = test.session.conversation();
            prop_assert!(now.len() >= before.len() && now[..before.len()] == before[..], "history only grows");
            before = now.to_vec();
        }
        memory::resumes_at_every_record(&test.records, test.session.conversation());
        test.input(Input::Cancel);
        prop_assert!(!test.session.is_running());
        let after = memory::resumed(&test.records);
        prop_assert_eq!(after.conversation(), test.session.conversation());
        prop_assert_eq!(after.plan_items(), test.session.plan_items());
        prop_assert_eq!(after.usage(), test.session.usage());
    }
}
