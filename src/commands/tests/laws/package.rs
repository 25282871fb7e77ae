//! Charts and bundles, which are made again after something got another name: their owner's edits are in the new files.

use std::collections::BTreeSet;

use super::draw::{edit_of, renamed};
use super::{Broken, Edit, How, Step, World};
use crate::fuzz::random::Random;
use crate::layout;
use crate::project::Resource;

/// What is made from `config/` for others to install: the command lines.
pub(crate) const PACKAGES: [&str; 2] = ["chart", "bundle"];

/// Whether a file is a part of that package.
pub(crate) fn is_part(package: &str, path: &str) -> bool {
    match package {
        "chart" => path.starts_with(layout::CHART),
        _ => layout::is_of_bundle(path),
    }
}

/// A step of a history in which the owner edits a chart or a bundle, something gets another name, and it is made again.
pub(crate) fn packaged(
    random: &mut Random,
    world: &World,
    number: usize,
    package: &'static str,
) -> Option<Step> {
    match number {
        2 | 5 => Some(Step::Verb(package.to_owned())),
        3 => {
            let project = world.real.project();
            let names = project.apis().map(|it| it.kind.lower());
            let names: Vec<String> = names.chain([project.project_name.to_string()]).collect();
            let mut paths: Vec<&String> = world.real.files.keys().collect();
            paths.retain(|path| is_part(package, path) && path.ends_with(".yaml"));
            paths.retain(|path| names.iter().any(|name| path.contains(name)));
            // Not every line is free.
            let edit = (0..8).find_map(|_| {
                let path = paths.get(random.below(paths.len().max(1)))?;
                edit_of(random, world, path, format!("owner_{number}_"))
            });
            edit.map(Step::Edit)
        }
        4 => {
            let project = world.pure.project();
            let own: Vec<&Resource> = project.apis().collect();
            let it = own.get(random.below(own.len().max(1)))?;
            let mut names = (0..8).map(|_| renamed(random, it));
            // What changes the names of files.
            let is_of_file = |line: &String| {
                line.starts_with("rename kind") || line.starts_with("edit --project-name")
            };
            names.find(is_of_file).map(Step::Verb)
        }
        _ => None,
    }
}

impl World {
    /// What was written in a chart or a bundle is in the files that are in the place of those with the old names.
    pub(crate) fn edits_follow(&mut self, line: &str) -> Result<(), Broken> {
        let is_name = line.starts_with("rename ") || line.starts_with("edit --project-name ");
        let Some(package) = PACKAGES.into_iter().find(|it| *it == line) else {
            if !is_name {
                self.same_but_names.clear();
            }
            return Ok(());
        };
        let of_no_use = self.of_no_use(package);
        // What its owner wrote in a file of a type that was deleted stays there.
        let known = self.same_but_names.entry(package);
        let known = known.or_insert_with(|| of_no_use.clone());
        match of_no_use.difference(known).next() {
            Some(token) => Err(format!("{token} stays in a file which is of no use")),
            None => Ok(()),
        }
    }

    /// The owner's words in files of a package that are not in the project without edits.
    fn of_no_use(&self, package: &str) -> BTreeSet<String> {
        let files = self.real.files.iter();
        let files = files
            .filter(|(path, _)| is_part(package, path) && !self.pure.files.contains_key(*path));
        let texts: Vec<&String> = files.map(|(_, text)| text).collect();
        let tokens = self.edits.iter().map(|edit| &edit.token);
        let found = tokens.filter(|token| texts.iter().any(|text| text.contains(*token)));
        found.cloned().collect()
    }
}

#[test]
fn an_edit_of_a_deleted_type_stays_in_its_chart() {
    let mut world = World::new("init");
    let verbs = |world: &mut World, lines: &[&str]| {
        for line in lines {
            let done = world.step(&Step::Verb((*line).to_owned()));
            assert_eq!(done, Ok(true), "{line}");
        }
    };
    let create = ["Boat", "Captain"].map(|kind| format!("create api --kind {kind}"));
    verbs(&mut world, &[&create[0], &create[1], "chart"]);
    let mut paths = world.real.files.keys();
    let path = paths.find(|it| is_part("chart", it) && it.contains("captain"));
    let edit = Edit {
        path: path.expect("a file").clone(),
        at: 8,
        token: "owner_3_".to_owned(),
        how: How::Insert,
    };
    assert_eq!(world.step(&Step::Edit(edit)), Ok(true));
    verbs(
        &mut world,
        &[
            "delete api --kind Captain",
            "chart",
            "edit --project-name other",
            "chart",
        ],
    );
}
