//! One command with its task, output, input and end.

use std::{convert::Infallible, sync::Arc, time::Duration};

use cairn_core::{
    ids::SessionId,
    process::{ProcessEntry, ProcessExit, ProcessId},
};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval, timeout, timeout_at},
};
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

/// Bytes before new output that are looked at again, for a text that came in parts.
const LOOK_BACK: u64 = 4 * 1024;
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Least time between two pieces of text for a terminal.
const WATCH_INTERVAL: Duration = Duration::from_millis(20);
/// Time between two pieces of live output.
const LIVE_INTERVAL: Duration = Duration::from_millis(100);
/// Time for a process to take its input.
const INPUT_LIMIT: Duration = Duration::from_secs(2);

/// Receiver of pieces of output: a number and a text. A number is missing where output was left out.
pub type LiveSink = Arc<dyn Fn(u32, String) + Send + Sync>;

/// A command that runs for its call. Dropping it ends the command.
#[derive(Debug)]
pub struct Command {
    pub(super) process: ProcessHandle,
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

impl Command {
    /// Waits for the end.
    pub async fn wait(self, limit: Duration, cancel: &CancellationToken) -> Waited {
        tokio::select! {
            () = self.process.until_ended() => {}
            () = tokio::time::sleep(limit) => {}
            () = cancel.cancelled() => {
                self.process.cancel();
                self.process.until_ended().await;
            }
        }
        let outcome = self.process.lock().outcome.take();
        match outcome {
            Some(ended) => Waited::Ended(Box::new(ended)),
            None => Waited::StillRuns(self),
        }
    }

    pub fn handle(&self) -> ProcessHandle {
        self.process.clone()
    }
}

/// Handle to a command, and to the process of a session that it may become. Does not keep it running.
#[derive(Clone)]
pub struct ProcessHandle(Arc<Running>);

impl PartialEq for ProcessHandle {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProcessHandle {}

impl std::fmt::Debug for ProcessHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProcessHandle")
    }
}

/// CommandState that a command, its task and its process share.
struct Running {
    output: Mutex<Output>,
    state: Mutex<CommandState>,
    /// Changes when the output grows, and at the end.
    grown: watch::Sender<()>,
    input: tokio::sync::Mutex<Option<InputWriter>>,
    cancel: CancellationToken,
}

#[derive(Default)]
pub(super) struct CommandState {
    /// Set when the command became a process.
    pub(super) kept: Option<(SessionId, ProcessId)>,
    ended: bool,
    ended_at: Option<u64>,
    pub(super) exit: Option<ProcessExit>,
    outcome: Option<Ended>,
    /// Control files in quarantine that nobody was asked about yet.
    left: QuarantineReport,
    /// Texts about these and earlier ones, which the agent has not read yet.
    told: Vec<String>,
    at_end: Vec<Box<dyn FnOnce() + Send>>,
}

impl CommandState {
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

impl ProcessHandle {
    pub(super) fn output(&self) -> MutexGuard<'_, Output> {
        self.0.output.lock()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CommandState> {
        self.0.state.lock()
    }

    pub(super) fn new(
        sandbox: Option<Arc<PreparedSandbox>>,
        input: Option<InputWriter>,
        cancel: CancellationToken,
    ) -> Self {
        Self(Arc::new(Running {
            output: Mutex::new(Output::new(sandbox)),
            state: Mutex::default(),
            grown: watch::Sender::new(()),
            input: tokio::sync::Mutex::new(input),
            cancel,
        }))
    }

    async fn until_ended(&self) {
        let mut grown = self.0.grown.subscribe();
        while !self.has_ended() && grown.changed().await.is_ok() {}
    }

    /// Waits for the end of a command that was dropped.
    pub async fn outcome(&self) -> Option<Ended> {
        self.until_ended().await;
        self.lock().outcome.take()
    }

    /// Waits for control files that the process made or changed: a scan has moved them to quarantine.
    /// `None` when the process has ended and all were returned.
    pub async fn next_left(&self) -> Option<QuarantineReport> {
        let mut grown = self.0.grown.subscribe();
        loop {
            let (left, ended) = {
                let mut state = self.lock();
                (std::mem::take(&mut state.left), state.ended)
            };
            if !left.is_empty() {
                return Some(left);
            }
            if ended {
                return None;
            }
            grown.changed().await.ok()?;
        }
    }

    /// Returns the output from a position on, by default what the agent has not read yet, and marks it
    /// as read.
    pub fn read(&self, since: Option<u64>) -> Progress {
        self.output().read(since)
    }

