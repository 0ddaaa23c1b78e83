//! A conversation with a real model behind third-party server software, in all wire formats.
//! `tests/oracle/run.sh` starts the server and passes its base URL.
//!
//! Judges the protocol and that the loop ends, never the words of so small a model.

// A check that fails ends the program, and what it saw goes to the terminal.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail, ensure};
use cairn::model::{
    ModelRequest, Provider, check,
    choose::Choice,
    client::{Client, Format, ServerConfig},
    http::BaseUrl,
    manners::KnownServer,
    window::ContextSettings,
};
use cairn_core::{
    conversation::{Item, Note, NoteKind, ToolArguments, ToolResult, UserMessage},
    model::{Failure, FailureKind, ModelEvent, Reply, Stop, ToolSpec},
};
use cairn_protocol::{CheckState, CheckedPart, ModelInfo};
use serde_json::json;
use tokio::sync::mpsc;

fn main() -> anyhow::Result<()> {
    let url = std::env::args().nth(1).context("usage: oracle BASE_URL")?;
    let base = BaseUrl::parse(&url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = |format, must_call| {
            let config = ServerConfig::new(base.clone(), "local", None);
            Client::new(format, ServerConfig { must_call, ..config }, KnownServer::default())
        };
        for (name, format) in [
            ("Messages", Format::Messages),
            ("Chat Completions", Format::Chat),
            ("Responses", Format::Responses),
        ] {
            check(name, client(format, true), client(format, false)).await?;
        }
        check_model(client(Format::Chat, true)).await
    })
}

/// The check of a model. Its calls are forced, for the model is too small to decide well.
async fn check_model(forced: Client) -> anyhow::Result<()> {
    let choice = Choice {
        provider: Arc::new(forced),
        info: ModelInfo { provider: "openai".into(), name: "local".into(), replay: false },
        max_tokens: None,
        own_server: true,
        is_ollama: false,
        known: KnownServer::default(),
        providers: Vec::new(),
        unusable: None,
    };
    let window = check::window(&choice, &ContextSettings::default());
    let rows = check::check(&choice, window, |_| {}).await;
    for row in &rows {
        let [part, state, finding] = [&row.part, &row.state, &row.finding].map(|it| it.english());
        println!("check, {part}: {state}, {finding}");
    }
    let works = |part: CheckedPart| {
        rows.iter()
            .any(|row| row.part == part.message() && row.state == CheckState::Works.message())
    };
    use CheckedPart::{PartAnswer, PartHistory, PartRequestForm, PartTokenCounts, PartToolCall};
    for part in [PartAnswer, PartToolCall, PartHistory, PartTokenCounts, PartRequestForm] {
        ensure!(works(part), "{part:?} does not work");
    }
    Ok(())
}

