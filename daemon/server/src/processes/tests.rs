//! Tests with real commands, without a sandbox. Each sleeps for a number of seconds of its own, by
//! which the test finds a survivor.

use std::time::Duration;

use cairn_core::{
    policy::sandbox::Needs,
    process::{ProcessExit, ProcessState, RUNNING_LIMIT},
};

use super::*;
use crate::exec::{CommandInput, tests::sleepers};

struct Fixture {
    processes: Arc<Processes>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    session: SessionId,
}

impl Fixture {
    fn new() -> Self {
        let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
        let processes = Arc::new(Processes::new(tasks.clone(), shutdown.clone()));
        Self { processes, tasks, shutdown, session: "s".into() }
    }

    fn command(&self, command: &str) -> Command {
        let (input, writer) = CommandInput::pipe().unwrap();
        let spec = CommandSpec {
            command: command.to_owned(),
            cwd: std::env::temp_dir(),
            timeout: None,
            input,
            tap: None,
            env: Vec::new(),
            sandbox: None,
        };
        self.processes.start(spec, None, Some(writer))
    }

    fn start(&self, command: &str, background: bool) -> Option<(ProcessId, ProcessHandle)> {
        let start = Start {
            command: command.to_owned(),
            owner: "s".to_owned(),
            plan_item: None,
            background,
            input: true,
            terminal: false,
            needs: Needs::NONE,
            started_at: 0,
        };
        self.processes.keep(self.command(command), &self.session, start)
    }

    fn process(&self, command: &str) -> (ProcessId, ProcessHandle) {
        self.start(command, true).expect("there is room")
    }

    fn exit(&self, id: ProcessId) -> ProcessState {
        self.processes.get(&self.session, id).expect("it is kept").0.state
    }
}

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_command_that_outlives_its_time_goes_on_as_a_process() {
    let fixture = Fixture::new();
    let command = fixture.command("echo first; read -r line; echo got $line; exit 3");
    let waited = command.wait(Duration::from_millis(300), &CancellationToken::new()).await;
    let Waited::StillRuns(command) = waited else { panic!("it waits for input") };
    let start = Start {
        command: "read".to_owned(),
        owner: "s".to_owned(),
        plan_item: Some("1".to_owned()),
        background: false,
        input: true,
        terminal: false,
        needs: Needs::NONE,
        started_at: 0,
    };
    let (id, process) = fixture.processes.keep(command, &fixture.session, start).unwrap();
    assert_eq!(process.read(None).text, "first\n");
    assert_eq!(process.write("it\n", false).await, Written::All);
    assert!(process.ended(LONG).await);
    let progress = process.read(None);
    assert_eq!((progress.text.as_str(), progress.missed), ("got it\n", 0));
    assert_eq!(process.read(Some(0)).text, "first\ngot it\n");
    assert_eq!(fixture.exit(id), ProcessState::Ended(ProcessExit::Code(3)));
    assert_eq!(fixture.processes.changes().await, HashSet::from([fixture.session.clone()]));
}

#[tokio::test]
async fn a_wait_ends_with_the_text_or_the_process_or_the_time() {
    let fixture = Fixture::new();
    let (_, process) = fixture.process("read -r _; echo listening on 80; read -r _; exit 0");
    let listens = |text: &str| text.contains("listening");
    assert!(!process.wait(Some(0), listens, Duration::from_millis(100)).await);
    assert_eq!(process.write("\n", false).await, Written::All);
    assert!(process.wait(Some(0), listens, LONG).await);
    assert_eq!(process.write("", true).await, Written::All);
    assert!(process.wait(Some(0), |_| false, LONG).await);
    assert_eq!(process.write("x", false).await, Written::Closed);
}

#[tokio::test]
async fn a_command_that_is_dropped_ends_and_a_process_does_not() {
    let fixture = Fixture::new();
    let command = fixture.command("sleep 97001");
    while sleepers("97001") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let handle = command.handle();
    drop(command);
    assert!(handle.outcome().await.is_some());
    assert_eq!(sleepers("97001"), 0);
    let (id, process) = fixture.process("sleep 97002");
    drop(process);
    while sleepers("97002") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(fixture.processes.stop(&fixture.session, id, StoppedBy::User));
    let (_, process) = fixture.processes.get(&fixture.session, id).unwrap();
    assert!(process.ended(LONG).await);
    assert_eq!(sleepers("97002"), 0);
    assert_eq!(fixture.exit(id), ProcessState::Ended(ProcessExit::Stopped(StoppedBy::User)));
}

