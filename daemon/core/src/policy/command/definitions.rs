//! Files that define the effect of a command, such as the makefile for `make check`.
//!
//! An approval covers the words of a command, so a change of these files changes what was approved.
//! [`definitions`] and [`definitions_in`] find them from the words and the conventions of the program;
//! [`followed`](super::followed) finds more in their text.

use super::{
    CommandWords,
    forbidden::same_program,
    loose::{COMMAND_ENDS, loose_commands},
};

/// File that defines the effect of a command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Definition {
    /// Absolute path, or path below the folder of the command; a pattern if
    /// [`Definition::is_pattern`] is true.
    pub file: String,
    /// Member of the JSON object that defines the command. `None`: the whole file.
    pub member: Option<&'static str>,
    /// Format in which the text is searched for further files.
    pub reads: Reads,
    /// Folder in which the program that reads the file runs. Empty: the folder of the command.
    pub folder: String,
}

/// Language in which a definition names more definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reads {
    Nothing,
    Makefile,
    /// `package.json`: scripts and workspaces.
    Package,
    /// List of workspaces of pnpm or lerna.
    Members,
    Shell,
}

impl Definition {
    /// Returns true if the path is a pattern: `*` within a name, `**` for folders.
    pub fn is_pattern(&self) -> bool {
        self.file.contains(['*', '?', '['])
    }
}

/// Programs with the files that define their commands, in the folder of the command.
const FOLLOWED: &[(&str, &str, Option<&str>)] = &[
    ("make gmake bmake", "GNUmakefile makefile Makefile BSDmakefile", None),
    ("just", "justfile Justfile .justfile", None),
    (
        "task go-task",
        "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml",
        None,
    ),
    ("npm npx pnpm pnpx yarn bun bunx turbo nx lerna", "package.json", Some("scripts")),
    ("pnpm pnpx", "pnpm-workspace.yaml", None),
    ("lerna", "lerna.json", None),
    ("turbo", "turbo.json", None),
    ("nx", "nx.json project.json", None),
    ("composer", "composer.json", Some("scripts")),
    ("poetry pdm hatch rye uv pipenv poe", "pyproject.toml", None),
    ("pipenv", "Pipfile", None),
    ("tox", "tox.ini setup.cfg pyproject.toml", None),
    ("nox", "noxfile.py", None),
    ("invoke inv", "tasks.py", None),
    ("fab", "fabfile.py", None),
    ("cargo", ".cargo/config.toml .cargo/config", None),
    ("rake", "Rakefile rakefile Rakefile.rb", None),
    ("bundle", "Gemfile Rakefile", None),
    ("deno", "deno.json deno.jsonc", None),
    ("gradle gradlew", "build.gradle build.gradle.kts settings.gradle settings.gradle.kts", None),
    ("mvn mvnw", "pom.xml", None),
    ("ant", "build.xml", None),
    ("ninja", "build.ninja", None),
    ("mix", "mix.exs", None),
    ("sbt", "build.sbt", None),
    ("mage", "magefile.go", None),
    ("grunt", "Gruntfile.js Gruntfile.cjs Gruntfile.ts", None),
    ("gulp", "gulpfile.js gulpfile.mjs gulpfile.ts", None),
    ("pre-commit prek", ".pre-commit-config.yaml", None),
    ("lefthook", "lefthook.yml lefthook.yaml lefthook.toml lefthook.json", None),
    ("mise", "mise.toml .mise.toml", None),
    ("docker-compose podman-compose", COMPOSE, None),
];
const COMPOSE: &str = "compose.yaml compose.yml docker-compose.yaml docker-compose.yml";

/// Shells, which run the file in their first operand.
const SHELLS: &str = ". ash bash dash ksh sh source zsh";
/// Other programs that run the file in their first operand.
const INTERPRETERS: &str = "awk bun deno fish gawk lua node perl php pwsh python Rscript ruby sed tclsh \
    tsx ts-node";

