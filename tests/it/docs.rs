//! Checks that the documents are correct.

use crate::support::documents::{fenced, guide, read};
use crate::support::goldens::{GOLDENS, steps};
use crate::support::{REPOSITORY, Sandbox, names, tree};
use crate::tidy::sources;
use comrak::nodes::NodeValue;
use std::fs;
use std::path::Path;
use std::process::Command;

/// README.md and every chapter of the guide.
fn documents() -> String {
    let chapters = tree(&Path::new(REPOSITORY).join("src/guide"));
    read("README.md") + &chapters.into_values().collect::<String>()
}

/// The text of every fenced block of a document.
fn blocks(text: &str) -> Vec<&str> {
    fenced(text).into_iter().map(|(_, body)| body).collect()
}

/// The steps of the golden `cronjob` that scaffold it, without those that add dependencies or write the
/// reference of its API.
fn scaffolding() -> String {
    let mut steps = steps("cronjob");
    steps.retain(|step| !step.starts_with("cargo add ") && step != "kbr docs");
    steps.join("\n") + "\n"
}

/// The three commands of README, whose controller is shown below them.
#[test]
fn the_commands_of_the_readme_are_the_steps_of_foo() {
    let readme = read("README.md");
    let mut steps = steps("foo");
    steps.retain(|step| step.starts_with("kbr "));
    let block = steps.join("\n") + "\n";
    assert!(
        blocks(&readme).contains(&block.as_str()),
        "README.md has no block\n{block}"
    );
}

/// Read in two minutes.
#[test]
fn the_readme_is_short() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 120, "{}", readme.lines().count());
    let prose: String = readme.split("```").step_by(2).collect();
    let count = prose.split_whitespace().count();
    assert!(count <= 800, "{count} words");
}

/// Each part between `// …` is in the file that the text above it links to.
#[test]
fn the_controller_of_the_readme_is_that_of_a_golden() {
    let readme = read("README.md");
    let (text, code) = readme.split_once("```rust\n").expect("a block");
    let code = code.split("```").next().expect("its end");
    let path = links(text).pop().expect("a link");
    let source = read(&path);
    assert!(
        (20..=36).contains(&code.lines().count()),
        "{}",
        code.lines().count()
    );
    let is_left_out = |line: &&str| line.trim() == "// …";
    let mut part = String::new();
    for line in code.lines().chain(["// …"]) {
        if !is_left_out(&line) {
            part += line;
            part.push('\n');
            continue;
        }
        assert!(
            source.contains(part.trim_start_matches('\n')),
            "{path} does not have\n{part}"
        );
        part.clear();
    }
}

#[test]
fn a_new_controller_is_as_short_as_the_readme_says() {
    let controller = read("testdata/scaffold/src/controller/admiral_controller.rs");
    let code = controller.split("#[cfg(test)]").next().expect("the code");
    let count = code.trim_end().lines().count();
    let said = format!("a new controller has {count} lines before its tests");
    assert!(read("README.md").contains(&said), "{said}");
}

/// The string literals of a function.
fn literals(path: &str, function: &str) -> Vec<String> {
    let source = read(path);
    let body = source.split(&format!("fn {function}()")).nth(1);
    let body = body.expect("a function").split("\n}\n").next();
    let mut rest = body.expect("its end");
    let mut found = Vec::new();
    while let Some(begin) = rest.find('"') {
        let text = &rest[begin..];
        let is_end = |(at, _): &(usize, &str)| *at > 0 && !text[..*at].ends_with('\\');
        let (end, _) = text.match_indices('"').find(is_end).expect("an end");
        let literal: syn::LitStr = syn::parse_str(&text[..=end]).expect("a literal");
        found.push(literal.value());
        rest = &text[end + 1..];
    }
    found
}

/// The version that `kbr version` prints after a word.
fn printed_version(word: &str) -> String {
    let versions = Sandbox::new().kbr("version").success().stdout;
    let version = versions
        .split(&format!("{word} "))
        .nth(1)
        .expect("a version");
    let is_part = |c: &char| c.is_ascii_digit() || *c == '.';
    version.chars().take_while(is_part).collect()
}

/// Without the patch.
fn minor(version: &str) -> &str {
    version.rsplit_once('.').expect("a version").0
}

