//! `grep`: finds lines by regular expression, in open documents as the user sees them.

use std::{io::Read, ops::ControlFlow};

use cairn_core::{marks::ModelText, policy::Access, text};
use cairn_protocol::{ToolKind, ToolLabel, ToolStats};
use serde_json::json;

use super::{
    Arguments, Call, Tool, ToolContext, ToolFailure, ToolOutput, blocking,
    glob::{PathPattern, SearchStart},
    outside::{self, Outline},
    searches::{Search, Turn},
};
use crate::workspace::{Hidden, Walked, WorkspacePath};

pub(super) mod pattern;
mod scan;

use pattern::{MAX_PATTERN_BYTES, Pattern};
use scan::{Around, LineSearch, Lines};

const MAX_MATCHES: usize = 200;
const MAX_BYTES: usize = 50 * 1024;
/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 300;
/// Most lines before, and most lines after a match.
const MAX_CONTEXT: usize = 50;
/// Larger files that are not UTF-8 are searched as bytes: to decode one takes several times its size.
const MAX_DECODED_BYTES: usize = 4 * 1024 * 1024;

struct GrepCall {
    pattern: String,
    ignore_case: bool,
    from: SearchStart,
    files: Option<PathPattern>,
    around: Around,
    /// Largest number of lines around a match that was asked for, if it is too large.
    too_many: Option<usize>,
    output: Output,
}

/// Form of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Output {
    /// The lines of each file.
    #[default]
    Content,
    /// Names of files.
    Files,
    /// Names of files with the number of their lines.
    Count,
}

pub(super) fn tool() -> Tool {
    let description = "Searches file contents by regular expression (Rust syntax, line by line), \
        including the user's unsaved changes. Files that Git ignores and hidden files are \
        left out. Answers with each file's path and below it `line:text`; with `before`, `after` \
        or `context`, surrounding lines come as `line-text`.";
    let properties = json!({
        "pattern": {"type": "string", "description": "Regular expression"},
        "path": {"type": "string", "description": "File or folder to search; all of the workspace if left out"},
        "glob": {"type": "string", "description": "Only files whose path matches, such as `*.ts`"},
        "ignore_case": {"type": "boolean"},
        "context": {"type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "Lines to show around each match"},
        "before": {"type": "integer", "minimum": 0, "maximum": MAX_CONTEXT},
        "after": {"type": "integer", "minimum": 0, "maximum": MAX_CONTEXT},
        "output": {"type": "string", "enum": ["content", "files", "count"], "description": "Matching lines (if left out), or only the files, or their numbers of matching lines"}
    });
    Tool::new("grep", ToolKind::Search, description, properties, &["pattern"], parse).parallel()
}

fn parse(arguments: Arguments, context: &ToolContext) -> Result<Call, ToolFailure> {
    let pattern = arguments.string("pattern");
    let path = arguments.optional_string("path");
    let files = arguments.optional_string("glob");
    let ignore_case = arguments.flag("ignore_case");
    let both = arguments.count("context").unwrap_or(0);
    let before = arguments.count("before").unwrap_or(both);
    let after = arguments.count("after").unwrap_or(both);
    let output = match arguments.optional_string("output").as_deref() {
        Some("files") => Output::Files,
        Some("count") => Output::Count,
        Some(_) | None => Output::Content,
    };
    if pattern.is_empty() {
        return Err(ToolFailure::tell("`pattern` is empty. Give a regular expression."));
    }
    // Compiled once the search has a slot, because compiling takes memory, too.
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolFailure::Tell(pattern::too_long(&pattern)));
    }
    if let Some(path) = path.as_deref().and_then(|given| outside::searchable(given, context)) {
        let form = match output {
            Output::Content => "",
            Output::Files => "l",
            Output::Count => "c",
        };
        let names = files.filter(|glob| !glob.is_empty());
        if names.as_ref().is_some_and(|names| names.contains('/')) {
            return Err(ToolFailure::tell(
                "Outside the workspace, `glob` names files without their folders, such as `*.ts`.",
            ));
        }
        let outline = Outline { pattern, ignore_case, names, before, after, form };
        return Ok(outside::search(&path, &outline, context));
    }
    let call = GrepCall {
        pattern,
        ignore_case,
        from: SearchStart::new(context, path.as_deref())?,
        files: files
            .filter(|glob| !glob.is_empty())
            .map(|glob| PathPattern::new(&glob))
            .transpose()?,
        around: match output {
            Output::Content => {
                Around { before: before.min(MAX_CONTEXT), after: after.min(MAX_CONTEXT) }
            }
            Output::Files | Output::Count => Around::default(),
        },
        too_many: Some(before.max(after)).filter(|lines| *lines > MAX_CONTEXT),
        output,
    };
    Ok(Call::new(call.label(), call.access(), |context| call.run(context)))
}

