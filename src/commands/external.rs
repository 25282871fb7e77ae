//! Types of other operators: checks the command against the project model, and provides the CRD that tests
//! install.
//!
//! [`crate::import::external`] reads the CRD file. Without a Rust type, kbr makes one from the CRD, as `kbr import crd`
//! does. Pure, except for [`read`].

pub(crate) mod error;

use std::path::Path;

use serde_json::Value;

use crate::cli::{ExternalArgs, TypeArgs};
use crate::commands::crd_files::missing;
use crate::commands::create_api::error::ApiError;
use crate::commands::desired::create;
use crate::commands::error::{Error, Result};
use crate::commands::target::Target;
use crate::import::documents;
use crate::import::external::{self, Absent, ExternalCrd};
use crate::import::hints::Hints;
use crate::import::types::{self, Imported};
use crate::layout::Place;
use crate::manifests::json::{list_of, text_of};
use crate::project::{External, Gvk, Origin, Policies, Project, Resource};
use crate::tree::{self, Given};
use crate::{scaffold, yaml};
use error::ExternalError;

/// The text of the CRD file, if one was given. Its path is relative to the folder that the command works in.
pub(crate) fn read(root: &Path, args: &ExternalArgs) -> Result<Option<String>> {
    let Some(file) = &args.external_api_crd else {
        return Ok(None);
    };
    if let Some(missing) = missing(root, &file.to_string_lossy()) {
        return Err(missing.into());
    }
    match tree::read_text(&root.join(file))? {
        Some(text) => Ok(Some(text)),
        None => Err(ExternalError::NotText { file: file.clone() }.into()),
    }
}

/// The type that the `--external-api` options describe, with the files that tests need.
pub(crate) fn target(
    project: &Project,
    typed: &TypeArgs,
    args: &ExternalArgs,
    crd: Option<&str>,
    force: bool,
) -> Result<Target> {
    let Some(group) = typed.group() else {
        let kind = typed.kind.clone();
        return Err(ExternalError::NoGroup { kind }.into());
    };
    let domain = args.external_api_domain.as_ref();
    let gvk = Gvk {
        group: domain.map_or(group.to_string(), |domain| format!("{group}.{domain}")),
        kind: typed.kind.clone(),
        version: typed.version.clone(),
    };
    let existing = project.resources.iter().find(|other| other.gvk() == gvk);
    if let Some(existing) = existing {
        check_same(existing, args)?;
    }
    let Some(text) = crd else {
        return match existing {
            Some(existing) => Ok(Target {
                resource: Some(existing.clone()),
                ..Target::default()
            }),
            None => Err(ExternalError::NoCrd { gvk }.into()),
        };
    };
    let crd = look_up(&gvk, args, text)?;
    let made = match args.external_api_path {
        Some(_) => None,
        None => Some(make(&gvk, args, text)?),
    };
    if project.namespaced && crd.is_cluster_scoped {
        return Err(ApiError::CoreScope { kind: gvk.kind }.into());
    }
    let new = Resource {
        origin: Origin::External(External {
            domain: domain.cloned(),
            path: args.external_api_path.clone(),
            module: args.external_api_module.clone(),
            is_cluster_scoped: crd.is_cluster_scoped,
        }),
        controllers: Vec::new(),
        group: Some(group.clone()),
        kind: gvk.kind,
        plural: crd
            .plural
            .parse()
            .map_err(Error::name("--external-api-crd"))?,
        policies: Policies::default(),
        version: gvk.version,
        webhooks: None,
    };
    let mut target = with_files(project, existing.cloned().unwrap_or(new), crd, force);
    if let (Some((types, remarks)), Some(resource)) = (made, &target.resource) {
        let [.., path] = Place::of(project, resource).external_types();
        let types = scaffold::with_license(project, types);
        target.changes.push(create(path, types, force));
        target.warnings.extend(remarks);
    }
    Ok(target)
}

