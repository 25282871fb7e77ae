//! What another name means for clusters that have the old one, in words. Pure.

use crate::names::Version;
use crate::project::Resource;

use super::words::Words;

/// What is in a cluster under the old name, and how to move it to the new one.
pub fn of_kind(old: &Resource, words: &Words) -> Vec<String> {
    let (Some([kind, new_kind]), Some([plural, new_plural])) = (&words.kind, words.plurals.last())
    else {
        return Vec::new();
    };
    let group = &words.group[0];
    let everywhere = if old.is_cluster_scoped() { "" } else { " -A" };
    vec![
        format!(
            "in a cluster, `{new_plural}.{group}` is another resource than `{plural}.{group}`: the CRD and each `{kind}` \
             stay there until somebody deletes them, no controller of this project sees them any more, and nothing \
             converts them; to make a `{new_kind}` of each, type `kubectl get {plural}.{group}{everywhere} -o yaml | \
             sed 's/^  kind: {kind}$/  kind: {new_kind}/; /^    resourceVersion:/d' | kubectl create -f -`"
        ),
        format!(
            "for users of a release that had `{kind}`, it is gone, and the objects of it in `tests/stored` are `{new_kind}` \
             objects now: rename a kind before its first release"
        ),
    ]
}

/// How a cluster reacts to a version that is gone, and how to move its objects to the new one.
pub fn of_version(old: &[&Resource], to: &Version) -> Vec<String> {
    let group = old[0].qualified_group();
    let from = &old[0].version;
    let (each, everywhere) = (names(old, &group, " "), everywhere(old));
    let objects = names(old, &format!("{from}.{group}"), ",");
    vec![
        format!(
            "a cluster refuses a CRD without `{from}` as long as its `status.storedVersions` names it, and it names each \
             version that was ever the stored one: `kubectl get crd {each} -o yaml` shows it; to keep the objects all the \
             same, type `kubectl get {objects}{everywhere} -o yaml > objects.yaml`, `kubectl delete crd {each}`, deploy, and \
             `sed 's,^- apiVersion: {group}/{from}$,- apiVersion: {group}/{to},; /^    resourceVersion:/d' objects.yaml | \
             kubectl create -f -`"
        ),
        format!(
            "for users of a release that had `{group}/{from}`, it is gone, and the objects of it in `tests/stored` are of \
             `{to}` now: after a release, add `{to}` with `kbr create api` and leave `{from}` where it is"
        ),
    ]
}

/// What is in a cluster in the old group, and how to move it to the new one.
pub fn of_group(old: &[&Resource], to: &str) -> Vec<String> {
    let group = old[0].qualified_group();
    let (objects, everywhere) = (names(old, &group, ","), everywhere(old));
    vec![
        format!(
            "in a cluster, what is in the group `{to}` is not what is in `{group}`: the CRDs and their objects stay there \
             until somebody deletes them, no controller of this project sees them any more, and nothing converts them; \
             to make a new one of each, type `kubectl get {objects}{everywhere} -o yaml | \
             sed 's,^- apiVersion: {group}/,- apiVersion: {to}/,; /^    resourceVersion:/d' | kubectl create -f -`"
        ),
        format!(
            "for users of a release that had the group `{group}`, it is gone, and the objects of it in `tests/stored` are \
             of `{to}` now: rename a group before its first release"
        ),
    ]
}

/// Resources as kubectl accepts them, each once.
fn names(resources: &[&Resource], group: &str, between: &str) -> String {
    let names = resources.iter().map(|it| format!("{}.{group}", it.plural));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names.join(between)
}

/// The option for objects in all namespaces, if any are in one.
fn everywhere(resources: &[&Resource]) -> &'static str {
    match resources.iter().all(|it| it.is_cluster_scoped()) {
        true => "",
        false => " -A",
    }
}
