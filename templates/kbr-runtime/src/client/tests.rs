// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

#[cfg(feature = "manager")]
#[tokio::test]
async fn a_missing_kubeconfig_is_named() {
    let path = std::path::Path::new("/does/not/exist");

    let error = super::load_config(Some(path)).await.unwrap_err();

    let expected = "could not use the kubeconfig `/does/not/exist`: ";
    assert!(error.to_string().starts_with(expected), "{error}");
}
