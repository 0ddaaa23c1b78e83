//! A workspace of several folders: searches look into all of them, and each path names its folder.

use cairn_protocol::{Notice, ToolState};
use cairn_tests::model_server::Wire;
use serde_json::json;

use crate::fixtures::*;

#[tokio::test]
async fn what_a_tool_prints_can_be_given_back() {
    let files = [
        ("api/src/a.ts", "const shared = 1;\n"),
        ("web/src/a.ts", "const shared = 2;\n"),
        ("web/src/b.ts", "const only = shared;\n"),
    ];
    let test = TestDaemon::open(Wire::Anthropic, &files).await;
    let window = test.window_on(&["api", "web"]).await;
    test.script([
        call("c1", "glob", json!({ "pattern": "*.ts" })),
        call("c2", "glob", json!({ "pattern": "web/src/*" })),
        call("c3", "grep", json!({ "pattern": "shared", "path": "." })),
        call("c4", "read_file", json!({ "path": "src/a.ts" })),
        call("c5", "read_file", json!({ "path": "src/b.ts" })),
        call("c6", "write_file", json!({ "path": "new.md", "content": "x\n" })),
        call("c7", "grep", json!({ "pattern": "shared", "path": "web/src/a.ts" })),
        edit("c8", "web/src/a.ts", "shared = 2", "shared = 3"),
        say("Done."),
    ]);
    window.run("Do it").await;
    let requests = test.model.requests();
    let last = requests.last().unwrap();
    let told = |id: &str| result(last, id);

    assert_eq!(told("c1"), "api/src/a.ts\nweb/src/a.ts\nweb/src/b.ts");
    assert_eq!(told("c2"), "web/src/a.ts\nweb/src/b.ts");
    assert_eq!(
        told("c3"),
        "api/src/a.ts\n1:const shared = 1;\n\nweb/src/a.ts\n1:const shared = 2;\n\nweb/src/b.ts\n1:const only = shared;"
    );
    assert!(told("c4").contains("`api/src/a.ts`, `web/src/a.ts`"), "{}", told("c4"));
    assert!(told("c5").contains("const only"), "{}", told("c5"));
    assert!(told("c6").contains("`api/new.md`, `web/new.md`"), "{}", told("c6"));
    assert!(told("c7").starts_with("web/src/a.ts\n1:"), "{}", told("c7"));
    assert!(told("c8").contains("web/src/a.ts"), "{}", told("c8"));
    assert_eq!(window.text(&test.uri("web/src/a.ts")), "const shared = 3;\n");

    let system = String::from_utf8_lossy(&requests[0].body).into_owned();
    assert!(system.contains("- api: ") && system.contains("- web: "), "{system}");
    let shown = window.notices().into_iter().find_map(|notice| match notice {
        Notice::Tool(tool) if tool.call_id == "c8" && tool.state == ToolState::Done => {
            Some(tool.title.english())
        }
        _ => None,
    });
    assert_eq!(shown.as_deref(), Some("Edit web/src/a.ts"));
    window.finish();
    test.finish().await;
}
