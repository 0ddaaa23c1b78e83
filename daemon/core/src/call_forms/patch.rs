//! Patches in the form of `apply_patch`, as calls of Cairn's tools.
//!
//! The form is that of Codex: `*** Begin Patch`, then for each file `*** Update File: …` with hunks, optionally below
//! `*** Move to: …`, `*** Add File: …` or `*** Delete File: …`. A call changes one file, so a patch of several files is
//! several calls.

use serde_json::{Map, Value, json};

use crate::{
    model::{ToolSpec, name_without_path},
    sanitize,
};

/// Names of the argument that holds the patch.
const ARGUMENTS: [&str; 4] = ["input", "patch", "patchText", "patch_text"];

/// Form of a patch, as a description and as an answer to one of another form.
const FORM: &str = "*** Begin Patch
*** Update File: src/shop.py
*** Move to: src/store.py
@@ class Shop:
@@     def total(self):
 a line above, as it is
-a line that goes
+a line that comes
 a line below, as it is
*** Add File: notes.txt
+each line of the new file
*** Delete File: old.py
*** End Patch";

/// Rules of the form.
const RULES: &str = "Paths are relative to the workspace. A patch may have any number of files; `*** Move to` stands only where a file \
gets another path. Each line of a hunk begins with a blank (it stays), `-` or `+`. Give three lines above and below a change; \
where these are in the file more than once, `@@` lines name the class or the function that they are in. `*** End of File` \
below a hunk places it at the end of the file.";

/// Returns true for models that were trained to change files by patches of this form.
pub fn is_usual_for(model: &str) -> bool {
    let name = name_without_path(model);
    let begins = |beginnings: &[&str]| beginnings.iter().any(|it| name.starts_with(it));
    name.contains("codex")
        || begins(&["gpt-4.1", "o3", "o4"])
        || (begins(&["gpt-"]) && !begins(&["gpt-3", "gpt-4"]))
}

/// Replaces the tools that change files by the one for patches, whose calls become calls of these.
pub fn offer(specs: &mut Vec<ToolSpec>) {
    let Some(at) = specs.iter().position(|spec| spec.name == EDIT) else { return };
    specs[at] = ToolSpec {
        name: "apply_patch".to_owned(),
        description: format!(
            "Changes, creates, moves and deletes files by a patch. Read a file before you change it. The form:\n{FORM}\n{RULES}"
        ),
        schema: json!({
            "type": "object",
            "properties": { "input": { "type": "string", "description": "The patch" } },
            "required": ["input"],
            "additionalProperties": false,
        }),
        parallel: false,
    };
    specs.retain(|spec| !REPLACED.contains(&spec.name.as_str()));
}

const EDIT: &str = "edit_file";
const REPLACED: [&str; 3] = ["write_file", "delete_file", "move_file"];

/// Returns the text for the model about a call that was meant as a patch and was not translated.
pub fn refusal(name: &str, arguments: &Value) -> Option<String> {
    let arguments = arguments.as_object()?;
    let plain = super::plain(super::bare_name(name));
    let is_tool = plain.contains("patch") && !plain.contains("dispatch");
    let command = arguments.get("command");
    if !is_tool && !command.and_then(Value::as_str).is_some_and(is_command) {
        return None;
    }
    let patch = if is_tool { of_call(arguments) } else { command.and_then(of_command) };
    let fault = match (patch.map(translate), is_tool) {
        (Some(Err(fault)), _) => format!("The patch was not applied: {fault}."),
        (None | Some(Ok(_)), false) => {
            "The program apply_patch is a tool here: call apply_patch with `input`.".to_owned()
        }
        (None, true) => "apply_patch takes the patch as `input`.".to_owned(),
        (Some(Ok(_)), true) => "No tool here changes files.".to_owned(),
    };
    Some(format!("{fault} The form of a patch:\n{FORM}\n{RULES}"))
}

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

/// Returns at least one call for a patch, or the fault of the patch.
pub(super) fn translate(patch: &str) -> Result<Vec<OwnCall>, String> {
    let lines = (1..).zip(patch.lines());
    let mut lines =
        lines.skip_while(|(_, line)| line.trim() != "*** Begin Patch").skip(1).peekable();
    if lines.peek().is_none() {
        return Err("it does not begin with `*** Begin Patch`".to_owned());
    }
    let mut lines = lines.take_while(|(_, line)| line.trim() != "*** End Patch").peekable();
    let mut calls = Vec::new();
    while let Some((number, head)) = lines.next() {
        let head = (number, head.trim_start());
        let moved = lines.next_if(|(_, line)| line.starts_with(MOVE));
        let is_body = |(_, line): &Line<'_>| !line.starts_with("*** ") || is_end_of_file(line);
        let body: Vec<Line<'_>> = std::iter::from_fn(|| lines.next_if(is_body)).collect();
        of_file(head, moved.and_then(|(_, line)| line.strip_prefix(MOVE)), &body, &mut calls)?;
        if calls.len() > MAX_CALLS {
            return Err(format!("it changes more than {MAX_CALLS} files"));
        }
    }
    if calls.is_empty() { Err("it has no file".to_owned()) } else { Ok(calls) }
}