/// A test of the golden `manager` expects exactly this text.
#[test]
fn the_missing_permission_of_the_readme_is_what_a_test_expects() {
    let function = "a_forbidden_request_fails_the_test_that_waits_and_the_missing_marker_is_shown";
    let expected = literals("testdata/manager.overlay/tests/it/operator.rs", function);
    let manager = "system:serviceaccount:manager-system:manager-controller-manager";
    let support = read("testdata/manager.overlay/tests/it/support.rs");
    assert!(support.contains(&format!("MANAGER: &str = \"{manager}\"")));
    let expected = expected
        .iter()
        .find_map(|it| it.strip_prefix('\n'))
        .expect("the message");
    let expected = expected.replace("{MANAGER}", manager);
    assert!(
        blocks(&read("README.md")).contains(&expected.as_str()),
        "{expected}"
    );
}

/// A test of the golden `manager` expects these parts of the report.
#[test]
fn the_crash_report_of_the_readme_is_what_a_test_expects() {
    let parts = literals(
        "testdata/manager.overlay/tests/planted.rs",
        "a_child_with_a_generated_name",
    );
    let readme = read("README.md");
    let report = blocks(&readme)
        .into_iter()
        .find(|block| block.starts_with("scenario: "));
    let report = report.expect("a report");
    for part in parts
        .iter()
        .filter(|part| part.contains(' ') && !part.starts_with("connection"))
    {
        assert!(report.contains(part.as_str()), "README.md has no {part}");
    }
}

/// Figures without these are claims.
#[test]
fn the_figures_of_the_readme_say_when_where_and_of_what() {
    let readme = read("README.md");
    let section = readme.split("\n## Beside Go\n").nth(1).expect("a section");
    let section = section.split("\n## ").next().expect("its end");
    let kube = printed_version("kube");
    let rust = read("testdata/cronjob/Dockerfile");
    let rust = rust.split("rust:").nth(1).expect("an image");
    let rust: String = rust
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    for word in [
        "Measured on 20",
        "two cores",
        "24 GiB",
        "controller-runtime 0.",
        "Go 1.",
        "API server 1.",
        &format!("kube {}", minor(&kube)),
        &format!("Rust {rust}"),
        "`tests/tools/measure-cronjob GO_OPERATOR`",
        "`tests/tools/measure-scale GO_OPERATOR`",
    ] {
        assert!(section.contains(word), "{word}");
    }
    let rows = section.lines().filter(|line| line.starts_with("| "));
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 5, "{row}");
        let is_figure = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit());
        assert!(is_figure(cells[2]) && is_figure(cells[3]), "{row}");
    }
}

/// The versions in the section `Status`.
#[test]
fn the_status_names_the_versions_that_are_tested() {
    let readme = read("README.md");
    let status = readme.split("\n## Status\n").nth(1).expect("a section");
    let status = status.split("\n## ").next().expect("its end");
    let manifest: toml::Table = read("Cargo.toml").parse().expect("TOML");
    let oldest = manifest["package"]["rust-version"]
        .as_str()
        .expect("a version");
    let (kube, newest) = (printed_version("kube"), printed_version("(Kubernetes"));
    for word in [
        format!("kube {}", minor(&kube)),
        format!("Rust {oldest}"),
        format!("and {newest}"),
        "crates.io".to_owned(),
        "kbr update".to_owned(),
        "third_party".to_owned(),
        "Apache".to_owned(),
    ] {
        assert!(status.contains(&word), "{word}");
    }
    assert!((5..=8).contains(&status.trim().lines().count()), "{status}");
    let emitted = read("templates/init/README.md.hbs");
    assert!(
        emitted.contains(&format!("1.36 and {newest}")),
        "the emitted prerequisites"
    );
}

/// So the project of the quick start is also tested as scaffolded, as a part of the golden `scaffold`.
#[test]
fn scaffold_has_the_steps_of_the_quick_start() {
    let scaffold = steps("scaffold").join("\n") + "\n";
    let scaffold = scaffold.replace("--project-name scaffold", "--project-name cronjob");
    for step in scaffolding().lines() {
        assert!(scaffold.lines().any(|other| other == step), "{step}");
    }
}

