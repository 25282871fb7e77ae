//! Webhooks: each in a file of its own, with its test, and what the first webhook of a project adds.

use crate::layout::{self, Folder, Place};
use crate::marker::ScaffoldMarker::{DefaultPatches, DefaultReplacements, DefaultResources};
use crate::marker::{ScaffoldMarker, line_order};
use crate::names::Version;
use crate::project::{Admission, Certificates, Project, Resource};
use crate::templates::{
    AdmissionContext, ConverterContext, ImportedConverterContext, ResourceContext, Template,
    Variables, all,
};

use super::{Part, context, of_group, of_test};

/// What the webhooks of a project share; the paths are those of the templates, without `webhook/`.
const CONFIG: [Template<ResourceContext>; 5] = [
    all::MANAGER_WEBHOOK_PATCH,
    all::WEBHOOK_KUSTOMIZATION,
    all::WEBHOOK_NETWORK_POLICY,
    all::WEBHOOK_REPLACEMENTS,
    all::WEBHOOK_SERVICE,
];

/// What cert-manager needs.
const CERT_MANAGER: [Template<ResourceContext>; 3] = [
    all::CERTIFICATE,
    all::CERTMANAGER_KUSTOMIZATION,
    all::ISSUER,
];

/// The lines in the kustomization of the deployment that enable them, each with its marker.
const SWITCHED_ON: [(ScaffoldMarker, &str); 3] = [
    (DefaultResources, "- ../webhook"),
    (
        DefaultPatches,
        "- {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}",
    ),
    (DefaultReplacements, "- path: webhook_replacements.yaml"),
];

/// The line that deploys the roles for certificates that the manager makes itself.
pub(crate) const CERTIFICATES_LINE: &str = "- certificates_role.yaml";

/// The features of the vendored crates that only some webhooks need, as lines in the manifest.
const CERTIFICATES_FEATURE: &str = "\"kbr-runtime/certificates\",";
const CONVERSION_FEATURE: &str = "\"kbr-runtime/conversion\", \"kbr-testing/conversion\",";

/// The part of the names of a conversion's modules.
const CONVERTER: &str = "converter";

/// The part of the names of a webhook's modules that says what the webhook does.
fn part(admission: Admission) -> &'static str {
    match admission {
        Admission::Defaulting => "defaulter",
        Admission::Validation => "validator",
    }
}

/// What the webhooks of a type need besides their own files.
pub(super) fn around_webhooks(project: &Project, resource: &Resource) -> Vec<Part> {
    let webhooks = resource.webhooks();
    let mut parts = Vec::new();
    for admission in Admission::ALL.into_iter().filter(|it| webhooks.has(*it)) {
        parts.extend(around_webhook(project, resource, part(admission)));
        // `kbr manifests` writes the file, and kustomize refuses a list with a file that does not exist.
        parts.push(Part::line(
            layout::WEBHOOK_KUSTOMIZATION,
            ScaffoldMarker::WebhookResources,
            "- manifests.yaml",
        ));
    }
    for version in &webhooks.spoke {
        let spoke = in_version(resource, version);
        parts.extend(around_webhook(project, &spoke, CONVERTER));
        parts.push(Part::line(
            layout::MANIFEST,
            ScaffoldMarker::Features,
            CONVERSION_FEATURE,
        ));
    }
    parts
}

/// The defaulter or validator with its test.
pub(crate) fn admission_files(
    project: &Project,
    resource: &Resource,
    admission: Admission,
) -> Vec<Part> {
    let path = resource.webhook_path(admission);
    let context = AdmissionContext {
        resource: context(project, resource),
        bounds_namespaces: !resource.is_own() && !resource.is_cluster_scoped(),
        spares_system: resource
            .core_type()
            .is_some_and(|core| core.plural == "pods"),
        name: webhook_name(project, resource, admission),
        path: path.map(String::from).unwrap_or_default(),
    };
    let templates = match admission {
        Admission::Defaulting => [all::DEFAULTER, all::DEFAULTER_TEST],
        Admission::Validation => [all::VALIDATOR, all::VALIDATOR_TEST],
    };
    let place = Place::of(project, resource);
    files(&place, part(admission), templates, &context)
}

/// The converter with its test.
pub(crate) fn conversion_files(project: &Project, hub: &Resource, version: &Version) -> Vec<Part> {
    let (spoke, context) = conversion(project, hub, version);
    let place = Place::of(project, &spoke);
    let test = Part::file(
        place.webhook_test(CONVERTER),
        &all::CONVERTER_TEST,
        &context,
    );
    let converter = if hub.is_imported() {
        converter_of_imported(project, hub, version, ["{}"; 2])
    } else {
        Part::file(place.webhook(CONVERTER), &all::CONVERTER, &context)
    };
    vec![converter, test]
}

/// The converter of imported types: path and text. `bases` are the required parts of hub and spoke, as JSON.
pub(crate) fn imported_converter(
    project: &Project,
    hub: &Resource,
    version: &Version,
    bases: [&str; 2],
) -> Option<(String, String)> {
    let part = converter_of_imported(project, hub, version, bases);
    Some((part.path.clone(), part.text(project)?))
}

