// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The writes of a handle, and what the API server answers.

use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde::de::Error as _;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Context;
use crate::cache::{Cache, Cached, Received};
use crate::client::send;
use crate::key::Key;

/// The answer to a write, with who has written which fields.
pub(crate) struct Answer<K> {
    pub(crate) object: Received<K>,
    /// As the API server wrote them: they are large, and seldom needed.
    pub(super) managers: Option<Box<RawValue>>,
}

impl<K> Answer<K> {
    pub(super) fn read(text: &str) -> kube::Result<Self> {
        let read = Received::split(text);
        let (object, managers) =
            read.map_err(|error| kube::Error::SerdeError(serde_json::Error::custom(error)))?;
        let managers = managers.map(ToOwned::to_owned);
        Ok(Self { object, managers })
    }
}

impl<K: Resource> Context<K> {
    /// Patches an object of `cache`, or its `subresource`.
    pub(super) async fn patch<T: Cached>(
        &self,
        cache: &Cache<T>,
        key: &Key,
        subresource: Option<&str>,
        params: &PatchParams,
        patch: Patch<&Value>,
    ) -> kube::Result<Answer<T>> {
        let request = Request::new(T::url_path(cache.kind(), key.namespace()));
        let request = match subresource {
            Some(part) => request.patch_subresource(part, key.name(), params, &patch),
            None => request.patch(key.name(), params, &patch),
        };
        Answer::read(&send(&self.client, "patch", request).await?)
    }
}
