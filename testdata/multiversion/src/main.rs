// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! Reads the flags, registers the controllers and runs them until a signal.

use clap::Parser;
use runtime::{Error, Flags, Manager};

/// Runs the controllers of this project.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    manager: Flags,
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    runtime::exit(run(args).await)
}

async fn run(args: Args) -> Result<(), Error> {
    let mut manager = Manager::new(args.manager).await?;
    multiversion::register(&mut manager);
    manager.run().await
}
