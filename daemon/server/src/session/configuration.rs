//! Settings, trust and keys of the user, and the model and tools that result from them.

use std::sync::Arc;

use cairn_core::{
    call_forms,
    model::{Failure, FailureKind, ToolSpec},
    plan::{Dialect, dialect::Teaching},
    policy::{Access, trust},
    prompt::Audience,
    turn,
};
use cairn_protocol::{
    ApprovalDecision, ApproveResult, CredentialsParams, ServerModelsParams, StatusProblem,
};
use secrecy::SecretString;

use crate::{
    config::{self, Settings},
    environment::Environment,
    exec::sandbox::{Sandbox, SandboxConfig, Watch},
    model::{
        check::{self, CheckedWindow},
        choose::{self, Choice, Keys, ModelSettings, ProviderChoice},
        manners::KnownServers,
        server::ModelServer,
    },
    secrets,
    store::allowed::Allowed,
    tools::{self, Tool},
};

/// Name of the built-in demonstration, in place of a model.
const DEMO: &str = "demo";

pub(super) type ToolBox = Arc<[Arc<Tool>]>;

pub(super) struct Configuration {
    pub(super) settings: Settings,
    /// Settings that were ignored, with the reason.
    pub(super) faults: Vec<StatusProblem>,
    /// True if the user trusts the workspace. Otherwise the agent only reads.
    pub(super) trusted: bool,
    pub(super) environment: Environment,
    /// Reader of the agent's text.
    pub(super) audience: Audience,
    keys: Keys,
    /// True if the newest key was not taken.
    pub(super) key_refused: bool,
    /// Model that answers, as of the newest settings and keys.
    pub(super) choice: Choice,
    /// Lessons of the model servers.
    servers: KnownServers,
    /// Generation of the settings and keys that select the model.
    pub(super) generation: u32,
    /// Context window in tokens that a server reported in a refusal, with its generation.
    pub(super) learned_window: Option<(u32, u64)>,
    pub(super) tools: ToolBox,
    pub(super) sandbox: Arc<Sandbox>,
    watch: Arc<Watch>,
}

impl Configuration {
    pub(super) fn new(mut environment: Environment, watch: Arc<Watch>) -> Self {
        // Commands do not see the state that Cairn stores for other projects.
        let hidden = environment.state_dir.clone().into_iter().collect();
        let sandbox = Sandbox::new(environment.program.clone(), environment.backends, hidden);
        let mut key_refused = false;
        for key in [&mut environment.anthropic_key, &mut environment.openai_key] {
            if key.as_ref().is_some_and(|key| secrets::register(key).is_err()) {
                (*key, key_refused) = (None, true);
            }
        }
        let (settings, keys) = (Settings::default(), Keys::default());
        let servers = KnownServers::default();
        let tools = tools::all(settings.command_limits).into();
        Self {
            choice: choose::choose(&settings.model, &keys, &environment, &servers),
            servers,
            settings,
            faults: Vec::new(),
            trusted: true,
            environment,
            audience: Audience::default(),
            keys,
            key_refused,
            generation: 0,
            learned_window: None,
            tools,
            sandbox: Arc::new(sandbox),
            watch,
        }
    }

    pub(super) fn read(&mut self, section: &serde_json::Value) {
        let (settings, faults) = config::read(section);
        for fault in &faults {
            tracing::warn!("{}", fault.english());
        }
        if settings.model != self.settings.model {
            self.generation += 1;
        }
        // The description of a tool is part of each request's prefix: it changes only with its limits.
        if settings.command_limits != self.settings.command_limits {
            self.tools = tools::all(settings.command_limits).into();
        }
        self.settings = settings;
        self.faults = faults;
        self.choose_model();
    }

    pub(super) fn sandbox_config(&self) -> SandboxConfig {
        SandboxConfig {
            sandbox: Arc::clone(&self.sandbox),
            watch: Arc::clone(&self.watch),
            settings: self.settings.sandbox.clone(),
        }
    }

    /// Rules of "always". `None`: there is no state folder.
    pub(super) fn allowed(&self) -> Option<Allowed> {
        self.environment.state_dir.as_deref().map(Allowed::new)
    }

    /// Returns the refusal of an access that needs trust, if the workspace is not trusted.
    pub(super) fn without_trust(&self, access: &Access) -> Option<ApproveResult> {
        let reason = trust::refusal(access).filter(|_| !self.trusted)?;
        let (decision, feedback) = (ApprovalDecision::Deny, Some(reason.to_owned()));
        Some(ApproveResult { decision, feedback })
    }

    /// Returns true if somebody can answer a question.
    pub(super) fn is_answered(&self) -> bool {
        !matches!(self.audience, Audience::Terminal { answered: false, .. })
    }

    /// Sets the trust of the workspace, for the next turn on. Returns false if it is unchanged.
    pub(super) fn trust(&mut self, trusted: bool) -> bool {
        if self.trusted == trusted {
            return false;
        }
        self.trusted = trusted;
        self.generation += 1;
        self.choose_model();
        true
    }

