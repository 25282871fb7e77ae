//! Turns the output of `crdgen` into one CustomResourceDefinition document per kind.
//!
//! This module reads that JSON, merges and orders the versions of a kind, and marks the stored one.
//! The schemas are made in [`super::schema`] and the conversion stanza in [`conversion`];
//! [`descriptions`] and [`size`] keep a document small; [`attributes`] refuses what the API server would
//! refuse outside the schema. Files and YAML are handled elsewhere.

mod attributes;
pub(crate) mod columns;
pub(crate) mod conversion;
pub(crate) mod descriptions;
mod error;
pub(crate) mod size;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{Version, crd::merge_crds};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use self::error::CrdError;
use super::json::{ELEMENTS, list_of, schemas_in, text_of};
use super::schema::{Foreign, Structural, structural_schema};
use super::source::{self, Declared};
use crate::error::beginning;

/// One CustomResourceDefinition, ready for a YAML writer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CrdDocument {
    /// The qualified group, with which the name of the file begins.
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    /// Keys are sorted, integer bounds are written as integers.
    pub(crate) document: Value,
    /// The fields whose types are Kubernetes' own, by version and path.
    pub(crate) foreign: BTreeMap<String, BTreeMap<String, Foreign>>,
}

impl CrdDocument {
    /// The paths of fields that may be null, each once.
    pub(crate) fn nullable_fields(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        for version in list_of(&self.document, "/spec/versions") {
            let schemas = schemas_in(&version["schema"]["openAPIV3Schema"]).into_iter();
            // Elements of lists and maps may be null because their type says so.
            let is_element = |path: &str| ELEMENTS.iter().any(|(_, step)| path.ends_with(step));
            let nullable = schemas.filter(|(path, it)| it["nullable"] == true && !is_element(path));
            paths.extend(nullable.map(|(path, _)| path));
        }
        paths
    }
}

/// The output of `crdgen` for one type. After a panic one of the three parts is missing.
#[derive(Deserialize)]
pub(crate) struct CompiledType {
    #[serde(rename = "type")]
    name: String,
    crd: Option<CustomResourceDefinition>,
    serialize: Option<Value>,
    deserialize: Option<Value>,
    panic: Option<String>,
}

/// One version of a kind: its name, its CRD, and its finished schema.
type VersionCrd = (String, CustomResourceDefinition, Structural);

/// Reads the output of crdgen.
pub(crate) fn read(crdgen_json: &str) -> Result<Vec<CompiledType>, CrdError> {
    serde_json::from_str(crdgen_json).map_err(CrdError::Unreadable)
}

/// Separates Kubernetes' own types from the project's: the path of each, and its schema.
pub(crate) fn take_kubernetes(
    compiled: &mut Vec<CompiledType>,
) -> Result<Vec<(String, Value)>, Vec<CrdError>> {
    let is_kubernetes = |one: &CompiledType| one.name.starts_with("k8s_openapi::");
    let mut found = Vec::new();
    let own = std::mem::take(compiled);
    let (kubernetes, own): (Vec<_>, Vec<_>) = own.into_iter().partition(is_kubernetes);
    *compiled = own;
    for one in kubernetes {
        let (Some(serialize), Some(deserialize)) = (&one.serialize, &one.deserialize) else {
            continue;
        };
        let structural = structural_schema(serialize, deserialize).map_err(|refusals| {
            let refused = |refusal| CrdError::Refused {
                name: one.name.clone(),
                refusal,
            };
            refusals.into_iter().map(refused).collect::<Vec<_>>()
        })?;
        found.push((one.name, structural.schema));
    }
    Ok(found)
}

/// The names that a compiled type declares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeName {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, plural) = (&self.kind, &self.plural);
        write!(f, "{}/{} {kind} ({plural})", self.group, self.version)
    }
}

/// The names of the types, or `None` if one of them panicked and has no name.
pub(crate) fn type_names(compiled: &[CompiledType]) -> Option<BTreeSet<TypeName>> {
    compiled.iter().map(CompiledType::type_name).collect()
}

/// The cluster-scoped types.
pub(crate) fn cluster_scoped(compiled: &[CompiledType]) -> BTreeSet<TypeName> {
    let is_cluster_scoped = |one: &&CompiledType| {
        let crd = one.crd.as_ref();
        crd.is_some_and(|crd| crd.spec.scope == "Cluster")
    };
    let wanted = compiled.iter().filter(is_cluster_scoped);
    wanted.filter_map(CompiledType::type_name).collect()
}

