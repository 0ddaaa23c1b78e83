//! The real daemon, killed at random moments of a turn with edits, decisions and undos, while its
//! editor lives and keeps the text. A seed makes the same acts; the moments differ.
//!
//! Checks after each restart: to reject everything gives the text the user would have. No line of the
//! agent's stays that the user has not accepted, and no line is lost that the user wrote or accepted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    time::{Duration, Instant},
};

use cairn_protocol::{
    Decide, DecideParams, Decision, ReviewNotification, RunTask, RunTaskParams, Scope, State,
    UndoDecision, WholeFile,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::{
    editor_double::{self, ApplyFault, EditorDouble},
    lsp_client::Daemon,
    rng::Rng,
};

const LINES: u64 = 14;
/// `f0` and `f1` are open, `f2` is not; the agent deletes `gone`.
const FILES: [&str; 4] = ["f0", "f1", "f2", "gone"];
const OPEN: [&str; 2] = ["f0", "f1"];
const MADE: &str = "made";
/// Reads of the disk happen in the background. Only a failure takes this long.
const HEARD_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub moments: u64,
    pub seed: u64,
}

#[derive(Debug, Default)]
pub struct Report {
    moments: u64,
    /// An edit was on its way, and arrived before or after the restart.
    pub before: u64,
    pub after: u64,
    edits: usize,
    decisions: u64,
    undos: u64,
    typed: usize,
    took: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moments, before, after, edits, decisions, undos, typed, took } = self;
        write!(
            f,
            "{moments} kills in {took:.0?}: {edits} edits, {decisions} decisions, {undos} undos, \
             {typed} lines typed; an edit arrived {before} times between kill and restart and \
             {after} times after the restart; text that passed for the user's: 0, lost: 0"
        )
    }
}

/// Panics at the first moment after which a text is not as it should be.
pub async fn run(Options { moments, seed }: Options) -> Report {
    let began = Instant::now();
    let mut report = Report { moments, ..Report::default() };
    for moment in 0..moments {
        // Any of them can be repeated alone.
        let mut rng = Rng(seed.wrapping_add(moment.wrapping_mul(0x1_0001)));
        let name = format!("moment {moment} of seed {seed}");
        Moment::begin(&mut rng, name).await.play(&mut rng, &mut report).await;
    }
    report.took = began.elapsed();
    report
}

/// State of something the user may have decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    /// The daemon was killed before it answered.
    Perhaps,
    Yes,
}

/// Lines of the agent, `-` and lines of files that the agent took away, as far as they are accepted.
type Accepted = BTreeMap<String, Decided>;

/// A line of the user, and the lines above and below it when it was typed.
#[derive(Debug)]
struct Typed {
    line: String,
    file: &'static str,
    above: BTreeSet<String>,
    below: BTreeSet<String>,
}

/// Knowledge of what the user did.
#[derive(Debug, Default)]
struct Ledger {
    accepted: Accepted,
    /// Before each decision that can be undone.
    undo: Vec<Accepted>,
    typed: Vec<Typed>,
    log: Vec<String>,
    decisions: u64,
    undos: u64,
}

struct Moment {
    name: String,
    folder: TempDir,
    state: TempDir,
    settings: Value,
    daemon: Daemon,
    editor: EditorDouble,
    ledger: Ledger,
}

fn text(file: &str) -> String {
    (0..LINES).map(|line| format!("base {line} of {file}\n")).collect()
}

impl Moment {
    async fn begin(rng: &mut Rng, name: String) -> Self {
        let (folder, state) = (folder(), folder());
        for file in FILES {
            fs::write(folder.path().join(file), text(file)).expect("a file");
        }
        let script = state.path().join("script.json");
        let steps = script_of(rng);
        let played = json!({ "cairnReplay": 1, "name": "kills", "steps": steps }).to_string();
        fs::write(&script, played).expect("a script");
        let settings = json!({ "model": { "provider": "replay", "replayFile": script } });
        let daemon = spawn(&state);
        let client = daemon.client.clone();
        let editor = EditorDouble::connect(client, folder.path(), settings.clone()).await;
        for file in OPEN {
            editor.open(&folder.path().join(file));
        }
        Self { name, folder, state, settings, daemon, editor, ledger: Ledger::default() }
    }

