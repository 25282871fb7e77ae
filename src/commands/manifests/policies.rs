//! Checks the admission policies of a project, with the schemas of the kinds that it knows.

use serde_json::Value;

use crate::commands::desired::resources_of;
use crate::commands::error::Result;
use crate::commands::types::Types;
use crate::kustomize;
use crate::layout::{self, Place};
use crate::manifests::json::{list_of, text_of};
use crate::manifests::policy::{self, KnownKind};
use crate::project::Project;
use crate::tree::Tree;
use crate::yaml::YamlError;

use super::error::ManifestsError;

/// Refuses policies that the API server would refuse, or that could not work. Returns warnings about policies that are
/// not deployed.
pub(super) fn check(project: &Project, types: &Types, tree: &Tree) -> Result<Vec<String>> {
    let files = kustomize::files(tree, layout::POLICIES)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = policy::check(&files, kinds(project, types, tree)?);
    if !wrong.is_empty() {
        return Err(ManifestsError::Policies(wrong).into());
    }
    let kustomization = tree.text(layout::POLICY_KUSTOMIZATION);
    let listed = resources_of(kustomization.unwrap_or_default());
    let is_left_out = |(path, text): &&(&str, &str)| {
        let name = path.strip_prefix(layout::POLICIES).unwrap_or_default();
        let mut lines = text.lines();
        lines.any(|line| line.starts_with("kind: ") && line.contains("AdmissionPolicy"))
            && !name.contains('/')
            && !listed.iter().any(|item| item.as_str() == Some(name))
    };
    let advice = match kustomization {
        Some(_) => format!(
            "list it below `resources:` of `{}`",
            layout::POLICY_KUSTOMIZATION
        ),
        None => "delete it, or list it in a kustomization that `config/default` lists".to_owned(),
    };
    let left_out = files.iter().filter(is_left_out);
    let warnings = left_out.map(|(path, _)| format!("nothing deploys `{path}`: {advice}"));
    Ok(warnings.collect())
}

/// The kinds of the project, those of other operators that it has a CRD of, and Kubernetes' own that have policies.
fn kinds(project: &Project, types: &Types, tree: &Tree) -> Result<Vec<KnownKind>, YamlError> {
    let mut kinds: Vec<KnownKind> = types
        .crds
        .iter()
        .flat_map(|crd| of_crd(&crd.document))
        .collect();
    for resource in &project.resources {
        if resource.external().is_some() {
            let path = Place::of(project, resource).external_crd();
            let crds = kustomize::objects(tree, &path)?;
            kinds.extend(crds.iter().flat_map(of_crd));
        }
        if let Some(core) = resource.core_type() {
            let path = format!("{}::{}", core.module, core.kind);
            let mut schemas = types.kubernetes.iter();
            kinds.extend(
                schemas
                    .find(|(name, _)| *name == path)
                    .map(|(_, schema)| KnownKind {
                        group: core.group.to_owned(),
                        version: core.version.to_owned(),
                        kind: core.kind.to_owned(),
                        plural: core.plural.to_owned(),
                        schema: schema.clone(),
                    }),
            );
        }
    }
    Ok(kinds)
}

/// The versions of the kind that a CRD defines.
fn of_crd(crd: &Value) -> impl Iterator<Item = KnownKind> {
    let spec = &crd["spec"];
    list_of(spec, "versions").iter().map(|version| KnownKind {
        group: text_of(spec, "group").to_owned(),
        version: text_of(version, "name").to_owned(),
        kind: text_of(spec, "/names/kind").to_owned(),
        plural: text_of(spec, "/names/plural").to_owned(),
        schema: version["schema"]["openAPIV3Schema"].clone(),
    })
}
