//! What kbr refuses: the exact message, the exit code, and that the tree stays the same byte for byte.
//!
//! Each test lists the commands and the messages of kbr at its end, in [`told`]. After a change of messages,
//! `SNAPSHOTS=overwrite cargo test --test it refusals::` rewrites all of these lists.

mod api;
mod delete;
mod files;
mod markers;
mod namespaces;
mod policy;
mod project_file;
mod webhook;
mod words;

use std::cell::RefCell;

use snapbox::IntoData;

use crate::support::{Sandbox, assert_same, said};

thread_local! {
    /// The commands of the test that runs in this thread, and the messages of kbr.
    static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Clap's closing line, which [`told`] omits.
const MORE: &str = "\n\nFor more information, try '--help'.\n";

/// Runs kbr with `args`, which must be refused with that exit code, and change nothing; so must its dry
/// run, with the same message. Returns the message.
#[track_caller]
fn refusal(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let before = sandbox.tree();
    let stderr = sandbox.run(args).refused_with(code);
    if code == 1 && !args.contains(&"--check") {
        let dry = [args, &["--dry-run"]].concat();
        assert_eq!(sandbox.run(&dry).refused_with(code), stderr);
    }
    assert_same(&before, &sandbox.tree());
    stderr
}

/// The same, and records the message for [`told`].
#[track_caller]
fn refused_args(sandbox: &Sandbox, args: &[&str], code: i32) {
    let mut stderr = refusal(sandbox, args, code);
    if code == 2 {
        let without = stderr.strip_suffix(MORE).expect("clap's closing line");
        stderr = format!("{without}\n");
    }
    let mut text = format!("$ kbr {}\n{stderr}\n", args.join(" "));
    let folder = sandbox.path().display().to_string();
    // Quoted for a shell if the folder for temporary files has a space in its name.
    let quoted = format!("'{folder}");
    while let Some((before, rest)) = text.split_once(&quoted) {
        let (within, after) = rest.split_once('\'').expect("a closing quote");
        text = format!("{before}{folder}{within}{after}");
    }
    let text = text.replace(&folder, "SANDBOX");
    TOLD.with_borrow_mut(|told| told.extend(text.chars().map(visible)));
}

/// A character in a form that a source file can contain.
fn visible(c: char) -> String {
    match c {
        '\n' => c.to_string(),
        c if c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) => {
            c.escape_default().to_string()
        }
        c => c.to_string(),
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The same with a line without quotes.
#[track_caller]
fn refused(sandbox: &Sandbox, line: &str) {
    refused_args(sandbox, &words(line), 1);
}

/// Asserts that the last word of `line` is refused as a value of the option before it.
#[track_caller]
fn bad_value(sandbox: &Sandbox, line: &str) {
    let mut args = words(line);
    let (Some(value), Some(option)) = (args.pop(), args.pop()) else {
        panic!("{line}");
    };
    let argument = format!("{option}={value}");
    args.push(&argument);
    refused_args(sandbox, &args, 2);
}

/// Asserts that clap itself refuses the line.
#[track_caller]
fn misused(sandbox: &Sandbox, line: &str) {
    refused_args(sandbox, &words(line), 2);
}

/// Asserts that the commands of this test were refused with these messages.
#[track_caller]
fn told(expected: impl IntoData) {
    let told = TOLD.take().concat();
    assert!(!told.is_empty(), "nothing was refused");
    said(told.trim_end(), expected);
}

/// A project with one kind, `Foo`, and its controller.
fn with_foo() -> Sandbox {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    sandbox
}

/// A project with that domain.
fn with_domain(domain: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let line = format!("init --project-name sandbox --domain {domain}");
    sandbox.kbr(&line).success();
    sandbox
}
