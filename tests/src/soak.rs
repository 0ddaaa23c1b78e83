//! Random turns against the real daemon: faults of the model, cancels, steering, commands, edits, and
//! kills of the daemon in the middle. The same seed gives the same turns, but not the same timing.
//!
//! Checks during the run: each request is legal, each user message that had effects stays in the
//! history, no process of a turn outlives it, and the daemon's memory does not grow.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::Path,
    time::{Duration, Instant},
};

use cairn_core::model::Stop;
use cairn_protocol::{
    ApprovalDecision, ApproveResult, Cancel, Decide, DecideParams, Decision, ReviewMode, RunTask,
    RunTaskParams, RunTaskResult, Scope, Steer, SteerParams, TurnParams,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::{
    editor_double::{self, Approval, EditorDouble, range},
    lsp_client::Daemon,
    model_server::{ModelServer, Reply, Response, Wire},
    rng::Rng,
};

const FILES: u64 = 10;
const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::OpenAi, Wire::Responses];
/// Most memory that a daemon may add between four and seven tenths of all turns. With a thousand
/// turns it then holds as many sessions as it ever keeps; what is left to grow are the sizes of
/// single sessions, which differ, and what the allocator does not give back.
pub const MAY_GROW_KIB: u64 = 8 * 1024;
/// Below so many turns the sessions kept are not yet complete.
const ENOUGH_TO_WEIGH: u64 = 700;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub turns: u64,
    pub seed: u64,
}

#[derive(Debug, Default)]
pub struct Report {
    turns: u64,
    requests: usize,
    ends: BTreeMap<String, u64>,
    faults: BTreeMap<&'static str, u64>,
    cancels: u64,
    steers: u64,
    pub kills: u64,
    checked: u64,
    /// At the beginning of every tenth of all turns.
    weights: Vec<Weight>,
    took: Duration,
}

/// Resources of a daemon.
#[derive(Debug, Clone, Copy)]
struct Weight {
    rss_kib: u64,
    threads: u64,
    files: usize,
}

impl Report {
    /// In its first life, which ends with seven tenths, the daemon may not grow.
    fn assert_flat(&self) {
        let (early, late) = (self.weights[4], self.weights[7]);
        assert!(late.rss_kib <= early.rss_kib + MAY_GROW_KIB, "the daemon grows: {self}");
        // Each session kept has a writer with two files; a pool of threads comes and goes.
        assert!(late.threads <= early.threads + 16, "threads are left over: {self}");
        assert!(late.files <= early.files + 16, "files are left open: {self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turns, requests, cancels, steers, kills, checked, .. } = self;
        let list = |of: &mut dyn Iterator<Item = String>| of.collect::<Vec<_>>().join(", ");
        writeln!(f, "{turns} turns, {requests} requests in {:.0?}", self.took)?;
        writeln!(f, "ends: {}", list(&mut self.ends.iter().map(|(it, n)| format!("{it} {n}"))))?;
        writeln!(
            f,
            "faults: {}",
            list(&mut self.faults.iter().map(|(it, n)| format!("{it} {n}")))
        )?;
        writeln!(f, "{cancels} cancelled, {steers} steered, {kills} killed")?;
        writeln!(f, "words of the user looked for in a later request: {checked}, lost: 0")?;
        let weighed = self.weights.iter().map(|it| {
            format!(
                "{:.1} MiB {} threads {} files",
                it.rss_kib as f64 / 1024.0,
                it.threads,
                it.files
            )
        });
        write!(f, "at every tenth: {}", list(&mut { weighed }))
    }
}

/// Panics at the first thing that is not as it should be.
pub async fn run(options: Options) -> Report {
    let began = Instant::now();
    let mut soak = Soak::start(options).await;
    for turn in 0..options.turns {
        soak.turn(turn).await;
    }
    // The last words of all: everything acknowledged is in what the model gets.
    soak.restart().await;
    soak.quiet_turn(options.turns).await;
    soak.report.requests = soak.model.count();
    soak.report.turns = options.turns;
    soak.report.took = began.elapsed();
    let Soak { life, model, report, .. } = soak;
    drop(life);
    assert!(model.violations().is_empty());
    if options.turns >= ENOUGH_TO_WEIGH {
        report.assert_flat();
    }
    report
}

struct Soak {
    rng: Rng,
    options: Options,
    folder: TempDir,
    state: TempDir,
    model: ModelServer,
    life: Life,
    session: Option<Session>,
    /// Text of the user that begins the turn.
    word: String,
    calls: u64,
    report: Report,
}

/// One process with its editor.
struct Life {
    daemon: Daemon,
    editor: EditorDouble,
}

struct Session {
    id: String,
    turns_left: u64,
    /// Texts of the user, in order.
    said: Vec<String>,
    mode: Option<ReviewMode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    Cancel,
    Steer,
    Type,
    Kill,
}

impl Soak {
    async fn start(options: Options) -> Self {
        let mut rng = Rng(options.seed);
        let folder = tempfile::tempdir().expect("a folder");
        for file in 0..FILES {
            let lines: String = (0..30).map(|line| format!("line {line} of {file}\n")).collect();
            fs::write(folder.path().join(format!("f{file}.txt")), lines).expect("a file");
        }
        let state = tempfile::tempdir().expect("a folder for the state");
        let model = ModelServer::start([]).await;
        model.otherwise(|_| Response::reply(Reply::text("Done.")));
        model.keep(1);
        let wire = WIRES[rng.roll(3) as usize];
        let life = Life::begin(folder.path(), state.path(), &model, wire).await;
        let report = Report::default();
        let word = String::new();
        Self { rng, options, folder, state, model, life, session: None, word, calls: 0, report }
    }

