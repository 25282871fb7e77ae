//! The files and lines of webhooks: what is rendered, and what goes above which marker.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::cli::WebhookArgs;
use crate::layout;
use crate::marker::{ScaffoldMarker, line_order};
use crate::names::Version;
use crate::plan::Change;
use crate::project::{Admission, CoreType, Project, Resource};
use crate::templates::{self, AdmissionContext, ConfigContext, ConverterContext, VersionContext};

use super::super::init::with_license;
use super::super::{create, insert};

/// What the first webhook of a project brings along, below `config/`.
const CONFIG: [&str; 8] = [
    "certmanager/certificate-webhook.yaml",
    "certmanager/issuer.yaml",
    "certmanager/kustomization.yaml",
    "default/manager_webhook_patch.yaml",
    "default/webhook_replacements.yaml",
    "network-policy/allow-webhook-traffic.yaml",
    "webhook/kustomization.yaml",
    "webhook/service.yaml",
];

/// Where the marker's line stands that switches each of them on.
const SWITCHED_ON: [(ScaffoldMarker, &str); 4] = [
    (ScaffoldMarker::DefaultResources, "- ../certmanager"),
    (ScaffoldMarker::DefaultResources, "- ../webhook"),
    (
        ScaffoldMarker::DefaultPatches,
        "- {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}",
    ),
    (
        ScaffoldMarker::DefaultReplacements,
        "- path: webhook_replacements.yaml",
    ),
];

/// Name of the part of a webhook's modules that says what it does.
fn part(admission: Admission) -> &'static str {
    match admission {
        Admission::Defaulting => "defaulter",
        Admission::Validation => "validator",
    }
}

const CONVERTER: &str = "converter";

/// Everything that `wanted` and the spokes of `args` need, for the type as it is `after`.
pub fn changes(
    project: &Project,
    before: &Resource,
    after: &Resource,
    wanted: &[Admission],
    args: &WebhookArgs,
) -> Vec<Change> {
    let mut changes = of_project(project, after, args.force);
    let there = version_modules(project);
    let admission = (!wanted.is_empty()).then_some(&after.version);
    let versions: BTreeSet<&Version> = admission.into_iter().chain(&args.spoke).collect();
    for version in versions.into_iter().filter(|v| !there.contains(*v)) {
        changes.extend(of_version(project, version, args.force));
    }
    for &admission in wanted {
        let (part, context) = (
            part(admission),
            admission_context(project, after, admission),
        );
        changes.extend(of_part(project, after, part, &context, args.force));
        if !before.webhooks().has(admission) {
            changes.extend(lines(after, part));
        }
    }
    for spoke in &args.spoke {
        let context = converter_context(project, after, spoke);
        let resource = Resource {
            version: spoke.clone(),
            ..after.clone()
        };
        changes.extend(of_part(project, &resource, CONVERTER, &context, args.force));
        if !before.webhooks().spoke.contains(spoke) {
            changes.extend(lines(&resource, CONVERTER));
        }
    }
    changes
}

/// What the first webhook of the project brings along, and the first that is asked for admission.
fn of_project(project: &Project, after: &Resource, force: bool) -> Vec<Change> {
    let all = || project.resources.iter().map(Resource::webhooks);
    let mut changes = Vec::new();
    if !all().any(|webhooks| webhooks.conversion || webhooks.has_admission()) {
        let context = ConfigContext {
            project: project.project_name.to_string(),
        };
        for path in CONFIG {
            let text = templates::render(&format!("webhook/config/{path}"), &context);
            changes.push(create(format!("config/{path}"), text, force));
        }
        for (marker, line) in SWITCHED_ON {
            changes.push(insert(layout::DEFAULT_KUSTOMIZATION, marker, line));
        }
        changes.push(insert(
            layout::NETWORK_POLICY_KUSTOMIZATION,
            ScaffoldMarker::NetworkPolicyResources,
            "- allow-webhook-traffic.yaml",
        ));
    }
    // `kbr manifests` writes the file, and a folder that lists one that is not there is no folder.
    if after.webhooks().has_admission() && !all().any(|webhooks| webhooks.has_admission()) {
        changes.push(insert(
            layout::WEBHOOK_KUSTOMIZATION,
            ScaffoldMarker::WebhookResources,
            "- manifests.yaml",
        ));
    }
    changes
}

