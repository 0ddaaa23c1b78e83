//! `task`: hands a part of the work to a subagent, a separate loop with a clean context.
//!
//! Must never run the loop itself: the hub runs it like every other.

use cairn_core::{policy::Access, sanitize::one_line, subagent::SubagentReport};
use cairn_protocol::{ToolKind, ToolLabel};
use serde_json::json;

use super::{
    Arguments, Call, MAX_LABEL, SubagentRequest, SubagentTools, Tool, ToolContext, ToolFailure,
    ToolOutput,
};

pub(crate) const NAME: &str = "task";

pub(super) fn tool() -> Tool {
    let description = "Gives a part of the work to a subagent that starts with an empty \
        context, and answers with its report. It pays for broad searches whose findings \
        are short, and for parts that can be done independently of each other: several \
        task calls in one message run at the same time. It does not pay for what a few \
        calls of your own would do. The subagent sees nothing but the prompt: put \
        everything into it that it must know, what it shall do, where, and what you want \
        to be told. It works in the same workspace; its edits are proposals like yours. \
        It cannot ask questions and has no task tool.";
    let properties = json!({
        "description": {"type": "string", "description": "What it is about, in three to six words; people see it"},
        "prompt": {"type": "string", "description": "Everything the subagent is told"},
        "tools": {"type": "string", "enum": ["read", "all"], "description": "`read`: only read, find and search files; `all` (if left out): edit and run commands too"},
        "max_rounds": {"type": "integer", "minimum": 1, "description": "Answers with tool calls it may make; 30 if left out"}
    });
    let required = ["description", "prompt"];
    Tool::new(NAME, ToolKind::Task, description, properties, &required, parse).parallel()
}

fn parse(arguments: Arguments, _: &ToolContext) -> Result<Call, ToolFailure> {
    let title = arguments.string("description");
    let prompt = arguments.string("prompt");
    let tools = arguments.optional_string("tools");
    let max_rounds = arguments.count("max_rounds");
    if prompt.trim().is_empty() {
        return Err(ToolFailure::tell("task: `prompt` is empty. The subagent sees nothing else."));
    }
    let tools = match tools.as_deref() {
        Some("read") => SubagentTools::Read,
        _ => SubagentTools::All,
    };
    let max_rounds = max_rounds.map(|rounds| u32::try_from(rounds).unwrap_or(u32::MAX));
    let title = title_of(&title);
    let label = ToolLabel::Subagent { title: title.clone() };
    Ok(Call::new(label, Access::Subagent, move |context| {
        let request = SubagentRequest { title, prompt, tools, max_rounds, origin: context.origin };
        // Drop the rest of the context now: a journal is not closed while a call holds it.
        let ended = context.subagents.run(request);
        async move {
            let Some(SubagentReport { content, is_error }) = ended.await else {
                return Err(ToolFailure::tell("The turn ended before the subagent did."));
            };
            let detail = Some(content.as_str().to_owned());
            Ok(ToolOutput { content, detail, is_error, ..ToolOutput::default() })
        }
    }))
}

fn title_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = one_line(&words.join(" "), MAX_LABEL);
    if line.is_empty() { "a part of the task".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::Value;

    use super::{super::testing::Fixture, *};

    async fn check(arguments: Value, expect: Expect) {
        expect.assert_eq(&Fixture::new(&[]).call(NAME, arguments).await);
    }

    #[tokio::test]
    async fn the_subagent_gets_the_prompt_and_its_report_is_the_result() {
        check(
            json!({"description": "Find\n the  uses", "prompt": "Where is f used?", "tools": "read", "max_rounds": 3}),
            expect![[r#"Find the uses|Where is f used?|Read|Some(3)"#]],
        )
        .await;
        check(
            json!({"description": "", "prompt": "Look"}),
            expect![[r#"a part of the task|Look|All|None"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn wrong_arguments_are_named() {
        check(
            json!({"max_rounds": "many"}),
            expect!["failure: task: `description` is missing (string expected); `prompt` is missing (string expected); `max_rounds` is a string (whole number from 0 expected)."],
        )
        .await;
        check(
            json!({"description": "x", "prompt": " "}),
            expect!["failure: task: `prompt` is empty. The subagent sees nothing else."],
        )
        .await;
        check(
            json!({"description": "x", "prompt": "y", "tools": "write"}),
            expect!["failure: task: `tools` is a string (one of read, all expected)."],
        )
        .await;
    }
}
