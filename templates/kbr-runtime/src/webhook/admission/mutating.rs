// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A [`Defaulter`] as a webhook.

use serde_json::value::{RawValue, to_raw_value};

use super::request::{Operation, Request};
use super::{Handler, Outcome, Refusal, status};
use crate::webhook::{Defaulter, patch};

pub(in crate::webhook) struct Mutating<D>(pub(in crate::webhook) D);

impl<D: Defaulter> Handler for Mutating<D> {
    type Object = D::Object;

    async fn handle(&self, request: &Request<'_>) -> Result<Outcome, Refusal> {
        match request.operation {
            Operation::Create | Operation::Update => self.patch(request.object()?),
            // There is nothing to fill in.
            Operation::Delete | Operation::Connect => Ok(Outcome::default()),
        }
    }
}

impl<D: Defaulter> Mutating<D> {
    fn patch(&self, raw: &RawValue) -> Result<Outcome, Refusal> {
        let mut object: D::Object = match serde_json::from_str(raw.get()) {
            Ok(object) => object,
            // The API server has not held it against its schema yet, and says better what is wrong.
            Err(error) => {
                tracing::warn!(%error, "nothing is filled in: this operator cannot read the object");
                return Ok(Outcome::default());
            }
        };
        let encode = |object: &D::Object| to_raw_value(object);
        let made = encode(&object).and_then(|before| {
            self.0.set_defaults(&mut object);
            patch::patch::<D::Object>(raw, &before, &encode(&object)?)
        });
        let patch = made.map_err(|error| {
            status::internal_error(&format!("the webhook could not write the object: {error}"))
        })?;
        Ok(Outcome {
            patch,
            ..Outcome::default()
        })
    }
}