const MOVE: &str = "*** Move to: ";

/// A line with its number, from 1.
type Line<'a> = (usize, &'a str);

fn wrong((number, line): Line<'_>, what: &str) -> String {
    format!("line {number}, `{}`, {what}", sanitize::one_line(line, 60))
}

/// Adds the calls for one file of a patch.
fn of_file(
    head: Line<'_>,
    moved: Option<&str>,
    body: &[Line<'_>],
    calls: &mut Vec<OwnCall>,
) -> Result<(), String> {
    let with = |path: &str, name: &str, value: Value| {
        let members = [("path".to_owned(), path.trim().into()), (name.to_owned(), value)];
        members.into_iter().collect::<Map<_, _>>()
    };
    if let Some(path) = head.1.strip_prefix("*** Update File: ") {
        let edits = hunks(body).iter().map(edit).collect::<Result<Vec<Value>, _>>()?;
        if moved.is_none() || !edits.is_empty() {
            calls.push((EDIT, with(path, "edits", edits.into())));
        }
        let names = |to: &str| {
            [("from".to_owned(), path.trim().into()), ("to".to_owned(), to.trim().into())]
        };
        calls.extend(moved.map(|to| ("move_file", Map::from_iter(names(to)))));
        return Ok(());
    }
    if moved.is_some() {
        return Err(wrong(head, "is moved, but is no `*** Update File: `"));
    }
    if let Some(path) = head.1.strip_prefix("*** Add File: ") {
        let mut text = String::new();
        for line in body {
            let added = line.1.strip_prefix('+').ok_or_else(|| wrong(*line, "has no `+`"))?;
            text.push_str(added);
            text.push('\n');
        }
        calls.push(("write_file", with(path, "content", text.into())));
        return Ok(());
    }
    let Some(path) = head.1.strip_prefix("*** Delete File: ") else {
        return Err(wrong(head, "begins no file"));
    };
    if let Some(line) = body.first() {
        return Err(wrong(*line, "is below the name of a file that is deleted"));
    }
    calls.push(("delete_file", Map::from_iter([("path".to_owned(), path.trim().into())])));
    Ok(())
}

fn is_end_of_file(line: &str) -> bool {
    line.trim() == "*** End of File"
}

/// Lines of a hunk, and the lines below which it is.
#[derive(Default)]
struct Hunk<'a> {
    anchors: Vec<&'a str>,
    lines: Vec<Line<'a>>,
    at_end: bool,
}

fn hunks<'a>(body: &[Line<'a>]) -> Vec<Hunk<'a>> {
    let mut hunks = vec![Hunk::default()];
    for &(number, line) in body {
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
            None => hunk.lines.push((number, line)),
        }
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    hunks
}

