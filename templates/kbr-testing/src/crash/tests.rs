// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::created::Counts;
use super::moment::tests::moment;
use super::moment::{self, Fault};
use super::*;

fn parse(arguments: &[&str]) -> Result<Options, String> {
    Options::parse(arguments.iter().map(|argument| (*argument).to_owned()))
}

#[test]
fn options_are_read() {
    assert_eq!(parse(&[]), Ok(Options::ALL));

    let some = Options {
        only: "dies".to_owned(),
        sample: 5,
        seed: 7,
        jobs: 2,
    };
    let arguments = ["--only", "dies", "--jobs=2", "--sample", "5", "--seed=7"];
    assert_eq!(parse(&arguments), Ok(some));
}

#[test]
fn an_option_that_cannot_be_used_says_what_to_type() {
    for (wrong, message) in [
        (
            &["--jobs", "0"][..],
            "`--jobs 0` would try nothing: give a larger number",
        ),
        (&["--jobs=many"], "`--jobs` needs a number: type `--jobs 8`"),
        (&["--seed"], "`--seed` needs a number: type `--seed 20`"),
        (
            &["--only"],
            "`--only` needs a part of the line of a run: type `--only dies`",
        ),
        (
            &["--seeds", "3"],
            "there is no option `--seeds`: type `--only TEXT`, `--sample N`, `--seed N` or `--jobs N`",
        ),
    ] {
        assert_eq!(parse(wrong), Err(message.to_owned()));
    }
}

#[test]
fn a_sample_follows_from_its_seed() {
    let scenario = Scenario {
        name: "task".to_owned(),
        run: Box::new(|_| async { Ok(()) }.boxed()),
    };
    let undisturbed = Undisturbed {
        moments: Vec::new(),
        settled: Arc::default(),
        created: Counts::default(),
    };
    let what = moment::Asked {
        verb: "create",
        resource: "pods".to_owned(),
        name: "a".to_owned(),
    };
    let chosen = |sample, seed| {
        let moments = (1..=10).map(|nth| moment(what.clone(), nth));
        let cases = moments.map(|moment| Case {
            scenario: &scenario,
            undisturbed: &undisturbed,
            moment,
            fault: Fault::AnswerLost,
        });
        let options = Options {
            sample,
            seed,
            ..Options::ALL
        };
        let chosen = options.choose(cases.collect());
        chosen.iter().map(Case::to_string).collect::<Vec<_>>()
    };

    assert_eq!(chosen(3, 1).len(), 3);
    assert_eq!(chosen(3, 1), chosen(3, 1));
    assert_eq!(chosen(20, 1).len(), 10);
    assert!((2..20).any(|seed| chosen(3, seed) != chosen(3, 1)));
}

#[test]
fn a_project_without_scenarios_proves_nothing() {
    let stories = Crash::new("/nowhere", "/nowhere/operator").failures();

    let stories = stories.expect("no error");
    assert_eq!(stories.len(), 1);
    assert!(stories[0].contains("tests/crash.rs"), "{}", stories[0]);
}

#[test]
fn a_line_repeats_exactly_its_run() {
    let scenarios = ["task", "my-task"].map(|name| Scenario {
        name: name.to_owned(),
        run: Box::new(|_| async { Ok(()) }.boxed()),
    });
    let options = Options {
        only: "task: create pods a: 500".to_owned(),
        ..Options::ALL
    };
    let what = moment::Asked {
        verb: "create",
        resource: "pods".to_owned(),
        name: "a".to_owned(),
    };
    let undisturbed = Undisturbed {
        moments: vec![moment(what, 1)],
        settled: Arc::default(),
        created: Counts::default(),
    };
    let cases = scenarios.iter().flat_map(|one| undisturbed.cases(one));
    let chosen = options.choose(cases.collect());

    let lines: Vec<_> = chosen.iter().map(Case::to_string).collect();
    assert_eq!(lines, ["task: create pods a: 500"]);
    assert!(options.may_want(&scenarios[0], &scenarios));
    assert!(!options.may_want(&scenarios[1], &scenarios));
    assert!(Options::ALL.may_want(&scenarios[1], &scenarios));
}
