use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;
use crate::tools::testing::Fixture;

async fn check(fixture: &Fixture, arguments: Value, expect: Expect) {
    let got = fixture.call("bash", arguments).await;
    // The only part that differs from run to run.
    let got: Vec<String> = got
        .lines()
        .map(|line| match line.rsplit_once(", ") {
            Some((before, after)) if after.ends_with(" s") => before.to_owned(),
            _ => line.to_owned(),
        })
        .collect();
    expect.assert_eq(&got.join("\n"));
}

#[tokio::test]
async fn a_command_runs_and_its_output_is_the_result() {
    let fixture = Fixture::new(&[("a.txt", "hello\n")]);
    check(&fixture, json!({"command": "cat a.txt"}), expect!["hello\n[cairn] exit code 0"]).await;
    check(
        &fixture,
        json!({"command": "printf x; exit 2"}),
        expect!["failed: x\n[cairn] exit code 2"],
    )
    .await;
    check(
        &fixture,
        json!({"command": "kill -TERM $$"}),
        expect!["failed: [cairn] ended by signal 15"],
    )
    .await;
    check(&fixture, json!({"command": " # nothing\n"}), expect!["failure: `command` is empty."])
        .await;
}

#[tokio::test]
async fn the_result_names_files_that_are_unsaved_in_the_editor() {
    let fixture = Fixture::new(&[]);
    fixture.stays_unsaved(&["src/a.rs", "b"]);
    check(
        &fixture,
        json!({"command": "true"}),
        expect![
            "[cairn] Unsaved in the editor, so the command saw older text: src/a.rs, b\n[cairn] exit code 0"
        ],
    )
    .await;
}

#[tokio::test]
async fn a_cancelled_turn_ends_the_command() {
    let fixture = Fixture::new(&[]);
    fixture.cancel();
    let got = fixture.call("bash", json!({"command": "sleep 60"})).await;
    assert!(got.contains("ancelled"), "{got}");
}

#[test]
fn a_failure_without_a_grant_names_the_grant() {
    let needs = |network, git| Needs { network, git };
    for (output, needs, told) in [
        ("curl: (6) Could not resolve host: a.b", needs(false, false), "[\"network\"]"),
        ("curl: (6) Could not resolve host: a.b", needs(true, false), ""),
        (
            "Unable to create '/w/.git/index.lock': Read-only file system",
            needs(false, false),
            "[\"git\"]",
        ),
        (
            "error: no matching package; you're using offline mode (--offline)",
            needs(false, false),
            "[\"network\"]",
        ),
        (
            "curl: (7) Failed to connect to localhost: Connection refused",
            needs(false, false),
            "background: true",
        ),
        ("curl: (7) Failed to connect to localhost: Connection refused", needs(true, false), ""),
        (
            "dial tcp: lookup a.b on [::1]:53: connection refused",
            needs(false, false),
            "[\"network\"]",
        ),
        ("dial unix /var/run/docker.sock: no such file", needs(true, true), "Docker's socket"),
        ("touch: '/w/.git/hooks/a': Read-only file system", needs(false, true), "hooks and config"),
        ("touch: /usr/a: Read-only file system", needs(false, false), "cairn.sandbox.writable"),
        ("error: no such file", needs(false, false), ""),
        (
            "cat: /h/me/x/a: No such file or directory",
            needs(false, false),
            "cairn.sandbox.readable",
        ),
        ("cat: /h/me/ws/a: No such file or directory", needs(false, false), ""),
    ] {
        let hints = hints(output, needs, ("/h/me", "/h/me/ws"));
        assert_eq!(hints.len(), usize::from(!told.is_empty()), "{output}: {hints:?}");
        assert!(hints.iter().all(|hint| hint.contains(told)), "{output}: {hints:?}");
    }
    let both = "EAI_AGAIN\nmkdir: /usr/a: Read-only file system";
    assert_eq!(hints(both, needs(false, false), ("/h/me", "/h/me/ws")).len(), 2);
}

#[test]
fn a_failure_behind_a_pipe_is_recognized() {
    let output = format!("{}EAI_AGAIN", "x".repeat(4_000));
    let told = |command, code| telling(command, &Exit::Code(code), &output).len();
    assert_eq!(told("npm install | tail", 0), 2 * 1024);
    assert_eq!(told("grep EAI_AGAIN log", 0), 0);
    assert_eq!(told("npm install", 1), output.len());
}

#[test]
fn the_description_says_the_limits_of_time_and_output() {
    let CommandLimits { usual, .. } = CommandLimits::default();
    let limits = CommandLimits { usual, longest: Duration::from_secs(900) };
    let spec = tool(limits).spec;
    let timeout = spec.schema["properties"]["timeout_ms"]["description"].as_str();
    assert_eq!(timeout, Some("Default 120000, at most 900000"));
    assert!(spec.description.contains("the first 10 and last 20 KiB"), "{}", spec.description);
}

#[tokio::test]
async fn a_time_limit_that_is_too_long_is_lowered_in_words() {
    let fixture = Fixture::new(&[]);
    let got = fixture.call("bash", json!({"command": "true", "timeout_ms": 900_000})).await;
    assert!(got.contains("asked for 900 s") && got.contains("at most 600 s"), "{got}");
    let got = fixture.call("bash", json!({"command": "true", "timeout_ms": 600_000})).await;
    assert!(!got.contains("asked for"), "{got}");
}

