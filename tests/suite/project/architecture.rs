//! Architecture rules that the compiler does not check.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Crates that `cairn-core` may be built from: ropes, diffs, serialisation, forms of Unicode,
/// encodings. None of them is a runtime, or brings IO, a clock, randomness or LSP types. The commit
/// that adds a name gives the reason.
const CORE_DEPENDENCIES: &[&str] = &[
    "aho-corasick",
    "cfg-if",
    "chardetng",
    "core_detect",
    "encoding_rs",
    "multiversion_no_op",
    "scopeguard",
    "simdutf8",
    "hashbrown",
    "imara-diff",
    "indexmap",
    "itoa",
    "memchr",
    "proc-macro2",
    "quote",
    "ropey",
    "ryu",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_json",
    "shlex",
    "smallvec",
    "str_indices",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
    "equivalent",
    "zmij",
    "foldhash",
    "allocator-api2",
    "tinyvec",
    "tinyvec_macros",
    "unicode-normalization",
    "cairn-core",
];

#[test]
fn core_is_built_from_pure_crates_only() {
    #[expect(clippy::disallowed_methods, reason = "a test asks cargo about its own workspace")]
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "-p",
            "cairn-core",
            "--edges=normal",
            "--prefix=none",
            "--offline",
            "--locked",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).unwrap();
    let seen: BTreeSet<&str> = listing.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(
        seen.contains("cairn-core") && seen.contains("ropey"),
        "the walk found nothing: {listing}"
    );
    let foreign: Vec<_> = seen.iter().filter(|name| !CORE_DEPENDENCIES.contains(name)).collect();
    assert!(foreign.is_empty(), "cairn-core must stay pure, but is built from {foreign:?}");
}

#[test]
fn core_names_no_effect_of_the_standard_library() {
    let forbidden = [
        "std::fs",
        "std::net",
        "std::time",
        "std::thread",
        "std::env",
        "std::process",
        "std::io",
        "SystemTime",
        "Instant::",
        "async fn",
        "println!",
        "eprintln!",
    ];
    let mut files = 0;
    each_source(&root().join("daemon/core/src"), &mut |path, text| {
        files += 1;
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        if path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs") {
            return;
        }
        for word in forbidden {
            assert!(!shipped.contains(word), "{} names {word}", path.display());
        }
    });
    assert!(files > 10, "looked in the wrong place");
}

/// Only `lsp` names LSP types; only `exec` starts processes.
#[test]
fn only_lsp_names_lsp_types_and_only_exec_starts_processes() {
    each_source(&root().join("daemon/server/src"), &mut |path, text| {
        let relative = path.strip_prefix(root().join("daemon/server/src")).unwrap();
        if !relative.starts_with("lsp") && relative != Path::new("lsp.rs") {
            for word in ["tower_lsp", "lsp_types"] {
                assert!(!text.contains(word), "{} names {word}", relative.display());
            }
        }
        if !relative.starts_with("exec") && relative != Path::new("exec.rs") {
            assert!(!text.contains("Command::new("), "{} starts a process", relative.display());
        }
    });
}

/// A change of the protocol for clients must not change which stored files can be read.
/// Words that let something out of the daemon, and the files that may have them. What these files let
/// out is without keys, which `attacks::secrets` sees from outside.
const GATES: [(&str, &[&str]); 4] = [
    // To the client.
    ("Request::build(", &["lsp/client.rs"]),
    // To the model.
    ("provider.encode(", &["model/check.rs", "model/history.rs", "session/encoding.rs"]),
    // To the log. `main` knows no key yet, and `spinner` asks for the kind of terminal.
    ("io::stderr()", &["headless/spinner.rs", "main.rs", "secrets.rs"]),
    // To the terminal, and to the client in frames of the messages above.
    ("io::stdout()", &["headless/json.rs", "headless/models.rs", "headless/text.rs", "main.rs"]),
];

#[test]
fn what_leaves_the_daemon_passes_a_gate_that_removes_keys() {
    for (words, gates) in GATES {
        let mut found = BTreeSet::new();
        let source = root().join("daemon/server/src");
        each_source(&source, &mut |path, text| {
            let name = path.strip_prefix(&source).unwrap().display().to_string();
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            // The programs inside a sandbox know no key.
            if shipped.contains(words) && !name.starts_with("exec/") && !name.contains("test") {
                found.insert(name);
            }
        });
        assert!(found.iter().eq(gates), "`{words}` is in {found:?}");
    }
}

#[test]
fn every_module_has_a_header() {
    each_source(&root().join("daemon"), &mut |path, text| {
        if path.ends_with("tests.rs") {
            return;
        }
        assert!(text.trim_start().starts_with("//!"), "{} has no header", path.display());
    });
}

/// The glossary has few terms, and each names a type that exists.
#[test]
fn the_glossary_names_types_that_exist() {
    let map = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let glossary = map.split("## Glossary").nth(1).unwrap().split("\n## ").next().unwrap();
    let terms: Vec<(&str, &str)> = glossary
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix("` |"))
        .filter_map(|row| Some((row.split(" | ").next()?, row.rsplit('`').next()?)))
        .collect();
    assert!((10..=25).contains(&terms.len()), "{} terms", terms.len());
    for (term, path) in terms {
        let (module, name) = path.rsplit_once("::").unwrap();
        let file = format!("{}.rs", module.replace("::", "/"));
        let mut found = false;
        for room in ["daemon/core/src", "daemon/server/src"] {
            let text = fs::read_to_string(root().join(room).join(&file)).unwrap_or_default();
            found |= ["struct", "enum", "trait"].iter().any(|kind| {
                let declared = format!("{kind} {name}");
                text.match_indices(&declared).any(|(at, _)| {
                    !text[at + declared.len()..]
                        .starts_with(|c: char| c == '_' || c.is_alphanumeric())
                })
            });
        }
        assert!(found, "{term}: there is no type {path}");
    }
}

fn each_source(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("node_modules") {
                each_source(&path, visit);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "ts") {
            visit(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}

/// Compares the defaults of the editor with those of the daemon: VS Code sends
/// the defaults of the manifest like settings that were made.
#[test]
fn the_extension_has_the_defaults_of_the_daemon() {
    let manifest = fs::read_to_string(root().join("vscode-extension/package.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let mut section = serde_json::Map::new();
    for group in manifest["contributes"]["configuration"].as_array().unwrap() {
        for (key, property) in group["properties"].as_object().unwrap() {
            let key = key.strip_prefix("cairn.").unwrap();
            let default = &property["default"];
            assert!(property.get("default").is_some(), "{key} has no default");
            // As the extension does: what is empty is not set, and the daemon's place is its own.
            if key != "daemon.path" && default != "" {
                section.insert(key.to_owned(), default.clone());
            }
        }
    }
    assert!(section.contains_key("plan.reminder"), "{section:?}");
    let (settings, faults) = cairn::config::read(&serde_json::Value::Object(section));
    assert_eq!(faults, []);
    assert_eq!(format!("{settings:#?}"), format!("{:#?}", cairn::config::Settings::default()));
}