    /// Seven tenths of all turns are one life, so that growth can be seen.
    fn may_kill(&self, turn: u64) -> bool {
        turn >= self.options.turns * 7 / 10
    }

    async fn turn(&mut self, number: u64) {
        let may_kill = self.may_kill(number);
        if number * 10 / self.options.turns >= self.report.weights.len() as u64 {
            let weight = self.weigh();
            self.report.weights.push(weight);
        }
        let meanwhile = match self.rng.roll(100) {
            0..12 => Meanwhile::Cancel,
            12..27 => Meanwhile::Steer,
            27..34 => Meanwhile::Type,
            34..54 if may_kill => Meanwhile::Kill,
            _ => Meanwhile::Nothing,
        };
        let asked_for_nothing = meanwhile == Meanwhile::Cancel && self.rng.roll(3) == 0;
        let approval = match self.rng.roll(6) {
            _ if asked_for_nothing => Approval::Silence,
            0 => answer(ApprovalDecision::Deny),
            1 => answer(ApprovalDecision::AllowSession),
            _ => answer(ApprovalDecision::AllowOnce),
        };
        self.life.editor.will_always_answer(approval);
        let marker = format!("700.{}{number}", std::process::id());
        // What a killed daemon leaves running nobody ends: there it must end by itself.
        self.word = format!("w{number:06}");
        let background = (meanwhile != Meanwhile::Kill).then_some(marker.as_str());
        self.script(background);
        let requests = self.model.count();
        let turn = self.begin(may_kill).await;
        let mut killed = false;
        if meanwhile != Meanwhile::Nothing {
            sleep(Duration::from_millis(self.rng.roll(80))).await;
        }
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Cancel => {
                self.report.cancels += 1;
                let RunTaskResult { session_id, turn_id } = turn.clone();
                let params = TurnParams { session_id, turn_id };
                self.life.editor.request::<Cancel>(params).await.expect("a cancel is taken");
            }
            Meanwhile::Steer => self.steer(&turn, &format!("s{number:06}")).await,
            Meanwhile::Type => {
                let uri = editor_double::uri(&self.folder.path().join("f0.txt"));
                if self.life.editor.is_open(&uri) {
                    self.life.editor.type_in(&uri, range((0, 0), (0, 0)), "u");
                }
            }
            Meanwhile::Kill => killed = true,
        }
        if killed {
            self.kill().await;
        } else {
            let end = self.life.editor.turn_end(&turn.turn_id).await;
            *self.report.ends.entry(format!("{:?}", end.reason)).or_default() += 1;
            if self.model.count() > requests {
                self.check_words();
            }
            self.life.editor.law_holds().await;
            self.decide().await;
            self.life.editor.forget_turn();
        }
        self.model.unscript();
        let violations = self.model.violations();
        assert!(violations.is_empty(), "turn {number}: {violations:#?}");
        until_gone(&marker).await;
        if let Some(session) = &mut self.session {
            session.turns_left = session.turns_left.saturating_sub(1);
            if session.turns_left == 0 && !killed {
                self.session = None;
            }
        }
    }