#[test]
fn the_tutorials_say_how_their_goldens_were_made() {
    for golden in ["cronjob", "multiversion"] {
        let mut made = steps(golden);
        let last = ["kbr manifests", "kbr docs", "cargo build --locked"];
        made.retain(|step| !last.contains(&step.as_str()));
        let made = made.join("\n") + "\n";
        let readme = read(&format!("testdata/{golden}/README.md"));
        assert!(
            blocks(&readme).contains(&made.as_str()),
            "testdata/{golden}/README.md has no block\n{made}"
        );
    }
}

#[test]
fn the_set_up_is_two_commands() {
    let readme = read("README.md");
    let set_up = readme
        .split("## Set up")
        .nth(1)
        .expect("a section")
        .split("\n## ")
        .next()
        .expect("its text");
    let blocks = blocks(set_up);
    assert_eq!(blocks.len(), 2, "{blocks:?}");
    let words = [
        "cargo install",
        "kbr init",
        "kbr create api",
        "kbr manifests",
        "cargo build --locked",
    ];
    let mut at = 0;
    for word in words {
        at += blocks[0][at..]
            .find(word)
            .unwrap_or_else(|| panic!("{word} in {}", blocks[0]));
    }
    assert_eq!(blocks[0].lines().count(), 1);
    assert_eq!(blocks[1], "cargo test\n");
    assert!(
        read(".ci/run").contains("\ncargo test"),
        "CI runs the same command"
    );
}

#[test]
fn the_guide_and_the_emitted_readme_list_every_scaffold_marker() {
    let chapter = guide("markers");
    let emitted = read("testdata/scaffold/README.md");
    let mut markers = std::collections::BTreeSet::new();
    for (path, text) in tree(&Path::new(REPOSITORY).join("testdata/scaffold")) {
        if path.ends_with(".rs") || path.ends_with(".yaml") {
            markers.extend(
                text.lines()
                    .map(str::trim)
                    .filter(|line| line.contains("+kbr:scaffold:"))
                    .map(str::to_owned),
            );
        }
    }
    assert_eq!(markers.len(), 14);
    for marker in markers {
        assert!(
            chapter.contains(&format!("`{marker}`")),
            "markers.md: {marker}"
        );
        assert!(
            emitted.contains(&format!("`{marker}`")),
            "emitted README.md: {marker}"
        );
    }
}

#[test]
fn the_documents_name_every_option() {
    let documents = documents();
    let sandbox = Sandbox::new();
    for command in [
        "",
        "init",
        "create api",
        "create webhook",
        "delete",
        "delete api",
        "delete webhook",
        "delete controller",
        "edit",
        "rename",
        "rename kind",
        "rename version",
        "rename group",
        "manifests",
        "docs",
        "chart",
        "bundle",
        "envtest",
        "envtest use",
        "envtest path",
        "envtest list",
        "envtest clean",
    ] {
        let help = sandbox.kbr(&format!("{command} --help")).success().stdout;
        for option in help
            .split_whitespace()
            .filter(|word| word.starts_with("--"))
        {
            let option = option.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            assert!(
                ["--help", "--version"].contains(&option) || documents.contains(option),
                "{option} of `{command}`"
            );
        }
    }
}

/// The message about an unknown argument lists the known ones.
#[test]
fn the_guide_names_every_argument_of_a_marker() {
    let sandbox = Sandbox::with_project();
    for (marker, topic) in [("rbac", "rbac"), ("webhook", "webhooks")] {
        let chapter = guide(topic);
        let source = format!("// +kbr:{marker}:frobnicate=x\n");
        sandbox.module("a", &source);
        let refused = sandbox.kbr("manifests").failure().stderr;
        let known = refused.split("known are ").nth(1).expect("a list");
        let known = known.split(';').next().unwrap_or_default();
        for argument in known.split(", ") {
            assert!(
                chapter.contains(&format!("`{argument}`")),
                "{topic}.md: {argument} of `+kbr:{marker}`"
            );
        }
    }
}

