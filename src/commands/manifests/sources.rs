//! Which sources are compiled into the operator, and why markers elsewhere have no effect. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::cargo_toml::{Manifest, ManifestError};
use crate::layout;
use crate::manifests::code_marker::{CodeMarker, Location, MarkerError};
use crate::modules;
use crate::tree::Tree;

/// Where markers have no effect.
const TESTS: &str = "code for tests";

/// Whether a file is in the folders of the operator's own packages.
pub(super) fn is_among_sources(path: &str) -> bool {
    layout::SOURCES
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// The Rust sources of a project, without the vendored crates.
pub(super) struct Sources<'a> {
    pub(crate) files: BTreeMap<&'a str, &'a str>,
    /// The folders of the operator and of the packages that it depends on, each with `/` at its end.
    packages: BTreeSet<String>,
    /// Their files, without those that only tests have.
    operator: BTreeSet<String>,
    /// The same with those of tests.
    all: BTreeSet<String>,
}

impl<'a> Sources<'a> {
    pub(super) fn of(tree: &'a Tree) -> Self {
        let is_source = |path: &str| path.ends_with(".rs") && !layout::is_vendored(path);
        let files: BTreeMap<&str, &str> =
            tree.files().filter(|(path, _)| is_source(path)).collect();
        let packages = packages(tree);
        let roots: Vec<String> = packages
            .iter()
            .flat_map(|package| roots(package, tree, &files))
            .collect();
        let reached =
            |with_tests| modules::reached(roots.iter().map(String::as_str), &files, with_tests);
        Self {
            operator: reached(false),
            all: reached(true),
            packages,
            files,
        }
    }

    /// The texts of the files that are compiled into the operator.
    pub(super) fn compiled(&self) -> impl Iterator<Item = &'a str> {
        let compiled = self
            .files
            .iter()
            .filter(|(path, _)| self.operator.contains(**path));
        compiled.map(|(_, text)| *text)
    }

    /// An error for each file with markers that is not compiled into the operator: what they ask for is not what the
    /// operator does. First those of files that no package compiles into it, whatever its modules are.
    pub(super) fn outside(&self, markers: &[CodeMarker]) -> (Vec<MarkerError>, Vec<MarkerError>) {
        let (mut certain, mut others) = (Vec::new(), Vec::new());
        let mut last = "";
        for marker in markers {
            let path = marker.location.path.as_str();
            if path == last || self.operator.contains(path) {
                continue;
            }
            last = path;
            match other_target(self.inside(path)) {
                Some(target) => certain.push(refused(marker, target)),
                None => others.push(self.not_reached(marker, path)),
            }
        }
        (certain, others)
    }

    /// The errors for manifests and modules that were not read.
    pub(super) fn unread(&self, tree: &Tree) -> Vec<MarkerError> {
        let manifests = self.packages.iter();
        let manifests = manifests.filter_map(|package| manifest(package, tree)?.err());
        let manifests = manifests.map(|wrong| {
            let message = format!("the manifest {}", wrong.problem);
            Location::start(wrong.path, wrong.line).error(message, wrong.help)
        });
        let modules = tree
            .entries()
            .filter(|(path, _)| is_among_sources(path) && path.ends_with(".rs"));
        let modules = modules.filter_map(|(path, entry)| {
            let why = entry.text().err()?;
            let message = format!("the module {why}, and kbr reads only text files");
            let place = Location::start(path.to_owned(), 1);
            Some(place.error(message, "put its text there"))
        });
        manifests.chain(modules).collect()
    }

    /// The path of a file in its package.
    fn inside<'p>(&self, path: &'p str) -> &'p str {
        let packages = self.packages.iter();
        let inside = packages.filter_map(|package| path.strip_prefix(package.as_str()));
        inside.min_by_key(|it| it.len()).unwrap_or(path)
    }

    /// Why a marker in that file, which is in no module of the operator, has no effect.
    fn not_reached(&self, marker: &CodeMarker, path: &str) -> MarkerError {
        if self.all.contains(path) {
            return refused(marker, TESTS);
        }
        if !self.inside(path).starts_with("src/") {
            return refused(marker, "a file that is not compiled into the operator");
        }
        let kind = marker.kind.name();
        let message = format!("`+kbr:{kind}` is in a file that no `mod` declares");
        let (name, parent) = declaration(path, &self.files);
        let help = format!("delete `{path}`, or write `mod {name};` in `{parent}`");
        marker.error(message, help)
    }
}

fn refused(marker: &CodeMarker, place: &str) -> MarkerError {
    marker.error(
        format!("`+kbr:{}` is in {place}", marker.kind.name()),
        "move it to the code of the operator that needs it",
    )
}