    async fn play(mut self, rng: &mut Rng, report: &mut Report) {
        let holds = rng.roll(3) == 0;
        // By time, or a little after so many edits.
        let moment = match rng.roll(2) {
            0 => (None, Duration::from_micros(rng.roll(250_000))),
            _ => (Some(rng.roll(14) as usize), Duration::from_micros(rng.roll(8_000))),
        };
        let (editor, ledger) = (&self.editor, &mut self.ledger);
        let acting = act(editor, self.folder.path(), rng, ledger, holds);
        let kill = async {
            match moment {
                (None, wait) => sleep(wait).await,
                (Some(edits), wait) => {
                    while editor.edits().len() < edits && editor.held() == 0 {
                        sleep(Duration::from_micros(500)).await;
                    }
                    sleep(wait).await;
                }
            }
            if holds {
                // It may be that nothing is sent any more.
                let held = async {
                    while editor.held() == 0 {
                        sleep(Duration::from_micros(500)).await;
                    }
                };
                let _ = timeout(Duration::from_millis(400), held).await;
            }
        };
        // What is not answered when the time has come stays so.
        tokio::select! {
            () = kill => {}
            () = acting => {}
        }
        let edits = self.editor.edits().len();
        self.daemon.kill().await;
        self.editor.client.closed().await;
        self.editor.will_fail_no_more();
        let late = self.editor.held() > 0;
        let before = rng.roll(2) == 0;
        if late && before {
            self.editor.arrive();
            self.note("arrives before the restart");
            report.before += 1;
        }
        let next = spawn(&self.state);
        let client = next.client.clone();
        let (root, settings) = (self.folder.path().to_owned(), self.settings.clone());
        self.editor = self.editor.reconnect(client, &root, settings).await;
        self.daemon = next;
        self.reviews().await;
        if late && !before {
            self.editor.arrive();
            self.note("arrives after the restart");
            report.after += 1;
        }
        self.reject_everything().await;
        report.edits += edits;
        report.decisions += self.ledger.decisions;
        report.undos += self.ledger.undos;
        report.typed += self.ledger.typed.len();
        self.editor.abandon();
    }

    fn note(&mut self, what: &str) {
        self.ledger.log.push(what.to_owned());
    }

    async fn reviews(&self) -> Vec<ReviewNotification> {
        self.editor.request::<State>(Default::default()).await.expect("the state").reviews
    }

