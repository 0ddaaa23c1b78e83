//! Patches in the form of `apply_patch`, as calls of Cairn's tools.
//!
//! The form is that of Codex: `*** Begin Patch`, then for each file `*** Update File: …` with hunks,
//! `*** Add File: …` or `*** Delete File: …`. A call changes one file, so a patch of several is refused
//! with the form to use.

use serde_json::{Map, Value, json};

/// Names of the argument that holds the patch.
const ARGUMENTS: [&str; 4] = ["input", "patch", "patchText", "patch_text"];

/// Text for the model about a patch that is no call of one of Cairn's tools.
pub const USE_INSTEAD: &str = "Change files with edit_file, one call for each file: {\"path\": \"src/a.py\", \"edits\": [{\"old_text\": \"lines as they are\", \"new_text\": \"lines as they should be\"}]}. Create one with write_file, remove one with delete_file, move one with move_file.";

/// The patch in the arguments of a tool, or in a shell command that would apply it.
pub(super) fn of_call(arguments: &Map<String, Value>) -> Option<&str> {
    ARGUMENTS.iter().find_map(|name| arguments.get(*name)?.as_str())
}

/// The patch that a shell command would apply.
pub(super) fn of_command(command: &Value) -> Option<&str> {
    match command {
        Value::Array(words) => match words.as_slice() {
            [program, patch] if program.as_str().is_some_and(is_program) => patch.as_str(),
            [_, _, script] => of_script(script.as_str()?),
            _ => None,
        },
        Value::String(script) => of_script(script),
        _ => None,
    }
}

/// True for a shell command that begins with the program `apply_patch`, possibly in another folder. The
/// program does not exist here.
pub fn is_command(command: &str) -> bool {
    command.lines().find(|line| !line.starts_with("cd ")).is_some_and(begins)
}

fn begins(script: &str) -> bool {
    script.split_whitespace().next().is_some_and(is_program)
}

fn is_program(word: &str) -> bool {
    matches!(word, "apply_patch" | "applypatch")
}

fn of_script(script: &str) -> Option<&str> {
    let begin = script.find("*** Begin Patch").filter(|_| begins(script))?;
    let end = script.rfind("*** End Patch")? + "*** End Patch".len();
    script.get(begin..end)
}

/// Tool and arguments for a patch of one file.
pub(super) fn translate(patch: &str) -> Option<(&'static str, Map<String, Value>)> {
    let mut lines = patch.lines().skip_while(|line| line.trim() != "*** Begin Patch").skip(1);
    let first = lines.next()?;
    let body: Vec<&str> = lines.take_while(|line| line.trim() != "*** End Patch").collect();
    let is_end_of_file = |line: &str| line.trim() == "*** End of File";
    if body.iter().any(|line| line.starts_with("*** ") && !is_end_of_file(line)) {
        return None;
    }
    let with = |path: &str, name: &str, value: Value| {
        let members = [("path".to_owned(), path.trim().into()), (name.to_owned(), value)];
        members.into_iter().collect::<Map<_, _>>()
    };
    if let Some(path) = first.strip_prefix("*** Update File: ") {
        let edits: Option<Vec<Value>> =
            hunks(body.into_iter().filter(|line| !is_end_of_file(line))).iter().map(edit).collect();
        return Some(("edit_file", with(path, "edits", edits?.into())));
    }
    if let Some(path) = first.strip_prefix("*** Add File: ") {
        let text: Option<String> =
            body.iter().map(|line| Some(format!("{}\n", line.strip_prefix('+')?))).collect();
        return Some(("write_file", with(path, "content", text?.into())));
    }
    let path = first.strip_prefix("*** Delete File: ").filter(|_| body.is_empty())?;
    Some(("delete_file", Map::from_iter([("path".to_owned(), path.trim().into())])))
}

/// Lines of a hunk, and the line that it comes after.
struct Hunk<'a> {
    anchor: &'a str,
    lines: Vec<&'a str>,
}

fn hunks<'a>(body: impl Iterator<Item = &'a str>) -> Vec<Hunk<'a>> {
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    for line in body {
        match line.strip_prefix("@@") {
            Some(anchor) => {
                let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
                hunks.push(Hunk { anchor, lines: Vec::new() });
            }
            None => match hunks.last_mut() {
                Some(hunk) => hunk.lines.push(line),
                None => hunks.push(Hunk { anchor: "", lines: vec![line] }),
            },
        }
    }
    hunks
}

/// The edit of a hunk; `None` if a line has none of the three marks.
fn edit(hunk: &Hunk<'_>) -> Option<Value> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    // Additions alone need the line that they come after.
    if hunk.lines.iter().all(|line| line.starts_with('+')) {
        (old, new) = (vec![hunk.anchor], vec![hunk.anchor]);
    }
    for line in &hunk.lines {
        match line.split_at_checked(1) {
            None => {
                old.push("");
                new.push("");
            }
            Some((" ", text)) => {
                old.push(text);
                new.push(text);
            }
            Some(("-", text)) => old.push(text),
            Some(("+", text)) => new.push(text),
            Some(_) => return None,
        }
    }
    Some(json!({ "old_text": old.join("\n"), "new_text": new.join("\n") }))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(patch: &str, expect: Expect) {
        let patch = format!("*** Begin Patch\n{patch}\n*** End Patch");
        let shown = match translate(&patch) {
            Some((tool, arguments)) => format!("{tool} {}", Value::from(arguments)),
            None => "no call".to_owned(),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn a_patch_of_one_file_is_a_call() {
        check(
            "*** Update File: a\n@@\n one\n-two\n+2\n three",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"one\ntwo\nthree","new_text":"one\n2\nthree"}]}"#
            ]],
        );
        check(
            "*** Update File: a\n@@ def second():\n+    log()",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"def second():","new_text":"def second():\n    log()"}]}"#
            ]],
        );
        check(
            "*** Update File: a\n@@\n-a\n+b\n@@ class C:\n c\n+d\n*** End of File",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"a","new_text":"b"},{"old_text":"c","new_text":"c\nd"}]}"#
            ]],
        );
        check(
            "*** Add File: new/a\n+one\n+\n+two",
            expect![[r#"write_file {"path":"new/a","content":"one\n\ntwo\n"}"#]],
        );
        check("*** Delete File: a", expect![[r#"delete_file {"path":"a"}"#]]);
    }

    #[test]
    fn other_patches_are_no_call() {
        check("*** Update File: a\n*** Move to: b\n@@\n-a\n+b", expect!["no call"]);
        check("*** Delete File: a\n*** Delete File: b", expect!["no call"]);
        check("*** Update File: a\n@@\n?a", expect!["no call"]);
        check("*** Add File: a\none", expect!["no call"]);
        check("", expect!["no call"]);
    }

    #[test]
    fn a_command_that_would_apply_a_patch_is_recognized() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        let script = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        for command in
            [json!(["apply_patch", patch]), json!(script), json!(["bash", "-lc", script])]
        {
            assert_eq!(of_command(&command), Some(patch), "{command}");
        }
        assert!(is_command("cd sub || exit\napply_patch x") && !is_command("cd sub\nls"));
        for other in [
            json!("cat a"),
            json!(format!("cd sub\n{script}")),
            json!(["ls", "a"]),
            json!("echo '*** Begin Patch'"),
            json!(1),
        ] {
            assert_eq!(of_command(&other), None, "{other}");
        }
    }
}