#[tokio::test]
async fn a_cancelled_turn_ends_only_processes_that_the_agent_did_not_ask_for() {
    let fixture = Fixture::new();
    let (asked, _) = fixture.process("sleep 97003");
    let (outlived, process) = fixture.start("sleep 97004", false).unwrap();
    fixture.processes.turn_cancelled(&fixture.session);
    assert!(process.ended(LONG).await);
    assert_eq!(fixture.exit(outlived), ProcessState::Ended(ProcessExit::Stopped(StoppedBy::Turn)));
    assert!(matches!(fixture.exit(asked), ProcessState::Running { stopping: None }));
    fixture.processes.subagent_ended(&fixture.session, "s");
    let (_, process) = fixture.processes.get(&fixture.session, asked).unwrap();
    assert!(process.ended(LONG).await);
}

#[tokio::test]
async fn processes_are_gone_with_their_session_and_with_the_daemon() {
    let fixture = Fixture::new();
    fixture.process("sleep 97005");
    fixture.process("sleep 97006");
    while sleepers("97005") + sleepers("97006") < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.processes.forget(&fixture.session);
    assert!(fixture.processes.ids(&fixture.session).is_empty());
    fixture.process("sleep 97007");
    fixture.shutdown.cancel();
    fixture.tasks.close();
    tokio::time::timeout(LONG, fixture.tasks.wait()).await.expect("all tasks end");
    assert_eq!(sleepers("97005") + sleepers("97006") + sleepers("97007"), 0);
}

#[tokio::test]
async fn the_number_of_processes_of_a_session_is_bounded() {
    let fixture = Fixture::new();
    for _ in 0..RUNNING_LIMIT {
        fixture.process("read -r _");
    }
    assert!(!fixture.processes.has_room(&fixture.session));
    assert!(fixture.start("sleep 97008", true).is_none());
    assert!(fixture.processes.has_room(&"other".into()));
    fixture.shutdown.cancel();
    fixture.tasks.close();
    fixture.tasks.wait().await;
    assert_eq!(sleepers("97008"), 0);
}

#[tokio::test]
async fn a_process_that_floods_output_stays_bounded_and_its_end_is_read() {
    let fixture = Fixture::new();
    let (id, process) = fixture.process("head -c 30000000 /dev/zero | tr '\\0' x; echo; echo end");
    assert!(process.ended(LONG).await);
    let progress = process.read(None);
    assert!(progress.text.len() <= 40_000 && progress.text.ends_with("\nend\n"));
    assert_eq!(progress.missed + progress.text.len() as u64, 30_000_005);
    let log = process.log().expect("a log");
    assert!(log.contains("only the first 16 MiB are kept"), "{log}");
    let snapshot = &fixture.processes.snapshots(&fixture.session)[0];
    assert_eq!((snapshot.entry.id, snapshot.written), (id, 30_000_005));
    assert!(snapshot.tail.len() <= 3_000 && snapshot.tail.ends_with("end"), "{}", snapshot.tail);
}

#[tokio::test]
async fn a_process_that_never_reads_its_input_takes_a_part_and_blocks_nobody() {
    let fixture = Fixture::new();
    let (_, process) = fixture.process("sleep 97009");
    let text = "x".repeat(1_000_000);
    let Written::Part(taken) = process.write(&text, false).await else { panic!("nobody reads it") };
    assert!(taken > 0 && taken < text.len(), "{taken}");
    fixture.processes.forget(&fixture.session);
    fixture.tasks.close();
    fixture.tasks.wait().await;
    assert_eq!(sleepers("97009"), 0);
}

#[tokio::test]
async fn actions_at_the_end_run_once_whenever_they_were_added() {
    let fixture = Fixture::new();
    let command = fixture.command("true");
    let (_, process) = fixture.process("true");
    assert!(process.ended(LONG).await);
    let ongoing = process.clone();
    let (sent, mut received) = tokio::sync::mpsc::unbounded_channel();
    let late = sent.clone();
    ongoing.at_end(move || late.send("late").unwrap());
    assert_eq!(received.recv().await, Some("late"));
    drop(command);
}
