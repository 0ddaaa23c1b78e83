//! The settings, group by group, with their texts.
//!
//! Texts follow the guidelines of VS Code: full sentences, no scope (the settings editor shows it),
//! backticks only where they are meant as code.

use super::{
    HookEventSetting, MemberKind, Setting, SettingChoice, SettingGroup, SettingKind as Kind,
    SettingMember, SettingScope,
    SettingScope::{Machine, User, Workspace},
};

pub const GROUPS: &[SettingGroup] = &[
    SettingGroup { title: "Model", settings: MODEL },
    SettingGroup { title: "Plan", settings: PLAN },
    SettingGroup { title: "Review", settings: REVIEW },
    SettingGroup { title: "Commands", settings: COMMANDS },
    SettingGroup { title: "Limits", settings: LIMITS },
    SettingGroup { title: "Notifications", settings: NOTIFICATIONS },
    SettingGroup { title: "Daemon", settings: DAEMON },
];

const fn setting(
    key: &'static str,
    scope: SettingScope,
    kind: Kind,
    description: &'static str,
) -> Setting {
    Setting { key, scope, kind, description }
}

const fn choice(value: &'static str, description: &'static str) -> SettingChoice {
    SettingChoice { value, description }
}

const fn member(
    key: &'static str,
    kind: MemberKind,
    required: bool,
    description: &'static str,
) -> SettingMember {
    SettingMember { key, kind, description, required }
}

const TEXT: Kind = Kind::Text { multiline: false };
const LONG_TEXT: Kind = Kind::Text { multiline: true };
const ON: Kind = Kind::Flag { default: true };

const MODEL: &[Setting] = &[
    setting(
        "model.provider",
        User,
        Kind::Choice {
            values: &[
                choice(
                    "auto",
                    "The first provider that can be used: Anthropic, then OpenAI or a compatible server, then the script of `cairn.model.replayFile`. Without any of them no task starts.",
                ),
                choice("anthropic", "Anthropic's API."),
                choice("openai", "OpenAI's API, or a server that is compatible with it."),
                choice("replay", "A recorded script, for demonstrations and bug reports."),
            ],
            default: "auto",
        },
        "Provider of the model.",
    ),
    setting(
        "model.name",
        User,
        TEXT,
        "Name of the model. Leave it empty to use the provider's default model.",
    ),
    setting(
        "model.baseUrl",
        User,
        TEXT,
        "Base URL of the provider's server: https, or http on this machine. Leave it empty to use the provider's own server.",
    ),
    setting(
        "model.plainHttpHosts",
        User,
        Kind::List,
        "Hosts whose model servers may be asked by http, such as `host.docker.internal`, `ollama` in a container, or `192.168.1.20`. The conversation goes there without encryption. An API key goes there only if you enter it for that server.",
    ),
    setting(
        "model.api",
        User,
        Kind::Choice {
            values: &[
                choice(
                    "auto",
                    "Responses with OpenAI itself, Chat Completions with every other server.",
                ),
                choice("chat", "Chat Completions, which most servers and gateways support."),
                choice(
                    "responses",
                    "Responses, which returns the model its own reasoning with each request.",
                ),
            ],
            default: "auto",
        },
        "API that is used with the provider `openai`.",
    ),
    setting(
        "model.contextTokens",
        User,
        Kind::Integer { minimum: 2048, default: None },
        "Size of the model's context window in tokens, input and output together. Leave it empty to use the known size of a model of Anthropic or OpenAI; for other models it is 32000, or less if the server says so.",
    ),
    setting(
        "model.maxTokens",
        User,
        Kind::Integer { minimum: 1, default: None },
        "Maximum number of tokens in one answer. Leave it empty to use 16384 with Anthropic, and the server's own limit elsewhere.",
    ),
    setting(
        "model.price",
        User,
        Kind::Members {
            members: &[
                member("input", MemberKind::Number, true, "Price of input that is not cached."),
                member(
                    "cachedInput",
                    MemberKind::Number,
                    false,
                    "Price of cached input. Without it, the price of input is used.",
                ),
                member("output", MemberKind::Number, true, "Price of output."),
            ],
            nullable: true,
        },
        "Price of the model in US dollars per million tokens, for the estimated cost of a session. Leave it empty to use the known prices of Anthropic and OpenAI; for other models no cost is shown.",
    ),
    setting(
        "model.replayFile",
        Machine,
        TEXT,
        "Path of the script that the provider `replay` plays. Leave it empty for the built-in demonstration.",
    ),
];

