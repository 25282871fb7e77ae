//! What another name of a kind means for clusters that have it, in words. Pure.

use crate::project::Resource;

use super::words::Words;

/// What is in a cluster under the old name, and how it comes under the new one.
pub fn of_kind(old: &Resource, words: &Words) -> Vec<String> {
    let ([kind, new_kind], [plural, new_plural]) = (&words.kind, &words.plural);
    let group = &words.group;
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
