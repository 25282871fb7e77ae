//! Warnings about what a deletion in the project means for clusters. Pure.

use crate::error::join;
use crate::layout::Place;
use crate::manifests::migration::forget;
use crate::names::{Version, objects};
use crate::project::{Admission, PolicyType, Project, Resource};

/// Describes what remains in a cluster when a version of a type is deleted from the project.
pub(super) fn of_api(after: &Project, resource: &Resource) -> String {
    let (kind, version) = (&resource.kind, &resource.version);
    let crd = format!("{}.{}", resource.plural, resource.qualified_group());
    if after.versions_of(resource).next().is_some() {
        return format!(
            "a cluster refuses the CRD `{crd}` without `{version}` as long as its `status.storedVersions` lists it: each \
             `{kind}` there must be rewritten first; before you deploy that CRD, type `{}` in each cluster, or the API \
             server fails every server-side apply of older objects",
            forget(&crd, version.as_str())
        );
    }
    format!(
        "in a cluster, the CRD `{crd}` and each `{kind}` still exist, with everything that they own; deleting the CRD \
         deletes all of that, and waits for finalizers, which only an operator with the controller removes: delete \
         the objects while it still runs"
    )
}

/// Warns about webhook configurations that must be deleted in a cluster: until then, the API server keeps
/// calling the webhooks.
pub(super) fn of_webhooks(before: &Project, after: &Project) -> Vec<String> {
    let has = |project: &Project, admission| {
        let mut resources = project.resources.iter();
        resources.any(|it| it.webhooks().has(admission))
    };
    let all = Admission::ALL.into_iter();
    let deleted = all.filter(|it| has(before, *it) && !has(after, *it));
    let warning = |admission| {
        let (kind, name) = match admission {
            Admission::Defaulting => ("Mutating", objects::MUTATING_CONFIGURATION),
            Admission::Validation => ("Validating", objects::VALIDATING_CONFIGURATION),
        };
        format!(
            "a cluster keeps calling webhooks that no longer exist, and refuses requests, until the {kind}WebhookConfiguration `{}` is deleted there",
            objects::deployed(after.project_name.as_str(), name)
        )
    };
    deleted.map(warning).collect()
}

/// Warns about a policy, which a cluster keeps.
pub(super) fn of_policy(before: &Project, resource: &Resource, policy: PolicyType) -> String {
    let name = Place::of(before, resource).policy_name();
    let name = objects::deployed(before.project_name.as_str(), &name);
    let (start, of) = match policy {
        PolicyType::Mutating => ("Mutating", "changing objects"),
        PolicyType::Validating => ("Validating", "refusing requests"),
    };
    format!(
        "a cluster keeps {of} until the {start}AdmissionPolicyBinding `{name}` and the {start}AdmissionPolicy of the same name are deleted there"
    )
}

/// Describes what happens to versions of a kind that are no longer converted.
pub(super) fn of_conversion(after: &Project, hub: &Resource, spokes: &[Version]) -> String {
    let is_converted = after
        .hub(&hub.qualified_group(), hub.kind.as_str())
        .is_some();
    let kind = &hub.kind;
    let crd = format!("{}.{}", hub.plural, hub.qualified_group());
    if is_converted {
        format!(
            "the API server requests the conversion of each version of `{kind}` that it serves, but nothing converts {}: delete that version too, or write its converter again",
            join(spokes, ", ", Version::to_string)
        )
    } else {
        format!(
            "without a conversion, the API server changes only the `apiVersion` of a `{kind}`: fields that another version \
             does not have are lost; if a cluster refuses the CRD because of `webhookClientConfig`, somebody such as \
             cert-manager has written its `caBundle`: type `kubectl patch crd {crd} --type=json -p \
             '[{{\"op\":\"replace\",\"path\":\"/spec/conversion\",\"value\":{{\"strategy\":\"None\"}}}}]'`, and deploy again"
        )
    }
}
