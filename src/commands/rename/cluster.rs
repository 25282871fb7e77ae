//! Warnings about what a new name means for clusters that have the old one. Pure.
//!
//! They contain no commands, because no way to recreate objects under another name is safe: deleting an object, or
//! its CRD, deletes what the object owns, and a new object has another UID, so it cannot take that over.

use crate::names::{Kind, Plural, Version};
use crate::project::Resource;

/// When a new name is safe.
const ONLY_WHILE: &str = "rename only while no cluster has objects that somebody needs";

/// What remains in a cluster if the kind has a new name.
pub(super) fn of_kind(old: &Resource, new_kind: &Kind, new_plural: &Plural) -> Vec<String> {
    let (group, kind, plural) = (old.qualified_group(), &old.kind, &old.plural);
    vec![
        format!(
            "in a cluster, `{new_plural}.{group}` is a different resource from `{plural}.{group}`: {}",
            stays(&format!("each `{kind}`"))
        ),
        format!(
            "users of a release that had `{kind}` lose it, and its objects in `tests/stored` are now `{new_kind}` \
             objects: rename a kind before its first release; after a release, keep `{kind}`, or add `{new_kind}` \
             as another kind beside it"
        ),
    ]
}

/// How a cluster reacts if the version has a new name.
pub(super) fn of_version(old: &[&Resource], to: &Version) -> Vec<String> {
    let group = old[0].qualified_group();
    let from = &old[0].version;
    vec![
        format!(
            "a cluster refuses a CRD without `{from}` as long as its `status.storedVersions` lists it, and it lists \
             each version that was ever the stored version; deleting the CRD would delete all of its objects and \
             everything that they own, and objects with a finalizer would wait for the operator: {ONLY_WHILE}"
        ),
        format!(
            "users of a release that had `{group}/{from}` lose it, and its objects in `tests/stored` are now of \
             `{to}`: rename a version before its first release; after a release, leave `{from}` as it is, and add \
             `{to}` with `kbr create api`"
        ),
    ]
}

/// What remains in a cluster if the group has a new name.
pub(super) fn of_group(old: &[&Resource], to: &str) -> Vec<String> {
    let group = old[0].qualified_group();
    vec![
        format!(
            "in a cluster, resources of the group `{to}` are different from those of `{group}`: {}",
            stays("each of their objects")
        ),
        format!(
            "users of a release that had the group `{group}` lose it, and its objects in `tests/stored` are now \
             of `{to}`: rename a group before its first release; after a release, keep `{group}`"
        ),
    ]
}

/// What becomes of objects of the old name.
fn stays(objects: &str) -> String {
    format!(
        "the CRD and {objects} stay there, with everything that they own, and no controller of this project sees \
         them any more; only the old operator removes its finalizers, and a new object cannot take over what an \
         old one owns: {ONLY_WHILE}"
    )
}
