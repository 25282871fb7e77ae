// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What all reviews and their answers have in common.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A review from the API server.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review<'a, R> {
    #[serde(borrow)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) request: R,
}

/// What the API server gets back.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<R> {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) response: R,
}