/// The message about an unknown value lists the known ones.
#[test]
fn the_guide_has_the_values_that_refusals_list() {
    let chapter = guide("webhooks");
    let sandbox = Sandbox::with_project();
    for argument in [
        "failurePolicy",
        "matchPolicy",
        "reinvocationPolicy",
        "sideEffects",
    ] {
        let marker = "// +kbr:webhook:mutating=true,path=/x,groups=core,resources=pods,verbs=create,\
                      versions=v1,name=a.b.c";
        sandbox.module("a", &format!("{marker},{argument}=x\n"));
        let refused = sandbox.kbr("manifests").failure().stderr;
        let known = refused.split("write ").nth(1).expect("a list");
        let line = format!("| `{argument}` |");
        let line = chapter
            .lines()
            .find(|it| it.starts_with(&line))
            .expect("a line");
        let values: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        assert_eq!(values.len(), 2, "{refused}");
        for value in values {
            assert!(
                line.contains(&format!("`{value}`")),
                "webhooks.md: {value} of {argument}"
            );
        }
    }
}

#[test]
fn the_markers_that_the_guide_shows_are_understood() {
    let documents = documents();
    let mut shown = blocks(&documents);
    shown.retain(|block| block.starts_with("// +kbr:"));
    assert_eq!(shown.len(), 2, "{shown:?}");
    let sandbox = Sandbox::with_project();
    sandbox.module("a", &shown.concat());
    sandbox.kbr("manifests").success();
}

/// Programs identify an error by its code, and the guide lists all codes with their messages.
#[test]
fn each_error_has_a_unique_code_that_the_guide_lists_with_its_message() {
    let mut codes = vec!["- `usage`: the command line cannot be parsed".to_owned()];
    for (path, text) in sources() {
        if path == "report/problem.rs" || !text.contains("Diagnostic)]") {
            continue;
        }
        for variant in text.split("#[error(").skip(1) {
            if let Some((_, code)) = variant.split_once("code(\"") {
                let code = code.split('"').next().unwrap_or_default();
                codes.push(format!("- `{code}`: {}", message(variant)));
                continue;
            }
            let is_of_others = variant.contains("transparent") || variant.contains("#[related]");
            let shown = &variant[..variant.len().min(200)];
            assert!(
                is_of_others,
                "src/{path} has an error without a code: {shown}"
            );
        }
    }
    codes.sort();
    let code = |line: &String| line.split(':').next().map(str::to_owned);
    let twice = codes
        .windows(2)
        .find(|pair| code(&pair[0]) == code(&pair[1]));
    assert_eq!(twice, None, "two errors have the same code");
    let (before, rest) = AROUND_CODES.split_once('|').expect("two parts");
    let errors = guide("errors");
    let start = errors.find(before).expect("a heading") + before.len();
    let end = errors.find(rest).expect("the end");
    let list = codes.join("\n") + "\n";
    if std::env::var_os("KBR_OVERWRITE").is_some() {
        let text = [&errors[..start], &list, &errors[end..]].concat();
        let path = Path::new(REPOSITORY).join("src/guide/errors.md");
        fs::write(path, text).expect("the chapter can be written");
        return;
    }
    assert_eq!(
        &errors[start..end],
        list,
        "`KBR_OVERWRITE=1 cargo test --test it docs::each_error` writes the chapter `errors`"
    );
}

/// What is before and after the list of codes in the chapter `errors`.
const AROUND_CODES: &str = "errors are:\n\n|\n[json]:";

/// The message of an error in `#[error("…")]`: a field is written in capitals, and `…` stands for any other text.
fn message(attribute: &str) -> String {
    let start = attribute.find('"').expect("a literal") + 1;
    let literal = attribute[start..].replace("\\\"", "\u{1}");
    let literal = literal.split('"').next().unwrap_or_default();
    // A line that ends in a backslash continues without the indentation of the next one.
    let lines = literal.split("\\\n").map(str::trim_start);
    let text = lines.collect::<String>().replace('\u{1}', "\"");
    let text = text.replace("\\n", " ").replace("{{", "\u{2}");
    let text = text.replace("}}", "\u{3}");
    let mut parts = text.split('{');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (field, rest) = part.split_once('}').expect("the end of a field");
        let field = field.split(':').next().unwrap_or_default();
        let is_name = field.starts_with(|it: char| it.is_ascii_lowercase());
        match is_name {
            true => shown += &field.to_uppercase().replace('_', " "),
            false => shown.push('…'),
        }
        shown += rest;
    }
    let shown = shown.replace('\u{2}', "{").replace('\u{3}', "}");
    let words: Vec<&str> = shown.split_whitespace().collect();
    words.join(" ").replace("……", "…")
}

