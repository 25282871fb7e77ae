//! A small project like those that kbr scaffolds, and moves of its modules.

mod evaluate;
mod files;
mod golden;
mod imports;
mod model;
mod paths;

use std::collections::BTreeMap;

use super::{Crate, Move, MoveError, Moved, rewrite};

const API: &str = "api/src/lib.rs";
const OPERATOR: &str = "src/lib.rs";
const TESTS: &str = "tests/it/main.rs";

/// The files of the project; a test adds its own, or replaces the text of one.
const FILES: [(&str, &str); 20] = [
    (API, "pub mod v1;\npub mod v2;\n"),
    (
        "api/src/v1.rs",
        "mod cronjob_types;\n\npub use cronjob_types::*;\n",
    ),
    ("api/src/v1/cronjob_types.rs", "pub struct CronJob;\n"),
    ("api/src/v2.rs", "pub struct CronJob;\n"),
    (
        OPERATOR,
        "pub mod controller;\npub mod schedule;\npub mod webhook;\n",
    ),
    ("src/main.rs", ""),
    ("src/schedule.rs", "pub struct Schedule;\n"),
    (
        "src/controller.rs",
        "pub mod cronjob_controller;\npub mod helper;\n",
    ),
    ("src/controller/cronjob_controller.rs", "mod status;\n"),
    ("src/controller/cronjob_controller/status.rs", ""),
    ("src/controller/helper.rs", ""),
    ("src/webhook.rs", "pub mod v1;\npub mod v2;\n"),
    (
        "src/webhook/v1.rs",
        "pub mod cronjob_defaulter;\npub mod pod_defaulter;\n",
    ),
    ("src/webhook/v1/cronjob_defaulter.rs", ""),
    ("src/webhook/v1/pod_defaulter.rs", ""),
    ("src/webhook/v2.rs", ""),
    (
        TESTS,
        "mod cronjob_controller;\nmod support;\n\nfn env() {}\n",
    ),
    ("tests/it/cronjob_controller.rs", ""),
    ("tests/it/support.rs", "pub fn cronjob() {}\n"),
    ("examples/local.rs", ""),
];

fn crates() -> Vec<Crate> {
    let names = |names: &[&str]| {
        let names = names.iter();
        names
            .map(|name| [(*name).to_owned(), (*name).to_owned()])
            .collect()
    };
    vec![
        Crate {
            root: API.to_owned(),
            names: names(&["api", "cronjob_api"]),
        },
        Crate {
            root: OPERATOR.to_owned(),
            names: names(&["cronjob"]),
        },
    ]
}

fn moves(moves: &[(&str, &str, &str)]) -> Vec<Move> {
    let it = moves.iter().map(|&(root, from, to)| Move {
        root: root.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        makes: Vec::new(),
    });
    it.collect()
}

/// What `edit --multigroup` moves in the project.
fn by_group() -> Vec<Move> {
    moves(&[
        (API, "v1", "batch::v1"),
        (API, "v2", "batch::v2"),
        (
            OPERATOR,
            "controller::cronjob_controller",
            "controller::batch::cronjob_controller",
        ),
        (OPERATOR, "webhook::v1", "webhook::batch::v1"),
        (
            OPERATOR,
            "webhook::v1::pod_defaulter",
            "webhook::core::v1::pod_defaulter",
        ),
        (OPERATOR, "webhook::v2", "webhook::batch::v2"),
        (TESTS, "cronjob_controller", "batch::cronjob_controller"),
    ])
}

fn with<'a>(own: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, &'a str> {
    FILES.iter().chain(own).copied().collect()
}

fn run(moves: &[Move], own: &[(&str, &str)]) -> Result<Moved, MoveError> {
    rewrite(&crates(), moves, &with(own))
}

/// The text of a file of the project after the move.
fn after(moves: &[Move], path: &str, text: &str) -> String {
    let moved = run(moves, &[(path, text)]).expect("a move");
    let file = moved.files.into_iter().find(|file| file.from == path);
    file.map_or_else(|| text.to_owned(), |file| file.text)
}

/// Asserts that the text of the file changes as in each of the pairs, from the first to the second.
fn assert_rewritten(moves: &[Move], path: &str, pairs: &[(&str, &str)]) {
    for (before, expected) in pairs {
        assert_eq!(after(moves, path, before), *expected, "{path}: {before}");
    }
}
