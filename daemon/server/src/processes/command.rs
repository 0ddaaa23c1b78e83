//! One command with its task, output, input and end.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use cairn_core::{
    ids::SessionId,
    process::{ProcessEntry, ProcessExit, ProcessId},
};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    log::Log,
    output::{Output, Progress},
};
use crate::exec::{
    self, CommandOutcome, CommandSpec, Exit, InputWriter, RunError,
    sandbox::{PreparedSandbox, QuarantineReport, Watching, quarantine_text},
};

/// Most texts about control files that wait until the agent looks at their process.
const MAX_TOLD: usize = 32;

/// Time for a process to take its input.
const INPUT_LIMIT: Duration = Duration::from_secs(2);

/// A command that runs for its call. Dropping it ends the command.
#[derive(Debug)]
pub struct Command {
    pub(super) running: Arc<Running>,
    pub(super) end_on_drop: Option<DropGuard>,
}

/// End of a command: its outcome, and the control files that it left.
pub type Ended = (Result<CommandOutcome, RunError>, QuarantineReport);

/// Result of waiting for a command.
#[derive(Debug)]
pub enum Waited {
    Ended(Box<Ended>),
    StillRuns(Command),
}

/// Result of sending input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    All,
    /// The process takes no more for now; number of bytes that it took.
    Part(usize),
    /// Started without input, or its input is closed.
    Closed,
}

/// Process that a call left, for actions at its end.
#[derive(Debug, Clone)]
pub struct OngoingProcess(pub(super) Arc<Running>);

impl PartialEq for OngoingProcess {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OngoingProcess {}

impl OngoingProcess {
    /// Waits for control files that the process made or changed: a scan has moved them to quarantine.
    /// `None` when the process has ended and all were returned.
    pub async fn next_left(&self) -> Option<QuarantineReport> {
        let mut grown = self.0.grown();
        loop {
            let (left, ended) = self.0.take_left();
            if !left.is_empty() {
                return Some(left);
            }
            if ended {
                return None;
            }
            grown.changed().await.ok()?;
        }
    }

    /// Records a text that the agent reads when it looks at the process next.
    pub fn tell(&self, text: String) {
        self.0.lock().tell(text);
    }

    /// Runs an action, which may block, after the process has ended.
    pub fn at_end(&self, action: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock();
        state.at_end.push(Box::new(action));
        let ended = state.ended;
        drop(state);
        if ended {
            let running = Arc::clone(&self.0);
            tokio::spawn(async move { running.run_at_end().await });
        }
    }
}

impl Command {
    /// Waits for the end.
    pub async fn wait(self, limit: Duration, cancel: &CancellationToken) -> Waited {
        let running = Arc::clone(&self.running);
        let mut grown = running.grown();
        let ended = async {
            while !running.has_ended() {
                if grown.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::pin!(ended);
        let over = tokio::select! {
            () = &mut ended => true,
            () = tokio::time::sleep(limit) => false,
            () = cancel.cancelled() => {
                running.cancel.cancel();
                ended.await;
                true
            }
        };
        let over = over || self.running.has_ended();
        match self.running.take_outcome_if(over) {
            Some(ended) => Waited::Ended(Box::new(ended)),
            None => Waited::StillRuns(self),
        }
    }

    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.running))
    }
}

/// Handle to a command that does not keep it running.
#[derive(Debug)]
pub struct Handle(Arc<Running>);

impl Handle {
    pub(super) fn take_log(&self) -> Option<Log> {
        self.0.output().take_log()
    }

    /// Waits for the end of a command that was dropped.
    pub async fn ended(&self) -> Option<Ended> {
        let mut grown = self.0.grown();
        while !self.0.has_ended() {
            grown.changed().await.ok()?;
        }
        self.0.take_outcome_if(true)
    }
}

/// State that a command, its task and its process share.
pub(super) struct Running {
    output: Mutex<Output>,
    state: Mutex<State>,
    /// Changes when the output grows, and at the end.
    grown: watch::Sender<()>,
    input: tokio::sync::Mutex<Option<InputWriter>>,
    pub(super) cancel: CancellationToken,
}

#[derive(Default)]
struct State {
    /// Set when the command became a process.
    kept: Option<(SessionId, ProcessId)>,
    ended: bool,
    ended_at: Option<u64>,
    exit: Option<ProcessExit>,
    outcome: Option<Ended>,
    /// Control files in quarantine that nobody was asked about yet.
    left: QuarantineReport,
    /// Texts about these and earlier ones, which the agent has not read yet.
    told: Vec<String>,
    at_end: Vec<Box<dyn FnOnce() + Send>>,
}

impl State {
    fn add_left(&mut self, left: QuarantineReport) {
        let text = quarantine_text::report(&left);
        if !text.is_empty() {
            self.tell(text);
        }
        self.left.extend(left);
    }

