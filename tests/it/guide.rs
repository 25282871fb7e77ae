//! Runs the commands of the guide and compiles its Rust, chapter by chapter.
//!
//! The lines of a block `sh`, and those after `$` in a block `console`, are commands. They run in a folder of
//! their chapter, in order: an empty one if the first command is `kbr init`, otherwise one with the project of
//! the chapter `first-operator`. A block `rust file:PATH` is that file, a block `diff` is applied to the files
//! that it names, and any other Rust is compiled in a module of its own.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::docs::topics;
use crate::support::documents::{fenced, guide, read};
use crate::support::{REPOSITORY, Run, Sandbox, cargo, compiling};

/// Commands that are shown and not run here, by their first words, and why.
const NOT_RUN: [(&str, &str); 24] = [
    (
        "cargo add ",
        "needs the registry; steps of the goldens are such commands",
    ),
    (
        "cargo build --locked",
        "`rust_compiles` compiles all chapters at once",
    ),
    (
        "cargo doc ",
        "compiles the documentation of kube, which takes minutes",
    ),
    (
        "helm ",
        "needs a cluster; the tests of `kbr chart` run Helm",
    ),
    ("export ", "the tests of `kbr envtest` read the same path"),
    ("docker ", "needs Docker"),
    ("git diff --no-index", "needs a project in Go"),
    (
        "KBR_ALLOW_OLDER_KUBERNETES=true make test",
        "builds an older API server; `tests/tools/test-older-kubernetes` runs it",
    ),
    ("kbr bundle", "needs the CRDs; its own tests run it"),
    ("kbr chart", "needs the CRDs; its own tests run it"),
    (
        "kbr create api --group cert-manager",
        "the golden `multigroup` does it, with a crate of its own",
    ),
    (
        "kbr create webhook --kind CronJob --defaulting --output json",
        "`json` parses the document",
    ),
    ("kbr dev", "runs until it is stopped; its own tests run it"),
    ("kbr envtest use", "the tests of `kbr envtest` run it"),
    (
        "kbr import project",
        "needs a project in Go; `import_project` has one",
    ),
    (
        "kbr manifests",
        "compiles the types; `golden::is_written` runs it for each golden",
    ),
    (
        "kbr update",
        "needs a commit; the tests of `kbr update` run it",
    ),
    (
        "sh hack/forget-version.sh ",
        "needs a cluster; the target `schemas` runs it",
    ),
    (
        "kubectl ",
        "needs the project in a cluster; the targets `operations` and `schemas` run these commands",
    ),
    (
        "make deploy",
        "needs a cluster; the tests of the Makefile run it",
    ),
    (
        "make docker-build",
        "needs a container engine and a registry",
    ),
    ("make test", "`goldens::works` runs what it runs"),
    (
        "make run-local",
        "runs until it is stopped; the tests of the Makefile run it",
    ),
    (
        "make undeploy",
        "needs a cluster; the tests of the Makefile run it",
    ),
];

/// The folder of a chapter, with a project in it unless its commands create one.
fn folder_of(commands: &[String]) -> Sandbox {
    let sandbox = Sandbox::new();
    if commands
        .first()
        .is_some_and(|first| first.starts_with("kbr init "))
    {
        return sandbox;
    }
    let scaffolding = commands_of(&guide("first-operator")).into_iter();
    for command in scaffolding.filter(|command| reason(command).is_none()) {
        run(&sandbox, &command).success();
    }
    sandbox
}

/// Why a command is not run.
fn reason(command: &str) -> Option<&'static str> {
    let found = NOT_RUN.iter().find(|(words, _)| command.starts_with(words));
    found.map(|(_, reason)| *reason)
}

/// The commands of a chapter, each on one line.
fn commands_of(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for (kind, body) in fenced(text) {
        let body = body.replace("\\\n", "");
        match kind {
            "sh" => commands.extend(body.lines().map(|line| line.trim_start().to_owned())),
            "console" => {
                let lines = body.lines().filter_map(|line| line.strip_prefix("$ "));
                commands.extend(lines.map(str::to_owned));
            }
            _ => {}
        }
    }
    commands
}

