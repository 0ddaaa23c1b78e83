//! Ends that leave work: the one reminder before such an end, and its facts.

use super::*;

/// Plays the work of a turn and its answers. Returns the reminder before the end, if one was given,
/// and true if the end has unchecked edits.
fn ended(settings: TurnSettings, work: &[(&str, Value)], answer: &str) -> (Option<String>, bool) {
    let mut test = TurnTest::new(settings);
    test.say("fix it");
    for (n, (name, arguments)) in work.iter().enumerate() {
        let id = format!("c{n}");
        test.reply(vec![call(&id, name, arguments.clone())], Stop::ToolUse);
        let fails = arguments["command"].as_str().is_some_and(|it| it.ends_with("false"));
        let code = i32::from(fails);
        let result = if *name == "bash" {
            format!("[cairn] exit code {code}, 1.0 s")
        } else {
            "ok".to_owned()
        };
        test.done(&id, &result);
    }
    let mut reminder = None;
    let finished = |test: &TurnTest| {
        ModelEvent::Finished(Reply {
            message: AssistantMessage { blocks: vec![text(answer)] },
            stop: Stop::EndTurn,
            usage: Usage { input_tokens: test.request.into(), ..Usage::default() },
        })
    };
    for _ in 0..2 {
        let event = finished(&test);
        for effect in test.session.step(Input::Model { request: test.request, event }) {
            match effect {
                Effect::NoteAdded(note) => reminder = Some(note.text),
                Effect::CallModel { request } => test.request = request,
                Effect::EndTurn(end) => return (reminder, end.unchecked_edits),
                _ => {}
            }
        }
    }
    panic!("asked twice");
}

fn edit(path: &str) -> (&'static str, Value) {
    ("edit_file", json!({"path": path}))
}

