//! Warnings about what a new name means for clusters that have the old one. Pure.

use crate::names::Version;
use crate::project::Resource;

use super::words::Words;

/// What remains in a cluster under the old name, and how to move it to the new one.
pub fn of_kind(old: &Resource, words: &Words) -> Vec<String> {
    let (Some([kind, new_kind]), Some([plural, new_plural])) = (&words.kind, words.plurals.last())
    else {
        return Vec::new();
    };
    let group = &words.group[0];
    let everywhere = if old.is_cluster_scoped() { "" } else { " -A" };
    vec![
        format!(
            "in a cluster, `{new_plural}.{group}` is a different resource from `{plural}.{group}`: the CRD and each `{kind}` \
             stay there until somebody deletes them, no controller of this project sees them any more, and nothing \
             converts them; to create a `{new_kind}` from each, type `kubectl get {plural}.{group}{everywhere} -o yaml | \
             sed 's/^  kind: {kind}$/  kind: {new_kind}/; /^    resourceVersion:/d' | kubectl create -f -`"
        ),
        format!(
            "users of a release that had `{kind}` lose it, and its objects in `tests/stored` are now `{new_kind}` \
             objects: rename a kind before its first release"
        ),
    ]
}

/// How a cluster reacts to a removed version, and how to move its objects to the new one.
pub fn of_version(old: &[&Resource], to: &Version) -> Vec<String> {
    let group = old[0].qualified_group();
    let from = &old[0].version;
    let (each, everywhere) = (names(old, &group, " "), everywhere(old));
    let objects = names(old, &format!("{from}.{group}"), ",");
    vec![
        format!(
            "a cluster refuses a CRD without `{from}` as long as its `status.storedVersions` lists it, and it lists each \
             version that was ever the stored version: `kubectl get crd {each} -o yaml` shows it; to keep the objects \
             anyway, type `kubectl get {objects}{everywhere} -o yaml > objects.yaml`, `kubectl delete crd {each}`, deploy, and \
             `sed 's,^- apiVersion: {group}/{from}$,- apiVersion: {group}/{to},; /^    resourceVersion:/d' objects.yaml | \
             kubectl create -f -`"
        ),
        format!(
            "users of a release that had `{group}/{from}` lose it, and its objects in `tests/stored` are now of \
             `{to}`: after a release, add `{to}` with `kbr create api` and leave `{from}` as it is"
        ),
    ]
}

/// What remains in a cluster in the old group, and how to move it to the new one.
pub fn of_group(old: &[&Resource], to: &str) -> Vec<String> {
    let group = old[0].qualified_group();
    let (objects, everywhere) = (names(old, &group, ","), everywhere(old));
    vec![
        format!(
            "in a cluster, resources of the group `{to}` are different from those of `{group}`: the old CRDs and their objects \
             stay there until somebody deletes them, no controller of this project sees them any more, and nothing \
             converts them; to create a new object from each, type `kubectl get {objects}{everywhere} -o yaml | \
             sed 's,^- apiVersion: {group}/,- apiVersion: {to}/,; /^    resourceVersion:/d' | kubectl create -f -`"
        ),
        format!(
            "users of a release that had the group `{group}` lose it, and its objects in `tests/stored` are now \
             of `{to}`: rename a group before its first release"
        ),
    ]
}

/// Resource names for kubectl, each once.
fn names(resources: &[&Resource], group: &str, between: &str) -> String {
    let names = resources.iter().map(|it| format!("{}.{group}", it.plural));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names.join(between)
}

/// The option for all namespaces, if any resource is namespaced.
fn everywhere(resources: &[&Resource]) -> &'static str {
    match resources.iter().all(|it| it.is_cluster_scoped()) {
        true => "",
        false => " -A",
    }
}
