//! Renames the project: packages, crates in paths, and every file that was rendered with the name.
//!
//! It works like the other renames: each file is rendered with the old name and with the new
//! one, and paths are rewritten token by token. Pure.

use crate::cargo_toml::packages;
use crate::commands::clashes;
use crate::commands::desired::{Desired, rewrite};
use crate::commands::edit::error::EditError;
use crate::commands::error::Result;
use crate::commands::init_files;
use crate::commands::model_change::ModelChange;
use crate::commands::module_moves::Format;
use crate::commands::rename_map::RenameMap;
use crate::layout;
use crate::lock::{self, Lock};
use crate::names::{ProjectName, objects};
use crate::plan::Change;
use crate::project::Project;
use crate::rendered::hash;
use crate::scaffold;
use crate::tree::Tree;

/// The project with its new name, and the changes to its files.
pub(crate) fn plan(
    project: &Project,
    name: &ProjectName,
    tree: &Tree,
    format: Format<'_>,
) -> Result<Desired> {
    let old = &project.project_name;
    let mut after = project.clone();
    after.project_name = name.clone();
    // The module of a group with the same name as the project gets a different name.
    for resource in &after.resources {
        clashes::check_clashes(&after, resource)?;
    }
    let lock: Option<Lock> = tree.text(lock::PATH).map(str::parse).transpose()?;
    if let Some(name) = lock.as_ref().and_then(|lock| lock.taken(name.as_str()))
        && after.project_name != *old
    {
        return Err(EditError::PackageExists { name }.into());
    }
    let words = RenameMap {
        left: left(old),
        ..RenameMap::default()
    };
    let [olds, news] = [project, &after].map(init_files::texts);
    let both = olds.into_iter().zip(news);
    let mut texts: Vec<_> = both.map(|(old, new)| [old, new]).collect();
    texts.extend(lock.map(|before| {
        let mut after = before.clone();
        after.rename(old.as_str(), name.as_str());
        [before, after].map(|lock| (lock::PATH.to_owned(), lock.to_string()))
    }));
    let pairs = scaffold::pairs(project, &after);
    let mut renamed = ModelChange::of(project, &after, &words, &pairs, texts, tree)?;
    let mut changes = renamed.changes(&mut after, tree, format);
    changes.extend(manifests(project, name, tree));
    // Cargo has added packages to the lock file that kbr rendered.
    let rendered = |name: &ProjectName| hash(&lock::render(name.as_str()));
    if after.files.get(lock::PATH) == Some(&rendered(old)) {
        after.files.insert(lock::PATH.to_owned(), rendered(name));
    }
    let mut warnings = Vec::new();
    if after.project_name != *old {
        warnings.extend(renamed.left(&words, tree));
        warnings.push(of_cluster(old));
    }
    Ok(renamed.desired(after, changes, warnings))
}

/// The changes of manifests of other packages, which depend on the packages that get other names.
fn manifests(project: &Project, name: &ProjectName, tree: &Tree) -> Vec<Change> {
    let (old, new) = (project.project_name.as_str(), name.as_str());
    let is_other = |path: &str| {
        path.ends_with(&format!("/{}", layout::MANIFEST))
            && !project.files.contains_key(path)
            && !layout::is_vendored(path)
    };
    let others = tree.files().filter(|(path, _)| is_other(path));
    let changed = others.filter_map(|(path, text)| {
        let renamed = packages::renamed(text, old, new).filter(|it| it != text)?;
        Some(rewrite(path, renamed))
    });
    changed.collect()
}

/// The texts that refer to the project; its name alone may be any word.
fn left(name: &ProjectName) -> Vec<String> {
    let named = [objects::NAMESPACE, objects::MANAGER, "api"];
    let deployed = named.map(|object| objects::deployed(name.as_str(), object));
    let mut names = Vec::from(deployed);
    names.push(format!("app.kubernetes.io/name: {name}"));
    names.push(format!("app.kubernetes.io/name: \"{name}\""));
    names.push(format!("--bin {name}"));
    names
}

/// The warning about what still exists in a cluster under the old name.
fn of_cluster(name: &ProjectName) -> String {
    let namespace = name.namespace();
    format!(
        "in a cluster, the operator with the old name keeps running in the namespace `{namespace}`, and would reconcile the same objects as the one with the new name: before you deploy that, delete the Deployment there, and \
         the webhook configurations and admission policies with the label `app.kubernetes.io/name={name}`; keep the namespace as long as it \
         contains anything else, because deleting it deletes that too, and keep the CRDs"
    )
}

#[cfg(test)]
mod tests;
