//! `cairn run`: the engine with a small editor port, on disk alone. Prints the plan as it changes,
//! the agent's text and calls, and the diff at the end.
//!
//! Changes a file only by an edit that the engine requested, through [`disk`](crate::disk).

mod diff;
mod json;
mod models;
mod report;
mod settings;
mod spinner;
mod terminal;
mod text;

use std::{
    fs,
    io::{IsTerminal, Read},
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Instant,
};

use cairn_core::{prompt::Audience, text::Units};
use cairn_protocol::{
    Baseline, BaselineParams, Cancel, ClientRequest, Empty, EndReason, ListSessions,
    ListSessionsParams, OpenSession, OpenSessionParams, OpenSessionResult, RequestProblem, RunTask,
    RunTaskParams, RunTaskResult, State, TurnParams, TurnProblem,
};
use tokio::sync::mpsc;

use self::{
    json::JsonReport,
    report::{Report, RunEnd, RunStart, Spent, TurnEnd},
    terminal::TerminalEditor,
    text::TextReport,
};
use crate::{
    cli::{RunArguments, TaskSource},
    environment::Environment,
    event::{ClientEvent, Initialized, Remember, Request, RequestError, Responder},
    exec, hub, signals,
    workspace::Workspace,
};

pub use models::check_model;

/// Longest task that is read from standard input.
const MAX_TASK_BYTES: u64 = 1024 * 1024;

const USAGE: u8 = 2;

/// Reason for which a run could not begin or continue.
struct Failure {
    reason: String,
    exit_code: u8,
}

impl Failure {
    fn usage(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), exit_code: USAGE }
    }

    fn engine(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), exit_code: 1 }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::engine(error.english())
    }
}

/// Runs one task and returns the exit code.
pub async fn run(arguments: RunArguments) -> u8 {
    let report: Box<dyn Report> = if arguments.json {
        Box::new(JsonReport::default())
    } else {
        Box::new(TextReport::new(arguments.quiet))
    };
    let (ended, ends) = mpsc::unbounded_channel();
    let reads_task = arguments.task() == Ok(TaskSource::Stdin);
    let interactive = !arguments.json && !reads_task && std::io::stdin().is_terminal();
    let terminal = TerminalEditor::new(arguments.allow, interactive, report, ended);
    let outcome = work(&arguments, &terminal, ends).await;
    exec::kill_all();
    match outcome {
        Ok(end) => {
            terminal.report().spent(&end);
            end.exit_code
        }
        Err(failure) => {
            terminal.report().failed(&failure.reason, failure.exit_code);
            failure.exit_code
        }
    }
}

async fn work(
    arguments: &RunArguments,
    terminal: &TerminalEditor,
    ends: mpsc::UnboundedReceiver<TurnEnd>,
) -> Result<RunEnd, Failure> {
    let began = Instant::now();
    let variable = |name: &str| std::env::var(name).ok();
    let environment = Environment::read(variable);
    let config_dir = environment.config_dir.clone();
    let settings = settings::read(arguments, config_dir.as_deref(), variable);
    let settings = settings.map_err(Failure::usage)?;
    let task = task_text(arguments)?;
    let granted = arguments.allow.in_words(!arguments.rules.is_empty());
    let folder = work_folder(arguments)?;
    let remember = match environment.state_dir {
        Some(_) if !arguments.demo => Remember::Conversations,
        Some(_) | None => Remember::Nothing,
    };
    if arguments.demo {
        terminal.report().warning(&format!("the demo works in {}", folder.display()));
    }
    let workspace = Workspace::new(vec![folder.clone()])
        .map_err(|error| Failure::engine(format!("{error:#}")))?;
    let (client, tasks) = hub::spawn(Arc::new(terminal.clone()), environment);
    client
        .send(ClientEvent::Initialized(Initialized {
            folders: vec![folder.clone().into()],
            settings: settings.into(),
            speaks_agent: true,
            // The user named this folder on the command line, which is treated as trust.
            trusted: true,
            remember,
            audience: Audience::Terminal { answered: terminal.is_interactive(), granted },
            units: Units::default(),
        }))
        .ok();
    let mut engine =
        Engine { client, ends, deadline: arguments.timeout.map(|limit| began + limit) };
    let session_id = engine.session(arguments).await?;
    let params =
        RunTaskParams { text: task, session_id, demo: arguments.demo, ..RunTaskParams::default() };
    let (started, end) = engine.turns(params, terminal, &folder, config_dir.as_deref()).await?;
    let kept = remember == Remember::Conversations;
    let resume = kept.then(|| resume_command(&started.session_id, arguments));
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (summary, spent) =
        (settings::in_words_of_run(&end.summary), Spent { elapsed_ms, ..end.spent });
    let end = RunEnd {
        exit_code: exit_code(&end),
        turn: TurnEnd { summary, spent, ..end },
        session_id: kept.then_some(started.session_id),
        resume,
    };
    terminal.report().ended(&end);
    engine.report_changes(terminal, &workspace).await?;
    drop(engine);
    tasks.wait().await;
    Ok(end)
}

