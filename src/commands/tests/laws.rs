//! The laws of verbs and edits: random histories of a project, in memory.
//!
//! A history is a list of verbs, and of edits of the owner between them. Beside the project of the owner, the same verbs
//! are applied to one that nobody edits. After each verb, the laws below must hold. A history that breaks one is
//! shrunk, and printed.

mod check;
mod draw;
mod package;
mod shrunk;
mod start;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::ControlFlow;

use super::Bench;
use crate::commands::init_files::rendering;
use crate::fuzz::random::{self, Random};
use crate::layout;
use crate::plan::Plan;
use crate::project::{PROJECT_FILE, Project};
use crate::templates;
pub(crate) use check::add_crds;
use check::{different, has_other_lines, inverse, rendered, up_to_date};
use draw::{comment, declaration, draw};
use package::{PACKAGES, is_part, packaged};
use shrunk::shrunk;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// A command line.
    Verb(String),
    Edit(Edit),
    /// A kbr whose templates differ in one line.
    Upgrade,
}

/// What an owner does to a file.
#[derive(Clone, Debug)]
struct Edit {
    path: String,
    /// The line, from 0.
    at: usize,
    /// Unique in the project.
    token: String,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// A line of the owner's own.
    Insert,
    /// Text at the end of a line.
    Extend,
    /// A module of the owner's own among the lines above a marker.
    Among,
    /// A file, and what declares it as a module.
    Delete,
    /// Another prefix for the names of all objects.
    Prefix,
}

/// What a law says is broken.
type Broken = String;

/// A project with its history.
struct World {
    /// The owner's.
    real: Bench,
    /// The one that nobody edits.
    pure: Bench,
    edits: Vec<Edit>,
    /// The files that the owner edited, wherever they are now.
    edited: BTreeSet<String>,
    /// The files that the owner deleted, where they would be now.
    deleted: BTreeSet<String>,
    /// The files whose texts a project in Go determines: they follow from no template.
    imported: BTreeSet<String>,
    /// How many templates were changed.
    upgrades: usize,
    /// The packages since which nothing but names has changed, each with the owner's words in files of no use.
    same_but_names: BTreeMap<&'static str, BTreeSet<String>>,
}

impl World {
    fn new(options: &str) -> Self {
        templates::altered(0);
        let (mut bench, imported) = start::project(options);
        bench.commit();
        Self {
            real: bench.clone(),
            pure: bench,
            edits: Vec::new(),
            edited: BTreeSet::new(),
            deleted: BTreeSet::new(),
            imported,
            upgrades: 0,
            same_but_names: BTreeMap::new(),
        }
    }

    /// Does one step, and returns whether it was possible.
    fn step(&mut self, step: &Step) -> Result<bool, Broken> {
        match step {
            Step::Verb(line) => self.verb(line),
            Step::Edit(edit) => Ok(self.edit(edit)),
            Step::Upgrade => self.upgrade().map(|()| true),
        }
    }

    fn edit(&mut self, edit: &Edit) -> bool {
        let Some(text) = self.real.files.get(&edit.path) else {
            return false;
        };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if edit.at >= lines.len() {
            return false;
        }
        match edit.how {
            How::Insert => lines.insert(edit.at, comment(&edit.path, &edit.token)),
            How::Among => lines.insert(edit.at, format!("mod {}mine;", edit.token)),
            How::Extend => {
                let line = &mut lines[edit.at];
                *line = format!("{line} {}", comment(&edit.path, &edit.token));
            }
            How::Prefix => {
                lines[edit.at] = format!("namePrefix: \"{}\"", edit.token);
                self.edits.retain(|it| it.how != How::Prefix);
            }
            How::Delete => {
                // The declaration of a module goes with its file.
                if let Some((parent, at)) = declaration(&self.real, &edit.path)
                    && let Some(text) = self.real.files.get_mut(&parent)
                {
                    let lines = text.lines().enumerate();
                    let kept = lines.filter_map(|(line, text)| (line != at).then_some(text));
                    *text = kept.collect::<Vec<_>>().join("\n") + "\n";
                    self.edited.insert(parent);
                }
                self.real.files.remove(&edit.path);
                self.same_but_names.clear();
                self.edited.insert(edit.path.clone());
                self.deleted.insert(edit.path.clone());
                let path = edit.path.clone();
                // What the owner wrote there is gone.
                self.edits.retain(|it| it.path != path);
                self.real.commit();
                return true;
            }
        }
        if edit.how == How::Among {
            // A module that declares the owner's stays, and so do those that declare it.
            let folders = edit.path.match_indices('/').map(|(at, _)| &edit.path[..at]);
            self.edited
                .extend(folders.map(|folder| format!("{folder}.rs")));
            let roots = [layout::LIB, layout::API_LIB, layout::TESTS].map(str::to_owned);
            self.edited.extend(roots);
        }
        let text = lines.join("\n") + "\n";
        self.real.files.insert(edit.path.clone(), text);
        self.edits.push(edit.clone());
        self.edited.insert(edit.path.clone());
        self.real.commit();
        true
    }