    /// Waits until the output since a position satisfies `until`, the process has ended, or the time is
    /// over. True unless the time was over.
    pub async fn wait(
        &self,
        since: Option<u64>,
        mut until: impl FnMut(&str) -> bool,
        limit: Duration,
    ) -> bool {
        let (deadline, mut from) =
            (Instant::now() + limit, since.unwrap_or_else(|| self.output().unread()));
        let mut grown = self.0.grown.subscribe();
        loop {
            grown.borrow_and_update();
            // Asked for before the output, so that the last output is not missed.
            let ended = self.has_ended();
            let text = self.output().text_since(from);
            if until(&text) || ended {
                return true;
            }
            from = from.max(self.written().saturating_sub(LOOK_BACK));
            if timeout_at(deadline, grown.changed()).await.is_err() {
                return false;
            }
            // A flood of output is looked at in steps.
            tokio::time::sleep(LOOK_INTERVAL.min(deadline - Instant::now())).await;
        }
    }

    /// Number of bytes that it wrote.
    pub fn written(&self) -> u64 {
        self.output().written()
    }

    pub async fn ended(&self, limit: Duration) -> bool {
        self.wait(None, |_| false, limit).await
    }

    /// Waits until there is output after a position, the process has ended, or the time is over. Then
    /// returns the text for a terminal, and true if no more will come.
    pub async fn watch_on(&self, since: u64, limit: Duration) -> (Progress, bool) {
        let mut grown = self.0.grown.subscribe();
        let comes = async {
            while self.written() <= since && !self.has_ended() {
                if grown.changed().await.is_err() {
                    return;
                }
            }
            // What a program writes in pieces is sent in one.
            if !self.has_ended() {
                tokio::time::sleep(WATCH_INTERVAL).await;
            }
        };
        // At the end of the time there is no new text.
        drop(timeout(limit, comes).await);
        let ended = self.has_ended();
        (self.output().watch(since, ended), ended)
    }

    /// Passes on what came, again and again, until it is dropped.
    pub async fn pass_on(&self, send: &LiveSink) -> Infallible {
        let mut ticks = interval(LIVE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut at, mut seq) = (0, 0);
        loop {
            ticks.tick().await;
            let piece = self.output().live(&mut at, &mut seq);
            if let Some((seq, text)) = piece {
                send(seq, text);
            }
        }
    }

    /// Words about the file with the whole output.
    pub fn log(&self) -> Option<String> {
        self.output().log().map(Log::words)
    }

    /// Takes the texts about the control files that the process made or changed.
    pub fn take_told(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().told)
    }

    /// Records a text that the agent reads when it looks at the process next.
    pub fn tell(&self, text: String) {
        self.lock().tell(text);
    }

    /// Runs an action, which may block, after the process has ended.
    pub fn at_end(&self, action: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        state.at_end.push(Box::new(action));
        let ended = state.ended;
        drop(state);
        if ended {
            let process = self.clone();
            tokio::spawn(async move { process.run_at_end().await });
        }
    }

    pub(super) fn cancel(&self) {
        self.0.cancel.cancel();
    }

    /// Collects output. Returns the session whose process this is.
    pub(super) fn push(&self, bytes: &[u8]) -> Option<SessionId> {
        self.output().push(bytes);
        self.0.grown.send_replace(());
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
        self.0.grown.send_replace(());
    }

    pub(super) async fn run_at_end(&self) {
        let actions = std::mem::take(&mut self.lock().at_end);
        let all = move || actions.into_iter().for_each(|action| action());
        if let Err(error) = tokio::task::spawn_blocking(all).await {
            tracing::error!("an action at the end of a process failed: {error}");
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Takes the control files that a scan found during a process. Those of a command that runs for
    /// its call are reported at its end.
    fn take_from_scan(&self, left: &mut QuarantineReport) {
        let mut state = self.lock();
        if state.kept.is_some() {
            state.add_left(std::mem::take(left));
            drop(state);
            self.0.grown.send_replace(());
        }
    }

    pub(super) fn snapshot(&self, entry: ProcessEntry) -> ProcessSnapshot {
        let output = self.output();
        let (written, tail) = (output.written(), output.tail());
        drop(output);
        ProcessSnapshot { entry, ended_at: self.lock().ended_at, written, tail }
    }

    /// Sends input. Waits for a process that does not read it, but not for long.
    pub async fn write(&self, text: &str, eof: bool) -> Written {
        let mut input = self.0.input.lock().await;
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
}

/// Runs a command, and moves control files that it made or changed to quarantine, however it ends.
pub(super) async fn run_watched(
    spec: CommandSpec,
    watching: Option<Watching>,
    process: &ProcessHandle,
) -> Ended {
    let cancel = process.0.cancel.clone();
    let Some(watching) = watching else {
        return (exec::run(spec, cancel).await, QuarantineReport::default());
    };
    let ran = tokio::select! {
        ran = exec::run(spec, cancel) => ran,
        never = watching.scan_repeatedly(|left| process.take_from_scan(left)) => match never {},
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
