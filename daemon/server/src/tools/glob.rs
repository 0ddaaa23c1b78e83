//! `glob`: finds files by their path.

use std::{ops::ControlFlow, path::Path};

use cairn_core::{file_names::composed, marks::ModelText, policy::Access};
use cairn_protocol::{ToolKind, ToolLabel, ToolStats};
use globset::{GlobBuilder, GlobMatcher};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, ToolOutput, blocking, searches::Search,
};
use crate::workspace::{Hidden, Walked, Workspace, WorkspacePath};

const MAX_FILES: usize = 200;
const MAX_PATTERN_BYTES: usize = 1_000;

/// Files and folders in which a search begins.
pub(super) struct SearchStart(Vec<WorkspacePath>);

/// Glob pattern over paths relative to a folder.
pub(super) struct PathPattern {
    pub(super) text: String,
    matcher: GlobMatcher,
}

impl PathPattern {
    /// A pattern without `/` matches names at any depth.
    pub(super) fn new(text: &str) -> Result<Self, ToolFailure> {
        let plain = text.strip_prefix("./").unwrap_or(text);
        match plain.contains('/') {
            true => Self::compile(text, plain),
            false => Self::compile(text, &format!("**/{plain}")),
        }
    }

    /// A pattern of paths relative to the start of the search.
    fn compile(text: &str, plain: &str) -> Result<Self, ToolFailure> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(ToolFailure::Tell(format!(
                "The glob has {} bytes; it may have at most {MAX_PATTERN_BYTES}.",
                text.len()
            )));
        }
        if plain.starts_with('/') || plain.split('/').any(|part| part == "..") {
            return Err(ToolFailure::Tell(format!(
                "The pattern `{text}` must be relative, without `..`; give the folder in `path`."
            )));
        }
        let matcher = GlobBuilder::new(&composed(plain))
            .literal_separator(true)
            .build()
            .map_err(|error| ToolFailure::Tell(format!("The pattern is not a glob: {error}.")))?
            .compile_matcher();
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// True for a path below the start of a search; in several folders, also by the folder's name and
    /// the path below it.
    pub(super) fn matches(&self, path: &WorkspacePath, from: &SearchStart) -> bool {
        let starts = &mut from.0.iter();
        let below = starts.find_map(|start| path.as_path().strip_prefix(start.as_path()).ok());
        let below = below.unwrap_or(path.as_path());
        // `from` is the file itself.
        let below = if below.as_os_str().is_empty() {
            Path::new(path.as_path().file_name().unwrap_or_default())
        } else {
            below
        };
        let matches = |path: &Path| match path.to_str() {
            Some(text) => self.matcher.is_match(Path::new(composed(text).as_ref())),
            None => self.matcher.is_match(path),
        };
        matches(below) || from.0.len() > 1 && matches(Path::new(path.display()))
    }

    /// True if the pattern names a hidden file, so that hidden files are searched.
    pub(super) fn hidden(&self) -> Hidden {
        let named = self.text.split('/').any(|part| part.starts_with('.') && part != ".");
        if named { Hidden::Include } else { Hidden::Skip }
    }
}

pub(super) fn tool() -> Tool {
    let description = "Finds files by path pattern, such as `src/**/*.ts` or `*.{json,toml}`. A \
        pattern without `/` matches file names at any depth. Files that Git ignores are \
        left out, and hidden ones too unless the pattern names them. Answers with paths \
        sorted by name.";
    let properties = json!({
        "pattern": {"type": "string", "description": "Glob, relative to `path`, or absolute"},
        "path": {"type": "string", "description": "Folder to search; all of the workspace if left out"}
    });
    Tool::new("glob", ToolKind::Search, description, properties, &["pattern"], parse).parallel()
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let pattern = arguments.string("pattern");
    let path = arguments.optional_string("path");
    let (pattern, path) = match split_absolute(&pattern) {
        Some((folder, below)) => (PathPattern::compile(below, below)?, Some(folder)),
        None => (PathPattern::new(&pattern)?, path.as_deref()),
    };
    let from = SearchStart::new(context, path)?;
    let text = pattern.text.clone();
    let label = match from.place() {
        None => ToolLabel::FindFiles { pattern: text },
        Some(folder) => ToolLabel::FindFilesIn { pattern: text, folder: folder.to_owned() },
    };
    let access = Access::Read { path: None, names: Vec::new() };
    Ok(Call::new(label, access, |context| find(pattern, from, context)))
}

/// Folder of an absolute pattern, and the pattern below it: the folder ends before the first part with a wildcard.
fn split_absolute(pattern: &str) -> Option<(&str, &str)> {
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    let plain = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let at = pattern.get(..plain)?.rfind('/')?;
    Path::new(pattern).is_absolute().then(|| (&pattern[..at.max(1)], &pattern[at + 1..]))
}

impl SearchStart {
    /// Without a path, all folders of the workspace.
    pub(super) fn new(context: &ToolContext, path: Option<&str>) -> Result<Self, ToolFailure> {
        let workspace = &context.workspace;
        let Some(given) = path.filter(|path| !matches!(*path, "" | "." | "./")) else {
            let roots = workspace.roots();
            let rechecked = roots.iter().try_for_each(|root| workspace.recheck(root));
            return rechecked.map(|()| Self(roots)).map_err(ToolFailure::tell);
        };
        let from = workspace.resolve(given).map_err(ToolFailure::tell)?;
        match workspace.is_there(&from) {
            true => Ok(Self(vec![from])),
            false => Err(ToolFailure::Tell(format!("`{from}` does not exist."))),
        }
    }

