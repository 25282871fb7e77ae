// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A [`Defaulter`] as a webhook.

use futures::FutureExt;
use k8s_openapi::ByteString;
use serde_json::value::to_raw_value;

use super::request::Request;
use super::{Admission, Handling, Outcome, Refusal, read, status};
use crate::webhook::{Defaulter, Operation, patch};

pub(in crate::webhook) struct Mutating<D>(pub(in crate::webhook) D);

impl<D: Defaulter> Admission for Mutating<D> {
    fn handle<'a>(&'a self, request: &'a Request<'_>) -> Handling<'a> {
        self.patch(request).boxed()
    }
}

impl<D: Defaulter> Mutating<D> {
    async fn patch(&self, request: &Request<'_>) -> Result<Outcome, Refusal> {
        request.is_about::<D::Object>()?;
        if matches!(request.operation, Operation::Delete | Operation::Connect) {
            // There are no defaults to set.
            return Ok(Outcome::default());
        }
        let raw = request.object()?;
        let problem = "no defaults are set: this operator cannot read the object";
        // The API server has not validated it against its schema yet, and will report the problem more
        // clearly.
        let Some(mut object) = read::<D::Object>(raw, problem) else {
            return Ok(Outcome::default());
        };
        let before = to_raw_value(&object).map_err(unwritten)?;
        let defaulted = self.0.set_defaults(&request.details(), &mut object).await;
        defaulted.map_err(status::failed)?;
        let after = to_raw_value(&object).map_err(unwritten)?;
        let patch = patch::patch::<D::Object>(raw, &before, &after).map_err(unwritten)?;
        Ok(Outcome {
            patch_type: patch.as_ref().map(|_| "JSONPatch"),
            patch: patch.map(ByteString),
            ..Outcome::default()
        })
    }
}

fn unwritten(error: serde_json::Error) -> Refusal {
    let message = format!("the webhook could not write the object: {error}");
    status::internal_error(&message).into()
}
