// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! `make run-local`: an API server on this machine, and the operator running against it.
//!
//! Prints `KUBECONFIG=<path>`, for kubectl in another terminal. Ctrl-C or SIGTERM stops the operator
//! and then the API server, and deletes every object.
//!
//! No containers run: each pod is only marked as running. With kube-controller-manager, Deployments
//! and Jobs get pods: `kbr envtest use --with-controller-manager` installs it.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use kbr_runtime::{Flags, Manager};
use kbr_testing::TestEnv;

/// The Kubernetes controllers that also run, if kube-controller-manager is installed.
const CONTROLLERS: [&str; 7] = [
    "cronjob-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "statefulset-controller",
];

/// Runs the operator against its own API server.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    manager: Flags,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse().manager).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(mut flags: Flags) -> Result<(), Box<dyn Error>> {
    if flags.kubeconfig.is_some() {
        return Err("run-local has its own API server: leave out --kubeconfig".into());
    }
    let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
        .kubernetes_controllers_if_installed(&CONTROLLERS)
        .start()?;
    env.kubelet().run_all()?;
    // `kbr dev` runs the operator itself, and says on standard input what it needs.
    if std::env::var_os("KBR_DEV").is_some() {
        return Ok(env.serve_kbr_dev().await?);
    }
    if !env.has_kubernetes_controllers() {
        eprintln!(
            "Deployments and Jobs get no pods without kube-controller-manager: \
             type `kbr envtest use --with-controller-manager` and start again"
        );
    }
    println!("KUBECONFIG={}", env.kubeconfig().display());

    env.serve_webhooks(&mut flags);
    kbr_runtime::init_logging(&flags);
    let mut manager = Manager::with_config(flags, env.manager_config())?;
    scaffold::register(&mut manager);
    tokio::select! {
        ended = manager.run() => Ok(ended?),
        error = env.failed() => Err(error.into()),
    }
}