/// `forced` must call a tool, for the model is too small to decide well.
async fn check(name: &str, forced: impl Provider, free: impl Provider) -> anyhow::Result<()> {
    let mut messages = Vec::new();
    let task =
        UserMessage { text: "Read the file src/main.rs".to_owned(), ..UserMessage::default() };
    free.encode(None, &Item::User(task), &mut messages);

    let (events, outcome) = first_answer(&forced, &messages).await;
    let reply = outcome.map_err(|failure| anyhow::anyhow!("{name}, turn 1: {failure:?}"))?;
    ensure!(reply.stop == Stop::ToolUse, "{name}, turn 1 stops with {:?}", reply.stop);
    let calls: Vec<_> = reply.message.tool_calls().cloned().collect();
    let [call] = calls.as_slice() else { bail!("{name}, turn 1 has {} calls", calls.len()) };
    ensure!(call.name == "read_file" && !call.id.is_empty(), "{name}, turn 1: {call:?}");
    let ToolArguments::Object(arguments) = &call.arguments else { bail!("{name}: {call:?}") };
    ensure!(arguments["path"].is_string(), "{name}, turn 1: {arguments}");
    let started = ModelEvent::CallStarted { id: call.id.clone(), name: call.name.clone() };
    ensure!(events.contains(&started), "{name}, turn 1: the call was not announced");
    check_usage(name, &reply)?;
    println!("{name}, turn 1: {} {arguments}, {:?}", call.name, reply.usage);

    let call_id = call.id.clone();
    free.encode(None, &Item::Assistant(reply.message), &mut messages);
    let content = "fn main() { println!(\"hello\"); }".to_owned();
    let results = vec![ToolResult { call_id, content, is_error: false }];
    let before_results = messages.clone();
    free.encode(
        None,
        &Item::ToolResults { results: results.clone(), notes: Vec::new() },
        &mut messages,
    );
    let (events, outcome) = ask(&free, &messages).await;
    let reply = outcome.map_err(|failure| anyhow::anyhow!("{name}, turn 2: {failure:?}"))?;
    ensure!(
        matches!(reply.stop, Stop::EndTurn | Stop::MaxTokens),
        "{name}, turn 2 stops with {:?}",
        reply.stop
    );
    let streamed: String = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    ensure!(!streamed.is_empty(), "{name}, turn 2 says nothing");
    ensure!(streamed == reply.message.text(), "{name}, turn 2: the stream and the reply differ");
    check_usage(name, &reply)?;
    println!("{name}, turn 2: {:?} {streamed:?}, {:?}", reply.stop, reply.usage);

    // With a reminder after the results the model is free to break its own format, and the server
    // then breaks the stream: both are answers, a refused request is not.
    let notes = vec![Note::new(NoteKind::Reminder, "Be brief.")];
    let mut messages = before_results;
    free.encode(None, &Item::ToolResults { results, notes }, &mut messages);
    match ask(&free, &messages).await.1 {
        Ok(reply) => println!("{name}, with a reminder: {:?}", reply.stop),
        Err(Failure { kind: FailureKind::Server, message, .. }) => {
            println!("{name}, with a reminder: {message}");
        }
        Err(failure) => bail!("{name}, with a reminder: {failure:?}"),
    }
    Ok(())
}

fn check_usage(name: &str, reply: &Reply) -> anyhow::Result<()> {
    let usage = reply.usage;
    ensure!(
        usage.output_tokens > 0 && usage.input_tokens > usage.cached_tokens,
        "{name}: implausible {usage:?}"
    );
    Ok(())
}

type Outcome = Result<Reply, Failure>;

/// While the model loads, the server answers 503: that must be a failure one can retry.
async fn first_answer(provider: &impl Provider, messages: &[u8]) -> (Vec<ModelEvent>, Outcome) {
    const ATTEMPTS: u32 = 60;
    let mut attempt = 1;
    loop {
        let (events, outcome) = ask(provider, messages).await;
        match outcome {
            Err(failure)
                if attempt < ATTEMPTS
                    && matches!(failure.kind, FailureKind::Connect | FailureKind::Server) =>
            {
                attempt += 1;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            outcome => return (events, outcome),
        }
    }
}

async fn ask(provider: &impl Provider, messages: &[u8]) -> (Vec<ModelEvent>, Outcome) {
    let tool = ToolSpec {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": { "path": { "type": "string" } },
            "required": ["path"],
        }),
        parallel: true,
    };
    let request = ModelRequest {
        system: "You are a helpful assistant.".into(),
        tools: [tool].into(),
        messages: bytes::Bytes::copy_from_slice(messages),
        session: "oracle".into(),
        max_tokens: Some(64),
    };
    let (sender, mut receiver) = mpsc::channel(8);
    let read = async {
        let mut events = Vec::new();
        while let Some(event) = receiver.recv().await {
            events.push(event);
        }
        events
    };
    let ((), mut events) = tokio::join!(provider.answer(request, sender), read);
    let outcome = match events.pop().expect("an answer ends with an event") {
        ModelEvent::Finished(reply) => Ok(reply),
        ModelEvent::Failed(failure) => Err(failure),
        event => panic!("an answer ended with {event:?}"),
    };
    (events, outcome)
}
