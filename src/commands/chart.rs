//! `kbr chart`: the Helm chart, with the edits of its owner. Pure.

use crate::chart;
use crate::commands::desired::Desired;
use crate::commands::error::Result;
use crate::commands::packaged;
use crate::kustomize::Build;
use crate::layout;
use crate::project::Project;
use crate::toolchain::git::History;
use crate::tree::Tree;

/// Brings the chart up to date.
pub fn plan(project: &Project, tree: &Tree, build: Build, history: History<'_>) -> Result<Desired> {
    let made = chart::files(project, tree, build)?;
    let is_part = |path: &str| path.starts_with(layout::CHART);
    let next = "helm install NAME dist/chart --namespace NAMESPACE --create-namespace";
    let of_chart = (&is_part as &dyn Fn(&str) -> bool, history);
    let mut planned = packaged::plan("chart", project, tree, &made.files, of_chart).desired(next);
    planned.warnings.extend(made.warnings);
    Ok(planned)
}