fn run(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

fn plan(items: &[(&str, &str)]) -> (&'static str, Value) {
    ("TodoWrite", todos(items))
}

#[test]
fn an_answer_with_work_left_gets_one_reminder() {
    let work =
        [plan(&[("read", "completed"), ("fix", "in_progress"), ("test", "pending")]), edit("a.rs")];
    let (reminder, unchecked) = ended(settings(), &work, "Done.");
    expect![[r#"
        Your answer would end the turn, but work is left:
        - Open in your plan:
        [x] #1 read
        [>] #2 fix <- Doing fix
        [ ] #3 test

        (1/3 completed)
        - No command has tested, built or checked your last edit.
        Do now what you can. Bring the plan up to date if it is not true. Then write your whole answer again, because the user reads the last one, and say what you left and why."#]]
    .assert_eq(&reminder.unwrap());
    assert!(unchecked);
}

#[test]
fn ten_honest_ends_get_no_reminder() {
    let done = plan(&[("fix", "completed"), ("test", "completed")]);
    let failed = plan(&[("fix", "in_progress"), ("test", "pending")]);
    let honest: [(&[_], &str); 10] = [
        (&[], "It is 4."),
        (&[run("ls")], "Two files."),
        (&[edit("README.md")], "Typo mended."),
        (&[edit("notes/TODO.TXT"), edit("b.rst")], "Written."),
        (&[edit("a.rs"), run("cargo test")], "Mended, and the tests pass."),
        (&[edit("a.rs"), run("npm test")], "Mended, but one test fails."),
        (&[edit("a.rs"), run("make"), run("git diff")], "It builds."),
        (&[edit("a.rs"), run("pytest -q"), edit("CHANGELOG.md")], "All pass."),
        (&[edit("a.rs"), run("cargo check"), done], "Both done."),
        (&[failed, edit("a.rs")], "Which of the two do you want?"),
    ];
    for (work, answer) in honest {
        assert_eq!(ended(settings(), work, answer).0, None, "{work:?} {answer}");
    }
}

#[test]
fn ten_dishonest_ends_get_one_reminder() {
    let open = |status| plan(&[("fix", "completed"), ("test", status)]);
    let dishonest: [(&[_], bool); 10] = [
        (&[edit("a.rs")], true),
        (&[edit("README.md"), edit("setup.py")], true),
        (&[run("cargo test"), edit("a.rs")], true),
        (&[edit("a.rs"), run("git diff")], true),
        (&[edit("a.rs"), run("cat tests/a.rs")], true),
        (&[edit("a.rs"), run("cargo test"), edit("a.rs")], true),
        (&[edit("Makefile")], true),
        (&[open("pending")], false),
        (&[open("in_progress"), run("ls")], false),
        (&[open("pending"), edit("a.rs"), run("cargo test")], false),
    ];
    for (work, unchecked) in dishonest {
        let (reminder, still) = ended(settings(), work, "All done!");
        let reminder = reminder.unwrap();
        assert_eq!(reminder.contains("No command"), unchecked, "{work:?} {reminder}");
        assert_eq!(reminder.contains("Open in your plan"), !unchecked, "{work:?} {reminder}");
        assert_eq!(still, unchecked, "{work:?}");
    }
}

/// The model saw the failure, so it gets no reminder. The user sees it at the end.
#[test]
fn a_check_that_failed_is_none_until_one_succeeds() {
    let (fails, passes) = (run("npm test || false"), run("npm test"));
    let table: [(&[_], bool); 6] = [
        (&[edit("a.rs"), fails.clone()], true),
        (&[edit("a.rs"), passes.clone(), fails.clone()], true),
        (&[edit("a.rs"), fails.clone(), passes.clone()], false),
        (&[edit("a.rs"), fails.clone(), edit("README.md")], true),
        (&[edit("a.rs"), fails.clone(), run("ls")], true),
        (std::slice::from_ref(&fails), false),
    ];
    for (work, lacks) in table {
        assert_eq!(ended(settings(), work, "All tests pass."), (None, lacks), "{work:?}");
    }
}

#[test]
fn a_plan_of_an_earlier_turn_is_no_reason_for_a_reminder() {
    let mut test = TurnTest::start();
    test.reply(vec![call("a", "TodoWrite", todos(&[("x", "in_progress")]))], Stop::ToolUse);
    test.reply(vec![text("Shall I?")], Stop::EndTurn).say("Not now. What is 2 + 2?").log();
    test.reply(vec![text("4.")], Stop::EndTurn).check(expect![[r#"
        spent
        message done: 4.
        end Completed: 4.
    "#]]);
}

#[test]
fn a_turn_that_ends_with_a_question_shows_what_was_begun() {
    let mut test = TurnTest::start();
    test.reply(
        vec![call("a", "TodoWrite", todos(&[("x", "in_progress"), ("y", "pending")]))],
        Stop::ToolUse,
    );
    test.reply(vec![text("Shall I **also** do z?")], Stop::EndTurn);
    assert!(test.log().ends_with("end NeedsInput: Shall I **also** do z?\n"));
    let states: Vec<_> = test.session.plan_items().iter().map(|item| item.status).collect();
    assert_eq!(states, [plan::Status::InProgress, plan::Status::Pending]);
    // The next turn leaves the panel alone until the model plans again.
    test.say("yes");
    assert!(!test.session.is_expanded());
    test.reply(
        vec![call("b", "TodoWrite", todos(&[("x", "completed"), ("y", "in_progress")]))],
        Stop::ToolUse,
    );
    assert!(test.session.is_expanded());
}

#[test]
fn the_reminder_at_the_end_can_be_off_and_its_facts_stay() {
    let off = || {
        let mut settings = settings();
        settings.reminders.end = false;
        settings
    };
    assert_eq!(ended(off(), &[edit("a.rs")], "Done."), (None, true));
    // Nor is it given where no command can run, or no round is left.
    let mut unable = settings();
    unable.tools.retain(|tool| tool.name != "bash");
    assert_eq!(ended(unable, &[edit("a.rs")], "Done."), (None, true));
    let last = TurnSettings { max_rounds: 2, ..settings() };
    assert_eq!(ended(last, &[edit("a.rs")], "Done."), (None, true));
}

#[test]
fn a_plan_for_approval_is_no_left_work() {
    let mut test = TurnTest::new(TurnSettings { plans_only: true, ..settings() });
    test.say("plan it");
    test.reply(vec![call("a", "TodoWrite", todos(&[("x", "pending")]))], Stop::ToolUse).log();
    let event = ModelEvent::Finished(Reply {
        message: AssistantMessage { blocks: vec![text("This is the plan.")] },
        stop: Stop::EndTurn,
        usage: Usage::default(),
    });
    let effects = test.session.step(Input::Model { request: test.request, event });
    assert!(
        matches!(effects.last(), Some(Effect::EndTurn(End { open_items: 0, .. }))),
        "{effects:?}"
    );
}

#[test]
fn an_unchecked_edit_of_a_subagent_is_one_of_the_turn() {
    let mut with_task = settings();
    with_task.tools.push(tool("task", true));
    for (report, unchecked) in [
        ("[cairn] No command has checked its last edit with success.", true),
        ("[cairn] It changed a.", false),
    ] {
        let mut test = TurnTest::new(with_task.clone());
        test.say("fix it");
        test.reply(vec![call("a", "task", json!({"a": "b"}))], Stop::ToolUse).done("a", report);
        test.log();
        test.reply(vec![text("Done.")], Stop::EndTurn);
        assert_eq!(test.log().contains("note Reminder"), unchecked, "{report}");
    }
}
