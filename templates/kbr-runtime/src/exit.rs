// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The end of the process.

use crate::ManagerError;
use crate::chain::chain;

/// Ends the process. The exit code is 0 if `outcome` is `Ok`; otherwise the error is logged, and the
/// exit code is 1. With `--plan`, it is 1 if something would change, and 2 for an error.
///
/// Returning from `main` would wait for a reconcile that blocks its thread; this function does not. With
/// the feature `otlp`, it waits up to a second for the last traces to be sent, unless leadership was lost.
pub fn exit(outcome: Result<(), ManagerError>) -> ! {
    let code = match &outcome {
        Ok(()) => 0,
        Err(ManagerError::WouldChange { .. }) => 1,
        Err(error) => {
            tracing::error!(error = chain(error), "the manager failed");
            if matches!(error, ManagerError::Plan { .. }) {
                2
            } else {
                1
            }
        }
    };
    #[cfg(feature = "otlp")]
    // After leadership was lost, everything that still runs must end at once.
    if !matches!(outcome, Err(ManagerError::LeadershipLost { .. })) {
        crate::otlp::finish();
    }
    std::process::exit(code)
}
