//! What kbr refuses: the exact words, the exit code, and the tree byte for byte as it was.

mod api;
mod delete;
mod files;
mod markers;
mod namespaces;
mod project_file;
mod webhook;
mod words;

use crate::support::{Sandbox, assert_same};

/// Clap's closing line.
const MORE: &str = "\n\nFor more information, try '--help'.\n";

/// What stands behind every unreadable PROJECT.
const UNREADABLE: &str =
    "\n help: take the file back from version control, or update kbr if a newer one wrote it\n";

const AGAIN: &str =
    "\n help: move what stands there out of the way, and type the same command again\n";

const LINK: &str = "is a symbolic link, which may lead out of the project";

/// Runs kbr with `args`, which must be refused with exactly that text, and change nothing; so must
/// its dry run.
#[track_caller]
fn refused_args(sandbox: &Sandbox, args: &[&str], code: i32, stderr: &str) {
    let before = sandbox.tree();
    sandbox.run(args).refused(code, stderr);
    if code == 1 && !args.contains(&"--check") {
        let dry = [args, &["--dry-run"]].concat();
        sandbox.run(&dry).refused(code, stderr);
    }
    assert_same(&before, &sandbox.tree());
}

/// The same with a line that holds no quoting.
#[track_caller]
fn refused(sandbox: &Sandbox, line: &str, stderr: &str) {
    let args: Vec<&str> = line.split_whitespace().collect();
    refused_args(sandbox, &args, 1, stderr);
}

/// The last word of `line` is not a value of the option before it.
#[track_caller]
fn bad_value(sandbox: &Sandbox, line: &str, placeholder: &str, why: &str) {
    let mut args: Vec<&str> = line.split_whitespace().collect();
    let (Some(value), Some(option)) = (args.pop(), args.pop()) else {
        panic!("{line}");
    };
    let argument = format!("{option}={value}");
    args.push(&argument);
    let text =
        format!("error: invalid value '{value}' for '{option} <{placeholder}>': {why}{MORE}");
    refused_args(sandbox, &args, 2, &text);
}

/// A line that clap itself cannot make sense of.
#[track_caller]
fn misused(sandbox: &Sandbox, line: &str, text: &str) {
    let args: Vec<&str> = line.split_whitespace().collect();
    refused_args(sandbox, &args, 2, &format!("{text}{MORE}"));
}

/// A project with one kind, `Foo`, and its controller.
fn with_foo() -> Sandbox {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    sandbox
}

/// A project of that domain.
fn with_domain(domain: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let line = format!("init --project-name sandbox --domain {domain}");
    sandbox.kbr(&line).success();
    sandbox
}