const REMINDER: Kind = Kind::Members {
    members: &[
        member(
            "policy",
            MemberKind::Choice(&[
                choice("every-round", "In every round from then on."),
                choice(
                    "reset",
                    "Once, then after twice as many rounds, and so on until the plan is updated. Rounds that only read do not count.",
                ),
                choice("patient", "Once after more rounds than that, then the count begins again."),
                choice("off", "Never."),
            ]),
            false,
            "When the model is reminded. The default is reset.",
        ),
        member(
            "rounds",
            MemberKind::Integer { minimum: 1 },
            false,
            "Number of rounds without an update of the plan. The default is 3, and 10 with the policy patient.",
        ),
    ],
    nullable: false,
};

const PLAN: &[Setting] = &[
    setting(
        "plan.dialect",
        Workspace,
        Kind::Choice {
            values: &[
                choice("auto", "The form that the model's family was trained on."),
                choice("todo-write", "`TodoWrite`, for Claude and models of unknown families."),
                choice("todo", "`todo`, with optional ids."),
                choice("todo-write-snake", "`todo_write`, for Qwen."),
                choice("update-plan", "`update_plan`, for GPT and Codex."),
                choice("write-todos", "`write_todos`, for Gemini and Gemma."),
                choice("manage-todo-list", "`manage_todo_list`, for Copilot."),
                choice("tasks", "`TaskCreate` and its companions: a task graph with dependencies."),
            ],
            default: "auto",
        },
        "Form of the planning tool that is offered to the model.",
    ),
    setting(
        "plan.initialReminder",
        Workspace,
        ON,
        "Remind the model of the planning tool with the first message of a session.",
    ),
    setting(
        "plan.verification",
        Workspace,
        ON,
        "Remind the model to verify its work when it completes a plan without a step for that.",
    ),
    setting(
        "plan.endReminder",
        Workspace,
        ON,
        "Remind the model once in a turn when its answer leaves items of the plan open, or an edit that no command has checked.",
    ),
    setting(
        "plan.reminder",
        Workspace,
        REMINDER,
        "Remind the model to update a plan that it has not changed for some rounds.",
    ),
    setting(
        "plan.texts.initial",
        User,
        LONG_TEXT,
        "Text of the reminder with the first message of a session. Leave it empty to use the built-in text.",
    ),
    setting(
        "plan.texts.stale",
        User,
        LONG_TEXT,
        "Text of the reminder that the plan has not been updated for some rounds. Leave it empty to use the built-in text.",
    ),
    setting(
        "plan.texts.unplanned",
        User,
        LONG_TEXT,
        "Text of the reminder that the work has grown to several steps without a plan. Leave it empty to use the built-in text.",
    ),
    setting(
        "plan.texts.verification",
        User,
        LONG_TEXT,
        "Text of the reminder that a plan was completed without a step that verifies. Leave it empty to use the built-in text.",
    ),
];

const REVIEW: &[Setting] = &[
    setting(
        "review.mode",
        User,
        Kind::Choice {
            values: &[
                choice("review", "Edits are proposals that you decide about at any time."),
                choice("ask", "The agent waits for your decision after each edit."),
                choice(
                    "auto",
                    "Edits are accepted when they are made. They are still listed and can be undone.",
                ),
                choice(
                    "plan",
                    "The agent edits nothing and runs no commands that change anything. The turn ends with a plan.",
                ),
            ],
            default: "review",
        },
        "How proposed edits are treated.",
    ),
    setting(
        "review.saveAtTurnEnd",
        Workspace,
        ON,
        "Save the agent's edits of open files that have no unsaved changes of yours.",
    ),
    setting(
        "review.advance",
        Workspace,
        ON,
        "Go to the next edit after you have accepted or rejected the one at the cursor.",
    ),
    setting(
        "review.removedText",
        User,
        Kind::Choice {
            values: &[
                choice(
                    "inline",
                    "Changed words are struck through before their replacement. Other removed lines are shown above the lines that replace them.",
                ),
                choice("zone", "Removed lines are always shown above the lines that replace them."),
                choice("hover", "Removed lines are shown only when the pointer is over the edit."),
            ],
            default: "inline",
        },
        "Where the text that an edit removes is shown.",
    ),
];

