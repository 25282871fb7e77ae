//! What a manifest says about the code that is compiled: its own files, and packages in other folders. Pure.

use toml_edit::Item;

use super::{DEPENDENCIES, Manifest};

impl Manifest {
    /// The paths of the dependencies that are in folders; those that are inherited are in the manifest `root`, whose
    /// folder their paths begin at. Each with whether it is inherited.
    pub fn paths(&self, root: &Self) -> Vec<(String, bool)> {
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
    pub fn roots(&self) -> Vec<String> {
        let programs = self.0.get("bin").and_then(Item::as_array_of_tables);
        let programs = programs.into_iter().flatten();
        let library = self.0.get("lib").and_then(|it| it.get("path"));
        let paths = programs.filter_map(|it| it.get("path")).chain(library);
        let paths = paths.filter_map(Item::as_str);
        paths.map(str::to_owned).collect()
    }
}
