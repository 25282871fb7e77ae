//! `tests/data/fleet`, a project as kubebuilder scaffolds it and its owner has edited it: two groups, three kinds, one in
//! two versions, a controller and a webhook for types of others, a role with a rule that no marker grants.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::{REPOSITORY, Sandbox, tree};

/// A sandbox with a copy of the project in `go`.
pub fn with_fleet() -> Sandbox {
    let sandbox = Sandbox::new();
    let fleet = Path::new(REPOSITORY).join("tests/data/fleet");
    for (path, text) in tree(&fleet) {
        sandbox.write(&format!("go/{path}"), &text);
    }
    sandbox
}

pub const IMPORT: &str = "import project go new";

/// A rule of a role for one resource or URL, one verb and the named objects.
pub fn permissions(role: &str) -> BTreeSet<String> {
    let role: Value = serde_yaml::from_str(role).expect("a role");
    let words = |rule: &Value, name: &str| -> Vec<String> {
        let words = rule[name].as_array().into_iter().flatten();
        words.map(|word| word.to_string()).collect()
    };
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        let names = words(rule, "resourceNames").join(",");
        for verb in words(rule, "verbs") {
            for group in words(rule, "apiGroups") {
                for resource in words(rule, "resources") {
                    all.insert(format!("{verb} {group} {resource} {names}"));
                }
            }
            for url in words(rule, "nonResourceURLs") {
                all.insert(format!("{verb} {url}"));
            }
        }
    }
    all
}