    /// Runs a turn without faults.
    async fn quiet_turn(&mut self, number: u64) {
        self.model.unscript();
        self.word = format!("w{number:06}");
        let turn = self.begin(true).await;
        self.life.editor.turn_end(&turn.turn_id).await;
        self.check_words();
    }

    async fn begin(&mut self, long: bool) -> RunTaskResult {
        let word = self.word.clone();
        let mode = match self.rng.roll(10) {
            0 => Some(ReviewMode::Plan),
            1..4 => Some(ReviewMode::Auto),
            _ => None,
        };
        // Without one, the session's holds.
        let held = mode.or(self.session.as_ref().and_then(|session| session.mode));
        if held == Some(ReviewMode::Auto) {
            self.life.editor.will_accept_edits();
        }
        let said = |session_id: Option<String>| RunTaskParams {
            text: format!("{word}: do it"),
            session_id,
            mode,
            ..RunTaskParams::default()
        };
        if let Some(session) = &mut self.session {
            let params = said(Some(session.id.clone()));
            let turn = self.life.editor.request::<RunTask>(params).await;
            session.said.push(word);
            session.mode = held;
            return turn.expect("a session outlives its daemon from its first words on");
        }
        let turn = self.life.editor.request::<RunTask>(said(None)).await.expect("a task is taken");
        let turns_left = 1 + self.rng.roll(if long { 30 } else { 6 });
        let (id, said) = (turn.session_id.clone(), vec![word]);
        self.session = Some(Session { id, turns_left: turns_left + 1, said, mode: held });
        turn
    }

    async fn steer(&mut self, turn: &RunTaskResult, word: &str) {
        let params = SteerParams {
            session_id: turn.session_id.clone(),
            expected_turn_id: turn.turn_id.clone(),
            text: format!("{word}: and that"),
            attachments: Vec::new(),
        };
        // The turn may be over by now.
        if self.life.editor.request::<Steer>(params).await.is_ok()
            && let Some(session) = &mut self.session
        {
            self.report.steers += 1;
            // Told with this turn or with the next one.
            session.said.push(word.to_owned());
        }
    }

    /// Checks that the newest request holds all earlier messages of the user, in order. Messages sent
    /// during the last answer, or before a cancel, come with the next turn.
    fn check_words(&mut self) {
        let Some(session) = &self.session else { return };
        let Some(request) = self.model.requests().pop() else { return };
        let body = String::from_utf8(request.body).expect("requests are text");
        let words = body.contains(&session.said[session.said.len() - 1]);
        let newest = session.said.len() - if words { 0 } else { 1 };
        let mut from = 0;
        for word in &session.said[..newest] {
            // Words said too late for their turn come in the notes of the next one, after its own.
            let in_order = word.starts_with('w');
            let Some(found) = body[if in_order { from } else { 0 }..].find(word) else {
                let tail = body.char_indices().nth_back(4_000).map_or(0, |(at, _)| at);
                panic!("{word:?} is lost or out of order; the end is {}", &body[tail..])
            };
            from += if in_order { found } else { 0 };
            self.report.checked += 1;
        }
    }

