//! A short run of the soak test; `make soak` is the long one.

use cairn_tests::{
    kills,
    soak::{self, Options},
};

#[tokio::test]
async fn forty_random_turns() {
    let report = soak::run(Options { turns: 40, seed: 3 }).await;
    assert!(report.kills > 0, "nothing was killed: {report}");
}

/// `make soak` has three hundred and more.
#[tokio::test]
async fn fifty_kills_at_random_moments() {
    let report = kills::run(kills::Options { moments: 50, seed: 11 }).await;
    assert!(report.before > 0 && report.after > 0, "no edit was on its way: {report}");
}
