//! `bash`: runs a command in the workspace folder, after the user allowed these very bytes.

use std::time::Duration;

use cairn_core::{
    model::ToolSpec,
    policy::{Touch, command},
};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{Approved, Call, Tool, ToolContext, ToolFailure, ToolOutput, arguments::Arguments};
use crate::exec::{self, Exit, Outcome, Spec};

const MAX_TITLE_CHARS: usize = 80;

pub(super) struct Bash;

struct BashCall {
    command: String,
    cwd: std::path::PathBuf,
    timeout: Duration,
}

impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "bash".to_owned(),
            description:
                "Runs a command with bash in the workspace folder, after the user allowed \
                it, and answers with its output (both streams; of long output only the beginning \
                and the end) and exit code. Each call is a new shell without a terminal: nothing \
                can be typed in, `cd` and variables do not last, and processes left in the \
                background are ended with it. To read, find or change files use the other tools."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "timeout_ms": {"type": "integer", "minimum": 1, "description": "A limit shorter than the user's own"}
                },
                "required": ["command"]
            }),
            parallel: false,
        }
    }

    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = Arguments::new("bash", arguments);
        let command = arguments.string("command");
        let timeout = arguments.optional_count("timeout_ms");
        arguments.finish()?;
        if command::says_nothing(&command) {
            return Err(ToolFailure::tell("`command` is empty."));
        }
        if command.contains('\0') {
            return Err(ToolFailure::tell("`command` has a NUL character."));
        }
        let timeout = timeout.map_or(context.timeout, |ms| Duration::from_millis(ms as u64));
        Ok(Box::new(BashCall {
            command,
            cwd: context.workspace.root().to_owned(),
            timeout: timeout.min(context.timeout),
        }))
    }
}

impl Call for BashCall {
    fn title(&self) -> String {
        let line = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_TITLE_CHARS) {
            Some((cut, _)) => format!("Run {}…", &line[..cut]),
            None => format!("Run {line}"),
        }
    }

    fn touch(&self) -> Touch {
        Touch::Command { command: self.command.clone(), cwd: self.cwd.clone() }
    }

    fn run(
        self: Box<Self>,
        context: ToolContext,
        _approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let unsaved = tokio::select! {
                unsaved = context.edits.flush() => unsaved,
                () = context.cancel.cancelled() => {
                    return Err(ToolFailure::tell("Cancelled before the command began."));
                }
            };
            let spec = Spec {
                command: self.command,
                cwd: self.cwd,
                timeout: self.timeout,
                input: String::new(),
                env: Vec::new(),
            };
            let outcome = exec::run(spec, context.cancel).await.map_err(|error| {
                ToolFailure::Tell(format!("The command could not be run: {error}."))
            })?;
            let mut content = String::new();
            if !unsaved.is_empty() {
                content.push_str(&format!(
                    "[Unsaved in the editor, so the command saw older text: {}]\n",
                    unsaved.join(", ")
                ));
            }
            let report = report(&outcome, self.timeout);
            content.push_str(&report);
            Ok(ToolOutput {
                content,
                detail: Some(report),
                is_error: outcome.exit != Exit::Code(0),
                ..ToolOutput::default()
            })
        }
        .boxed()
    }
}

fn report(outcome: &Outcome, limit: Duration) -> String {
    let mut out = outcome.output.text();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    let seconds = outcome.duration.as_secs_f64();
    let ended = match outcome.exit {
        Exit::Code(code) => format!("exit code {code}, {seconds:.1} s"),
        Exit::Signal(signal) => format!("ended by signal {signal}, {seconds:.1} s"),
        Exit::TimedOut => {
            format!(
                "timed out after {:.1} s and was ended; output so far above",
                limit.as_secs_f64()
            )
        }
        Exit::Cancelled => "cancelled by the user".to_owned(),
    };
    out.push_str(&format!("[{ended}]"));
    if outcome.left_running > 0 && matches!(outcome.exit, Exit::Code(_) | Exit::Signal(_)) {
        out.push_str(&format!("\n[{} left in the background, ended]", outcome.left_running));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::tools::testing::Bench;

    async fn check(bench: &Bench, arguments: Value, expect: Expect) {
        let got = bench.call("bash", arguments).await;
        // The only part that differs from run to run.
        let got: Vec<String> = got
            .lines()
            .map(|line| match line.rsplit_once(", ") {
                Some((before, after)) if after.ends_with(" s]") => format!("{before}]"),
                _ => line.to_owned(),
            })
            .collect();
        expect.assert_eq(&got.join("\n"));
    }

    #[tokio::test]
    async fn runs_commands() {
        let bench = Bench::new(&[("a.txt", "hello\n")]);
        check(&bench, json!({"command": "cat a.txt"}), expect!["hello\n[exit code 0]"]).await;
        check(&bench, json!({"command": "printf x; exit 2"}), expect!["failed: x\n[exit code 2]"])
            .await;
        check(&bench, json!({"command": "kill -TERM $$"}), expect!["failed: [ended by signal 15]"])
            .await;
        check(
            &bench,
            json!({"command": "echo a; sleep 60", "timeout_ms": 100}),
            expect!["failed: a\n[timed out after 0.1 s and was ended; output so far above]"],
        )
        .await;
        check(
            &bench,
            json!({"command": "sleep 60 & echo a"}),
            expect!["a\n[exit code 0]\n[1 left in the background, ended]"],
        )
        .await;
        check(&bench, json!({"command": " # nothing\n"}), expect!["failure: `command` is empty."])
            .await;
    }

    #[tokio::test]
    async fn tells_what_the_command_could_not_see() {
        let bench = Bench::new(&[]);
        bench.stays_unsaved(&["src/a.rs", "b"]);
        check(
            &bench,
            json!({"command": "true"}),
            expect![
                "[Unsaved in the editor, so the command saw older text: src/a.rs, b]\n[exit code 0]"
            ],
        )
        .await;
    }

    #[tokio::test]
    async fn a_cancelled_turn_ends_it() {
        let bench = Bench::new(&[]);
        bench.cancel();
        let got = bench.call("bash", json!({"command": "sleep 60"})).await;
        assert!(got.contains("ancelled"), "{got}");
    }

    #[test]
    fn titles_are_one_short_line() {
        let call = |command: &str| BashCall {
            command: command.to_owned(),
            cwd: "/".into(),
            timeout: Duration::ZERO,
        };
        assert_eq!(call("npm\n  test").title(), "Run npm test");
        assert_eq!(call(&"x".repeat(100)).title(), format!("Run {}…", "x".repeat(80)));
    }
}
