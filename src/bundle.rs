//! A bundle for OLM, the Operator Lifecycle Manager, from `config/` and the CRDs.
//!
//! OLM makes some objects itself, from the [`service_version`]: the [`deployment`] with its ServiceAccount, the roles
//! of that account ([`permissions`]), the [`webhooks`] with their Service and their certificates, which it mounts.
//! [`owned`] describes the CRDs there. All other objects are in the bundle as they are. What only the owner knows is
//! in [`layout::BUNDLE_BASE`]. Pure.

mod deployment;
mod error;
mod owned;
mod permissions;
mod service_version;
#[cfg(test)]
pub(crate) mod tests;
mod webhooks;

use std::collections::BTreeMap;

use serde_json::Value;

pub(crate) use error::BundleError;

use crate::error::quoted;
use crate::kustomize::{Build, OPTIONAL, Object, mark, metrics, samples};
use crate::layout;
use crate::manifests::crd::size::{CONFIG_MAP, compressed_files};
use crate::manifests::json::text_of;
use crate::names::{BundleVersion, ImageRef};
use crate::project::Project;
use crate::templates::BUNDLE;
use crate::tree::Tree;
use crate::yaml;
use deployment::Manager;
use service_version::Existing;

/// In the files of the bundle that are the same for every project, where the project's name belongs.
const PROJECT: &str = "PROJECT";

/// The kinds that OLM installs as they are.
///
/// Source: `supportedresources.go` and `operator.go` in `pkg/controller/operators/catalog` of OLM.
const INSTALLED: [&str; 13] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "CustomResourceDefinition",
    "PodDisruptionBudget",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
];

/// The API group of admission policies and their bindings; [`webhooks`] takes out its other kinds.
const POLICIES: &str = "admissionregistration.k8s.io";

/// What is asked for on the command line.
#[derive(Debug, Default)]
pub(crate) struct Release<'a> {
    /// Otherwise the version that the bundle has, or that of `Cargo.toml`.
    pub(crate) version: Option<&'a BundleVersion>,
    /// Otherwise the image that the bundle has, or that of `config/`.
    pub(crate) image: Option<&'a ImageRef>,
}