    fn verb(&mut self, line: &str) -> Result<bool, Broken> {
        if PACKAGES.contains(&line) {
            for bench in [&mut self.real, &mut self.pure] {
                add_crds(bench);
            }
        }
        let Ok(pure) = self.pure.plan(line) else {
            return Ok(false);
        };
        let before = self.real.project();
        let (plan, conflicts) = match self.real.planned(line) {
            Ok(planned) => planned,
            Err(error) => {
                let codes = self.real.refused(line);
                // What the owner wrote may be in the way.
                let is_in_the_way =
                    |it: &String| ["move-edited", "file-in-the-way"].contains(&it.as_str());
                return if codes.iter().all(is_in_the_way) {
                    Ok(false)
                } else {
                    Err(format!("refused only because of edits: {codes:?}: {error}"))
                };
            }
        };
        if let Some(path) = conflicts.first() {
            // Whoever edits lines that are replaced by more or fewer others must choose.
            let is_packaged = PACKAGES.iter().any(|package| is_part(package, path));
            let rendered = |bench: &Bench| {
                if is_packaged {
                    bench.files.get(path).cloned()
                } else {
                    rendering(&bench.project()).remove(path)
                }
            };
            let [old, new] = [&self.pure, &self.pure.with(&pure)].map(rendered);
            if old
                .zip(new)
                .is_some_and(|(old, new)| has_other_lines(&old, &new))
            {
                return Ok(false);
            }
            return Err(format!("F: a conflict in `{path}`"));
        }
        self.moved(&plan, &pure);
        self.pure = self.pure.with(&pure);
        self.real = self.real.with(&plan);
        self.pure.commit();
        self.real.commit();
        self.laws(&before, line)?;
        Ok(true)
    }

    /// Follows the files that are not as they were rendered; `pure` is the plan of the project without edits.
    fn moved(&mut self, plan: &Plan, pure: &Plan) {
        let moves = |plan: &Plan| {
            let steps = plan.steps.iter().filter(|step| step.after.is_some());
            let moves = steps.filter_map(|step| Some((step.from()?.to_owned(), step.path.clone())));
            moves.collect::<BTreeMap<String, String>>()
        };
        let (own, pure_moves) = (moves(plan), moves(pure));
        let followed = |paths: &mut BTreeSet<String>, moves: &BTreeMap<String, String>| {
            let all = std::mem::take(paths).into_iter();
            paths.extend(all.map(|path| moves.get(&path).cloned().unwrap_or(path)));
        };
        followed(&mut self.edited, &own);
        followed(&mut self.edited, &pure_moves);
        followed(&mut self.deleted, &pure_moves);
        followed(&mut self.imported, &pure_moves);
        for edit in &mut self.edits {
            if let Some(to) = own.get(&edit.path) {
                edit.path.clone_from(to);
            }
        }
        // Whatever has that path later is another file.
        let removed = pure.steps.iter().filter(|step| step.after.is_none());
        for step in removed {
            self.deleted.remove(&step.path);
        }
    }

    fn laws(&mut self, before: &Project, line: &str) -> Result<(), Broken> {
        // A: the same verb twice is the verb once.
        if let Ok(plan) = self.real.plan(line)
            && let Some(step) = plan.changing().next()
        {
            return Err(format!(
                "A: `{}` changes again:\n{}",
                step.path,
                step.diff()
            ));
        }
        rendered(&self.pure, &self.imported).map_err(|why| format!("B: {why}"))?;
        self.like_the_pure().map_err(|why| format!("B: {why}"))?;
        self.edits_are_there().map_err(|why| format!("C: {why}"))?;
        self.edits_follow(line).map_err(|why| format!("C: {why}"))?;
        up_to_date(&self.real).map_err(|why| format!("D: {why}"))?;
        self.inverse(before, line)
            .map_err(|why| format!("E: {why}"))
    }

