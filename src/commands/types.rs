//! The compiled API types, from which `kbr manifests` and `kbr docs` start. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::commands::create_api::error::ApiError;
use crate::commands::desired::Desired;
use crate::commands::error::{Error, Result};
use crate::commands::manifests::error::ManifestsError;
use crate::layout::{self, Place};
use crate::manifests::crd::{self, CrdDocument, TypeName};
use crate::manifests::source::{self, Declared, Remark};
use crate::plan::Change;
use crate::project::{Project, Resource};
use crate::scaffold;
use crate::toolchain::CargoError;
use crate::tree::Tree;

/// What the compiled types of a project provide.
#[derive(Default)]
pub(crate) struct Types {
    pub(crate) crds: Vec<CrdDocument>,
    /// Remarks on fields, shown when a CRD changes.
    pub(crate) remarks: Vec<Remark>,
    /// PROJECT with the scopes from the code, if they were changed there, and warnings about what else
    /// must follow.
    pub(crate) scopes: Option<(Project, Vec<String>)>,
    /// The schemas of Kubernetes' own types that have policies, by their paths in Rust.
    pub(crate) kubernetes: Vec<(String, Value)>,
}

impl Types {
    /// The types, from what crdgen printed.
    ///
    /// They must match PROJECT: otherwise a CRD would disappear silently, or get a name that
    /// nothing else knows.
    pub(crate) fn of(project: &Project, crdgen: &str, tree: &Tree) -> Result<Self> {
        let mut compiled = crd::read(crdgen).map_err(|error| ManifestsError::Types(vec![error]))?;
        let kubernetes = crd::take_kubernetes(&mut compiled).map_err(ManifestsError::Types)?;
        let (types, remarks) = declared(tree);
        compiled.iter_mut().for_each(|entry| entry.fix(&types));
        let scopes = match crd::type_names(&compiled) {
            Some(names) => {
                check_types(project, &names)?;
                scopes(project, &crd::cluster_scoped(&compiled))?
            }
            None => None,
        };
        let stored = |group: &str, kind: &str| {
            let mut stored = project.apis().filter(|api| api.is_stored());
            stored
                .find(|api| api.qualified_group() == group && api.kind.as_str() == kind)
                .map(|api| api.version.as_str())
        };
        let crds =
            crd::custom_resource_definitions(compiled, stored).map_err(ManifestsError::Types)?;
        Ok(Self {
            crds,
            remarks,
            scopes,
            kubernetes,
        })
    }
}

/// Whether crdgen prints anything: types of the project, or types of Kubernetes' own that have policies.
pub(super) fn has_types(project: &Project) -> bool {
    let needs_schema = |it: &Resource| it.core_type().is_some() && !it.policies.is_empty();
    project.apis().next().is_some() || project.resources.iter().any(needs_schema)
}

/// Rewrites crdgen before it runs, if it differs from what PROJECT requires: everything else follows from
/// its output.
pub(super) fn crdgen(project: &Project, tree: &Tree, next: &'static str) -> Option<Desired> {
    let change = scaffold::crdgen(project);
    let Change::Generate { path, text } = &change else {
        return None;
    };
    let warning =
        format!("`{path}` did not match PROJECT: kbr rewrites it, and all CRDs follow from it");
    (tree.text(path) != Some(text)).then(|| Desired {
        next,
        ..Desired::of(project.clone(), vec![change], vec![warning])
    })
}

/// The types that the sources of the API declare, and the remarks on their fields.
fn declared(tree: &Tree) -> (Vec<Declared>, Vec<Remark>) {
    let [api, _] = layout::SOURCES;
    let files = tree.files();
    // The types of other operators make no CRDs, and may have the names of the project's own.
    let others = format!("{}/", layout::EXTERNAL_TYPES.trim_end_matches(".rs"));
    let is_own = |path: &str| path.starts_with(api) && !path.starts_with(&others);
    let sources = files.filter(|(path, _)| is_own(path) && path.ends_with(".rs"));
    let (types, remarks): (Vec<_>, Vec<_>) =
        sources.map(|(path, text)| source::scan(path, text)).unzip();
    let (types, mut remarks) = (types.concat(), remarks.concat());
    remarks.extend(source::open_keys(&types));
    (types, remarks)
}

/// Explains why crdgen crashed, if the sources show it.
pub(super) fn explained(error: CargoError, tree: &Tree) -> Error {
    let (types, _) = declared(tree);
    let endless = source::endless(&types).into_iter();
    let places = endless.map(|one| format!("`{}` in {}:{}", one.name, one.path, one.line));
    let named: Vec<String> = places.collect();
    match error {
        CargoError::Crashed if !named.is_empty() => ManifestsError::EndlessTypes(named).into(),
        error => error.into(),
    }
}

fn check_types(project: &Project, compiled: &BTreeSet<TypeName>) -> Result<()> {
    let known: BTreeSet<TypeName> = project.apis().map(type_name).collect();
    let missing = known
        .difference(compiled)
        .map(|api| format!("`{api}` is in PROJECT, but not in the code"));
    let strange = compiled
        .difference(&known)
        .map(|api| format!("`{api}` is in the code, but not in PROJECT"));
    let differences: Vec<String> = missing.chain(strange).collect();
    if !differences.is_empty() {
        return Err(ManifestsError::TypesDisagree { differences }.into());
    }
    Ok(())
}

/// PROJECT with the scopes from the code, if they were changed there, and warnings about what else must
/// follow.
fn scopes(
    project: &Project,
    cluster_scoped: &BTreeSet<TypeName>,
) -> Result<Option<(Project, Vec<String>)>> {
    let mut after = project.clone();
    let mut warnings = Vec::new();
    for api in &mut after.resources {
        let is_cluster_scoped = cluster_scoped.contains(&type_name(api));
        if is_cluster_scoped == api.is_cluster_scoped() {
            continue;
        }
        let Some(own) = api.api_mut() else { continue };
        if project.namespaced {
            let kind = api.kind.clone();
            return Err(ApiError::ClusterScope { kind }.into());
        }
        own.namespaced = !is_cluster_scoped;
        let place = Place::of(project, api);
        let (is, was) = if is_cluster_scoped {
            ("all", "namespaced")
        } else {
            ("namespaced", "all")
        };
        warnings.push(format!(
            "`{}` is {} now: write `Api::{is}` for `Api::{was}` in `{}` and in `{}`; in a cluster, the \
             CRD has to be deleted first, and its objects with it",
            type_name(api),
            if is_cluster_scoped { "cluster-scoped" } else { "namespaced" },
            place.controller(None),
            place.tests_of_kind(),
        ));
    }
    Ok((!warnings.is_empty()).then_some((after, warnings)))
}

fn type_name(api: &Resource) -> TypeName {
    TypeName {
        group: api.qualified_group(),
        version: api.version.to_string(),
        kind: api.kind.to_string(),
        plural: api.plural.to_string(),
    }
}
