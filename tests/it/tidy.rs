//! House rules that no lint checks: which modules may use the system or other modules, sizes, headers.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{REPOSITORY, tree};

/// The longest file under `src`, in lines, without the tests at its end.
const LONGEST_FILE: usize = 400;

/// Modules that contain only tests.
const TESTS: [&str; 2] = ["fuzz", "killed"];

/// Every Rust file of the program, by its path below `src`, without the tests at its end.
pub fn sources() -> BTreeMap<String, String> {
    let files = tree(&Path::new(REPOSITORY).join("src")).into_iter();
    files
        .filter(|(path, _)| path.ends_with(".rs"))
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
fn only_some_modules_use_the_system() {
    // A part of the system, and the modules that may use it.
    let edges: [(&str, &[&str]); 15] = [
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
        ("std::env", &["envtest", "main", "toolchain"]),
        (
            "std::time",
            &[
                "commands/dev",
                "envtest/download",
                "report/progress",
                "report/screen",
                "toolchain/bounded",
            ],
        ),
        ("std::net", &[]),
        ("std::thread", &["toolchain"]),
        ("notify::", &["toolchain"]),
        ("rustix", &["report/screen"]),
        ("signal_hook", &["toolchain"]),
        ("dirs::", &["envtest/store", "toolchain/environment"]),
        ("tempfile", &["apply", "envtest/store", "toolchain"]),
        ("ureq", &["envtest/download"]),
        // One reader of Rust sources knows what is a comment, an item, or code for tests.
        ("rustc_lexer", &["rust"]),
    ];
    for (path, text) in sources() {
        for (outside, modules) in edges {
            assert!(
                !text.contains(outside) || modules.iter().any(|name| is_of(&path, name)),
                "src/{path} uses {outside}"
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

/// Two modules write to disk, and `toolchain` into temporary files. The tests kill kbr at each write of the first, and know
/// only those that go through one function.
#[test]
fn only_some_modules_write() {
    let writes = [
        "fs::create_dir",
        "fs::remove_",
        "fs::rename",
        "fs::set_permissions",
        "fs::write",
        "::write_all",
        "File::create",
        ".open(",
        ".persist(",
    ];
    for (path, text) in sources() {
        let lines = text.lines();
        for line in lines.filter(|line| writes.iter().any(|write| line.contains(write))) {
            let may_write = ["envtest/store", "toolchain"]
                .iter()
                .any(|name| is_of(&path, name));
            let is_tried = is_of(&path, "apply") && line.contains("on_disk(|| ");
            assert!(may_write || is_tried, "src/{path}: {line}");
        }
    }
}

#[test]
fn imports_point_down_the_flow() {
    // What a chart or a bundle is made with.
    const PACKAGE: [&str; 10] = [
        "cargo_toml",
        "error",
        "kustomize",
        "layout",
        "manifests",
        "names",
        "project",
        "templates",
        "tree",
        "yaml",
    ];
    // Each module may import those in its row, and each of these has a row further up.
    let allowed: [(&str, &[&str]); 30] = [
        ("error", &[]),
        ("article", &[]),
        ("guide", &[]),
        ("templates", &["article"]),
        ("cargo_toml", &[]),
        ("yaml", &[]),
        ("lock", &["templates"]),
        ("names", &["lock"]),
        ("marker", &["error"]),
        ("rust", &[]),
        ("modules", &["rust"]),
        ("envtest", &["error"]),
        ("project", &["names", "yaml"]),
        ("layout", &["names", "project"]),
        ("tree", &["error", "templates"]),
        (
            "manifests",
            &[
                "article", "error", "layout", "marker", "names", "rust", "yaml",
            ],
        ),
        (
            "import",
            &["error", "layout", "manifests", "names", "tree", "yaml"],
        ),
        (
            "rendered",
            &["cargo_toml", "layout", "lock", "marker", "project"],
        ),
        (
            "evolve",
            &["cargo_toml", "error", "layout", "project", "rendered"],
        ),
        (
            "plan",
            &[
                "error", "evolve", "layout", "marker", "project", "rendered", "tree",
            ],
        ),
        (
            "scaffold",
            &[
                "layout",
                "marker",
                "names",
                "plan",
                "project",
                "rendered",
                "templates",
            ],
        ),
        ("vendored", &["layout", "rendered", "templates", "tree"]),
        (
            "kustomize",
            &[
                "error",
                "layout",
                "manifests",
                "names",
                "project",
                "tree",
                "yaml",
            ],
        ),
        ("chart", &PACKAGE),
        ("bundle", &PACKAGE),
        ("apply", &["error", "plan", "project", "rendered", "tree"]),
        ("cli", &["envtest", "error", "guide", "names", "project"]),
        ("completion", &["cli", "envtest", "lock"]),
        ("toolchain", &["cli", "error", "layout", "project"]),
        ("report", &["cli", "error", "layout", "names", "plan"]),
    ];
    for (at, (own, row)) in allowed.iter().enumerate() {
        for import in *row {
            let above = allowed[..at].iter().any(|(name, _)| name == import);
            assert!(above, "{import} is not above {own}");
        }
    }
    for (path, text) in sources() {
        let own = module(&path);
        let Some((_, row)) = allowed.iter().find(|(name, _)| *name == own) else {
            assert!(
                ["commands", "lib", "main"].contains(&own),
                "src/{path} is in no row"
            );
            continue;
        };
        for import in imports(&path, &text) {
            let import = import[0].as_str();
            assert!(
                import == own || row.contains(&import),
                "src/{path} imports crate::{import}"
            );
        }
    }
}

/// A second reader of YAML streams would have a second answer to a document that is broken.
#[test]
fn one_module_reads_yaml_streams() {
    for (path, text) in sources() {
        let text = without_tests(&text);
        for reader in ["serde_yaml::Deserializer", "split(\"\\n---"] {
            assert!(
                is_of(&path, "yaml") || !text.contains(reader),
                "src/{path} has {reader}: `yaml::read` reads streams"
            );
        }
    }
}

/// The paths of a project's files are in `layout`, and the rest follows from names.
#[test]
fn paths_of_a_project_are_in_one_place() {
    for (path, text) in sources() {
        if is_of(&path, "layout") || is_of(&path, "templates") {
            continue;
        }
        let text = without_tests(&text);
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            for folder in ["config/", "api/src/", "tests/it/"] {
                assert!(!line.contains(&format!("\"{folder}")), "{path}: {line}");
            }
        }
    }
}

/// `commands.rs` runs commands to their end, and uses the modules below it; none of them uses `commands.rs`.
#[test]
fn no_command_imports_the_orchestrator() {
    let sources = sources();
    let is_module = |name: &str| {
        sources
            .keys()
            .any(|path| is_of(path, &format!("commands/{name}")))
    };
    for (path, text) in &sources {
        if !path.starts_with("commands/") {
            continue;
        }
        for import in imports(path, text) {
            let [first, second, ..] = &import[..] else {
                continue;
            };
            assert!(
                first != "commands" || is_module(second),
                "src/{path} imports {second} of commands.rs"
            );
        }
    }
}

/// The modules of `commands` that are commands; what several of them need is in the other modules.
const COMMANDS: [&str; 15] = [
    "bundle",
    "chart",
    "create_api",
    "create_policy",
    "create_webhook",
    "delete",
    "dev",
    "docs",
    "edit",
    "envtest",
    "import_project",
    "init",
    "manifests",
    "rename",
    "update",
];

/// Only their errors are known to other modules, because all commands share one error type.
#[test]
fn commands_do_not_import_each_other() {
    for (path, text) in &sources() {
        let Some(inside) = path.strip_prefix("commands/") else {
            continue;
        };
        for import in imports(path, text) {
            let [first, command, rest @ ..] = &import[..] else {
                continue;
            };
            let is_other = first == "commands"
                && COMMANDS.contains(&command.as_str())
                && module(inside) != command;
            assert!(
                !is_other || rest.first().is_some_and(|name| name == "error"),
                "src/{path} imports {}",
                import.join("::")
            );
        }
    }
}

/// The errors of a command are independent of the command, so that all commands can share one error type.
#[test]
fn errors_of_commands_import_no_command() {
    for (path, text) in &sources() {
        if !path.starts_with("commands/") || !path.ends_with("error.rs") {
            continue;
        }
        for import in imports(path, text) {
            let is_command = import.first().is_some_and(|first| first == "commands");
            let is_error = import.iter().any(|part| part == "error" || part == "typed");
            assert!(
                !is_command || is_error,
                "src/{path} imports {}",
                import.join("::")
            );
        }
    }
}

/// What a file's code refers to with `crate::` and `super::`, as paths from the root of the crate, without
/// tests and comments.
fn imports(path: &str, text: &str) -> Vec<Vec<String>> {
    let mut found = references(path, text);
    found.retain(|path: &Vec<String>| {
        let first = path.first().and_then(|name| name.chars().next());
        first.is_some_and(char::is_lowercase)
    });
    found
}

/// The same, with items at the root of the crate.
pub fn references(path: &str, text: &str) -> Vec<Vec<String>> {
    let own: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = Vec::new();
    let mut rest = code.as_str();
    while let Some((at, word)) = next_of(rest, &["crate::", "super::"]) {
        rest = &rest[at..];
        let mut above = 0;
        while let Some(more) = rest.strip_prefix("super::") {
            (rest, above) = (more, above + 1);
        }
        let base = match word {
            "super::" => &own[..own.len().saturating_sub(above)],
            _ => {
                rest = &rest["crate::".len()..];
                &[]
            }
        };
        for tail in tails(rest) {
            let base = base.iter().map(|name| (*name).to_owned());
            found.push(base.chain(tail).collect());
        }
    }
    found
}

fn next_of(text: &str, words: &[&'static str]) -> Option<(usize, &'static str)> {
    let found = words
        .iter()
        .filter_map(|word| Some((text.find(word)?, *word)));
    found.min()
}

/// The first three names of each path in `a::b`, or in `{a::b, c}`.
fn tails(text: &str) -> Vec<Vec<String>> {
    let list = text
        .strip_prefix('{')
        .and_then(|list| list.split('}').next());
    let paths: Vec<&str> = match list {
        Some(list) => list.split(',').collect(),
        None => vec![text],
    };
    let name = |part: &str| {
        let part = part.trim_start_matches(|c: char| c == '{' || c.is_whitespace());
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_');
        part[..end.unwrap_or(part.len())].to_owned()
    };
    let paths = paths.into_iter().map(|path| path.trim());
    paths
        .map(|path| path.split("::").take(3).map(name).collect())
        .collect()
}

#[test]
fn every_file_begins_with_a_description_and_is_short() {
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

/// Otherwise a test draws other cases in each run, and proptest leaves a folder in the repository.
#[test]
fn what_tests_draw_follows_from_the_commit() {
    for folder in ["src", "tests"] {
        for (path, text) in tree(&Path::new(REPOSITORY).join(folder)) {
            let is_own = folder == "src" && path == "fuzz/random.rs" || path == "it/tidy.rs";
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            for (at, line) in lines.iter().enumerate().filter(|_| !is_own) {
                let is_macro = line.ends_with("proptest! {");
                let config = lines.get(at + 1).filter(|_| is_macro);
                assert!(
                    config.is_none_or(|it| it.contains("properties()")),
                    "{folder}/{path}: {line} without `properties`"
                );
                for other in ["Config::default()", "with_cases("] {
                    assert!(
                        !line.contains(&format!("Proptest{other}")),
                        "{folder}/{path}: {line}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_module_is_in_the_architecture() {
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
