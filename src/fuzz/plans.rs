//! What holds for every plan, whatever was typed.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use serde_json::Value;

use crate::plan::{Outcome, Plan, Step};
use crate::project::{PROJECT_FILE, Project};
use crate::tree::Tree;
use crate::yaml;

/// Checks what holds for every plan; remembers texts, since most of them repeat.
#[derive(Default)]
pub(crate) struct Judge {
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Judge {
    /// If the user's lines `may_change`, each file must still be valid in its language.
    pub(crate) fn check(&mut self, plan: &Plan, may_change: bool) {
        for step in &plan.steps {
            let parts: Vec<&str> = step.path.split('/').collect();
            let is_plain = |part: &&str| !part.chars().any(|c| c.is_control() || c == '\\');
            assert!(
                parts.iter().all(|part| !["", ".", ".."].contains(part))
                    && parts.iter().all(is_plain),
                "the path {:?}",
                step.path
            );
            let Some(after) = &step.after else { continue };
            if step.outcome == Outcome::Edited && !may_change {
                assert_only_lines_come(step, after);
            } else if matches!(
                step.outcome,
                Outcome::Created | Outcome::Edited | Outcome::Updated
            ) && self.seen.insert(self.hasher.hash_one((&step.path, after)))
            {
                assert_reads(&step.path, after);
            }
        }
        let project = plan.steps.iter().position(|step| step.path == PROJECT_FILE);
        assert!(
            project.is_none_or(|at| at + 1 == plan.steps.len()),
            "PROJECT is last"
        );
    }
}

/// Asserts that a user's file keeps all its lines, in the same order.
fn assert_only_lines_come(step: &Step, after: &str) {
    let mut lines = after.split_inclusive('\n');
    let before = step.before.as_deref().unwrap_or_default();
    for line in before.split_inclusive('\n') {
        assert!(
            lines.any(|it| it == line),
            "{:?} is missing from {}",
            line,
            step.path
        );
    }
}

/// Asserts that a text that kbr renders is valid in the language of its file.
fn assert_reads(path: &str, text: &str) {
    if path == PROJECT_FILE {
        let project = Project::parse(text).expect("PROJECT as it is rendered");
        assert_eq!(project.render(), text);
    } else if path.ends_with(".rs") {
        syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
    } else if path.ends_with(".yaml") || path.ends_with(".yml") {
        assert_is_yaml(path, text);
    } else if path.ends_with(".toml") || path == "Cargo.lock" {
        let table: Result<toml::Table, _> = text.parse();
        table.unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
    }
}

/// Asserts that readers of YAML 1.1 and of YAML 1.2 read the text alike.
pub(crate) fn assert_is_yaml(path: &str, text: &str) {
    let old = yaml::read(path, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let new: Result<Vec<Value>, _> = serde_saphyr::from_multiple(text);
    let new = new.unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
    assert_eq!(old, new, "{path}\n{text}");
}

pub(crate) type Files = BTreeMap<String, String>;

pub(crate) fn tree(files: &Files) -> Tree {
    files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect()
}

/// The files of a repository before `kbr init`.
pub(crate) static FRESH: LazyLock<Files> = LazyLock::new(|| {
    let files = [
        ("LICENSE", "mine\n"),
        (".gitignore", "/target\n"),
        ("README.md", "# mine\n"),
    ];
    files
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into()
});
