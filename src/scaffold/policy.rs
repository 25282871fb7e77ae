//! Admission policies: each in a file of its own, with its test, and what the first policy of a project adds.

use crate::layout::{self, Place};
use crate::marker::ScaffoldMarker;
use crate::project::{PolicyType, Project, Resource};
use crate::templates::{PolicyContext, all};

use super::{Part, context, of_test};

/// The policy with its test.
pub(crate) fn policy_files(
    project: &Project,
    resource: &Resource,
    policy: PolicyType,
) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = policy_context(project, resource, policy);
    let [template, test] = match policy {
        PolicyType::Mutating => [all::MUTATING_POLICY, all::MUTATING_POLICY_TEST],
        PolicyType::Validating => [all::VALIDATING_POLICY, all::VALIDATING_POLICY_TEST],
    };
    let which = policy.to_string();
    vec![
        Part::file(place.policy(&which), &template, &context),
        Part::file(place.webhook_test(&part(policy)), &test, &context),
    ]
}

/// What the policies of a type need besides their own files.
pub(super) fn around_policies(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let mut parts = Vec::new();
    for policy in resource.policies.all() {
        let context = policy_context(project, resource, policy);
        let file = |path: String, template| Part::file(path, &template, &context);
        let names = format!("{}name_references.yaml", layout::POLICIES);
        parts.extend([
            file(
                layout::POLICY_KUSTOMIZATION.to_owned(),
                all::POLICY_KUSTOMIZATION,
            ),
            file(names, all::POLICY_NAMES),
            Part::line(
                layout::DEFAULT_KUSTOMIZATION,
                ScaffoldMarker::DefaultResources,
                "- ../policy",
            ),
            Part::line(
                layout::POLICY_KUSTOMIZATION,
                ScaffoldMarker::PolicyResources,
                format!("- {}", place.policy_file(&policy.to_string())),
            ),
        ]);
        parts.extend(of_test(
            &place,
            resource,
            &place.webhook_test_module(&part(policy)),
        ));
    }
    parts
}

/// The part of the name of a test's module.
fn part(policy: PolicyType) -> String {
    format!("{policy}_policy")
}

fn policy_context(project: &Project, resource: &Resource, policy: PolicyType) -> PolicyContext {
    let place = Place::of(project, resource);
    PolicyContext {
        resource: context(project, resource),
        api_group: match resource.core_type() {
            Some(core) => core.group.to_owned(),
            None => resource.qualified_group(),
        },
        domain: project.domain.to_string(),
        name: place.policy_name(),
        path: place.policy(&policy.to_string()),
    }
}
