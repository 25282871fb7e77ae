//! Warnings about permissions that a role no longer grants, and checks of markers. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::error::quoted;
use crate::layout;
use crate::manifests::code_marker::{CodeMarker, MarkerError};
use crate::manifests::json::{list_of, texts_of};
use crate::tree::Tree;
use crate::yaml::{self, YamlError};

/// How many permissions a warning lists.
const NAMED: usize = 5;

/// A warning about permissions that the role no longer grants, if there are any.
pub(super) fn lost(tree: &Tree, roles: &str) -> Option<String> {
    let old = tree.text(layout::MANAGER_ROLE)?;
    let read = |text| Ok(permissions(&yaml::read(layout::MANAGER_ROLE, text)?));
    let both = read(old).and_then(|before| Ok((before, read(roles)?)));
    let (before, after) = match both {
        Ok(both) => both,
        Err(error) => {
            let error: YamlError = error;
            return Some(format!(
                "{error}: kbr writes it again, and cannot tell which permissions it no longer grants"
            ));
        }
    };
    let lost: Vec<&String> = before.difference(&after).collect();
    if lost.is_empty() {
        return None;
    }
    let named = quoted(&lost[..lost.len().min(NAMED)]);
    let more = match lost.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "`{}` no longer grants {named}{more}: no marker in the operator's code asks for it",
        layout::MANAGER_ROLE,
    ))
}

/// Errors for markers that produce a role or a binding which another file in `config/rbac` already has:
/// kustomize rejects duplicate names.
pub(super) fn taken(tree: &Tree, markers: &[CodeMarker], roles: &[Value]) -> Vec<MarkerError> {
    let others = tree.files().filter(|(path, _)| {
        path.starts_with(layout::RBAC) && path.ends_with(".yaml") && *path != layout::MANAGER_ROLE
    });
    let mut known = BTreeMap::new();
    let mut errors: Vec<MarkerError> = Vec::new();
    for (path, text) in others {
        match yaml::read(path, text) {
            Ok(documents) => known.extend(documents.iter().map(|it| (identity(it), path))),
            Err(error) => errors.push(error.into()),
        }
    }
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

fn identity(object: &Value) -> [String; 3] {
    let metadata = &object["metadata"];
    [&object["kind"], &metadata["namespace"], &metadata["name"]]
        .map(|part| part.as_str().unwrap_or_default().to_owned())
}

/// Each permission, such as `get batch/jobs`.
fn permissions(roles: &[Value]) -> BTreeSet<String> {
    let mut permissions = BTreeSet::new();
    for role in roles {
        for rule in list_of(role, "rules") {
            for target in targets(rule) {
                let verbs = texts_of(rule, "verbs");
                permissions.extend(verbs.map(|verb| format!("{verb} {target}")));
            }
        }
    }
    permissions
}

fn targets(rule: &Value) -> Vec<String> {
    let urls = texts_of(rule, "nonResourceURLs").map(str::to_owned);
    let of_group = |group| {
        let resources = texts_of(rule, "resources");
        resources.map(move |resource| match group {
            "" => resource.to_owned(),
            group => format!("{group}/{resource}"),
        })
    };
    urls.chain(texts_of(rule, "apiGroups").flat_map(of_group))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::{code_marker, rbac};

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
                "`config/rbac/role.yaml` no longer grants `list batch/jobs`, `list jobs`: no marker in the operator's code asks for it"
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
}
