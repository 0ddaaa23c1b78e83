//! Files that define the effect of a command, such as the makefile of `make check`, known by their names.

use super::loose::loose_words;

/// Names of files that programs follow by convention.
const NAMES: &str = "BSDmakefile GNUmakefile Makefile makefile Justfile justfile .justfile \
    Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml \
    package.json pnpm-workspace.yaml lerna.json turbo.json nx.json project.json composer.json \
    deno.json deno.jsonc pyproject.toml Pipfile tox.ini setup.cfg setup.py noxfile.py tasks.py fabfile.py \
    .cargo/config.toml .cargo/config build.rs Rakefile rakefile Rakefile.rb Gemfile pom.xml build.xml build.ninja \
    mix.exs magefile.go CMakeLists.txt .pre-commit-config.yaml lefthook.yml lefthook.yaml lefthook.toml \
    lefthook.json mise.toml .mise.toml compose.yaml compose.yml docker-compose.yaml docker-compose.yml Dockerfile";

/// Endings of files that programs follow by convention, and of shell scripts.
const ENDINGS: &str = ".bash .bat .cmd .cmake .gradle .gradle.kts .mk .ps1 .sbt .sh .zsh";

/// Returns true if the effect of a script may depend on a file: it is a build file, or the script contains its name.
pub fn may_define(file: &str, script: &str) -> bool {
    let name = file_name(file);
    let is_named = |known: &str| {
        file.strip_suffix(known).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    };
    NAMES.split_whitespace().any(is_named)
        || is_tool_settings(name)
        || ENDINGS.split_whitespace().any(|ending| name.ends_with(ending))
        || loose_words(script).iter().any(|word| file_name(word) == name)
}

/// Returns true for the tasks of grunt and gulp, in any of their languages.
fn is_tool_settings(name: &str) -> bool {
    ["Gruntfile.", "gulpfile."].iter().any(|begin| name.starts_with(begin))
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_may_define_a_command_are_known_by_their_names() {
        for (file, script, expected) in [
            ("a/b/package.json", "npm test", true),
            ("rules/x.mk", "make check", true),
            ("tools/t.sh", "npm test", true),
            (".cargo/config.toml", "cargo xtask ci", true),
            ("src/build", "./build && ls", true),
            ("x.rules", "make --file=sub/x.rules check", true),
            ("tools/a.py", "env python3 \"tools/a.py\" x", true),
            ("src/config.toml", "cargo xtask ci", false),
            ("main.c", "make check", false),
            ("my-package.json", "npm test", false),
            ("src/Makefile.rs", "make", false),
        ] {
            assert_eq!(may_define(file, script), expected, "{file}: {script}");
        }
    }
}
