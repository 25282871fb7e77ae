// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A [`Validator`] as a webhook.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::request::{Operation, Request};
use super::{Handler, Outcome, Refusal, status};
use crate::webhook::{ValidationOutcome, Validator};

pub(in crate::webhook) struct Validating<V>(pub(in crate::webhook) V);

impl<V: Validator> Handler for Validating<V> {
    type Object = V::Object;

    async fn handle(&self, request: &Request<'_>) -> Result<Outcome, Refusal> {
        let outcome = match request.operation {
            Operation::Create => {
                let object = request.decode(request.object()?)?;
                self.0.validate_create(&object).await
            }
            // Whatever is wrong with it, a finalizer must be able to let go of it.
            Operation::Update if request.is_about_metadata_of_a_deleted_object() => {
                ValidationOutcome::default()
            }
            Operation::Update => {
                let new = request.decode(request.object()?)?;
                match read_old(request.old_object()?) {
                    Some(old) => self.0.validate_update(&old, &new).await,
                    None => self.0.validate_create(&new).await,
                }
            }
            // A collection is to be deleted. Each of its objects has its own request.
            Operation::Delete if request.is_about_no_object() => ValidationOutcome::default(),
            Operation::Delete => match read_old(request.old_object()?) {
                Some(object) => self.0.validate_delete(&object).await,
                None => ValidationOutcome::default(),
            },
            // No change of the object.
            Operation::Connect => ValidationOutcome::default(),
        };
        let status = (!outcome.is_allowed()).then(|| status::invalid(request, &outcome.errors));
        Ok(Outcome {
            status,
            warnings: outcome.warnings,
            ..Outcome::default()
        })
    }
}

/// The object as it was, if it can be read. One that cannot must not be stuck: it may be mended as if
/// it were new, and deleted.
fn read_old<T: DeserializeOwned>(object: &RawValue) -> Option<T> {
    let read = serde_json::from_str(object.get());
    let log = |error| tracing::warn!(%error, "this operator cannot read the object as it was");
    read.map_err(log).ok()
}