impl GrepCall {
    fn label(&self) -> ToolLabel {
        let pattern = self.pattern.clone();
        match self.from.place() {
            None => ToolLabel::Search { pattern },
            Some(place) => ToolLabel::SearchIn { pattern, place: place.to_owned() },
        }
    }

    fn access(&self) -> Access {
        match self.from.secret() {
            Some(secret) => {
                Access::Read { path: Some(secret.as_path().to_owned()), names: secret.names() }
            }
            None => Access::Read { path: None, names: Vec::new() },
        }
    }

    async fn run(self, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let search = context.searches.begin(&context.cancel).await?;
        let (content, matches) = blocking(move || {
            self.from.recheck(&context.workspace)?;
            let pattern =
                Pattern::compile(&self.pattern, self.ignore_case).map_err(ToolFailure::Tell)?;
            Ok(self.search(&context, pattern, &search))
        })
        .await
        .flatten()?;
        let stats = ToolStats { matches: Some(matches), ..ToolStats::default() };
        Ok(ToolOutput { content, stats: Some(stats), ..ToolOutput::default() })
    }

    /// Returns the matches, and their number.
    fn search(
        &self,
        context: &ToolContext,
        mut pattern: Pattern,
        search: &Search,
    ) -> (ModelText, u32) {
        let mut results = Results { output: self.output, ..Results::default() };
        let hidden = self.files.as_ref().map_or(Hidden::Skip, PathPattern::hidden);
        let stop = || search.is_over();
        let walked = context.workspace.walk(self.from.paths(), hidden, &stop, |path| {
            if self.files.as_ref().is_none_or(|files| files.matches(&path, &self.from)) {
                // A file that the call names was approved by the user.
                if path.is_secret() && self.from.secret().is_none() {
                    results.secrets += 1;
                } else {
                    self.search_file(context, &path, &mut pattern, search, &mut results);
                }
            }
            if results.full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let matches = results.matches as u32;
        let mut out = results.finish(walked, search);
        if let Some(asked) = self.too_many {
            out.own(&format!(
                "At most {MAX_CONTEXT} lines before and after a match are shown, not {asked}; read_file shows more."
            ));
        }
        (out, matches)
    }

    /// Searches a file. One that cannot be read is skipped.
    fn search_file(
        &self,
        context: &ToolContext,
        path: &WorkspacePath,
        pattern: &mut Pattern,
        search: &Search,
        results: &mut Results,
    ) {
        // The turn lasts until the text is searched.
        let Some((text, _turn)) = text_of(context, path, search) else { return };
        results.file = Some(path.to_string());
        let (around, stop) = (self.around, || search.is_over());
        LineSearch { pattern, around, stop: &stop, lines: results }.run(&text);
        results.end_file();
    }
}

/// Text of an open document or of a file, as UTF-8 where its encoding is known, with its turn. `None` for a
/// binary file, for one that cannot be read, and when the search is over.
fn text_of<'s>(
    context: &ToolContext,
    path: &WorkspacePath,
    search: &'s Search,
) -> Option<(Vec<u8>, Turn<'s>)> {
    if let Some(document) = context.docs.get(&path.key()) {
        let turn = search.turn_of(document.text.len_bytes())?;
        return Some((document.text.to_string().into_bytes(), turn));
    }
    let failed = |error: &dyn std::fmt::Display| tracing::debug!("{path} is not searched: {error}");
    let file = context.workspace.open(path).inspect_err(|error| failed(error)).ok()?;
    let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let turn = search.turn_of(size)?;
    let mut bytes = Vec::with_capacity(size);
    // The turn is for this size, even if the file grows.
    file.take(size as u64).read_to_end(&mut bytes).inspect_err(|error| failed(error)).ok()?;
    let is_binary = memchr::memchr(0, &bytes).is_some();
    if !is_binary && str::from_utf8(&bytes).is_ok() {
        return Some((bytes, turn));
    }
    // Decoding takes several times the size of the file.
    let turn = if turn.is_some() { turn } else { Some(search.turn()?) };
    let is_small = bytes.len() <= MAX_DECODED_BYTES;
    match is_small.then(|| text::decode(&bytes)) {
        Some(Ok(decoded)) => Some((decoded.text.to_string().into_bytes(), turn)),
        Some(Err(_)) | None => (!is_binary).then_some((bytes, turn)),
    }
}

/// Bounded text of all matches.
#[derive(Default)]
struct Results {
    output: Output,
    out: String,
    /// Current file, until its name is in the text.
    file: Option<String>,
    matches: usize,
    /// Matching lines of the current file, while only these are counted.
    counted: usize,
    full: bool,
    /// Files that were skipped because they may hold secrets.
    secrets: usize,
}

impl Results {
    fn line(&mut self, number: u64, mark: char, bytes: &[u8]) -> bool {
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
        // Enough for all characters that are shown.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_LINE_CHARS + 4)]);
        let text = text.trim_end_matches(['\n', '\r']);
        match text.char_indices().nth(MAX_LINE_CHARS) {
            Some((cut, _)) => self.out.push_str(&format!("{number}{mark}{}…\n", &text[..cut])),
            None => self.out.push_str(&format!("{number}{mark}{text}\n")),
        }
        self.full = self.matches >= MAX_MATCHES || self.out.len() >= MAX_BYTES;
        !self.full
    }

