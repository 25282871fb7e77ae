//! What the names in a project refer to, before the move. Pure.

mod carried;
mod spelled;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;

use super::places;
use super::source::Source;
use super::{Crate, Move};
use crate::rust::{Use, UseLeaf};

/// A module: the index of its crate in the list of crates, and its path in the crate.
pub(super) type Module = (usize, Vec<String>);

/// What a name refers to in a scope.
enum Binding {
    /// A module that is declared there.
    Child,
    /// The index in the list of imports.
    Import(usize),
    Type,
}

struct Bound {
    binding: Binding,
    is_public: bool,
}

/// A scope of any file.
struct NameScope {
    parent: Option<usize>,
    module: Module,
    names: BTreeMap<String, Bound>,
    /// Indexes in the list of imports.
    globs: Vec<usize>,
    values: Vec<String>,
}

/// A path, and the scope that it is in.
#[derive(Clone)]
pub(super) struct Reference {
    pub(crate) scope: usize,
    pub(crate) path: Vec<String>,
    /// Whether it begins with `::`.
    is_global: bool,
}

impl Reference {
    pub(super) fn new(scope: usize, path: Vec<String>, is_global: bool) -> Self {
        Self {
            scope,
            path,
            is_global,
        }
    }
}

/// One name that a `use` brings into a scope; for `a::*`, the path is `a`.
struct Import {
    from: Reference,
    alias: Option<String>,
    is_public: bool,
}

/// How one name of a path leads to a module.
enum Via {
    /// `crate`, or the name of another crate.
    Root,
    /// `self` and `super`.
    Here,
    Child,
    /// A child of that module, through a glob.
    ByGlob(Module),
    Import(usize),
}

