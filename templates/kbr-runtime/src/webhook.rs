// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Admission and conversion webhooks, which the API server calls before it stores or returns an
//! object.
//!
//! Implement [`Defaulter`], [`Validator`] or [`Converter`] for a type of yours, and add it to
//! [`Manager::webhooks`](crate::Manager::webhooks). The manager serves it over HTTPS and translates
//! from and to the reviews of the API server.
//!
//! All webhooks share one thread. They may `await`, but code that blocks or computes for long delays
//! the others. A webhook that panics denies the request.

mod admission;
mod asked;
pub(crate) mod conversion;
mod field;
mod patch;
mod server;

use std::collections::{BTreeMap, BTreeSet};

use kube::{CustomResourceExt, Resource};
use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use asked::{AdmissionRequest, Operation};
pub use conversion::copy_fields;
pub use field::{FieldError, FieldPath, ValidationOutcome};

pub(crate) use server::Server;

use admission::{Admission, Mutating, Validating};
use conversion::Conversions;

/// Any error: `?` makes one of every error type, and `.into()` one of a text.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A mutating webhook: fills in defaults before an object is validated and stored.
///
/// It is called when an object is created or changed, and may be called more than once for one change:
/// it must leave an object alone that has its defaults. It is not called for an object that does not
/// fit the Rust type; such an object passes unchanged, and the schema or a [`Validator`] refuses it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::webhook::{AdmissionRequest, BoxError, Defaulter};
///
/// struct Immutable;
///
/// impl Defaulter for Immutable {
///     type Object = ConfigMap;
///
///     async fn set_defaults(
///         &self,
///         _: &AdmissionRequest,
///         object: &mut ConfigMap,
///     ) -> Result<(), BoxError> {
///         object.immutable.get_or_insert(true);
///         Ok(())
///     }
/// }
/// ```
pub trait Defaulter: Send + Sync + 'static {
    /// The kind, in the version that the webhook configuration asks for.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Send + Sync;

    /// Changes `object`. The answer is a JSON patch with these changes only, so fields that the Rust
    /// type does not know are kept.
    ///
    /// What the type reads from the patched object is what `object` has become. Where that is only so if
    /// a list or a field such as `spec` is replaced as a whole, it is, and loses unknown fields.
    ///
    /// # Errors
    ///
    /// When the defaults cannot be found out, as when a look-up fails. The request is denied with an
    /// internal error (500) and its text.
    fn set_defaults(
        &self,
        request: &AdmissionRequest,
        object: &mut Self::Object,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;
}

/// A validating webhook: refuses objects for reasons that a schema cannot express.
///
/// A method that is not implemented allows everything. An error of a method does not mean that the object is invalid:
/// it says that nothing could be decided, as when a look-up fails, and denies the request with an
/// internal error (500) and its text.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::webhook::{AdmissionRequest, BoxError};
/// use kbr_runtime::webhook::{FieldError, FieldPath, ValidationOutcome, Validator};
///
/// struct KeepData;
///
/// impl Validator for KeepData {
///     type Object = ConfigMap;
///
///     async fn validate_update(
///         &self,
///         _: &AdmissionRequest,
///         old: &ConfigMap,
///         new: &ConfigMap,
///     ) -> Result<ValidationOutcome, BoxError> {
///         let mut outcome = ValidationOutcome::default();
///         if old.data != new.data {
///             let error = FieldError::forbidden(&FieldPath::new("data"), "cannot be changed");
///             outcome.deny(error);
///         }
///         Ok(outcome)
///     }
/// }
/// ```
pub trait Validator: Send + Sync + 'static {
    /// The kind, in the version that the webhook configuration asks for.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync;

    /// Validates an object that is to be created.
    fn validate_create(
        &self,
        request: &AdmissionRequest,
        object: &Self::Object,
    ) -> impl Future<Output = Result<ValidationOutcome, BoxError>> + Send {
        let _ = (request, object);
        async { Ok(ValidationOutcome::default()) }
    }

    /// Validates a change of `old` into `new`.
    ///
    /// An error that the object had before, in a field that is not changed, refuses nothing: a rule that
    /// came later must not keep objects from being changed elsewhere. Kubernetes does so with the rules
    /// of a schema (KEP-4008). If there are errors in such fields, this is called once more with `old` in
    /// the place of both, and those that are returned again are dropped, warnings aside.
    ///
    /// If `old` does not fit the Rust type, [`Validator::validate_create`] is called with `new` instead.
    /// A change of only the metadata of an object that is being deleted is always allowed, so that its
    /// finalizers can be removed.
    fn validate_update(
        &self,
        request: &AdmissionRequest,
        old: &Self::Object,
        new: &Self::Object,
    ) -> impl Future<Output = Result<ValidationOutcome, BoxError>> + Send {
        let _ = (request, old, new);
        async { Ok(ValidationOutcome::default()) }
    }

    /// Validates the deletion of an object.
    ///
    /// It is called only if the webhook configuration has the operation `DELETE`. An object that does
    /// not fit the Rust type can always be deleted.
    fn validate_delete(
        &self,
        request: &AdmissionRequest,
        object: &Self::Object,
    ) -> impl Future<Output = Result<ValidationOutcome, BoxError>> + Send {
        let _ = (request, object);
        async { Ok(ValidationOutcome::default()) }
    }
}

