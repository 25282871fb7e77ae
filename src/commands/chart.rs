//! `kbr chart`: the Helm chart, with the edits of its owner. Pure.

use crate::chart;
use crate::commands::desired::Desired;
use crate::commands::error::Result;
use crate::commands::refresh::Refresh;
use crate::kustomize::Build;
use crate::layout;
use crate::project::Project;
use crate::toolchain::git::History;
use crate::tree::Tree;

/// Brings the chart up to date.
pub(crate) fn plan(
    project: &Project,
    tree: &Tree,
    build: Build,
    history: History<'_>,
) -> Result<Desired> {
    let made = chart::files(project, tree, build)?;
    let is_part = |path: &str| path.starts_with(layout::CHART);
    let next = "helm install NAME dist/chart --namespace NAMESPACE --create-namespace";
    let refresh = Refresh::of_package("chart", project, tree, history, &made.files, is_part);
    let mut planned = refresh.desired(next)?;
    planned.warnings.extend(made.warnings);
    Ok(planned)
}
