//! What a manifest says about the code that is compiled: its own files, and packages in other folders. Pure.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike};

use super::{DEPENDENCIES, Manifest, SECTIONS};

/// The names of the two packages of a project.
fn packages(project: &str) -> [String; 2] {
    [project.to_owned(), format!("{project}-api")]
}

/// Whether a manifest depends on the packages of a project.
pub(crate) fn uses(manifest: &str, project: &str) -> bool {
    dependencies(manifest, &packages(project), &packages(project)).is_some_and(|it| !it.is_empty())
}

/// A manifest that depends on the packages of a project by a path, or as its workspace does, with the project's new name;
/// `None` if it does not. What has such a name in a registry is another package.
pub(crate) fn renamed(manifest: &str, old: &str, new: &str) -> Option<String> {
    let mut found = dependencies(manifest, &packages(old), &packages(new))?;
    found.sort_by_key(|(range, _)| range.start);
    let mut renamed = manifest.to_owned();
    for (range, text) in found.iter().rev() {
        renamed.replace_range(range.clone(), text);
    }
    (!found.is_empty()).then_some(renamed)
}

/// Where a manifest depends on these packages, and what the text there becomes.
fn dependencies(
    manifest: &str,
    old: &[String],
    new: &[String],
) -> Option<Vec<(Range<usize>, String)>> {
    let document = Document::parse(manifest).ok()?;
    let root: &dyn TableLike = document.as_table();
    let targets = root.get("target").and_then(Item::as_table_like);
    let targets = targets.into_iter().flat_map(|targets| targets.iter());
    let targets = targets.filter_map(|(_, target)| target.as_table_like());
    let shared = root.get("workspace").and_then(Item::as_table_like);
    let tables = targets.chain(shared).chain([root]);
    let sections = tables.flat_map(|table| SECTIONS.map(|section| table.get(section)));
    let mut found = Vec::new();
    for section in sections.flatten().filter_map(Item::as_table_like) {
        for (name, item) in section.iter() {
            if item.get("path").is_none() && item.get("workspace").is_none() {
                continue;
            }
            let package = item.get("package");
            let (word, span) = match package.and_then(|it| Some((it.as_str()?, it.span()?))) {
                // Within the quotes.
                Some((package, span)) => (package, span.start + 1..span.end - 1),
                None => (name, section.key(name)?.span()?),
            };
            if let Some(at) = old.iter().position(|it| it == word) {
                let text = &manifest[span.clone()];
                found.push((span, text.replace(word, &new[at])));
            }
        }
    }
    Some(found)
}

impl Manifest {
    /// The paths of the dependencies that are in folders; those that are inherited are in the manifest `root`, whose
    /// folder their paths begin at. Each with whether it is inherited.
    pub(crate) fn paths(&self, root: &Self) -> Vec<(String, bool)> {
        let path = |item: &Item| Some(item.get("path")?.as_str()?.to_owned());
        let targets = self.0.get("target").and_then(Item::as_table_like);
        let targets = targets.into_iter().flat_map(|targets| targets.iter());
        let sections = targets
            .filter_map(|(_, target)| target.get(DEPENDENCIES))
            .chain(self.0.get(DEPENDENCIES));
        let entries = sections.filter_map(Item::as_table_like);
        let entries = entries.flat_map(|section| section.iter());
        let paths = entries.filter_map(|(name, item)| match item.get("workspace") {
            Some(_) => Some((path(root.shared()?.get(name)?)?, true)),
            None => Some((path(item)?, false)),
        });
        paths.collect()
    }

    /// The files of its library and its programs that are not where cargo looks for them.
    pub(crate) fn roots(&self) -> Vec<String> {
        let programs = self.0.get("bin").and_then(Item::as_array_of_tables);
        let programs = programs.into_iter().flatten();
        let library = self.0.get("lib").and_then(|it| it.get("path"));
        let paths = programs.filter_map(|it| it.get("path")).chain(library);
        let paths = paths.filter_map(Item::as_str);
        paths.map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dependencies_on_the_projects_own_packages_get_another_name() {
        let manifest = |[own, api]: [&str; 2]| {
            format!(
                "[package]\nname = \"shop\"\n\n[lib]\nshop = false\n\n[dependencies]\nserde = \"1\"\n\
                 {own} = {{ path = \"..\" }} # ours\nworkshop-api = {{ path = \"../w\" }}\n\
                 theirs = {{ package = \"{api}\", path = \"../api\" }}\n\n[dependencies.{api}]\nworkspace = true\n\n\
                 [target.'cfg(unix)'.dev-dependencies]\n{own}.workspace = true\nshop-api-client = {{ path = \"../c\" }}\n"
            )
        };
        let old = manifest(["shop", "shop-api"]);
        assert!(uses(&old, "shop") && !uses(&old, "sho"));
        let new = renamed(&old, "shop", "store");
        assert_eq!(new, Some(manifest(["store", "store-api"])));
        for other in [
            "[dependencies]\nshop = \"0.25\"\nshop-api = { version = \"1\" }\n",
            "[lib]\nshop = false\n",
            "not a manifest",
        ] {
            assert_eq!(renamed(other, "shop", "store"), None, "{other}");
        }
    }
}
