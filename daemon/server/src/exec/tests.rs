//! Tests with real processes. Each command sleeps for a number of seconds of its own, by which the
//! test finds a survivor.

use std::{fs, time::Duration};

use tokio_util::sync::CancellationToken;

use super::*;

/// Deadline for failures: what these commands would wait for takes a day.
const LONGEST: Duration = Duration::from_secs(60);

fn spec(command: &str) -> CommandSpec {
    CommandSpec {
        command: command.to_owned(),
        cwd: std::env::temp_dir(),
        timeout: Some(Duration::from_secs(30)),
        input: CommandInput::none(),
        tap: None,
        env: Vec::new(),
        sandbox: None,
    }
}

async fn outcome_of(command: &str) -> CommandOutcome {
    run(spec(command), CancellationToken::new()).await.expect("the shell starts")
}

/// Processes that run `sleep <seconds>`.
pub(crate) fn sleepers(seconds: &str) -> usize {
    let wanted = format!("sleep\0{seconds}\0");
    fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|cmdline| cmdline.ends_with(wanted.as_bytes()))
        .count()
}

#[tokio::test]
async fn reports_exit_and_output() {
    let outcome = outcome_of("echo out; echo err >&2; exit 3").await;
    assert_eq!(outcome.exit, Exit::Code(3));
    assert_eq!(outcome.output.text(), "out\nerr\n");
    assert_eq!(outcome.left_running, 0);
    assert_eq!(outcome_of("kill -9 $$").await.exit, Exit::Signal(9));
    assert_eq!(outcome_of("read -r line; echo \"<$line>\"").await.output.text(), "<>\n");
    // More than a pipe holds, whether it is read or not.
    for (command, output) in
        [("wc -c", "200000\n"), ("true", ""), ("read -r line; echo read", "read\n")]
    {
        let spec = CommandSpec { input: CommandInput::Text("\n".repeat(200_000)), ..spec(command) };
        let outcome = run(spec, CancellationToken::new()).await.expect("the shell starts");
        assert_eq!((outcome.exit, outcome.output.text().as_str()), (Exit::Code(0), output));
    }
}

#[tokio::test]
async fn gives_a_clean_environment() {
    let outcome = outcome_of("env").await;
    let names: Vec<&str> =
        outcome.output.head.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert!(names.contains(&"PATH"), "{names:?}");
    for part in ["KEY", "SECRET", "TOKEN", "PASS", "AUTH", "LD_", "CARGO_PKG", "BASH_ENV"] {
        assert!(!names.iter().any(|name| name.contains(part)), "{part} in {names:?}");
    }
}

#[tokio::test]
async fn git_opens_no_editor_that_nobody_sees() {
    let folder = tempfile::tempdir().expect("a folder");
    let begin = "git init -q . && git config user.name a && git config user.email a@example.org && \
                 for text in one two; do echo $text > a; git add a; git commit -q -m $text; done && \
                 git config core.editor 'sleep 100'";
    let outcome = async |command: &str| {
        let cwd = folder.path().to_owned();
        let spec = CommandSpec { cwd, ..spec(command) };
        run(spec, CancellationToken::new()).await.expect("the shell starts")
    };
    assert_eq!(outcome(begin).await.exit, Exit::Code(0));
    for command in [
        "git commit --allow-empty",
        "git commit --amend",
        "git rebase -i HEAD~1",
        "GIT_EDITOR= git config sequence.editor 'sleep 100'; git rebase -i HEAD~1",
    ] {
        let outcome = outcome(command).await;
        assert!(matches!(outcome.exit, Exit::Code(code) if code != 0), "{command}: {outcome:?}");
        let said = outcome.output.text();
        assert!(said.contains("Git wanted an editor"), "{command}: {said}");
    }
    assert_eq!(outcome("git log --format=%s").await.output.text(), "two\none\n");
    let own =
        "GIT_SEQUENCE_EDITOR='sed -i s/^pick/drop/' git rebase -q -i HEAD~1; git log --format=%s";
    assert_eq!(outcome(own).await.output.text(), "one\n");
}

