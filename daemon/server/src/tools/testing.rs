//! A workspace on disk with an editor double that takes every edit, for the tests of the tools.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use cairn_core::{subagent::SubagentReport, text::Text};
use cairn_protocol::{AskParams, EditProblem, ReviewMode};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Call, EditPolicy, Edits, Proposal, Proposed, Questions, Searches, SubagentRequest, Subagents,
    ToolContext, ToolFailure, Wanted,
};
use crate::{
    approval::{self, Gate, RuleFolder},
    docs::{Docs, Document},
    exec::{
        CommandLimits,
        sandbox::{self, AllowedBackends, Sandbox, SandboxConfig, Watch},
    },
    ports::UserAnswer,
    processes::Processes,
    workspace::{Workspace, key_of, uri_of},
};

pub(super) struct Fixture {
    dir: tempfile::TempDir,
    context: ToolContext,
    editor: Arc<Editor>,
}

/// Subagent that reports the request that started it.
struct Echo;

impl Subagents for Echo {
    fn run(&self, request: SubagentRequest) -> BoxFuture<'static, Option<SubagentReport>> {
        let SubagentRequest { title, prompt, tools, max_rounds, .. } = request;
        let content = format!("{title}|{prompt}|{tools:?}|{max_rounds:?}");
        std::future::ready(Some(SubagentReport { content: content.into(), is_error: false }))
            .boxed()
    }
}

impl Fixture {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let workspace = Workspace::new(vec![dir.path().to_owned()]).expect("a workspace");
        let docs = Arc::new(Docs::default());
        let editor = Arc::new(Editor { docs: Arc::clone(&docs), state: Mutex::default() });
        let context = ToolContext {
            trusted: true,
            is_answered: true,
            reads_images: true,
            workspace: Arc::new(workspace),
            docs,
            edits: Arc::clone(&editor) as Arc<dyn Edits>,
            edit_policy: EditPolicy::Propose,
            subagents: Arc::new(Echo),
            questions: Arc::new(Echo),
            searches: Arc::default(),
            cancel: CancellationToken::new(),
            sources: Arc::default(),
            commands: Arc::default(),
            allowed: None,
            changed: Arc::default(),
            sandbox_config: SandboxConfig {
                sandbox: Arc::new(Sandbox::new(None, AllowedBackends(&[]), Vec::new())),
                watch: Arc::new(Watch::new(None)),
                settings: sandbox::SandboxSettings::default(),
            },
            command_limits: CommandLimits {
                usual: Duration::from_secs(30),
                ..CommandLimits::default()
            },
            processes: Arc::new(Processes::new(TaskTracker::new(), CancellationToken::new())),
            live: None,
            origin: cairn_core::review::Origin {
                session: "s".into(),
                turn: "t".into(),
                call: "c".into(),
                plan_item: None,
                plan_item_text: None,
                subagent: None,
            },
            hooks: None,
            journal: None,
        };
        Self { dir, context, editor }
    }

    /// Text for the model: the content, with `failed: ` before the result of a failed call, or `failure: `
    /// and the text of an error. The user approves everything.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> String {
        let tool = super::all(self.context.command_limits)
            .into_iter()
            .find(|one| one.spec.name == tool)
            .expect("a tool of this name");
        match tool.parse(arguments, &self.context) {
            Ok(call) => self.run(call).await,
            Err(error) => format!("failure: {error}"),
        }
    }

    /// Runs a parsed call, approved by the user. Returns the same text as [`Fixture::call`].
    pub(super) async fn run(&self, call: Call) -> String {
        let (access, workspace) = (&call.access, &self.context.workspace);
        let approved = match approval::gate(
            access,
            ReviewMode::Review,
            &self.context.commands,
            &RuleFolder::of(access, workspace),
            workspace,
        ) {
            Gate::Open(approved) => approved,
            Gate::Ask(question) => question.allowed(),
            Gate::Closed(reason) => return format!("failure: {reason}"),
        };
        match call.run(self.context.clone(), approved).await {
            Ok(output) if output.is_error => format!("failed: {}", output.content.as_str()),
            Ok(output) => output.content.into(),
            Err(ToolFailure::Tell(text)) => format!("failure: {text}"),
            Err(ToolFailure::Fatal(error)) => panic!("fatal: {error:#}"),
        }
    }

    /// Searches end as soon as they begin.
    pub(super) fn without_time(&mut self) {
        self.context.searches = Arc::new(Searches::with_limit(Duration::ZERO));
    }

    pub(super) fn context(&self) -> &ToolContext {
        &self.context
    }

    /// The model takes no images.
    pub(super) fn refuse_images(&mut self) {
        self.context.reads_images = false;
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The user has this file open with this text.
    pub(super) fn open(&self, name: &str, text: &str) {
        self.editor.show(&self.path(name), text);
    }

    /// The text a tool proposed for a file.
    pub(super) fn proposed(&self, name: &str) -> String {
        let state = self.editor.state.lock().expect("not poisoned");
        state.proposed.get(&self.path(name)).cloned().expect("a proposal")
    }

    /// Present text of a file; `None` if it does not exist.
    pub(super) fn present(&self, name: &str) -> Option<String> {
        self.editor.present(&self.path(name)).map(|text| text.to_string())
    }

    /// Before each of the next proposals for a file, it gets the next of these texts.
    pub(super) fn user_types_first(&self, name: &str, texts: &[&str]) {
        let texts = texts.iter().map(|&text| (self.path(name), text.to_owned()));
        self.editor.state.lock().expect("not poisoned").typing.extend(texts);
    }

    /// The user appends a character every 120 ms, so many of them. No edit arrives between two keys.
    pub(super) fn user_types_steadily(&self, name: &str, keys: u32) {
        const GAP: Duration = Duration::from_millis(120);
        let (editor, path) = (Arc::clone(&self.editor), self.path(name));
        editor.state.lock().expect("not poisoned").typing_until = Some(Instant::now() + GAP * keys);
        let mut text = self.present(name).expect("a file");
        editor.show(&path, &text);
        tokio::spawn(async move {
            for _ in 0..keys {
                tokio::time::sleep(GAP).await;
                text.push('x');
                editor.show(&path, &text);
            }
        });
    }

    pub(super) fn refuse(&self, reason: &str) {
        self.editor.state.lock().expect("not poisoned").refusal = Some(reason.to_owned());
    }

    pub(super) fn stays_unsaved(&self, names: &[&str]) {
        let names = names.iter().map(|&name| name.to_owned());
        self.editor.state.lock().expect("not poisoned").unsaved = names.collect();
    }

    pub(super) fn limit(&mut self, limits: CommandLimits) {
        self.context.command_limits = limits;
    }

    pub(super) fn cancel(&self) {
        self.context.cancel.cancel();
    }
}