/// The converter of imported types, whose fields kbr has not scaffolded.
fn converter_of_imported(
    project: &Project,
    hub: &Resource,
    version: &Version,
    bases: [&str; 2],
) -> Part {
    let (spoke, converter) = conversion(project, hub, version);
    let [hub_base, spoke_base] = bases.map(|base| format!("{base:?}"));
    let context = ImportedConverterContext {
        converter,
        hub_base,
        spoke_base,
    };
    let path = Place::of(project, &spoke).webhook(CONVERTER);
    Part::file(path, &all::IMPORTED_CONVERTER, &context)
}

/// The spoke, and what the templates know about the conversion.
fn conversion(
    project: &Project,
    hub: &Resource,
    version: &Version,
) -> (Resource, ConverterContext) {
    let mut versions = [hub.version.module(), version.module()];
    versions.sort_by(|a, b| line_order(a, b));
    let both = versions.join(", ");
    let spoke = in_version(hub, version);
    let (hub_place, spoke_place) = (Place::of(project, hub), Place::of(project, &spoke));
    let context = ConverterContext {
        resource: context(project, hub),
        broken_versions: format!("{{\n    {both},\n}}"),
        hub: hub.version.module(),
        hub_fields: spec_fields(project, hub).to_owned(),
        hub_sample: hub_place.sample_file(),
        module: hub_place.webhook_module(CONVERTER),
        spoke: spoke.version.module(),
        spoke_fields: spec_fields(project, &spoke).to_owned(),
        spoke_sample: spoke_place.sample_file(),
        versions: format!("{{{both}}}"),
    };
    (spoke, context)
}

fn in_version(resource: &Resource, version: &Version) -> Resource {
    Resource {
        version: version.clone(),
        ..resource.clone()
    }
}

fn files<C: Variables>(
    place: &Place<'_>,
    part: &str,
    [template, test]: [Template<C>; 2],
    context: &C,
) -> Vec<Part> {
    vec![
        Part::file(place.webhook(part), &template, context),
        Part::file(place.webhook_test(part), &test, context),
    ]
}

/// The modules around a webhook of one version, the lines that register it, and what all webhooks
/// share.
fn around_webhook(project: &Project, resource: &Resource, part: &str) -> Vec<Part> {
    let place = Place::of(project, resource);
    let (version, module) = (resource.version.module(), place.webhook_module(part));
    let registration = format!(
        "webhook::{}{version}::{module}::register,",
        place.rust_prefix()
    );
    let context = context(project, resource);
    let mut parts = of_project(project, &context);
    parts.extend(of_group(&place, Folder::Webhooks, resource));
    parts.extend([
        Part::file(
            place.webhook_version_module(),
            &all::WEBHOOK_VERSION,
            &context,
        ),
        Part::module(place.parent(Folder::Webhooks), "pub ", version),
        Part::module(place.webhook_version_module(), "pub ", &module),
        Part::line(layout::LIB, ScaffoldMarker::Webhooks, registration),
    ]);
    parts.extend(of_test(&place, resource, &place.webhook_test_module(part)));
    parts
}

/// What all webhooks share.
fn of_project(project: &Project, context: &ResourceContext) -> Vec<Part> {
    let file = |template: Template<ResourceContext>| {
        let path = template.path().trim_start_matches("webhook/");
        Part::file(path, &template, context)
    };
    let mut parts: Vec<Part> = CONFIG.map(file).into();
    match project.certificates {
        Certificates::SelfManaged => parts.extend([
            // `kbr manifests` writes the file.
            Part::line(
                layout::WEBHOOK_KUSTOMIZATION,
                ScaffoldMarker::WebhookResources,
                CERTIFICATES_LINE,
            ),
            Part::line(
                layout::MANIFEST,
                ScaffoldMarker::Features,
                CERTIFICATES_FEATURE,
            ),
        ]),
        Certificates::CertManager => {
            parts.extend(CERT_MANAGER.map(file));
            parts.push(Part::line(
                layout::DEFAULT_KUSTOMIZATION,
                DefaultResources,
                "- ../certmanager",
            ));
        }
    }
    parts.extend(
        SWITCHED_ON.map(|(marker, line)| Part::line(layout::DEFAULT_KUSTOMIZATION, marker, line)),
    );
    parts.push(Part::line(
        layout::NETWORK_POLICY_KUSTOMIZATION,
        ScaffoldMarker::NetworkPolicyResources,
        "- allow-webhook-traffic.yaml",
    ));
    parts
}

/// Name of a webhook in the configuration that the API server reads: a domain name of at least three
/// labels, unique in the configuration.
pub(crate) fn webhook_name(project: &Project, resource: &Resource, admission: Admission) -> String {
    let letter = match admission {
        Admission::Defaulting => 'm',
        Admission::Validation => 'v',
    };
    let group = resource.qualified_group();
    let domain = if resource.is_own() {
        group
    } else {
        format!("{group}.{}", project.domain)
    };
    let (kind, version) = (resource.kind.lower(), &resource.version);
    format!("{letter}{kind}-{version}.{domain}")
}

/// The fields of the spec that kbr has scaffolded for this version of a kind.
fn spec_fields(project: &Project, resource: &Resource) -> &'static str {
    let mut versions = project.versions_of(resource);
    let api = versions.find(|api| api.version == resource.version);
    match api.and_then(Resource::image) {
        Some(_) => "size, image",
        // Clippy disallows a variable named `foo`.
        None => "foo: value",
    }
}
