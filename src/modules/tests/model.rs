//! Random projects in which the target of each path is known.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::{Crate, Move, rewrite};
use super::evaluate::{Place, items};

const ROOTS: [&str; 2] = ["api/src/lib.rs", "src/lib.rs"];

fn crates() -> Vec<Crate> {
    let api = ["api", "api"].map(str::to_owned);
    let it = ROOTS.iter().zip([vec![api], Vec::new()]);
    it.map(|(root, names)| Crate {
        root: (*root).to_owned(),
        names,
    })
    .collect()
}

/// A project: modules, each with a type that has a unique name.
#[derive(Debug, Clone)]
struct Project {
    modules: Vec<Place>,
    /// From, to, another target, and the style.
    references: Vec<(usize, usize, usize, u8)>,
    /// Which module, and how it moves.
    moves: Vec<(usize, u8)>,
}

fn project(styles: &'static [u8], moves: std::ops::Range<u8>) -> impl Strategy<Value = Project> {
    let parents = || proptest::collection::vec(any::<prop::sample::Index>(), 1..6);
    let index = any::<prop::sample::Index>;
    let references = proptest::collection::vec(
        (index(), index(), index(), prop::sample::select(styles)),
        1..12,
    );
    let moves = proptest::collection::vec((index(), moves), 1..4);
    (parents(), parents(), references, moves).prop_map(|(api, operator, references, moves)| {
        let mut modules = Vec::new();
        for (number, parents) in [api, operator].iter().enumerate() {
            let mut own: Vec<Place> = vec![(number, Vec::new())];
            for (count, parent) in parents.iter().enumerate() {
                let mut module = parent.get(&own).clone();
                module.1.push(format!("m{count}"));
                own.push(module);
            }
            modules.extend(own);
        }
        let of = |index: &prop::sample::Index| index.index(modules.len());
        Project {
            references: references
                .iter()
                .map(|(from, to, other, style)| (of(from), of(to), of(other), *style))
                .collect(),
            moves: moves
                .iter()
                .map(|(module, kind)| (of(module), *kind))
                .collect(),
            modules,
        }
    })
}

fn file((number, path): &Place) -> String {
    let root = ROOTS[*number];
    let folder = root.strip_suffix("/lib.rs").expect("a library");
    match path.join("/") {
        path if path.is_empty() => root.to_owned(),
        path => format!("{folder}/{path}.rs"),
    }
}

fn written(names: &[String]) -> String {
    names.join("::")
}

impl Project {
    /// The path of a module as its own crate or another crate writes it.
    fn absolute(&self, from: usize, to: usize) -> Vec<String> {
        let (number, path) = &self.modules[to];
        let is_own = *number == self.modules[from].0;
        let mut names = vec![if is_own { "crate" } else { "api" }.to_owned()];
        names.extend(path.iter().cloned());
        names
    }

    /// The path with `super`, or below `self`.
    fn relative(&self, from: usize, to: usize) -> Option<Vec<String>> {
        let ((from_crate, from), (to_crate, to)) = (&self.modules[from], &self.modules[to]);
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let up = from.len() - common;
        let mut names = vec![if up == 0 { "self" } else { "super" }.to_owned(); up.max(1)];
        names.extend(to[common..].iter().cloned());
        (from_crate == to_crate).then_some(names)
    }

    fn texts(&self) -> BTreeMap<String, String> {
        let mut texts: Vec<String> = (0..self.modules.len())
            .map(|number| format!("pub struct I{number};\n"))
            .collect();
        for (number, path) in &self.modules {
            if let Some((name, parent)) = path.split_last() {
                let is_parent = |it: &Place| it == &(*number, parent.to_vec());
                let parent = self.modules.iter().position(is_parent).expect("a parent");
                texts[parent].push_str(&format!("pub mod {name};\n"));
            }
        }
        let mut imported = BTreeSet::new();
        for (count, &(from, to, other, style)) in self.references.iter().enumerate() {
            // The library of types cannot refer to the operator.
            let sees = |to: usize| self.modules[to].0 <= self.modules[from].0;
            if sees(to) && sees(other) {
                let line = self.reference(count, (from, to, other), style, &mut imported);
                texts[from].push_str(&line.unwrap_or_default());
            }
        }
        let files = self.modules.iter().map(file);
        files.zip(texts).collect()
    }

