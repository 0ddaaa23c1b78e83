//! Without a model that can be used no task starts, and the demonstration plays only where it was asked for.

use cairn_protocol::{EndReason, RunTask, RunTaskParams, State};
use serde_json::json;

use crate::fixtures::*;

#[tokio::test]
async fn a_task_without_a_model_is_refused_and_leaves_nothing() {
    for model in [json!({ "provider": "auto" }), json!({ "provider": "anthropic" })] {
        let test = TestDaemon::with_model(&[], model).await;
        let params = RunTaskParams { text: "Do it".into(), ..RunTaskParams::default() };
        let refusal = test.editor.request::<RunTask>(params).await.unwrap_err();
        let shown = format!("{refusal:?}");
        assert!(shown.contains("noModel") && shown.contains("API key"), "{shown}");
        let state = test.editor.request::<State>(Default::default()).await.unwrap();
        assert!(state.sessions.is_empty() && !state.status.model.replay, "{state:?}");
        assert!(test.editor.edits().is_empty());
        test.finish().await;
    }
}

#[tokio::test]
async fn the_demonstration_plays_without_a_model_when_it_is_asked_for() {
    let test = TestDaemon::with_model(&[], json!({ "provider": "auto" })).await;
    let params = RunTaskParams { text: "Show me".into(), demo: true, ..RunTaskParams::default() };
    let turn = test.editor.request::<RunTask>(params).await.unwrap();
    let end = test.editor.turn_end(&turn.turn_id).await;
    assert_eq!(end.reason, EndReason::Completed);
    assert!(test.disk("cairn-demo.md").contains("Every change is a proposal"));
    let params = RunTaskParams {
        text: "And now mine".into(),
        session_id: Some(turn.session_id),
        ..RunTaskParams::default()
    };
    assert!(test.editor.request::<RunTask>(params).await.is_err());
    test.finish().await;
}
