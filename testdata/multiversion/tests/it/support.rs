// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! README.md and its commands, for the tests that run them.

use std::env::var_os;
use std::path::Path;
use std::process::Command;

use kbr_testing::TestEnv;

/// The block of README.md that begins with `beginning`.
pub fn block(beginning: &str) -> String {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let mut blocks = readme.split("```").skip(1).step_by(2);
    let block = blocks.find(|block| block.starts_with(beginning));
    let block = block.unwrap_or_else(|| panic!("no block {beginning:?}"));
    block.split_once('\n').unwrap().1.to_owned()
}

/// Runs a script in the project's folder with `kubectl` on the PATH, and returns its output and whether it
/// succeeded.
pub fn shell(env: &TestEnv, script: &str) -> (String, bool) {
    let kubectl = env.kubectl();
    let folder = Path::new(kubectl.get_program()).parent().unwrap();
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(var_os("PATH").unwrap_or_default());

    let mut shell = Command::new("sh");
    shell.args(["-euc", &format!("exec 2>&1\n{script}")]);
    shell.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = shell
        .env("PATH", path)
        .env("KUBECONFIG", env.kubeconfig())
        .output();
    let output = output.unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.success(),
    )
}
