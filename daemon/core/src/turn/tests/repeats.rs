//! Calls that are made again and again.

use super::*;

#[test]
fn a_repeated_call_is_warned_about_and_then_stopped() {
    let mut test = TurnTest::start();
    for n in 0..6 {
        test.log();
        test.reply(vec![call(&format!("c{n}"), "bash", json!({"command": "ls"}))], Stop::ToolUse);
        if n < 5 {
            test.done(&format!("c{n}"), "same");
            let log = test.log();
            let said = "note Notice: You made the same call";
            let warned = log.contains(&format!("{said} with the same arguments three times"));
            let asked = log.contains(&format!("{said} five times"));
            assert_eq!((warned, asked), (n == 2, n == 4), "round {n}");
        }
    }
    assert!(test.log().contains("end Failed: RepeatedCall(\"bash\")"));
}

#[test]
fn a_call_that_is_made_otherwise_after_the_last_warning_is_run() {
    let mut test = TurnTest::start();
    for n in 0..5 {
        test.reply(vec![call(&format!("c{n}"), "bash", json!({"command": "ls"}))], Stop::ToolUse)
            .done(&format!("c{n}"), "same");
    }
    test.log();
    test.reply(vec![call("c5", "bash", json!({"command": "ls -a"}))], Stop::ToolUse).done("c5", "");
    test.reply(vec![call("c6", "bash", json!({"command": "ls"}))], Stop::ToolUse)
        .done("c6", "same");
    let log = test.log();
    assert!(log.contains("run bash") && !log.contains("end Failed"), "{log}");
}

#[test]
fn a_repeated_call_with_another_result_is_no_loop() {
    let mut test = TurnTest::start();
    for n in 0..8 {
        test.reply(vec![call(&format!("c{n}"), "bash", json!({"command": "date"}))], Stop::ToolUse)
            .done(&format!("c{n}"), &format!("{n} o'clock"));
    }
    assert!(!test.log().contains("You made the same call"));
}

#[test]
fn equal_calls_of_one_answer_are_no_loop() {
    let mut test = TurnTest::start();
    let ids: Vec<String> = (0..8).map(|n| format!("c{n}")).collect();
    let calls = ids.iter().map(|id| call(id, "read_file", json!({"path": "x"})));
    test.reply(calls.collect(), Stop::ToolUse);
    ids.iter().for_each(|id| {
        test.done(id, "same");
    });
    let log = test.log();
    assert!(!log.contains("You made the same call") && !log.contains("end Failed"), "{log}");
}
