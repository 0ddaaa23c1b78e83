use std::fs;

use cairn_core::{
    conversation::{Attached, AttachedContent, Image, Item, UserMessage},
    prompt::Surroundings,
};
use cairn_protocol::{
    ApprovalDecision, CallDecision, CompletedItem, DecidedBy, EndReason, ItemStatus, LinkedCommand,
    LinkedFile, Panel, ParentCall, PlanItem, Position, Range, ReviewMode, SessionFacts,
    SubagentPhase, ToolKind, ToolLabel, ToolState, ToolStats, ToolTarget, TurnNotice, TurnSpent,
    Usage,
};
use expect_test::expect;
use serde_json::json;

use super::*;

/// Lines of the journals that earlier versions wrote: `tests/states/<scene>/<format>`.
fn recorded() -> Vec<String> {
    let states = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/states");
    let mut lines = Vec::new();
    let inside = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for format in inside(&states).flat_map(|scene| inside(&scene)).filter(|it| it.is_dir()) {
        let sessions = format.join("state/workspace/sessions");
        for file in fs::read_dir(sessions).unwrap() {
            // The checksums are not of these lines: the path of the workspace was replaced.
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            lines.extend(text.lines().map(|line| line.splitn(3, ' ').last().unwrap().to_owned()));
        }
    }
    assert!(lines.len() > 100, "{} lines", lines.len());
    lines
}

#[test]
fn a_line_of_an_earlier_version_is_read_and_keeps_its_value() {
    for text in recorded() {
        let line: Line = serde_json::from_str(&text).unwrap();
        let written = serde_json::to_string(&line).unwrap();
        assert_eq!(serde_json::from_str::<Line>(&written).unwrap(), line, "{text}");
    }
}