impl CompiledType {
    /// Restores in the `deserialize` schema what schemars omitted from the sources.
    pub(crate) fn fix(&mut self, types: &[Declared]) {
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
pub(crate) fn custom_resource_definitions<'s>(
    compiled: Vec<CompiledType>,
    stored: impl Fn(&str, &str) -> Option<&'s str>,
) -> Result<Vec<CrdDocument>, Vec<CrdError>> {
    let mut errors = Vec::new();
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for one in compiled {
        match finish_version(one) {
            Ok(version) => {
                let spec = &version.1.spec;
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
    errors.is_empty().then_some(documents).ok_or(errors)
}

/// Finishes the schema of a type, or returns everything that is wrong with it.
///
/// A refusal says more than the panic it caused, so it takes precedence.
fn finish_version(compiled: CompiledType) -> Result<VersionCrd, Vec<CrdError>> {
    let name = || compiled.name.clone();
    let panicked = || {
        let message = compiled.panic.as_deref().unwrap_or("no message");
        // kube prints whole schemas.
        let (name, message) = (name(), beginning(message, 200));
        vec![CrdError::Panicked { name, message }]
    };
    let (Some(serialize), Some(deserialize)) = (compiled.serialize, compiled.deserialize) else {
        return Err(panicked());
    };
    let refused = |refusal| CrdError::Refused {
        name: name(),
        refusal,
    };
    let structural = structural_schema(&serialize, &deserialize)
        .map_err(|refusals| refusals.into_iter().map(refused).collect::<Vec<_>>())?;
    let crd = compiled.crd.ok_or_else(panicked)?;
    let version = crd.spec.versions.first().ok_or_else(panicked)?.name.clone();
    let wrong = attributes::check(&crd, &structural.schema).into_iter();
    let wrong = wrong.map(|attribute| CrdError::Attribute {
        name: name(),
        attribute,
    });
    let errors: Vec<_> = wrong.collect();
    let finished = (version, crd, structural);
    errors.is_empty().then_some(finished).ok_or(errors)
}

fn merge_versions(
    group: &str,
    kind: &str,
    mut versions: Vec<VersionCrd>,
    stored: Option<&str>,
) -> Result<CrdDocument, CrdError> {
    versions.sort_by_cached_key(|(version, ..)| Reverse(Version::parse(version).priority()));
    let named = || format!("{kind}.{group}");
    check_versions(named, &versions)?;

    let order: Vec<String> = versions.iter().map(|one| one.0.clone()).collect();
    let (mut schemas, mut foreign) = (BTreeMap::new(), BTreeMap::new());
    let mut crds = Vec::with_capacity(versions.len());
    for (version, crd, structural) in versions {
        foreign.insert(version.clone(), structural.foreign);
        schemas.insert(version, structural.schema);
        crds.push(crd);
    }
    let stored = stored.ok_or_else(|| CrdError::StoredVersionUnset { kind: named() })?;
    // Everything else that could make the merge fail was checked above.
    let mut merged =
        merge_crds(crds.clone(), stored).map_err(|_| CrdError::StoredVersionUnknown {
            kind: named(),
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
fn check_versions(named: impl Fn() -> String, versions: &[VersionCrd]) -> Result<(), CrdError> {
    for ((version, left, _), (next, right, _)) in versions.iter().zip(versions.iter().skip(1)) {
        let (left, right) = (&left.spec, &right.spec);
        if version == next {
            let (kind, version) = (named(), version.clone());
            return Err(CrdError::VersionTwice { kind, version });
        }
        let same = [
            ("scope", left.scope == right.scope),
            ("plural", left.names.plural == right.names.plural),
            ("singular", left.names.singular == right.names.singular),
        ];
        if let Some((property, _)) = same.into_iter().find(|(_, is_same)| !is_same) {
            let kind = named();
            return Err(CrdError::Mismatch { kind, property });
        }
    }
    Ok(())
}

/// The JSON of a CRD with its schemas inserted unchanged: k8s-openapi would read bounds as floats.
fn document(crd: &CustomResourceDefinition, schemas: &mut BTreeMap<String, Value>) -> Value {
    let mut document = json!(crd);
    let list = document["spec"]["versions"].as_array_mut();
    let versions = list.into_iter().flatten();
    for version in versions.filter_map(Value::as_object_mut) {
        if let Some(schema) = schemas.remove(text_of(version, "name")) {
            version.insert("schema".to_owned(), json!({ "openAPIV3Schema": schema }));
            version.sort_keys();
        }
    }
    document
}