fn exit_code(end: &TurnEnd) -> u8 {
    match end.reason {
        EndReason::Completed if end.open_items > 0 || end.unchecked_edits => 5,
        EndReason::Completed => 0,
        EndReason::Failed | EndReason::Interrupted => 1,
        EndReason::NeedsInput => 3,
        EndReason::Limit => 4,
        EndReason::Cancelled => 130,
    }
}

fn task_text(arguments: &RunArguments) -> Result<String, Failure> {
    match arguments.task().map_err(Failure::usage)? {
        TaskSource::Words(task) => Ok(task),
        TaskSource::Demo => Ok("Show me how you work.".to_owned()),
        TaskSource::Stdin => {
            let mut text = String::new();
            let read = std::io::stdin().lock().take(MAX_TASK_BYTES + 1).read_to_string(&mut text);
            read.map_err(|error| {
                Failure::usage(format!("the task on standard input cannot be read: {error}"))
            })?;
            if text.len() as u64 > MAX_TASK_BYTES {
                let limit = MAX_TASK_BYTES;
                return Err(Failure::usage(format!("the task has more than {limit} bytes")));
            }
            if text.trim().is_empty() {
                return Err(Failure::usage("the task on standard input is empty"));
            }
            Ok(text)
        }
    }
}

/// Folder of the run: that of the arguments, or a new one for the demonstration, which writes a file.
fn work_folder(arguments: &RunArguments) -> Result<PathBuf, Failure> {
    let shown = arguments.workspace.display();
    if arguments.demo {
        let made = tempfile::Builder::new().prefix("cairn-demo-").tempdir();
        let made =
            made.map_err(|error| Failure::engine(format!("no folder for the demo: {error}")))?;
        return fs::canonicalize(made.keep()).map_err(|error| Failure::engine(error.to_string()));
    }
    let folder = fs::canonicalize(&arguments.workspace)
        .map_err(|error| Failure::usage(format!("{shown} cannot be opened: {error}")))?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", folder.display())));
    }
    Ok(folder)
}

/// Command that continues a session in the same folder.
fn resume_command(session: &str, arguments: &RunArguments) -> String {
    let mut command = format!("cairn run --resume {session}");
    if arguments.workspace != Path::new(".") {
        let folder = arguments.workspace.to_string_lossy();
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+".contains(char);
        if folder.chars().all(is_plain) {
            command.push_str(&format!(" --workspace {folder}"));
        } else {
            command.push_str(&format!(" --workspace '{}'", folder.replace('\'', r"'\''")));
        }
    }
    command
}

/// Reason and next step where no model can be used.
fn no_model(config_dir: Option<&Path>) -> Failure {
    let file = config_dir
        .map_or("config.toml".into(), |dir| dir.join("config.toml").display().to_string());
    Failure::usage(format!(
        "no model can be used. Set ANTHROPIC_API_KEY, or OPENAI_API_KEY (with OPENAI_BASE_URL for another server with OpenAI's API). For a server on this machine, which needs no key, write model.baseUrl and model.name into {file}. `cairn run --demo` shows Cairn without a model"
    ))
}

/// Requests to the engine, and the ends of its turns.
struct Engine {
    client: mpsc::UnboundedSender<ClientEvent>,
    ends: mpsc::UnboundedReceiver<TurnEnd>,
    /// Time at which the run is stopped.
    deadline: Option<Instant>,
}

impl Engine {
    async fn ask<M: ClientRequest>(&self, params: M::Params) -> Result<M::Result, RequestError> {
        let stopped = || RequestError::from(RequestProblem::RequestDropped);
        let (responder, answer) = Responder::new();
        self.client.send(ClientEvent::Request(Request::new::<M>(params, responder))).ok();
        let result = answer.await.map_err(|_| stopped())??;
        let value = result.encode().map_err(|_| stopped())?;
        serde_json::from_value(value).map_err(|_| stopped())
    }

