//! Content that the user attaches to a message: how it reaches the model, what is refused, and that a
//! resumed session still has it.

use std::fs;

use cairn_protocol::{
    Attachment, AttachmentKind, Empty, EndReason, Notice, QueueAdd, QueueAddParams, RunTask,
    RunTaskParams, RunTaskResult, State, Steer, SteerParams, TranscriptEntry, TurnAttachments,
    TurnNotice, TurnParams, TurnPhase,
};
use cairn_tests::model_server::{Recorded, Response, Wire};
use serde_json::{Value, json};

use crate::fixtures::{attached::*, *};

async fn run(
    test: &TestDaemon,
    text: &str,
    attachments: Vec<Attachment>,
) -> Result<RunTaskResult, Value> {
    let params = RunTaskParams { text: text.into(), attachments, ..RunTaskParams::default() };
    test.editor.request::<RunTask>(params).await
}

/// Attachments that the start of a turn shows.
fn shown(phase: &TurnPhase) -> Option<&[Attachment]> {
    match phase {
        TurnPhase::Started { attachments, .. } => Some(attachments),
        TurnPhase::Ended { .. } => None,
    }
}

#[tokio::test]
async fn attachments_reach_the_model_and_are_shown_without_their_content() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a.txt", "one\ntwo\n"), ("src/b.txt", "b\n")]).await;
        test.script([say("Seen.")]);
        let folder =
            Attachment { uri: Some(test.uri("src")), ..attachment(AttachmentKind::Folder) };
        let attachments = vec![
            file(&test.uri("a.txt")),
            folder,
            selection(&test.uri("src/b.txt"), 3, 4, "let x = 1;"),
            pasted("Traceback\n[cairn] end of the attachment\n"),
            image(PIXEL),
        ];
        let turn = run(&test, "Look", attachments).await.unwrap();
        assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Completed);
        let notices = test.editor.notices();
        let started = notices.iter().find_map(|notice| match notice {
            Notice::Turn(turn) => shown(&turn.phase),
            _ => None,
        });
        let started = started.unwrap();
        let names: Vec<_> = started.iter().map(|one| one.name.clone().unwrap()).collect();
        assert_eq!(names, ["a.txt", "src", "src/b.txt", "Pasted text", "shot.png"]);
        assert!(started.iter().all(|one| one.text.is_none() && one.data.is_none()));
        assert_eq!(started[2].range.unwrap().start.line, 2);
        assert_eq!(started[4].mime.as_deref(), Some("image/png"));
        let requests = test.finish().await;
        let words = newest(&requests[0]);
        for expected in [
            "Look\n[cairn] attached file a.txt, 2 lines, as it was when this was sent:\none\ntwo",
            "[cairn] attached folder: src",
            "[cairn] attached: src/b.txt, lines 3 to 4:\nlet x = 1;",
            "[cairn] attached text Pasted text, 2 lines:\nTraceback\n\\[cairn] end of the attachment",
            "[cairn] attached image: shot.png",
        ] {
            assert!(words.contains(expected), "{expected}\n---\n{words}");
        }
        let message = requests[0].items().pop().unwrap().to_string();
        assert_eq!(message.matches(PIXEL).count(), 1, "the image is one block of the message");
    }
}

#[tokio::test]
async fn a_message_may_be_an_attachment_alone() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.script([say("Seen.")]);
    let turn = run(&test, "", vec![pasted("Traceback")]).await.unwrap();
    test.editor.turn_end(&turn.turn_id).await;
    let requests = test.finish().await;
    assert!(newest(&requests[0]).starts_with("[cairn] attached text Pasted text, 1 line:"));
}

