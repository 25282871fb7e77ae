//! The exports of a module that leaves its parent: paths to them, and imports that lead there. Pure.

use std::collections::BTreeSet;

use super::{Binding, Module, Names, Reference, Via, below, parent, places};
use crate::rust::{UseKind, UseLeaf, UseTree, path};

impl Names<'_> {
    /// Makes the names that a module exports to its parent by `pub use name::*` follow the module.
    pub(crate) fn carry_exports(&mut self) {
        for it in self.moves {
            let mut crates = self.crates.iter();
            let Some(number) = crates.position(|of| of.root == it.root) else {
                continue;
            };
            let module = (number, places::names(&it.from));
            let new = parent(&(number, places::names(&it.to)));
            let (Some(old), Some(new)) = (parent(&module), new) else {
                continue;
            };
            if self.moved(&old) == new {
                continue;
            }
            let (Some(scope), Some(inner_scope)) = (self.scope_of(&old), self.scope_of(&module))
            else {
                continue;
            };
            let inner = &self.scopes[inner_scope];
            let is_export = |glob: &&usize| {
                self.imports[**glob].is_public && self.target(**glob).as_ref() == Some(&module)
            };
            let Some(&glob) = self.scopes[scope].globs.iter().find(is_export) else {
                continue;
            };
            let bound = inner.names.iter();
            let types = bound.filter(|(_, it)| matches!(it.binding, Binding::Type) && it.is_public);
            let items = types.map(|(name, _)| name).chain(&inner.values);
            let names: Vec<String> = items.chain(&it.makes).cloned().collect();
            self.exports.insert(glob);
            for name in names {
                if self.scopes[scope].names.contains_key(&name) {
                    continue;
                }
                self.bind(scope, &name, Binding::Child, true);
                let item = below(&old, &name);
                self.modules.entry(item.clone()).or_insert(None);
                self.items.insert(item, below(&new, &name));
            }
        }
    }

    /// Whether a `use` in `scope` exports a module that leaves its parent: it must be removed, not
    /// rewritten.
    pub(crate) fn is_carried_export(&self, scope: usize, tree: &UseTree) -> bool {
        let names = path::names(&tree.segments);
        let ([path @ .., last], UseKind::Leaf { .. }) = (names.as_slice(), &tree.kind) else {
            return false;
        };
        let mut globs = self.scopes[scope].globs.iter();
        let is_it = |glob| self.exports.contains(glob) && self.imports[*glob].from.path == *path;
        last == "*" && globs.any(is_it)
    }

    /// The import of a name in `scope`.
    pub(crate) fn import_of(&self, scope: usize, leaf: &UseLeaf) -> Option<usize> {
        let own = leaf.path.iter().rfind(|name| *name != "self");
        let name = leaf.alias.as_ref().or(own)?;
        match self.scopes[scope].names.get(name)?.binding {
            Binding::Import(number) => Some(number),
            _ => None,
        }
    }

    /// The imports in a path whose modules lose an item, each with the module that will contain what the
    /// path leads to; `import` is the import that has this path.
    pub(crate) fn uses(&self, from: &Reference, import: Option<usize>) -> Vec<(usize, Module)> {
        let steps = self.following(import, || self.trace(from));
        let mut uses = Vec::new();
        for (at, (step, module)) in steps.iter().enumerate() {
            let is_left = |item: &Module| parent(item).as_ref() == Some(module);
            let Via::Import(number) = step else { continue };
            if self.items.keys().any(is_left) {
                let item = steps.get(at + 1).and_then(|(_, it)| self.items.get(it));
                let new = item.and_then(parent).unwrap_or_else(|| self.moved(module));
                uses.push((*number, new));
            }
        }
        uses
    }

    /// Decides which imports follow, from the results of [`Self::uses`]: those with one module.
    pub(crate) fn carry_imports(&mut self, uses: &BTreeSet<(usize, Module)>) {
        for (number, module) in uses {
            if uses.iter().filter(|(it, _)| it == number).count() == 1 {
                self.carried.insert(*number, module.clone());
            }
        }
    }
}
