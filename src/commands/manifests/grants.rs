//! Warnings about permissions that a role no longer grants, and checks of markers. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_yaml::Value;

use crate::layout;
use crate::manifests::code_marker::{self, CodeMarker, MarkerError};
use crate::modules;
use crate::tree::Tree;

/// How many permissions a warning lists.
const NAMED: usize = 5;

/// A warning about permissions that the role no longer grants, if there are any.
pub fn lost(tree: &Tree, roles: &str) -> Option<String> {
    let before = permissions(tree.text(layout::MANAGER_ROLE)?);
    let after = permissions(roles);
    let lost: Vec<&String> = before.difference(&after).collect();
    if lost.is_empty() {
        return None;
    }
    let named: Vec<String> = lost
        .iter()
        .take(NAMED)
        .map(|one| format!("`{one}`"))
        .collect();
    let more = match lost.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let sources = layout::SOURCES.map(|folder| format!("`{}`", folder.trim_end_matches('/')));
    Some(format!(
        "`{}` no longer grants {}{more}: markers are read only in {}",
        layout::MANAGER_ROLE,
        named.join(", "),
        sources.join(" and "),
    ))
}

/// Errors for markers that produce a role or a binding which another file in `config/rbac` already has:
/// kustomize rejects duplicate names.
pub fn taken(tree: &Tree, markers: &[CodeMarker], roles: &[serde_json::Value]) -> Vec<MarkerError> {
    let others = tree.files().filter(|(path, _)| {
        path.starts_with(layout::RBAC) && path.ends_with(".yaml") && *path != layout::MANAGER_ROLE
    });
    let mut known = BTreeMap::new();
    for (path, text) in others {
        for document in serde_yaml::Deserializer::from_str(text) {
            let Ok(document) = serde_json::Value::deserialize(document) else {
                break;
            };
            known.insert(identity(&document), path);
        }
    }
    let mut errors = Vec::new();
    for role in roles {
        let name = role["metadata"]["name"].as_str().unwrap_or_default();
        let Some(path) = known.insert(identity(role), layout::MANAGER_ROLE) else {
            continue;
        };
        let is_source = |marker: &&CodeMarker| {
            marker
                .words("roleName")
                .is_some_and(|names| names == [name])
        };
        errors.extend(markers.iter().find(is_source).map(|marker| {
            let kind = role["kind"].as_str().unwrap_or_default();
            let message =
                format!("`roleName={name}` makes a {kind} `{name}`, which `{path}` already has");
            marker.location.error(message, "write another name")
        }));
    }
    errors
}

fn identity(object: &serde_json::Value) -> [String; 3] {
    let metadata = &object["metadata"];
    [&object["kind"], &metadata["namespace"], &metadata["name"]]
        .map(|part| part.as_str().unwrap_or_default().to_owned())
}

/// Each permission, such as `get batch/jobs`.
fn permissions(text: &str) -> BTreeSet<String> {
    let mut permissions = BTreeSet::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let Ok(role) = Value::deserialize(document) else {
            break;
        };
        for rule in role["rules"].as_sequence().into_iter().flatten() {
            for target in targets(rule) {
                let verbs = words(&rule["verbs"]);
                permissions.extend(verbs.map(|verb| format!("{verb} {target}")));
            }
        }
    }
    permissions
}

fn targets(rule: &Value) -> Vec<String> {
    let urls = words(&rule["nonResourceURLs"]).map(str::to_owned);
    let of_group = |group| {
        let resources = words(&rule["resources"]);
        resources.map(move |resource| match group {
            "" => resource.to_owned(),
            group => format!("{group}/{resource}"),
        })
    };
    urls.chain(words(&rule["apiGroups"]).flat_map(of_group))
        .collect()
}