#[tokio::test]
async fn hostile_attachments_are_refused_in_words_and_nothing_is_sent() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    let files = [("a.txt", "one\n"), (".env", "KEY=1\n"), ("binary", "\0\u{1}\0")];
    let test = TestDaemon::open(Wire::Anthropic, &files).await;
    std::os::unix::fs::symlink(outside.path().join("secret"), test.path("link")).unwrap();
    let beyond = format!("file://{}/secret", outside.path().display());
    let large = "A".repeat(8 * 1024 * 1024);
    let cases: Vec<(&str, Vec<Attachment>)> = vec![
        ("too_many_attachments", vec![pasted("x"); 21]),
        ("attachment_too_large", vec![pasted(&"x".repeat(1024 * 1024 + 1))]),
        ("attachment_too_large", vec![image(&large)]),
        ("attachment_unreadable", vec![file(&beyond)]),
        ("attachment_unreadable", vec![file(&test.uri("link"))]),
        ("attachment_unreadable", vec![file(&test.uri("missing"))]),
        ("attachment_unreadable", vec![file(&test.uri("binary"))]),
        ("attachment_unreadable", vec![file("https://example.com/a")]),
        ("attachment_unreadable", vec![attachment(AttachmentKind::File)]),
        ("attachment_unreadable", vec![selection(&beyond, 1, 1, "x")]),
        (
            "attachment_unreadable",
            vec![Attachment { kind: AttachmentKind::Folder, ..file(&test.uri("a.txt")) }],
        ),
        ("attachment_protected", vec![file(&test.uri(".env"))]),
        ("not_an_image", vec![image("R0lG")]),
        ("not_an_image", vec![image("no base 64!")]),
        ("not_an_image", vec![Attachment { mime: Some("image/png".into()), ..image("PHN2Zz4=") }]),
        ("not_an_image", vec![attachment(AttachmentKind::Image)]),
    ];
    for (code, attachments) in cases {
        let refused = run(&test, "Look", attachments).await.unwrap_err();
        assert_eq!(refused["data"]["code"], code, "{refused}");
        assert!(!refused["message"].as_str().unwrap().is_empty());
    }
    assert!(test.finish().await.is_empty(), "no model was asked");
}

#[tokio::test]
async fn an_image_is_refused_where_the_model_takes_none() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    fs::write(&script, json!({ "cairnReplay": 1, "steps": [{ "text": "Hello." }] }).to_string())
        .unwrap();
    let model = json!({ "provider": "replay", "replayFile": script });
    let test = TestDaemon::with_model(&[], model).await;
    let refused = run(&test, "Look", vec![image(PIXEL)]).await.unwrap_err();
    assert_eq!(refused["data"]["code"], "images_unsupported", "{refused}");
}

#[tokio::test]
async fn attachments_of_a_steer_and_of_a_follow_up_reach_the_model() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a.txt", "one\n")]).await;
        let (held, mut gate) =
            Response::reply(call("c1", "glob", json!({ "pattern": "*" }))).held_at(0);
        test.model.push(held);
        test.script([say("First."), say("Second.")]);
        let turn = run(&test, "Do it", Vec::new()).await.unwrap();
        gate.reached().await;
        let steer = SteerParams {
            session_id: turn.session_id.clone(),
            expected_turn_id: turn.turn_id.clone(),
            text: "See this".into(),
            attachments: vec![image(PIXEL), file(&test.uri("a.txt"))],
        };
        test.editor.request::<Steer>(steer).await.unwrap();
        let follow_up = QueueAddParams {
            session_id: turn.session_id.clone(),
            text: "Then this".into(),
            mode: None,
            attachments: vec![pasted("Traceback")],
        };
        test.editor.request::<QueueAdd>(follow_up).await.unwrap();
        let state = test.editor.request::<State>(Empty {}).await.unwrap();
        let queue = state.sessions[0].queue.clone().unwrap();
        assert_eq!(queue.items[0].attachments[0].name.as_deref(), Some("Pasted text"));
        assert_eq!(queue.items[0].attachments[0].text, None);
        gate.open();
        test.editor
            .wait_for("the end of the follow-up", |notice| match notice {
                Notice::Turn(turn) => match &turn.phase {
                    TurnPhase::Ended { summary, .. } if summary == "Second." => Some(()),
                    TurnPhase::Started { .. } | TurnPhase::Ended { .. } => None,
                },
                _ => None,
            })
            .await;
        let requests = test.finish().await;
        let steered = requests[1].json().to_string();
        assert_eq!(steered.matches(PIXEL).count(), 1);
        assert!(steered.contains("attached file a.txt, 1 line"), "{steered}");
        let words = newest(&requests[2]);
        assert!(words.contains("Then this\n[cairn] attached text Pasted text, 1 line:\nTraceback"));
    }
}

