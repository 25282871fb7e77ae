//! Which tests a change of files concerns. Pure.

use std::collections::BTreeSet;

use crate::layout;
use crate::tree::Tree;

/// Parts of the names of tests, for the controllers, webhooks, policies and tests whose files differ.
pub(super) fn tests(old: &Tree, new: &Tree) -> BTreeSet<String> {
    let files = |tree: &'_ Tree| -> BTreeSet<(String, String)> {
        let files = tree.files();
        files
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .collect()
    };
    let (old, new) = (files(old), files(new));
    let differ = old.symmetric_difference(&new);
    differ.flat_map(|(path, _)| of_file(path)).collect()
}

fn of_file(path: &str) -> Vec<String> {
    if let Some(policy) = path.strip_prefix(layout::POLICIES) {
        let mut parts = policy.trim_end_matches(".yaml").rsplit('_');
        return match (parts.next(), parts.next(), parts.next()) {
            (Some(which @ ("mutating" | "validating")), Some(kind), Some(version)) => {
                let version = version.replace('-', "_");
                vec![format!("{kind}_{version}_{which}_policy::")]
            }
            _ => Vec::new(),
        };
    }
    let Some(path) = path.strip_suffix(".rs") else {
        return Vec::new();
    };
    let folder = |file: &str| file.trim_end_matches(".rs").to_owned() + "/";
    if let Some(module) = path.strip_prefix(&folder(layout::CONTROLLERS)) {
        // A controller may consist of several files.
        let parts: Vec<_> = module.split('/').collect();
        let is_controller = |part: &&str| part.ends_with("_controller");
        let Some(end) = parts.iter().position(is_controller) else {
            return Vec::new();
        };
        return vec![format!("{}::", parts[..=end].join("::"))];
    }
    if let Some(module) = path.strip_prefix(&folder(layout::WEBHOOKS)) {
        let parts: Vec<_> = module.split('/').collect();
        // The module of a webhook is in that of its version, and may have modules itself.
        let is_webhook = |part: &&str| {
            let part = part.rsplit_once('_').map(|(_, part)| part);
            part.is_some_and(|part| matches!(part, "defaulter" | "validator" | "converter"))
        };
        let Some(end) = parts.iter().position(is_webhook) else {
            return Vec::new();
        };
        let ([group @ .., version], Some((kind, part))) =
            (&parts[..end], parts[end].rsplit_once('_'))
        else {
            return Vec::new();
        };
        let group: String = group.iter().map(|it| format!("{it}::")).collect();
        let in_test = version.trim_end_matches('_');
        return vec![
            format!("{group}{kind}_{in_test}_{part}::"),
            format!("{group}{version}::{kind}_{part}::"),
        ];
    }
    let tests = layout::TESTS.trim_end_matches("main.rs");
    let test = path.strip_prefix(tests).filter(|it| *it != "main");
    test.map(|it| format!("{}::", it.replace('/', "::")))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_concerns_its_own_tests() {
        for (path, expected) in [
            (
                "src/controller/captain_controller.rs",
                &["captain_controller::"][..],
            ),
            (
                "src/controller/captain_controller/jobs.rs",
                &["captain_controller::"],
            ),
            (
                "src/controller/crew/captain_controller.rs",
                &["crew::captain_controller::"],
            ),
            ("src/controller/crew.rs", &[]),
            (
                "src/webhook/v1/captain_defaulter.rs",
                &["captain_v1_defaulter::", "v1::captain_defaulter::"],
            ),
            (
                "src/webhook/crew/v2beta1/captain_converter/parts.rs",
                &[
                    "crew::captain_v2beta1_converter::",
                    "crew::v2beta1::captain_converter::",
                ],
            ),
            ("src/webhook/v1.rs", &[]),
            (
                "src/webhook/match_/captain_validator.rs",
                &["captain_match_validator::", "match_::captain_validator::"],
            ),
            (
                "tests/it/crew/captain_controller.rs",
                &["crew::captain_controller::"],
            ),
            (
                "config/policy/crew_v1_captain_validating.yaml",
                &["captain_v1_validating_policy::"],
            ),
            (
                "config/policy/foo1_captain_mutating.yaml",
                &["captain_foo1_mutating_policy::"],
            ),
            ("config/policy/kustomization.yaml", &[]),
            ("config/policy/name_references.yaml", &[]),
            ("tests/it/main.rs", &[]),
            ("src/main.rs", &[]),
            ("README.md", &[]),
        ] {
            assert_eq!(of_file(path), expected, "{path}");
        }
    }

    #[test]
    fn only_files_that_differ_count() {
        let path = "src/controller/captain_controller.rs";
        let tree = |text| -> Tree { [(path, text), ("src/main.rs", text)].into_iter().collect() };
        assert!(tests(&tree("a"), &tree("a")).is_empty());
        let expected = BTreeSet::from(["captain_controller::".to_owned()]);
        assert_eq!(tests(&tree("a"), &tree("b")), expected);
        assert_eq!(tests(&tree("a"), &Tree::default()), expected);
    }
}