    /// Loads the session that the arguments name. `None`: a new one begins.
    async fn session(&self, arguments: &RunArguments) -> Result<Option<String>, Failure> {
        let id = if arguments.continue_newest {
            let params = ListSessionsParams { cursor: None, limit: Some(1) };
            let newest = self.ask::<ListSessions>(params).await?.sessions.into_iter().next();
            newest.map(|session| session.session_id).ok_or_else(|| {
                Failure::usage(
                    "there is no session in this folder to continue; leave out --continue",
                )
            })?
        } else if let Some(id) = &arguments.resume {
            id.clone()
        } else {
            return Ok(None);
        };
        let params = OpenSessionParams { session_id: id.clone(), ..OpenSessionParams::default() };
        match self.ask::<OpenSession>(params).await {
            Ok(OpenSessionResult::Opened { .. } | OpenSessionResult::Earlier { .. }) => {
                Ok(Some(id))
            }
            Err(error) if *error == RequestProblem::SessionNotFound => {
                Err(Failure::usage(format!(
                    "there is no session {id} in this folder; --workspace names the folder it belongs to"
                )))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Runs a turn, and another one for each answer that the user types to a question at its end.
    async fn turns(
        &mut self,
        mut params: RunTaskParams,
        terminal: &TerminalEditor,
        folder: &Path,
        config_dir: Option<&Path>,
    ) -> Result<(RunTaskResult, TurnEnd), Failure> {
        let mut spent: Option<Spent> = None;
        let model = self.ask::<State>(Empty {}).await?.status.model.name;
        terminal.report().begins(RunStart { workspace: folder.to_owned(), model });
        loop {
            let started = self.ask::<RunTask>(params).await.map_err(|error| match &*error {
                RequestProblem::NoUsableModel { reason: TurnProblem::NoModelConfigured { .. } } => {
                    no_model(config_dir)
                }
                RequestProblem::NoUsableModel { .. } => {
                    Failure { exit_code: USAGE, ..error.into() }
                }
                _ => error.into(),
            })?;
            let mut end = self.turn(&started).await?;
            end.spent = spent.map_or(end.spent, |before| before.and(end.spent));
            spent = Some(end.spent);
            if end.reason != EndReason::NeedsInput || !terminal.is_interactive() {
                return Ok((started, end));
            }
            match self.answer(terminal).await? {
                Some(text) => {
                    let session_id = Some(started.session_id);
                    params = RunTaskParams { text, session_id, ..RunTaskParams::default() };
                }
                None => return Ok((started, end)),
            }
        }
    }

    /// Waits for the end of a turn, which a signal or the time limit cancels.
    async fn turn(&mut self, started: &RunTaskResult) -> Result<TurnEnd, Failure> {
        let deadline = self.deadline;
        let mut timeout = pin!(until(deadline));
        let mut timed_out = false;
        loop {
            tokio::select! {
                end = self.ends.recv() => {
                    let end = end.ok_or_else(|| Failure::engine("the engine stopped"))?;
                    let limited = timed_out && end.reason == EndReason::Cancelled;
                    return Ok(if limited { stopped_in_time(end) } else { end });
                }
                () = &mut timeout, if !timed_out => timed_out = true,
                asked = signals::asked_to_end(false) => {
                    asked.map_err(|error| {
                        Failure::engine(format!("cannot listen for signals: {error}"))
                    })?;
                }
            }
            let cancel = TurnParams {
                session_id: started.session_id.clone(),
                turn_id: started.turn_id.clone(),
            };
            self.ask::<Cancel>(cancel).await?;
        }
    }

    /// Asks the user for the answer to the question at the end of a turn. `None`: there is none.
    async fn answer(&self, terminal: &TerminalEditor) -> Result<Option<String>, Failure> {
        let asked = terminal.ask_line("", "Answer (an empty line ends the run): ");
        let line = tokio::select! {
            line = asked => line,
            () = until(self.deadline) => None,
            _ = signals::asked_to_end(false) => None,
        };
        Ok(line.filter(|line| !line.trim().is_empty()))
    }

    async fn report_changes(
        &self,
        terminal: &TerminalEditor,
        workspace: &Workspace,
    ) -> Result<(), Failure> {
        for review in self.ask::<State>(Empty {}).await?.reviews {
            let uri = review.uri.clone();
            let before = self.ask::<Baseline>(BaselineParams { uri }).await?;
            let after = workspace.text_of(&review.uri.as_str().into());
            let file = diff::of_file(&review, &before.text.unwrap_or_default(), after);
            terminal.report().changed(&file);
        }
        Ok(())
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn stopped_in_time(end: TurnEnd) -> TurnEnd {
    let summary = "Stopped at the time limit of the run (--timeout).".to_owned();
    TurnEnd { reason: EndReason::Limit, summary, ..end }
}

impl Spent {
    /// Sum of two turns.
    fn and(self, other: Self) -> Self {
        let mut usage = self.usage;
        usage.input_tokens += other.usage.input_tokens;
        usage.output_tokens += other.usage.output_tokens;
        usage.cached_tokens += other.usage.cached_tokens;
        let cost_micros = self.cost_micros.zip(other.cost_micros).map(|(one, two)| one + two);
        Self { usage, cost_micros, elapsed_ms: 0 }
    }
}