/// Where each link of a Markdown document leads.
fn links(text: &str) -> Vec<String> {
    let arena = comrak::Arena::new();
    let document = comrak::parse_document(&arena, text, &comrak::Options::default());
    let links = document
        .descendants()
        .filter_map(|node| match &node.data().value {
            NodeValue::Link(link) => Some(link.url.clone()),
            _ => None,
        });
    links.collect()
}

/// The anchors of a document's headings, as they are made on the web.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let root = Path::new(REPOSITORY);
    let mut documents: Vec<String> = [
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.md",
        "SECURITY.md",
    ]
    .map(str::to_owned)
    .into();
    for folder in [
        ".github",
        "src/guide",
        "templates/kbr-runtime",
        "templates/kbr-testing",
        "testdata",
        "tests/tools",
    ] {
        let paths = tree(&root.join(folder)).into_keys();
        // What is in an overlay is checked in its golden.
        let is_elsewhere = |path: &str| path.contains("third_party/") || path.contains(".overlay/");
        let paths = paths.filter(|path| path.ends_with(".md") && !is_elsewhere(path));
        documents.extend(paths.map(|path| format!("{folder}/{path}")));
    }
    for document in documents {
        let text = read(&document);
        let here = root.join(&document);
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => here.clone(),
                path => here.parent().expect("a folder").join(path),
            };
            assert!(target.exists(), "{document}: {link}");
            if !anchor.is_empty() {
                let text = fs::read_to_string(&target).expect("a text");
                let is_heading = anchors(&text).iter().any(|it| it == anchor);
                let is_named = text.contains(&format!("<a id=\"{anchor}\"></a>"));
                assert!(is_heading || is_named, "{document}: {link}");
            }
        }
    }
}

/// The topics of kbr's own guide, in the order in which `kbr help` lists them.
pub fn topics() -> Vec<String> {
    let help = Sandbox::new().kbr("help topics").success().stdout;
    let list = help.split("Topics of the guide").nth(1).expect("a list");
    let lines = list.lines().skip(1).filter(|line| !line.is_empty());
    let topic = |line: &str| line.split_whitespace().next().expect("a topic").to_owned();
    let topics = lines.map(topic);
    topics
        .filter(|topic| !topic.starts_with("runtime-"))
        .collect()
}

#[test]
fn help_prints_each_chapter_and_the_readme_lists_it() {
    let readme = read("README.md");
    let sandbox = Sandbox::new();
    let topics = topics();
    let mut files = names(&Path::new(REPOSITORY).join("src/guide"));
    files
        .iter_mut()
        .for_each(|file| *file = file.replace(".md", ""));
    let mut sorted = topics.clone();
    sorted.sort();
    assert_eq!(sorted, files);
    for topic in topics {
        let chapter = guide(&topic);
        let link = format!("[{topic}](src/guide/{topic}.md)");
        assert!(readme.contains(&link), "README.md has no {link}");
        let printed = sandbox.kbr(&format!("help {topic}")).success().stdout;
        let text = chapter.split("\n[").next().expect("a text");
        assert!(printed.starts_with(text.trim_end()), "{printed}");
        assert!(
            !printed.contains(".md\n"),
            "{topic} is printed without links"
        );
    }
}

/// Without the definition, the brackets would be no link.
#[test]
fn a_chapter_that_names_another_links_to_it() {
    let pages = read("src/guide.rs");
    for topic in topics() {
        let module = topic.replace('-', "_");
        let page = format!("\"{topic}\" {module},");
        assert!(pages.contains(&page), "src/guide.rs has no {page}");
        for other in topics() {
            let chapter = guide(&other);
            let definition = format!("\n[{topic}]: {topic}.md\n");
            let is_named = chapter.matches(&format!("[{topic}]")).count() > 1;
            assert_eq!(
                chapter.contains(&definition),
                is_named,
                "{other}: [{topic}]"
            );
        }
    }
}

#[test]
fn the_changelog_begins_with_unreleased_changes() {
    let changelog = read("CHANGELOG.md");
    let first = changelog
        .lines()
        .find(|line| line.starts_with("## "))
        .expect("a section");
    assert_eq!(first, "## [Unreleased]");
}

