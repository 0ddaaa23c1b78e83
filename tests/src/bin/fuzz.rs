//! Lets libFuzzer look for inputs that break a law of `cairn_tests::fuzz`: `make fuzz`.
//!
//! `CAIRN_FUZZ` names the target; libFuzzer brings `main` and reads the arguments.

#![no_main]
#![allow(clippy::expect_used, reason = "a run without a target has nothing to do")]

use std::sync::OnceLock;

use cairn_tests::fuzz::{Target, named};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<&Target> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("CAIRN_FUZZ").expect("CAIRN_FUZZ names a target");
        named(&name).expect("there is a target of this name")
    });
    (target.run)(input);
});
