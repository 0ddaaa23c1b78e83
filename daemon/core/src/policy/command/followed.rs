//! Definitions named in the text of another one: included makefiles, commands of recipes and scripts,
//! workspaces of a package.
//!
//! Runs nothing. A computed file name becomes a pattern if it has literal parts; otherwise it is not
//! found. Files in programming languages are not followed.

use serde_json::Value;

use super::definitions::{Definition, Reads, joined, of_script};

/// Maximum length of a text that is read, in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// Returns the files that a definition with this text names, relative to the folder of the first
/// command.
pub fn followed(definition: &Definition, text: &str) -> Vec<Definition> {
    let cut = (0..=MOST_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..cut.unwrap_or_default()];
    let folder = &definition.folder;
    let mut found = match definition.reads {
        Reads::Nothing => Vec::new(),
        Reads::Makefile => of_makefile(text, folder),
        Reads::Package => of_package(text, parent(&definition.file)),
        Reads::Members => members(listed(text).into_iter(), parent(&definition.file)).collect(),
        Reads::Shell if is_shell_script(text) => commands(text, folder),
        Reads::Shell => Vec::new(),
    };
    found.sort();
    found.dedup();
    found
}

fn of_makefile(text: &str, folder: &str) -> Vec<Definition> {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> =
            line.split('#').next().unwrap_or_default().split_whitespace().collect();
        if let ["include" | "-include" | "sinclude" | ".include" | ".-include", names @ ..] =
            &words[..]
        {
            let file = |name: &&str| Definition {
                file: joined(folder, &pattern(name)),
                member: None,
                reads: Reads::Makefile,
                folder: folder.to_owned(),
            };
            found.extend(names.iter().map(file));
        } else if line.contains('\t') || line.contains(';') || line.contains("$(shell") {
            let line = line.replace("$(MAKE)", "make").replace("${MAKE}", "make");
            // In `target: ; command` the target is no command.
            let recipe = line.trim_start().trim_start_matches(['@', '-', '+', ' ']);
            found.extend(commands(recipe, folder));
        }
    }
    found
}

fn of_package(text: &str, folder: &str) -> Vec<Definition> {
    let Ok(package) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let workspaces = match &package["workspaces"] {
        Value::Object(settings) => settings.get("packages"),
        other => Some(other),
    };
    let names = strings(workspaces);
    let scripts = package["scripts"].as_object().into_iter().flat_map(|scripts| scripts.values());
    let scripts = scripts.filter_map(Value::as_str).flat_map(|script| commands(script, folder));
    scripts.chain(members(names.into_iter(), folder)).collect()
}

/// Returns the items of a list in YAML, or of `packages` in JSON.
fn listed(text: &str) -> Vec<String> {
    if let Ok(settings) = serde_json::from_str::<Value>(text) {
        return strings(settings.get("packages"));
    }
    let item = |line: &str| {
        let item = line.trim().strip_prefix("- ")?.split(" #").next()?.trim();
        Some(item.trim_matches(['\'', '"']).to_owned())
    };
    text.lines().filter_map(item).collect()
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn members<'a>(
    names: impl Iterator<Item = String> + 'a,
    folder: &'a str,
) -> impl Iterator<Item = Definition> + 'a {
    names.filter(|name| !name.starts_with('!')).map(move |name| {
        let place = joined(folder, name.trim_end_matches('/'));
        Definition {
            file: joined(&place, "package.json"),
            member: Some("scripts"),
            reads: Reads::Package,
            folder: place,
        }
    })
}

fn commands(script: &str, folder: &str) -> Vec<Definition> {
    let found = of_script(script, false);
    match folder {
        "" => found,
        folder => found.iter().map(|definition| definition.below(folder)).collect(),
    }
}

/// Returns true if the first line names a shell, or no program.
fn is_shell_script(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("#!").is_none_or(|program| program.contains("sh"))
}

fn parent(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns a name in a makefile with computed parts as `*`. A name without a literal part becomes
/// the usual ending of an included makefile.
fn pattern(name: &str) -> String {
    let (mut out, mut rest) = (String::new(), name);
    while let Some((literal, computed)) = rest.split_once('$') {
        out.push_str(literal);
        out.push('*');
        let close = match computed.chars().next() {
            Some('(') => computed.find(')').map(|at| at + 1),
            Some('{') => computed.find('}').map(|at| at + 1),
            Some(letter) => Some(letter.len_utf8()),
            None => Some(0),
        };
        rest = &computed[close.unwrap_or(computed.len())..];
    }
    out.push_str(rest);
    match out.contains(char::is_alphanumeric) {
        true => out,
        false => "*.mk".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_in_a_text_are_found() {
        let made = |file: &str, reads, folder: &str| Definition {
            file: file.to_owned(),
            member: None,
            reads,
            folder: folder.to_owned(),
        };
        for (file, reads, folder, text, expected) in [
            (
                "Makefile",
                Reads::Makefile,
                "",
                "include a.mk b/*.mk # c\n-include $(X)/d.mk\n",
                "*/d.mk a.mk b/*.mk",
            ),
            ("Makefile", Reads::Makefile, "", "include $(FILES)\n", "*.mk"),
            ("sub/Makefile", Reads::Makefile, "sub", "include a.mk\n", "sub/a.mk"),
            (
                "Makefile",
                Reads::Makefile,
                "",
                "all:\n\t@./run.sh x\n\tcc main.c -o main\n",
                "./run.sh",
            ),
            ("Makefile", Reads::Makefile, "", "all:\n\tsh tools/a.sh && node x.js\n", "tools/a.sh"),
            (
                "package.json",
                Reads::Package,
                "",
                r#"{"scripts": {"test": "sh a.sh && node b.js"}, "workspaces": ["w/*"]}"#,
                "a.sh w/*/package.json",
            ),
            (
                "w/package.json",
                Reads::Package,
                "w",
                r#"{"scripts": {"pretest": "./a.sh"}, "workspaces": {"packages": ["x"]}}"#,
                "w/a.sh w/x/package.json",
            ),
            (
                "pnpm-workspace.yaml",
                Reads::Members,
                "",
                "packages:\n  - 'w/*'\n  - '!w/no'\n",
                "w/*/package.json",
            ),
            (
                "run.sh",
                Reads::Shell,
                "",
                "#!/bin/bash\n. lib/a.sh\ncd b && ./c.sh\n",
                "./c.sh b/c.sh lib/a.sh",
            ),
            ("run", Reads::Shell, "", "#!/usr/bin/env python3\nimport x; sh = 1\n", ""),
        ] {
            let found = followed(&made(file, reads, folder), text);
            let found: Vec<String> = found.into_iter().map(|it| it.file).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
        let recursive =
            followed(&made("Makefile", Reads::Makefile, ""), "all:\n\t$(MAKE) -C sub x\n");
        let makefile = recursive.iter().find(|it| it.file == "sub/Makefile");
        assert_eq!(makefile.map(|it| it.folder.as_str()), Some("sub"), "{recursive:?}");
    }
}