#[tokio::test]
async fn a_call_may_ask_for_more_time_than_the_usual_limit() {
    let mut fixture = Fixture::new(&[]);
    let usual = Duration::from_millis(200);
    fixture.limit(CommandLimits { usual, ..CommandLimits::default() });
    let got = fixture.call("bash", json!({"command": "sleep 1; echo end", "timeout_ms": 300_000}));
    assert!(got.await.starts_with("end\n[cairn] exit code 0"));
}

#[tokio::test]
async fn a_command_that_outlives_its_time_is_handed_over() {
    let fixture = Fixture::new(&[]);
    let got = fixture.call("bash", json!({"command": "echo a; sleep 60", "timeout_ms": 100})).await;
    let said =
        "a\n[cairn] still runs after 0.1 s, and goes on as process 1: process_output reads it";
    assert!(got.starts_with(said), "{got}");
    let log = got.split("the whole output: ").nth(1).expect("a log");
    assert_eq!(std::fs::read_to_string(log.trim()).expect("it is readable"), "a\n");
    let got = fixture.call("process_stop", json!({"id": 1})).await;
    assert!(got.contains("process 1 was stopped by you"), "{got}");
}

#[tokio::test]
async fn a_process_is_read_waited_for_typed_into_and_stopped() {
    let fixture = Fixture::new(&[]);
    let server = "echo starting; read -r a; echo listening on $a; cat";
    let got = fixture.call("bash", json!({"command": server, "background": true})).await;
    assert!(got.starts_with("starting\n[cairn] runs as process 1"), "{got}");
    let got = fixture.call("process_input", json!({"id": 1, "text": "8080\n"})).await;
    assert!(got.starts_with("listening on 8080\n[cairn] process 1 runs"), "{got}");
    let wait = json!({"id": 1, "since": 0, "wait_for": "listening on \\d+", "timeout_ms": 20_000});
    let got = fixture.call("process_output", wait).await;
    assert!(got.starts_with("starting\nlistening on 8080\n") && !got.contains("vain"), "{got}");
    let wait = json!({"id": 1, "wait_for": "never", "timeout_ms": 100});
    let got = fixture.call("process_output", wait).await;
    assert!(got.starts_with("[cairn] waited 0 s for it in vain\n"), "{got}");
    let got = fixture.call("process_input", json!({"id": 1, "text": "x\n", "eof": true})).await;
    assert!(got.starts_with("x\n"), "{got}");
    let wait = json!({"id": 1, "wait_for": "exit", "timeout_ms": 20_000});
    let got = fixture.call("process_output", wait).await;
    assert!(got.contains("process 1 ended with exit code 0"), "{got}");
    let got = fixture.call("process_input", json!({"id": 1, "text": "x"})).await;
    assert_eq!(got, "failure: Process 1 has ended.");
    let got = fixture.call("process_stop", json!({"id": 7})).await;
    assert!(got.starts_with("failure: There is no process 7: known are 1."), "{got}");
}

#[tokio::test]
async fn a_background_command_that_ends_at_once_has_an_ordinary_result() {
    let fixture = Fixture::new(&[]);
    let got = fixture.call("bash", json!({"command": "echo a; exit 3", "background": true})).await;
    assert!(got.starts_with("failed: a\n[cairn] exit code 3"), "{got}");
}

#[tokio::test]
async fn a_terminal_without_a_sandbox_is_refused_in_words() {
    let fixture = Fixture::new(&[]);
    let got = fixture.call("bash", json!({"command": "tty", "terminal": true})).await;
    assert!(got.contains("a terminal is available only in the sandbox"), "{got}");
}

#[tokio::test]
async fn the_whole_of_a_result_that_was_cut_is_in_a_file() {
    let fixture = Fixture::new(&[]);
    let got = fixture.call("bash", json!({"command": "yes 0123456789 | head -c 100000"})).await;
    let log = got.split("the whole output: ").nth(1).and_then(|rest| rest.split(' ').next());
    let whole = std::fs::read_to_string(log.expect("a log")).expect("it is readable");
    assert_eq!(whole.len(), 100_000);
}

#[tokio::test]
async fn a_result_that_was_cut_says_the_limit() {
    let fixture = Fixture::new(&[]);
    let got = fixture.call("bash", json!({"command": "yes 0123456789 | head -c 100000"})).await;
    let said = "69280 bytes left out: a result has the first 10 and the last 20 KiB";
    assert!(got.contains(said), "{got}");
}

#[tokio::test]
async fn a_progress_bar_is_one_line_of_the_result() {
    let fixture = Fixture::new(&[]);
    let bar = r"for i in 1 2 3; do printf '\r%d of 3' $i; done; echo; echo end";
    let got = fixture.call("bash", json!({"command": bar})).await;
    assert!(got.starts_with("3 of 3\nend\n"), "{got}");
}

#[test]
fn titles_are_one_short_line() {
    let call = |command: &str| BashCall {
        command: command.to_owned(),
        cwd: "/".into(),
        timeout: Duration::ZERO,
        background: false,
        terminal: false,
        wanted: Duration::ZERO,
        needs: Needs::NONE,
        instead: None,
    };
    assert_eq!(call("npm\n  test").label().english(), "Run npm ⏎ test");
    let fetch = BashCall { needs: Needs { network: true, git: false }, ..call("git fetch") };
    assert_eq!(fetch.label().english(), "Run git fetch (with network access)");
    assert_eq!(call(&"x".repeat(100)).label().english(), format!("Run {}…", "x".repeat(79)));
}
