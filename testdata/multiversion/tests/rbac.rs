// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! `make test-rbac`: the roles allow the manager what the tests in `tests/it` need, and no more.
//!
//! It runs the tests once for each verb on each resource, without that permission. This takes long
//! if there are many, so it is not part of a plain `cargo test`.

#[test]
fn the_manager_may_do_nothing_that_no_test_needs() {
    kbr_testing::least_privilege(env!("CARGO_MANIFEST_DIR"), "it");
}