/// A bundle.
#[derive(Debug)]
pub(crate) struct Made {
    /// The version of the bundle that exists.
    pub(crate) existing: Option<BundleVersion>,
    /// Path and text of each file.
    pub(crate) files: BTreeMap<String, String>,
    /// The text of [`layout::BUNDLE_BASE`], if it does not exist yet.
    pub(crate) base: Option<String>,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn files(
    project: &Project,
    tree: &Tree,
    build: Build,
    release: &Release<'_>,
) -> Result<Made, BundleError> {
    let name = project.project_name.as_str();
    let mut warnings = Vec::new();
    let existing = Existing::read(project, tree)?;
    let chosen = chosen(&existing, tree, release, &mut warnings)?;
    let mut all = objects(project, build)?;
    let certificates = taken(&mut all, |it| it.group() == "cert-manager.io");
    warnings.extend(metrics(&mut all)?);
    let manager = Manager::take(&mut all)?;
    let permissions = permissions::take(&mut all, &manager.accounts())?;
    let webhooks = webhooks::take(&mut all, &manager, name)?;
    warnings.extend(left_out(&mut all));
    let modes = webhooks::install_modes(project, &webhooks)?;
    let secrets = deployment::secrets(&certificates);
    if deployment::measure(&mut all, &secrets) {
        warnings.push(
            "OLM installs no certificates of cert-manager: in the bundle, managers sign the certificate of their \
             metrics themselves, and the ServiceMonitor does not verify it"
                .to_owned(),
        );
    }
    let image = chosen.image.as_deref();
    let has_webhooks = !webhooks.is_empty();
    let installs = manager.deployments(image, has_webhooks, &secrets, project.namespaced);
    if installs.image.starts_with("controller:") {
        warnings.push(format!(
            "the image of the manager is `{}`, which no cluster can pull: type `kbr bundle --image IMAGE`",
            installs.image
        ));
    }
    if let Some(object) = all.iter().find(|it| !INSTALLED.contains(&it.kind())) {
        return Err(BundleError::Kind {
            path: object.file.clone(),
            kind: object.kind().to_owned(),
        });
    }

    let is_crd = |object: &&Object| object.kind() == "CustomResourceDefinition";
    let crds = all.iter().filter(is_crd).map(|it| it.value.clone());
    let crds: Vec<Value> = crds.collect();
    let owned = owned::all(&crds);
    let examples = samples(tree, &crds)?;
    warnings.extend(without_sample(&owned, &examples));
    let base = tree.text(layout::BUNDLE_BASE);
    let new_base = base.is_none().then(|| service_version::base(name));
    let base = base.or(new_base.as_deref()).unwrap_or_default();
    let base = service_version::read(base, layout::BUNDLE_BASE)?;
    let parts = service_version::Parts {
        examples,
        installs,
        modes,
        owned,
        permissions,
        version: chosen.version,
        webhooks,
    };
    let path_of = layout::cluster_service_version(name);
    let service_version = service_version::write(base, parts, name);
    let as_they_are = all.iter().map(|it| (path(it), yaml::write(&it.value)));
    let of_kbr = BUNDLE.map(|(path, text)| (path.to_owned(), text.replace(PROJECT, name)));
    let files = as_they_are.chain([(path_of, service_version)]);
    let files: BTreeMap<String, String> = files.chain(of_kbr).collect();
    fits(&files)?;
    Ok(Made {
        existing: existing.version,
        files,
        base: new_base,
        warnings,
    })
}

/// Takes out what OLM, or some of its releases, do not install, and warns if there was any.
fn left_out(all: &mut Vec<Object>) -> Vec<String> {
    let policies = taken(all, |it| it.group() == POLICIES);
    // The pipeline of certified operators refuses a bundle with one, too.
    let of_networks = taken(all, |it| it.kind() == "NetworkPolicy");
    let both = [
        ("admission policies", policies),
        ("network policies", of_networks),
    ];
    let both = both.into_iter().filter(|(_, objects)| !objects.is_empty());
    let warnings = both.map(|(what, objects)| {
        let mut files: Vec<&str> = objects.iter().map(|it| &*it.file).collect();
        files.dedup();
        format!(
            "OLM installs no {what}: the bundle leaves out {}, which whoever installs it must apply",
            quoted(&files)
        )
    });
    warnings.collect()
}

/// Refuses a bundle that is too large for OLM.
fn fits(files: &BTreeMap<String, String>) -> Result<(), BundleError> {
    let (size, limit) = (compressed_files(files.values()), CONFIG_MAP);
    if size > limit {
        Err(BundleError::TooLarge { size, limit })
    } else {
        Ok(())
    }
}

/// The version and the image of the new bundle.
struct Chosen {
    version: BundleVersion,
    /// Otherwise that of `config/`.
    image: Option<String>,
}

fn chosen(
    existing: &Existing,
    tree: &Tree,
    release: &Release<'_>,
    warnings: &mut Vec<String>,
) -> Result<Chosen, BundleError> {
    let is_new = release.version.is_some() && release.version != existing.version.as_ref();
    if let (Some(image), None, true) = (&existing.image, release.image, is_new) {
        warnings.push(format!(
            "the image of the manager is still `{image}`: type that of the new version after `--image`"
        ));
    }
    let version = match release.version.or(existing.version.as_ref()) {
        Some(version) => version.clone(),
        None => service_version::of_manifest(tree)?,
    };
    let image = release.image.map(ToString::to_string);
    Ok(Chosen {
        version,
        image: image.or_else(|| existing.image.clone()),
    })
}

/// The warnings about versions of CRDs that no sample shows.
fn without_sample(owned: &[Value], examples: &[Value]) -> Vec<String> {
    let has_none = |crd: &&Value| {
        let group = text_of(crd, "name").split_once('.');
        let group = group.map(|(_, group)| group).unwrap_or_default();
        let api = format!("{group}/{}", text_of(crd, "version"));
        let mut examples = examples.iter();
        !examples.any(|it| it["kind"] == crd["kind"] && it["apiVersion"] == *api)
    };
    let warning = |crd: &Value| {
        format!(
            "`{}` has no sample of {} in version {}, which catalogs show as an example",
            layout::SAMPLES,
            text_of(crd, "kind"),
            text_of(crd, "version"),
        )
    };
    owned.iter().filter(has_none).map(warning).collect()
}

/// The objects of `config/default` that the bundle is made of, named as they are deployed.
fn objects(project: &Project, build: Build) -> Result<Vec<Object>, BundleError> {
    let (name, namespace) = (&project.project_name, project.project_name.namespace());
    let mut all = build.objects;
    // What nobody has chosen: OLM cannot install a ServiceMonitor without the Prometheus Operator.
    let is_chosen =
        |it: &Object, folder: &&str| build.enabled.contains(folder) || !it.is_in(folder);
    all.retain(|it| OPTIONAL.iter().all(|folder| is_chosen(it, folder)));
    // OLM makes their certificates.
    all.retain(|it| it.file != layout::CERTIFICATES_ROLE);
    for object in &mut all {
        let of_object = text_of(&object.value["metadata"], "namespace");
        let is_elsewhere = !["", mark::NAMESPACE].contains(&of_object);
        let is_role = ["Role", "RoleBinding"].contains(&object.kind());
        if is_elsewhere && !(is_role && project.namespaced) {
            return Err(BundleError::Namespace {
                path: object.file.clone(),
                kind: object.kind().to_owned(),
                namespace: of_object.to_owned(),
            });
        }
        mark::spell_out(&mut object.value, name.as_str(), &namespace);
        if let Some(metadata) = object.value["metadata"].as_object_mut() {
            metadata.shift_remove("namespace");
        }
    }
    Ok(all)
}

/// Takes objects out.
fn taken(all: &mut Vec<Object>, is_it: impl Fn(&Object) -> bool) -> Vec<Object> {
    all.extract_if(.., |object| is_it(object)).collect()
}

/// The path of an object that OLM installs as it is, as operator-sdk names it.
fn path(object: &Object) -> String {
    let file = match object.file.strip_prefix(layout::CRD_BASES) {
        Some(file) => file.to_owned(),
        None => {
            let version = text_of(&object.value, "apiVersion").replace('/', "_");
            let name = text_of(&object.value["metadata"], "name");
            let kind = object.kind().to_lowercase();
            format!("{name}_{version}_{kind}.yaml").replace(':', "-")
        }
    };
    format!("{}manifests/{file}", layout::BUNDLE)
}
