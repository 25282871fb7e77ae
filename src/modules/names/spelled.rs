//! How paths are written after the move. Pure.

use super::{Module, Names, Reference, Via, below};

impl Names<'_> {
    /// The names of a path after the move. If `is_absolute`, they begin with a crate. Of a path in a `use`,
    /// `import` is the number of the import, if there is one.
    pub(crate) fn respell(
        &self,
        from: &Reference,
        is_absolute: bool,
        import: Option<usize>,
    ) -> Vec<String> {
        let here = self.moved(self.module_of(from.scope));
        let steps = self.following(import, || self.trace(from));
        let mut spelled = Spelled {
            all: self,
            here: &here,
            is_absolute,
            names: Vec::new(),
            base: here.clone(),
            is_same: true,
            rest: Vec::new(),
            target: None,
        };
        for ((step, module), name) in steps.iter().zip(&from.path) {
            match step {
                Via::Root => spelled.push(self.crate_name(name, module.0), (module.0, Vec::new())),
                Via::Here => spelled.up(name, module),
                Via::Child => spelled.rest.push(name.clone()),
                Via::ByGlob(owner) => {
                    let (_, owner) = self.moved(owner);
                    let new = self.moved(module);
                    match new.1.split_last() {
                        Some((name, parent)) if parent == owner => {
                            let name = name.clone();
                            spelled.flush(None);
                            spelled.push(&name, new);
                        }
                        _ => spelled.rest.push(name.clone()),
                    }
                }
                Via::Import(number) => {
                    spelled.flush(None);
                    let carried = self.carried.get(number).cloned();
                    let target = carried.unwrap_or_else(|| self.moved(module));
                    let name = self.following(import, || self.new_name(*number));
                    spelled.push(&name, target);
                }
            }
            spelled.target = Some(module.clone());
        }
        spelled.flush(import.and_then(|number| self.carried.get(&number)));
        [&spelled.names, &from.path[steps.len()..]].concat()
    }

    /// The name that an import has after the move.
    fn new_name(&self, number: usize) -> String {
        let import = &self.imports[number];
        let old = import.from.path.last().cloned().unwrap_or_default();
        if let Some(alias) = &import.alias {
            return alias.clone();
        }
        if self.is_busy(number) {
            return old;
        }
        let path = self.respell(&import.from, false, Some(number));
        let new = path.last().unwrap_or(&old);
        match self.alias(number, new) {
            Some(alias) if alias != "_" => alias,
            _ => new.clone(),
        }
    }

    /// The alias that an import needs if its module is called `new` after the move: its old name if the
    /// new one is taken, and `_` if the module itself is declared there.
    pub(crate) fn alias(&self, number: usize, new: &str) -> Option<String> {
        let import = &self.imports[number];
        let last = import.from.path.last();
        let old = last.filter(|_| import.alias.is_none())?;
        let scope = &self.scopes[import.from.scope];
        let it = below(&self.moved(&scope.module), new);
        let child = match scope.parent {
            None => self.becoming(&it),
            Some(_) => None,
        };
        if child.is_some() && self.target(number).as_ref() == child {
            return Some("_".to_owned());
        }
        let is_taken = child.is_some() || scope.names.contains_key(new);
        (is_taken && new != old).then(|| old.clone())
    }

    /// The path of a module that is valid everywhere in the crate of `here`.
    fn absolute(&self, module: &Module, here: &Module) -> Vec<String> {
        let first = self.crates[module.0].names.first();
        let name = first.filter(|_| module.0 != here.0);
        let mut names = vec![name.map_or_else(|| "crate".to_owned(), |[_, new]| new.clone())];
        names.extend(module.1.iter().cloned());
        names
    }

    /// The name after the move of a crate that is called `name` in a path.
    fn crate_name<'n>(&'n self, name: &'n str, number: usize) -> &'n str {
        let mut names = self.crates[number].names.iter();
        let renamed = names.find(|[old, _]| old == name);
        renamed.map_or(name, |[_, new]| new)
    }

    /// Whether `name` at the beginning of a path could mean a crate.
    fn is_crate(&self, name: &str) -> bool {
        let mut known = self.crates.iter().flat_map(|it| it.names.iter().flatten());
        ["alloc", "core", "std"].contains(&name) || known.any(|known| known == name)
    }
}

/// A path of the new tree that is being built.
struct Spelled<'a> {
    all: &'a Names<'a>,
    here: &'a Module,
    is_absolute: bool,
    names: Vec<String>,
    /// What `names` refer to in the new tree.
    base: Module,
    /// Whether they refer to the same as before.
    is_same: bool,
    /// The names after them in the old tree.
    rest: Vec<String>,
    /// What they lead to in the old tree.
    target: Option<Module>,
}

impl Spelled<'_> {
    fn push(&mut self, name: &str, base: Module) {
        self.names.push(name.to_owned());
        self.base = base;
        self.is_same = true;
        self.rest.clear();
    }

    /// Adds `self` or `super`, which led to `old`.
    fn up(&mut self, name: &str, old: &Module) {
        self.names.push(name.to_owned());
        // There is nothing above the crate's root.
        self.is_absolute |= name == "super" && self.base.1.pop().is_none();
        self.is_same = self.all.moved(old) == self.base;
    }

    /// Adds the names that lead to the target, or to `carried` in the new tree.
    fn flush(&mut self, carried: Option<&Module>) {
        let Some(target) = &self.target else { return };
        let new = carried.cloned().unwrap_or_else(|| self.all.moved(target));
        let below = new.1.strip_prefix(self.base.1.as_slice());
        match below.filter(|_| new.0 == self.base.0 && !self.is_absolute) {
            // The names lead there if they mean the same as before, or if the others are as they were.
            Some(rest) if self.is_same || !rest.is_empty() && rest == self.rest => {
                let hides = self.names.is_empty() && rest.first() != self.rest.first();
                if hides && rest.first().is_some_and(|name| self.all.is_crate(name)) {
                    self.names.push("self".to_owned());
                }
                self.names.extend(rest.iter().cloned());
            }
            _ => self.names = self.all.absolute(&new, self.here),
        }
        self.rest.clear();
        for length in 1..=new.1.len() {
            let parent = &new.1[..length - 1];
            if new.0 != self.here.0 || !self.here.1.starts_with(parent) {
                let module = (new.0, new.1[..length].to_vec());
                self.all.seen_outside.borrow_mut().insert(module);
            }
        }
    }
}
