//! Fuzzing: no input makes kbr panic, or plan something that makes no sense.
//!
//! Each target derives its inputs from a seed: what a user may type or have in a file, with a few random
//! changes. Every `cargo test` tries a few hundred; `tests/tools/fuzz` tries millions, and prints how to
//! repeat one that failed.

mod crds;
mod disk;
mod lines;
mod markers;
mod names;
mod plans;
mod project;
mod random;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::LazyLock;

pub use disk::folder;
use random::Random;

/// Environment variable: how many cases of each target are tried.
pub const CASES: &str = "KBR_FUZZ";

/// Environment variable: the seed of the first case; each further case has the next one.
const SEED: &str = "KBR_FUZZ_SEED";

/// Fragments of texts.
type Words = LazyLock<Vec<&'static str>>;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text:?}")),
    )
}

/// Runs a target; `case` returns whether its input was accepted. Runs `cases` of them or, if the
/// environment sets a number, one in `share` of that.
fn fuzz(target: &str, cases: u64, share: u64, mut case: impl FnMut(&mut Random) -> bool) {
    let count = number(CASES).map_or(cases, |asked| asked.div_ceil(share));
    let first = number(SEED).unwrap_or_default();
    let mut accepted = 0;
    for seed in first..first + count {
        let mut random = Random::new(seed);
        match catch_unwind(AssertUnwindSafe(|| case(&mut random))) {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(panic) => {
                random.fails(&format!(
                    "{CASES}=1 {SEED}={seed} tests/tools/fuzz {target}"
                ));
                resume_unwind(panic);
            }
        }
    }
    random::say(&format!("{target}: {cases} cases, {accepted} accepted\n"));
    // A target whose inputs are always refused tests only refusals.
    assert!(
        cases < 100 || accepted * 50 > cases,
        "{accepted} of {cases} accepted"
    );
}