    pub(super) fn credentials(
        &mut self,
        CredentialsParams { provider, key, origin }: CredentialsParams,
    ) {
        let key = key.filter(|key| !key.trim().is_empty()).map(SecretString::from);
        let most = secrets::MOST_ENTERED as usize * 1024;
        self.key_refused = key.as_ref().is_some_and(|key| {
            secrets::bytes(self.keys.all().chain([key])) > most || secrets::register(key).is_err()
        });
        if self.key_refused {
            return;
        }
        // Keys in use must not leave the registry.
        let environment = [&self.environment.anthropic_key, &self.environment.openai_key];
        for key in self.keys.all().chain(environment.into_iter().flatten()) {
            let _ = secrets::register(key);
        }
        match self.keys.set(&provider, origin.as_deref(), key) {
            Ok(()) => {
                self.generation += 1;
                self.choose_model();
            }
            Err(reason) => tracing::warn!("a key was ignored: {reason}"),
        }
    }

    /// Server that the user asks for its models, with the origin that a key for it would be stored for.
    pub(super) fn model_server(
        &self,
        ServerModelsParams { provider, base_url }: ServerModelsParams,
    ) -> (String, Result<ModelServer, Failure>) {
        let Some(provider) = ProviderChoice::named(&provider) else {
            let failure = Failure::new(FailureKind::Unusable, "This provider is unknown.");
            return (String::new(), Err(failure));
        };
        let hosts = &self.settings.model.plain_http_hosts;
        choose::model_server(provider, base_url, hosts, &self.keys, &self.environment)
    }

    /// Model that the user checks: that of the settings, or another one with the settings for models.
    pub(super) fn checked_model(
        &self,
        server: Option<ServerModelsParams>,
        name: Option<String>,
    ) -> (Choice, CheckedWindow) {
        let mut model = self.model_settings();
        if let Some(ServerModelsParams { provider, base_url }) = server {
            model.provider = ProviderChoice::named(&provider).unwrap_or(ProviderChoice::Auto);
            model.base_url = base_url;
        }
        model.name = name.or(model.name);
        let choice = choose::choose(&model, &self.keys, &self.environment, &self.servers);
        let window = check::window(&choice, &model.context);
        (choice, window)
    }

    fn model_settings(&self) -> ModelSettings {
        let mut model = self.settings.model.clone();
        if !self.trusted {
            // A replay script acts as the model, and the workspace may contain it.
            model.replay_file = None;
        }
        model
    }

    pub(super) fn choose_model(&mut self) {
        let model = self.model_settings();
        self.choice = choose::choose(&model, &self.keys, &self.environment, &self.servers);
    }

    pub(super) fn model_name(&self, demo: bool) -> &str {
        if demo { DEMO } else { &self.choice.info.name }
    }

    pub(super) fn turn_settings(&self, model: &str) -> turn::TurnSettings {
        let dialect = self.settings.dialect.unwrap_or_else(|| Dialect::for_model(model));
        let mut reminders = self.settings.reminders.clone().in_words_of(dialect);
        // A replay script has no answer to a reminder.
        reminders.end &= !self.choice.info.replay;
        turn::TurnSettings {
            max_rounds: self.settings.max_rounds,
            dialect,
            reminders,
            tools: self.tools_of(dialect).iter().map(|tool| (&tool.spec).into()).collect(),
            plans_only: false,
        }
    }

    pub(super) fn subagent_settings(&self, tools: &ToolBox, max_rounds: u32) -> turn::TurnSettings {
        let model = &self.choice.info.name;
        let mut settings = self.turn_settings(model);
        if settings.dialect == Dialect::Tasks {
            // Only sessions of the user have a task graph.
            settings.dialect = Dialect::for_model(model);
            let end = settings.reminders.end;
            settings.reminders = self.settings.reminders.clone().in_words_of(settings.dialect);
            settings.reminders.end = end;
        }
        settings.reminders.initial = false;
        settings.max_rounds = max_rounds;
        settings.tools = tools.iter().map(|tool| (&tool.spec).into()).collect();
        settings
    }

    /// Definitions of these tools for a model, and of the planning tool that the machine runs.
    pub(super) fn specs(&self, model: &str, dialect: Dialect, tools: &ToolBox) -> Vec<ToolSpec> {
        let of_plan = match dialect {
            Dialect::List(list) => Some(list.spec(Teaching::for_model(model))),
            Dialect::Tasks => None,
        };
        let mut specs: Vec<ToolSpec> =
            of_plan.into_iter().chain(tools.iter().map(|tool| tool.spec.clone())).collect();
        if call_forms::patch::is_usual_for(model) {
            call_forms::patch::offer(&mut specs);
        }
        specs
    }

    /// Tools of a turn with this planning dialect.
    pub(super) fn tools_of(&self, dialect: Dialect) -> ToolBox {
        let tools = self.tools.iter().filter(|tool| self.trusted || trust::offers(&tool.spec.name));
        match dialect {
            Dialect::List(_) if self.trusted => Arc::clone(&self.tools),
            Dialect::List(_) => tools.cloned().collect(),
            Dialect::Tasks => {
                let graph = tools::tasks::all(self.environment.state_dir.clone());
                graph.into_iter().chain(tools.cloned()).collect()
            }
        }
    }
}
