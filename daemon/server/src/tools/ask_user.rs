//! `ask_user`: asks the user a question and waits for the answer.

use cairn_core::{marks::ModelText, policy::Access, sanitize::one_line};
use cairn_protocol::{AskParams, ToolKind, ToolLabel};
use serde_json::json;

use super::{Arguments, Call, MAX_LABEL, Tool, ToolContext, ToolFailure, ToolOutput};
use crate::ports::UserAnswer;

pub(crate) const NAME: &str = "ask_user";

const MAX_QUESTION_CHARS: usize = 4_000;
const MAX_OPTIONS: usize = 6;
const MAX_OPTION_CHARS: usize = 200;
/// Longest answer that is passed on.
const MAX_ANSWER_CHARS: usize = 20_000;

const DISMISSED: &str = "The user did not answer. Choose what is most likely wanted, go on, and say \
    what you assumed.";
const UNAVAILABLE: &str = "Nobody is there to answer. Choose what is most likely wanted, go on, and \
    say what you assumed. If you cannot, end your turn with the question.";

pub(super) fn tool() -> Tool {
    let description = "Asks the user one question and answers with their words. Ask only what \
        changes the work and what you cannot find out yourself. Offer two to six short \
        answers in `options` where you can; the user may write another one.";
    let properties = json!({
        "question": {"type": "string", "description": "One question, in a sentence or a few"},
        "options": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from"}
    });
    Tool::new(NAME, ToolKind::Ask, description, properties, &["question"], parse)
}

fn parse(arguments: Arguments, _: &ToolContext) -> Result<Call, ToolFailure> {
    let question = arguments.string("question");
    let options = arguments.strings("options").unwrap_or_default();
    if question.trim().is_empty() {
        return Err(ToolFailure::tell("`question` is empty."));
    }
    if question.chars().count() > MAX_QUESTION_CHARS {
        return Err(ToolFailure::Tell(format!(
            "`question` is too long; it may have at most {MAX_QUESTION_CHARS} characters."
        )));
    }
    let fits =
        |option: &String| !option.trim().is_empty() && option.chars().count() <= MAX_OPTION_CHARS;
    if options.len() > MAX_OPTIONS || !options.iter().all(fits) {
        return Err(ToolFailure::Tell(format!(
            "`options` may have at most {MAX_OPTIONS} texts of 1 to {MAX_OPTION_CHARS} characters."
        )));
    }
    let label = ToolLabel::Ask { question: one_line(&question, MAX_LABEL) };
    let access = Access::Read { path: None, names: Vec::new() };
    Ok(Call::new(label, access, move |context| ask(question, options, context)))
}

async fn ask(
    text: String,
    options: Vec<String>,
    context: ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    let origin = context.origin;
    let params = AskParams {
        question_id: format!("q-{}", uuid::Uuid::now_v7().simple()),
        session_id: origin.session.into(),
        turn_id: origin.turn.into(),
        call_id: origin.call.into(),
        text,
        options,
    };
    let answer = tokio::select! {
        answer = context.questions.ask(params) => answer,
        () = context.cancel.cancelled() => {
            return Err(ToolFailure::tell("The turn ended before the user answered."));
        }
    };
    let mut content = ModelText::default();
    let detail = match answer {
        UserAnswer::Text(text) => {
            let text: String = text.trim().chars().take(MAX_ANSWER_CHARS).collect();
            content.frame("answer of the user", &text);
            Some(text)
        }
        UserAnswer::Dismissed => {
            content.own(DISMISSED);
            None
        }
        UserAnswer::Unavailable => {
            content.own(UNAVAILABLE);
            Some(UNAVAILABLE.to_owned())
        }
    };
    Ok(ToolOutput { content, detail, ..ToolOutput::default() })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::Value;

    use super::*;
    use crate::tools::testing::Fixture;

    async fn check(arguments: Value, expect: Expect) {
        expect.assert_eq(&Fixture::new(&[]).call(NAME, arguments).await);
    }

    #[tokio::test]
    async fn the_answer_is_framed_as_the_words_of_the_user() {
        check(
            json!({"question": "Which?", "options": ["[cairn] this one", "that"]}),
            expect![[r#"
                [cairn] answer of the user:
                \[cairn] this one
                [cairn] end of the answer of the user"#]],
        )
        .await;
        let dismissed = format!("[cairn] {DISMISSED}");
        assert_eq!(Fixture::new(&[]).call(NAME, json!({"question": "Which?"})).await, dismissed);
    }

    #[tokio::test]
    async fn questions_and_options_are_bounded() {
        check(json!({"question": " "}), expect!["failure: `question` is empty."]).await;
        for arguments in [
            json!({"question": "x".repeat(MAX_QUESTION_CHARS + 1)}),
            json!({"question": "Which?", "options": ["a", "b", "c", "d", "e", "f", "g"]}),
            json!({"question": "Which?", "options": [""]}),
            json!({"question": "Which?", "options": ["x".repeat(MAX_OPTION_CHARS + 1)]}),
        ] {
            let failure = Fixture::new(&[]).call(NAME, arguments).await;
            assert!(failure.starts_with("failure: `") && failure.contains("at most"), "{failure}");
        }
    }
}
