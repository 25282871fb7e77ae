//! The guide of `kbr-runtime`, which `kbr help` prints too, and what its README says about kube.

use std::collections::BTreeSet;
use std::path::Path;

use crate::docs::topics;
use crate::support::documents::{fenced, read};
use crate::support::{REPOSITORY, Sandbox, names, tree};

const RUNTIME: &str = "templates/kbr-runtime";

/// The names of the chapters' files, in the order in which `kbr help` lists the topics.
fn chapters() -> Vec<String> {
    let help = Sandbox::new().kbr("help topics").success().stdout;
    let words = help
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let files = words.filter_map(|word| word.strip_prefix("runtime-"));
    files.map(str::to_owned).collect()
}

fn chapter(file: &str) -> String {
    read(&format!("{RUNTIME}/src/guide/{file}.md"))
}

/// The links that a document defines at its end: text and target.
fn definitions(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('['));
    lines.filter_map(|line| line.split_once("]: ")).collect()
}

/// Without its examples.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

fn is_hidden(line: &str) -> bool {
    line == "#" || line.starts_with("# ")
}

#[test]
fn help_lists_every_chapter_of_the_runtime_and_so_do_its_readme_and_its_documentation() {
    let mut files = names(&Path::new(REPOSITORY).join(RUNTIME).join("src/guide"));
    files
        .iter_mut()
        .for_each(|file| *file = file.replace(".md", ""));
    let listed = chapters();
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(sorted, files);

    let (readme, pages) = (
        read(&format!("{RUNTIME}/README.md")),
        read(&format!("{RUNTIME}/src/guide.rs")),
    );
    let rows: Vec<String> = listed
        .iter()
        .map(|file| format!("| [{file}](src/guide/{file}.md) | "))
        .collect();
    let order = |row: &String| readme.find(row).unwrap_or_else(|| panic!("no {row}"));
    assert!(rows.iter().map(order).is_sorted());
    let modules: String = listed
        .iter()
        .map(|file| format!("    \"{file}\" {},\n", file.replace('-', "_")))
        .collect();
    assert!(pages.contains(&modules), "guide.rs has no {modules}");
}

#[test]
fn help_prints_a_chapter_of_the_runtime_without_hidden_lines_and_links() {
    let sandbox = Sandbox::new();
    for file in chapters() {
        let text = chapter(&file);
        let printed = sandbox
            .kbr(&format!("help runtime-{file}"))
            .success()
            .stdout;
        assert_eq!(printed.lines().next(), text.lines().next());
        assert!(!printed.contains("[`"), "{file}: {printed}");
        assert!(!printed.contains("]: "), "{file}: {printed}");
        assert!(!printed.contains("no_run"), "{file}: {printed}");

        let examples = fenced(&text);
        let shown = fenced(&printed);
        assert_eq!(examples.len(), shown.len(), "{file}");
        for ((kind, example), (language, shown)) in examples.iter().zip(shown) {
            assert_eq!(kind.split(',').next(), Some(language), "{file}");
            let lines = example.lines().filter(|line| !is_hidden(line));
            let expected: String = lines.map(|line| format!("{line}\n")).collect();
            assert_eq!(shown, expected, "{file}");
        }
        for (link, target) in definitions(&text) {
            let is_chapter = target == format!("{link}.md");
            let topic = format!("[runtime-{link}]");
            assert_eq!(printed.contains(&topic), is_chapter, "{file}: {link}");
        }
    }
}

/// They are compiled, but would puzzle somebody who reads the chapter on the web.
#[test]
fn an_example_of_the_runtime_hides_one_line_at_most() {
    for file in chapters() {
        let text = chapter(&file);
        for (_, example) in fenced(&text)
            .iter()
            .filter(|(kind, _)| kind.starts_with("rust"))
        {
            let hidden = example.lines().filter(|line| is_hidden(line)).count();
            assert!(hidden <= 1, "{file}: {example}");
        }
    }
}

