// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Pauses objects.

use crate::TestEnv;

use super::Event;

/// An operator that `kbr dev` has started does not reconcile objects with this annotation: `hold.rs` of `kbr-runtime`.
const ANNOTATION: &str = "kbr-dev/paused";

impl TestEnv {
    /// Pauses or resumes an object, which has its namespace before its name; `resource` is such as `jobs.batch`.
    pub(super) fn pause(&self, resource: &str, object: &str, is_paused: bool) {
        let mut kubectl = self.kubectl();
        let name = match object.split_once('/') {
            Some((namespace, name)) => {
                kubectl.arg(format!("--namespace={namespace}"));
                name
            }
            None => object,
        };
        let annotation = match is_paused {
            true => format!("{ANNOTATION}=true"),
            false => format!("{ANNOTATION}-"),
        };
        kubectl.args(["annotate", "--overwrite", resource, name, &annotation]);
        let reason = match kubectl.output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let object = format!("{resource} {object}");
        match reason {
            Some(reason) => Event::Refused { object, reason }.tell(),
            None => {
                let what = if is_paused { "paused" } else { "resumed" };
                Event::Applied { object, what }.tell();
            }
        }
    }
}
