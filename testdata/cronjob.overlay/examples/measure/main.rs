// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Measures this operator, and others of the same resource beside it, on this machine alone.
//!
//! Each binary has its defaults, and a ServiceAccount that may do everything. The figures come from
//! Linux' `/proc`; whatever else runs meanwhile distorts them.

mod client;
mod cluster;
mod cronjobs;
mod flood;
mod images;
mod process;
mod renewals;
mod scale;
mod table;
mod webhooks;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Measures operators of CronJobs, each on an API server of its own; each is compared with the first.
#[derive(Parser)]
enum Args {
    /// What CronJobs cost that are all due at once.
    Cronjobs {
        /// How many they are.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        cronjobs: u32,

        /// Operators that take --kubeconfig and --health-probe-bind-address.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// What CronJobs cost that are there and not due, and how long a hand-over takes.
    Scale {
        /// With how many it is measured, one after the other.
        #[arg(
            long,
            value_name = "N",
            value_delimiter = ',',
            default_value = "1000,10000"
        )]
        cronjobs: Vec<u32>,

        /// Operators that take --metrics-bind-address and --metrics-secure as well. Those without
        /// --leader-election-id have no hand-over.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// What objects of another project cost whose operator runs an image for each.
    Images {
        /// The project, whose CRDs are installed.
        #[arg(long, value_name = "DIR")]
        project: PathBuf,

        /// A manifest of an object; each that is created has the same spec.
        #[arg(long, value_name = "FILE")]
        object: PathBuf,

        /// How many they are.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        objects: u32,

        /// Operators that take --kubeconfig and --health-probe-bind-address.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// What reviews of the webhooks cost, and whether a renewed certificate disturbs them.
    Webhooks {
        /// How many reviews each webhook gets.
        #[arg(long, value_name = "N", default_value_t = 20_000)]
        reviews: u32,

        /// Operators that take --webhook-port and --webhook-cert-path as well, and serve the paths
        /// of this one.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// Whether webhooks answer good reviews beside all kinds of bad ones, and in how much memory.
    Flood {
        /// The same as for `webhooks`.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let measured = match Args::parse() {
        Args::Cronjobs { cronjobs, binaries } => cronjobs::compare(cronjobs, &binaries).await,
        Args::Scale { cronjobs, binaries } => scale::scale(&cronjobs, &binaries).await,
        Args::Images {
            project,
            object,
            objects,
            binaries,
        } => images::compare(&project, &object, objects, &binaries).await,
        Args::Webhooks { reviews, binaries } => webhooks::compare(reviews, &binaries),
        Args::Flood { binaries } => flood::flood(&binaries),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