/// Without the definition, the brackets would be no link.
#[test]
fn a_chapter_that_names_one_of_the_runtime_links_to_it() {
    let files = chapters();
    for other in &files {
        let text = chapter(other);
        for file in &files {
            let is_defined = text.contains(&format!("\n[{file}]: {file}.md\n"));
            let is_named = prose(&text).matches(&format!("[{file}]")).count() > 1;
            assert_eq!(is_defined, is_named, "{other}: [{file}]");
        }
    }
    for topic in topics() {
        let text = read(&format!("src/guide/{topic}.md"));
        for file in &files {
            let target = format!("../../{RUNTIME}/src/guide/{file}.md");
            let is_defined = text.contains(&format!("\n[runtime-{file}]: {target}\n"));
            let is_named = text.matches(&format!("[runtime-{file}]")).count() > 1;
            assert_eq!(is_defined, is_named, "{topic}: [runtime-{file}]");
        }
    }
}

/// In the documentation of the crate these links lead to items, on the web to the files that document them.
#[test]
fn an_item_that_the_runtime_s_guide_links_to_is_in_that_file() {
    let links = read(&format!("{RUNTIME}/src/guide_links.md"));
    let mut linked = BTreeSet::new();
    for file in chapters() {
        let text = chapter(&file);
        let prose = prose(&text);
        let defined = definitions(&text);
        let items = prose.split("[`").skip(1);
        for item in items.filter_map(|rest| rest.split_once("`]")) {
            let link = format!("`{}`", item.0);
            let is_defined = defined.iter().any(|(text, _)| *text == link);
            assert!(is_defined, "{file}.md does not say where [{link}] leads");
        }
        for (link, target) in defined.iter().filter(|(link, _)| link.starts_with('`')) {
            let item = link.trim_matches('`');
            linked.insert(item.to_owned());
            assert!(
                prose.matches(&format!("[{link}]")).count() > 1,
                "{file}: {link}"
            );
            let Some(source) = target.strip_prefix("../") else {
                continue;
            };
            let source = read(&format!("{RUNTIME}/src/{source}"));
            let name = item.rsplit("::").next().unwrap_or_default();
            let declared = ["fn", "struct", "trait", "enum", "const"];
            let is_declared = declared.iter().any(|word| {
                let words = format!(" {word} {name}");
                source.contains(&words)
            });
            let is_part = source.contains(&format!("    {name} {{")) // A variant.
                || source.contains(&format!("    pub {name}: ")); // A field.
            assert!(is_declared || is_part, "{file}: {target} has no {item}");
        }
    }
    for item in linked {
        let is_listed = links.contains(&format!("[`{item}`]: "));
        assert!(is_listed, "guide_links.md does not have {item}");
    }
}

/// Every path that begins with `kube::` in the code of the runtime, without its tests, comments and examples.
fn paths_of_kube() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for (path, text) in tree(&Path::new(REPOSITORY).join(RUNTIME).join("src")) {
        let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
        if !path.ends_with(".rs") || is_test || path == "guide.rs" {
            continue;
        }
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        for (at, _) in code.match_indices("kube::") {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                expand("kube", &code[at + "kube".len()..], &mut paths);
            }
        }
    }
    paths
}

/// Adds what `rest` makes of the path `base`: `::a::b`, `::{a, b::{c, d}}` or nothing. Returns what follows.
fn expand<'a>(base: &str, rest: &'a str, paths: &mut BTreeSet<String>) -> &'a str {
    let Some(inner) = rest.strip_prefix("::") else {
        paths.insert(base.to_owned());
        return rest;
    };
    let Some(mut list) = inner.strip_prefix('{') else {
        let end = inner.find(|c: char| !c.is_alphanumeric() && c != '_');
        let (name, rest) = inner.split_at(end.unwrap_or(inner.len()));
        let path = match name {
            "self" => base.to_owned(),
            name => format!("{base}::{name}"),
        };
        return expand(&path, rest, paths);
    };
    loop {
        list = list.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if let Some(rest) = list.strip_prefix('}') {
            return rest;
        }
        let next = list.find(|c: char| !c.is_alphanumeric() && c != '_');
        assert_ne!(next, Some(0), "{base}: {list}");
        let (name, rest) = list.split_at(next.unwrap_or(list.len()));
        let path = match name {
            "self" => base.to_owned(),
            name => format!("{base}::{name}"),
        };
        list = expand(&path, rest, paths);
    }
}