#[tokio::test]
async fn output_is_bounded() {
    let outcome = outcome_of("echo first; yes 0123456789 | head -c 3000000; echo last").await;
    assert_eq!(outcome.output.total_bytes, 3_000_011);
    assert!(outcome.output.head.starts_with("first\n"));
    assert!(outcome.output.tail.ends_with("last\n"));
    assert!(outcome.output.text().len() < 40_000);
    let outcome = outcome_of("head -c 100000 /dev/urandom").await;
    assert_eq!(outcome.output.text(), "[100000 bytes of binary output]");
}

#[tokio::test]
async fn a_background_process_neither_delays_nor_survives() {
    let outcome = outcome_of("sleep 98001 & echo started").await;
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(outcome.output.text(), "started\n");
    assert!(outcome.duration < LONGEST, "{:?}", outcome.duration);
    assert_eq!(sleepers("98001"), 0);
}

#[tokio::test]
async fn a_timeout_kills_the_group() {
    let mut spec = spec("echo begun; sleep 98002 | sleep 98002");
    spec.timeout = Some(Duration::from_millis(300));
    let outcome = run(spec, CancellationToken::new()).await.expect("the shell starts");
    assert_eq!(outcome.exit, Exit::TimedOut);
    assert_eq!(outcome.output.text(), "begun\n");
    assert_eq!(sleepers("98002"), 0);
}

#[tokio::test]
async fn a_command_that_ignores_term_is_killed() {
    let mut spec = spec("trap '' TERM; echo begun; while true; do sleep 98003; done");
    spec.timeout = Some(Duration::from_millis(300));
    let outcome = run(spec, CancellationToken::new()).await.expect("the shell starts");
    assert_eq!(outcome.exit, Exit::TimedOut);
    assert_eq!(sleepers("98003"), 0);
}

#[tokio::test]
async fn a_cancel_leaves_no_survivor() {
    for (command, seconds) in [
        ("sleep 98010", "98010"),
        ("nohup sleep 98012 >/dev/null 2>&1 & sleep 98012", "98012"),
        ("exec >&- 2>&-; sleep 98015", "98015"),
    ] {
        let cancel = CancellationToken::new();
        let running = tokio::spawn(run(spec(command), cancel.clone()));
        while sleepers(seconds) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let asked = std::time::Instant::now();
        cancel.cancel();
        let outcome = running.await.expect("no panic").expect("the shell starts");
        assert_eq!(outcome.exit, Exit::Cancelled, "{command}");
        assert_eq!(sleepers(seconds), 0, "{command}");
        assert!(asked.elapsed() < LONGEST, "{command}: {:?}", asked.elapsed());
    }
}

#[tokio::test]
async fn dropping_the_run_kills_the_command() {
    let running = tokio::spawn(run(spec("sleep 98030"), CancellationToken::new()));
    while sleepers("98030") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.abort();
    assert!(running.await.is_err());
    assert_eq!(sleepers("98030"), 0);
}

#[tokio::test]
async fn a_missing_folder_is_an_error() {
    let mut spec = spec("true");
    spec.cwd = "/no/such/folder".into();
    assert!(run(spec, CancellationToken::new()).await.is_err());
}

/// Runs itself once more as a process where no other command is running.
#[test]
#[allow(clippy::disallowed_methods, reason = "not a command: this test, alone")]
fn kill_all_ends_commands_in_a_process_of_its_own() {
    const ALONE: &str = "CAIRN_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        return runtime.block_on(without_survivors());
    }
    let output = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "exec::tests::kill_all_ends_commands_in_a_process_of_its_own",
            "--nocapture",
        ])
        .env(ALONE, "1")
        .output()
        .expect("this program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

async fn without_survivors() {
    let running = tokio::spawn(run(spec("sleep 98041 & sleep 98041"), CancellationToken::new()));
    while sleepers("98041") < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let asked = std::time::Instant::now();
    kill_all();
    assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());
    assert_eq!(sleepers("98041"), 0);
    let outcome = running.await.expect("no panic").expect("it had started");
    assert_eq!(outcome.exit, Exit::Signal(9));
    assert!(run(spec("true"), CancellationToken::new()).await.is_err());
}