/// The names of a project.
#[derive(Default)]
pub(super) struct Names<'a> {
    crates: &'a [Crate],
    moves: &'a [Move],
    scopes: Vec<NameScope>,
    imports: Vec<Import>,
    /// Every module, with its scope if its file was read.
    modules: BTreeMap<Module, Option<usize>>,
    /// The old path of each module by its new one; filled when it is needed, after everything was added.
    by_new_path: OnceCell<BTreeMap<Module, Module>>,
    /// The items that a module exports which leaves its parent: their old and new paths.
    items: BTreeMap<Module, Module>,
    /// The imports that export them.
    exports: BTreeSet<usize>,
    /// Imports that follow everything that is reached through them, and the modules that they will import.
    carried: BTreeMap<usize, Module>,
    /// Modules that paths of the new tree lead through from outside of their parent.
    seen_outside: RefCell<BTreeSet<Module>>,
    /// The imports that are being followed: one that leads to itself leads nowhere.
    busy: RefCell<Vec<usize>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(crates: &'a [Crate], moves: &'a [Move]) -> Self {
        Self {
            crates,
            moves,
            ..Self::default()
        }
    }

    /// Adds the file of `module`, and returns the number of its first scope.
    pub(super) fn add(&mut self, module: &Module, source: &Source) -> usize {
        let first = self.scopes.len();
        for scope in &source.blocks {
            let mut path = module.1.clone();
            path.extend(scope.module.iter().cloned());
            let of = (module.0, path);
            let number = self.scopes.len();
            if scope.parent.is_none() {
                self.modules.insert(of.clone(), Some(number));
                let mut blocks = source.blocks.iter();
                if let Some((name, parent)) = scope.module.split_last()
                    && let Some(parent) = blocks.position(|it| it.module == parent)
                {
                    self.bind(first + parent, name, Binding::Child, scope.is_public);
                }
            }
            self.scopes.push(NameScope {
                parent: scope.parent.map(|parent| first + parent),
                module: of,
                names: BTreeMap::new(),
                globs: Vec::new(),
                values: scope.values.clone(),
            });
            for (name, is_public) in &scope.types {
                self.bind(number, name, Binding::Type, *is_public);
            }
        }
        for declaration in &source.declarations {
            let (scope, name) = (first + declaration.scope, &declaration.name.text);
            // Its file may not be read, or not as this module.
            let child = self.child(scope, name);
            self.modules.entry(child).or_insert(None);
            self.bind(scope, name, Binding::Child, declaration.is_public);
        }
        for (block, item) in &source.uses {
            for leaf in item.tree.leaves() {
                self.import(first + block, item, leaf);
            }
        }
        first
    }

    /// The module that a declaration in `scope` declares.
    pub(super) fn child(&self, scope: usize, name: &str) -> Module {
        below(&self.scopes[scope].module, name)
    }

    fn bind(&mut self, scope: usize, name: &str, binding: Binding, is_public: bool) {
        let bound = Bound { binding, is_public };
        let names = &mut self.scopes[scope].names;
        names.entry(name.to_owned()).or_insert(bound);
    }

    fn import(&mut self, scope: usize, item: &Use, leaf: UseLeaf) {
        let number = self.imports.len();
        let UseLeaf { mut path, alias } = leaf;
        let last = path.last().cloned().unwrap_or_default();
        if matches!(last.as_str(), "*" | "self") && path.len() > 1 {
            path.pop();
        }
        if last == "*" {
            self.scopes[scope].globs.push(number);
        } else if let Some(name) = alias.as_ref().or(path.last()) {
            self.bind(scope, name, Binding::Import(number), item.is_public);
        }
        self.imports.push(Import {
            from: Reference::new(scope, path, item.is_global),
            alias,
            is_public: item.is_public,
        });
    }

    pub(super) fn module_of(&self, scope: usize) -> &Module {
        &self.scopes[scope].module
    }

    /// Whether a rewritten path leads to this module from outside of its parent; `module` is its path
    /// after the move.
    pub(super) fn is_seen_outside(&self, module: &Module) -> bool {
        self.seen_outside.borrow().contains(module)
    }

    /// Where a module is after the move.
    pub(super) fn moved(&self, module: &Module) -> Module {
        if let Some(new) = self.items.get(module) {
            return new.clone();
        }
        let root = &self.crates[module.0].root;
        let path = places::moved(self.moves, root, &module.1);
        (module.0, path)
    }

    /// The first module that is there after the move.
    fn becoming(&self, new: &Module) -> Option<&Module> {
        let by_new_path = self.by_new_path.get_or_init(|| {
            // Of several, the last that is collected counts.
            let modules = self.modules.keys().rev();
            modules.map(|it| (self.moved(it), it.clone())).collect()
        });
        by_new_path.get(new)
    }

    /// Runs `look`, which follows that import.
    fn following<T>(&self, import: Option<usize>, look: impl FnOnce() -> T) -> T {
        self.busy.borrow_mut().extend(import);
        let result = look();
        if import.is_some() {
            self.busy.borrow_mut().pop();
        }
        result
    }

    fn is_busy(&self, import: usize) -> bool {
        self.busy.borrow().contains(&import)
    }

    /// The modules to which the names of a path lead, as far as they belong to the project.
    fn trace(&self, from: &Reference) -> Vec<(Via, Module)> {
        let mut steps: Vec<(Via, Module)> = Vec::new();
        for (at, name) in from.path.iter().enumerate() {
            let step = match steps.last() {
                None if at == 0 => self.head(from, name),
                Some((Via::Here, module)) if name == "super" => {
                    parent(module).map(|parent| (Via::Here, parent))
                }
                Some((_, module)) => {
                    let (inside, of) = (self.module_of(from.scope), self.scope_of(module));
                    let found = of.and_then(|of| self.find(of, name, inside, true));
                    found.and_then(|found| self.step(found))
                }
                None => None,
            };
            match step {
                Some(step) => steps.push(step),
                None => break,
            }
        }
        steps
    }

    /// Where a path leads that begins with that name.
    fn head(&self, from: &Reference, name: &str) -> Option<(Via, Module)> {
        let own = self.module_of(from.scope);
        match name {
            "crate" => return Some((Via::Root, (own.0, Vec::new()))),
            "self" => return Some((Via::Here, own.clone())),
            "super" => return Some((Via::Here, parent(own)?)),
            _ => {}
        }
        if !from.is_global {
            let mut around = successors(Some(from.scope), |&it| self.scopes[it].parent);
            let found = around.find_map(|it| self.find(it, name, self.module_of(it), true));
            if let Some(found) = found {
                return self.step(found);
            }
        }
        let number = self.crates.iter().enumerate().position(|(number, it)| {
            number != own.0 && it.names.iter().any(|[known, _]| known == name)
        })?;
        Some((Via::Root, (number, Vec::new())))
    }

    /// What [`Self::find`] has found, with the module that an import refers to.
    fn step(&self, (via, module): (Via, Option<Module>)) -> Option<(Via, Module)> {
        let module = match via {
            Via::Import(number) => self.target(number),
            _ => module,
        };
        Some((via, module?))
    }

    /// The module that an import refers to.
    fn target(&self, number: usize) -> Option<Module> {
        let from = &self.imports[number].from;
        (!self.is_busy(number)).then(|| self.end(number, from))?
    }

    /// The module that a path of that import leads to.
    fn end(&self, number: usize, from: &Reference) -> Option<Module> {
        let mut steps = self.following(Some(number), || self.trace(from));
        let is_whole = steps.len() == from.path.len();
        let last = steps.pop().filter(|_| is_whole);
        last.map(|(_, module)| module)
    }

    /// The number of a module's scope, if its file was read.
    fn scope_of(&self, module: &Module) -> Option<usize> {
        *self.modules.get(module)?
    }

    /// Looks a name up in a scope, as code in `inside` sees it. A type leads to no module, and that of an import
    /// is not looked up.
    fn find(
        &self,
        scope: usize,
        name: &str,
        inside: &Module,
        is_private_seen: bool,
    ) -> Option<(Via, Option<Module>)> {
        let it = &self.scopes[scope];
        if let Some(bound) = it.names.get(name)
            && (bound.is_public || is_private_seen)
        {
            match bound.binding {
                Binding::Child => return Some((Via::Child, Some(self.child(scope, name)))),
                Binding::Type => return Some((Via::Child, None)),
                Binding::Import(number) if !self.is_busy(number) && !self.is_value(number) => {
                    return Some((Via::Import(number), None));
                }
                Binding::Import(_) => {}
            }
        }
        for &glob in &it.globs {
            if self.is_busy(glob) || !(self.imports[glob].is_public || is_private_seen) {
                continue;
            }
            let Some(module) = self.target(glob) else {
                continue;
            };
            let Some(scope) = self.scope_of(&module) else {
                continue;
            };
            let is_within = inside.0 == module.0 && inside.1.starts_with(&module.1);
            let found = self.following(Some(glob), || self.find(scope, name, inside, is_within));
            match found {
                Some((Via::Child, Some(child))) => return Some((Via::ByGlob(module), Some(child))),
                Some(found) => return Some(found),
                None => {}
            }
        }
        None
    }

    /// Whether an import refers to a function or a constant, which no path leads through.
    fn is_value(&self, number: usize) -> bool {
        let mut from = self.imports[number].from.clone();
        let Some(name) = from.path.pop() else {
            return false;
        };
        let module = self.end(number, &from);
        let scope = module.and_then(|module| self.scope_of(&module));
        scope.is_some_and(|at| {
            let scope = &self.scopes[at];
            !scope.names.contains_key(&name) && scope.values.contains(&name)
        })
    }
}

/// The module that contains a module or an item.
fn parent((number, path): &Module) -> Option<Module> {
    let (_, parent) = path.split_last()?;
    Some((*number, parent.to_vec()))
}

/// What has that name in a module.
fn below((number, path): &Module, name: &str) -> Module {
    (*number, [&path[..], &[name.to_owned()]].concat())
}
