use std::sync::Mutex;

use cairn_core::model::{Stop, Usage};
use cairn_protocol::{CheckState, FormChange, ModelInfo};
use futures_util::future::BoxFuture;

use super::*;

/// Answers that are played in order; then none comes.
struct Played(Mutex<Vec<Vec<ModelEvent>>>);

impl Provider for Played {
    fn encode(&self, _: Option<&Item>, _: &Item, out: &mut Vec<u8>) {
        out.push(b'.');
    }

    fn answer(&self, _: ModelRequest, events: mpsc::Sender<ModelEvent>) -> BoxFuture<'static, ()> {
        let mut left = self.0.lock().unwrap();
        let next = (!left.is_empty()).then(|| left.remove(0));
        Box::pin(async move {
            let Some(next) = next else { return std::future::pending().await };
            for event in next {
                events.send(event).await.unwrap();
            }
        })
    }
}

fn choice(answers: Vec<Vec<ModelEvent>>) -> Choice {
    Choice {
        provider: Arc::new(Played(Mutex::new(answers))),
        info: ModelInfo { provider: "openai".into(), name: "m".into(), replay: false },
        max_tokens: None,
        own_server: true,
        is_ollama: false,
        known: Default::default(),
        providers: Vec::new(),
        unusable: None,
    }
}

async fn rows(choice: &Choice) -> Vec<ModelCheckRow> {
    let window = CheckedWindow { tokens: 32_000, is_known: false };
    let mut counts = Vec::new();
    let open = ModelFinding::NotChecked.message();
    let rows = check(choice, window, |rows| {
        counts.push(rows.iter().filter(|row| row.finding != open).count());
    })
    .await;
    assert!(counts.is_sorted(), "{counts:?}");
    let parts: Vec<_> = rows.iter().map(|row| row.part.clone()).collect();
    assert_eq!(parts, CheckedPart::ALL.map(|part| part.message()));
    rows
}

fn shown(rows: &[ModelCheckRow]) -> String {
    let line = |row: &ModelCheckRow| {
        let [part, state, finding] = [&row.part, &row.state, &row.finding].map(|it| it.english());
        format!("{part} {state}: {finding}\n")
    };
    rows.iter().map(line).collect()
}

fn call(name: &str, arguments: ToolArguments) -> Block {
    Block::ToolCall(ToolCall { id: "c".into(), name: name.into(), arguments })
}

fn add(a: u32) -> Block {
    call("add", ToolArguments::Object(json!({ "a": a, "b": 3 })))
}

fn answer(blocks: Vec<Block>, stop: Stop) -> Vec<ModelEvent> {
    let usage = Usage { input_tokens: 90, output_tokens: 10, cached_tokens: 0 };
    let message = AssistantMessage { blocks };
    let texts = message.text();
    let text = (!texts.is_empty()).then_some(ModelEvent::Text(texts));
    text.into_iter().chain([ModelEvent::Finished(Reply { message, stop, usage })]).collect()
}

fn text(text: &str) -> Vec<ModelEvent> {
    answer(vec![Block::Text(text.into())], Stop::EndTurn)
}

fn failed(kind: FailureKind, words: &str) -> Vec<ModelEvent> {
    vec![ModelEvent::Failed(Failure::new(kind, words))]
}

#[tokio::test(start_paused = true)]
async fn a_model_that_works_has_a_row_for_each_part() {
    let mut streamed = text("I added both.");
    streamed.insert(0, ModelEvent::Text("First. ".into()));
    let answers = vec![
        answer(vec![add(2)], Stop::ToolUse),
        answer(vec![add(2), add(4)], Stop::ToolUse),
        streamed,
    ];
    let choice = choice(answers);
    expect_test::expect![[r#"
        Answers works: the first answer took 0.1 s
        Calls tools works: the call is complete
        Several calls at once works: 2 calls in one answer
        Second request works: the server accepts its own answers
        Streams its answers works: the text comes in pieces
        Counts tokens works: 90 in, 10 out for the first request
        Form of requests works: as usual
        Context window limited: not known; Cairn assumes 32000 tokens. cairn.model.contextTokens sets the size
    "#]]
    .assert_eq(&shown(&rows(&choice).await));
}

#[tokio::test(start_paused = true)]
async fn what_breaks_is_named_and_the_check_goes_on() {
    let answers = vec![
        text("<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>"),
        failed(FailureKind::Rejected, "400: no"),
        answer(Vec::new(), Stop::EndTurn),
    ];
    let shown = shown(&rows(&choice(answers)).await);
    expect_test::expect![[r#"
        Answers works: the first answer took 0.1 s
        Calls tools broken: the call came as text: the server's chat template does not fit the model
        Several calls at once broken: 400: no. Check the account and the model.
        Second request limited: the answer was empty
        Streams its answers limited: the text comes in one piece, at its end
        Counts tokens works: 90 in, 10 out for the first request
        Form of requests works: as usual
        Context window limited: not known; Cairn assumes 32000 tokens. cairn.model.contextTokens sets the size
    "#]]
    .assert_eq(&shown);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let began = tokio::time::Instant::now();
    let rows = rows(&choice(Vec::new())).await;
    assert!(began.elapsed() >= ANSWER && began.elapsed() < 2 * ANSWER, "one limit ends the check");
    let (answer, rest) = (&rows[0], &rows[1..7]);
    assert_eq!(answer.state, CheckState::Broken.message());
    let text = answer.finding.english();
    assert!(text.contains("120 seconds"), "{text}");
    let unknown = rest.iter().filter(|row| row.state == CheckState::Unknown.message()).count();
    assert_eq!(unknown, 6, "{}", shown(rest));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_loads_its_model_or_learns_a_form_is_asked_again() {
    let loading = Failure::new(FailureKind::Server, "loading").said("loading", Some(503));
    let mut answers: Vec<_> = (0..30).map(|_| vec![ModelEvent::Failed(loading.clone())]).collect();
    answers.push(failed(FailureKind::Adapted, "no stream_options"));
    answers.push(answer(vec![add(2)], Stop::ToolUse));
    answers.push(answer(vec![add(2)], Stop::ToolUse));
    answers.push(text("Done."));
    let choice = choice(answers);
    choice.known.learn(FormChange::NoStreamOptions);
    let rows = rows(&choice).await;
    let states = [1, 2, 4, 6].map(|part| rows[part].state.english());
    assert_eq!(states, ["works", "limited", "unknown", "adapted"]);
    let form = rows[6].finding.english();
    assert!(form.contains("stream_options"), "{form}");
}

#[test]
fn the_form_of_a_call_is_judged() {
    let of = |blocks: Vec<Block>, stop: Stop| {
        let usage = Usage::default();
        findings::call(&Reply { message: AssistantMessage { blocks }, stop, usage }).kind()
    };
    let object = || ToolArguments::Object(json!({}));
    let invalid = || ToolArguments::Invalid { raw: "{\"a".into(), error: "cut".into() };
    let done = || Stop::EndTurn;
    for (blocks, stop, state) in [
        (vec![call("functions.add", object())], Stop::ToolUse, CheckState::Adapted),
        (vec![call("bash", object())], Stop::ToolUse, CheckState::Broken),
        (vec![call("add", invalid())], Stop::ToolUse, CheckState::Broken),
        (vec![call("add", invalid())], Stop::MaxTokens, CheckState::Unknown),
        (vec![], Stop::MaxTokens, CheckState::Unknown),
        (vec![Block::Text("Five.".into())], done(), CheckState::Broken),
    ] {
        assert_eq!(of(blocks.clone(), stop), state, "{blocks:?}");
    }
}
