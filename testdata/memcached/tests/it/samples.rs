// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The samples that users start with, and objects that they have stored, fit the current types.

use crate::env;

#[tokio::test]
async fn the_api_server_accepts_every_sample() {
    let namespace = env().namespace().await;
    let output = env()
        .kubectl()
        .args(["apply", "--server-side", "--validate=strict"])
        .args(["--namespace", &namespace, "-k", "config/samples"])
        .output();
    let output = output.unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}

/// `tests/stored` holds samples of earlier releases: add one whenever a release changes a type.
#[tokio::test]
async fn objects_of_earlier_releases_are_still_valid() {
    let namespace = env().namespace().await;
    let output = env()
        .kubectl()
        .args(["apply", "--server-side", "--force-conflicts"])
        .args(["--dry-run=server", "--validate=strict"])
        .args(["--namespace", &namespace, "-f", "tests/stored"])
        .output();
    let output = output.unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{message}\
         Clusters contain objects like this, and the operator skips what it cannot read: give a \
         new field `#[serde(default)]` or make it an `Option`, and keep the old fields.\n\
         Only if no release had the type in this form, copy the current sample to tests/stored."
    );
}
