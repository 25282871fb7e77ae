//! What this kbr renders for a project. Pure.

use std::collections::BTreeMap;

use crate::commands::initial;
use crate::layout;
use crate::project::Project;
use crate::scaffold;
use crate::tree::Tree;

/// Path and text of each file of the scaffold, as this kbr renders it.
pub fn files(project: &Project, tree: &Tree) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = initial::texts(project).into_iter().collect();
    let parts = scaffold::of(project).into_iter();
    files.extend(parts.filter_map(|part| Some((part.path.clone(), part.text(project)?))));
    for (path, text) in files
        .iter_mut()
        .filter(|(path, _)| path.starts_with(layout::RBAC))
    {
        if let Some(existing) = tree.text(path) {
            *text = with_name(text, existing);
        }
    }
    files
}

/// Keeps the existing name of a role: `kbr edit` may have moved its file, but no name in a cluster changes.
fn with_name(text: &str, existing: &str) -> String {
    let name = |text: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("  name: "));
        line.map(str::to_owned)
    };
    match (name(text), name(existing)) {
        (Some(new), Some(old)) => text.replacen(&new, &old, 1),
        _ => text.to_owned(),
    }
}