/// The edit of a hunk.
fn edit(hunk: &Hunk<'_>) -> Result<Value, String> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let (mut anchors, mut at_end) = (hunk.anchors.as_slice(), hunk.at_end);
    // Additions alone are below their anchor, or at the end.
    if hunk.lines.iter().all(|(_, line)| line.starts_with('+')) {
        match anchors.split_last() {
            Some((anchor, others)) if !at_end => {
                (old, new, anchors) = (vec![*anchor], vec![*anchor], others);
            }
            Some(_) | None => at_end = true,
        }
    }
    for line in &hunk.lines {
        match line.1.split_at_checked(1) {
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
            Some(_) => return Err(wrong(*line, "begins with no blank, `-` or `+`")),
        }
    }
    let whole =
        |lines: Vec<&str>| lines.into_iter().flat_map(|line| [line, "\n"]).collect::<String>();
    let mut edit = json!({ "old_text": whole(old), "new_text": whole(new), "after": anchors });
    if at_end {
        edit["at_end"] = json!(true);
    }
    Ok(edit)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(patch: &str, expect: Expect) {
        let patch = format!("*** Begin Patch\n{patch}\n*** End Patch");
        let shown = match translate(&patch) {
            Ok(calls) => {
                let shown = |(tool, arguments)| format!("{tool} {}", Value::from(arguments));
                calls.into_iter().map(shown).collect::<Vec<_>>().join("\n")
            }
            Err(fault) => fault,
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn a_patch_is_a_call_for_each_file() {
        check(
            "*** Update File: a\n@@\n one\n-two\n+2\n three",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"one\ntwo\nthree\n","new_text":"one\n2\nthree\n","after":[]}]}"#
            ]],
        );
        check(
            "*** Update File: a\n@@ def second():\n+    log()",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"def second():\n","new_text":"def second():\n    log()\n","after":[]}]}"#
            ]],
        );
        check(
            "*** Update File: a\n@@\n-a\n+b\n@@ class C:\n c\n+d\n*** End of File",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"a\n","new_text":"b\n","after":[]},{"old_text":"c\n","new_text":"c\nd\n","after":["class C:"],"at_end":true}]}"#
            ]],
        );
        check(
            "*** Update File: a\n@@ class C:\n@@ def f():\n+a\n@@\n+b",
            expect![[
                r#"edit_file {"path":"a","edits":[{"old_text":"def f():\n","new_text":"def f():\na\n","after":["class C:"]},{"old_text":"","new_text":"b\n","after":[],"at_end":true}]}"#
            ]],
        );
        check(
            "*** Add File: new/a\n+one\n+\n+two",
            expect![[r#"write_file {"path":"new/a","content":"one\n\ntwo\n"}"#]],
        );
        check(
            "*** Update File: a\n*** Move to: b\n@@\n-a\n+b\n*** Update File: c\n*** Move to: d\n*** Delete File: e\n*** Add File: f\n+f",
            expect![[r#"
                edit_file {"path":"a","edits":[{"old_text":"a\n","new_text":"b\n","after":[]}]}
                move_file {"from":"a","to":"b"}
                move_file {"from":"c","to":"d"}
                delete_file {"path":"e"}
                write_file {"path":"f","content":"f\n"}"#]],
        );
        check("*** Delete File: a", expect![[r#"delete_file {"path":"a"}"#]]);
    }

    #[test]
    fn the_fault_of_another_patch_is_named() {
        check(
            "*** Delete File: a\n*** Move to: b",
            expect!["line 2, `*** Delete File: a`, is moved, but is no `*** Update File: `"],
        );
        check(
            "*** Delete File: a\n*** Copy File: b",
            expect!["line 3, `*** Copy File: b`, begins no file"],
        );
        check(
            "*** Delete File: a\nb",
            expect!["line 3, `b`, is below the name of a file that is deleted"],
        );
        check(
            &vec!["*** Delete File: a"; MAX_CALLS + 1].join("\n"),
            expect!["it changes more than 100 files"],
        );
        check(
            "*** Update File: a\n@@\n?a",
            expect!["line 4, `?a`, begins with no blank, `-` or `+`"],
        );
        check("*** Add File: a\none", expect!["line 3, `one`, has no `+`"]);
        check("", expect!["line 2, ``, begins no file"]);
        assert_eq!(translate("a\nb"), Err("it does not begin with `*** Begin Patch`".to_owned()));
    }

    #[test]
    fn patches_are_usual_for_models_that_were_trained_with_them() {
        for model in [
            "gpt-5.6",
            "openai/gpt-5-mini",
            "gpt-4.1",
            "gpt-oss-120b",
            "codex-mini-latest",
            "o3",
            "o4-mini",
            "gpt-5.1-codex-mini",
            "gpt-6",
        ] {
            assert!(is_usual_for(model), "{model}");
        }
        for model in [
            "claude-opus-5",
            "gpt-4o",
            "gpt-4-turbo",
            "gpt-3.5-turbo",
            "qwen3-coder",
            "gemini-3-pro",
            "o1",
            "scripted",
            "",
        ] {
            assert!(!is_usual_for(model), "{model}");
        }
    }

    #[test]
    fn the_offered_tool_replaces_those_that_change_files() {
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: String::new(),
            schema: json!({}),
            parallel: true,
        };
        let named = |names: &[&str]| {
            let mut specs: Vec<ToolSpec> = names.iter().map(|name| spec(name)).collect();
            offer(&mut specs);
            specs.into_iter().map(|spec| spec.name).collect::<Vec<_>>()
        };
        let all = ["read_file", "edit_file", "write_file", "delete_file", "move_file", "bash"];
        assert_eq!(named(&all), ["read_file", "apply_patch", "bash"]);
        assert_eq!(named(&["read_file", "grep"]), ["read_file", "grep"]);
    }

    #[test]
    fn a_refusal_names_the_fault_and_shows_the_form() {
        let told = |name: &str, arguments: Value| {
            let text = refusal(name, &arguments)?;
            let (fault, form) = text.split_once(" The form of a patch:\n").unwrap();
            assert!(form.starts_with(FORM), "{form}");
            Some(fault.to_owned())
        };
        let said = |name, arguments| told(name, arguments).unwrap();
        expect!["The patch was not applied: line 3, `x`, begins with no blank, `-` or `+`."]
            .assert_eq(&said(
                "apply_patch",
                json!({"input": "*** Begin Patch\n*** Update File: a\nx\n*** End Patch"}),
            ));
        expect!["apply_patch takes the patch as `input`."]
            .assert_eq(&said("apply_patch", json!({"text": "x"})));
        expect!["No tool here changes files."].assert_eq(&said(
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}),
        ));
        expect!["The program apply_patch is a tool here: call apply_patch with `input`."]
            .assert_eq(&said("bash", json!({"command": "apply_patch a.patch"})));
        expect!["The patch was not applied: line 2, `*** Rename: a`, begins no file."].assert_eq(&said(
            "bash",
            json!({"command": "apply_patch <<E\n*** Begin Patch\n*** Rename: a\n*** End Patch\nE"}),
        ));
        assert_eq!(told("bash", json!({"command": "patch -p1 < a.patch"})), None);
        assert_eq!(told("read_file", json!({"path": "a.patch"})), None);
        assert_eq!(told("dispatch_agent", json!({"prompt": "Look."})), None);
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