/// Options of programs in [`FOLLOWED`] that name another file or folder.
const NAMING: &str = "--cwd --dir --directory --file --justfile --makefile --manifest-path --prefix \
    --project --taskfile --working-directory -C -F -d -f -p";

/// Returns the files that define a simple command. They need not exist.
pub fn definitions(words: &[String]) -> Vec<Definition> {
    let mut found = of_words(words, true);
    found.sort();
    found.dedup();
    found
}

/// Returns the files that define the commands of any script, and rather too many than too few.
pub fn definitions_in(script: &str) -> Vec<Definition> {
    let mut found = of_script(script, true);
    found.sort();
    found.dedup();
    found
}

/// Returns the same. `programs`: includes files of interpreters of programming languages.
pub(super) fn of_script(script: &str, programs: bool) -> Vec<Definition> {
    let mut folders: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for words in loose_commands(script, COMMAND_ENDS).into_iter().take(MOST_COMMANDS) {
        let begins = words.iter().position(|word| !is_before_program(word));
        let words = begins.map(|at| &words[at..]).filter(|words| !words[0].starts_with('#'));
        let Some(words) = words else { continue };
        if let [change, folder, ..] = words
            && ["cd", "pushd"].contains(&change.as_str())
        {
            let nested = folders.iter().map(|outer| joined(outer, folder)).collect::<Vec<_>>();
            folders.extend(nested.into_iter().chain([folder.clone()]));
            folders.truncate(MOST_FOLDERS);
            continue;
        }
        let mut here = of_words(words, programs);
        // `\make` is `make` for a shell. PowerShell has backslashes in paths.
        if !cfg!(windows) && words[0].contains('\\') {
            let bare: CommandWords = words.iter().map(|word| word.replace('\\', "")).collect();
            here.extend(of_words(&bare, programs));
        }
        // A program that runs its words: `env make check`, `sh -c 'npm test'`.
        for at in 1..words.len().min(MOST_WORDS) {
            if is_known(&words[at], programs) {
                here.extend(of_words(&words[at..], programs));
            }
        }
        let moved = folders.iter().flat_map(|folder| here.iter().map(|it| it.below(folder)));
        found.extend(moved.collect::<Vec<_>>());
        found.extend(here);
    }
    found
}

/// Limits: commands of a script, folders that it enters, words of a command.
const MOST_COMMANDS: usize = 1_000;
const MOST_FOLDERS: usize = 8;
const MOST_WORDS: usize = 64;

/// Returns true for a word that may precede the program of a command.
fn is_before_program(word: &str) -> bool {
    const KEYWORDS: &[&str] = &["!", "do", "elif", "else", "if", "then", "time", "until", "while"];
    let is_variable = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    KEYWORDS.contains(&word) || is_variable
}

fn is_known(word: &str, programs: bool) -> bool {
    let named = |names: &str| names.split_whitespace().any(|name| same_program(word, name));
    FOLLOWED.iter().any(|(programs, ..)| named(programs))
        || named("docker podman")
        || named(SHELLS)
        || (programs && named(INTERPRETERS))
}

