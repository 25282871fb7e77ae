//! The ClusterServiceVersion: what its owner knows, and what the project says. Pure.

use serde_json::{Map, Value, json};

use super::PROJECT;
use super::deployment::Deployments;
use super::error::BundleError;
use super::permissions::Permissions;
use crate::cargo_toml::Manifest;
use crate::layout;
use crate::manifests::json::{list_of, text_of};
use crate::names::{BundleVersion, objects};
use crate::project::Project;
use crate::templates::BUNDLE_BASE;
use crate::tree::Tree;
use crate::yaml;

/// Version of the first bundle if `Cargo.toml` has none.
const FIRST: &str = "0.1.0";

/// The beginning of the file.
const HEADER: &str = "# Made by `kbr bundle` from the project and `config/manifests/clusterserviceversion.yaml`: edit these.\n";

/// What the bundle that exists says about itself.
#[derive(Debug, Default)]
pub(super) struct Existing {
    pub(crate) version: Option<BundleVersion>,
    /// The image of the manager.
    pub(crate) image: Option<String>,
}

impl Existing {
    pub(super) fn read(project: &Project, tree: &Tree) -> Result<Self, BundleError> {
        let own = layout::cluster_service_version(project.project_name.as_str());
        let own = |(path, _): &(&str, &str)| *path == own;
        // If the project was renamed since, the bundle still has the old name.
        let of_any_name = |(path, _): &(&str, &str)| layout::is_cluster_service_version(path);
        let found = tree.files().find(own);
        let Some((path, text)) = found.or_else(|| tree.files().find(of_any_name)) else {
            return Ok(Self::default());
        };
        let document = read(text, path)?;
        let version = text_of(&document, "/spec/version").parse::<BundleVersion>();
        let version = version.map_err(|source| BundleError::Version {
            path: path.to_owned(),
            source,
        })?;
        let deployments = list_of(&document, "/spec/install/spec/deployments").iter();
        let own = deployments.filter(|it| it["label"][objects::MANAGER_LABEL] == objects::MANAGER);
        let mut containers = own.flat_map(|it| list_of(it, "/spec/template/spec/containers"));
        let manager = containers.find(|it| it["name"] == objects::MANAGER_CONTAINER);
        let image = manager.and_then(|it| it["image"].as_str());
        Ok(Self {
            version: Some(version),
            image: image.map(str::to_owned),
        })
    }
}

/// The version of the operator.
pub(super) fn of_manifest(tree: &Tree) -> Result<BundleVersion, BundleError> {
    let manifest = tree.entry(layout::MANIFEST);
    let manifest = manifest.map(|it| Manifest::read(layout::MANIFEST, it.text()));
    let version = manifest
        .transpose()?
        .and_then(|manifest| manifest.version());
    let version = version.as_deref().unwrap_or(FIRST);
    let version = version.parse::<BundleVersion>();
    version.map_err(|source| BundleError::Version {
        path: layout::MANIFEST.to_owned(),
        source,
    })
}

/// The text of [`layout::BUNDLE_BASE`] in the beginning.
pub(super) fn base(project: &str) -> String {
    let words = project.split('-').filter(|word| !word.is_empty());
    let words = words.map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    let words: Vec<String> = words.collect();
    let text = BUNDLE_BASE.replace("DISPLAY_NAME", &words.join(" "));
    text.replace(PROJECT, project)
}

