// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The example in README.md, run as it is shown.

use std::env::var_os;
use std::path::Path;
use std::process::Command;

use crate::env;

/// A command in the project's folder, with `kubectl` on the PATH.
fn shell(command: &str) -> Command {
    let kubectl = env().kubectl();
    let folder = Path::new(kubectl.get_program()).parent().unwrap();
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(var_os("PATH").unwrap_or_default());

    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{command} 2>&1")]);
    shell.current_dir(env!("CARGO_MANIFEST_DIR"));
    shell
        .env("PATH", path)
        .env("KUBECONFIG", env().kubeconfig());
    shell
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

#[test]
fn the_example_works_as_it_is_shown() {
    // As `make run-local` does everywhere.
    env().kubelet().run_all_in("default").unwrap();
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let example = readme.split("```console\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();

    for step in example.split("$ ").skip(1) {
        let (command, expected) = step.split_once('\n').unwrap();
        let output = shell(command).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(lines(&output), lines(expected), "{command}");
    }
}

#[test]
fn the_table_is_the_same_as_in_the_code() {
    let table = |text: &str, prefix: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
        let lines = lines.skip_while(|line| !line.starts_with("| phase | no Pod"));
        let lines = lines.take_while(|line| line.starts_with('|'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let readme = table(include_str!("../../README.md"), "");
    let machine = include_str!("../../src/controller/myjob_controller/machine.rs");

    assert_eq!(readme.len(), 6);
    assert_eq!(readme, table(machine, "//! "));
}
