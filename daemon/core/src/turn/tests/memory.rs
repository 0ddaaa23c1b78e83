//! A session that is taken up again, wherever its process died.

use super::*;

pub(super) fn resumed(records: &[Record]) -> Session {
    let mut restored = RestoredSession::default();
    for record in records {
        // As they come back from a file.
        let line = serde_json::to_string(record).expect("a record is JSON");
        restored.add(serde_json::from_str(&line).expect("and comes back"));
    }
    Session::restore(settings(), restored)
}

/// A session restored from any prefix of its records is legal, contains every record, and can
/// continue.
pub(super) fn resumes_at_every_record(records: &[Record], conversation: &[Item]) {
    for end in 0..=records.len() {
        let mut session = resumed(&records[..end]);
        assert!(!session.is_running());
        assert_legal(session.conversation(), false);
        let items =
            records[..end].iter().filter(|record| matches!(record, Record::Item(_))).count();
        assert_eq!(session.conversation()[..items], conversation[..items]);
        session.step(Input::UserMessage { text: "go on".into(), attached: Vec::new() });
        assert!(session.is_running());
        assert_legal(session.conversation(), true);
    }
}

fn results(session: &Session) -> Vec<&str> {
    match session.conversation().last() {
        Some(Item::ToolResults { results, .. }) => {
            results.iter().map(|result| result.content.as_str()).collect()
        }
        other => panic!("no results but {other:?}"),
    }
}

#[test]
fn started_calls_may_have_run_and_known_results_are_kept() {
    let mut test = TurnTest::start();
    test.reply(
        vec![
            call("a", "read_file", json!({"path": "x"})),
            call("b", "read_file", json!({"path": "y"})),
            call("c", "bash", json!({"command": "make"})),
        ],
        Stop::ToolUse,
    );
    test.done("a", "text of x");
    test.records.push(Record::Begun { call_id: "b".into() });
    let session = resumed(&test.records);
    let texts = results(&session);
    assert_eq!(texts[0], "text of x");
    assert!(texts[1].starts_with("May have run"), "{}", texts[1]);
    assert!(texts[2].starts_with("Not run"), "{}", texts[2]);
}

#[test]
fn a_lost_turn_keeps_its_plan_open_and_notifies_the_model() {
    let mut test = TurnTest::start();
    test.reply(
        vec![call("a", "TodoWrite", todos(&[("read", "in_progress"), ("fix", "pending")]))],
        Stop::ToolUse,
    );
    test.input(Input::Steer { text: "use tabs".into(), attached: Vec::new() });
    let mut session = resumed(&test.records);
    assert!(!session.is_expanded());
    assert!(session.plan_items().iter().all(|item| item.is_open()));
    session.step(Input::UserMessage { text: "go on".into(), attached: Vec::new() });
    let Some(Item::User(message)) = session.conversation().last() else {
        panic!("no message of the user")
    };
    let notes: Vec<&str> = message.notes.iter().map(|note| note.text.as_str()).collect();
    assert!(notes.iter().any(|note| note.contains("use tabs")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("ended before its work was done")), "{notes:?}");
    assert!(
        !notes.iter().any(|note| note.contains("three or more steps")),
        "given once: {notes:?}"
    );
}

#[test]
fn no_record_is_written_without_a_change() {
    let mut test = TurnTest::start();
    assert!(!test.records.is_empty());
    assert_eq!(test.session.take_records(), []);
    let request = test.request;
    test.session.step(Input::Model { request, event: ModelEvent::Text("word".into()) });
    assert_eq!(test.session.take_records(), []);
}
