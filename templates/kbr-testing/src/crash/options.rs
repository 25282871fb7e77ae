// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The options of `make test-crash`.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Scenario;
use super::run::Case;

/// How many runs happen at once. A run waits most of the time.
const JOBS: usize = 8;

/// Which runs there are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Options {
    /// Only those whose name contains this.
    pub(super) only: String,
    /// Only this many of them.
    pub(super) sample: usize,
    /// Which ones are in the sample.
    pub(super) seed: u64,
    pub(super) jobs: usize,
}

impl Options {
    pub(super) const ALL: Self = Self {
        only: String::new(),
        sample: usize::MAX,
        seed: 0,
        jobs: JOBS,
    };

    pub(super) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::ALL;
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, arguments.next()),
            };
            let value = value.unwrap_or_default();
            let number = || {
                let number = value.parse::<u64>().ok();
                let example = if name == "--jobs" { JOBS } else { 20 };
                number.ok_or_else(|| format!("`{name}` needs a number: type `{name} {example}`"))
            };
            let count = || {
                let count = number()?.try_into().unwrap_or(usize::MAX);
                match count {
                    0 => Err(format!(
                        "`{name} 0` would try nothing: give a larger number"
                    )),
                    _ => Ok(count),
                }
            };
            match name.as_str() {
                "--only" if value.is_empty() => {
                    let problem = "`--only` needs a part of the line of a run: type `--only dies`";
                    return Err(problem.to_owned());
                }
                "--only" => options.only = value,
                "--jobs" => options.jobs = count()?,
                "--sample" => options.sample = count()?,
                "--seed" => options.seed = number()?,
                _ => {
                    return Err(format!(
                        "there is no option `{name}`: type `--only TEXT`, `--sample N`, `--seed N` or `--jobs N`"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Whether some of a scenario's runs may be wanted.
    pub(super) fn may_want(&self, scenario: &Scenario, all: &[Scenario]) -> bool {
        let is_of = |one: &Scenario| self.only.starts_with(&format!("{}: ", one.name));
        is_of(scenario) || !all.iter().any(is_of)
    }

    /// Those of the runs that are wanted, in their order.
    pub(super) fn choose<'a>(&self, mut cases: Vec<Case<'a>>) -> Vec<Case<'a>> {
        let is_one = |case: &Case<'_>| case.to_string() == self.only;
        match cases.iter().any(is_one) {
            true => cases.retain(is_one),
            false => cases.retain(|case| case.to_string().contains(&self.only)),
        }
        let chance = |case: &Case<'_>| {
            let mut hasher = DefaultHasher::new();
            (self.seed, case.to_string()).hash(&mut hasher);
            hasher.finish()
        };
        let mut chances: Vec<u64> = cases.iter().map(chance).collect();
        chances.sort_unstable();
        if let Some(limit) = chances.get(self.sample) {
            cases.retain(|case| chance(case) < *limit);
        }
        cases
    }
}