/// Refuses options that contradict what PROJECT says about the type.
fn check_same(existing: &Resource, args: &ExternalArgs) -> Result<()> {
    let gvk = existing.gvk();
    let error = match &existing.origin {
        Origin::Own { .. } => ExternalError::IsOwn { gvk },
        Origin::Core(_) => ExternalError::IsCore { gvk },
        Origin::External(known) => {
            let module = args.external_api_module.as_ref();
            let is_same = args.external_api_path == known.path
                && module.is_none_or(|typed| known.module.as_ref() == Some(typed));
            if is_same {
                return Ok(());
            }
            ExternalError::Differs {
                gvk: gvk.to_string(),
                path: existing.foreign_path().unwrap_or_default(),
                module: known.module.clone(),
            }
        }
    };
    Err(error.into())
}

/// Finds the CRD of the type in the file.
fn look_up(gvk: &Gvk, args: &ExternalArgs, text: &str) -> Result<ExternalCrd> {
    let file = args.external_api_crd.clone().unwrap_or_default();
    let (version, kind) = (gvk.version.as_str(), gvk.kind.as_str());
    let path = file.display().to_string();
    let found = external::find(&path, text, &gvk.group, version, kind);
    let error = match found {
        Ok(found) => return Ok(found),
        Err(Absent::Broken(error)) => return Err(error.into()),
        Err(Absent::NoKind(kinds)) => ExternalError::NoKind {
            file,
            kind: format!("{} {}", gvk.group, gvk.kind),
            kinds,
        },
        Err(Absent::NoVersion(versions)) => ExternalError::NoVersion {
            file,
            gvk: gvk.to_string(),
            versions,
        },
    };
    Err(error.into())
}

/// The module with the type, from its CRD, and what the type does not say. The file may have the CRDs of other types, and
/// the CRD other versions.
fn make(gvk: &Gvk, args: &ExternalArgs, text: &str) -> Result<(String, Vec<String>)> {
    let file = args.external_api_crd.as_deref().unwrap_or(Path::new(""));
    let path = file.display().to_string();
    let given = Given {
        path: path.clone(),
        is_folder: false,
        files: vec![(path, Some(text.to_owned()))],
    };
    let documents = documents::read(&[given], &[]).map_err(Error::several)?;
    let is_it = |crd: &Value| {
        text_of(crd, "/spec/group") == gvk.group
            && text_of(crd, "/spec/names/kind") == gvk.kind.as_str()
    };
    let mut crds = documents.crds.into_iter().map(|it| it.crd);
    let mut crd = crds.find(is_it).unwrap_or_default();
    let versions = list_of(&crd, "/spec/versions").iter();
    let version: Vec<Value> = versions
        .filter(|it| it["name"] == gvk.version.as_str())
        .cloned()
        .collect();
    crd["spec"]["versions"] = version.into();
    // What the other operator does with its versions and lists does not matter here.
    if let Some(spec) = crd["spec"].as_object_mut() {
        spec.remove("conversion");
    }
    if let Some(names) = crd["spec"]["names"].as_object_mut() {
        names.remove("listKind");
    }
    let import = types::types(&[&crd], &Hints::new());
    let types: Option<Imported> = import.kinds.into_iter().next();
    Ok((
        types.map(|it| it.types).unwrap_or_default(),
        import.warnings,
    ))
}

/// The type, with its CRD and a sample object for the tests.
fn with_files(project: &Project, resource: Resource, crd: ExternalCrd, force: bool) -> Target {
    let place = Place::of(project, &resource);
    let sample = format!(
        "# The tests create this object. kbr filled in what the schema requires.\n{}",
        yaml::write(&crd.sample.object)
    );
    let guessed = crd.sample.guessed.join("`, `");
    let warning = format!(
        "the CRD has patterns or rules for `{guessed}`: put values that it allows into `{}`, which the tests create",
        place.sample()
    );
    Target {
        changes: vec![
            create(place.external_crd(), crd.text, force),
            create(place.sample(), sample, force),
        ],
        warnings: (!guessed.is_empty())
            .then_some(warning)
            .into_iter()
            .collect(),
        resource: Some(resource),
    }
}

#[cfg(test)]
pub(crate) mod tests;
