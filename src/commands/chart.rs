//! `kbr chart`: the Helm chart, with the edits of its owner. Pure, except for [`earlier`].

use std::path::Path;

use crate::chart;
use crate::commands::error::Result;
use crate::commands::packaged::{self, Earlier, Package, Planned};
use crate::layout;
use crate::project::Project;
use crate::tree::Tree;

pub const CHART: Package = Package {
    command: "chart",
    is_part: |path| path.starts_with(layout::CHART),
    inputs: &[layout::CONFIG, layout::MANIFEST],
};

pub fn plan(project: Project, tree: &Tree, earlier: Earlier<'_>) -> Result<Planned> {
    packaged::resolved(CHART, &project, tree)?;
    let made = chart::files(&project, tree)?;
    let next = "helm install NAME dist/chart --namespace NAMESPACE --create-namespace";
    let mut planned = packaged::plan(CHART, project, tree, &made.files, earlier, next);
    planned.wanted.warnings.extend(made.warnings);
    Ok(planned)
}

/// The text of a file of the chart with that hash.
pub fn earlier(root: &Path, path: &str, recorded: &str) -> Option<String> {
    let files = |project: &Project, tree: &Tree| Some(chart::files(project, tree).ok()?.files);
    packaged::earlier(CHART, root, path, recorded, &files)
}
