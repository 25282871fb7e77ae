//! Whether a name in a file leads to a type of the project, or to one of another crate. Pure.
//!
//! Imports and paths tell it. A name of which they tell nothing is the project's.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::rust::path::names;
use crate::rust::{Code, Segment, UseKind, UseTree};

/// How often an import is followed to another one.
const MOST_IMPORTS: usize = 8;

/// The modules and functions by which a crate is known to be the operator's.
const OF_OPERATOR: [&str; 3] = ["controller", "register", "webhook"];

/// What a file says about the names in it.
pub(super) struct Origins<'c> {
    code: &'c Code<'c>,
    /// The names of the project's crates.
    crates: &'c [String],
    /// Whether the code is of another package.
    is_beside: bool,
    imports: Vec<Import>,
    /// The names in imports, by where they begin, each with the path to it.
    imported: BTreeMap<usize, Vec<String>>,
    /// The modules that the file declares, and the names of the operator's crate.
    own: BTreeSet<String>,
    /// Whether there may be more names, from an import of everything in a module.
    has_glob: bool,
}

struct Import {
    name: String,
    path: Vec<String>,
    /// The part of the text in which it holds.
    scope: Range<usize>,
}

impl<'c> Origins<'c> {
    /// What a file of another package says, which has its own `crate`.
    pub(super) fn in_other_package(code: &'c Code<'c>, crates: &'c [String]) -> Self {
        Self {
            is_beside: true,
            ..Self::of(code, crates)
        }
    }

    pub(super) fn of(code: &'c Code<'c>, crates: &'c [String]) -> Self {
        let mut origins = Self {
            code,
            crates,
            is_beside: false,
            imports: Vec::new(),
            imported: BTreeMap::new(),
            own: BTreeSet::new(),
            has_glob: false,
        };
        for at in 0..code.len() {
            match code.word(at) {
                "use" => {
                    if let Some(item) = code.import(at) {
                        let is_around =
                            |open: &usize| code.word(*open) == "{" && code.closing(*open) > at;
                        let around = (0..at).rev().find(is_around);
                        let scope = match around {
                            Some(open) => code.start(open)..code.start(code.closing(open)),
                            None => 0..code.text.len(),
                        };
                        // The file itself says what the names around a module in it are.
                        let is_in_module =
                            around.is_some_and(|open| open >= 2 && code.word(open - 2) == "mod");
                        let is_of_file =
                            is_in_module && names(&item.tree.segments) == ["super", "*"];
                        if !is_of_file {
                            origins.add(&item.tree, &[], &scope);
                        }
                    }
                }
                "mod" if code.is_name(at + 1) => {
                    origins.own.insert(code.word(at + 1).to_owned());
                }
                word if OF_OPERATOR.contains(&word) => {
                    origins.own.extend(crate_of(&origins.path(at)));
                }
                _ => {}
            }
        }
        origins
    }

    fn add(&mut self, tree: &UseTree, prefix: &[String], scope: &Range<usize>) {
        let mut path = prefix.to_vec();
        for segment in &tree.segments {
            match segment.text.as_str() {
                "*" => self.has_glob = true,
                "self" if !path.is_empty() => {}
                name => path.push(name.to_owned()),
            }
            self.own.extend(crate_of(&path));
            self.imported.insert(segment.range.start, path.clone());
        }
        match &tree.kind {
            UseKind::Group { children, .. } => {
                for child in children {
                    self.add(child, &path, scope);
                }
            }
            UseKind::Leaf { alias } => {
                if let Some(name) = alias.as_ref().or(path.last()).cloned() {
                    let scope = scope.clone();
                    self.imports.push(Import { name, path, scope });
                }
            }
        }
    }

    /// The path whose last name is the token `at`; it begins with an empty name if nothing is known about its beginning.
    fn path(&self, at: usize) -> Vec<String> {
        if let Some(path) = self.imported.get(&self.code.start(at)) {
            return path.clone();
        }
        let mut path = vec![self.code.word(at).to_owned()];
        let mut first = at;
        while first >= 2 && self.code.is_separator(first - 2) {
            let is_name = first >= 3 && self.code.is_word(first - 3);
            if !is_name {
                path.insert(0, String::new());
                break;
            }
            first -= 3;
            path.insert(0, self.code.word(first).to_owned());
        }
        path
    }

    /// Whether the token `at` is the name of something of another crate.
    pub(super) fn is_foreign_token(&self, at: usize) -> bool {
        self.is_foreign(self.path(at), self.code.start(at))
    }

    /// The names of a path in text that are not those of something in another crate.
    pub(super) fn own_names<'s>(&self, path: &'s [Segment]) -> impl Iterator<Item = &'s Segment> {
        let is_own = move |(at, name): &(usize, &Segment)| {
            !self.is_foreign(names(&path[..=*at]), name.range.start)
        };
        let own: Vec<_> = path.iter().enumerate().filter(is_own).collect();
        own.into_iter().map(|(_, name)| name)
    }

    fn is_foreign(&self, mut path: Vec<String>, place: usize) -> bool {
        for _ in 0..MOST_IMPORTS {
            let holds = |it: &&Import| it.name == path[0] && it.scope.contains(&place);
            let import = self.imports.iter().filter(holds);
            match import.min_by_key(|it| it.scope.len()) {
                Some(import) if import.path[0] != path[0] => {
                    path.splice(0..1, import.path.iter().cloned());
                }
                _ => break,
            }
        }
        let first = path[0].as_str();
        let is_crate = if self.is_beside {
            // Here `crate` is another one.
            self.crates.iter().any(|it| it == first)
        } else {
            first == "crate" || self.crates.iter().any(|it| it == first) || first == "api"
        };
        match first {
            // The types of other operators that kbr makes from their CRDs.
            _ if is_crate && path.len() > 2 => path[1] == "external",
            _ if is_crate => false,
            _ if self.is_beside => path.len() > 1 || !self.has_glob,
            "self" | "super" => false,
            _ => {
                path.len() > 1
                    && !self.has_glob
                    && !self.own.contains(first)
                    // A type, such as an enum of the file.
                    && !first.starts_with(char::is_uppercase)
            }
        }
    }
}

/// The crate at the beginning of a path, if it is the operator's.
fn crate_of(path: &[String]) -> Option<String> {
    let [name, module] = path else { return None };
    let is_it = OF_OPERATOR.contains(&module.as_str()) && !name.is_empty();
    // The runtime has a module for webhooks too.
    (is_it && name != "kbr_runtime").then(|| name.clone())
}