const COMMANDS: &[Setting] = &[
    setting(
        "shell.approval",
        User,
        Kind::Choice {
            values: &[
                choice("ask", "You are asked before each command."),
                choice(
                    "allowlist",
                    "Commands that only read files of the workspace (`ls`, `cat`, `grep`, `find` and the like, with known options) run without a question, as do those that `cairn.shell.allow` covers. You are asked before every other command.",
                ),
            ],
            default: "ask",
        },
        "Which commands of the agent need your permission.",
    ),
    setting(
        "shell.allow",
        User,
        Kind::List,
        "Commands that run without a question when `#cairn.shell.approval#` is `allowlist`. Each entry is one plain command, compared word for word: `npm test`. A last word `*` stands for any further words: `cargo test *`.",
    ),
    setting(
        "shell.deny",
        User,
        Kind::List,
        "Commands that never run, even if you allow them when asked: `git push`, `rm`. They are also found behind `sudo`, `env`, `bash -c` and the like, and in scripts that are not understood completely.",
    ),
    setting(
        "hooks",
        User,
        Kind::Hooks {
            events: &[
                HookEventSetting { key: "beforeTool", about_tools: true },
                HookEventSetting { key: "afterTool", about_tools: true },
                HookEventSetting { key: "beforeModel", about_tools: false },
                HookEventSetting { key: "turnEnd", about_tools: false },
                HookEventSetting { key: "taskCreated", about_tools: false },
                HookEventSetting { key: "taskCompleted", about_tools: false },
            ],
        },
        "Commands of your own that run at events of a turn: `beforeTool` (can refuse a call, or require an approval), `afterTool` (can add a text for the model), `beforeModel` (can end the turn), `turnEnd`, `taskCreated` and `taskCompleted`. Each reads the event as JSON from its standard input; an exit code other than 0 refuses. Hooks run with your rights, outside the sandbox, and without an approval.",
    ),
    setting(
        "sandbox.mode",
        Machine,
        Kind::Choice {
            values: &[
                choice(
                    "on",
                    "Commands run in a sandbox. They write only in the workspace and in private folders, do not see your keys, and have no network unless you allow it for a command.",
                ),
                choice(
                    "off",
                    "Commands run with all your rights, and you are asked before each one.",
                ),
            ],
            default: "on",
        },
        "Whether the agent's commands run in a sandbox. Where no sandbox works, you are asked before each command.",
    ),
    setting(
        "sandbox.writable",
        Machine,
        Kind::List,
        "Folders outside the workspace that the agent's commands may write, as absolute paths or as `~/…`. A cache that other programs trust is a way out of the sandbox.",
    ),
    setting(
        "sandbox.readable",
        Machine,
        Kind::List,
        "Files and folders below the home folder that the agent's commands may read, as `~/…`. Without this setting they see only the workspace, toolchains and package caches there.",
    ),
    setting(
        "sandbox.network",
        Machine,
        Kind::Flag { default: false },
        "Give every command of the agent network access without a question. Everything it reads in your workspace can then be sent anywhere.",
    ),
];

const LIMITS: &[Setting] = &[
    setting(
        "limits.rounds",
        User,
        Kind::Integer { minimum: 1, default: Some(100) },
        "Maximum number of model requests per turn.",
    ),
    setting(
        "limits.toolSeconds",
        User,
        Kind::Integer { minimum: 1, default: Some(120) },
        "Number of seconds that a command of the agent may run when the agent asks for no other time.",
    ),
    setting(
        "limits.maxToolSeconds",
        User,
        Kind::Integer { minimum: 1, default: Some(600) },
        "Maximum number of seconds that the agent may ask for, for one command.",
    ),
];

const NOTIFICATIONS: &[Setting] = &[setting(
    "notify.done",
    User,
    ON,
    "Notify you when a task is done that took more than a minute, if you look at another window.",
)];

const DAEMON: &[Setting] = &[setting(
    "daemon.path",
    Machine,
    TEXT,
    "Path of the `cairn` program. Leave it empty to use the one in this extension, or else the first on the PATH.",
)];
