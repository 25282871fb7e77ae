// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A [`Validator`] as a webhook.

use futures::FutureExt;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::request::Request;
use super::{Admission, Handling, Outcome, Refusal, header, status};
use crate::webhook::{BoxError, FieldError, Operation, ValidationOutcome, Validator};

pub(in crate::webhook) struct Validating<V>(pub(in crate::webhook) V);

impl<V: Validator> Admission for Validating<V> {
    fn handle<'a>(&'a self, request: &'a Request<'_>) -> Handling<'a> {
        let outcome = async {
            request.is_about::<V::Object>()?;
            let outcome = self.validate(request).await?;
            let status = (!outcome.is_allowed()).then(|| status::invalid(request, &outcome.errors));
            Ok(Outcome {
                status,
                warnings: outcome.warnings.iter().map(|text| header(text)).collect(),
                ..Outcome::default()
            })
        };
        outcome.boxed()
    }
}

impl<V: Validator> Validating<V> {
    async fn validate(&self, request: &Request<'_>) -> Result<ValidationOutcome, Refusal> {
        let outcome = match request.operation {
            Operation::Create => {
                let object = request.decode(request.object()?)?;
                self.0.validate_create(&request.details(), &object).await
            }
            // Whatever is wrong with the object, it must be possible to remove its finalizers, unless the
            // validator guards just these.
            Operation::Update if request.is_about_metadata_of_a_deleted_object() => {
                match (read(request.old_object()?), read(request.object()?)) {
                    (Some(old), Some(new)) => {
                        let details = request.details();
                        self.0.validate_finalizing(&details, &old, &new).await
                    }
                    _ => Ok(ValidationOutcome::default()),
                }
            }
            Operation::Update => {
                let new = request.decode(request.object()?)?;
                match read(request.old_object()?) {
                    Some(old) => self.validate_update(request, &old, &new).await,
                    None => self.0.validate_create(&request.details(), &new).await,
                }
            }
            // A collection is being deleted. Each of its objects has its own request.
            Operation::Delete if request.is_about_no_object() => Ok(ValidationOutcome::default()),
            Operation::Delete => match read(request.old_object()?) {
                Some(object) => self.0.validate_delete(&request.details(), &object).await,
                None => Ok(ValidationOutcome::default()),
            },
            // The object does not change.
            Operation::Connect => Ok(ValidationOutcome::default()),
        };
        outcome.map_err(|error| status::failed(error).into())
    }

    /// Validates an update, ignoring old errors of the object in unchanged fields.
    async fn validate_update(
        &self,
        request: &Request<'_>,
        old: &V::Object,
        new: &V::Object,
    ) -> Result<ValidationOutcome, BoxError> {
        let details = request.details();
        let mut outcome = self.0.validate_update(&details, old, new).await?;
        if !V::RATCHETING || outcome.is_allowed() {
            return Ok(outcome);
        }
        let Some([was, is]) = request.values() else {
            return Ok(outcome);
        };
        let is_unchanged = |error: &FieldError| {
            let pointer = error.field.pointer();
            was.pointer(pointer) == is.pointer(pointer)
        };
        if outcome.errors.iter().any(is_unchanged) {
            // Only these are errors of the object. The others are about the update.
            let before = self.0.validate_create(&details, old).await?.errors;
            let is_old = |error: &FieldError| is_unchanged(error) && before.contains(error);
            outcome.errors.retain(|error| !is_old(error));
        }
        Ok(outcome)
    }
}

/// An object that is stored, if it can be read. An object that cannot be read must not get stuck: it may be
/// fixed as if it were new, and deleted.
fn read<T: DeserializeOwned>(object: &RawValue) -> Option<T> {
    super::read(object, "this operator cannot read the stored object")
}
