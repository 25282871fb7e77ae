//! What `kbr manifests` makes of compiled types: CRDs, and what goes with them.

use crate::layout;
use crate::manifests::crd::{self, CrdDocument};
use crate::manifests::{self, state_metrics};
use crate::project::Project;

/// A CRD, as it is written.
pub struct CrdFile {
    pub path: String,
    pub text: String,
    /// What the user has to know of it when it changes.
    pub of_null: Option<String>,
    /// What is wrong with its size.
    of_size: Option<String>,
}

/// What the types make, each as the text of a file.
#[derive(Default)]
pub struct FromTypes {
    pub crds: Vec<CrdFile>,
    /// Nothing where there is no kind.
    pub state_metrics: Option<String>,
}

/// The file of each CRD, and what goes with them.
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

/// How the names of a kind's metrics begin: with its group, or the project where it has none of its own.
fn metric_prefix(project: &Project, crd: &CrdDocument) -> String {
    let group = crd.group.strip_suffix(project.domain.as_str());
    let group = group.and_then(|group| group.strip_suffix('.'));
    let group = group.unwrap_or(project.project_name.as_str());
    format!("{group}_{}", crd.kind.to_lowercase())
}

impl FromTypes {
    /// What is wrong with the sizes of CRDs, each and all together.
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

/// The fields that may be null, because the operator always writes them.
fn of_null(crd: &CrdDocument) -> Option<String> {
    let fields = crd.nullable_fields();
    let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    (!fields.is_empty()).then(|| {
        format!(
            "of `{}`, {} may be null: where null means the same as omitting the field, write \
             `#[serde(skip_serializing_if = \"Option::is_none\")]` on it",
            crd.kind,
            fields.join(", ")
        )
    })
}
