//! What `kbr manifests` generates from compiled types: CRDs, and related files.

use serde_json::Value;

use crate::commands::types::Types;
use crate::error::quoted;
use crate::layout;
use crate::manifests::crd::{self, CrdDocument, columns};
use crate::manifests::{self, certificates, state_metrics};
use crate::project::{Certificates, Project};
use crate::tree::Tree;

/// Path and text of each file that is generated from the types: the CRDs, and related files. The warnings about CRDs
/// that change come first, then those about their sizes.
pub(super) fn from_types(
    project: &Project,
    types: Types,
    configurations: &[Value],
    max_desc_len: Option<usize>,
    tree: &Tree,
) -> (Vec<(String, String)>, Vec<String>) {
    let mut documents = types.crds;
    if let Some(characters) = max_desc_len {
        for crd in &mut documents {
            crd::descriptions::limit(&mut crd.document, characters);
        }
    }
    let state_metrics = state_metrics::file(&documents, |crd| metric_prefix(project, crd));
    let (mut files, mut of_changes, mut of_sizes) = (Vec::new(), Vec::new(), Vec::new());
    let mut any_changed = false;
    let mut converted = Vec::new();
    let is_injected = project.certificates == Certificates::CertManager;
    for mut crd in documents {
        if project.hub(&crd.group, &crd.kind).is_some() {
            let name = project.project_name.as_str();
            crd::conversion::add(&mut crd.document, name, is_injected);
            converted.push(format!("{}.{}", crd.plural, crd.group));
        }
        let file = layout::crd_file(&crd.group, &crd.plural);
        let path = format!("{}{file}", layout::CRD_BASES);
        let name = format!("{}.{}", crd.plural, crd.group);
        of_sizes.extend(crd::size::too_large_to_apply(&name, &crd.document));
        let mut changed = columns::empty_columns(&crd);
        changed.extend(of_null(&crd));
        let text = manifests::generated(&[crd.document]);
        if tree.text(&path) != Some(&text) {
            of_changes.extend(changed);
            any_changed = true;
        }
        files.push((path, text));
    }
    of_sizes.extend(crd::size::too_large_for_helm(&files));
    // The scaffold of a webhook deploys the file.
    let has_webhooks = project.resources.iter().any(|it| it.webhooks.is_some());
    let roles =
        (has_webhooks && !is_injected).then(|| certificates::roles(configurations, &converted));
    files.extend(
        roles
            .flatten()
            .map(|text| (layout::CERTIFICATES_ROLE.to_owned(), text)),
    );
    files.extend(state_metrics.map(|text| (layout::STATE_METRICS.to_owned(), text)));
    let shown = types.remarks.iter().filter(|_| any_changed);
    let remarks = shown.map(|it| format!("{}:{}: {}", it.path, it.line, it.text));
    let warnings = of_changes.into_iter().chain(of_sizes).chain(remarks);
    (files, warnings.collect())
}

/// The prefix of a kind's metric names: its group, or the project if it has no group of its own.
fn metric_prefix(project: &Project, crd: &CrdDocument) -> String {
    let dotted = crd.group.strip_suffix(project.domain.as_str());
    let group = dotted.and_then(|dotted| dotted.strip_suffix('.'));
    let owner = group.unwrap_or(project.project_name.as_str());
    format!("{owner}_{}", crd.kind.to_lowercase())
}

/// A warning about fields that may be null, because the operator always writes them.
fn of_null(crd: &CrdDocument) -> Option<String> {
    let fields = Vec::from_iter(crd.nullable_fields());
    (!fields.is_empty()).then(|| {
        format!(
            "in `{}`, {} may be null: where null means the same as omitting the field, write \
             `#[serde(skip_serializing_if = \"Option::is_none\")]` on it",
            crd.kind,
            quoted(&fields)
        )
    })
}