fn of_words(words: &[String], programs: bool) -> Vec<Definition> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let is = |names: &str| names.split_whitespace().any(|name| same_program(program, name));
    let of = |file: &str, member, reads, folder: &str| Definition {
        file: file.to_owned(),
        member,
        reads,
        folder: folder.to_owned(),
    };
    let mut found = Vec::new();
    // A program called by its path is a definition itself.
    if program.contains('/') {
        found.push(of(program, None, Reads::Shell, ""));
    }
    let folders = named_places(arguments);
    let is_compose = is("docker podman") && arguments.iter().any(|word| word == "compose");
    let compose = is_compose.then_some((COMPOSE, None));
    let reads = |file: &str| match file {
        "package.json" => Reads::Package,
        "lerna.json" | "pnpm-workspace.yaml" => Reads::Members,
        _ if is("make gmake bmake") => Reads::Makefile,
        _ => Reads::Nothing,
    };
    let entries = FOLLOWED.iter().filter(|(programs, ..)| is(programs));
    for (files, member) in entries.map(|(_, files, member)| (*files, *member)).chain(compose) {
        for file in files.split_whitespace() {
            found.push(of(file, member, reads(file), ""));
            // The option names a folder; if it names a file, this definition does not exist.
            let below = |place: &String| of(&joined(place, file), member, reads(file), place);
            found.extend(folders.iter().map(below));
        }
        found.extend(folders.iter().map(|place| of(place, None, reads(place), "")));
    }
    // `python3.12` and the like.
    let unnumbered = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let runs = |names: &str| {
        let mut names = names.split_whitespace();
        names.any(|name| same_program(unnumbered, name) || same_program(program, name))
    };
    let files = || arguments.iter().filter(|word| !word.starts_with('-'));
    if runs(SHELLS) {
        found.extend(files().map(|word| of(word, None, Reads::Shell, "")));
    } else if programs && runs(INTERPRETERS) {
        found.extend(files().map(|word| of(word, None, Reads::Nothing, "")));
    }
    found
}

impl Definition {
    /// Returns the definition for a command that runs in a folder below.
    pub(super) fn below(&self, folder: &str) -> Self {
        let place =
            if self.folder.is_empty() { folder.to_owned() } else { joined(folder, &self.folder) };
        Self { file: joined(folder, &self.file), folder: place, ..self.clone() }
    }
}

/// Joins a folder and a path. An absolute path is unchanged.
pub(super) fn joined(folder: &str, path: &str) -> String {
    let folder = folder.trim_end_matches('/');
    match path {
        path if path.starts_with('/') || folder.is_empty() || folder == "." => path.to_owned(),
        path => format!("{folder}/{}", path.strip_prefix("./").unwrap_or(path)),
    }
}

/// Values of the options in [`NAMING`].
fn named_places(arguments: &[String]) -> Vec<String> {
    let named = |option: &str| NAMING.split_whitespace().any(|name| name == option);
    let value = |(at, word): (usize, &String)| match word.split_once('=') {
        Some((option, value)) => named(option).then(|| value.to_owned()),
        None if named(word) => arguments.get(at + 1).cloned(),
        // `-Cfolder`
        None => {
            let (option, value) = word.split_at_checked(2)?;
            (named(option) && !value.is_empty()).then(|| value.to_owned())
        }
    };
    arguments.iter().enumerate().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::command::parse;

    #[test]
    fn files_that_define_a_command_are_found() {
        for (script, expected) in [
            ("npm test", "package.json#scripts"),
            ("npm --prefix web run build", "package.json#scripts web web/package.json#scripts"),
            ("make check", "BSDmakefile GNUmakefile Makefile makefile"),
            (
                "gmake -f x.mk",
                "BSDmakefile GNUmakefile Makefile makefile x.mk x.mk/BSDmakefile x.mk/GNUmakefile x.mk/Makefile x.mk/makefile",
            ),
            ("cargo xtask ci", ".cargo/config .cargo/config.toml"),
            ("./run.sh a", "./run.sh"),
            ("bash -e build.sh", "build.sh"),
            ("python3.12 tools/a.py x", "tools/a.py x"),
            ("poetry run lint", "pyproject.toml"),
            ("composer run lint", "composer.json#scripts"),
            ("touch a", ""),
            ("git commit", ""),
        ] {
            let shown = |definition: &Definition| {
                let member = definition.member.map(|member| format!("#{member}"));
                format!("{}{}", definition.file, member.unwrap_or_default())
            };
            let found = definitions(&parse(script).unwrap()[0]);
            let found: Vec<String> = found.iter().map(shown).collect();
            assert_eq!(found.join(" "), expected, "{script}");
        }
    }
}