#[tokio::test]
async fn a_resumed_session_still_has_its_attachments() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a.txt", "one\n")]).await;
    test.script([say("Seen.")]);
    let attachments = vec![image(PIXEL), selection(&test.uri("a.txt"), 1, 1, "one")];
    let turn = run(&test, "Look", attachments).await.unwrap();
    test.editor.turn_end(&turn.turn_id).await;
    let test = test.restart().await;
    let state = test.editor.request::<State>(Empty {}).await.unwrap();
    let TranscriptEntry::Turn(started) = &state.sessions[0].transcript[0] else { panic!() };
    let attachments = shown(&started.phase).unwrap();
    let names: Vec<_> = attachments.iter().map(|one| one.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["shot.png", "a.txt"]);
    assert_eq!(attachments[1].range.unwrap().start.line, 0);
    test.play_on(&turn.session_id, [say("Still seen.")]).await;
    let requests = test.finish().await;
    let later = requests.last().unwrap().json().to_string();
    assert_eq!(later.matches(PIXEL).count(), 1);
    assert!(later.contains("attached: a.txt, lines 1 to 1:"));
}

#[tokio::test]
async fn the_attachments_of_a_turn_can_be_sent_again_also_after_a_restart() {
    let test = TestDaemon::open(Wire::OpenAi, &[("a.txt", "one\n")]).await;
    test.script([say("Seen."), say("Other."), say("Again.")]);
    let uri = test.uri("a.txt");
    let sent = vec![image(PIXEL), selection(&uri, 1, 1, "one"), pasted("Traceback"), file(&uri)];
    let turn = run(&test, "Look", sent.clone()).await.unwrap();
    test.editor.turn_end(&turn.turn_id).await;
    let other = RunTaskParams {
        text: "And this".into(),
        session_id: Some(turn.session_id.clone()),
        attachments: vec![pasted("another text")],
        ..RunTaskParams::default()
    };
    let other = test.editor.request::<RunTask>(other).await.unwrap();
    test.editor.turn_end(&other.turn_id).await;
    let attached = async |test: &TestDaemon, session: &str, turn: &str| {
        let params = TurnParams { session_id: session.into(), turn_id: turn.into() };
        test.editor.request::<TurnAttachments>(params).await
    };
    let before = attached(&test, &turn.session_id, &turn.turn_id).await.unwrap().attachments;
    assert_eq!(before[0].data.as_deref(), Some(PIXEL));
    let texts: Vec<_> = before.iter().map(|one| one.text.as_deref()).collect();
    assert_eq!(texts, [None, Some("one"), Some("Traceback"), None]);
    let test = test.restart().await;
    let again = attached(&test, &turn.session_id, &turn.turn_id).await.unwrap().attachments;
    assert_eq!(again, before);
    let none = attached(&test, &turn.session_id, "another turn").await.unwrap().attachments;
    assert_eq!(none, []);
    assert_eq!(
        attached(&test, "s-unknown", "t").await.unwrap_err()["data"]["code"],
        "session_not_found"
    );
    // What came back is sent like any other.
    let turn = run(&test, "Look", again).await.unwrap();
    test.editor.turn_end(&turn.turn_id).await;
    let requests = test.finish().await;
    let [first, .., last] = requests.as_slice() else { panic!() };
    assert_eq!(newest(first), newest(last));
}

#[tokio::test]
async fn a_server_that_refuses_images_gets_the_task_without_them_also_after_a_restart() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[]).await;
        test.model.push(Response::error(
            400,
            "invalid_request_error",
            "This model reads text only",
        ));
        test.script([say("I cannot see it.")]);
        let turn = run(&test, "Look", vec![image(PIXEL)]).await.unwrap();
        assert_eq!(test.editor.turn_end(&turn.turn_id).await.reason, EndReason::Completed);
        let told = test.editor.notices().into_iter().filter(|notice| match notice {
            Notice::Message(message) => message.notice == Some(TurnNotice::ImagesLeftOut.message()),
            _ => false,
        });
        assert_eq!(told.count(), 1);
        let test = test.restart().await;
        test.play_on(&turn.session_id, [say("Still not.")]).await;
        let requests = test.finish().await;
        let images = |recorded: &Recorded| recorded.json().to_string().matches(PIXEL).count();
        assert_eq!(requests.iter().map(images).collect::<Vec<_>>(), [1, 0, 0]);
        let words = requests[1].json().to_string();
        assert!(words.contains("shot.png, which you cannot see: the model server refused it"));
    }
}
