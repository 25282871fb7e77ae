//! What is made from `config/` for others to install, a chart or a bundle. Pure.

use std::collections::BTreeMap;

use crate::commands::refresh::Refresh;
use crate::project::Project;
use crate::rendered::Rendered;
use crate::toolchain::git::History;
use crate::tree::Tree;

/// Brings its files up to date, with the edits of their owner; `is_part` says which files of the project belong to it. If
/// all of them are gone, they are written again.
pub fn plan<'a>(
    what: &'static str,
    project: &Project,
    tree: &'a Tree,
    files: &BTreeMap<String, String>,
    (is_part, history): (&dyn Fn(&str) -> bool, History<'a>),
) -> Refresh<'a> {
    let mut project = project.clone();
    if !tree.files().any(|(path, _)| is_part(path)) {
        project.files.retain(|path, _| !is_part(path));
    }
    let rendered = Rendered::new(&project, []);
    let mut refresh = Refresh::of(what, (&project, rendered), tree, history, &|_, text| text);
    refresh.files(files, is_part);
    refresh
}
