//! Lock files: the embedded one, adapted to the name of a project, and a project's own.
//!
//! The file under `templates/` is the lock file of a project called [`PLACEHOLDER`]. Cargo sorts the
//! packages of a lock file by name, and rewrites a file with another order; so renaming also sorts the
//! project's own packages, and their names in the lists of dependencies. Pure;
//! `tests/tools/refresh-lock` regenerates the file.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use miette::Diagnostic;
use thiserror::Error;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, Value};

use crate::templates::LOCK;

/// Path of the file.
pub(crate) const PATH: &str = "Cargo.lock";

/// The name of the project in the embedded lock file.
const PLACEHOLDER: &str = "kbr-placeholder";

/// The line above each package.
const PACKAGE: &str = "[[package]]\n";

#[derive(Debug, Error, Diagnostic)]
#[error("`{PATH}` is not TOML: {0}")]
#[diagnostic(
    code("lock-unreadable"),
    help("restore it from version control, or delete it and type `cargo generate-lockfile`")
)]
pub(crate) struct LockError(String);

/// A lock file, as cargo writes it.
#[derive(Debug, Clone)]
pub(crate) struct Lock(DocumentMut);

impl FromStr for Lock {
    type Err = LockError;

    fn from_str(text: &str) -> Result<Self, LockError> {
        let parsed = text.parse::<DocumentMut>();
        let document = parsed.map_err(|error| LockError(error.message().to_owned()))?;
        Ok(Self(document))
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The lock file of a project called `name`.
///
/// Cargo has written the embedded file, so its lines are enough to read it: parsed as TOML, it would take longer than
/// everything else that most commands do.
pub(crate) fn render(name: &str) -> String {
    let separator = format!("\n{PACKAGE}");
    let (head, packages) = LOCK.split_once(PACKAGE).unwrap_or((LOCK, ""));
    let packages = packages.split(&separator);
    let mut packages: Vec<String> = packages.map(|it| with_name(it, name)).collect();
    packages.sort_by(|a, b| value_of(a, "name").cmp(&value_of(b, "name")));
    format!("{head}{PACKAGE}{}", packages.join(&separator))
}

/// A package of the embedded file, in the lock file of a project called `name`.
fn with_name(package: &str, name: &str) -> String {
    if !package.contains(PLACEHOLDER) {
        return package.to_owned();
    }
    let renamed = package.replace(PLACEHOLDER, name);
    let mut lines: Vec<&str> = renamed.split_inclusive('\n').collect();
    let is_dependency = |line: &&str| line.starts_with(" \"");
    if let Some(first) = lines.iter().position(is_dependency) {
        let after = lines.iter().skip(first).position(|it| !is_dependency(it));
        let end = after.map_or(lines.len(), |count| first + count);
        lines[first..end].sort_by_key(|line| line.split('"').nth(1));
    }
    lines.concat()
}

/// What a package of the embedded file has after `key = `.
fn value_of<'a>(package: &'a str, key: &str) -> Option<&'a str> {
    let mut values = package.lines().filter_map(|line| line.strip_prefix(key));
    values.find_map(|rest| rest.strip_prefix(" = \"")?.strip_suffix('"'))
}

/// Name and version of each package in the embedded file.
fn embedded() -> impl Iterator<Item = (&'static str, &'static str)> {
    let packages = LOCK.split(PACKAGE).skip(1);
    packages.filter_map(|it| Some((value_of(it, "name")?, value_of(it, "version")?)))
}

/// Whether the emitted operator depends on a package of that name; `-` and `_` count as equal, as in
/// Rust.
pub(crate) fn depends_on(name: &str) -> bool {
    static NAMES: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| embedded().map(|(name, _)| name.replace('_', "-")).collect());
    !name.starts_with(PLACEHOLDER) && NAMES.contains(&name.replace('_', "-"))
}

/// The version of a package that the emitted operator depends on; the first one in the order of their texts.
pub(crate) fn version_of(name: &str) -> Option<&'static str> {
    let named = embedded().filter(|(it, _)| *it == name);
    named.map(|(_, version)| version).min()
}

impl Lock {
    fn packages(&self) -> impl Iterator<Item = &Table> {
        let packages = self.0.get("package").and_then(|it| it.as_array_of_tables());
        packages.into_iter().flatten()
    }

    /// The names of all packages, with `-` for `_`.
    fn crates(&self) -> BTreeSet<String> {
        let names = self.packages().map(package_name);
        names.map(|name| name.replace('_', "-")).collect()
    }

    /// The first package whose name a project called `to` would need for one of its own packages.
    pub(crate) fn taken(&self, to: &str) -> Option<String> {
        let names = self.crates();
        own(to).into_iter().find(|name| names.contains(name))
    }

