//! `AGENTS.md` and `CLAUDE.md`: the parts sent to the model, their time, and the notices to the user.

use std::fs;

use cairn_protocol::{
    Empty, MessageRole, Notice, RunTask, RunTaskParams, State, TaskContext, TranscriptEntry,
};
use cairn_tests::{
    editor_double::range,
    model_server::{Recorded, Wire},
};
use serde_json::{Value, json};

use crate::{attacks::sandbox::git, fixtures::*};

fn system(request: &Recorded) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    body["system"][0]["text"].as_str().unwrap().to_owned()
}

/// Dim lines of the transcript, as they came.
fn notes(test: &TestDaemon) -> Vec<String> {
    let notices = test.editor.notices();
    let note = |notice: &Notice| match notice {
        Notice::Message(message) if message.role == MessageRole::Reminder => message.text.clone(),
        _ => None,
    };
    notices.iter().filter_map(note).collect()
}

#[tokio::test]
async fn a_session_starts_with_the_instructions_above_the_active_file() {
    let files = [
        ("AGENTS.md", "Root rule."),
        ("a/b/CLAUDE.md", "Near rule."),
        ("a/b/x.rs", "x"),
        ("c/AGENTS.md", "Far rule."),
    ];
    let test = TestDaemon::open(Wire::Anthropic, &files).await;
    fs::create_dir(test.state().join("config")).unwrap();
    fs::write(test.state().join("config/AGENTS.md"), "My rule.").unwrap();
    // What the user has not saved yet counts.
    test.open_file("AGENTS.md");
    test.editor.type_in(&test.uri("AGENTS.md"), range((0, 0), (0, 0)), "New ");
    test.script([say("Done.")]);
    let context = TaskContext { active_file: Some(test.uri("a/b/x.rs")), ..TaskContext::default() };
    let params =
        RunTaskParams { text: "Do it".into(), context: Some(context), ..RunTaskParams::default() };
    let turn = test.editor.request::<RunTask>(params).await.unwrap();
    test.editor.turn_end(&turn.turn_id).await;
    let line = "Instructions loaded: a/b/CLAUDE.md (10 bytes), AGENTS.md (14 bytes), your own AGENTS.md (8 bytes)";
    assert_eq!(notes(&test)[0], line);
    // They are fixed with the session, also over a restart, whatever becomes of the files.
    fs::write(test.path("a/b/CLAUDE.md"), "Another rule.").unwrap();
    let test = test.restart().await;
    let state = test.editor.request::<State>(Empty {}).await.unwrap();
    let shown = state.sessions[0].transcript.iter().any(|entry| {
        matches!(entry, TranscriptEntry::Message(message) if message.text.as_deref() == Some(line))
    });
    assert!(shown, "{:?}", state.sessions[0].transcript);
    test.play_on(&turn.session_id, [say("Done.")]).await;
    let requests = test.finish().await;
    let told = system(&requests[0]);
    assert_eq!(system(&requests[1]), told);
    let order = ["Near rule.", "New Root rule.", "My rule."].map(|rule| told.find(rule));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{told}");
    assert!(!told.contains("Far rule."));
}

#[tokio::test]
async fn instructions_of_a_folder_are_sent_when_the_agent_reads_a_file_in_it() {
    let files = [
        ("c/AGENTS.md", "Far rule."),
        ("c/d/x", "one\n"),
        ("c/y", "one\n"),
        ("AGENTS.md", "Root rule."),
    ];
    let test = TestDaemon::open(Wire::Anthropic, &files).await;
    let read = |id: &str, path: &str| call(id, "read_file", json!({ "path": path }));
    let end = test.play([read("c1", "c/d/x"), edit("c2", "c/y", "one", "two"), say("Done.")]).await;
    test.play_on(&end.session_id, [read("c3", "c/d/x"), say("Done.")]).await;
    let told = notes(&test);
    let far: Vec<&String> = told.iter().filter(|note| note.contains("Far rule.")).collect();
    assert_eq!(far.len(), 1, "{told:?}");
    let requests = test.finish().await;
    let after_reading = newest(&requests[1]);
    assert!(after_reading.contains("it is the text of c/AGENTS.md:\nFar rule."), "{after_reading}");
    assert!(!after_reading.contains("Root rule."), "{after_reading}");
    assert!(!newest(&requests[2]).contains("Far rule."));
    assert!(!newest(&requests[4]).contains("Far rule."));
}

#[tokio::test]
async fn a_session_without_instruction_files_mentions_none() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    test.play([say("Done.")]).await;
    assert_eq!(notes(&test).iter().filter(|note| note.contains("Instructions")).count(), 0);
    let requests = test.finish().await;
    assert!(!system(&requests[0]).contains("Instructions of the project"));
}

/// The first prompt of a session in a repository with these commands of Git run in it.
async fn prompt_in_repository(files: &[(&str, &str)], commands: &[&[&str]]) -> String {
    let test = TestDaemon::open(Wire::Anthropic, files).await;
    for command in commands {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
        git(&test.path("."), &[&identity, *command].concat());
    }
    fs::write(test.path("a"), "two\n").unwrap();
    test.play([say("Seen.")]).await;
    system(&test.finish().await[0])
}

#[tokio::test]
async fn a_session_starts_with_the_state_of_its_repository() {
    let commit: [&[&str]; 3] =
        [&["init", "-qb", "main"], &["add", "a"], &["commit", "-qm", "Mend the cart"]];
    let prompt =
        prompt_in_repository(&[("a", "one\n"), ("new", ""), ("Cargo.toml", "")], &commit).await;
    for fact in [
        "Git branch: main",
        "Git HEAD: Mend the cart",
        "Uncommitted changes: M a, ?? Cargo.toml, ?? new\n",
        "Versions: cargo ",
    ] {
        assert!(prompt.contains(fact), "{fact}: {prompt}");
    }
}

#[tokio::test]
async fn an_odd_repository_is_described_as_far_as_it_goes() {
    // No commit, and many new files.
    let names: Vec<String> = (0..10_000).map(|n| format!("new/{n}/{}", "x".repeat(100))).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    files.push(("a", "one\n"));
    let track: [&[&str]; 2] = [&["init", "-qb", "main"], &["add", "."]];
    let prompt = prompt_in_repository(&files, &track).await;
    assert!(prompt.contains("and 9991 more"), "{prompt}");
    assert!(!prompt.contains("Git HEAD") && prompt.len() < 20_000, "{prompt}");
    // A program of the repository that Git starts and that does not end.
    let slow: [&[&str]; 2] =
        [&["init", "-qb", "main"], &["config", "core.fsmonitor", "sleep 600; true"]];
    let files = [("a", "one\n")];
    let prompt = prompt_in_repository(&files, &slow).await;
    assert!(prompt.contains("Git branch: main"), "{prompt}");
}
