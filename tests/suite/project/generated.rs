//! Files generated from code are committed; these tests fail when one is stale. `make gen` writes.

use expect_test::expect_file;

mod codes;
mod manifest;
mod settings_page;
mod typescript;

#[test]
fn typescript_contract_is_current() {
    expect_file!["../../../vscode-extension/src/protocol.ts"].assert_eq(&typescript::render());
}

/// The whole manifest, with the parts that the table of settings makes put in their places. Its other
/// parts are kept by hand.
#[test]
fn the_manifest_has_the_settings_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../vscode-extension/package.json");
    let text = std::fs::read_to_string(path).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest["contributes"]["configuration"] = manifest::configuration().0;
    manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] =
        manifest::restricted();
    let expected = format!("{}\n", serde_json::to_string_pretty(&manifest).unwrap());
    expect_file!["../../../vscode-extension/package.json"].assert_eq(&expected);
}

/// The texts of the manifest, with those of the settings at the end. The others are kept by hand.
#[test]
fn the_texts_of_the_manifest_are_those_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../vscode-extension/package.nls.json");
    let text = std::fs::read_to_string(path).unwrap();
    let mut texts: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&text).unwrap();
    texts.retain(|key, _| !manifest::is_text_key(key));
    texts.extend(manifest::configuration().1);
    let expected = format!("{}\n", serde_json::to_string_pretty(&texts).unwrap());
    expect_file!["../../../vscode-extension/package.nls.json"].assert_eq(&expected);
}

#[test]
fn the_page_of_settings_is_current() {
    expect_file!["../../../docs/settings.md"].assert_eq(&settings_page::page());
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
