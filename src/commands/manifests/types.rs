//! What `kbr manifests` generates from compiled types: CRDs, and related files.

use crate::layout;
use crate::manifests::crd::{self, CrdDocument};
use crate::manifests::{self, state_metrics};
use crate::project::Project;

/// A CRD as a file.
pub struct CrdFile {
    pub path: String,
    pub text: String,
    /// A warning about nullable fields, shown when the CRD changes.
    pub of_null: Option<String>,
    /// A warning about its size.
    of_size: Option<String>,
}

/// The files generated from the types, each as text.
#[derive(Default)]
pub struct FromTypes {
    pub crds: Vec<CrdFile>,
    /// `None` if there is no kind.
    pub state_metrics: Option<String>,
}

/// Generates the file of each CRD, and related files.
pub fn from_types(
    project: &Project,
    mut documents: Vec<CrdDocument>,
    max_desc_len: Option<usize>,
) -> FromTypes {
    if let Some(characters) = max_desc_len {
        for crd in &mut documents {
            crd::descriptions::limit(&mut crd.document, characters);
        }
    }
    let state_metrics = state_metrics::file(&documents, |crd| metric_prefix(project, crd));
    let file = |mut crd: CrdDocument| {
        if project.hub(&crd.group, &crd.kind).is_some() {
            crd::conversion::add(&mut crd.document, project.project_name.as_str());
        }
        let file = layout::crd_file(&crd.group, &crd.plural);
        let name = format!("{}.{}", crd.plural, crd.group);
        CrdFile {
            path: format!("{}{file}", layout::CRD_BASES),
            of_null: of_null(&crd),
            of_size: crd::size::too_large_to_apply(&name, &crd.document),
            text: manifests::generated(&[crd.document]),
        }
    };
    FromTypes {
        crds: documents.into_iter().map(file).collect(),
        state_metrics,
    }
}

/// The prefix of a kind's metric names: its group, or the project if it has no group of its own.
fn metric_prefix(project: &Project, crd: &CrdDocument) -> String {
    let group = crd.group.strip_suffix(project.domain.as_str());
    let group = group.and_then(|group| group.strip_suffix('.'));
    let group = group.unwrap_or(project.project_name.as_str());
    format!("{group}_{}", crd.kind.to_lowercase())
}

impl FromTypes {
    /// Warnings about the sizes of CRDs, individually and together.
    pub fn of_sizes(&self) -> Vec<String> {
        let each = self.crds.iter().filter_map(|crd| crd.of_size.clone());
        let files = self
            .crds
            .iter()
            .map(|crd| (crd.path.clone(), crd.text.clone()));
        let all = crd::size::too_large_for_helm(&files.collect::<Vec<_>>());
        each.chain(all).collect()
    }
}

/// A warning about fields that may be null, because the operator always writes them.
fn of_null(crd: &CrdDocument) -> Option<String> {
    let fields = crd.nullable_fields();
    let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    (!fields.is_empty()).then(|| {
        format!(
            "in `{}`, {} may be null: where null means the same as omitting the field, write \
             `#[serde(skip_serializing_if = \"Option::is_none\")]` on it",
            crd.kind,
            fields.join(", ")
        )
    })
}
