//! Checks that the documents are correct.

use std::fs;
use std::path::Path;

use crate::golden::{GOLDENS, steps};
use crate::support::{REPOSITORY, Sandbox, names, tree};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(REPOSITORY).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text of every fenced block of a document.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').map_or("", |(_, body)| body))
        .collect()
}

/// The steps of the golden `cronjob` that scaffold it, without those that add dependencies or write the
/// reference of its API.
fn scaffolding() -> String {
    let mut steps = steps("cronjob");
    steps.retain(|step| !step.starts_with("cargo add ") && step != "kbr docs");
    steps.join("\n") + "\n"
}

#[test]
fn the_quick_start_is_the_steps_of_the_golden() {
    let readme = read("README.md");
    assert!(
        blocks(&readme).contains(&scaffolding().as_str()),
        "README.md has no block\n{}",
        scaffolding()
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

/// The golden's own tests run it.
#[test]
fn the_example_is_that_of_the_tutorial() {
    let tutorial = read("testdata/cronjob/README.md");
    let mut examples = blocks(&tutorial).into_iter();
    let example = examples
        .find(|block| block.starts_with("$ "))
        .expect("an example");
    assert!(blocks(&read("README.md")).contains(&example), "{example}");
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
fn both_readmes_list_every_scaffold_marker() {
    let readme = read("README.md");
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
    assert_eq!(markers.len(), 12);
    for marker in markers {
        assert!(
            readme.contains(&format!("`{marker}`")),
            "README.md: {marker}"
        );
        assert!(
            emitted.contains(&format!("`{marker}`")),
            "emitted README.md: {marker}"
        );
    }
}

#[test]
fn the_readme_shows_the_help_of_each_command() {
    let readme = read("README.md");
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
                ["--help", "--version"].contains(&option) || readme.contains(option),
                "README.md: {option} of `{command}`"
            );
        }
    }
}

/// The message about an unknown argument lists the known ones.
#[test]
fn the_readme_names_every_argument_of_a_marker() {
    let readme = read("README.md");
    let sandbox = Sandbox::with_project();
    for marker in ["rbac", "webhook"] {
        let source = format!("// +kbr:{marker}:frobnicate=x\n");
        sandbox.module("a", &source);
        let refused = sandbox.kbr("manifests").failure().stderr;
        let known = refused.split("known are ").nth(1).expect("a list");
        let known = known.split(';').next().unwrap_or_default();
        for argument in known.split(", ") {
            assert!(
                readme.contains(&format!("`{argument}`")),
                "README.md: {argument} of `+kbr:{marker}`"
            );
        }
    }
}

/// The message about an unknown value lists the known ones.
#[test]
fn the_readme_has_the_values_that_refusals_list() {
    let readme = read("README.md");
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
        let line = readme
            .lines()
            .find(|it| it.starts_with(&line))
            .expect("a line");
        let values: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        assert_eq!(values.len(), 2, "{refused}");
        for value in values {
            assert!(
                line.contains(&format!("`{value}`")),
                "README.md: {value} of {argument}"
            );
        }
    }
}

#[test]
fn the_markers_that_the_readme_shows_are_understood() {
    let readme = read("README.md");
    let mut shown = blocks(&readme);
    shown.retain(|block| block.starts_with("// +kbr:"));
    assert_eq!(shown.len(), 2, "{shown:?}");
    let sandbox = Sandbox::with_project();
    sandbox.module("a", &shown.concat());
    sandbox.kbr("manifests").success();
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
