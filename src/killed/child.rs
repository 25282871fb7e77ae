//! The process that is killed, and at which of its writes.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::{Command, exit};
use std::thread;

use super::run;
use crate::apply::faults::{self, KILLED};
use crate::fuzz::random;

/// Variable for the process to be killed: the write that fails, the write before which it ends, the line.
const TO_CHILD: &str = "KBR_TEST_KILLED";

/// What a process that finished prints last: the number of its writes.
const WRITES: &str = "\nwrites: ";

/// A run divides the writes of a line into this many parts, and kills the line at one write of each.
const PARTS: usize = 4;

/// The same for lines that read and write the whole project, each of which takes seconds.
const PARTS_OF_SLOW: usize = 2;

/// How a process that ran a line ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Refused,
    Killed,
}

/// A process that ran a line.
pub(crate) struct Ran {
    pub(crate) end: End,
    /// What it printed on standard output.
    pub(crate) text: String,
    /// How many writes it began, unless it was killed.
    pub(crate) writes: usize,
}

/// The running test, which a child process runs as well.
pub(crate) struct Child {
    test: &'static str,
    /// Chooses the writes; without one, all of them are tried.
    seed: Option<u64>,
}

impl Child {
    /// In the process to be killed, runs the line and never returns.
    pub(crate) fn of(test: &'static str) -> Self {
        if let Ok(told) = env::var(TO_CHILD) {
            let mut words = told.splitn(3, ' ');
            let mut next = || words.next().expect("three words");
            let (fails_at, ends_at) = (next().parse(), next().parse());
            faults::set(fails_at.expect("a number"), ends_at.expect("a number"));
            let (report, done) = run(Path::new("."), next());
            let code = i32::from(done.is_err());
            report.finish(done);
            random::say(&format!("{WRITES}{}", faults::writes()));
            exit(code);
        }
        let asked = random::number_in(random::CASES);
        let seed = asked.is_none().then(random::first_seed);
        Self { test, seed }
    }

    /// Runs a line in a child process.
    pub(crate) fn run(&self, folder: &Path, line: &str, fails_at: usize, ends_at: usize) -> Ran {
        let mut child = Command::new(env::current_exe().expect("this program"));
        child.args(["--exact", self.test, "--test-threads=1"]);
        child.env(TO_CHILD, format!("{fails_at} {ends_at} {line}"));
        let output = child.current_dir(folder).output().expect("it runs");
        let end = match output.status.code() {
            Some(0) => End::Done,
            Some(1) => End::Refused,
            Some(KILLED) => End::Killed,
            _ => panic!("{output:?}"),
        };
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        let writes = said.rsplit_once(WRITES).map(|(_, number)| number.parse());
        Ran {
            text: String::from_utf8(output.stdout).expect("UTF-8"),
            writes: writes.map_or(0, |number| number.expect("a number")),
            end,
        }
    }

    /// Those of the writes of a line, from `first` to `last`, that this run tries.
    pub(crate) fn drawn(&self, line: &str, first: usize, last: usize) -> BTreeSet<usize> {
        let is_slow = line.starts_with("edit") || line.starts_with("rename");
        let parts = if is_slow { PARTS_OF_SLOW } else { PARTS };
        drawn(first, last, parts, self.seed)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if thread::panicking() {
            let test = self.test;
            let again = match self.seed {
                Some(seed) => format!("KBR_SEED={seed} cargo test --lib {test}"),
                None => format!("tests/tools/fuzz {test}"),
            };
            random::say(&format!("repeat it with: {again}\n"));
        }
    }
}

/// The first and the last write, which are unlike the others, and one of each part; all without a seed.
fn drawn(first: usize, last: usize, parts: usize, seed: Option<u64>) -> BTreeSet<usize> {
    let all: Vec<usize> = (first..=last).collect();
    assert!(!all.is_empty(), "it writes something");
    let Some(mut random) = seed.map(random::Random::new) else {
        return BTreeSet::from_iter(all);
    };
    let parts = all.chunks(all.len().div_ceil(parts));
    let some = parts.map(|part| part[random.below(part.len())]);
    some.chain([first, last]).collect()
}

#[test]
fn the_seed_decides_which_writes_are_tried() {
    let of = |seed| drawn(3, 90, PARTS, Some(seed));
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
    let all: BTreeSet<usize> = (3..=90).collect();
    assert_eq!(drawn(3, 90, PARTS, None), all);
    assert_eq!((0..1000).flat_map(of).collect::<BTreeSet<_>>(), all);
}
