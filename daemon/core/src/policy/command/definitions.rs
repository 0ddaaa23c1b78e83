//! Files that say what a command does: `make check` does what the makefile says.
//!
//! For rules of "always": they are about words, so a change of these files is a change of what was
//! allowed. Only what the words and the habits of the program tell; files that these files name are not
//! followed.

use super::forbidden::same_program;

/// A file below the folder in which a command runs, or an absolute path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Definition {
    pub file: String,
    /// Only this member of a JSON object counts. `None`: the whole file.
    pub member: Option<&'static str>,
}

/// Programs and the files in the folder of the command that they follow.
const FOLLOWED: &[(&str, &str, Option<&str>)] = &[
    ("make gmake bmake", "GNUmakefile makefile Makefile BSDmakefile", None),
    ("just", "justfile Justfile .justfile", None),
    (
        "task go-task",
        "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml",
        None,
    ),
    ("npm npx pnpm pnpx yarn bun bunx turbo nx lerna", "package.json", Some("scripts")),
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

/// Programs that run the file that is their first operand.
const INTERPRETERS: &str = "ash awk bash bun dash deno fish gawk ksh lua node perl php pwsh python \
    Rscript ruby sed sh source tclsh tsx ts-node zsh";

/// Options that name a file or folder that programs of [`FOLLOWED`] follow instead.
const NAMING: &str = "--cwd --dir --directory --file --justfile --makefile --manifest-path --prefix \
    --project --taskfile --working-directory -C -F -d -f -p";

/// Files that say what a simple command does, whether or not they are there.
pub fn definitions(words: &[String]) -> Vec<Definition> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let whole = |file: &str| Definition { file: file.to_owned(), member: None };
    let is = |names: &str| names.split_whitespace().any(|name| same_program(program, name));
    let mut found = Vec::new();
    // A program that is called by its path is such a file itself.
    if program.contains('/') {
        found.push(whole(program));
    }
    let folders = named_places(arguments);
    let is_compose = is("docker podman") && arguments.iter().any(|word| word == "compose");
    let compose = is_compose.then_some((COMPOSE, None));
    let followed = FOLLOWED.iter().filter(|(programs, ..)| is(programs));
    for (files, member) in followed.map(|(_, files, member)| (*files, *member)).chain(compose) {
        for file in files.split_whitespace() {
            found.push(Definition { file: file.to_owned(), member });
            // A folder that an option names, or a file in which case this one does not exist.
            let below = |place: &String| Definition { file: format!("{place}/{file}"), member };
            found.extend(folders.iter().map(below));
        }
        found.extend(folders.iter().map(|place| whole(place)));
    }
    // `python3.12` and the like.
    let unnumbered = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let interprets = INTERPRETERS.split_whitespace().any(|name| same_program(unnumbered, name));
    if interprets {
        found
            .extend(arguments.iter().filter(|word| !word.starts_with('-')).map(|word| whole(word)));
    }
    found.sort();
    found.dedup();
    found
}

/// Values of options that name where to look.
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
    fn files_that_say_what_a_command_does() {
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
