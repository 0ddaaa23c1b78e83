//! Positions of reminders in the requests to the model, round by round.

use cairn_tests::model_server::{Recorded, Reply, assert_append_only};
use expect_test::{Expect, expect};
use serde_json::json;

use crate::fixtures::*;

const ROUNDS: usize = 15;

/// Plays 15 rounds: `u` one that updates the plan, `.` one that only reads, `w` one that writes. Shows
/// under each round `!` if the request that answers it ends with a reminder.
async fn check(nag: serde_json::Value, rounds: &str, expect: Expect) {
    assert_eq!(rounds.len(), ROUNDS);
    for wire in BOTH {
        let settings = json!({ "plan": { "reminder": nag, "texts": { "stale": "STALE PLAN" } } });
        let test = TestDaemon::with(wire, &[("a", "one\ntwo\n")], settings).await;
        let replies: Vec<Reply> = rounds
            .char_indices()
            .map(|(at, round)| match round {
                'u' => plan(
                    &format!("c{at}"),
                    &[('x', "Read"), ('>', &format!("Write {at}")), (' ', "Send")],
                ),
                'w' => call(
                    &format!("c{at}"),
                    "write_file",
                    json!({ "path": format!("new{at}"), "content": "new\n" }),
                ),
                // Not the same call again: that would be taken for a loop.
                _ => call(&format!("c{at}"), "read_file", json!({ "path": "a", "limit": at + 1 })),
            })
            .collect();
        test.play(replies.into_iter().chain([say("Done.")])).await;
        let requests = test.finish().await;
        assert_eq!(requests.len(), ROUNDS + 1);

        // What was sent is sent again, byte for byte: no reminder moves or goes.
        assert_append_only(&requests);
        let standing: Vec<usize> = requests.iter().map(count).collect();
        let marks: String = standing
            .windows(2)
            .map(|pair| match pair[1] - pair[0] {
                0 => ' ',
                1 => '!',
                more => panic!("{more} reminders at once"),
            })
            .collect();
        for (round, mark) in marks.chars().enumerate() {
            let newest = newest(&requests[round + 1]);
            assert_eq!(
                newest.contains("STALE PLAN"),
                mark == '!',
                "after the results of its round"
            );
        }
        expect.assert_eq(&format!("{rounds}\n{}", marks.trim_end()));
    }
}

fn count(request: &Recorded) -> usize {
    String::from_utf8_lossy(&request.body).matches("STALE PLAN").count()
}

#[tokio::test]
async fn policy_every_round_reminds_in_each_round_after_the_limit() {
    check(
        json!({ "policy": "every-round", "rounds": 3 }),
        "u.......u......",
        expect![[r#"
            u.......u......
               !!!!!   !!!!"#]],
    )
    .await;
}

#[tokio::test]
async fn policy_reset_lengthens_its_interval_over_rounds_with_effects() {
    let reset = json!({ "policy": "reset", "rounds": 3 });
    check(
        reset.clone(),
        "uwwwwwwwwwwuwww",
        expect![[r#"
            uwwwwwwwwwwuwww
               !     !    !"#]],
    )
    .await;
    check(
        reset,
        "u.w.w.w........",
        expect![[r#"
            u.w.w.w........
                  !"#]],
    )
    .await;
}

#[tokio::test]
async fn policy_patient_reminds_once_after_many_rounds() {
    check(
        json!({ "policy": "patient" }),
        "u..............",
        expect![[r#"
            u..............
                       !"#]],
    )
    .await;
}

#[tokio::test]
async fn policy_off_sends_no_reminder() {
    check(json!({ "policy": "off" }), "u..............", expect!["u..............\n"]).await;
}

#[tokio::test]
async fn reminder_texts_can_be_replaced_by_settings() {
    for wire in BOTH {
        let settings = json!({ "plan": {
            "reminder": { "policy": "every-round", "rounds": 2 },
            "texts": {
                "initial": "INITIAL", "stale": "STALE", "unplanned": "UNPLANNED",
                "verification": "VERIFICATION",
            },
        } });
        let test = TestDaemon::with(wire, &[("a", "one\n")], settings).await;
        let read = |id: &str, limit| {
            let again = json!({ "path": "a", "limit": limit });
            call(id, "read_file", again.clone()).call(
                &format!("{id}b"),
                "glob",
                json!({ "pattern": id }),
            )
        };
        let items = |mark| [(mark, "Read"), (mark, "Write"), (mark, "Send")];
        test.play([
            read("c1", 1),
            read("c2", 2),
            plan("c3", &items(' ')),
            read("c4", 4),
            read("c5", 5),
            plan("c6", &items('x')),
            say("Done."),
        ])
        .await;
        let requests = test.finish().await;
        let seen: Vec<String> = requests
            .iter()
            .map(|request| {
                let newest = newest(request);
                let all = ["INITIAL", "UNPLANNED", "STALE"];
                all.into_iter().filter(|text| newest.contains(text)).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(seen, ["INITIAL", "", "UNPLANNED", "", "", "STALE", ""]);
        assert!(
            result(&requests[6], "c6")
                .contains("[cairn] reminder:\nVERIFICATION\n[cairn] end of the reminder")
        );
    }
}
