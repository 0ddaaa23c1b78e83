//! Patches in the form of `apply_patch`, as calls of Cairn's tools.
//!
//! The form is that of Codex: `*** Begin Patch`, then for each file `*** Update File: …` with hunks, perhaps below
//! `*** Move to: …`, `*** Add File: …` or `*** Delete File: …`. A call changes one file, so a patch of several files is
//! several calls.

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

/// Most calls of a patch.
const MAX_CALLS: usize = 100;

/// Tool of Cairn and its arguments.
type OwnCall = (&'static str, Map<String, Value>);

/// Calls for a patch, at least one.
pub(super) fn translate(patch: &str) -> Option<Vec<OwnCall>> {
    let mut lines = patch.lines().skip_while(|line| line.trim() != "*** Begin Patch").skip(1);
    let mut lines = lines.by_ref().take_while(|line| line.trim() != "*** End Patch").peekable();
    let mut calls = Vec::new();
    while let Some(head) = lines.next() {
        let moved = lines.next_if(|line| line.starts_with(MOVE));
        let is_body = |line: &&str| !line.starts_with("*** ") || is_end_of_file(line);
        let body: Vec<&str> = std::iter::from_fn(|| lines.next_if(is_body)).collect();
        of_file(head, moved.and_then(|line| line.strip_prefix(MOVE)), &body, &mut calls)?;
        if calls.len() > MAX_CALLS {
            return None;
        }
    }
    (!calls.is_empty()).then_some(calls)
}

const MOVE: &str = "*** Move to: ";

/// Adds the calls for one file of a patch.
fn of_file(head: &str, moved: Option<&str>, body: &[&str], calls: &mut Vec<OwnCall>) -> Option<()> {
    let with = |path: &str, name: &str, value: Value| {
        let members = [("path".to_owned(), path.trim().into()), (name.to_owned(), value)];
        members.into_iter().collect::<Map<_, _>>()
    };
    if let Some(path) = head.strip_prefix("*** Update File: ") {
        let edits = hunks(body).iter().map(edit).collect::<Option<Vec<Value>>>()?;
        if moved.is_none() || !edits.is_empty() {
            calls.push(("edit_file", with(path, "edits", edits.into())));
        }
        let names = |to: &str| {
            [("from".to_owned(), path.trim().into()), ("to".to_owned(), to.trim().into())]
        };
        calls.extend(moved.map(|to| ("move_file", Map::from_iter(names(to)))));
        return Some(());
    }
    if moved.is_some() {
        return None;
    }
    if let Some(path) = head.strip_prefix("*** Add File: ") {
        let text: Option<String> =
            body.iter().map(|line| Some(format!("{}\n", line.strip_prefix('+')?))).collect();
        calls.push(("write_file", with(path, "content", text?.into())));
        return Some(());
    }
    let path = head.strip_prefix("*** Delete File: ").filter(|_| body.is_empty())?;
    calls.push(("delete_file", Map::from_iter([("path".to_owned(), path.trim().into())])));
    Some(())
}

fn is_end_of_file(line: &str) -> bool {
    line.trim() == "*** End of File"
}

/// Lines of a hunk, and the lines below which it is.
#[derive(Default)]
struct Hunk<'a> {
    anchors: Vec<&'a str>,
    lines: Vec<&'a str>,
    at_end: bool,
}

fn hunks<'a>(body: &[&'a str]) -> Vec<Hunk<'a>> {
    let mut hunks = vec![Hunk::default()];
    for line in body {
        let is_open = hunks.last().is_some_and(|hunk| hunk.lines.is_empty() && !hunk.at_end);
        let anchor = line.strip_prefix("@@");
        if anchor.is_some() && !is_open {
            hunks.push(Hunk::default());
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        match anchor {
            Some(anchor) => {
                let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
                hunk.anchors.extend((!anchor.trim().is_empty()).then_some(anchor));
            }
            None if is_end_of_file(line) => hunk.at_end = true,
            None => hunk.lines.push(line),
        }
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    hunks
}

/// The edit of a hunk; `None` if a line has none of the three marks.
fn edit(hunk: &Hunk<'_>) -> Option<Value> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let (mut anchors, mut at_end) = (hunk.anchors.as_slice(), hunk.at_end);
    // Additions alone are below their anchor, or at the end.
    if hunk.lines.iter().all(|line| line.starts_with('+')) {
        match anchors.split_last() {
            Some((anchor, others)) if !at_end => {
                (old, new, anchors) = (vec![*anchor], vec![*anchor], others);
            }
            Some(_) | None => at_end = true,
        }
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
    let mut edit = json!({ "old_text": old.join("\n"), "new_text": new.join("\n") });
    if !anchors.is_empty() {
        edit["after"] = json!(anchors);
    }
    if at_end {
        edit["at_end"] = json!(true);
    }
    Some(edit)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(patch: &str, expect: Expect) {
        let patch = format!("*** Begin Patch\n{patch}\n*** End Patch");
        let shown = match translate(&patch) {
            Some(calls) => {
                let shown = |(tool, arguments)| format!("{tool} {}", Value::from(arguments));
                calls.into_iter().map(shown).collect::<Vec<_>>().join("\n")
            }
            None => "no call".to_owned(),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn a_patch_is_a_call_for_each_file() {
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
                r#"edit_file {"path":"a","edits":[{"old_text":"a","new_text":"b"},{"old_text":"c","new_text":"c\nd","after":["class C:"],"at_end":true}]}"#
            ]],
        );
        check(
            "*** Update File: a\n@@ class C:\n@@ def f():\n+a\n@@\n+b",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"def f():","new_text":"def f():\na","after":["class C:"]},{"old_text":"","new_text":"b","at_end":true}]}"#
            ]],
        );
        check(
            "*** Add File: new/a\n+one\n+\n+two",
            expect![[r#"write_file {"path":"new/a","content":"one\n\ntwo\n"}"#]],
        );
        check(
            "*** Update File: a\n*** Move to: b\n@@\n-a\n+b\n*** Update File: c\n*** Move to: d\n*** Delete File: e\n*** Add File: f\n+f",
            expect![[r#"
                edit_file {"path":"a","edits":[{"old_text":"a","new_text":"b"}]}
                move_file {"from":"a","to":"b"}
                move_file {"from":"c","to":"d"}
                delete_file {"path":"e"}
                write_file {"path":"f","content":"f\n"}"#]],
        );
        check("*** Delete File: a", expect![[r#"delete_file {"path":"a"}"#]]);
    }

    #[test]
    fn other_patches_are_no_call() {
        check("*** Delete File: a\n*** Move to: b", expect!["no call"]);
        check("*** Delete File: a\n*** Copy File: b", expect!["no call"]);
        check(&"*** Delete File: a\n".repeat(MAX_CALLS + 1), expect!["no call"]);
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
