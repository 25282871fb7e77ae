// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! `make run-local`: an API server on this machine alone, and the operator running against it.
//!
//! Prints `KUBECONFIG=<path>`, a line to put before kubectl or into the shell. Ctrl-C or SIGTERM
//! stops the operator and then the API server; nothing is kept.

use clap::Parser;
use runtime::testing::TestEnv;
use runtime::{Flags, Manager};

/// Runs the operator against an API server of its own.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Flags,
}

#[tokio::main]
async fn main() {
    let mut args = Args::parse();
    let env = TestEnv::start(env!("CARGO_MANIFEST_DIR")).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        std::process::exit(1)
    });
    println!("KUBECONFIG={}", env.kubeconfig().display());

    args.manager.kubeconfig = Some(env.manager_kubeconfig().to_owned());
    let outcome = run(args.manager).await;
    drop(env);
    runtime::exit(outcome)
}

async fn run(flags: Flags) -> Result<(), runtime::Error> {
    let mut manager = Manager::new(flags).await?;
    for register in manager::CONTROLLERS {
        register(&mut manager);
    }
    manager.run().await
}
