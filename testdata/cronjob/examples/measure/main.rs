// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Measures this operator, and others of the same resource, on this machine alone.
//!
//! Each binary runs with its defaults, and a ServiceAccount that may do everything. The figures come
//! from Linux' `/proc`; anything else that runs meanwhile distorts them.

mod bare;
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
use process::Subject;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Measures operators of CronJobs, each on its own API server; each is compared with the first.
#[derive(Parser)]
enum Args {
    /// The cost of CronJobs that are all due at once.
    Cronjobs {
        /// The number of CronJobs.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        cronjobs: u32,

        /// How many objects are reconciled at the same time, in operators with a flag for it; each number is
        /// measured.
        #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1")]
        workers: Vec<u16>,

        /// Operators that accept --kubeconfig and --health-probe-bind-address.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// The cost of CronJobs that exist and are not due, and how long a handover takes.
    Scale {
        /// The numbers of CronJobs to measure, one after the other.
        #[arg(
            long,
            value_name = "N",
            value_delimiter = ',',
            default_value = "1000,10000"
        )]
        cronjobs: Vec<u32>,

        /// How many more CronJobs do not fit their type.
        #[arg(long, value_name = "N", default_value_t = 0)]
        unreadable: u32,

        /// How many objects are reconciled at the same time, in operators with a flag for it; each number is
        /// measured.
        #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1")]
        workers: Vec<u16>,

        /// Operators that also accept --metrics-bind-address and --metrics-secure. Those without
        /// --leader-election-id have no handover.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// The cost of objects of another project whose operator runs an image for each.
    Images {
        /// The project whose CRDs are installed.
        #[arg(long, value_name = "DIR")]
        project: PathBuf,

        /// The manifest of an object; all created objects have its spec.
        #[arg(long, value_name = "FILE")]
        object: PathBuf,

        /// The number of objects.
        #[arg(long, value_name = "N", default_value_t = 1000)]
        objects: u32,

        /// Operators that accept --kubeconfig and --health-probe-bind-address.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// The cost of admission reviews, and whether a renewed certificate disturbs them.
    Webhooks {
        /// The number of reviews for each webhook.
        #[arg(long, value_name = "N", default_value_t = 20_000)]
        reviews: u32,

        /// Operators that also accept --webhook-port and --webhook-cert-path, and serve the same
        /// paths as this one.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },

    /// Whether webhooks answer good reviews during all kinds of attacks, and with how much memory.
    Flood {
        /// The same as for `webhooks`.
        #[arg(required = true, value_name = "BINARY")]
        binaries: Vec<PathBuf>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let measured = match Args::parse() {
        Args::Cronjobs {
            cronjobs,
            workers,
            binaries,
        } => match Subject::all(&binaries, &workers) {
            Ok(subjects) => cronjobs::compare(cronjobs, &workers, &subjects).await,
            Err(error) => Err(error),
        },
        Args::Scale {
            cronjobs,
            unreadable,
            workers,
            binaries,
        } => match Subject::all(&binaries, &workers) {
            Ok(subjects) => scale::scale(&cronjobs, unreadable, &subjects).await,
            Err(error) => Err(error),
        },
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
