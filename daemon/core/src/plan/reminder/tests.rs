use expect_test::{Expect, expect};

use super::{
    NagPolicy, ReminderSettings, ReminderState, RoundFacts,
    verifying::{checks, is_about_verifying},
};
use crate::plan::{Accepted, Dialect, Draft, Faults, ListDialect, Plan, Status};

const ROUNDS: usize = 15;

/// Plays 15 rounds of one turn: `u` a round with an accepted todo call, `.` one with effects, `r` one that
/// only reads, `|` a new turn begins. Shows under each round `!` where a reminder stands.
fn check_rounds(nag: NagPolicy, situation: Situation, rounds: &str, expect: Expect) {
    let settings = ReminderSettings {
        nag,
        ..ReminderSettings::defaults(Dialect::List(ListDialect::TodoWrite))
    };
    let (plan, multi_step) = match situation {
        Situation::OpenPlan => (plan(&["[x] Read", "[>] Write", "[ ] Send"]), false),
        Situation::MultiStep => (Plan::default(), true),
        Situation::CompletedPlan => (plan(&["[x] Read", "[x] Write"]), false),
    };
    let mut state = ReminderState::default();
    let marks: String = rounds
        .chars()
        .map(|round| match round {
            '|' => {
                state.turn_started();
                '|'
            }
            _ => match state.after_round(
                &settings,
                &plan,
                RoundFacts { updated: round == 'u', had_effects: round == '.', multi_step },
            ) {
                Some(_) => '!',
                None => ' ',
            },
        })
        .collect();
    assert_eq!(rounds.matches(['u', '.', 'r']).count(), ROUNDS);
    expect.assert_eq(&format!("{rounds}\n{}", marks.trim_end()));
}

/// Round with effects of a turn with several steps.
const WORKED: RoundFacts = RoundFacts { updated: false, had_effects: true, multi_step: true };

enum Situation {
    OpenPlan,
    /// The turn is multi-step, and there is no plan.
    MultiStep,
    CompletedPlan,
}

fn plan(lines: &[&str]) -> Plan {
    let mut plan = Plan::default();
    complete(&mut plan, lines);
    plan
}

fn complete(plan: &mut Plan, lines: &[&str]) -> Accepted {
    let drafts = lines.iter().map(|line| draft(line)).collect();
    plan.replace(drafts, ListDialect::Todo, Faults::of_list("items")).expect("a right list")
}

fn draft(line: &str) -> Draft {
    let (status, content) = line.split_at(4);
    let status = match status {
        "[ ] " => Status::Pending,
        "[>] " => Status::InProgress,
        "[x] " => Status::Completed,
        other => panic!("no status: {other}"),
    };
    Draft { content: content.to_owned(), status, ..Draft::default() }
}