/// The document of a file.
pub(super) fn read(text: &str, path: &str) -> Result<Value, BundleError> {
    let unreadable = |reason: &str| BundleError::Unreadable {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let documents = yaml::read(path, text)?;
    let [document] = &documents[..] else {
        return Err(unreadable("it is not one document"));
    };
    if document["kind"] != "ClusterServiceVersion" {
        return Err(unreadable("it has another `kind`"));
    }
    let is_map = |pointer: &str| document.pointer(pointer).is_none_or(Value::is_object);
    let maps = [
        "/metadata",
        "/metadata/annotations",
        "/spec",
        "/spec/customresourcedefinitions",
    ];
    match maps.into_iter().find(|pointer| !is_map(pointer)) {
        Some(pointer) => Err(unreadable(&format!(
            "`{}` is not a map",
            pointer[1..].replace('/', ".")
        ))),
        None => Ok(document.clone()),
    }
}

/// What the project says.
#[derive(Debug)]
pub(super) struct Parts {
    pub(crate) examples: Vec<Value>,
    pub(crate) installs: Deployments,
    pub(crate) modes: Vec<Value>,
    pub(crate) owned: Vec<Value>,
    pub(crate) permissions: Permissions,
    pub(crate) version: BundleVersion,
    pub(crate) webhooks: Vec<Value>,
}

/// The text of the ClusterServiceVersion: that of its owner, with what the project says.
pub(super) fn write(mut base: Value, parts: Parts, project: &str) -> String {
    let metadata = map(&mut base, "metadata");
    metadata.insert(
        "name".to_owned(),
        format!("{project}.v{}", parts.version).into(),
    );
    let annotations = map(&mut base["metadata"], "annotations");
    let examples: Value = parts.examples.into();
    annotations.insert("alm-examples".to_owned(), format!("{examples:#}").into());
    annotations.insert("containerImage".to_owned(), parts.installs.image.into());

    let mut install = json!({ "deployments": parts.installs.all });
    for (key, list) in [
        ("permissions", parts.permissions.namespaced),
        ("clusterPermissions", parts.permissions.cluster),
    ] {
        if !list.is_empty() {
            install[key] = list.into();
        }
    }
    let spec = map(&mut base, "spec");
    spec.insert("version".to_owned(), parts.version.to_string().into());
    spec.insert(
        "install".to_owned(),
        json!({ "strategy": "deployment", "spec": install }),
    );
    spec.insert("installModes".to_owned(), parts.modes.into());
    if parts.webhooks.is_empty() {
        drop(spec.shift_remove("webhookdefinitions"))
    } else {
        drop(spec.insert("webhookdefinitions".to_owned(), parts.webhooks.into()))
    }
    let definitions = map(&mut base["spec"], "customresourcedefinitions");
    let edited = definitions.shift_remove("owned").unwrap_or_default();
    let owned = parts.owned.into_iter().map(|own| with_edits(own, &edited));
    let owned: Vec<Value> = owned.collect();
    if !owned.is_empty() {
        definitions.insert("owned".to_owned(), owned.into());
    }
    format!("{HEADER}{}", yaml::write(&base))
}

/// The value of a key, which becomes a map if there is none.
fn map<'a>(of: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !of[key].is_object() {
        of[key] = json!({});
    }
    of[key].as_object_mut().expect("it has just been checked")
}

/// What the project says about a CRD, with what the owner says about the same version of it.
fn with_edits(mut own: Value, edited: &Value) -> Value {
    let same = |it: &&Value| it["name"] == own["name"] && it["version"] == own["version"];
    let edited = edited.as_array().into_iter().flatten().find(same);
    let pairs = edited.and_then(Value::as_object).into_iter().flatten();
    for (key, value) in pairs {
        match (value.as_array(), &mut own[key]) {
            (Some(edited), Value::Array(own)) if key.ends_with("Descriptors") => {
                edited.iter().for_each(|it| describe(own, it));
            }
            (_, own) => *own = value.clone(),
        }
    }
    own
}

/// Adds what the owner says about a field.
fn describe(descriptors: &mut Vec<Value>, edited: &Value) {
    let at = descriptors
        .iter()
        .position(|it| it["path"] == edited["path"]);
    let Some(own) = at.and_then(|at| descriptors.get_mut(at)) else {
        descriptors.push(edited.clone());
        return;
    };
    for (key, value) in edited.as_object().into_iter().flatten() {
        own[key] = value.clone();
    }
}