    fn tell(&mut self, text: String) {
        if self.told.len() < MAX_TOLD {
            self.told.push(text);
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

impl Running {
    pub(super) fn new(
        sandbox: Option<Arc<PreparedSandbox>>,
        input: Option<InputWriter>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            output: Mutex::new(Output::new(sandbox)),
            state: Mutex::default(),
            grown: watch::Sender::new(()),
            input: tokio::sync::Mutex::new(input),
            cancel,
        }
    }

    /// Collects output. Returns the session whose process this is.
    pub(super) fn push(&self, bytes: &[u8]) -> Option<SessionId> {
        self.output().push(bytes);
        self.grown.send_replace(());
        self.lock().kept.as_ref().map(|(session, _)| session.clone())
    }

    pub(super) fn set_ended(&self, ended: Ended) {
        let mut state = self.lock();
        state.exit = exit_of(&ended.0);
        state.add_left(ended.1.clone());
        state.outcome = Some(ended);
        state.ended = true;
        state.ended_at = Some(crate::clock::now_ms());
        drop(state);
        self.grown.send_replace(());
    }

    pub(super) async fn run_at_end(&self) {
        let actions = std::mem::take(&mut self.lock().at_end);
        let all = move || actions.into_iter().for_each(|action| action());
        if let Err(error) = tokio::task::spawn_blocking(all).await {
            tracing::error!("an action at the end of a process failed: {error}");
        }
    }

    pub(super) fn keep(&self, session: &SessionId, id: ProcessId) {
        self.lock().kept = Some((session.clone(), id));
    }

    pub(super) fn kept(&self) -> Option<(SessionId, ProcessId)> {
        self.lock().kept.clone()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    pub(super) fn exit(&self) -> Option<ProcessExit> {
        self.lock().exit
    }

    /// Takes the control files that a scan found during a process. Those of a command that runs for
    /// its call are reported at its end.
    fn take_from_scan(&self, left: &mut QuarantineReport) {
        let mut state = self.lock();
        if state.kept.is_some() {
            state.add_left(std::mem::take(left));
            drop(state);
            self.grown.send_replace(());
        }
    }

    fn take_left(&self) -> (QuarantineReport, bool) {
        let mut state = self.lock();
        (std::mem::take(&mut state.left), state.ended)
    }

    pub(super) fn take_told(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().told)
    }

    fn take_outcome_if(&self, over: bool) -> Option<Ended> {
        if over { self.lock().outcome.take() } else { None }
    }

    pub(super) fn grown(&self) -> watch::Receiver<()> {
        self.grown.subscribe()
    }

    pub(super) fn read(&self, since: Option<u64>) -> Progress {
        self.output().read(since)
    }

    pub(super) fn unread(&self) -> u64 {
        self.output().unread()
    }

    pub(super) fn written(&self) -> u64 {
        self.output().written()
    }

    pub(super) fn text_since(&self, position: u64) -> String {
        self.output().text_since(position)
    }

    pub(super) fn watch(&self, since: u64, ended: bool) -> Progress {
        self.output().watch(since, ended)
    }

    pub(super) fn log_words(&self) -> Option<String> {
        self.output().log().map(Log::words)
    }

    pub(super) fn snapshot(&self, entry: ProcessEntry) -> ProcessSnapshot {
        let output = self.output();
        let (written, tail) = (output.written(), output.tail());
        drop(output);
        ProcessSnapshot { entry, ended_at: self.lock().ended_at, written, tail }
    }

    pub(super) async fn write(&self, text: &str, eof: bool) -> Written {
        let mut input = self.input.lock().await;
        let Some(writer) = &mut *input else { return Written::Closed };
        let mut taken = 0;
        let writing = async {
            while let Some(rest) = text.as_bytes().get(taken..).filter(|rest| !rest.is_empty()) {
                taken += writer.write(rest).await?;
            }
            if eof { writer.end().await } else { Ok(false) }
        };
        match timeout(INPUT_LIMIT, writing).await {
            Ok(Ok(closed)) => {
                if closed {
                    *input = None;
                }
                Written::All
            }
            Ok(Err(_)) => {
                *input = None;
                Written::Closed
            }
            Err(_) => Written::Part(taken),
        }
    }

    pub(super) fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a command, and moves control files that it made or changed to quarantine, however it ends.
pub(super) async fn run_watched(
    spec: CommandSpec,
    watching: Option<Watching>,
    running: &Running,
) -> Ended {
    let cancel = running.cancel.clone();
    let Some(watching) = watching else {
        return (exec::run(spec, cancel).await, QuarantineReport::default());
    };
    let ran = tokio::select! {
        ran = exec::run(spec, cancel) => ran,
        never = watching.scan_repeatedly(|left| running.take_from_scan(left)) => match never {},
    };
    let finished = tokio::task::spawn_blocking(|| watching.finish()).await;
    let left = finished.unwrap_or_else(|error| {
        tracing::error!("the watch over a command failed: {error}");
        QuarantineReport::default()
    });
    (ran, left)
}

/// A process with its present output, for clients.
#[derive(Debug, Clone)]
pub struct ProcessSnapshot {
    pub entry: ProcessEntry,
    pub ended_at: Option<u64>,
    /// Number of bytes that it wrote.
    pub written: u64,
    /// End of the output as text.
    pub tail: String,
}

fn exit_of(ran: &Result<CommandOutcome, RunError>) -> Option<ProcessExit> {
    match ran {
        Ok(outcome) if outcome.too_many_processes => Some(ProcessExit::TooManyProcesses),
        Ok(outcome) => match outcome.exit {
            Exit::Code(code) => Some(ProcessExit::Code(code)),
            Exit::Signal(signal) => Some(ProcessExit::Signal(signal)),
            Exit::TimedOut | Exit::Cancelled => None,
        },
        Err(_) => Some(ProcessExit::Lost),
    }
}
