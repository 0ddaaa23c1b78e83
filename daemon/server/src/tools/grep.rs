//! `grep`: finds lines by regular expression, in open documents as the user sees them.

use std::{ops::ControlFlow, time::Instant};

use cairn_core::{marks::ModelText, model::ToolSpec, policy::Touch};
use futures_util::future::{BoxFuture, FutureExt};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use serde_json::{Value, json};

use super::{
    Approved, Call, Tool, ToolContext, ToolFailure, ToolOutput,
    arguments::Arguments,
    glob::{PathPattern, start},
    snapshot::blocking,
};
use crate::workspace::{Hidden, Walked, WorkspacePath};

const MAX_MATCHES: usize = 200;
const MAX_BYTES: usize = 50 * 1024;
const MAX_LINE_CHARS: usize = 300;
const MAX_CONTEXT: usize = 10;
const MAX_TIME: std::time::Duration = std::time::Duration::from_secs(20);

pub(super) struct Grep;

struct GrepCall {
    pattern: String,
    matcher: RegexMatcher,
    from: WorkspacePath,
    files: Option<PathPattern>,
    context_lines: usize,
}

impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".to_owned(),
            description:
                "Searches file contents by regular expression (Rust syntax, line by line), \
                including the user's unsaved changes. Files that Git ignores and hidden files are \
                left out. Answers with each file's path and below it `line:text`; with `context`, \
                surrounding lines come as `line-text`."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "Regular expression"},
                    "path": {"type": "string", "description": "File or folder to search; the workspace folder if left out"},
                    "glob": {"type": "string", "description": "Only files whose path matches, such as `*.ts`"},
                    "ignore_case": {"type": "boolean"},
                    "context": {"type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "Lines to show around each match"}
                },
                "required": ["pattern"]
            }),
            parallel: true,
        }
    }

    fn parse(&self, arguments: Value, context: &ToolContext) -> Result<Box<dyn Call>, ToolFailure> {
        let mut arguments = Arguments::new("grep", arguments);
        let pattern = arguments.string("pattern");
        let path = arguments.optional_string("path");
        let files = arguments.optional_string("glob");
        let ignore_case = arguments.optional_bool("ignore_case").unwrap_or(false);
        let context_lines = arguments.optional_count("context").unwrap_or(0).min(MAX_CONTEXT);
        arguments.finish()?;
        if pattern.is_empty() {
            return Err(ToolFailure::tell("`pattern` is empty. Give a regular expression."));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(ignore_case)
            .multi_line(true)
            .crlf(true)
            // After `crlf`, which would set another one than the searcher has.
            .line_terminator(Some(b'\n'))
            .build(&pattern)
            .map_err(|error| {
                ToolFailure::Tell(format!(
                    "The pattern is not a regular expression for single lines: {error}. Escape \
                     characters that are meant literally with `\\`."
                ))
            })?;
        Ok(Box::new(GrepCall {
            pattern,
            matcher,
            from: start(context, path.as_deref())?,
            files: files
                .filter(|glob| !glob.is_empty())
                .map(|glob| PathPattern::new(&glob))
                .transpose()?,
            context_lines,
        }))
    }
}

impl Call for GrepCall {
    fn title(&self) -> String {
        match self.from.display() {
            "." => format!("Search {}", self.pattern),
            place => format!("Search {} in {place}", self.pattern),
        }
    }

    fn touch(&self) -> Touch {
        match self.from.is_secret() {
            true => {
                Touch::Read { path: Some(self.from.as_path().to_owned()), names: self.from.names() }
            }
            false => Touch::Read { path: None, names: Vec::new() },
        }
    }

    fn run(
        self: Box<Self>,
        context: ToolContext,
        _approved: Approved,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async move {
            let content = blocking(move || {
                context.workspace.recheck(&self.from).map_err(ToolFailure::tell)?;
                Ok(self.search(&context))
            })
            .await?;
            Ok(ToolOutput { content, ..ToolOutput::default() })
        }
        .boxed()
    }
}

impl GrepCall {
    fn search(&self, context: &ToolContext) -> ModelText {
        let started = Instant::now();
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.context_lines)
            .after_context(self.context_lines)
            .build();
        let mut results = Results::default();
        let hidden = self.files.as_ref().map_or(Hidden::Skip, PathPattern::hidden);
        let walked = context.workspace.walk(&self.from, hidden, |path| {
            let out_of_time = context.cancel.is_cancelled() || started.elapsed() > MAX_TIME;
            if out_of_time || results.full {
                return ControlFlow::Break(());
            }
            if self.files.as_ref().is_none_or(|files| files.matches(&path, &self.from)) {
                // Where the user was asked for it by name, they said yes.
                if path.is_secret() && !self.from.is_secret() {
                    results.secrets += 1;
                } else {
                    self.search_file(context, &path, &mut searcher, &mut results);
                }
            }
            ControlFlow::Continue(())
        });
        results.finish(walked)
    }

    /// A file that cannot be searched is passed over.
    fn search_file(
        &self,
        context: &ToolContext,
        path: &WorkspacePath,
        searcher: &mut Searcher,
        results: &mut Results,
    ) {
        results.file = Some(path.to_string());
        let searched = match context.docs.get(&path.uri()) {
            Some(document) => {
                let text = document.text.to_string();
                searcher.search_slice(&self.matcher, text.as_bytes(), results)
            }
            None => match context.workspace.open(path) {
                Ok(file) => searcher.search_file(&self.matcher, &file, results),
                Err(error) => return tracing::debug!("{error}"),
            },
        };
        if let Err(error) = searched {
            tracing::debug!("{path} was not searched: {error}");
        }
    }
}

