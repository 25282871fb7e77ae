//! The `kbr` binary: parses what was typed and hands it to the library.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    kbr::run(kbr::cli::Cli::parse())
}
