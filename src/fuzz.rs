//! Fuzzing: no input makes kbr panic, or plan something that makes no sense.
//!
//! Each target derives its inputs from a seed: what a user may type or have in a file, with a few random
//! changes. Every `cargo test` tries a few hundred, other ones for each commit; `tests/tools/fuzz` tries
//! millions. A case that fails prints how to repeat it.

mod crds;
mod disk;
mod folder;
mod kustomizations;
mod lines;
mod markers;
mod names;
mod plans;
mod project;
pub(crate) mod random;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::LazyLock;

pub(crate) use folder::folder;
pub(crate) use kustomizations::golden;
pub(crate) use plans::{Files, tree};
use random::Random;

/// Fragments of texts.
type Words = LazyLock<Vec<&'static str>>;

/// Runs a target; `case` returns whether its input was accepted. Runs `cases` of them or, if the
/// environment sets a number, one in `share` of that.
fn fuzz(target: &str, cases: u64, share: u64, mut case: impl FnMut(&mut Random) -> bool) {
    let seeds = random::seeds(cases, share);
    let (first, count) = (seeds.start, seeds.end - seeds.start);
    let mut accepted = 0;
    for seed in seeds {
        let mut random = Random::new(seed);
        match catch_unwind(AssertUnwindSafe(|| case(&mut random))) {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(panic) => {
                random.fails(&random::again(seed, target));
                resume_unwind(panic);
            }
        }
    }
    random::say(&format!(
        "{target}: {count} cases from seed {first}, {accepted} accepted\n"
    ));
    // A target whose inputs are always refused tests only refusals.
    assert!(
        count < 100 || accepted * 50 > count,
        "{accepted} of {count} accepted from seed {first}: {}",
        random::again(first, target)
    );
}

#[test]
fn folders_of_interrupted_tests_are_removed() {
    let memory = tempfile::tempdir().expect("a folder");
    // No process has a larger id than 4,194,304.
    let own = format!("kbr_test_{}_a", std::process::id());
    let names = ["kbr_test_9999999_a", own.as_str(), "other_9999999_a"];
    for name in names {
        std::fs::create_dir_all(memory.path().join(name).join("below")).expect("a folder");
    }
    folder::remove_abandoned(memory.path());
    let left = names.map(|name| memory.path().join(name).exists());
    assert_eq!(left, [false, true, true]);
}

#[test]
fn a_seed_decides_what_is_drawn() {
    let drawn = |seed| {
        let mut random = Random::new(seed);
        let numbers: Vec<usize> = (0..8).map(|_| random.below(1000)).collect();
        (numbers, random.mutate("some words of a text", &["other"]))
    };
    assert_eq!(drawn(7), drawn(7));
    let different: BTreeSet<_> = (0..100).map(drawn).collect();
    assert_eq!(different.len(), 100);
}

#[test]
fn a_commit_decides_the_seed() {
    let commit = "00c0ffee16d2a4b9f6e1d7c3a58b90e24f7d6c1b\n";
    assert_eq!(random::of_commit(commit), 0xc0_ffee);
    assert_eq!(random::of_commit(""), 0);
}
