//! House rules that no lint knows: who may touch the outside, who may import whom, sizes, headers.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{REPOSITORY, tree};

/// Longest file under `src`, in lines, the tests at its end aside.
const LONGEST_FILE: usize = 400;

/// Modules that are tests and nothing else.
const TESTS: [&str; 2] = ["fuzz", "killed"];

/// Every Rust file of the program, by its path below `src`, without the tests at its end.
fn sources() -> BTreeMap<String, String> {
    let files = tree(&Path::new(REPOSITORY).join("src")).into_iter();
    files
        .filter(|(path, _)| {
            let is_tests = path.ends_with("/tests.rs") || path.contains("/tests/");
            !is_tests && !TESTS.contains(&module(path))
        })
        .map(|(path, text)| (path, without_tests(&text).to_owned()))
        .collect()
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
}

/// The top-level module that a file belongs to.
fn module(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap_or_default()
}

/// Whether a file is that module, or in it.
fn is_of(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest.starts_with(['.', '/']))
}

#[test]
fn only_the_edges_touch_the_outside() {
    // What a module needs of the system, and the modules that may.
    let edges: [(&str, &[&str]); 11] = [
        (
            "std::fs",
            &["apply", "commands", "envtest/store", "toolchain", "tree"],
        ),
        (
            "std::io",
            &[
                "apply",
                "envtest/download",
                "envtest/error",
                "envtest/store",
                "error",
                "report",
                "toolchain",
                "tree",
            ],
        ),
        ("std::process::{Command", &["toolchain"]),
        ("std::process::Command", &["toolchain"]),
        ("std::env", &["envtest", "main"]),
        ("std::time", &["envtest/download", "report/progress"]),
        ("std::net", &[]),
        ("std::thread", &[]),
        ("dirs::", &["envtest/store"]),
        ("tempfile", &["apply", "envtest/store", "toolchain"]),
        ("ureq", &["envtest/download"]),
    ];
    for (path, text) in sources() {
        for (outside, modules) in edges {
            assert!(
                !text.contains(outside) || modules.iter().any(|name| is_of(&path, name)),
                "src/{path} names {outside}"
            );
        }
        for word in [
            "println!",
            "eprintln!",
            "print!(",
            "dbg!",
            "todo!",
            "unimplemented!",
            "TODO",
            "FIXME",
        ] {
            assert!(!text.contains(word), "src/{path} has {word}");
        }
    }
}

/// The tests kill kbr at each write that goes through one function.
#[test]
fn no_write_of_a_project_is_hidden_from_the_tests() {
    let writes = [
        "fs::create_dir",
        "fs::remove_",
        "fs::rename",
        "fs::set_permissions",
        "fs::write",
        "::write_all",
        ".open(",
        ".persist(",
    ];
    for (path, text) in sources() {
        let lines = text.lines().filter(|_| is_of(&path, "apply"));
        for line in lines.filter(|line| writes.iter().any(|write| line.contains(write))) {
            assert!(line.contains("on_disk(|| "), "src/{path}: {line}");
        }
    }
}

#[test]
fn imports_point_down_the_flow() {
    // Modules in the order of the data: each may import those that stand in its row.
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("apply", &["error", "plan", "project", "tree"][..]),
        ("cli", &["envtest", "names", "project"]),
        ("completion", &["cli", "envtest", "lock"]),
        ("envtest", &["error"]),
        (
            "error",
            &[
                "envtest",
                "layout",
                "manifests",
                "marker",
                "names",
                "plan",
                "project",
            ],
        ),
        ("layout", &["names", "project"]),
        ("lock", &["templates"]),
        ("manifests", &["layout", "marker", "names", "yaml"]),
        ("marker", &["error"]),
        ("modules", &[]),
        ("names", &["lock"]),
        ("plan", &["error", "layout", "marker", "project", "tree"]),
        ("project", &["error", "names", "yaml"]),
        ("report", &["cli", "error", "layout", "plan"]),
        (
            "scaffold",
            &["layout", "marker", "names", "plan", "project", "templates"],
        ),
        ("templates", &[]),
        ("toolchain", &["cli", "envtest", "error", "project"]),
        ("tree", &["error", "templates"]),
        ("vendored", &["layout", "plan", "templates", "tree"]),
        ("yaml", &[]),
    ]);
    for (path, text) in sources() {
        let own = module(&path);
        let Some(allowed) = allowed.get(own) else {
            assert!(
                ["commands", "lib", "main"].contains(&own),
                "src/{path} is in no row"
            );
            continue;
        };
        for import in imports(&text) {
            assert!(
                import == own || allowed.contains(&import.as_str()),
                "src/{path} imports crate::{import}"
            );
        }
    }
}

/// The modules of this crate that a file's code names, comments aside.
fn imports(text: &str) -> Vec<String> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        for rest in line.split("crate::").skip(1) {
            let list = rest
                .strip_prefix('{')
                .unwrap_or(rest)
                .split(['}', ';'])
                .next()
                .unwrap_or_default();
            let is_list = rest.starts_with('{');
            let names = list.split(',').take(if is_list { usize::MAX } else { 1 });
            found.extend(names.map(|name| {
                name.trim()
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            }));
        }
    }
    found.retain(|name| name.starts_with(|c: char| c.is_lowercase()));
    found
}

#[test]
fn every_file_says_what_it_is_and_has_one_job() {
    for folder in ["src", "tests"] {
        for (path, text) in tree(&Path::new(REPOSITORY).join(folder)) {
            if !path.ends_with(".rs") {
                continue;
            }
            let first = text.lines().next().unwrap_or_default();
            assert!(
                first.starts_with("//! ") && (first.ends_with(['.', ':', ',']) || first.len() > 60),
                "{folder}/{path}: {first}"
            );
            let lines = without_tests(&text).lines().count();
            assert!(
                folder == "tests" || lines <= LONGEST_FILE,
                "src/{path} has {lines} lines"
            );
        }
    }
}

#[test]
fn every_module_stands_in_the_architecture() {
    let architecture = &sources()["lib.rs"];
    for (path, _) in sources() {
        let own = module(&path);
        let is_named = architecture.contains(&format!("[`{own}`]"))
            || architecture.contains(&format!("[`{own}::"));
        assert!(
            is_named || ["completion", "lib", "main"].contains(&own),
            "src/lib.rs does not say what {own} is for"
        );
    }
}
