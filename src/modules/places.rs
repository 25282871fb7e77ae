//! The paths of modules' files, before and after the move. Pure.

use std::collections::BTreeMap;

use super::source::Source;
use super::{Move, MoveError};

/// The folder of a path, empty for the project's root.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The names of a module's path.
pub(super) fn names(path: &str) -> Vec<String> {
    path.split("::").map(str::to_owned).collect()
}

/// A module's path after the move.
pub(super) fn moved(moves: &[Move], root: &str, path: &[String]) -> Vec<String> {
    let own = moves.iter().filter(|it| it.root == root);
    let fitting = own.filter_map(|it| Some((it, path.strip_prefix(&names(&it.from)[..])?)));
    // The longest path has the shortest rest.
    match fitting.min_by_key(|(_, rest)| rest.len()) {
        Some((it, rest)) => [&names(&it.to), rest].concat(),
        None => path.to_vec(),
    }
}

/// The path of a module's file below that folder, without its extension.
pub(super) fn stem(folder: &str, module: &str) -> String {
    let names = module.split("::").map(|name| name.trim_start_matches("r#"));
    names.fold(folder.to_owned(), |stem, name| join(&stem, name))
}

/// The path of each of `files` after the move.
pub(super) fn places<'a>(
    moves: &[Move],
    files: &BTreeMap<&'a str, &'a str>,
) -> Result<BTreeMap<&'a str, String>, MoveError> {
    let mut stems: Vec<(String, String)> = Vec::new();
    for it in moves {
        let [from, to] = [&it.from, &it.to].map(|module| stem(folder(&it.root), module));
        let is_file = |path: &str| files.contains_key(path);
        if !is_file(&format!("{from}.rs")) && !is_file(&format!("{from}/mod.rs")) {
            if !is_declared(it, files) {
                // Its owner removed it.
                continue;
            }
            return Err(MoveError::Missing {
                root: it.root.clone(),
                module: it.from.clone(),
            });
        }
        stems.push((from, to));
    }
    // The first that matches is the longest.
    stems.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    let places: BTreeMap<&str, String> = files
        .keys()
        .map(|&path| {
            let fit = stems.iter().find_map(|(from, to)| {
                let rest = path.strip_prefix(from.as_str())?;
                (rest == ".rs" || rest.starts_with('/')).then(|| format!("{to}{rest}"))
            });
            (path, fit.unwrap_or_else(|| path.to_owned()))
        })
        .collect();
    check(&places)?;
    Ok(places)
}

/// Whether the module around it declares a module.
fn is_declared(it: &Move, files: &BTreeMap<&str, &str>) -> bool {
    let (parent, name) = it.from.rsplit_once("::").unwrap_or(("", &it.from));
    let around = stem(folder(&it.root), parent);
    let places = match parent {
        "" => vec![it.root.clone()],
        _ => vec![format!("{around}.rs"), format!("{around}/mod.rs")],
    };
    let plain = |name: &str| name.trim_start_matches("r#").to_owned();
    let texts = places.iter().filter_map(|path| files.get(path.as_str()));
    let mut declarations = texts.flat_map(|text| Source::read(text).declarations);
    declarations.any(|it| plain(&it.name.text) == plain(name))
}

/// Refuses two files with one path, and a moved file of a module that would have two files.
fn check(places: &BTreeMap<&str, String>) -> Result<(), MoveError> {
    for (from, to) in places.iter().filter(|(from, to)| *from != to) {
        let twin = match to.strip_suffix("/mod.rs") {
            Some(stem) => format!("{stem}.rs"),
            None => format!("{}/mod.rs", to.strip_suffix(".rs").unwrap_or(to)),
        };
        let taken = places
            .iter()
            .find(|(other, place)| other != &from && (*place == to || **place == twin));
        if let Some((_, taken)) = taken {
            return Err(MoveError::Taken {
                from: (*from).to_owned(),
                to: to.clone(),
                taken: taken.clone(),
            });
        }
    }
    Ok(())
}

/// The path of a file in `literal`, which moves from the file `from` to the file `to`, as it must be
/// there; `None` if it may stay.
pub(super) fn relative(
    literal: &str,
    from: &str,
    to: &str,
    places: &BTreeMap<&str, String>,
) -> Option<String> {
    if literal.starts_with('/') || literal.contains('\\') {
        return None;
    }
    let target = join(folder(from), literal);
    let new = places.get(target.as_str()).unwrap_or(&target);
    if join(folder(to), literal) == *new {
        return None;
    }
    let folder: Vec<&str> = folder(to).split('/').filter(|it| !it.is_empty()).collect();
    let path: Vec<&str> = new.split('/').collect();
    let common = folder.iter().zip(&path).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", folder.len() - common);
    let parts: Vec<&str> = up.chain(path[common..].iter().copied()).collect();
    Some(parts.join("/"))
}

/// Joins `folder` and `path`, without `.` and, as far as possible, without `..`.
pub(crate) fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
