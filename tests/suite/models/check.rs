//! The check of a model, with servers that keep and break the rules.

use cairn_protocol::{
    CheckModel, CheckModelParams, CheckState, CheckedPart, EndReason, ModelCheckRow, ModelFinding,
    Notice, ServerModelsParams,
};
use cairn_tests::model_server::{Reply, Response, Wire};
use serde_json::json;

use crate::fixtures::*;

fn add(id: &str, a: u32) -> Reply {
    Reply::text("I add.").call(id, "add", json!({ "a": a, "b": 3 }))
}

/// Answers of a model that does everything.
fn good() -> [Response; 3] {
    [
        add("c1", 2),
        add("c2", 2).call("c3", "add", json!({ "a": 4, "b": 5 })),
        say("The tool added two and three, and five came out of it."),
    ]
    .map(Response::reply)
}

async fn check(test: &TestDaemon) -> Vec<ModelCheckRow> {
    let params = CheckModelParams { check_id: "one".into(), ..Default::default() };
    test.editor.request::<CheckModel>(params).await.unwrap().rows
}

fn found(rows: &[ModelCheckRow], part: CheckedPart) -> &ModelCheckRow {
    rows.iter().find(|row| row.part == part.message()).unwrap()
}

#[tokio::test]
async fn a_model_that_works_is_found_to_work_in_every_format() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        good().into_iter().for_each(|response| test.model.push(response));
        let rows = check(&test).await;
        use CheckedPart::*;
        for part in [
            PartAnswer,
            PartToolCall,
            PartParallelCalls,
            PartHistory,
            PartTokenCounts,
            PartRequestForm,
        ] {
            assert_eq!(found(&rows, part).state, CheckState::Works.message(), "{wire:?}: {rows:?}");
        }
        let reported = test.editor.notices().into_iter().filter_map(|notice| match notice {
            Notice::ModelCheck(checked) if checked.check_id == "one" => {
                let open = ModelFinding::NotChecked.message();
                Some(checked.rows.iter().filter(|row| row.finding != open).count())
            }
            _ => None,
        });
        assert_eq!(reported.collect::<Vec<_>>(), [4, 5], "the findings come as they are made");
        assert_eq!(test.finish().await.len(), 3);
    }
}

/// The next task sends no request in the refused form.
#[tokio::test]
async fn a_form_that_the_server_wants_is_learned_and_used() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let mut replies = good().into_iter().chain([Response::reply(say("Done."))]);
    test.model.otherwise(move |request| match request.json()["stream_options"].is_null() {
        true => replies.next().unwrap(),
        false => Response::error(400, "e", "Unrecognized request argument: stream_options"),
    });
    let rows = check(&test).await;
    let form = found(&rows, CheckedPart::PartRequestForm);
    assert_eq!(form.state, CheckState::Adapted.message(), "{rows:?}");
    assert_eq!(form.finding.english(), "the server needs other requests: no stream_options");
    assert_eq!(test.model.requests().len(), 4, "one refusal");
    let end = test.editor.run("Do it").await;
    assert_eq!((end.reason, test.model.requests().len()), (EndReason::Completed, 5));
    test.finish().await;
}

#[tokio::test]
async fn each_fault_of_a_server_has_its_row() {
    use CheckedPart::*;
    let written = "<function=add>\n<parameter=a>\n2\n</parameter>\n</function>";
    let cut = || Response::reply(add("c1", 2)).cut_after(40);
    let huge = || Response::reply(say(&"word ".repeat(1 << 20)));
    let refusal = || Response::error(400, "e", "the roles in this conversation are wrong");
    let good = |at: usize| good().into_iter().nth(at).unwrap();
    let cases: [(&str, [Response; 3], CheckedPart, CheckState, &str); 6] = [
        (
            "a call as text",
            [Response::reply(say(written)), good(1), good(2)],
            PartToolCall,
            CheckState::Broken,
            "call_as_text",
        ),
        ("no call", [good(2), good(1), good(2)], PartToolCall, CheckState::Broken, "no_call"),
        (
            "one call",
            [good(0), good(0), good(2)],
            PartParallelCalls,
            CheckState::Limited,
            "calls_one_by_one",
        ),
        (
            "a refused history",
            [good(0), good(1), refusal()],
            PartHistory,
            CheckState::Broken,
            "not_answered",
        ),
        ("a cut answer", [cut(), good(1), good(2)], PartAnswer, CheckState::Broken, "not_answered"),
        (
            "a huge answer",
            [huge(), good(1), good(2)],
            PartAnswer,
            CheckState::Broken,
            "not_answered",
        ),
    ];
    for (name, responses, part, state, code) in cases {
        let test = TestDaemon::open(Wire::OpenAi, &[]).await;
        responses.into_iter().for_each(|response| test.model.push(response));
        let rows = check(&test).await;
        let row = found(&rows, part);
        assert_eq!((&row.state, &*row.finding.code), (&state.message(), code), "{name}");
        let broken = CheckState::Broken.message();
        let broken = rows.iter().filter(|row| row.state == broken).count();
        assert!(broken <= 1, "{name}: {rows:?}");
        assert_eq!(test.finish().await.len(), 3, "{name}: the check goes on");
    }
}

#[tokio::test]
async fn a_cancelled_check_leaves_the_server() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    test.model.push(Response::reply(add("c1", 2)).cut_after(0).silent());
    let params = json!({ "checkId": "one" });
    let request = test.editor.client.ask("agent/models/check", params);
    test.model.wait_for_requests(1).await;
    test.editor.client.notify("$/cancelRequest", json!({ "id": request }));
    let reply = test.editor.client.reply(&request).await;
    assert_eq!(reply.unwrap_err()["code"], -32800);
    test.model.wait_for_hang_ups(1).await;
    // The daemon serves on.
    test.model.push(Response::reply(say("Done.")));
    assert_eq!(test.editor.run("Do it").await.reason, EndReason::Completed);
    test.finish().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_not_asked() {
    let test = TestDaemon::open(Wire::OpenAi, &[]).await;
    let server = |provider: &str, base: &str| {
        let base_url = Some(base.to_owned());
        Some(ServerModelsParams { provider: provider.into(), base_url })
    };
    for (server, code) in [
        (server("openai", "https://models.invalid/v1"), "no_api_key"),
        (server("openai", "http://models.invalid/v1"), "model_address"),
    ] {
        let params = CheckModelParams { check_id: "x".into(), server, name: Some("m".into()) };
        let rows = test.editor.request::<CheckModel>(params).await.unwrap().rows;
        let row = serde_json::to_value(found(&rows, CheckedPart::PartAnswer)).unwrap();
        assert_eq!(row["finding"]["args"]["reason"]["code"], code, "{row}");
    }
    assert!(test.finish().await.is_empty());
}
