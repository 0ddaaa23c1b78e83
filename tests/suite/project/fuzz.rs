//! The kept inputs of each fuzz target, and some thousand inputs derived from them. `make fuzz` searches
//! for new ones.

use std::{fs, panic};

use cairn_tests::fuzz::{TARGETS, Target, named};

/// Inputs made from the kept ones. Enough to notice that a law is broken everywhere.
const MADE: usize = 1500;
/// Most kept inputs of one target.
const MOST_FILES: usize = 80;
const MOST_BYTES: usize = 40 * 1024;

#[test]
fn command_keeps_its_laws() {
    check("command");
}

#[test]
fn jail_keeps_its_laws() {
    check("jail");
}

#[test]
fn sse_keeps_its_laws() {
    check("sse");
}

#[test]
fn frames_keep_their_laws() {
    check("frames");
}

#[test]
fn todo_keeps_its_laws() {
    check("todo");
}

#[test]
fn the_kept_fuzz_inputs_stay_small() {
    for target in &TARGETS {
        let kept = kept(target);
        let bytes: usize = kept.iter().map(|(_, input)| input.len()).sum();
        let what = format!("{}: {} files, {bytes} bytes", target.name, kept.len());
        assert!(!kept.is_empty() && kept.len() <= MOST_FILES && bytes <= MOST_BYTES, "{what}");
    }
}

fn check(name: &str) {
    let target = named(name).unwrap();
    let kept = kept(target);
    for (file, input) in &kept {
        run(target, input, file);
    }
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for n in 0..MADE {
        let input = made(&kept, &mut chance);
        run(target, &input, &format!("number {n}"));
    }
}

fn kept(target: &Target) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(target.kept())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.display().to_string(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn run(target: &Target, input: &[u8], name: &str) {
    let outcome = panic::catch_unwind(|| (target.run)(input));
    assert!(outcome.is_ok(), "{name} breaks a law of {}: {}", target.name, input.escape_ascii());
}

/// One of the kept inputs, with a few changes.
fn made(kept: &[(String, Vec<u8>)], chance: &mut Chance) -> Vec<u8> {
    let mut input = kept[chance.below(kept.len())].1.clone();
    for _ in 0..=chance.below(4) {
        let at = chance.below(input.len() + 1);
        let end = (at + chance.below(16)).min(input.len());
        match chance.below(5) {
            0 => drop(input.drain(at..end)),
            1 => input.insert(at, chance.next() as u8),
            2 => {
                let other = &kept[chance.below(kept.len())].1;
                let from = chance.below(other.len() + 1);
                let to = (from + chance.below(32)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
            3 => {
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            _ if at < input.len() => input[at] ^= 1 << chance.below(8),
            _ => {}
        }
    }
    input
}

/// Xorshift: the same numbers on every machine.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
