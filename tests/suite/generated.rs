//! Files generated from code are committed; these tests fail when one is stale. `make gen` writes.

use expect_test::expect_file;

#[test]
fn typescript_contract_is_current() {
    expect_file!["../../vscode-extension/src/protocol.ts"]
        .assert_eq(&cairn_protocol::typescript::render());
}