fn words(list: &Value) -> impl Iterator<Item = &str> {
    list.as_sequence()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Warnings about files with markers that are in no module of the operator: they still grant
/// permissions.
pub fn unreached(tree: &Tree) -> impl Iterator<Item = String> {
    let files: BTreeMap<&str, &str> = tree
        .files()
        .filter(|(path, _)| super::is_source(path))
        .collect();
    let reached = modules::reached(&files);
    let has_markers = |path: &str, text: &str| !code_marker::read(path, text).0.is_empty();
    files.into_iter().filter_map(move |(path, text)| {
        let is_unseen = !reached.contains(path) && has_markers(path, text);
        is_unseen.then(|| {
            format!(
                "`{path}` is in no module outside of tests: its markers count, but its code is not in the operator"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::rbac;

    const BEFORE: &str = "\
kind: ClusterRole
rules:
- apiGroups: [\"\", batch]
  resources: [jobs]
  verbs: [get, list]
- nonResourceURLs: [/metrics]
  verbs: [get]
---
kind: Role
rules:
- apiGroups: [a]
  resources: [b/status]
  verbs: [patch]
";

    #[test]
    fn lost_permissions_are_listed() {
        let tree = Tree::from([(layout::MANAGER_ROLE, BEFORE)]);
        assert_eq!(lost(&tree, BEFORE), None);
        assert_eq!(lost(&Tree::default(), "rules: []"), None);
        let after = BEFORE.replace("verbs: [get, list]", "verbs: [get, watch]");
        assert_eq!(
            lost(&tree, &after).as_deref(),
            Some(
                "`config/rbac/role.yaml` no longer grants `list batch/jobs`, `list jobs`: markers are read only in `api/src` and `src`"
            )
        );
        let all = lost(&tree, "kind: ClusterRole\nrules: []\n").expect("permissions are lost");
        let expected = "`list batch/jobs`, `list jobs` and 1 more:";
        assert!(all.contains(expected), "{all}");
    }

    #[test]
    fn a_role_that_another_file_has_is_refused() {
        let binding = "kind: ClusterRoleBinding\nmetadata: {name: manager-rolebinding}\n";
        let admin = "kind: ClusterRole\nmetadata: {name: foo-admin-role}\n";
        let tree = Tree::from([
            ("config/rbac/role_binding.yaml", binding),
            ("config/rbac/foo_admin_role.yaml", admin),
            (
                layout::MANAGER_ROLE,
                "kind: ClusterRole\nmetadata: {name: own}\n",
            ),
        ]);
        let refused = |name: &str| {
            let marker = format!("// +kbr:rbac:groups=a,resources=b,verbs=get,roleName={name}");
            let (markers, _) = code_marker::read("src/a.rs", &marker);
            let roles = rbac::roles(&markers, "own-system", None).expect("valid markers");
            taken(&tree, &markers, &roles)
        };
        assert_eq!(refused("own"), []);
        for (name, path) in [
            ("manager-rolebinding", "config/rbac/role_binding.yaml"),
            ("foo-admin-role", "config/rbac/foo_admin_role.yaml"),
        ] {
            let refused = refused(name);
            assert_eq!(refused.len(), 1, "{refused:?}");
            assert!(
                refused[0]
                    .message
                    .contains(&format!("which `{path}` already has")),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_file_with_markers_in_no_module_is_reported() {
        const MARKER: &str = "// +kbr:rbac:groups=a,resources=b,verbs=get\n";
        let tree = Tree::from([
            (
                "src/lib.rs",
                "mod seen;\nmod inner {\n    mod deep;\n}\n#[cfg(test)]\nmod tests;\n",
            ),
            ("src/main.rs", MARKER),
            ("src/seen.rs", MARKER),
            ("src/inner/deep.rs", MARKER),
            ("src/tests.rs", MARKER),
            ("src/unseen.rs", MARKER),
            ("src/plain.rs", ""),
            ("api/src/lib.rs", "mod v1;\n"),
            ("api/src/v1/mod.rs", MARKER),
        ]);
        let found: Vec<String> = unreached(&tree).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`src/tests.rs`") && found[1].contains("`src/unseen.rs`"));
    }
}
