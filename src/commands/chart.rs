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
    let files = chart::files(&project, tree)?;
    let next = "helm install NAME dist/chart --namespace NAMESPACE --create-namespace";
    Ok(packaged::plan(CHART, project, tree, &files, earlier, next))
}

/// The text of a file of the chart with that hash.
pub fn earlier(root: &Path, path: &str, recorded: &str) -> Option<String> {
    let files = |project: &Project, tree: &Tree| chart::files(project, tree).ok();
    packaged::earlier(CHART, root, path, recorded, &files)
}
