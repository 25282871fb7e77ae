//! Turns the output of `crdgen` into one CustomResourceDefinition document per kind.
//!
//! This module reads that JSON, merges and orders the versions of a kind, and marks the stored one.
//! The schemas are made in [`super::schema`] and the conversion stanza in [`conversion`];
//! [`descriptions`] and [`size`] keep a document small; [`attributes`] refuses what the API server would
//! refuse outside the schema. Files and YAML are handled elsewhere.

mod attributes;
pub mod conversion;
pub mod descriptions;
mod error;
pub mod size;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{Version, crd::merge_crds};
use serde::Deserialize;
use serde_json::{Value, json};

pub use self::error::CrdError;
use super::json::{ELEMENTS, fields_of, list_of, path_of, text_of};
use super::schema::{Foreign, Structural, structural_schema};
use super::source::{self, Declared};
use crate::error::beginning;

/// One CustomResourceDefinition, ready for a YAML writer.
#[derive(Clone, Debug, PartialEq)]
pub struct CrdDocument {
    /// The qualified group, with which the name of the file begins.
    pub group: String,
    pub kind: String,
    pub plural: String,
    /// Keys are sorted, integer bounds are written as integers.
    pub document: Value,
    /// The fields whose types are Kubernetes' own, by version and path.
    pub foreign: BTreeMap<String, BTreeMap<String, Foreign>>,
}

impl CrdDocument {
    /// The paths of fields that may be null, each once.
    pub fn nullable_fields(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        for version in list_of(&self.document, "/spec/versions") {
            nullable_fields(&version["schema"]["openAPIV3Schema"], "", &mut paths);
        }
        paths
    }
}

/// Omits elements of lists and maps: they may be null because their type says so.
fn nullable_fields(schema: &Value, path: &str, paths: &mut BTreeSet<String>) {
    for (name, property) in fields_of(schema) {
        let path = path_of(path, name);
        nullable_fields(property, &path, paths);
        if property["nullable"] == true {
            paths.insert(path);
        }
    }
    for (key, step) in ELEMENTS {
        if let Some(element) = schema.get(key) {
            nullable_fields(element, &format!("{path}{step}"), paths);
        }
    }
}

/// The output of `crdgen` for one type. After a panic one of the three parts is missing.
#[derive(Deserialize)]
pub struct CompiledType {
    #[serde(rename = "type")]
    name: String,
    crd: Option<CustomResourceDefinition>,
    serialize: Option<Value>,
    deserialize: Option<Value>,
    panic: Option<String>,
}

/// One version of a kind, with its finished schema.
struct VersionCrd {
    crd: CustomResourceDefinition,
    version: String,
    structural: Structural,
}

/// Reads the output of crdgen.
pub fn read(crdgen_json: &str) -> Result<Vec<CompiledType>, CrdError> {
    serde_json::from_str(crdgen_json).map_err(CrdError::Unreadable)
}

/// The names that a compiled type declares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeName {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            version,
            kind,
            plural,
        } = self;
        write!(f, "{group}/{version} {kind} ({plural})")
    }
}

/// The names of the types, or `None` if one of them panicked and has no name.
pub fn type_names(compiled: &[CompiledType]) -> Option<BTreeSet<TypeName>> {
    compiled.iter().map(CompiledType::type_name).collect()
}

/// The cluster-scoped types.
pub fn cluster_scoped(compiled: &[CompiledType]) -> BTreeSet<TypeName> {
    let is_cluster_scoped = |one: &&CompiledType| {
        let crd = one.crd.as_ref();
        crd.is_some_and(|crd| crd.spec.scope == "Cluster")
    };
    let wanted = compiled.iter().filter(is_cluster_scoped);
    wanted.filter_map(CompiledType::type_name).collect()
}

impl CompiledType {
    /// Restores in the `deserialize` schema what schemars omitted from the sources.
    pub fn fix(&mut self, types: &[Declared]) {
        let mut modules: Vec<&str> = self.name.split("::").collect();
        modules.pop();
        if let Some(schema) = &mut self.deserialize {
            source::fix(schema, &modules, types);
        }
    }

    fn type_name(&self) -> Option<TypeName> {
        let spec = &self.crd.as_ref()?.spec;
        Some(TypeName {
            group: spec.group.clone(),
            version: spec.versions.first()?.name.clone(),
            kind: spec.names.kind.clone(),
            plural: spec.names.plural.clone(),
        })
    }
}

