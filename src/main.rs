//! The `kbr` binary: parses what was typed and hands it to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    kbr::run(kbr::cli::parse())
}