#[test]
fn paths_are_found_in_lists() {
    let mut paths = BTreeSet::new();
    let rest = expand(
        "kube",
        "::runtime::{\n    Predicate,\n    watcher::{self, Event},\n};",
        &mut paths,
    );
    let found: Vec<&str> = paths.iter().map(String::as_str).collect();
    let expected = [
        "kube::runtime::Predicate",
        "kube::runtime::watcher",
        "kube::runtime::watcher::Event",
    ];
    assert_eq!((found.as_slice(), rest), (expected.as_slice(), ";"));
}

/// The paths in the first column of the table that follows this line of the README.
fn table_after(readme: &str, line: &str) -> Vec<String> {
    let table = readme.split(&format!("\n{line}\n\n")).nth(1);
    let table = table.unwrap_or_else(|| panic!("README.md has no {line}"));
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    words.collect()
}

#[test]
fn the_runtime_uses_and_replaces_of_kube_what_its_readme_says() {
    let readme = read(&format!("{RUNTIME}/README.md"));
    let paths = paths_of_kube();
    let is_in = |path: &str, item: &str| {
        path.strip_prefix(item)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let used = table_after(&readme, "This crate uses these items of kube:");
    assert!(used.len() > 10, "{used:?}");
    for item in &used {
        let is_used = paths.iter().any(|path| is_in(path, item));
        assert!(is_used, "README.md: {item} is not used");
    }
    let replaced = table_after(&readme, "It replaces these:");
    assert!(replaced.len() > 8, "{replaced:?}");
    for item in &replaced {
        let user = paths.iter().find(|path| is_in(path, item));
        assert_eq!(user, None, "README.md: {item} is used");
    }
    for path in paths
        .iter()
        .filter(|path| path.starts_with("kube::runtime::"))
    {
        let is_said = used.iter().any(|item| is_in(path, item));
        assert!(is_said, "README.md does not say that {path} is used");
    }
}

/// A client that retries would contradict the README, and no import shows it.
#[test]
fn no_client_of_the_runtime_retries_requests() {
    let server = read(&format!("{RUNTIME}/src/api_server.rs"));
    assert!(server.contains("config.default_retry = false;"));
}

#[test]
fn the_runtime_names_the_versions_of_kube_and_k8s_openapi_that_it_depends_on() {
    let manifest: toml::Table = read(&format!("{RUNTIME}/Cargo.toml"))
        .parse()
        .expect("TOML");
    let version = |table: &toml::Value| {
        let text = table.as_str().or_else(|| table["version"].as_str());
        text.expect("a version").to_owned()
    };
    let own = version(&manifest["package"]["version"]);
    let (own, _) = own.rsplit_once('.').expect("a patch version");
    let [kube, openapi] =
        ["kube", "k8s-openapi"].map(|name| version(&manifest["dependencies"][name]));
    let row = format!(
        "\n| kbr-runtime | kube | k8s-openapi |\n|---|---|---|\n| {own} | {kube} | {openapi} |\n"
    );
    assert!(chapter("kube-rs").contains(&row), "kube-rs.md has no {row}");
    let readme = read(&format!("{RUNTIME}/README.md"));
    let sentence = format!("Version {own} is for kube {kube} and k8s-openapi {openapi}.");
    assert!(readme.contains(&sentence), "README.md: {sentence}");
}

/// Neither crate is in a registry yet.
#[test]
fn no_document_links_to_pages_of_the_crates_that_do_not_exist() {
    for folder in [RUNTIME, "templates/kbr-testing", "src/guide"] {
        for (path, text) in tree(&Path::new(REPOSITORY).join(folder)) {
            assert!(!text.contains("docs.rs/kbr"), "{folder}/{path}");
        }
    }
}
