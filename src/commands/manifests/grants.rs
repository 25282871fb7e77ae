//! Warnings about permissions that a role no longer grants, and checks of markers. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::error::quoted;
use crate::layout;
use crate::manifests::code_marker::{CodeMarker, MarkerError};
use crate::modules;
use crate::tree::Tree;
use crate::yaml::{self, YamlError};

/// How many permissions a warning lists.
const NAMED: usize = 5;

/// A warning about permissions that the role no longer grants, if there are any.
pub fn lost(tree: &Tree, roles: &str) -> Option<String> {
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
    let sources = layout::SOURCES.map(|folder| format!("`{}`", folder.trim_end_matches('/')));
    Some(format!(
        "`{}` no longer grants {named}{more}: no marker in {} asks for it",
        layout::MANAGER_ROLE,
        sources.join(" or "),
    ))
}

/// Errors for markers that produce a role or a binding which another file in `config/rbac` already has:
/// kustomize rejects duplicate names.
pub fn taken(tree: &Tree, markers: &[CodeMarker], roles: &[Value]) -> Vec<MarkerError> {
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
        for rule in role["rules"].as_array().into_iter().flatten() {
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
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Errors for files with markers that are in no module of the operator: what they ask for is not what the
/// operator does.
pub fn unreached(tree: &Tree, markers: &[CodeMarker]) -> Vec<MarkerError> {
    let files: BTreeMap<&str, &str> = tree
        .files()
        .filter(|(path, _)| super::is_source(path))
        .collect();
    let roots: Vec<String> = roots(tree, &files).collect();
    let reached =
        |with_tests| modules::reached(roots.iter().map(String::as_str), &files, with_tests);
    let (of_operator, all) = (reached(false), reached(true));
    let mut errors: Vec<MarkerError> = Vec::new();
    for marker in markers {
        let path = marker.location.path.as_str();
        if of_operator.contains(path) || errors.last().is_some_and(|it| it.location.path == path) {
            continue;
        }
        errors.push(if all.contains(path) {
            marker.in_test_code()
        } else {
            let kind = marker.kind.name();
            let message = format!("`+kbr:{kind}` is in a file that no `mod` declares");
            let (name, parent) = declaration(path, &files);
            let help = format!("delete `{path}`, or write `mod {name};` in `{parent}`");
            marker.location.error(message, help)
        });
    }
    errors
}

/// The files at which cargo begins: its own choice, and what a Cargo.toml names.
fn roots(tree: &Tree, files: &BTreeMap<&str, &str>) -> impl Iterator<Item = String> {
    let folders = layout::SOURCES.into_iter();
    let by_name = folders.clone().flat_map(move |folder| {
        files.keys().filter_map(move |path| {
            let rest = path.strip_prefix(folder)?;
            let is_root = match rest.strip_prefix("bin/") {
                Some(rest) => rest
                    .split_once('/')
                    .is_none_or(|(_, rest)| rest == "main.rs"),
                None => matches!(rest, "lib.rs" | "main.rs"),
            };
            is_root.then(|| (*path).to_owned())
        })
    });
    let named = folders.flat_map(move |folder| {
        let package = folder.strip_suffix("src/").unwrap_or_default();
        let manifest = tree.text(&format!("{package}Cargo.toml"));
        let texts = manifest.unwrap_or_default().split(['"', '\'']);
        let paths = texts.filter(|text| text.ends_with(".rs"));
        paths.map(move |path| format!("{package}{}", path.trim_start_matches("./")))
    });
    by_name.chain(named)
}

/// The name of a file's module, and the file that has to declare it.
fn declaration(path: &str, files: &BTreeMap<&str, &str>) -> (String, String) {
    let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let own = ["lib.rs", "main.rs", "mod.rs"].map(|file| format!("{folder}/{file}"));
    let parent = own
        .into_iter()
        .find(|file| files.contains_key(file.as_str()));
    (
        name.to_owned(),
        parent.unwrap_or_else(|| format!("{folder}.rs")),
    )
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
                "`config/rbac/role.yaml` no longer grants `list batch/jobs`, `list jobs`: no marker in `api/src` or `src` asks for it"
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

    const MARKER: &str = "// +kbr:rbac:groups=a,resources=b,verbs=get\n";

    /// Where markers are refused because of the file they are in, and why, among these files.
    fn refused(files: &[(&str, &str)]) -> Vec<String> {
        let tree: Tree = files.iter().copied().collect();
        let markers = files
            .iter()
            .flat_map(|(path, text)| code_marker::read(path, text).0);
        let errors = unreached(&tree, &markers.collect::<Vec<_>>());
        let shown = errors.iter().map(|it| format!("{it}; {}", it.help));
        shown.collect()
    }

    #[test]
    fn markers_in_no_module_of_the_operator_are_refused() {
        let lib = "mod seen;\nmod inner {\n    mod deep;\n}\n#[cfg(test)]\nmod tests;\n\
                   #[cfg(all(test, unix))]\nmod a { mod b; }\n#[path = \"other/name.rs\"]\nmod named;\n\
                   mod in_folder { #[path = \"x.rs\"] mod y; }\ninclude!(\"included.rs\");\n\
                   #[cfg(test)] include!(\"a_test.rs\");\nconst A: &str = include_str!(\"text.rs\");\n";
        let twice = MARKER.repeat(2);
        let refused = refused(&[
            ("src/lib.rs", lib),
            ("src/main.rs", MARKER),
            ("src/bin/other.rs", MARKER),
            ("src/bin/third/main.rs", "mod part;"),
            ("src/bin/third/part.rs", MARKER),
            ("src/cmd/fourth.rs", MARKER),
            (
                "Cargo.toml",
                "[[bin]]\nname = \"a\"\npath = \"./src/cmd/fourth.rs\"\n",
            ),
            ("src/seen.rs", MARKER),
            ("src/inner/deep.rs", MARKER),
            ("src/other/name.rs", "mod beside;"),
            ("src/other/beside.rs", MARKER),
            ("src/in_folder/x.rs", MARKER),
            ("src/included.rs", MARKER),
            ("src/plain.rs", ""),
            ("api/src/lib.rs", "mod v1;\n"),
            ("api/src/v1/mod.rs", MARKER),
            ("src/a/b.rs", MARKER),
            ("src/tests.rs", "mod below;"),
            ("src/tests/below.rs", MARKER),
            ("src/unseen.rs", &twice),
            ("src/seen/unseen/mod.rs", MARKER),
            ("src/text.rs", MARKER),
        ]);
        let tests = |path: &str| {
            format!(
                "{path}:1:1: `+kbr:rbac` is in code for tests; move it to the code of the operator that needs it"
            )
        };
        let none = |path: &str, name: &str, parent: &str| {
            format!(
                "{path}:1:1: `+kbr:rbac` is in a file that no `mod` declares; delete `{path}`, or write `mod {name};` in `{parent}`"
            )
        };
        assert_eq!(
            refused,
            [
                tests("src/a/b.rs"),
                tests("src/tests/below.rs"),
                none("src/unseen.rs", "unseen", "src/lib.rs"),
                none("src/seen/unseen/mod.rs", "unseen", "src/seen.rs"),
                none("src/text.rs", "text", "src/lib.rs"),
            ]
        );
    }
}