/// Runs a command as a shell does.
fn run(sandbox: &Sandbox, command: &str) -> Run {
    let kbr = Path::new(env!("CARGO_BIN_EXE_kbr"));
    let folder = kbr.parent().expect("a folder").display();
    let path = std::env::var("PATH").expect("PATH");
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(sandbox.path());
    shell
        .env("PATH", format!("{folder}:{path}"))
        .stdin(Stdio::null());
    shell.output().expect("sh runs").into()
}

#[test]
fn the_commands_of_each_chapter_work() {
    for topic in topics() {
        let commands = commands_of(&guide(&topic));
        if commands.iter().all(|command| reason(command).is_some()) {
            continue;
        }
        let sandbox = folder_of(&commands);
        for command in commands.iter().filter(|command| reason(command).is_none()) {
            let run = run(&sandbox, command);
            assert_eq!(run.code(), Some(0), "{topic}: {command}\n{}", run.stderr);
        }
    }
}

#[test]
fn the_session_of_the_guide_is_a_real_one() {
    let printed = run(
        &Sandbox::new(),
        &format!("{REPOSITORY}/tests/tools/session"),
    );
    let printed = printed.success().stdout;
    let chapter = guide("commands");
    let is_shown = fenced(&chapter).contains(&("text", printed.as_str()));
    assert!(
        is_shown,
        "commands.md does not have the output of tests/tools/session:\n{printed}"
    );
}

#[test]
fn what_is_not_run_is_in_the_guide() {
    let chapters: Vec<String> = topics().iter().map(|topic| guide(topic)).collect();
    let commands: Vec<String> = chapters.iter().flat_map(|text| commands_of(text)).collect();
    for (words, _) in NOT_RUN {
        let is_shown = commands.iter().any(|command| command.starts_with(words));
        assert!(is_shown, "no chapter has the command `{words}`");
    }
}

/// Applies a diff of a chapter.
fn apply(sandbox: &Sandbox, diff: &str) {
    let mut git = Command::new("git");
    git.args(["apply", "-"]).current_dir(sandbox.path());
    git.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut git = git.spawn().expect("git runs");
    let mut stdin = git.stdin.take().expect("a pipe");
    stdin.write_all(diff.as_bytes()).expect("the diff");
    drop(stdin);
    let output = git.wait_with_output().expect("git ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}\n{diff}");
}

#[test]
fn rust_compiles() {
    let sandbox = folder_of(&[]);
    let mut shown = String::new();
    for topic in topics() {
        let chapter = guide(&topic);
        let mut number = 0;
        for (kind, body) in fenced(&chapter) {
            if let Some(file) = kind.strip_prefix("rust file:") {
                assert!(!sandbox.path().join(file).exists(), "{topic}: {file}");
                sandbox.write(file, body);
            } else if kind == "rust" {
                let module = format!("{}_{number}", topic.replace('-', "_"));
                writeln!(shown, "pub mod {module} {{\n{body}}}").expect("a text");
                number += 1;
            } else if kind == "diff" {
                apply(&sandbox, body);
            }
        }
    }
    assert!(shown.contains("pub mod types_0"), "{shown}");
    sandbox.write(
        "api/src/shown.rs",
        &format!("#![allow(dead_code)]\n{shown}"),
    );
    let api = sandbox.read("api/src/lib.rs");
    sandbox.write("api/src/lib.rs", &format!("{api}\nmod shown;\n"));
    let _one_at_a_time = compiling();
    let check = "check --workspace --all-targets --features kbr-testing/crash,kbr-testing/development --locked";
    assert!(
        cargo(sandbox.path(), check),
        "in {}",
        sandbox.path().display()
    );
}

/// Each path below `testdata` that the guide names.
#[test]
fn the_examples_of_the_guide_exist() {
    for topic in topics() {
        for word in guide(&topic).split('`').skip(1).step_by(2) {
            if word.starts_with("testdata/") {
                read(&format!("{word}/README.md").replace("README.md/README.md", "README.md"));
            }
        }
    }
}