    /// Counts a match instead of showing it. False if no more lines of the file are needed.
    fn count(&mut self) -> bool {
        self.counted += 1;
        self.output == Output::Count
    }

    /// Adds the name of a file with matches, and their number, unless its lines are shown.
    fn end_file(&mut self) {
        let counted = std::mem::take(&mut self.counted);
        let Some(file) = self.file.take().filter(|_| counted > 0) else { return };
        self.matches += 1;
        match self.output {
            Output::Count => self.out.push_str(&format!("{file}: {counted}\n")),
            Output::Content | Output::Files => self.out.push_str(&format!("{file}\n")),
        }
        self.full = self.matches >= MAX_MATCHES || self.out.len() >= MAX_BYTES;
    }

    fn finish(self, walked: Walked, search: &Search) -> ModelText {
        let enough = format!(
            "Stopped after {} {}; there may be more. Use a narrower pattern, `path` or `glob`.",
            self.matches,
            if self.output == Output::Content { "matches" } else { "files" }
        );
        let found = self.out.trim_end_matches('\n');
        let mut out = search.report(walked, found, "matches", &enough);
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

impl Lines for Results {
    fn matched(&mut self, number: u64, line: &[u8]) -> bool {
        if self.output != Output::Content {
            return self.count();
        }
        self.matches += 1;
        self.line(number, ':', line)
    }

    fn context(&mut self, number: u64, line: &[u8]) -> bool {
        self.line(number, '-', line)
    }

    fn gap(&mut self) {
        self.out.push_str("--\n");
    }
}

#[cfg(test)]
mod tests;
