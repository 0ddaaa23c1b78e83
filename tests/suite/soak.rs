//! The soak in short; `make soak` is the long one.

use cairn_tests::soak::{self, Options};

#[tokio::test]
async fn forty_turns_at_random() {
    let report = soak::run(Options { turns: 40, seed: 3 }).await;
    assert!(report.kills > 0, "nothing was killed: {report}");
}