    async fn decide(&mut self) {
        let decision = match self.rng.roll(6) {
            0..2 => Decision::Accept,
            2 => Decision::Reject,
            _ => return,
        };
        let params = DecideParams { decision, scope: Scope::All, rev: None, feedback: None };
        self.life.editor.request::<Decide>(params).await.expect("a decision is taken");
    }

    /// In the middle of a turn.
    async fn kill(&mut self) {
        self.report.kills += 1;
        self.life.daemon.kill().await;
        self.begin_life().await;
    }

    /// The editor is closed and opened again.
    async fn restart(&mut self) {
        self.life.editor.client.close();
        self.life.daemon.ends_within(Duration::from_secs(5)).await;
        self.begin_life().await;
    }

    async fn begin_life(&mut self) {
        let wire = WIRES[self.rng.roll(3) as usize];
        let next = Life::begin(self.folder.path(), self.state.path(), &self.model, wire).await;
        let Life { editor, .. } = std::mem::replace(&mut self.life, next);
        editor.abandon();
    }

    fn weigh(&self) -> Weight {
        let process = format!("/proc/{}", self.life.daemon.id());
        let status = fs::read_to_string(format!("{process}/status")).expect("the daemon lives");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
            line.trim().trim_end_matches(" kB").parse().expect("a number")
        };
        let files = fs::read_dir(format!("{process}/fd")).expect("its files").count();
        Weight { rss_kib: field("VmRSS:"), threads: field("Threads:"), files }
    }

    /// Script of the model for the next turn.
    fn script(&mut self, background: Option<&str>) {
        // Each costs a wait, and a turn must end in time.
        let mut waits = 2;
        for _ in 0..=self.rng.roll(3) {
            if self.rng.roll(3) == 0 {
                self.fault(&mut waits);
            }
            let reply = self.work(background);
            let chunk = 1 + self.rng.roll(300) as usize;
            self.model.push(Response::reply(reply).chunks_of(chunk));
        }
        if self.rng.roll(3) == 0 {
            self.fault(&mut waits);
        }
        self.model.push(Response::reply(Reply::text("Done.")));
    }

    fn fault(&mut self, waits: &mut u32) {
        let status =
            |status| Response::error(status, "api_error", "not now").header("retry-after-ms", "0");
        let reply = self.work(None);
        let roll = self.rng.roll(16);
        let costs_a_wait = roll < 6;
        if costs_a_wait && *waits == 0 {
            return;
        }
        *waits -= u32::from(costs_a_wait);
        let (name, response) = match roll {
            0 | 1 => {
                let at = self.rng.roll(reply.encode(Wire::Anthropic).len() as u64) as usize;
                ("cut", Response::reply(reply).cut_after(at))
            }
            2 => {
                let mut body = reply.encode(Wire::OpenAi);
                body.truncate(body.len() / 2);
                body.extend_from_slice(b"\n\ndata: {\"x\n\n");
                ("rubbish", Response::raw(200, "text/event-stream", body))
            }
            3 => ("HTML", Response::raw(200, "text/html", "<html>no</html>")),
            4 => ("nothing", Response::raw(200, "text/event-stream", "")),
            5 => ("an empty answer", Response::reply(Reply::text(" "))),
            6 => ("429", status(429)),
            7 => ("500", status(500)),
            8 => ("529", status(529)),
            9 => ("max_tokens in a call", Response::reply(reply.stop(Stop::MaxTokens))),
            10 => ("refusal", Response::reply(reply.stop(Stop::Refusal))),
            11 => ("an odd end", Response::reply(reply.stop(Stop::Other("whim".into())))),
            12 => ("401", Response::error(401, "authentication_error", "who?")),
            13 | 14 => {
                let id = self.id();
                let raw = "{\"path\": \"f1.txt\", \"ol";
                ("bad arguments", Response::reply(Reply::text("").call_raw(&id, "edit_file", raw)))
            }
            _ => {
                let id = self.id();
                ("an unknown tool", Response::reply(Reply::text("").call(&id, "fly", json!({}))))
            }
        };
        *self.report.faults.entry(name).or_default() += 1;
        self.model.push(response);
    }

    /// One answer with calls.
    fn work(&mut self, background: Option<&str>) -> Reply {
        let mut reply = Reply::text(["", "I do it — so."][self.rng.roll(2) as usize]);
        if self.rng.roll(3) == 0 {
            reply = reply.thinking("Hm, which one?");
        }
        for _ in 0..=self.rng.roll(2) {
            let file = format!("f{}.txt", self.rng.roll(FILES));
            let (name, arguments) = match self.rng.roll(12) {
                0..3 => ("read_file", json!({ "path": file })),
                3 => ("grep", json!({ "pattern": "line 1" })),
                4..7 => {
                    let line = self.rng.roll(30);
                    let old = format!("line {line} of");
                    let new = format!("line {line} now of");
                    ("edit_file", json!({ "path": file, "old_text": old, "new_text": new }))
                }
                7 => {
                    let text: String =
                        (0..30).map(|line| format!("line {line} of {file}\n")).collect();
                    ("write_file", json!({ "path": file, "content": text }))
                }
                8 => ("TodoWrite", self.plan()),
                _ => ("bash", json!({ "command": self.command(background) })),
            };
            let id = self.id();
            reply = reply.call(&id, name, arguments);
        }
        reply
    }

    fn plan(&mut self) -> Value {
        let done = self.rng.roll(4);
        let items: Vec<Value> = (0..4)
            .map(|at| {
                let status = match at {
                    _ if at < done => "completed",
                    _ if at == done => "in_progress",
                    _ => "pending",
                };
                json!({ "content": format!("Step {at}"), "activeForm": "Going", "status": status })
            })
            .collect();
        json!({ "todos": items })
    }

    fn command(&mut self, background: Option<&str>) -> String {
        let word = &self.word;
        match (self.rng.roll(5), background) {
            (0, Some(marker)) => format!("sleep {marker} & echo started"),
            (1, Some(marker)) => format!("(setsid sleep {marker} &) ; sleep 0.05"),
            (2, _) => "yes | head -c 60000".to_owned(),
            (3, _) => format!("sleep 0.0{}; exit 3", self.rng.roll(9)),
            _ => format!("touch ran-{word}; sleep 0.03; rm -f ran-{word}"),
        }
    }

    fn id(&mut self) -> String {
        self.calls += 1;
        format!("c{}", self.calls)
    }
}

impl Life {
    async fn begin(folder: &Path, state: &Path, model: &ModelServer, wire: Wire) -> Self {
        let daemon = Daemon::spawn(|command| {
            command.env("CAIRN_STATE_DIR", state).env(cairn::hardening::TRACEABLE, "1");
        });
        let settings = json!({
            "model": model.settings(wire),
            "plan": { "dialect": "todo-write" },
        });
        let editor = EditorDouble::connect(daemon.client.clone(), folder, settings).await;
        editor.open(&folder.join("f0.txt"));
        Self { daemon, editor }
    }
}

fn answer(decision: ApprovalDecision) -> Approval {
    Approval::Answer(ApproveResult { decision, feedback: None })
}

/// The promise for everything a turn started.
async fn until_gone(marker: &str) {
    let deadline = Instant::now() + Duration::from_secs(2);
    while lives(marker) {
        assert!(Instant::now() < deadline, "a process of a turn that is over lives: {marker}");
        sleep(Duration::from_millis(20)).await;
    }
}

fn lives(marker: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(marker))
}