    fn reference(
        &self,
        count: usize,
        (from, to, other): (usize, usize, usize),
        style: u8,
        imported: &mut BTreeSet<(usize, String)>,
    ) -> Option<String> {
        let absolute = self.absolute(from, to);
        let path = written(&absolute);
        let (head, rest) = absolute.split_first()?;
        let line = match style {
            0 => format!("type T{count} = {path}::I{to};"),
            1 => format!("pub use {path}::I{to} as T{count};"),
            2 => {
                format!("fn f{count}() {{ m!({path}::I{to}) }} type T{count} = Vec<{path}::I{to}>;")
            }
            // Through the name of an import, also through a glob, and then through an alias.
            3 | 4 => {
                let name = rest.last()?;
                let (number, mut below) = self.modules[from].clone();
                below.push(name.clone());
                let is_child = self.modules.contains(&(number, below));
                if is_child || !imported.insert((from, name.clone())) {
                    return None;
                }
                let line = format!("use {path};\ntype T{count} = {name}::I{to};");
                let inner = format!("mod i{count} {{ use super::*; type A = {name}::I{to}; }}");
                format!("{line}\n{}", if style == 4 { inner } else { String::new() })
            }
            5 => {
                let rest: String = rest.iter().map(|name| format!("::{name}")).collect();
                format!("use {head} as z{count};\ntype T{count} = z{count}{rest}::I{to};")
            }
            6 => format!(
                "type T{count} = {}::I{to};",
                written(&self.relative(from, to)?)
            ),
            7 => {
                let (_, inside) = &self.modules[from];
                let below = rest.strip_prefix(inside.as_slice())?;
                let is_below = head == "crate" && !below.is_empty();
                let is_free = !imported.contains(&(from, below.first()?.clone()));
                if !is_below || !is_free {
                    return None;
                }
                format!("type T{count} = {}::I{to};", written(below))
            }
            // Two in one `use`, grouped where their paths differ.
            _ => {
                let second = match style {
                    8 => self.absolute(from, other),
                    _ => self.relative(from, other)?,
                };
                let first = match style {
                    8 => absolute,
                    _ => self.relative(from, to)?,
                };
                let equal = first.iter().zip(&second);
                let common = equal.take_while(|(a, b)| a == b).count();
                let part = |names: &[String], item: usize, alias: &str| {
                    let names: String = names.iter().map(|name| format!("{name}::")).collect();
                    format!("{names}I{item} as {alias}{count}")
                };
                if common == 0 {
                    return None;
                }
                format!(
                    "use {}::{{{}, {}}};",
                    written(&first[..common]),
                    part(&first[common..], to, "T"),
                    part(&second[common..], other, "U"),
                )
            }
        };
        Some(line + "\n")
    }

    /// The moves; a module that already moves does not move again.
    fn moves(&self) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        let mut taken: Vec<(&Place, u8)> = Vec::new();
        for (count, &(module, kind)) in self.moves.iter().enumerate() {
            let (number, path) = &self.modules[module];
            let Some((name, parent)) = path.split_last() else {
                continue;
            };
            let group = format!("g{count}");
            let to = match kind {
                0 => [parent, &[group, name.clone()]].concat(),
                1 => [parent, &[group]].concat(),
                _ => vec![group],
            };
            let from = written(path);
            // A module within another module that moves must leave that module.
            let is_apart = |&(other, its_kind): &(&Place, u8)| {
                let has_it = other.1.starts_with(path) && its_kind != 2;
                let is_within = path.starts_with(&other.1) && kind != 2;
                other.0 != *number || (*path != other.1 && !is_within && !has_it)
            };
            if taken.iter().all(is_apart) {
                taken.push((&self.modules[module], kind));
                moves.push(Move {
                    root: ROOTS[*number].to_owned(),
                    from,
                    to: written(&to),
                    makes: Vec::new(),
                });
            }
        }
        moves
    }
}