    /// Files that the owner did not edit are like those in the project without edits.
    fn like_the_pure(&self) -> Result<(), Broken> {
        for (path, text) in &self.pure.files {
            if self.edited.contains(path) || path == PROJECT_FILE {
                continue;
            }
            match self.real.files.get(path) {
                Some(real) if real == text => {}
                Some(real) => return Err(different(path, real, text)),
                // What was deleted in `config/` is in no package.
                None if PACKAGES.iter().any(|it| is_part(it, path))
                    && self.deleted.iter().any(|it| it.starts_with("config/")) => {}
                None => return Err(format!("`{path}` is missing")),
            }
        }
        Ok(())
    }

    fn edits_are_there(&self) -> Result<(), Broken> {
        let mut back = self
            .deleted
            .iter()
            .filter(|path| self.real.files.contains_key(*path));
        if let Some(path) = back.next() {
            return Err(format!("`{path}` was deleted, and is back"));
        }
        for edit in &self.edits {
            let texts = self.real.files.iter();
            let found: Vec<(&String, usize)> = texts
                .map(|(path, text)| (path, text.matches(&edit.token).count()))
                .filter(|(_, count)| *count > 0)
                .collect();
            match found[..] {
                [(_, 1)] => {}
                _ => return Err(format!("{edit:?} is now at {found:?}")),
            }
        }
        self.nothing_else_differs()
    }

    /// A rename or a change of the layout, and back.
    fn inverse(&self, before: &Project, line: &str) -> Result<(), Broken> {
        let Some(back) = inverse(before, line) else {
            return Ok(());
        };
        let Ok(plan) = self.real.plan(&back) else {
            return Ok(());
        };
        let again = self.real.with(&plan);
        let was = self.real.committed().nth(1).into_iter().flatten();
        // `kbr manifests` writes the CRDs again.
        let is_compared = |path: &str| path != PROJECT_FILE && !path.starts_with(layout::CRD_BASES);
        for (path, text) in was.filter(|(path, _)| is_compared(path)) {
            match again.files.get(path) {
                Some(now) if now == text => {}
                Some(now) => return Err(format!("{back}: {}", different(path, now, text))),
                None => return Err(format!("{back}: `{path}` is missing")),
            }
        }
        Ok(())
    }
}

fn history(seed: u64) -> ControlFlow<String, usize> {
    let mut random = Random::new(seed);
    let options = random.pick(&start::ALL);
    let mut world = World::new(options);
    let mut steps = Vec::new();
    let mut possible = 0;
    let mut count = 2 + random.below(9);
    let package = random.one_in(8).then(|| random.pick(&PACKAGES));
    if package.is_some() {
        count = count.max(7);
    }
    for number in 0..count {
        // What a verb has done wrong often shows when a later kbr looks for the base.
        let step = if number + 1 == count && random.one_in(2) {
            Step::Upgrade
        } else {
            package
                .and_then(|package| packaged(&mut random, &world, number, package))
                .unwrap_or_else(|| draw(&mut random, &world, number))
        };
        steps.push(step.clone());
        match world.step(&step) {
            Ok(is_possible) => possible += usize::from(is_possible),
            Err(broken) => {
                let (steps, broken) = shrunk(options, steps, broken);
                let again = "cargo test --lib the_laws_hold";
                let mut text = format!("KBR_SEED={seed} KBR_FUZZ=1 {again}\nkbr {options}\n");
                for step in steps {
                    let _ = match step {
                        Step::Verb(line) => writeln!(text, "kbr {line}"),
                        Step::Edit(edit) => writeln!(text, "{edit:?}"),
                        Step::Upgrade => writeln!(text, "kbr update, of a later kbr"),
                    };
                }
                return ControlFlow::Break(format!("{text}{broken}"));
            }
        }
    }
    ControlFlow::Continue(possible)
}

#[test]
fn the_laws_hold_for_random_histories() {
    let mut broken = Vec::new();
    let mut possible = 0;
    // In its history the owner deletes a role before a bundle is made.
    let seeds = [253_905_438].into_iter().chain(random::seeds(100, 1));
    for seed in seeds {
        match history(seed) {
            ControlFlow::Continue(count) => possible += count,
            ControlFlow::Break(text) => broken.push(text),
        }
        if broken.len() >= 6 {
            break;
        }
    }
    random::say(&format!("{possible} steps were possible\n"));
    let list = broken.join("\n----\n");
    assert!(broken.is_empty(), "{} broken\n{list}", broken.len());
}
