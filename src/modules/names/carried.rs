//! The exports of a module that leaves its parent: paths to them, and imports that lead there. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Binding, Module, Names, Via, below};
use crate::rust::{UseKind, UseTree};

impl Names<'_> {
    /// Makes the names that a module exports to its parent by `pub use name::*` follow the module.
    pub fn carry_exports(&mut self) {
        for it in self.moves {
            let mut crates = self.crates.iter();
            let Some(number) = crates.position(|of| of.root == it.root) else {
                continue;
            };
            let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
            let (from, to) = (path(&it.from), path(&it.to));
            let parent = (number, from[..from.len() - 1].to_vec());
            let new = (number, to[..to.len() - 1].to_vec());
            if self.moved(&parent) == new {
                continue;
            }
            let module = (number, from);
            let (Some(scope), Some(inner)) = (self.scope_of(&parent), self.scope_of(&module))
            else {
                continue;
            };
            let inner = &self.scopes[inner];
            let is_export = |glob: &&usize| {
                let target = self.target(**glob, &mut Vec::new());
                self.imports[**glob].is_public && target.as_ref() == Some(&module)
            };
            let Some(&glob) = self.scopes[scope].globs.iter().find(is_export) else {
                continue;
            };
            let types = inner.names.iter();
            let types = types.filter(|(_, it)| matches!(it.binding, Binding::Type) && it.is_public);
            let names = types.map(|(name, _)| name).chain(&inner.values);
            let names: Vec<String> = names.chain(&it.makes).cloned().collect();
            self.exports.insert(glob);
            for name in names {
                if self.scopes[scope].names.contains_key(&name) {
                    continue;
                }
                self.bind(scope, &name, Binding::Child, true);
                let old = below(&parent, &name);
                self.declare(old.clone());
                self.items.insert(old, below(&new, &name));
            }
        }
    }

    /// Whether a `use` in `scope` exports a module that leaves its parent: it must be removed, not
    /// rewritten.
    pub fn is_carried_export(&self, scope: usize, tree: &UseTree) -> bool {
        let names = tree.segments.iter().map(|segment| segment.text.as_str());
        let names: Vec<&str> = names.collect();
        let ([path @ .., "*"], UseKind::Leaf { .. }) = (names.as_slice(), &tree.kind) else {
            return false;
        };
        let mut globs = self.scopes[scope].globs.iter();
        globs.any(|glob| self.exports.contains(glob) && self.imports[*glob].path == *path)
    }

    /// The import of `names` in `scope`.
    pub fn import_of(&self, scope: usize, names: &[&str], alias: Option<&str>) -> Option<usize> {
        let name = match names {
            [.., name, "self"] => name,
            [.., name] => name,
            [] => return None,
        };
        match self.scopes[scope].names.get(alias.unwrap_or(name))?.binding {
            Binding::Import(number) => Some(number),
            _ => None,
        }
    }

    /// The imports in a path whose modules lose an item, each with the module that will contain what the
    /// path leads to; `import` is the import that has this path.
    pub fn uses(
        &self,
        scope: usize,
        path: &[&str],
        is_global: bool,
        import: Option<usize>,
    ) -> Vec<(usize, Module)> {
        let steps = self.trace(scope, path, is_global, &mut import.into_iter().collect());
        let mut uses = Vec::new();
        for (at, (step, module)) in steps.iter().enumerate() {
            let is_left = |item: &Module| item.0 == module.0 && parent(item) == *module;
            let Via::Import(number) = step else { continue };
            if self.items.keys().any(is_left) {
                let item = steps.get(at + 1).and_then(|(_, item)| self.items.get(item));
                uses.push((*number, item.map_or_else(|| self.moved(module), parent)));
            }
        }
        uses
    }

    /// Decides which imports follow, from the results of [`Self::uses`].
    pub fn carry_imports(&mut self, uses: &[(usize, Module)]) {
        let mut all: BTreeMap<usize, BTreeSet<&Module>> = BTreeMap::new();
        for (number, module) in uses {
            all.entry(*number).or_default().insert(module);
        }
        for (number, modules) in all {
            if let [module] = modules.into_iter().collect::<Vec<_>>()[..] {
                self.carried.insert(number, module.clone());
            }
        }
    }

    /// The module of an import after the move; before the move, it is `module`.
    pub(super) fn imported(&self, number: usize, module: &Module) -> Module {
        let carried = self.carried.get(&number).cloned();
        carried.unwrap_or_else(|| self.moved(module))
    }
}

/// The module that contains a module or an item.
fn parent(module: &Module) -> Module {
    let (number, path) = module;
    (*number, path[..path.len().saturating_sub(1)].to_vec())
}