struct Editor {
    docs: Arc<Docs>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    proposed: HashMap<PathBuf, String>,
    typing: VecDeque<(PathBuf, String)>,
    typing_until: Option<Instant>,
    refusal: Option<String>,
    unsaved: Vec<String>,
}

impl Editor {
    fn show(&self, path: &Path, text: &str) {
        let uri = uri_of(path).expect("an absolute path");
        let former = self.docs.get(&key_of(path).expect("an absolute path"));
        self.docs.put(Document {
            key: uri.as_str().into(),
            uri,
            version: former.map_or(1, |document| document.version + 1),
            text: Text::new(text),
        });
    }

    fn remove(&self, path: &Path) {
        self.docs.remove(&key_of(path).expect("an absolute path"));
        // It may have been in the editor alone.
        let _ = fs::remove_file(path);
    }

    fn present(&self, path: &Path) -> Option<Text> {
        let open = self.docs.get(&key_of(path).expect("an absolute path"));
        open.map(|document| document.text.clone())
            .or_else(|| fs::read_to_string(path).ok().map(|text| Text::new(&text)))
    }
}

impl Edits for Editor {
    fn propose(&self, proposal: Proposal) -> BoxFuture<'static, Proposed> {
        let typed = self.state.lock().expect("not poisoned").typing.pop_front();
        if let Some((path, text)) = typed {
            self.show(&path, &text);
        }
        let mut state = self.state.lock().expect("not poisoned");
        let answer = if let Some(reason) = &state.refusal {
            Proposed::Refused(EditProblem::EditorFailed { reason: reason.clone() })
        } else if self.present(&proposal.path) != proposal.base
            || state.typing_until.is_some_and(|end| Instant::now() <= end)
        {
            Proposed::Stale
        } else {
            let old = proposal.base.map(|base| base.to_string()).unwrap_or_default();
            match proposal.wanted {
                Wanted::Text(text) => {
                    let answer = counted(&old, &text);
                    self.show(&proposal.path, &text);
                    state.proposed.insert(proposal.path, text);
                    answer
                }
                Wanted::Gone => {
                    self.remove(&proposal.path);
                    counted(&old, "")
                }
                Wanted::At(to) => {
                    self.remove(&proposal.path);
                    self.show(&to, &old);
                    Proposed::Applied { added: 0, removed: 0 }
                }
            }
        };
        async move { answer }.boxed()
    }

    fn flush(&self) -> BoxFuture<'static, Vec<String>> {
        let unsaved = self.state.lock().expect("not poisoned").unsaved.clone();
        async move { unsaved }.boxed()
    }

    fn on_command_end(&self) {}
}

/// Answers a question with its first option, else with nothing.
impl Questions for Echo {
    fn ask(&self, params: AskParams) -> BoxFuture<'static, UserAnswer> {
        let answer = params.options.into_iter().next();
        async { answer.map_or(UserAnswer::Dismissed, UserAnswer::Text) }.boxed()
    }
}

/// Lines that are only in one of the texts.
fn counted(old: &str, new: &str) -> Proposed {
    let missing_from = |a: &str, b: &str| {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).count() as u32
    };
    Proposed::Applied { added: missing_from(new, old), removed: missing_from(old, new) }
}