/// What a file is whose path says that it is no part of the operator; `inside` is its path in its package.
fn other_target(inside: &str) -> Option<&'static str> {
    match inside.split_once('/').map(|(folder, _)| folder) {
        Some("benches" | "tests") => Some(TESTS),
        Some("examples") => Some("an example, which is not part of the operator"),
        None if inside == "build.rs" => Some("a build script, which is not part of the operator"),
        _ => None,
    }
}

/// The folders of the operator and of the packages that it depends on, tests aside.
fn packages(tree: &Tree) -> BTreeSet<String> {
    let own = layout::SOURCES.into_iter();
    let read = |package: &str| manifest(package, tree)?.ok();
    let mut open: Vec<String> = own
        .map(|folder| folder.trim_end_matches("src/").to_owned())
        .collect();
    let mut found = BTreeSet::new();
    let root = read("");
    while let Some(folder) = open.pop() {
        if !found.insert(folder.clone()) {
            continue;
        }
        let own = read(&folder).zip(root.as_ref());
        let paths = own.map(|(own, root)| own.paths(root)).unwrap_or_default();
        for (path, is_inherited) in paths {
            let from = if is_inherited { "" } else { folder.as_str() };
            let package = format!("{}/", modules::join(from, &path));
            if !layout::is_vendored(&package) {
                open.push(package);
            }
        }
    }
    found
}

/// The files of a package at which cargo begins: its own choice, and what its Cargo.toml names.
fn roots(package: &str, tree: &Tree, files: &BTreeMap<&str, &str>) -> Vec<String> {
    let by_name = files.keys().filter(|path| {
        let rest = path
            .strip_prefix(package)
            .and_then(|it| it.strip_prefix("src/"));
        rest.is_some_and(|rest| match rest.strip_prefix("bin/") {
            Some(rest) => rest
                .split_once('/')
                .is_none_or(|(_, rest)| rest == "main.rs"),
            None => matches!(rest, "lib.rs" | "main.rs"),
        })
    });
    let named = manifest(package, tree).and_then(|it| Some(it.ok()?.roots()));
    let named = named.into_iter().flatten();
    let named = named.map(|path| modules::join(package, &path));
    by_name
        .map(|path| (*path).to_owned())
        .chain(named)
        .collect()
}

fn manifest(package: &str, tree: &Tree) -> Option<Result<Manifest, ManifestError>> {
    let path = format!("{package}{}", layout::MANIFEST);
    Some(Manifest::read(&path, tree.entry(&path)?.text()))
}

