use cairn_core::plan::reminder::ReminderTexts;
use serde_json::json;

use super::*;

/// Reads the section, with the faults as texts.
fn read(section: &Value) -> (Settings, Vec<String>) {
    let (settings, faults) = super::read(section);
    (settings, faults.iter().map(StatusProblem::english).collect())
}

#[test]
fn nested_and_dotted_keys_mean_the_same() {
    let nested = read(&json!({"model": {"name": "m", "maxTokens": 5}, "limits": {"rounds": 7}}));
    let dotted = read(&json!({"model.name": "m", "model.maxTokens": 5, "limits.rounds": 7}));
    for (settings, faults) in [nested, dotted] {
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(settings.model.name.as_deref(), Some("m"));
        assert_eq!(settings.model.max_tokens, Some(5));
        assert_eq!(settings.max_rounds, 7);
    }
}

#[test]
fn the_longest_time_of_a_command_is_never_below_the_usual_one() {
    let seconds = |limits| {
        let CommandLimits { usual, longest } = read(&json!({ "limits": limits })).0.command_limits;
        (usual.as_secs(), longest.as_secs())
    };
    assert_eq!(seconds(json!({})), (120, 600));
    assert_eq!(seconds(json!({"maxToolSeconds": 1200})), (120, 1200));
    assert_eq!(seconds(json!({"toolSeconds": 900})), (900, 900));
    assert_eq!(seconds(json!({"toolSeconds": 30, "maxToolSeconds": 10})), (30, 30));
}

#[test]
fn texts_of_the_user_replace_the_defaults() {
    let (settings, faults) = read(&json!({"plan": {
        "dialect": "tasks",
        "texts": {"stale": "Still true?", "initial": "", "unplanned": 1},
    }}));
    assert_eq!(
        faults,
        [
            "The value of cairn.plan.texts.unplanned is not used: it must be a string, not the number 1."
        ]
    );
    assert_eq!(settings.dialect, Some(Dialect::Tasks));
    let texts = settings.reminders.in_words_of(Dialect::Tasks).texts;
    let usual = ReminderTexts::defaults(Dialect::Tasks);
    assert_eq!(texts, ReminderTexts { stale: "Still true?".into(), ..usual });
}

#[test]
fn a_hook_is_parsed_completely_or_reported() {
    let (settings, faults) = read(&json!({"hooks": {
        "beforeTool": [{"command": " check ", "tools": ["bash"], "seconds": 3}, "look"],
        "turnEnd": ["notify", {"tools": ["bash"], "command": "x"}, {"command": ""}, 7],
        "afterTool": [{"command": "x", "seconds": 0}, {"command": "x", "when": 1}],
        "never": ["x"],
        "taskCreated": "x",
    }}));
    let hook = |event, command: &str, tools: &[&str], seconds| Hook {
        event,
        command: command.into(),
        tools: tools.iter().map(|&name| name.into()).collect(),
        seconds,
    };
    let expected = [
        hook(HookEvent::BeforeTool, "check", &["bash"], 3),
        hook(HookEvent::BeforeTool, "look", &[], USUAL_SECONDS),
        hook(HookEvent::TurnEnd, "notify", &[], USUAL_SECONDS),
    ];
    assert_eq!(settings.hooks.0, expected);
    let expected = [
        "The value of cairn.hooks.turnEnd is not used: only beforeTool and afterTool are about tools.",
        "The value of cairn.hooks.turnEnd is not used: a hook needs a command.",
        "The value of cairn.hooks.turnEnd is not used: expected a command or an object, found the number 7.",
        "The value of cairn.hooks.afterTool is not used: `seconds` of a hook must be a whole number from 1 to 600.",
        "The value of cairn.hooks.afterTool is not used: a hook has no `when`.",
        "There is no setting cairn.hooks.never.",
        "The value of cairn.hooks.taskCreated is not used: it must be a list of hooks, not a string.",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn every_wrong_key_is_reported_and_the_others_are_used() {
    let (settings, faults) = read(&json!({
        "model": {"provider": "clippy", "name": 3, "nam": "x"},
        "plan": {"reminder": {"policy": "often"}, "verification": "yes", "dialect": "esperanto"},
        "limits": {"rounds": 0, "toolSeconds": 9},
    }));
    assert_eq!(settings.command_limits.usual, Duration::from_secs(9));
    for name in [
        "model.provider",
        "model.name",
        "model.nam.",
        "plan.reminder.policy",
        "plan.verification",
        "plan.dialect",
        "limits.rounds",
    ] {
        assert!(faults.iter().any(|fault| fault.contains(name)), "{name} in {faults:?}");
    }
    assert_eq!(faults.len(), 7, "{faults:?}");
}

#[test]
fn the_sandbox_is_on_unless_it_is_turned_off() {
    let (settings, faults) = read(&json!({"sandbox": {
        "mode": "maybe", "network": true, "writable": ["/opt/a", "~/b", "c", 1],
        "readable": ["~/notes", "/opt/a", "~/"],
    }}));
    assert_eq!(faults.len(), 5, "{faults:?}");
    let sandbox = settings.sandbox;
    assert!(sandbox.on && sandbox.network);
    assert_eq!((sandbox.writable.len(), sandbox.readable.len()), (2, 1));
    assert!(sandbox.writable.iter().all(|folder| folder.is_absolute()));
    assert!(!read(&json!({"sandbox.mode": "off"})).0.sandbox.on);
}

/// Settings that concern the extension alone.
const IGNORED: [&str; 4] = ["daemon.path", "review.advance", "review.removedText", "notify.done"];

#[test]
fn every_setting_is_read() {
    for key in settings::keys().filter(|key| !IGNORED.contains(key)) {
        // A type that no setting has.
        let wrong = json!({ key: -0.5 });
        assert!(!read(&wrong).1.is_empty(), "{key} is not read");
        for value in settings::choices(key) {
            let faults = read(&json!({ key: value })).1;
            assert!(faults.is_empty(), "{key}: {value}: {faults:?}");
        }
    }
}

#[test]
fn defaults_are_those_of_the_manifest() {
    let manifest = include_str!("../../../../vscode-extension/package.json");
    let manifest: Value = serde_json::from_str(manifest).unwrap();
    let groups = manifest["contributes"]["configuration"].as_array().unwrap();
    let unset = format!("{:?}", read(&json!({})));
    for (name, setting) in groups.iter().flat_map(|it| it["properties"].as_object().unwrap()) {
        let key = name.strip_prefix("cairn.").unwrap();
        if !setting["default"].is_null() && !IGNORED.contains(&key) {
            let set = json!({ key: setting["default"] });
            assert_eq!(format!("{:?}", read(&set)), unset, "{name}");
        }
    }
}

#[test]
fn a_section_that_is_not_an_object_is_a_fault() {
    assert_eq!(read(&json!([1])).1.len(), 1);
    assert_eq!(read(&Value::Null).1.len(), 0);
}