    /// The versions of a package.
    pub(crate) fn versions(&self, name: &str) -> BTreeSet<&str> {
        let named = self.packages().filter(|it| package_name(it) == name);
        let versions = named.filter_map(|package| package.get("version")?.as_str());
        versions.collect()
    }

    /// Renames the packages of a project called `from` to those of a project called `to`.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let names: Vec<_> = own(from).into_iter().zip(own(to)).collect();
        let rename = |value: &mut Value| {
            let new = names.iter().find(|(old, _)| value.as_str() == Some(old));
            if let Some((_, new)) = new {
                let decor = value.decor().clone();
                *value = new.as_str().into();
                *value.decor_mut() = decor;
            }
        };
        self.change(|packages| {
            for package in packages.iter_mut() {
                if let Some(name) = package.get_mut("name").and_then(|it| it.as_value_mut()) {
                    rename(name);
                }
                let dependencies = package.get_mut("dependencies");
                if let Some(list) = dependencies.and_then(|it| it.as_array_mut()) {
                    list.iter_mut().for_each(rename);
                    list.sort_by_key(|it| it.as_str().map(str::to_owned));
                }
            }
        });
    }

    /// Adds the packages of another lock file whose names are missing in this one.
    pub(crate) fn add_missing(&mut self, other: &Self) {
        let names: BTreeSet<String> = self.packages().map(|it| package_name(it).into()).collect();
        let packages = other.packages();
        let missing = packages.filter(|package| !names.contains(package_name(package)));
        self.change(|packages| packages.extend(missing.cloned()));
    }

    /// Changes the packages, and sorts them as cargo does.
    fn change(&mut self, change: impl FnOnce(&mut Vec<Table>)) {
        let found = self.0.get_mut("package");
        let Some(found) = found.and_then(|it| it.as_array_of_tables_mut()) else {
            return;
        };
        let mut packages: Vec<Table> = std::mem::take(found).into_iter().collect();
        change(&mut packages);
        packages.sort_by(|a, b| package_name(a).cmp(package_name(b)));
        for package in &mut packages {
            // Otherwise each would be written at its old position.
            package.set_position(None);
        }
        *found = packages.into_iter().collect::<ArrayOfTables>();
    }
}

/// The packages of a project.
fn own(project: &str) -> [String; 2] {
    [project.to_owned(), format!("{project}-api")]
}

fn package_name(package: &Table) -> &str {
    let name = package.get("name").and_then(Item::as_str);
    name.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Lock {
        text.parse().expect("it is TOML")
    }

    #[test]
    fn the_lines_of_the_embedded_lock_say_the_same_as_its_toml() {
        let lock = parsed(LOCK);
        let packages = lock.packages().map(|package| {
            let version = package.get("version").and_then(Item::as_str);
            (package_name(package), version.expect("a version"))
        });
        assert_eq!(packages.collect::<Vec<_>>(), embedded().collect::<Vec<_>>());
        for name in ["aaa", "cronjob", "kube-zzz", "serde-x", "zzz"] {
            let mut lock = lock.clone();
            lock.rename(PLACEHOLDER, name);
            assert_eq!(render(name), lock.to_string());
        }
    }

    #[test]
    fn packages_and_dependencies_are_in_cargos_order() {
        for name in ["aaa", "cronjob", "zzz", "serde-x"] {
            let text = render(name);
            assert!(!text.contains(PLACEHOLDER), "{name}");
            let lock = parsed(&text);
            let names: Vec<&str> = lock.packages().map(package_name).collect();
            assert!(names.is_sorted(), "{name}");
            assert_eq!(names.len(), parsed(LOCK).packages().count());
            for own in [name.to_owned(), format!("{name}-api")] {
                assert!(names.contains(&own.as_str()), "{own}");
            }
        }
    }

    #[test]
    fn without_another_name_the_lock_stays_as_cargo_wrote_it() {
        assert_eq!(render(PLACEHOLDER), LOCK);
    }

    #[test]
    fn a_lock_in_conflict_is_refused() {
        let error = "<<<<<<< ours\n[[package]]\n".parse::<Lock>().unwrap_err();
        assert!(
            error.to_string().starts_with("`Cargo.lock` is not TOML: "),
            "{error}"
        );
    }

    #[test]
    fn the_lock_knows_what_the_operator_depends_on() {
        assert!(
            ["tokio", "kube", "serde_json", "serde-json"]
                .into_iter()
                .all(depends_on)
        );
        assert!(!["cronjob", "kbr-placeholder"].into_iter().any(depends_on));
    }
}
