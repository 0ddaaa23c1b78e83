//! Calls in the form of other agents' tools.

use cairn_protocol::EndReason;
use cairn_tests::model_server::{Wire, assert_append_only};
use serde_json::json;

use crate::fixtures::*;

/// The reproduction of the missing `foo`: the option was dropped, and the answer was "No matches."
#[tokio::test]
async fn grep_finds_with_the_options_of_the_program_grep() {
    for wire in ALL {
        let test = TestDaemon::open(wire, &[("a", "one\nfoo\ntwo\n"), ("b.md", "foo\n")]).await;
        let search = json!({"pattern": "FOO", "-i": true, "include": "*", "type": "text"});
        let end = test.play([call("c1", "Grep", search), say("There.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let requests = test.finish().await;
        assert_eq!(
            result(&requests[1], "c1"),
            "a\n2:foo\n\nb.md\n1:foo\n[cairn] Ignored, because grep does not know it: `type`. \
             Its arguments are: pattern, path, glob, ignore_case, context, output."
        );
        // The conversation keeps the call as the model wrote it.
        assert!(requests[1].json().to_string().contains("Grep"));
    }
}

#[tokio::test]
async fn edits_and_commands_of_other_families_are_done_and_reviewed() {
    let test = TestDaemon::open(Wire::Anthropic, &[("sub/a", "x\n")]).await;
    test.editor.will_answer(allow());
    let edit = json!({"file_path": "sub/a", "old_string": "x", "new_string": "y"});
    let run = json!({"command": ["cat", "a"], "workdir": "sub"});
    let end = test.play([call("c1", "Edit", edit), call("c2", "shell", run), say("Done.")]).await;
    assert_eq!(end.reason, EndReason::Completed);
    let requests = test.finish().await;
    assert!(result(&requests[1], "c1").starts_with("Edited sub/a (+1 −1)"));
    assert!(result(&requests[2], "c2").contains('y'), "{}", result(&requests[2], "c2"));
    assert_append_only(&requests);
}

#[tokio::test]
async fn a_tool_for_notebooks_is_answered_with_the_way_to_change_one() {
    let test = TestDaemon::open(Wire::Anthropic, &[("n.ipynb", "{}\n")]).await;
    let arguments = json!({ "notebook_path": "n.ipynb", "cell_id": "one", "new_source": "c = 2" });
    test.play([call("c1", "NotebookEdit", arguments), say("I see.")]).await;
    let requests = test.finish().await;
    let told = result(requests.last().unwrap(), "c1");
    assert!(told.ends_with("change a cell's lines in it with edit_file."), "{told}");
}