/// The name of a file's module, and the file that has to declare it.
fn declaration(path: &str, files: &BTreeMap<&str, &str>) -> (String, String) {
    let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let own = ["lib.rs", "main.rs", "mod.rs"].map(|file| format!("{folder}/{file}"));
    let parent = own
        .into_iter()
        .find(|file| files.contains_key(file.as_str()));
    (
        name.to_owned(),
        parent.unwrap_or_else(|| format!("{folder}.rs")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::code_marker;

    const MARKER: &str = "// +kbr:rbac:groups=a,resources=b,verbs=get\n";

    /// Where markers are refused because of the file they are in, and why, among these files.
    fn refused(files: &[(&str, &str)]) -> Vec<String> {
        let tree: Tree = files.iter().copied().collect();
        let sources = Sources::of(&tree);
        let read = |(path, text): (&&str, &&str)| code_marker::read(path, text).0;
        let markers: Vec<CodeMarker> = sources.files.iter().flat_map(read).collect();
        let (certain, others) = sources.outside(&markers);
        let mut errors = [certain, others].concat();
        errors.sort_by(|a, b| a.location.path.cmp(&b.location.path));
        let errors = errors.into_iter();
        errors.map(|it| format!("{it}; {}", it.help)).collect()
    }

    #[test]
    fn markers_in_no_module_of_the_operator_are_refused() {
        let lib = "mod seen;\nmod inner {\n    mod deep;\n}\n#[cfg(test)]\nmod tests;\n\
                   #[cfg(all(test, unix))]\nmod a { mod b; }\n#[path = \"other/name.rs\"]\nmod named;\n\
                   mod in_folder { #[path = \"x.rs\"] mod y; }\ninclude!(\"included.rs\");\n\
                   #[cfg(test)] include!(\"a_test.rs\");\nconst A: &str = include_str!(\"text.rs\");\n";
        let twice = MARKER.repeat(2);
        let refused = refused(&[
            ("src/lib.rs", lib),
            ("src/main.rs", MARKER),
            ("src/bin/other.rs", MARKER),
            ("src/bin/third/main.rs", "mod part;"),
            ("src/bin/third/part.rs", MARKER),
            ("src/cmd/fourth.rs", MARKER),
            (
                "Cargo.toml",
                "[[bin]]\nname = \"a\"\npath = \"./src/cmd/fourth.rs\"\n",
            ),
            ("src/seen.rs", MARKER),
            ("src/inner/deep.rs", MARKER),
            ("src/other/name.rs", "mod beside;"),
            ("src/other/beside.rs", MARKER),
            ("src/in_folder/x.rs", MARKER),
            ("src/included.rs", MARKER),
            ("src/plain.rs", ""),
            ("api/src/lib.rs", "mod v1;\n"),
            ("api/src/v1/mod.rs", MARKER),
            ("src/a/b.rs", MARKER),
            ("src/tests.rs", "mod below;"),
            ("src/tests/below.rs", MARKER),
            ("src/unseen.rs", &twice),
            ("src/seen/unseen/mod.rs", MARKER),
            ("src/text.rs", MARKER),
        ]);
        let tests = |path: &str| {
            format!(
                "{path}:1:1: `+kbr:rbac` is in code for tests; move it to the code of the operator that needs it"
            )
        };
        let none = |path: &str, name: &str, parent: &str| {
            format!(
                "{path}:1:1: `+kbr:rbac` is in a file that no `mod` declares; delete `{path}`, or write `mod {name};` in `{parent}`"
            )
        };
        assert_eq!(
            refused,
            [
                tests("src/a/b.rs"),
                none("src/seen/unseen/mod.rs", "unseen", "src/seen.rs"),
                tests("src/tests/below.rs"),
                none("src/text.rs", "text", "src/lib.rs"),
                none("src/unseen.rs", "unseen", "src/lib.rs"),
            ]
        );
    }

    #[test]
    fn markers_of_other_packages_and_folders_count_if_they_are_compiled() {
        let manifest = "[workspace]\nmembers = [\".\", \"api\", \"crates/*\"]\n\
                        [workspace.dependencies]\nshared = { path = \"crates/shared\" }\n\
                        kbr-runtime = { path = \"third_party/kbr-runtime\" }\n\
                        [dependencies]\nshared.workspace = true\nkbr-runtime.workspace = true\n\
                        [target.\"cfg(unix)\".dependencies]\nunix = { path = \"./crates/unix\" }\n\
                        [dev-dependencies]\nhelp = { path = \"crates/help\" }\n\
                        [[bin]]\nname = \"b\"\npath = \"cmd/b.rs\"\n\
                        [[test]]\nname = \"t\"\npath = \"cmd/t.rs\"\n";
        let refused = refused(&[
            ("Cargo.toml", manifest),
            (
                "src/main.rs",
                "#[path = \"../hack/x.rs\"] mod x;\ninclude!(\"../hack/y.rs\");",
            ),
            ("hack/x.rs", MARKER),
            ("hack/y.rs", MARKER),
            ("hack/z.rs", MARKER),
            ("cmd/b.rs", MARKER),
            ("cmd/t.rs", MARKER),
            (
                "crates/shared/Cargo.toml",
                "[dependencies]\ndeep = { path = \"../deep\" }\n",
            ),
            ("crates/shared/src/lib.rs", "mod inner;"),
            ("crates/shared/src/inner.rs", MARKER),
            ("crates/shared/src/unseen.rs", MARKER),
            ("crates/shared/tests/a.rs", MARKER),
            ("crates/deep/src/lib.rs", MARKER),
            ("crates/unix/src/lib.rs", MARKER),
            ("crates/help/src/lib.rs", MARKER),
            ("crates/agent/src/main.rs", MARKER),
            ("examples/run.rs", MARKER),
            ("tests/it/main.rs", MARKER),
            ("benches/b.rs", MARKER),
            ("build.rs", MARKER),
            ("api/build.rs", MARKER),
            ("third_party/kbr-runtime/src/lib.rs", MARKER),
        ]);
        let at = |path: &str, place: &str| {
            format!(
                "{path}:1:1: `+kbr:rbac` is in {place}; move it to the code of the operator that needs it"
            )
        };
        let script = "a build script, which is not part of the operator";
        let outside = "a file that is not compiled into the operator";
        assert_eq!(
            refused,
            [
                at("api/build.rs", script),
                at("benches/b.rs", "code for tests"),
                at("build.rs", script),
                at("cmd/t.rs", outside),
                at("crates/agent/src/main.rs", outside),
                at("crates/help/src/lib.rs", outside),
                "crates/shared/src/unseen.rs:1:1: `+kbr:rbac` is in a file that no `mod` declares; \
                 delete `crates/shared/src/unseen.rs`, or write `mod unseen;` in `crates/shared/src/lib.rs`"
                    .to_owned(),
                at("crates/shared/tests/a.rs", "code for tests"),
                at("examples/run.rs", "an example, which is not part of the operator"),
                at("hack/z.rs", outside),
                at("tests/it/main.rs", "code for tests"),
            ]
        );
    }
}