    pub(super) fn paths(&self) -> &[WorkspacePath] {
        &self.0
    }

    /// The one place to which a call limits its search.
    pub(super) fn place(&self) -> Option<&str> {
        match &self.0[..] {
            [one] if one.display() != "." => Some(one.display()),
            _ => None,
        }
    }

    /// A start that may hold secrets.
    pub(super) fn secret(&self) -> Option<&WorkspacePath> {
        self.0.iter().find(|start| start.is_secret())
    }

    pub(super) fn recheck(&self, workspace: &Workspace) -> Result<(), ToolFailure> {
        let mut starts = self.0.iter();
        starts.try_for_each(|start| workspace.recheck(start)).map_err(ToolFailure::tell)
    }
}

async fn find(
    pattern: PathPattern,
    from: SearchStart,
    context: ToolContext,
) -> Result<ToolOutput, ToolFailure> {
    let search = context.searches.begin(&context.cancel).await?;
    let (content, matches) = blocking(move || {
        from.recheck(&context.workspace)?;
        let mut found: Vec<String> = Vec::new();
        let (hidden, stop) = (pattern.hidden(), || search.is_over());
        let walked = context.workspace.walk(from.paths(), hidden, &stop, |path| {
            // A link may have been put in the way of the listing by now.
            if pattern.matches(&path, &from) && context.workspace.is_there(&path) {
                found.push(path.to_string());
            }
            if found.len() > MAX_FILES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let matches = found.len().min(MAX_FILES) as u32;
        Ok((listed(found, walked, &search), matches))
    })
    .await
    .flatten()?;
    let stats = ToolStats { matches: Some(matches), ..ToolStats::default() };
    Ok(ToolOutput { content, stats: Some(stats), ..ToolOutput::default() })
}

fn listed(mut found: Vec<String>, walked: Walked, search: &Search) -> ModelText {
    found.truncate(MAX_FILES);
    let enough = format!("Only the first {MAX_FILES} files; use a narrower pattern.");
    search.report(walked, &found.join("\n"), "files found", &enough)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::Value;

    use super::*;
    use crate::tools::testing::Fixture;

    async fn check(fixture: &Fixture, arguments: Value, expect: Expect) {
        expect.assert_eq(&fixture.call("glob", arguments).await);
    }

    #[tokio::test]
    async fn files_are_found_by_pattern() {
        let fixture = Fixture::new(&[
            (".gitignore", "out/"),
            ("out/a.ts", ""),
            ("a.ts", ""),
            ("src/b.ts", ""),
            ("src/deep/c.tsx", ""),
            (".github/ci.yml", ""),
        ]);
        check(&fixture, json!({"pattern": "*.ts"}), expect!["a.ts\nsrc/b.ts"]).await;
        check(&fixture, json!({"pattern": "src/*"}), expect!["src/b.ts"]).await;
        check(
            &fixture,
            json!({"pattern": "**/*.{ts,tsx}", "path": "src"}),
            expect!["src/b.ts\nsrc/deep/c.tsx"],
        )
        .await;
        check(&fixture, json!({"pattern": ".github/**"}), expect![".github/ci.yml"]).await;
        check(&fixture, json!({"pattern": "*.yml"}), expect!["[cairn] No files found."]).await;
        check(&fixture, json!({"pattern": "../*"}), expect!["failure: The pattern `../*` must be relative, without `..`; give the folder in `path`."]).await;
        check(
            &fixture,
            json!({"pattern": "*", "path": "gone"}),
            expect!["failure: `gone` does not exist."],
        )
        .await;
        check(&fixture, json!({"pattern": "a{"}), expect!["failure: The pattern is not a glob: error parsing glob '**/a{': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)."]).await;
    }

    #[tokio::test]
    async fn an_absolute_pattern_begins_in_its_folder() {
        let fixture = Fixture::new(&[("a.ts", ""), ("src/b.ts", ""), ("src/deep/c.ts", "")]);
        let absolute = |pattern: &str| json!({"pattern": fixture.path("").join(pattern)});
        check(&fixture, absolute("src/*.ts"), expect!["src/b.ts"]).await;
        check(&fixture, absolute("**/*.ts"), expect!["a.ts\nsrc/b.ts\nsrc/deep/c.ts"]).await;
        check(&fixture, absolute("src/b.ts"), expect!["src/b.ts"]).await;
        check(&fixture, absolute("src/"), expect!["[cairn] No files found."]).await;
        let outside = fixture.call("glob", json!({"pattern": "/*"})).await;
        assert!(outside.starts_with("failure: ") && outside.contains("outside"), "{outside}");
    }

    #[tokio::test]
    async fn the_number_of_found_files_is_bounded() {
        let names: Vec<String> = (0..300).map(|n| format!("f{n:03}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let fixture = Fixture::new(&files);
        let found = fixture.call("glob", json!({"pattern": "f*"})).await;
        assert_eq!(found.lines().count(), MAX_FILES + 1);
        assert!(found.ends_with("f199\n[cairn] Only the first 200 files; use a narrower pattern."));
    }
}
