//! kbr: kubebuilder for Rust.
pub mod cli;

mod apply;
mod commands;
mod completion;
mod error;
mod layout;
mod lock;
mod manifests;
mod marker;
mod names;
mod plan;
mod project;
mod report;
mod templates;
mod toolchain;
mod tree;
mod yaml;

use std::process::ExitCode;

use report::Report;

/// Runs one command to its end and says how it went.
pub fn run(cli: cli::Cli) -> ExitCode {
    let mut report = Report::new(cli.color);
    let result = commands::run(cli, &mut report);
    report.finish(result)
}