fn inverse(moves: &[Move]) -> Vec<Move> {
    let it = moves.iter().cloned().map(|it| Move {
        from: it.to,
        to: it.from,
        ..it
    });
    it.collect()
}

/// Where a module is after the moves.
fn moved((number, path): &Place, moves: &[Move]) -> Place {
    let own = moves.iter().filter(|it| it.root == ROOTS[*number]);
    let fit = own.filter_map(|it| {
        let from: Vec<String> = it.from.split("::").map(str::to_owned).collect();
        let rest = path.strip_prefix(from.as_slice())?;
        let to: Vec<String> = it.to.split("::").map(str::to_owned).collect();
        Some((from.len(), [&to, rest].concat()))
    });
    let longest = fit.max_by_key(|(length, _)| *length);
    (
        *number,
        longest.map_or_else(|| path.clone(), |(_, path)| path),
    )
}

/// All texts after the moves, by their new paths.
fn carry_out(texts: &BTreeMap<String, String>, moves: &[Move]) -> BTreeMap<String, String> {
    let files = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    let moved = rewrite(&crates(), moves, &files.collect()).expect("a move");
    let mut after = texts.clone();
    for file in &moved.files {
        after.remove(&file.from);
    }
    for file in moved.files {
        after.insert(file.to, file.text);
    }
    for declaration in moved.declarations {
        let number = ROOTS.iter().position(|root| *root == declaration.root);
        let parent = declaration.parent.split("::").filter(|it| !it.is_empty());
        let parent = (
            number.expect("a crate"),
            parent.map(str::to_owned).collect(),
        );
        declare(&mut after, &parent, &declaration.text);
    }
    after
}

/// Does what the caller does: adds a declaration to its new parent, which may have to be created.
fn declare(texts: &mut BTreeMap<String, String>, parent: &Place, line: &str) {
    if !texts.contains_key(&file(parent))
        && let Some((name, above)) = parent.1.split_last()
    {
        let above = (parent.0, above.to_vec());
        declare(texts, &above, &format!("pub mod {name};"));
    }
    let text = texts.entry(file(parent)).or_default();
    text.push_str(&format!("{line}\n"));
}

/// Asserts that every path leads to the module that has its type.
fn check(project: &Project, texts: &BTreeMap<String, String>, modules: &[Place]) {
    let files = modules.iter().map(|module| {
        let text = texts.get(&file(module));
        (module.clone(), text.expect("its file").as_str())
    });
    for (inside, path, found) in items(&files.collect()) {
        let item: usize = path.trim_start_matches(|c| c != 'I')[1..]
            .parse()
            .expect("a type");
        assert_eq!(
            found.as_ref(),
            Some(&modules[item]),
            "{path} in {inside:?} of {texts:#?}\nfrom {:#?}",
            project.texts()
        );
    }
}

fn without_declarations(texts: &BTreeMap<String, String>) -> BTreeMap<&str, String> {
    let files = texts.iter().map(|(path, text)| {
        let lines = text.lines().filter(|line| !line.starts_with("pub mod "));
        (path.as_str(), lines.collect::<Vec<_>>().join("\n"))
    });
    files.filter(|(_, text)| !text.is_empty()).collect()
}

proptest! {
    #![proptest_config(crate::fuzz::random::properties())]

    #[test]
    fn every_path_still_leads_to_its_target(project in project(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0..3)) {
        let before = project.texts();
        check(&project, &before, &project.modules);
        let moves = project.moves();
        let modules: Vec<Place> = project.modules.iter().map(|it| moved(it, &moves)).collect();
        let after = carry_out(&before, &moves);
        check(&project, &after, &modules);
        check(&project, &carry_out(&after, &inverse(&moves)), &project.modules);
    }

    #[test]
    fn moving_back_restores_the_text(project in project(&[0, 1, 2, 3, 4, 5], 0..2)) {
        let before = project.texts();
        let moves = project.moves();
        let back = carry_out(&carry_out(&before, &moves), &inverse(&moves));
        prop_assert_eq!(without_declarations(&back), without_declarations(&before));
    }
}
