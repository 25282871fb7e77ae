//! The `kbr` binary: passes the command line to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    kbr::run(&std::env::args_os().collect::<Vec<_>>())
}
