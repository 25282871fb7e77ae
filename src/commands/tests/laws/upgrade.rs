//! What a later kbr does with a project, and that its owner's lines are all that differs.

use std::collections::BTreeSet;

use super::check::{different, rendered, up_to_date};
use super::{Broken, Edit, How, World};
use crate::commands::init_files::rendering;
use crate::commands::tests::Bench;
use crate::layout::{self, UPDATE_BESIDE};
use crate::templates;

impl World {
    /// A later kbr changes one line in every file.
    pub(crate) fn upgrade(&mut self) -> Result<(), Broken> {
        self.upgrades += 1;
        templates::altered(self.upgrades);
        for bench in [&mut self.pure, &mut self.real] {
            let (plan, conflicts) = bench.planned("update").map_err(|it| it.to_string())?;
            if let Some(path) = conflicts.first() {
                let text = &bench.with(&plan).files[path];
                return Err(format!("G: a conflict in `{path}`:\n{text}"));
            }
            *bench = bench.with(&plan);
            let project = bench.project();
            let new = format!("altered {}", self.upgrades);
            for path in rendering(&project).keys() {
                let Some(text) = bench.files.get(path) else {
                    continue;
                };
                let has_base = !path.starts_with(layout::STORED) && !self.imported.contains(path);
                if has_base && text.matches(&new).count() != 1 {
                    return Err(format!("G: `{path}` has no base"));
                }
            }
            let mut without = bench
                .files
                .keys()
                .filter_map(|it| it.strip_suffix(UPDATE_BESIDE));
            if let Some(path) = without.find(|path| !self.imported.contains(*path)) {
                return Err(format!("G: `{path}`: no base was found"));
            }
            copy_what_is_new(bench);
            bench.commit();
        }
        rendered(&self.pure, &self.imported).map_err(|why| format!("G: {why}"))?;
        self.like_the_pure().map_err(|why| format!("G: {why}"))?;
        self.edits_are_there().map_err(|why| format!("G: {why}"))?;
        up_to_date(&self.real).map_err(|why| format!("G: {why}"))
    }

    /// In an edited file, all lines but those of the owner are as in the project without edits. A converter is not compared:
    /// its functions stay in their order.
    pub(crate) fn nothing_else_differs(&self) -> Result<(), Broken> {
        let is_mine = |line: &str| line.contains("owner_") || line.contains("owner-");
        let edited: BTreeSet<&String> = self.edits.iter().map(|it| &it.path).collect();
        for path in edited
            .into_iter()
            .filter(|path| !path.contains("converter"))
        {
            let texts = [&self.pure, &self.real].map(|bench| bench.files.get(path));
            let [Some(pure), Some(real)] = texts else {
                continue;
            };
            let mut both = [pure, real].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
            // Among lines in another order than kbr's, new ones come last.
            let is_among = |it: &Edit| it.path == *path && it.how == How::Among;
            if self.edits.iter().any(is_among) {
                both.iter_mut().for_each(|lines| lines.sort_unstable());
            }
            let [olds, news] = &both;
            let diff = similar::TextDiff::from_slices(olds, news);
            let mut changed = diff
                .ops()
                .iter()
                .filter(|op| op.tag() != similar::DiffTag::Equal);
            let is_edit = |op: &similar::DiffOp| {
                let new = &news[op.new_range()];
                op.old_range().len() <= new.len() && new.iter().all(|line| is_mine(line))
            };
            if !changed.all(is_edit) {
                return Err(different(path, real, pure));
            }
        }
        Ok(())
    }
}

/// Copies the line that differs from the text that kbr has put beside a file, as its owner would.
fn copy_what_is_new(bench: &mut Bench) {
    let is_beside = |path: &&String| path.ends_with(UPDATE_BESIDE);
    let beside: Vec<String> = bench.files.keys().filter(is_beside).cloned().collect();
    let is_it = |line: &&str| line.contains("altered ");
    for path in beside {
        let new = bench.files.remove(&path).unwrap_or_default();
        let at = new.lines().position(|line| is_it(&line));
        let file = bench.files.get_mut(path.trim_end_matches(UPDATE_BESIDE));
        if let (Some(at), Some(text)) = (at, file) {
            let mut lines: Vec<&str> = text.lines().filter(|line| !is_it(line)).collect();
            lines.insert(at.min(lines.len()), new.lines().nth(at).unwrap_or_default());
            *text = lines.join("\n") + "\n";
        }
    }
}
