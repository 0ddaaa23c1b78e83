//! Files generated from code are committed; these tests fail when one is stale. `make gen` writes.

use std::{collections::BTreeMap, fs, path::Path};

use cairn_protocol::settings;
use expect_test::expect_file;
use serde_json::Value;

mod codes;
mod settings_page;
mod typescript;

#[test]
fn typescript_contract_is_current() {
    expect_file!["../../../vscode-extension/src/protocol.ts"].assert_eq(&typescript::render());
}

#[test]
fn the_page_of_settings_is_current() {
    expect_file!["../../../docs/settings.md"].assert_eq(&settings_page::page());
}

/// Reads a file of the repository.
fn read_json(path: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    serde_json::from_str(&fs::read_to_string(root.join(path)).unwrap()).unwrap()
}

#[test]
fn the_daemon_reads_the_settings_of_the_manifest() {
    let manifest = read_json("vscode-extension/package.json");
    let groups = manifest["contributes"]["configuration"].as_array().unwrap();
    let mut shown = BTreeMap::new();
    for (name, setting) in groups.iter().flat_map(|it| it["properties"].as_object().unwrap()) {
        let key = name.strip_prefix("cairn.").unwrap();
        let values =
            |schema: &Value| serde_json::from_value(schema["enum"].clone()).unwrap_or_default();
        match setting["properties"].as_object() {
            Some(members) => {
                shown.extend(members.iter().map(|(name, it)| (format!("{key}.{name}"), values(it))))
            }
            None => drop(shown.insert(key.to_owned(), values(setting))),
        }
    }
    let read: BTreeMap<String, Vec<String>> = settings::keys()
        .map(|key| {
            (key.to_owned(), settings::choices(key).iter().map(|&it| it.to_owned()).collect())
        })
        .collect();
    assert_eq!(read, shown);
}

/// The page with the tables of codes and actions put between their two marks. Its other parts are kept
/// by hand.
#[test]
fn the_codes_of_the_protocol_page_are_current() {
    const BEGIN: &str = "<!-- codes: written by make gen -->\n";
    const END: &str = "<!-- codes: end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let section = codes::section();
    let expected = format!("{before}{BEGIN}\n{section}\n{END}{after}");
    expect_file!["../../../docs/protocol.md"].assert_eq(&expected);
}

/// The English texts of the daemon, which the extension's bundle for translators repeats.
#[test]
fn the_list_of_messages_is_current() {
    let messages = serde_json::to_string_pretty(&codes::templates()).unwrap();
    expect_file!["../../tables/messages.json"].assert_eq(&format!("{messages}\n"));
}
