// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! Reads the flags, registers the controllers and runs them until a signal arrives.

use clap::Parser;
use kbr_runtime::{Flags, Manager, ManagerError};

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
    kbr_runtime::exit(run(args).await)
}

async fn run(args: Args) -> Result<(), ManagerError> {
    let mut manager = Manager::new(args.manager).await?;
    memcached::register(&mut manager);
    manager.run().await
}