    /// Rejects until nothing is pending and the texts are right.
    async fn reject_everything(&mut self) {
        let deadline = Instant::now() + HEARD_WITHIN;
        loop {
            let reviews = self.reviews().await;
            let shown = format!("shown: {reviews:#?}");
            if reviews.iter().any(|review| !review.hunks.is_empty()) {
                self.note(&shown);
                if Instant::now() > deadline {
                    self.fail("edits stay pending after they are rejected");
                }
                let (decision, scope) = (Decision::Reject, Scope::All);
                let params = DecideParams { decision, scope, rev: None, feedback: None };
                let result = self.editor.request::<Decide>(params).await.expect("a decision");
                self.note(&format!("rejected all: {result:?}"));
                continue;
            }
            match self.fault() {
                None => return,
                Some(fault) if Instant::now() > deadline => self.fail(&fault),
                Some(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn fail(&self, fault: &str) -> ! {
        let texts: Vec<_> = FILES.iter().map(|file| (file, self.text(file))).collect();
        let (log, made) = (self.ledger.log.join("\n"), self.text(MADE));
        panic!("{}: {fault}\n{log}\n{texts:#?}\nmade: {made:?}", self.name);
    }

    /// Text as the user sees it.
    fn text(&self, file: &str) -> Option<String> {
        let path = self.folder.path().join(file);
        let uri = editor_double::uri(&path);
        match self.editor.is_open(&uri) {
            true => Some(self.editor.text(&uri)),
            false => fs::read_to_string(path).ok(),
        }
    }

    /// The first thing that is not as it should be.
    fn fault(&self) -> Option<String> {
        let Ledger { accepted, typed, .. } = &self.ledger;
        let mut present = BTreeSet::new();
        for file in FILES {
            let Some(text) = self.text(file) else {
                if accepted.contains_key(&format!("-{file}")) {
                    continue;
                }
                return Some(format!("{file} is gone"));
            };
            let lines: Vec<&str> = text.lines().collect();
            let at = |line: &str| lines.iter().position(|it| *it == line);
            let numbers: Vec<u64> = lines.iter().filter_map(|line| number(line)).collect();
            if !numbers.is_sorted() {
                return Some(format!("the lines of {file} are out of order"));
            }
            for line in (0..LINES).map(|line| format!("base {line} of {file}")) {
                match (accepted.get(&format!("-{line}")), at(&line)) {
                    (None, None) => return Some(format!("{line:?} is lost")),
                    (Some(Decided::Yes), Some(_)) => {
                        return Some(format!("{line:?} is back, and its deletion was accepted"));
                    }
                    _ => {}
                }
            }
            for line in &lines {
                if lines.iter().filter(|it| *it == line).count() > 1 {
                    return Some(format!("{line:?} is there twice"));
                }
            }
            for Typed { line, above, below, .. } in typed.iter().filter(|it| it.file == file) {
                let Some(place) = at(line) else { return Some(format!("{line:?} is lost")) };
                let moved = above.iter().filter_map(|it| at(it)).any(|it| it > place)
                    || below.iter().filter_map(|it| at(it)).any(|it| it < place);
                if moved {
                    return Some(format!("{line:?} is elsewhere"));
                }
            }
            present.extend(lines.into_iter().map(str::to_owned));
        }
        let made = self.text(MADE);
        present.extend(made.iter().flat_map(|text| text.lines()).map(str::to_owned));
        let of_agent = |line: &&String| line.starts_with("agent ");
        if let Some(line) = present.iter().filter(of_agent).find(|it| !accepted.contains_key(*it)) {
            return Some(format!("{line:?} passes for the user's"));
        }
        let lost = accepted.iter().filter(|(_, decided)| **decided == Decided::Yes);
        let mut lost = lost.map(|(line, _)| line).filter(of_agent);
        lost.find(|line| !present.contains(*line))
            .map(|line| format!("{line:?} was accepted, and is lost"))
    }
}

/// The user's acts during two turns.
async fn act(
    editor: &EditorDouble,
    root: &std::path::Path,
    rng: &mut Rng,
    ledger: &mut Ledger,
    holds: bool,
) {
    let mut session_id = None;
    let hold_at = rng.roll(12);
    for turn in 0..2 {
        let params = RunTaskParams {
            text: "Do it".into(),
            session_id: session_id.take(),
            ..Default::default()
        };
        let Ok(started) = editor.request::<RunTask>(params).await else { return };
        session_id = Some(started.session_id);
        for step in 0..6 {
            if holds && hold_at == turn * 6 + step {
                editor.will_fail(ApplyFault::Hold);
            }
            match rng.roll(8) {
                0..3 => type_a_line(editor, root, rng, ledger),
                3 | 4 => decide(editor, rng, ledger, Decision::Accept).await,
                5 => decide(editor, rng, ledger, Decision::Reject).await,
                6 => undo(editor, ledger).await,
                _ => {
                    let file = OPEN[rng.roll(2) as usize];
                    editor.save(&editor_double::uri(&root.join(file)));
                }
            }
            sleep(Duration::from_micros(rng.roll(6_000))).await;
        }
        if editor.held() == 0 {
            editor.turn_end(&started.turn_id).await;
        }
    }
}

fn type_a_line(editor: &EditorDouble, root: &std::path::Path, rng: &mut Rng, ledger: &mut Ledger) {
    let file = OPEN[rng.roll(2) as usize];
    let uri = editor_double::uri(&root.join(file));
    let line = format!("user {} of {file}", ledger.typed.len());
    let at = rng.roll(LINES);
    // In one step: an edit may come at any time.
    let (before, place) = editor.type_line(&uri, at as usize, &line);
    let base = |lines: &[String]| {
        lines.iter().filter(|line| line.starts_with("base ")).cloned().collect::<BTreeSet<_>>()
    };
    let (above, below) = before.split_at(place);
    ledger.log.push(format!("types {line:?} at {place} of {before:?}"));
    ledger.typed.push(Typed { line, file, above: base(above), below: base(below) });
}

async fn decide(editor: &EditorDouble, rng: &mut Rng, ledger: &mut Ledger, decision: Decision) {
    let Ok(state) = editor.request::<State>(Default::default()).await else { return };
    let reviews = state.reviews;
    let rev = reviews.iter().map(|review| review.rev).max();
    let all: Vec<_> =
        reviews.iter().flat_map(|review| review.hunks.iter().map(move |it| (review, it))).collect();
    if all.is_empty() {
        return;
    }
    let (scope, chosen) = match rng.roll(3) {
        0 => (Scope::All, all),
        _ => {
            let (review, hunk) = all[rng.roll(all.len() as u64) as usize];
            let (uri, hunk_id) = (review.uri.clone(), hunk.id.clone());
            (Scope::Hunk { uri, hunk_id }, vec![(review, hunk)])
        }
    };
    let before = ledger.accepted.clone();
    let mut touched = Vec::new();
    if decision == Decision::Accept {
        for (review, hunk) in &chosen {
            let new: Vec<&str> = hunk.new_text.lines().collect();
            touched
                .extend(new.iter().filter(|it| it.starts_with("agent ")).map(|it| it.to_string()));
            if hunk.whole_file == Some(WholeFile::Deleted) {
                touched.push(format!("-{}", review.path));
                continue;
            }
            let gone = hunk.old_text.lines().filter(|line| !new.contains(line));
            touched.extend(gone.map(|line| format!("-{line}")));
        }
        for line in &touched {
            ledger.accepted.entry(line.clone()).or_insert(Decided::Perhaps);
        }
    }
    ledger.decisions += 1;
    ledger.log.push(format!("{decision:?} {scope:?}: {touched:?}"));
    let params = DecideParams { decision, scope, rev, feedback: None };
    // A reject that dies may leave what is pending from an accept before it.
    let Ok(result) = editor.request::<Decide>(params).await else { return };
    ledger.log.push(format!("{result:?}"));
    if result.applied > 0 {
        ledger.undo.push(before);
    }
    if result.applied as usize == chosen.len() {
        for line in touched {
            ledger.accepted.insert(line, Decided::Yes);
        }
    }
}

async fn undo(editor: &EditorDouble, ledger: &mut Ledger) {
    ledger.undos += 1;
    let former = ledger.undo.pop();
    ledger.log.push(format!("undoes to {former:?}"));
    let mut stay = Accepted::new();
    if let Some(former) = &former {
        for (line, decided) in &mut ledger.accepted {
            if former.get(line) != Some(decided) {
                *decided = Decided::Perhaps;
                stay.insert(line.clone(), Decided::Perhaps);
            }
        }
    }
    let Ok(result) = editor.request::<UndoDecision>(Default::default()).await else { return };
    ledger.log.push(format!("{result:?}"));
    match former {
        Some(former) if result.undone => ledger.accepted = former,
        // The undo of an earlier decision leaves accepted what this one left.
        _ => ledger.undo.iter_mut().for_each(|earlier| {
            for (line, decided) in &stay {
                earlier.entry(line.clone()).or_insert(*decided);
            }
        }),
    }
}

/// Two turns. Each line of a file is changed at most once.
fn script_of(rng: &mut Rng) -> Vec<Value> {
    let mut free: BTreeMap<&str, Vec<u64>> =
        FILES[..3].iter().map(|file| (*file, (0..LINES).collect())).collect();
    let mut steps = Vec::new();
    let mut made = false;
    for turn in 0..2 {
        for call in 0..4 + rng.roll(4) {
            let id = turn * 100 + call;
            let file = FILES[rng.roll(3) as usize];
            let lines = free.get_mut(file).expect("a file");
            let line = lines.remove(rng.roll(lines.len() as u64) as usize);
            let old = format!("base {line} of {file}\n");
            let new = match rng.roll(4) {
                0 => String::new(),
                1 => format!("{old}agent {id}a of {file}\n"),
                2 => format!("agent {id}a of {file}\nagent {id}b of {file}\n"),
                _ => format!("agent {id}a of {file}\n"),
            };
            let (name, arguments) = match rng.roll(10) {
                0 if turn == 0 && !made => {
                    made = true;
                    ("write_file", json!({ "path": MADE, "content": format!("agent {id} made\n") }))
                }
                1 if turn == 1 => ("delete_file", json!({ "path": "gone" })),
                _ => ("edit_file", json!({ "path": file, "old_text": old, "new_text": new })),
            };
            steps.push(json!({ "calls": [{ "name": name, "arguments": arguments }] }));
        }
        steps.push(json!({ "text": "Done." }));
    }
    steps
}

fn number(line: &str) -> Option<u64> {
    line.strip_prefix("base ")?.split(' ').next()?.parse().ok()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn spawn(state: &TempDir) -> Daemon {
    Daemon::spawn(|command| {
        command.env("CAIRN_STATE_DIR", state.path());
    })
}
