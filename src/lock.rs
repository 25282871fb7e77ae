//! The embedded `Cargo.lock`, put into the name of a project.
//!
//! The file under `templates/` is the lock of a project called [`PLACEHOLDER`]. Cargo sorts the
//! packages of a lock by name, and rewrites a lock that is sorted otherwise; so the project's own
//! packages move to where their names put them, and so do their names in the lists of what they
//! depend on. Pure; `tests/tools/refresh-lock` writes the file anew.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::templates::LOCK;

/// Where the file stands.
pub const PATH: &str = "Cargo.lock";

/// The name under which the embedded lock was made.
const PLACEHOLDER: &str = "kbr-placeholder";

/// What stands before each package.
const SEPARATOR: &str = "\n[[package]]\n";

/// The lock file of a project called `name`.
pub fn render(name: &str) -> String {
    renamed(LOCK, PLACEHOLDER, name)
}

/// A lock file with the project's own packages under their new names.
pub fn renamed(lock: &str, from: &str, to: &str) -> String {
    let mut parts = lock.split(SEPARATOR);
    let head = parts.next().unwrap_or_default();
    let mut packages: Vec<String> = parts
        .map(|package| rename(package.trim_end(), from, to) + "\n")
        .collect();
    packages.sort_by(|a, b| package_name(a).cmp(package_name(b)));
    let body: String = packages
        .iter()
        .map(|package| format!("{SEPARATOR}{package}"))
        .collect();
    format!("{head}{body}")
}

/// The project's own packages.
fn own(project: &str) -> [String; 2] {
    [project.to_owned(), format!("{project}-api")]
}

/// The first package of a lock file that has a name which the project called `to` would need for one of
/// its own.
pub fn taken(lock: &str, to: &str) -> Option<String> {
    let packages = lock.split(SEPARATOR).skip(1).map(package_name);
    let names: BTreeSet<String> = packages.map(|name| name.replace('_', "-")).collect();
    own(to).into_iter().find(|name| names.contains(name))
}

/// Whether the emitted operator depends on a package of that name, `-` and `_` being one to
/// Rust.
pub fn depends_on(name: &str) -> bool {
    static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        LOCK.split(SEPARATOR)
            .skip(1)
            .map(|package| package_name(package).replace('_', "-"))
            .collect()
    });
    !name.starts_with(PLACEHOLDER) && NAMES.contains(&name.replace('_', "-"))
}

/// The version of a package that the emitted operator depends on.
pub fn version_of(name: &str) -> Option<&'static str> {
    let package = LOCK
        .split(SEPARATOR)
        .find(|package| package_name(package) == name)?;
    version(package)
}

/// A lock file with the packages of another whose names it does not have.
pub fn with_missing(lock: &str, other: &str) -> String {
    let names: BTreeSet<&str> = lock.split(SEPARATOR).skip(1).map(package_name).collect();
    let missing = other.split(SEPARATOR).skip(1);
    let missing = missing.filter(|package| !names.contains(package_name(package)));
    let missing = missing.map(|package| format!("{SEPARATOR}{}\n", package.trim_end()));
    lock.to_owned() + &missing.collect::<String>()
}

/// The versions of a package in a lock file.
pub fn versions<'a>(lock: &'a str, name: &str) -> BTreeSet<&'a str> {
    let packages = lock.split(SEPARATOR).skip(1);
    let named = packages.filter(|package| package_name(package) == name);
    named.filter_map(version).collect()
}

fn version(package: &str) -> Option<&str> {
    let mut lines = package.lines();
    lines.find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
}

/// A package's text, with the project's names replaced and its dependencies in order.
fn rename(package: &str, from: &str, to: &str) -> String {
    let quoted = |name: &str| format!("\"{name}\"");
    let mut renamed = package.to_owned();
    for (old, new) in own(from).iter().zip(own(to)) {
        renamed = renamed.replace(&quoted(old), &quoted(&new));
    }
    if renamed == package {
        return renamed;
    }
    let Some((before, rest)) = renamed.split_once("dependencies = [\n") else {
        return renamed;
    };
    let Some((list, after)) = rest.split_once(']') else {
        return renamed;
    };
    let mut dependencies: Vec<&str> = list.lines().collect();
    dependencies.sort_unstable();
    format!(
        "{before}dependencies = [\n{}\n]{after}",
        dependencies.join("\n")
    )
}

fn package_name(package: &str) -> &str {
    let name = package
        .strip_prefix("name = \"")
        .and_then(|rest| rest.split('"').next());
    name.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_dependencies_stand_where_cargo_sorts_them() {
        for name in ["aaa", "cronjob", "zzz", "serde-x"] {
            let text = render(name);
            assert!(!text.contains(PLACEHOLDER), "{name}");
            let names: Vec<&str> = text.split(SEPARATOR).skip(1).map(package_name).collect();
            assert!(names.is_sorted(), "{name}");
            assert_eq!(names.len(), LOCK.split(SEPARATOR).skip(1).count());
            for own in [name.to_owned(), format!("{name}-api")] {
                assert!(names.contains(&own.as_str()), "{own}");
            }
        }
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