/// Makes the CRD documents of a project, sorted by their names.
///
/// `stored` returns the version of a group and kind that is written to etcd. The versions of a kind
/// are in the order in which Kubernetes prefers them, which is also how `kubectl` picks one:
/// stable before beta before alpha, and each newest first.
pub fn custom_resource_definitions<'s>(
    compiled: Vec<CompiledType>,
    stored: impl Fn(&str, &str) -> Option<&'s str>,
) -> Result<Vec<CrdDocument>, Vec<CrdError>> {
    let mut errors = Vec::new();
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for one in compiled {
        match finish_version(one) {
            Ok(version) => {
                let spec = &version.crd.spec;
                let kind = (spec.group.clone(), spec.names.kind.clone());
                kinds.entry(kind).or_default().push(version);
            }
            Err(refused) => errors.extend(refused),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut documents = Vec::new();
    for ((group, kind), versions) in kinds {
        match merge_versions(&group, &kind, versions, stored(&group, &kind)) {
            Ok(document) => documents.push(document),
            Err(error) => errors.push(error),
        }
    }
    documents.sort_by_cached_key(|crd| format!("{}.{}", crd.plural, crd.group));
    if errors.is_empty() {
        Ok(documents)
    } else {
        Err(errors)
    }
}

/// Finishes the schema of a type, or returns everything that is wrong with it.
///
/// A refusal says more than the panic it caused, so it takes precedence.
fn finish_version(compiled: CompiledType) -> Result<VersionCrd, Vec<CrdError>> {
    let name = compiled.name;
    let panicked = |message: Option<String>| CrdError::Panicked {
        name: name.clone(),
        // kube prints whole schemas.
        message: beginning(message.as_deref().unwrap_or("no message"), 200),
    };
    let (Some(serialize), Some(deserialize)) = (compiled.serialize, compiled.deserialize) else {
        return Err(vec![panicked(compiled.panic)]);
    };
    let structural = structural_schema(&serialize, &deserialize).map_err(|refusals| {
        let errors = refusals.into_iter().map(|refusal| CrdError::Refused {
            name: name.clone(),
            refusal,
        });
        errors.collect::<Vec<_>>()
    })?;
    let Some(crd) = compiled.crd else {
        return Err(vec![panicked(compiled.panic)]);
    };
    let Some(version) = crd.spec.versions.first() else {
        return Err(vec![panicked(None)]);
    };
    let version = version.name.clone();
    let wrong = attributes::check(&crd, &structural.schema);
    if wrong.is_empty() {
        return Ok(VersionCrd {
            crd,
            version,
            structural,
        });
    }
    let errors = wrong.into_iter().map(|attribute| CrdError::Attribute {
        name: name.clone(),
        attribute,
    });
    Err(errors.collect())
}

fn merge_versions(
    group: &str,
    kind: &str,
    mut versions: Vec<VersionCrd>,
    stored: Option<&str>,
) -> Result<CrdDocument, CrdError> {
    versions.sort_by_cached_key(|one| std::cmp::Reverse(Version::parse(&one.version).priority()));
    check_versions(group, kind, &versions)?;

    let order: Vec<String> = versions.iter().map(|one| one.version.clone()).collect();
    let (mut schemas, mut foreign) = (BTreeMap::new(), BTreeMap::new());
    let mut crds = Vec::with_capacity(versions.len());
    for one in versions {
        foreign.insert(one.version.clone(), one.structural.foreign);
        schemas.insert(one.version, one.structural.schema);
        crds.push(one.crd);
    }
    let stored = stored.ok_or_else(|| CrdError::StoredVersionUnset {
        group: group.to_owned(),
        kind: kind.to_owned(),
    })?;
    // Everything else that could make the merge fail was checked above.
    let mut merged =
        merge_crds(crds.clone(), stored).map_err(|_| CrdError::StoredVersionUnknown {
            group: group.to_owned(),
            kind: kind.to_owned(),
            stored: stored.to_owned(),
            versions: order.clone(),
        })?;
    for one in &crds {
        attributes::unite(&mut merged, one);
    }
    let versions = &mut merged.spec.versions;
    versions.sort_by_key(|one| order.iter().position(|name| *name == one.name));
    let names = &mut merged.spec.names;
    names.list_kind.get_or_insert_with(|| format!("{kind}List"));

    Ok(CrdDocument {
        group: group.to_owned(),
        kind: kind.to_owned(),
        plural: names.plural.clone(),
        document: document(&merged, &mut schemas),
        foreign,
    })
}

/// Checks the properties that all versions must have in common.
fn check_versions(group: &str, kind: &str, versions: &[VersionCrd]) -> Result<(), CrdError> {
    for pair in versions.windows(2) {
        let [left, right] = [&pair[0].crd.spec, &pair[1].crd.spec];
        if pair[0].version == pair[1].version {
            return Err(CrdError::VersionTwice {
                group: group.to_owned(),
                kind: kind.to_owned(),
                version: pair[0].version.clone(),
            });
        }
        let same = [
            ("scope", left.scope == right.scope),
            ("plural", left.names.plural == right.names.plural),
            ("singular", left.names.singular == right.names.singular),
        ];
        if let Some((property, _)) = same.into_iter().find(|(_, is_same)| !is_same) {
            return Err(CrdError::Mismatch {
                group: group.to_owned(),
                kind: kind.to_owned(),
                property,
            });
        }
    }
    Ok(())
}

/// The JSON of a CRD with its schemas inserted unchanged: k8s-openapi would read bounds as floats.
fn document(crd: &CustomResourceDefinition, schemas: &mut BTreeMap<String, Value>) -> Value {
    let mut document = json!(crd);
    let versions = document["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        if let Some(schema) = schemas.remove(text_of(version, "name")) {
            version["schema"] = json!({ "openAPIV3Schema": schema });
            if let Some(version) = version.as_object_mut() {
                version.sort_keys();
            }
        }
    }
    document
}