#[test]
fn every_round_policy_reminds_in_each_round() {
    let nag = NagPolicy::EveryRound { rounds: 3 };
    check_rounds(
        nag,
        Situation::OpenPlan,
        "u.......u......",
        expect![[r#"
            u.......u......
               !!!!!   !!!!"#]],
    );
}

#[test]
fn reset_policy_lengthens_its_interval_until_the_plan_is_updated() {
    let nag = NagPolicy::Reset { rounds: 3 };
    check_rounds(
        nag,
        Situation::OpenPlan,
        "u.......u......",
        expect![[r#"
            u.......u......
               !       !"#]],
    );
}

#[test]
fn reset_policy_counts_only_rounds_with_effects_and_the_others_count_all() {
    let rounds = ".r.rrr.rr......";
    let reset = NagPolicy::Reset { rounds: 3 };
    check_rounds(
        reset,
        Situation::OpenPlan,
        rounds,
        expect![[r#"
            .r.rrr.rr......
                  !       !"#]],
    );
    check_rounds(
        NagPolicy::EveryRound { rounds: 3 },
        Situation::OpenPlan,
        rounds,
        expect![[r#"
            .r.rrr.rr......
              !!!!!!!!!!!!!"#]],
    );
}

#[test]
fn patient_policy_waits_for_more_than_its_rounds() {
    check_rounds(
        NagPolicy::Patient { rounds: 10 },
        Situation::OpenPlan,
        "u..............",
        expect![[r#"
            u..............
                       !"#]],
    );
    check_rounds(
        NagPolicy::Patient { rounds: 4 },
        Situation::OpenPlan,
        "...............",
        expect![[r#"
            ...............
                !    !    !"#]],
    );
}

/// Table of published policies in docs/plan.md.
#[test]
fn settings_give_the_policies_that_are_described_elsewhere() {
    let check = |policy, rounds, expect| {
        let nag = NagPolicy::from_setting(policy, Some(rounds)).expect("a policy");
        check_rounds(nag, Situation::OpenPlan, "...............", expect);
    };
    check(
        "every-round",
        3,
        expect![[r#"
        ...............
          !!!!!!!!!!!!!"#]],
    );
    check(
        "patient",
        2,
        expect![[r#"
        ...............
          !  !  !  !  !"#]],
    );
    check(
        "patient",
        10,
        expect![[r#"
        ...............
                  !"#]],
    );
}

#[test]
fn off_policy_never_reminds() {
    check_rounds(
        NagPolicy::Off,
        Situation::OpenPlan,
        "...............",
        expect![[r#"
        ...............
    "#]],
    );
}

#[test]
fn the_round_of_an_update_and_the_next_one_have_no_reminder() {
    for nag in [NagPolicy::EveryRound { rounds: 1 }, NagPolicy::Reset { rounds: 0 }] {
        check_rounds(
            nag,
            Situation::OpenPlan,
            "..u.u...uu..u..",
            expect![[r#"
                ..u.u...uu..u..
                !!    !!   !  !"#]],
        );
    }
}

#[test]
fn a_turn_of_several_calls_is_reminded_unless_its_plan_is_completed() {
    let nag = NagPolicy::Reset { rounds: 3 };
    check_rounds(
        nag,
        Situation::MultiStep,
        "...............",
        expect![[r#"
            ...............
              !     !"#]],
    );
    check_rounds(
        nag,
        Situation::CompletedPlan,
        "...............",
        expect![[r#"
        ...............
    "#]],
    );
}

#[test]
fn a_new_turn_counts_from_zero() {
    check_rounds(
        NagPolicy::EveryRound { rounds: 3 },
        Situation::OpenPlan,
        "u...|..|.........",
        expect![[r#"
            u...|..|.........
               !|  |  !!!!!!!"#]],
    );
}

#[test]
fn the_text_gives_the_state_of_the_plan_in_neutral_words() {
    let settings = ReminderSettings {
        nag: NagPolicy::EveryRound { rounds: 1 },
        ..ReminderSettings::defaults(Dialect::List(ListDialect::UpdatePlan))
    };
    let mut state = ReminderState::default();
    let mut say = |plan: &Plan| state.after_round(&settings, plan, WORKED).expect("due");
    expect![[r#"
        The plan has not been updated for some rounds. If it no longer says what you are doing, send it again with update_plan: complete what is done, mark what you work on now, add what you found. If it is still true, just go on. This note is from the editor; it needs no answer.
        Now: 1 of 3 completed, in progress: #2 Write"#]]
    .assert_eq(&say(&plan(&["[x] Read", "[>] Write", "[ ] Send"])));
    assert!(say(&plan(&["[ ] Read"])).ends_with("\nNow: 0 of 1 completed, nothing in progress"));
    expect![[r#"
        This has grown to several steps without an open plan. If more lie ahead, write them down with update_plan; if you are nearly done, just finish. This note is from the editor; it needs no answer."#]]
    .assert_eq(&say(&Plan::default()));
}

#[test]
fn texts_of_the_settings_replace_the_defaults() {
    let mut settings = ReminderSettings::defaults(Dialect::List(ListDialect::Todo));
    settings.texts.initial = "Plan ahead.".to_owned();
    settings.texts.stale = "Still true?".to_owned();
    let mut state = ReminderState::default();
    assert_eq!(state.initial(&settings).as_deref(), Some("Plan ahead."));
    let plan = plan(&["[>] Read"]);
    let said: Vec<_> = (0..3).filter_map(|_| state.after_round(&settings, &plan, WORKED)).collect();
    assert_eq!(said, ["Still true?\nNow: 0 of 1 completed, in progress: #1 Read"]);
}

#[test]
fn the_initial_reminder_comes_once_in_a_session() {
    let settings = ReminderSettings::defaults(Dialect::List(ListDialect::TodoWrite));
    let mut state = ReminderState::default();
    assert!(state.initial(&settings).is_some_and(|text| text.contains("TodoWrite")));
    state.turn_started();
    assert_eq!(state.initial(&settings), None);

    // Turned on in the middle of a session it does not come late.
    let off = ReminderSettings { initial: false, ..settings.clone() };
    let mut state = ReminderState::default();
    assert_eq!(state.initial(&off), None);
    assert_eq!(state.initial(&settings), None);
}

#[test]
fn verification_is_asked_for_once_by_the_completing_call() {
    let settings = ReminderSettings::defaults(Dialect::List(ListDialect::TodoWrite));
    let mut state = ReminderState::default();
    let mut plan = Plan::default();
    let mut asked = |lines: &[&str]| {
        let accepted = complete(&mut plan, lines);
        state.verification(&settings, &plan, &accepted).is_some()
    };
    let open = ["[x] Read", "[x] Write", "[>] Send"];
    let done = ["[x] Read", "[x] Write", "[x] Send"];
    assert!(!asked(&open));
    assert!(asked(&done));
    assert!(!asked(&done));
    // Opened and completed again in the same turn.
    assert!(!asked(&open));
    assert!(!asked(&done));
    state.turn_started();
    let mut asked = |lines: &[&str]| {
        let accepted = complete(&mut plan, lines);
        state.verification(&settings, &plan, &accepted).is_some()
    };
    assert!(!asked(&["[x] Print", "[x] Fold"]));
    assert!(!asked(&["[x] Draw", "[x] Paint", "[x] Run the tests"]));
    assert!(asked(&["[x] Sow", "[x] Water", "[x] Reap"]));
}

#[test]
fn a_command_that_checked_the_last_edit_is_verification() {
    let settings = ReminderSettings::defaults(Dialect::List(ListDialect::TodoWrite));
    let asked = |work: &[&str]| {
        let (mut state, mut plan) = (ReminderState::default(), Plan::default());
        for command in work {
            if *command == "edit" { state.edited("a.rs") } else { state.command_ran(command, true) }
        }
        let accepted = complete(&mut plan, &["[x] Read", "[x] Write", "[x] Send"]);
        state.verification(&settings, &plan, &accepted).is_some()
    };
    assert!(!asked(&["edit", "npm test"]));
    assert!(!asked(&["edit", "npm test", "git status"]));
    assert!(asked(&["npm test", "edit"]));
    assert!(asked(&["edit", "git diff"]));
}

#[test]
fn commands_that_check_are_recognised() {
    for command in [
        "npm test 2>&1 | tail -20",
        "cd app && cargo test -q",
        "python -m pytest",
        "RUST_LOG=debug ./run-tests.sh",
        "npx tsc --noEmit",
        "make",
        "node --test",
        "go vet ./...",
        "npm run build",
    ] {
        assert!(checks(command), "{command}");
    }
    for command in
        ["cat tests/a.rs", "ls build", "git log --grep test", "grep -rn check .", "mkdir x", ""]
    {
        assert!(!checks(command), "{command}");
    }
}

#[test]
fn verification_can_be_turned_off() {
    let settings = ReminderSettings {
        verification: false,
        ..ReminderSettings::defaults(Dialect::List(ListDialect::TodoWrite))
    };
    let mut plan = Plan::default();
    let accepted = complete(&mut plan, &["[x] Read", "[x] Write", "[x] Send"]);
    assert!(accepted.completed_all_now);
    assert_eq!(ReminderState::default().verification(&settings, &plan, &accepted), None);
}

#[test]
fn items_about_verifying_are_recognised_in_several_languages() {
    for verifying in [
        "Run the tests",
        "VERIFY the output",
        "Type-check and lint",
        "Review the diff",
        "Build in release mode",
        "pytest -q",
        "Tests ausführen",
        "Unittests laufen lassen",
        "Ergebnis überprüfen",
        "Prüfe die Migration",
        "Alles bauen und kontrollieren",
        "Vérifier le résultat",
        "Contrôler les types",
        "Relire les modifications",
        "Lancer les essais",
        "Ejecutar las pruebas",
        "Comprobar el resultado",
        "Revisar los cambios",
        "テストを実行する",
        "動作確認",
        "差分をレビューする",
        "运行测试",
        "檢查結果",
        "验证输出",
    ] {
        assert!(is_about_verifying(verifying), "{verifying}");
    }
    for other in [
        "Add a date filter",
        "Update to the latest version",
        "Implement the checkout page",
        "Add a checkbox to the form",
        "Write the query builder",
        "Add form validation",
        "Add the controller",
        "Binärbaum ausgeben",
        "Neueste Version eintragen",
        "Ajouter un filtre",
        "Aprobar el texto",
        "Añadir un filtro",
        "チェックボックスを追加する",
        "フィルタを追加する",
        "添加验证码",
        "添加筛选器",
    ] {
        assert!(!is_about_verifying(other), "{other}");
    }
}

#[test]
fn policies_are_found_by_their_setting() {
    for (policy, rounds, nag) in [
        ("every-round", None, Some(NagPolicy::EveryRound { rounds: 3 })),
        ("reset", Some(5), Some(NagPolicy::Reset { rounds: 5 })),
        ("patient", None, Some(NagPolicy::Patient { rounds: 10 })),
        ("off", Some(5), Some(NagPolicy::Off)),
        ("always", None, None),
    ] {
        assert_eq!(NagPolicy::from_setting(policy, rounds), nag);
    }
}