/// A conversion webhook: converts objects of a kind between its hub version and another version, a
/// spoke.
///
/// Between two spokes, an object is converted to the hub and from there to the other spoke. The hub must
/// be the version that the CRD stores.
///
/// A field that the other version does not have may be left out: its value is kept in an annotation of
/// the object, and put back when the object is converted back. So is the value of a field that a
/// converter forgets, which `testing::conversion_loses_nothing` finds. Metadata is copied for you; what
/// the methods do with it is ignored. [`copy_fields`] copies the fields that both versions have.
///
/// Who may write an object may write its annotations. What comes from the annotation is left out if it
/// does not fit the Rust type, or the schema that [`CustomResourceExt::crd`] has for it. Rules in CEL and
/// `format` are not checked.
///
/// # What cannot be converted
///
/// An object cannot be converted if its Rust type cannot read it, if a method panics, if the result
/// cannot be converted back, if it has more than 100 levels of objects and lists in one another, if it
/// would take more than 6 MiB of memory when parsed, or if more than the 256 KiB that all annotations
/// may have would have to go into the annotation.
///
/// - To the hub, the conversion fails, and with it the request, whose error names the object and the cause.
///   What is stored stays as it is.
/// - From the hub, the object is shown with the fields that it has, and carried along in the annotation:
///   a conversion that fails would break every list of the spoke. Its metadata can be changed through
///   the spoke, so that it can be deleted. A change of anything else fails, and so does every change if
///   the annotation has no room for the object.
///
/// That is for what the API server stores or has read from its storage. Of what it converts on the way,
/// such as parts of objects for server-side apply, the fields go across as they are.
///
/// If objects are stored in a version that is not the hub, as after a change of the stored version, the
/// hub's lists fail as long as one of them cannot be converted. The error names it, and it can be
/// changed or deleted in the version that it is stored in.
pub trait Converter: Send + Sync + 'static {
    /// The kind in the version that all others are converted to.
    type Hub: Resource<DynamicType = ()> + CustomResourceExt + DeserializeOwned + Serialize;
    /// The kind in another version.
    type Spoke: Resource<DynamicType = ()> + CustomResourceExt + DeserializeOwned + Serialize;

    /// Converts from the spoke to the hub.
    fn to_hub(&self, spoke: Self::Spoke) -> Self::Hub;

    /// Converts from the hub to the spoke.
    fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke;
}

/// The webhooks of a manager, by the path at which each is served.
#[derive(Default)]
pub struct Webhooks {
    admissions: BTreeMap<String, Box<dyn Admission>>,
    conversions: Conversions,
    /// Of defaulters and validators.
    panics: Counter,
}

impl Webhooks {
    /// The path at which conversions of all kinds are served.
    pub const CONVERT: &str = "/convert";

    /// Serves `defaulter` at `path`, which is the path in the webhook configuration.
    ///
    /// # Panics
    ///
    /// When `path` is taken, is [`Webhooks::CONVERT`], or does not begin with `/`.
    pub fn mutate(&mut self, path: &str, defaulter: impl Defaulter) {
        self.admit(path, Box::new(Mutating(defaulter)));
    }

    /// Serves `validator` at `path`, which is the path in the webhook configuration.
    ///
    /// # Panics
    ///
    /// When `path` is taken, is [`Webhooks::CONVERT`], or does not begin with `/`.
    pub fn validate(&mut self, path: &str, validator: impl Validator) {
        self.admit(path, Box::new(Validating(validator)));
    }

    /// Serves `converter` at [`Webhooks::CONVERT`].
    ///
    /// # Panics
    ///
    /// When the kind has a converter for the same spoke or with another hub, or when the two types of
    /// `converter` are of different kinds or of the same version.
    pub fn convert(&mut self, converter: impl Converter) {
        self.conversions.add(converter);
    }

    /// All paths that are served.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<String> {
        let mut paths: BTreeSet<String> = self.admissions.keys().cloned().collect();
        if !self.conversions.is_empty() {
            paths.insert(Self::CONVERT.to_owned());
        }
        paths
    }

    /// How often a defaulter or a validator has panicked.
    pub(crate) fn panics(&self) -> Counter {
        self.panics.clone()
    }

    /// How often a converter has panicked.
    pub(crate) fn conversion_panics(&self) -> Counter {
        self.conversions.panics()
    }

    fn admit(&mut self, path: &str, admission: Box<dyn Admission>) {
        assert!(path.starts_with('/'), "`{path}` does not begin with `/`");
        assert_ne!(path, Self::CONVERT, "it is for conversions");
        let before = self.admissions.insert(path.to_owned(), admission);
        assert!(before.is_none(), "two webhooks are served at `{path}`");
    }

    /// What answers at `path`, if anything does.
    fn at(&self, path: &str) -> Option<Webhook<'_>> {
        if path == Self::CONVERT && !self.conversions.is_empty() {
            return Some(Webhook::Conversion(&self.conversions));
        }
        let admission = self.admissions.get(path)?;
        Some(Webhook::Admission(&**admission, &self.panics))
    }
}

/// What answers at one path.
enum Webhook<'a> {
    Admission(&'a dyn Admission, &'a Counter),
    Conversion(&'a Conversions),
}

impl Webhook<'_> {
    /// Answers a review, both as JSON, or says what is wrong with it.
    async fn answer(&self, review: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Admission(admission, panics) => admission.answer(review, panics).await,
            Self::Conversion(conversions) => conversions.answer(review),
        }
    }
}

#[cfg(test)]
mod tests;