/// The versions that have a module of webhooks.
fn version_modules(project: &Project) -> BTreeSet<Version> {
    let of = |resource: &Resource| {
        let webhooks = resource.webhooks();
        let own = webhooks.has_admission().then(|| resource.version.clone());
        own.into_iter().chain(webhooks.spoke)
    };
    project.resources.iter().flat_map(of).collect()
}

fn of_version(project: &Project, version: &Version, force: bool) -> [Change; 2] {
    let context = VersionContext {
        version: version.to_string(),
    };
    let text = with_license(project, templates::render("webhook/version.rs", &context));
    [
        create(layout::webhook_version_module(version), text, force),
        insert(
            layout::WEBHOOKS,
            ScaffoldMarker::Modules,
            format!("pub mod {version};"),
        ),
    ]
}

/// A webhook of one version, with its test.
fn of_part(
    project: &Project,
    resource: &Resource,
    part: &str,
    context: &impl Serialize,
    force: bool,
) -> [Change; 2] {
    let (version, kind) = (&resource.version, &resource.kind);
    let file = |path: String, template: &str| {
        let text = templates::render(&format!("webhook/{template}.rs"), context);
        create(path, with_license(project, text), force)
    };
    [
        file(layout::webhook(version, kind, part), part),
        file(
            layout::webhook_test(version, kind, part),
            &format!("{part}_test"),
        ),
    ]
}

/// The lines that wire a new one in.
fn lines(resource: &Resource, part: &str) -> [Change; 3] {
    let (version, kind) = (&resource.version, &resource.kind);
    let module = layout::webhook_module(kind, part);
    let test = layout::webhook_test_module(version, kind, part);
    [
        insert(
            &layout::webhook_version_module(version),
            ScaffoldMarker::Modules,
            format!("pub mod {module};"),
        ),
        insert(
            layout::LIB,
            ScaffoldMarker::Webhooks,
            format!("webhook::{version}::{module}::register,"),
        ),
        insert(
            layout::TESTS,
            ScaffoldMarker::Modules,
            format!("mod {test};"),
        ),
    ]
}

/// Name of a webhook in the configuration that the API server reads: a domain name of three labels
/// or more, and unique there.
pub fn webhook_name(project: &Project, resource: &Resource, admission: Admission) -> String {
    let letter = match admission {
        Admission::Defaulting => 'm',
        Admission::Validation => 'v',
    };
    let group = resource.qualified_group();
    let domain = if resource.core {
        format!("{group}.{}", project.domain)
    } else {
        group
    };
    let (kind, version) = (resource.kind.lower(), &resource.version);
    format!("{letter}{kind}-{version}.{domain}")
}

fn admission_context(
    project: &Project,
    resource: &Resource,
    admission: Admission,
) -> AdmissionContext {
    let core = resource.core_type();
    // Two quotes are how a marker says the nameless group.
    let group = match core {
        Some(core) if core.group.is_empty() => "\"\"".to_owned(),
        _ => resource.qualified_group(),
    };
    AdmissionContext {
        bounds_names: core.is_some_and(CoreType::bounds_names),
        cluster: resource.is_cluster_scoped(),
        core: resource.core,
        domain: project.domain.to_string(),
        example: core.map(|core| core.example).unwrap_or_default().to_owned(),
        group,
        kind: resource.kind.to_string(),
        kind_lower: resource.kind.lower(),
        module: core.map(|core| core.module).unwrap_or_default().to_owned(),
        name: webhook_name(project, resource, admission),
        path: resource
            .webhook_path(admission)
            .map(String::from)
            .unwrap_or_default(),
        plural: resource.plural.to_string(),
        project: project.project_name.to_string(),
        sample: layout::sample_file(resource),
        version: resource.version.to_string(),
    }
}

fn converter_context(project: &Project, hub: &Resource, spoke: &Version) -> ConverterContext {
    let (hub_version, spoke_version) = (hub.version.to_string(), spoke.to_string());
    let mut versions = [hub_version.clone(), spoke_version.clone()];
    versions.sort_by(|a, b| line_order(a, b));
    let spoke = Resource {
        version: spoke.clone(),
        ..hub.clone()
    };
    ConverterContext {
        cluster: hub.is_cluster_scoped(),
        crate_name: project.project_name.crate_name(),
        hub: hub_version,
        hub_sample: layout::sample_file(hub),
        kind: hub.kind.to_string(),
        module: layout::webhook_module(&hub.kind, CONVERTER),
        spoke: spoke_version,
        spoke_sample: layout::sample_file(&spoke),
        versions: format!("{{{}}}", versions.join(", ")),
    }
}