#[test]
fn titles_lines_and_notices_of_earlier_versions_are_read() {
    let read = |text: &str| serde_json::from_str::<Line>(text).unwrap();
    let call = r#"{"sessionId":"s","turnId":"t","rev":4,"callId":"e","name":"edit_file","title":"Edit a","state":"done""#;
    let edited = ToolLabel::EditFile { file: "a".into() };
    for (more, title, range) in [
        ("", ToolLabel::Named { title: "Edit a".into() }, None),
        (
            r#","label":{"code":"edit_file","args":{"file":"a"}},"target":{"uri":"u","lines":[4,9]}"#,
            edited,
            Some((4, 9)),
        ),
        (r#","label":{"code":"later"}"#, ToolLabel::Named { title: "Edit a".into() }, None),
    ] {
        let Line::Tool(call) = read(&format!("{{\"tool\":{call}{more}}}}}")) else { panic!() };
        let lines = call.target.and_then(|target| target.range);
        let lines = lines.map(|range| (range.start.line, range.end.line));
        assert_eq!((*call.title, lines), (title.message(), range));
    }
    let turn = r#"{"turn":{"turnId":"t","task":"","mode":"auto","attachments":[{"kind":"selection","name":"a","uri":"u","lines":[2,3]}]}}"#;
    let Line::Turn(turn) = read(turn) else { panic!() };
    let range = turn.attachments[0].range.as_ref().unwrap();
    assert_eq!((range.start.line, range.end.line), (1, 2));
    for (code, known) in [("turns_redone", true), ("later", false)] {
        let notice = format!(
            r#"{{"notice":{{"turnId":"t","at":1,"notice":{{"code":"{code}","args":{{"turn":"t"}}}},"text":"Again"}}}}"#
        );
        let Line::Notice(notice) = read(&notice) else { panic!() };
        let expected = TurnNotice::TurnsRedone { turn: "t".into() }.message();
        assert_eq!((notice.notice, notice.text), (known.then_some(expected), "Again".to_owned()));
    }
}

fn item() -> PlanItem {
    PlanItem {
        id: "1".into(),
        content: "Fix it".into(),
        active_form: "Fixing it".into(),
        status: ItemStatus::InProgress,
        blocked: true,
        blocked_by: vec!["2".into()],
        files: vec![LinkedFile { uri: "file:///w/a".into(), path: "a".into() }],
        commands: [(ToolState::Running, None), (ToolState::Done, Some(7))]
            .map(|(state, elapsed_ms)| LinkedCommand {
                call_id: "b".into(),
                title: Box::new(ToolLabel::Named { title: "Run npm test".into() }.message()),
                state,
                elapsed_ms,
            })
            .to_vec(),
        calls: 2,
        elapsed_ms: 3,
    }
}

fn parent(plan_item: Option<&str>) -> ParentCall {
    ParentCall {
        session_id: "s".into(),
        turn_id: "t".into(),
        call_id: "k".into(),
        plan_item: plan_item.map(str::to_owned),
    }
}

fn completed_item() -> CompletedItem {
    CompletedItem { id: "1".into(), content: "Look".into(), place: 1, total: 2 }
}

fn call(with_all: bool) -> ToolNotification {
    let some = |text: &str| with_all.then(|| text.to_owned());
    ToolNotification {
        session_id: "s".into(),
        turn_id: "t".into(),
        rev: 4,
        call_id: "e".into(),
        name: "edit_file".into(),
        title: Box::new(ToolLabel::EditFile { file: "a".into() }.message()),
        state: ToolState::Done,
        plan_item: some("1"),
        detail: some("+1 −1"),
        uri: some("file:///w/a"),
        parent: with_all.then(|| parent(Some("1"))),
        tool_kind: with_all.then_some(ToolKind::Edit),
        target: with_all.then(|| ToolTarget {
            uri: "file:///w/a".into(),
            range: Some(Range {
                start: Position { line: 4, character: 0 },
                end: Position { line: 9, character: 0 },
            }),
        }),
        stats: with_all.then_some(ToolStats {
            added: Some(1),
            removed: Some(1),
            matches: Some(2),
            lines: Some(5),
            exit_code: Some(-1),
        }),
        started_at: with_all.then_some(1_790_000_000_000),
        ended_at: with_all.then_some(1_790_000_000_250),
        decision: with_all.then(|| {
            Box::new(CallDecision {
                decision: ApprovalDecision::Deny,
                by: DecidedBy::Answer,
                words: Some("no".into()),
                at: 1_790_000_000_100,
            })
        }),
        completed: with_all.then(completed_item).into_iter().collect(),
    }
}

fn subagent(phase: SubagentPhase) -> SubagentNotification {
    SubagentNotification {
        session_id: "c".into(),
        turn_id: "u".into(),
        rev: 5,
        parent: parent(None),
        place: 1,
        title: "Look".into(),
        phase,
        items: vec![],
        completed: 0,
        total: 0,
        rounds: 2,
        usage: USAGE,
    }
}

const USAGE: Usage = Usage { input_tokens: 10, output_tokens: 5, cached_tokens: 2 };

/// Lines of each kind, with and without what is optional.
fn every_kind() -> Vec<Line> {
    let surroundings = Surroundings {
        folders: vec!["/w".into()],
        folder_names: Vec::new(),
        os: "linux".into(),
        date: "2026-11-22".into(),
        plan_tool: "TodoWrite".into(),
        project: String::new(),
        instructions: vec![],
    };
    let forked = ForkedFrom { session_id: "r".into(), turn_id: Some("q".into()) };
    let header = |forked_from| Header {
        version: VERSION,
        session_id: "s".into(),
        surroundings: surroundings.clone(),
        forked_from,
    };
    let turn = |mode, follow_up: Option<&str>| TurnLine {
        turn_id: "t".into(),
        task: "Fix it".into(),
        mode,
        follow_up: follow_up.map(str::to_owned),
        attachments: Vec::new(),
    };
    let selection = Attached {
        name: "a".into(),
        uri: Some("file:///w/a".into()),
        content: AttachedContent::Selection { first_line: 2, last_line: 3, text: "x".into() },
    };
    let image = Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into() };
    let image = Attached { name: "shot".into(), uri: None, content: AttachedContent::Image(image) };
    let with_content = TurnLine {
        attachments: described(&[selection.clone(), image.clone()]),
        ..turn(ReviewMode::Auto, None)
    };
    let begun = || Record::Begun { call_id: "e".into() };
    let plan = PlanNotification {
        session_id: "s".into(),
        turn_id: "t".into(),
        rev: 3,
        panel: Panel::Expanded,
        items: vec![item()],
        completed: 0,
        total: 1,
        dropped: vec!["Old".into()],
    };
    // Absent in the lines of earlier versions.
    let spent = |reason| {
        (reason == EndReason::NeedsInput).then_some(TurnSpent {
            elapsed_ms: 1_500,
            usage: USAGE,
            cost_micros: Some(7),
        })
    };
    let ended = |reason| EndedLine {
        turn_id: "t".into(),
        reason,
        summary: "Done.".into(),
        open_items: 1,
        unchecked_edits: matches!(reason, EndReason::Limit),
        closed: matches!(reason, EndReason::Interrupted),
        usage: USAGE,
        spent: spent(reason),
    };
    let follow_up = |mode| FollowUpLine {
        id: "q".into(),
        text: "Then this".into(),
        mode,
        attached: Vec::new(),
    };
    let item = Item::User(UserMessage {
        text: "Fix it".into(),
        attached: vec![selection.clone()],
        ..UserMessage::default()
    });
    vec![
        Line::Session(header(None)),
        Line::Session(header(Some(forked))),
        Line::Turn(turn(ReviewMode::Review, None)),
        Line::Turn(turn(ReviewMode::Plan, Some("q"))),
        Line::Step(begun()),
        Line::Steps(vec![begun(), begun()]),
        Line::Streamed(Some("I look".into())),
        Line::Streamed(None),
        Line::Notice(NoticeLine {
            turn_id: "t".into(),
            at: 1_790_000_000_300,
            notice: Some(TurnNotice::TurnsRedone { turn: "t".into() }.message()),
            text: "Again".into(),
        }),
        Line::Plan(plan),
        Line::Tool(call(false)),
        Line::Tool(call(true)),
        Line::Subagent(subagent(SubagentPhase::Running)),
        Line::Subagent(subagent(SubagentPhase::Ended { reason: EndReason::Limit })),
        Line::SubagentStep(SubagentStep { session_id: "c".into(), step: begun() }),
        Line::Ended(ended(EndReason::NeedsInput)),
        Line::Ended(ended(EndReason::Interrupted)),
        Line::Queue(vec![follow_up(None), follow_up(Some(ReviewMode::Auto))]),
        Line::Turn(with_content),
        Line::Step(Record::Item(item)),
        Line::Queue(vec![FollowUpLine { attached: vec![image], ..follow_up(None) }]),
        Line::Digest(Digest {
            task: "Fix it".into(),
            turns: 1,
            running: true,
            done: 0,
            open: 1,
            ..Digest::default()
        }),
        Line::Digest(Digest {
            task: "Fix it".into(),
            turns: 1,
            end: Some(EndReason::Completed),
            last_line: Some("Done.".into()),
            queued: Some(2),
            cost_micros: Some(1_200),
            ..Digest::default()
        }),
        Line::Digest(Digest {
            task: "Fix it".into(),
            turns: 1,
            queued: Some(0),
            facts: SessionFacts { name: Some("The fix".into()) },
            ..Digest::default()
        }),
    ]
}

