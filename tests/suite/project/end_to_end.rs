//! End-to-end tests wait for states: what ties them to pixels, to the clock, or to VS Code's page is
//! counted. Each limit may only fall.

use std::{fs, path::Path};

/// Reads of places and sizes on the screen. Numbers belong in `tests/bench`.
const PIXELS: &[&str] = &[
    "boundingBox",
    "getBoundingClientRect",
    "clientHeight",
    "clientWidth",
    "innerHeight",
    "innerWidth",
    "offsetHeight",
    "offsetWidth",
    "scrollHeight",
    "scrollTop",
    "scrollWidth",
];

/// Readings of the clock, and waits for time to pass.
const CLOCKS: &[&str] = &["Date.now(", "performance.now(", "setTimeout(", "waitForTimeout("];

/// Files that may read the clock: the deadline of a wait that fails, and the durations of a run.
const WITH_DEADLINES: &[&str] = &["editor.mjs", "model.mjs", "suite.mjs"];

/// Beginnings of the names of classes in VS Code's page.
const PRIVATE: &[&str] = &[
    "action-",
    "auxiliarybar",
    "badge",
    "codelens",
    "codicon",
    "dirty-diff",
    "editor-",
    "explorer-",
    "getting-started",
    "label-name",
    "monaco-",
    "multiDiff",
    "notification-",
    "pane",
    "part.",
    "quick-input",
    "review-widget",
    "squiggly",
    "statusbar",
    "tab.",
    "tab[",
    "terminal-wrapper",
    "view-line",
    "workbench",
    "xterm",
];

/// Lines with a name of a class of VS Code's page.
const MOST_PRIVATE: usize = 43;

#[test]
fn end_to_end_tests_read_no_pixels() {
    assert_eq!(lines(&|_, line| PIXELS.iter().any(|name| line.contains(name))), [""; 0]);
}

#[test]
fn end_to_end_tests_read_no_clock() {
    let reads = |file: &str, line: &str| {
        !WITH_DEADLINES.contains(&file) && CLOCKS.iter().any(|name| line.contains(name))
    };
    assert_eq!(lines(&reads), [""; 0]);
}

#[test]
fn end_to_end_tests_know_little_of_the_page_of_vs_code() {
    let found = lines(&|_, line| is_private(line));
    println!("lines with a private selector: {}", found.len());
    assert!(found.len() <= MOST_PRIVATE, "{}, at most {MOST_PRIVATE}: {found:#?}", found.len());
    let outside: Vec<_> = found.iter().filter(|line| !line.starts_with("window.mjs")).collect();
    assert!(outside.is_empty(), "outside of window.mjs: {outside:#?}");
}

#[test]
fn a_private_selector_is_found() {
    assert!(is_private(r#"page.locator(".monaco-list-row")"#));
    assert!(is_private(r#"page.locator("a:has(.codicon-flame)")"#));
    assert!(!is_private(r"window.codicon-flame"));
    assert!(!is_private(r#"view.locator(".bubble")"#));
}

/// True if a line has a class of VS Code in a selector: after a dot that follows no name or call.
fn is_private(line: &str) -> bool {
    line.match_indices('.').any(|(at, _)| {
        let follows_a_name = line[..at]
            .chars()
            .next_back()
            .is_some_and(|it| it.is_alphanumeric() || "_)]?".contains(it));
        !follows_a_name && PRIVATE.iter().any(|name| line[at + 1..].starts_with(name))
    })
}

/// Lines of the end-to-end tests for which a condition holds, as `file:number text`.
fn lines(holds: &dyn Fn(&str, &str) -> bool) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "mjs") {
            continue;
        }
        let file = path.file_name().unwrap().to_str().unwrap();
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            if holds(file, line) {
                found.push(format!("{file}:{} {}", number + 1, line.trim()));
            }
        }
    }
    found.sort();
    found
}
