//! The targets of paths, found with syn, and without the lexer and the rules of the engine.

use std::collections::BTreeMap;

use syn::{Item, Type, UseTree};

/// A module: the index of its crate in the list of crates, and its path in the crate.
pub(crate) type Place = (usize, Vec<String>);

type Names = Vec<String>;

#[derive(Default)]
struct Scope {
    imports: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// The paths of its imports and types.
    paths: Vec<Names>,
}

/// Each path to a type in the files of the modules: its module, its text, and the module that it leads
/// to. The first crate is called `api` by the second.
pub(crate) fn items(files: &BTreeMap<Place, &str>) -> Vec<(Place, String, Option<Place>)> {
    let mut scopes: BTreeMap<Place, Scope> = BTreeMap::new();
    for (module, text) in files {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        read(&mut scopes, module, &file.items);
    }
    // A module that only contains others has no file here.
    for (number, path) in scopes.keys().cloned().collect::<Vec<_>>() {
        for length in 0..path.len() {
            scopes.entry((number, path[..length].to_vec())).or_default();
        }
    }
    let all = scopes.iter().flat_map(|(module, scope)| {
        let paths = scope.paths.iter();
        paths.map(move |path| (module.clone(), path.clone()))
    });
    let is_type = |path: &Names| path.last().is_some_and(|name| name.starts_with('I'));
    let paths = all.filter(|(_, path)| is_type(path));
    paths
        .map(|(module, path)| {
            let found = resolve(&scopes, &module, &path[..path.len() - 1], None);
            (module, path.join("::"), found)
        })
        .collect()
}

fn read(scopes: &mut BTreeMap<Place, Scope>, module: &Place, items: &[Item]) {
    scopes.entry(module.clone()).or_default();
    for item in items {
        match item {
            Item::Use(item) => {
                let mut leaves = Vec::new();
                leaves_of(&item.tree, &[], &mut leaves);
                let scope = scopes.entry(module.clone()).or_default();
                for (name, path) in leaves {
                    match name {
                        None => scope.globs.push(path),
                        Some(name) => {
                            scope.paths.push(path.clone());
                            scope.imports.insert(name, path);
                        }
                    }
                }
            }
            Item::Type(item) => {
                let scope = scopes.entry(module.clone()).or_default();
                scope.paths.extend(path_of(&item.ty));
            }
            Item::Mod(item) => {
                if let Some((_, items)) = &item.content {
                    let mut inner = module.clone();
                    inner.1.push(item.ident.to_string());
                    read(scopes, &inner, items);
                }
            }
            _ => {}
        }
    }
}

fn path_of(ty: &Type) -> Option<Names> {
    let Type::Path(ty) = ty else { return None };
    if let Some(last) = ty.path.segments.last()
        && let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(syn::GenericArgument::Type(inner)) = arguments.args.first()
    {
        return path_of(inner);
    }
    let names = ty.path.segments.iter().map(|it| it.ident.to_string());
    Some(names.collect())
}

fn leaves_of(tree: &UseTree, before: &[String], leaves: &mut Vec<(Option<String>, Names)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => leaves_of(&path.tree, &with(&path.ident), leaves),
        UseTree::Group(group) => {
            for tree in &group.items {
                leaves_of(tree, before, leaves);
            }
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((before.last().cloned(), before.to_vec()));
        }
        UseTree::Name(name) => leaves.push((Some(name.ident.to_string()), with(&name.ident))),
        UseTree::Rename(it) => leaves.push((Some(it.rename.to_string()), with(&it.ident))),
        UseTree::Glob(_) => leaves.push((None, before.to_vec())),
    }
}

/// The module that a path leads to, if any. An import does not lead through itself.
fn resolve(
    scopes: &BTreeMap<Place, Scope>,
    module: &Place,
    path: &[String],
    skipped: Option<&str>,
) -> Option<Place> {
    let mut at: Option<Place> = None;
    for name in path {
        let next = match (name.as_str(), at) {
            ("crate", None) => (module.0, Vec::new()),
            ("self", None) => module.clone(),
            ("super", at) => {
                let (number, mut path) = at.unwrap_or_else(|| module.clone());
                path.pop()?;
                (number, path)
            }
            (name, Some(at)) => step(scopes, &at, name, None)?,
            (name, None) => match step(scopes, module, name, skipped) {
                Some(found) => found,
                None if name == "api" && module.0 == 1 => (0, Vec::new()),
                None => return None,
            },
        };
        at = Some(next).filter(|it| scopes.contains_key(it));
        at.as_ref()?;
    }
    at
}

fn step(
    scopes: &BTreeMap<Place, Scope>,
    module: &Place,
    name: &str,
    skipped: Option<&str>,
) -> Option<Place> {
    let mut child = module.clone();
    child.1.push(name.to_owned());
    if scopes.contains_key(&child) {
        return Some(child);
    }
    let scope = scopes.get(module)?;
    if let Some(path) = scope.imports.get(name).filter(|_| skipped != Some(name)) {
        return resolve(scopes, module, path, Some(name));
    }
    scope.globs.iter().find_map(|glob| {
        let from = resolve(scopes, module, glob, Some(name))?;
        step(scopes, &from, name, None)
    })
}