/// The text below the heading of the changelog that starts with these words.
fn changes(heading: &str) -> String {
    let changelog = read("CHANGELOG.md");
    let mut sections = changelog.split("\n## ").skip(1);
    let section = sections.find(|section| section.starts_with(heading));
    section
        .unwrap_or_else(|| panic!("CHANGELOG.md has no {heading}"))
        .to_owned()
}

#[test]
fn an_unreleased_change_has_two_lines_at_most() {
    for entry in changes("[Unreleased]").split("\n- ").skip(1) {
        let entry = entry.split("\n\n").next().expect("its lines").trim_end();
        assert!(entry.lines().count() <= 2, "{entry}");
        for line in entry.lines() {
            assert!(line.chars().count() <= 200, "{line}");
        }
    }
}

#[test]
fn the_changes_of_a_version_fit_on_a_page() {
    let version = env!("CARGO_PKG_VERSION");
    let section = changes(&format!("[{version}] - "));
    assert!(section.lines().count() <= 40, "{version}");
}

/// What a visitor would have to replace before a command works.
#[test]
fn no_document_names_a_repository_that_does_not_exist() {
    for document in ["CHANGELOG", "CONTRIBUTING", "README", "SECURITY"] {
        let text = read(&format!("{document}.md"));
        assert!(!text.contains("OWNER/"), "{document}.md");
    }
}

#[test]
fn nothing_else_is_visible_in_the_root_folder() {
    let mut visible = names(Path::new(REPOSITORY));
    visible.retain(|name| !name.starts_with('.') && name != "target");
    let fixed = [
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "src",
        "templates",
        "testdata",
        "tests",
    ];
    assert_eq!(visible, fixed);
}

#[test]
fn emitted_documents_name_paths_that_exist() {
    let folder = Path::new(REPOSITORY).join("testdata/scaffold");
    for document in ["README.md", "AGENTS.md"] {
        let text = read(&format!("testdata/scaffold/{document}"));
        for path in text.split('`').skip(1).step_by(2) {
            let is_path = ["api/", "config/", "examples/", "src/", "tests/"]
                .iter()
                .any(|start| path.starts_with(start));
            if is_path && !path.contains(['<', '*', ' ']) {
                assert!(folder.join(path).exists(), "{document}: {path}");
            }
        }
    }
}

#[test]
fn emitted_kustomizations_and_readmes_refer_to_what_exists() {
    for name in GOLDENS {
        let folder = Path::new(REPOSITORY).join("testdata").join(name);
        let files = tree(&folder);
        let kustomizations = files
            .iter()
            .filter(|(path, _)| path.ends_with("/kustomization.yaml"));
        for (path, text) in kustomizations {
            let here = Path::new(path).parent().expect("a folder");
            let resources = text.lines().filter_map(|line| line.strip_prefix("- "));
            for resource in resources.filter(|line| !line.ends_with(':') && !line.contains(": ")) {
                let resource = folder.join(here).join(resource.trim_matches('"'));
                assert!(resource.exists(), "{path}: {}", resource.display());
            }
        }
        for word in files["README.md"].split('`').skip(1).step_by(2) {
            let targets = word.strip_prefix("make ").unwrap_or_default().split(' ');
            for target in targets.filter(|target| !target.is_empty() && !target.contains('=')) {
                let rule = format!("\n{target}:");
                assert!(
                    files["Makefile"].contains(&rule),
                    "README.md: make {target}"
                );
            }
        }
    }
}

/// The table says how much there is to read.
#[test]
fn the_table_of_the_goldens_counts_the_lines_of_their_files() {
    let readme = read("testdata/README.md");
    let table = readme.split("## Read one\n").nth(1).expect("a section");
    let table = table.split("\n## ").next().expect("its text");
    let mut counted = 0;
    for row in table.lines().filter(|line| line.starts_with("| [")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let path = links(cells[1]).remove(0);
        let text = read(&format!("testdata/{path}"));
        let code = text.split("#[cfg(test)]\nmod tests").next();
        let lines = code.expect("its code").lines().count();
        assert_eq!(cells[2], lines.to_string(), "{path}");
        counted += 1;
    }
    assert_eq!(counted, 6);
}

#[test]
fn each_tool_is_explained() {
    let readme = read("tests/tools/README.md");
    for name in names(&Path::new(REPOSITORY).join("tests/tools")) {
        let is_named = [format!("`{name}`"), format!("tests/tools/{name}")];
        let is_named = is_named.iter().any(|it| readme.contains(it));
        assert!(is_named || name == "README.md", "{name}");
    }
}