#[test]
fn each_kind_of_line_has_its_recorded_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = journal_path(folder.path(), &"s".into());
    let mut journal = Journal::create(&path).unwrap();
    let lines = every_kind();
    let bytes: Vec<_> = lines.iter().map(|line| serde_json::to_vec(line).unwrap()).collect();
    journal.append(&bytes).unwrap();
    expect![[r#"
        1 3ef50579 {"session":{"version":3,"sessionId":"s","surroundings":{"folders":["/w"],"os":"linux","date":"2026-11-22","plan_tool":"TodoWrite","instructions":[]}}}
        2 2c3b5f6c {"session":{"version":3,"sessionId":"s","surroundings":{"folders":["/w"],"os":"linux","date":"2026-11-22","plan_tool":"TodoWrite","instructions":[]},"forkedFrom":{"sessionId":"r","turnId":"q"}}}
        3 23177d12 {"turn":{"turnId":"t","task":"Fix it","mode":"review"}}
        4 910e817d {"turn":{"turnId":"t","task":"Fix it","mode":"plan","followUp":"q"}}
        5 1caa28ea {"step":{"begun":{"call_id":"e"}}}
        6 dae60b54 {"steps":[{"begun":{"call_id":"e"}},{"begun":{"call_id":"e"}}]}
        7 057c8f8d {"streamed":"I look"}
        8 a234d9ef {"streamed":null}
        9 314ade65 {"notice":{"turnId":"t","at":1790000000300,"notice":{"code":"turns_redone","template":"The restored files are again as the agent left them.","args":{"turn":"t"}},"text":"Again"}}
        10 34e5a5cd {"plan":{"sessionId":"s","turnId":"t","rev":3,"panel":"expanded","items":[{"id":"1","content":"Fix it","activeForm":"Fixing it","status":"inProgress","blocked":true,"blockedBy":["2"],"files":[{"uri":"file:///w/a","path":"a"}],"commands":[{"callId":"b","title":{"code":"named","template":"{title}","args":{"title":"Run npm test"}},"state":"running"},{"callId":"b","title":{"code":"named","template":"{title}","args":{"title":"Run npm test"}},"state":"done","elapsedMs":7}],"calls":2,"elapsedMs":3}],"completed":0,"total":1,"dropped":["Old"]}}
        11 c0607cce {"tool":{"sessionId":"s","turnId":"t","rev":4,"callId":"e","name":"edit_file","title":{"code":"edit_file","template":"Edit {file}","args":{"file":"a"}},"state":"done"}}
        12 fe90bff8 {"tool":{"sessionId":"s","turnId":"t","rev":4,"callId":"e","name":"edit_file","title":{"code":"edit_file","template":"Edit {file}","args":{"file":"a"}},"state":"done","planItem":"1","detail":"+1 −1","uri":"file:///w/a","parent":{"sessionId":"s","turnId":"t","callId":"k","planItem":"1"},"toolKind":"edit","target":{"uri":"file:///w/a","range":{"start":{"line":4,"character":0},"end":{"line":9,"character":0}}},"stats":{"added":1,"removed":1,"matches":2,"lines":5,"exitCode":-1},"startedAt":1790000000000,"endedAt":1790000000250,"decision":{"decision":"deny","by":"answer","words":"no","at":1790000000100},"completed":[{"id":"1","content":"Look","place":1,"total":2}]}}
        13 cb6e7db1 {"child":{"sessionId":"c","turnId":"u","rev":5,"parent":{"sessionId":"s","turnId":"t","callId":"k"},"place":1,"title":"Look","phase":{"kind":"running"},"items":[],"completed":0,"total":0,"rounds":2,"usage":{"inputTokens":10,"outputTokens":5,"cachedTokens":2}}}
        14 2aeef845 {"child":{"sessionId":"c","turnId":"u","rev":5,"parent":{"sessionId":"s","turnId":"t","callId":"k"},"place":1,"title":"Look","phase":{"kind":"ended","reason":"limit"},"items":[],"completed":0,"total":0,"rounds":2,"usage":{"inputTokens":10,"outputTokens":5,"cachedTokens":2}}}
        15 39d93bef {"childStep":{"sessionId":"c","step":{"begun":{"call_id":"e"}}}}
        16 25a60877 {"ended":{"turnId":"t","reason":"needsInput","summary":"Done.","openItems":1,"usage":{"inputTokens":10,"outputTokens":5,"cachedTokens":2},"spent":{"elapsedMs":1500,"usage":{"inputTokens":10,"outputTokens":5,"cachedTokens":2},"costMicros":7}}}
        17 4ba6ff0a {"ended":{"turnId":"t","reason":"interrupted","summary":"Done.","openItems":1,"closed":true,"usage":{"inputTokens":10,"outputTokens":5,"cachedTokens":2}}}
        18 2eacd059 {"queue":[{"id":"q","text":"Then this"},{"id":"q","text":"Then this","mode":"auto"}]}
        19 fbdfb9a6 {"turn":{"turnId":"t","task":"Fix it","mode":"auto","attachments":[{"kind":"selection","name":"a","uri":"file:///w/a","range":{"start":{"line":1,"character":0},"end":{"line":2,"character":0}}},{"kind":"image","name":"shot","mime":"image/png"}]}}
        20 1cc85313 {"step":{"item":{"User":{"text":"Fix it","notes":[],"attached":[{"name":"a","uri":"file:///w/a","content":{"Selection":{"first_line":2,"last_line":3,"text":"x"}}}]}}}}
        21 193efac9 {"queue":[{"id":"q","text":"Then this","attached":[{"name":"shot","content":{"Image":{"mime":"image/png","data":"iVBORw0KGgo="}}}]}]}
        22 0c9f61d1 {"digest":{"task":"Fix it","turns":1,"running":true,"done":0,"open":1}}
        23 95af9b68 {"digest":{"task":"Fix it","turns":1,"running":false,"done":0,"open":0,"end":"completed","lastLine":"Done.","queued":2,"costMicros":1200}}
        24 e2cb5aa9 {"digest":{"task":"Fix it","turns":1,"running":false,"done":0,"open":0,"queued":0,"name":"The fix"}}
    "#]].assert_eq(&fs::read_to_string(path).unwrap());
    for (line, bytes) in lines.iter().zip(bytes) {
        assert_eq!(serde_json::from_slice::<Line>(&bytes).unwrap(), *line);
    }
}

#[test]
fn the_variants_of_the_stored_enums_have_their_recorded_names() {
    let name = |value: serde_json::Value| value.as_str().unwrap().to_owned();
    let modes = [ReviewMode::Review, ReviewMode::Ask, ReviewMode::Auto, ReviewMode::Plan];
    let ends = [
        EndReason::Completed,
        EndReason::NeedsInput,
        EndReason::Cancelled,
        EndReason::Failed,
        EndReason::Limit,
        EndReason::Interrupted,
    ];
    let states = [
        ToolState::Queued,
        ToolState::AwaitingApproval,
        ToolState::Running,
        ToolState::Done,
        ToolState::Failed,
        ToolState::Declined,
        ToolState::Cancelled,
    ];
    let panels = [Panel::Expanded, Panel::Collapsed, Panel::Hidden];
    let statuses = [ItemStatus::Pending, ItemStatus::InProgress, ItemStatus::Completed];
    let names = [
        modes.map(|it| name(json!(it))).join(" "),
        ends.map(|it| name(json!(it))).join(" "),
        states.map(|it| name(json!(it))).join(" "),
        panels.map(|it| name(json!(it))).join(" "),
        statuses.map(|it| name(json!(it))).join(" "),
        json!(SubagentPhase::Waiting).to_string(),
    ];
    expect![[r#"
        review ask auto plan
        completed needsInput cancelled failed limit interrupted
        queued awaitingApproval running done failed declined cancelled
        expanded collapsed hidden
        pending inProgress completed
        {"kind":"waiting"}"#]]
    .assert_eq(&names.join("\n"));
}

#[test]
fn an_answer_without_text_is_no_item() {
    assert_eq!(unfinished(" \n"), None);
    assert!(matches!(unfinished("I look \n"), Some(Record::Item(Item::Assistant(_)))));
}