/// Bounded text of all matches.
#[derive(Default)]
struct Results {
    out: String,
    /// The file searched now, until its name is in the text.
    file: Option<String>,
    matches: usize,
    full: bool,
    /// Files that were passed over because they may hold secrets.
    secrets: usize,
}

impl Results {
    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) -> bool {
        if self.full {
            return false;
        }
        if let Some(file) = self.file.take() {
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            self.out.push_str(&file);
            self.out.push('\n');
        }
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let number = number.unwrap_or_default();
        match text.char_indices().nth(MAX_LINE_CHARS) {
            Some((cut, _)) => self.out.push_str(&format!("{number}{mark}{}…\n", &text[..cut])),
            None => self.out.push_str(&format!("{number}{mark}{text}\n")),
        }
        self.full = self.matches >= MAX_MATCHES || self.out.len() >= MAX_BYTES;
        !self.full
    }

    fn finish(self, walked: Walked) -> ModelText {
        let mut out = ModelText::from(self.out.trim_end_matches('\n'));
        if self.matches == 0 {
            out.own("No matches.");
        }
        if self.full {
            out.own(&format!(
                "Stopped after {} matches; there may be more. Use a narrower pattern, `path` or `glob`.",
                self.matches
            ));
        } else if let Some(note) = walked.note() {
            out.own(note);
        }
        match self.secrets {
            0 => {}
            1 => out.own("1 file that may hold secrets was not searched; to search it, name it in `path`."),
            n => out.own(&format!(
                "{n} files that may hold secrets were not searched; to search one, name it in `path`."
            )),
        }
        out
    }
}

impl Sink for Results {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        Ok(self.line(found.line_number(), ':', found.bytes()))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        Ok(self.line(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.out.push_str("--\n");
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::tools::testing::Bench;

    async fn check(bench: &Bench, arguments: Value, expect: Expect) {
        expect.assert_eq(&bench.call("grep", arguments).await);
    }

    #[tokio::test]
    async fn finds_lines() {
        let bench = Bench::new(&[
            (".gitignore", "out/"),
            ("out/a.rs", "fn one"),
            ("a.rs", "x\nfn one() {\r\n}\ny\nz\nfn two() {}\n"),
            ("b.md", "No Fn here\n"),
            ("binary", "fn\0one"),
        ]);
        check(&bench, json!({"pattern": "fn \\w+"}), expect!["a.rs\n2:fn one() {\n6:fn two() {}"])
            .await;
        check(
            &bench,
            json!({"pattern": "\\{$", "context": 1}),
            expect!["a.rs\n1-x\n2:fn one() {\n3-}"],
        )
        .await;
        check(
            &bench,
            json!({"pattern": "fn", "context": 1, "glob": "*.rs"}),
            expect!["a.rs\n1-x\n2:fn one() {\n3-}\n--\n5-z\n6:fn two() {}"],
        )
        .await;
        check(
            &bench,
            json!({"pattern": "FN", "ignore_case": true, "glob": "*.md"}),
            expect!["b.md\n1:No Fn here"],
        )
        .await;
        check(
            &bench,
            json!({"pattern": "fn", "path": "a.rs", "glob": "*.rs"}),
            expect!["a.rs\n2:fn one() {\n6:fn two() {}"],
        )
        .await;
        check(&bench, json!({"pattern": "^z$"}), expect!["a.rs\n5:z"]).await;
        check(&bench, json!({"pattern": "nothing"}), expect!["[cairn] No matches."]).await;
        check(
            &bench,
            json!({"pattern": ""}),
            expect!["failure: `pattern` is empty. Give a regular expression."],
        )
        .await;
        let error = bench.call("grep", json!({"pattern": "("})).await;
        assert!(error.starts_with("failure: The pattern is not a regular expression"), "{error}");
    }

    #[tokio::test]
    async fn searches_the_buffer_of_an_open_document() {
        let bench = Bench::new(&[("a", "disk\n"), ("b", "disk\n")]);
        bench.open("a", "buffer\n");
        check(&bench, json!({"pattern": "disk|buffer"}), expect!["a\n1:buffer\n\nb\n1:disk"]).await;
    }

    #[tokio::test]
    async fn is_bounded() {
        let bench = Bench::new(&[("many", &"x\n".repeat(1000)), ("wide", &"y".repeat(9000))]);
        let found = bench.call("grep", json!({"pattern": "x"})).await;
        assert_eq!(found.lines().count(), MAX_MATCHES + 2);
        assert!(found.ends_with("there may be more. Use a narrower pattern, `path` or `glob`."));
        let found = bench.call("grep", json!({"pattern": "y"})).await;
        assert_eq!(found.chars().count(), "wide\n1:…".chars().count() + MAX_LINE_CHARS);
    }
}