/// The attributes of a file of the repository that are set, according to git.
fn attributes(path: &str) -> Vec<String> {
    let mut git = Command::new("git");
    git.current_dir(REPOSITORY)
        .args(["check-attr", "--all", "--", path]);
    let output = git.output().expect("git runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let set = text.lines().filter_map(|line| line.strip_suffix(": set"));
    set.filter_map(|line| Some(line.rsplit_once(": ")?.1.to_owned()))
        .collect()
}

#[test]
fn reviews_fold_generated_and_vendored_files_and_show_handwritten_ones() {
    if !Path::new(REPOSITORY).join(".git").exists() {
        return;
    }
    let [generated, vendored] = ["linguist-generated", "linguist-vendored"].map(str::to_owned);
    for (path, is_generated, is_vendored) in [
        ("Cargo.lock", true, false),
        ("src/main.rs", false, false),
        ("templates/kbr-runtime/src/lib.rs", false, false),
        ("templates/project.lock", true, false),
        (
            "testdata/cronjob/src/controller/cronjob_controller.rs",
            true,
            false,
        ),
        (
            "testdata/cronjob/third_party/kbr-runtime/src/lib.rs",
            true,
            true,
        ),
        ("testdata/foo.overlay/README.md", false, false),
        ("testdata/foo.steps", false, false),
        ("tests/data/crdgen/cronjob.json", true, false),
        ("tests/data/scaffolds/steps", false, false),
    ] {
        assert!(Path::new(REPOSITORY).join(path).exists(), "{path}");
        let set = attributes(path);
        assert_eq!(set.contains(&generated), is_generated, "{path}: {set:?}");
        assert_eq!(set.contains(&vendored), is_vendored, "{path}: {set:?}");
    }
}

/// The test of each golden runs the example of its own README.
#[test]
fn the_examples_of_the_goldens_are_those_that_their_tests_run() {
    let all = read("testdata/README.md");
    for golden in GOLDENS {
        assert!(
            all.contains(&format!("`{golden}`")),
            "{golden} is not in the table"
        );
        let overlay = format!("testdata/{golden}.overlay");
        let types = Path::new(REPOSITORY)
            .join(&overlay)
            .join("tests/it/readme.rs");
        if !types.exists() {
            continue;
        }
        let own = read(&format!("{overlay}/README.md"));
        let example = own.split("```console\n").nth(1).expect("an example");
        let example = example.split("```").next().expect("its end");
        let section = all.split(&format!("\n## {golden}\n")).nth(1);
        let section = section.unwrap_or_else(|| panic!("testdata/README.md has no {golden}"));
        let section = section.split("\n## ").next().expect("its end");
        assert!(
            blocks(section).contains(&example),
            "testdata/README.md does not have the example of {golden}:\n{example}"
        );
    }
}

#[test]
fn each_target_of_tests_is_listed_linted_and_run() {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("TOML");
    let (listed, run, cluster) = (
        read("CONTRIBUTING.md"),
        read(".ci/run"),
        read(".ci/cluster"),
    );
    for target in manifest["test"].as_array().expect("targets") {
        let name = target["name"].as_str().expect("a name");
        let option = format!("--test {name}");
        match name {
            // The README's command.
            "it" => assert!(
                target.get("test").is_none() && run.contains("\ncargo test --no-fail-fast ||")
            ),
            _ => {
                assert!(
                    listed.contains(&format!("| `cargo test {option}` |")),
                    "{name}"
                );
                let further = run.lines().find(|line| line.starts_with("further=("));
                assert!(further.is_some_and(|line| line.contains(&option)), "{name}");
                let runs = if name == "e2e" { &cluster } else { &run };
                let is_run = |line: &str| {
                    line.contains("cargo test ")
                        && line.contains(&option)
                        && !line.contains(" --build")
                        && !line.ends_with(" soak::")
                };
                assert!(runs.lines().any(is_run), "{name}");
            }
        }
    }
    for command in ["clippy", "test --no-run"] {
        let line = format!("cargo {command} \"${{further[@]}}\"");
        assert!(run.contains(&line), "{line}");
    }
}
