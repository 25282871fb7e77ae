//! The role of the operator in Go, compared with that of the markers: what `config/rbac/role.yaml` grants and no marker
//! does becomes a marker too.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::commands::error::Result;
use crate::import::go::GoProject;
use crate::layout;
use crate::manifests::json::{list_of, texts_of};
use crate::manifests::{code_marker, rbac};
use crate::names::objects::{MANAGER_ROLE, NAMESPACE};

use super::carried::Markers;
use super::deployed::documents;
use super::model::Model;
use super::remaining::{Remaining, Step};

/// The file of the role, which has the same path in both projects.
pub(super) const PATH: &str = layout::MANAGER_ROLE;

/// A permission: one verb for one resource of one group, or for one URL; the namespace and the name of the role that
/// grants it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    role: (Option<String>, String),
    group: Option<String>,
    target: String,
    names: BTreeSet<String>,
    verb: String,
}

/// The markers that the permissions of `config/rbac/role.yaml` need and the Go code does not have.
pub(super) fn missing(
    go: &GoProject<'_>,
    model: &Model,
    markers: &Markers,
    remaining: &mut Remaining,
) -> Result<Vec<String>> {
    let documents = documents(go, PATH)?;
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let own = model.project.project_name.namespace();
    let is_own = |namespace: &String| *namespace == own || namespace == NAMESPACE;
    // A namespaced project has its role in every namespace that it watches.
    let normal = |mut permission: Permission| {
        permission.role.0 = permission.role.0.map(|namespace| {
            if is_own(&namespace) {
                NAMESPACE.to_owned()
            } else {
                namespace
            }
        });
        if go.project.namespaced {
            permission.role.0 = None;
        }
        permission
    };
    let source: String = markers
        .of_roles()
        .iter()
        .map(|marker| format!("// {marker}\n"))
        .collect();
    let (read, _) = code_marker::read(PATH, &source);
    let roles = rbac::roles(&read, &own, None).unwrap_or_default();
    let ours: BTreeSet<Permission> = roles.iter().flat_map(permissions).map(normal).collect();
    let theirs = documents.iter().flat_map(permissions).map(normal);
    let theirs = with_usual_name(theirs.collect(), &ours, remaining);
    let more: Vec<&Permission> = ours.difference(&theirs).collect();
    if !more.is_empty() {
        remaining.add(Step::Lost, also_granted(&more));
    }
    let mut missing = Vec::new();
    for (key, verbs) in grouped(theirs.difference(&ours)) {
        let text = marker(&key, &verbs);
        let (read, errors) = code_marker::read(PATH, &format!("// {text}\n"));
        let refused = rbac::roles(&read, &own, None).err().into_iter().flatten();
        match errors.into_iter().chain(refused).next() {
            None => missing.push(text),
            Some(error) => remaining.add(
                Step::Lost,
                format!(
                    "`{PATH}` grants what no marker can: `{text}`: {}; {}",
                    error.message, error.help
                ),
            ),
        }
    }
    Ok(missing)
}

/// What the markers grant and the file does not.
fn also_granted(more: &[&Permission]) -> String {
    let list: BTreeSet<String> = more
        .iter()
        .map(|it| format!("`{}` on `{}`", it.verb, it.full_target()))
        .collect();
    let list: Vec<String> = list.into_iter().collect();
    format!(
        "`{PATH}` of the project in Go is out of date: its markers also grant {}, and so does the new role",
        list.join(", ")
    )
}

/// The permissions with the usual name for a role that controller-gen has given another one, and no marker names.
fn with_usual_name(
    theirs: BTreeSet<Permission>,
    ours: &BTreeSet<Permission>,
    remaining: &mut Remaining,
) -> BTreeSet<Permission> {
    if theirs.iter().any(|it| it.role.1 == MANAGER_ROLE) {
        return theirs;
    }
    let known: BTreeSet<&str> = ours.iter().map(|it| it.role.1.as_str()).collect();
    let mut others = BTreeSet::new();
    let theirs = theirs.into_iter().map(|mut permission| {
        let name = &mut permission.role.1;
        if !known.contains(name.as_str()) {
            others.insert(std::mem::replace(name, MANAGER_ROLE.to_owned()));
        }
        permission
    });
    let theirs = theirs.collect();
    for name in others {
        remaining.add(
            Step::Deployment,
            format!("The role in Go is called `{name}`, and the new one `{MANAGER_ROLE}`: delete the old one, and its binding, when the new one is deployed"),
        );
    }
    theirs
}

impl Permission {
    fn full_target(&self) -> String {
        match &self.group {
            Some(group) if !group.is_empty() => format!("{}.{group}", self.target),
            _ => self.target.clone(),
        }
    }
}

/// The permissions of a role.
fn permissions(role: &Value) -> Vec<Permission> {
    let metadata = &role["metadata"];
    let text = |name: &str| metadata[name].as_str().map(str::to_owned);
    let key = match role["kind"].as_str() {
        Some("ClusterRole") => (None, text("name").unwrap_or_default()),
        Some("Role") => (
            text("namespace").or(Some(NAMESPACE.to_owned())),
            text("name").unwrap_or_default(),
        ),
        _ => return Vec::new(),
    };
    let mut all = Vec::new();
    for rule in list_of(role, "rules") {
        let names: BTreeSet<String> = texts_of(rule, "resourceNames").map(str::to_owned).collect();
        let of_group = |group| texts_of(rule, "resources").map(move |it| (Some(group), it));
        let of_groups = texts_of(rule, "apiGroups").flat_map(of_group);
        let urls = texts_of(rule, "nonResourceURLs").map(|url| (None, url));
        for (group, target) in of_groups.chain(urls) {
            all.extend(texts_of(rule, "verbs").map(|verb| Permission {
                role: key.clone(),
                group: group.map(str::to_owned),
                target: target.to_owned(),
                names: names.clone(),
                verb: verb.to_owned(),
            }));
        }
    }
    all
}

/// The role, the group, the resource and the names of a marker.
type Key = (
    (Option<String>, String),
    Option<String>,
    String,
    BTreeSet<String>,
);

/// The verbs of each target.
fn grouped<'a>(
    permissions: impl Iterator<Item = &'a Permission>,
) -> BTreeMap<Key, BTreeSet<String>> {
    let mut grouped: BTreeMap<Key, BTreeSet<String>> = BTreeMap::new();
    for it in permissions {
        let key = (
            it.role.clone(),
            it.group.clone(),
            it.target.clone(),
            it.names.clone(),
        );
        grouped.entry(key).or_default().insert(it.verb.clone());
    }
    grouped
}

fn marker((role, group, target, names): &Key, verbs: &BTreeSet<String>) -> String {
    let list = |words: &BTreeSet<String>| words.iter().cloned().collect::<Vec<_>>().join(";");
    let mut arguments = Vec::new();
    match group {
        Some(group) if group.is_empty() => arguments.push("groups=\"\"".to_owned()),
        Some(group) => arguments.push(format!("groups={group}")),
        None => arguments.push(format!("urls={target}")),
    }
    if group.is_some() {
        arguments.push(format!("resources={target}"));
    }
    if !names.is_empty() {
        arguments.push(format!("resourceNames={}", list(names)));
    }
    arguments.push(format!("verbs={}", list(verbs)));
    if let Some(namespace) = &role.0 {
        arguments.push(format!("namespace={namespace}"));
    }
    if role.1 != MANAGER_ROLE {
        arguments.push(format!("roleName={}", role.1));
    }
    format!("+kbr:rbac:{}", arguments.join(","))
}
