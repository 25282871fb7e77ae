// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Admission and conversion webhooks, which the API server calls before it stores or returns an
//! object.
//!
//! Implement [`Defaulter`], [`Validator`] or [`Converter`] for one of your types, and add it to
//! [`Manager::webhooks`](crate::Manager::webhooks). The manager serves it over HTTPS and translates to
//! and from the review objects of the API server.
//!
//! All webhooks share one thread. They may `await`, but code that blocks or computes for a long time
//! delays the others; one that does so for a minute ends the manager with [`ManagerError::WebhookBlocked`]. A webhook
//! that panics denies the request.
//!
//! [`ManagerError::WebhookBlocked`]: crate::ManagerError::WebhookBlocked

mod admission;
mod admission_request;
#[cfg(feature = "conversion")]
pub(crate) mod conversion;
mod field;
mod patch;
mod review;
mod server;
mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[cfg(feature = "conversion")]
use kube::CustomResourceExt;
use kube::Resource;
use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

pub use admission_request::{AdmissionRequest, Operation};
#[cfg(feature = "conversion")]
pub use conversion::copy_fields;
pub use field::{FieldError, FieldPath, ValidationOutcome};

pub(crate) use server::{Issued, Server};

use crate::Cache;
use crate::cache::{Cached, Source};
use admission::{Admission, Mutating, Validating};
#[cfg(feature = "conversion")]
use conversion::Conversions;
use watchdog::Watchdog;

/// Any error: `?` converts every error type into it, and `.into()` converts a string.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A mutating webhook, which sets defaults before an object is validated and stored.
///
/// It is called when an object is created or updated, and may be called more than once for one change:
/// it must not change an object that already has its defaults. It is not called for an object that does
/// not fit the Rust type; such an object passes unchanged, and the schema or a [`Validator`] rejects
/// it.
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
    /// The kind, in the version that the webhook configuration requests.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Send + Sync;

    /// Changes `object`. The response is a JSON patch of only these changes, so fields that the Rust
    /// type does not know are kept.
    ///
    /// The Rust type reads the patched object as the changed `object`. If that requires replacing a
    /// list or a field such as `spec` as a whole, it is replaced, and loses unknown fields.
    ///
    /// # Errors
    ///
    /// When the defaults cannot be determined, for example because a lookup fails. The request is
    /// denied with an internal error (500) and the text of this error.
    fn set_defaults(
        &self,
        request: &AdmissionRequest,
        object: &mut Self::Object,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;
}

/// A validating webhook, which rejects objects for reasons that a schema cannot express.
///
/// A method that is not implemented allows everything. An error returned by a method does not mean that
/// the object is invalid: it means that no decision was possible, for example because a lookup failed,
/// and denies the request with an internal error (500) and the text of the error.
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
    /// The kind, in the version that the webhook configuration requests.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync;

    /// Whether an update may leave an object as invalid as it was: see [`Validator::validate_update`]. With
    /// `false`, each error of that method denies the update.
    const RATCHETING: bool = true;

    /// Validates the creation of an object.
    fn validate_create(
        &self,
        request: &AdmissionRequest,
        object: &Self::Object,
    ) -> impl Future<Output = Result<ValidationOutcome, BoxError>> + Send {
        let _ = (request, object);
        async { Ok(ValidationOutcome::default()) }
    }

    /// Validates an update from `old` to `new`.
    ///
    /// An error that the object had before, in a field that is not changed, does not deny the update: a
    /// rule that was added later must not block changes to other fields. Kubernetes does the same for the
    /// rules of a schema, but not for those that use `oldSelf` (KEP-4008). Here, the rules for an object are
    /// those of [`Validator::validate_create`]: if there are errors in unchanged fields, that method is called
    /// with `old`, and the errors that it returns as well are dropped. All others are rules for the update
    /// and deny it; warnings are not affected. [`Validator::RATCHETING`] turns this off.
    ///
    /// If `old` does not fit the Rust type, [`Validator::validate_create`] is called with `new`
    /// instead. For an update of only the metadata of an object that is being deleted,
    /// [`Validator::validate_finalizing`] is called instead.
    fn validate_update(
        &self,
        request: &AdmissionRequest,
        old: &Self::Object,
        new: &Self::Object,
    ) -> impl Future<Output = Result<ValidationOutcome, BoxError>> + Send {
        let _ = (request, old, new);
        async { Ok(ValidationOutcome::default()) }
    }

    /// Validates an update of only the metadata of an object that is being deleted, such as the removal of a
    /// finalizer.
    ///
    /// As long as this method denies the removal of a finalizer, or fails, neither the object nor its
    /// namespace can be deleted. By default it allows everything: whatever is wrong with an object, its
    /// finalizers can be removed. If `old` or `new` does not fit the Rust type, the update is always allowed.
    fn validate_finalizing(
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
    /// It is called only if the webhook configuration includes the operation `DELETE`. An object that
    /// does not fit the Rust type can always be deleted.
    fn validate_delete(
        &self,
        request: &AdmissionRequest,
        object: &Self::Object,
    ) -> impl Future<Output = Result<ValidationOutcome, BoxError>> + Send {
        let _ = (request, object);
        async { Ok(ValidationOutcome::default()) }
    }
}

/// A conversion webhook, which converts objects of a kind between its hub version and another version,
/// a spoke.
///
/// An object is converted from one spoke to another through the hub. The hub must be the stored version
/// of the CRD.
///
/// A field that the other version does not have may be left out: its value is kept in an annotation of
/// the object, and restored when the object is converted back. The same is done for a field that a
/// converter forgets, which `conversion_loses_nothing` of `kbr-testing` detects. Metadata is copied for you;
/// changes that the methods make to it are ignored. [`copy_fields`] copies the fields that both
/// versions have.
///
/// Anyone who may write an object may write its annotations. Values from the annotation are therefore
/// left out if they do not fit the Rust type, or the schema from [`CustomResourceExt::crd`]. CEL rules
/// and `format` are not checked.
///
/// # What cannot be converted
///
/// An object cannot be converted if its Rust type cannot read it, if a method panics, if the result
/// cannot be converted back, if its objects and lists are nested more than 100 levels deep, if it would
/// take more than 6 MiB of memory when parsed, or if its annotations, with everything that they would
/// have to carry, would exceed 256 KiB.
///
/// - To the hub, the conversion fails, and the request with it. Its error names the object and the
///   cause. The stored object does not change.
/// - From the hub, the object is shown with the fields that it has, and carried along in the
///   annotation: a conversion that fails would break every list of the spoke. Its metadata can be
///   changed through the spoke, if the schema of the hub still allows the object. Any other change
///   fails, and so does every change if the annotation has no room for the object.
/// - Of an object that is shown so and is being deleted, finalizers can be removed whatever the schema of
///   the hub says, and so its namespace can be deleted.
///
/// This applies to objects that the API server stores or has read from its storage. It also converts
/// partial objects, for server-side apply. Required fields that such a part lacks are filled in, and what
/// depends on them is left out of the result. If a part still cannot be converted, the fields that both
/// versions have are copied, and the annotation carries the others.
///
/// If objects are stored in a version other than the hub, for example after the stored version has
/// changed, lists of the hub fail as long as one of these objects cannot be converted. The error names
/// the object, which can be changed or deleted in its stored version.
#[cfg(feature = "conversion")]
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

/// The webhooks of a manager, by the paths at which they are served.
#[derive(Default)]
pub struct Webhooks {
    admissions: BTreeMap<String, Box<dyn Admission>>,
    #[cfg(feature = "conversion")]
    conversions: Conversions,
    has_defaulters: bool,
    has_validators: bool,
    /// The panics of defaulters and validators.
    panics: Counter,
    watchdog: Watchdog,
    /// The caches in which defaulters and validators look things up, by their paths.
    reads: BTreeMap<String, Vec<Arc<dyn Source>>>,
}

impl Webhooks {
    /// The path at which conversions of all kinds are served.
    pub const CONVERT: &str = "/convert";

    /// Serves `defaulter` at `path`, which is the path in the webhook configuration.
    ///
    /// # Panics
    ///
    /// When `path` is already taken, is [`Webhooks::CONVERT`], or does not begin with `/`.
    pub fn mutate(&mut self, path: &str, defaulter: impl Defaulter) {
        self.admit(path, Box::new(Mutating(defaulter)));
        self.has_defaulters = true;
    }

    /// Serves `validator` at `path`, which is the path in the webhook configuration.
    ///
    /// # Panics
    ///
    /// When `path` is already taken, is [`Webhooks::CONVERT`], or does not begin with `/`.
    pub fn validate(&mut self, path: &str, validator: impl Validator) {
        self.admit(path, Box::new(Validating(validator)));
        self.has_validators = true;
    }

    /// Serves `converter` at [`Webhooks::CONVERT`].
    ///
    /// # Panics
    ///
    /// When the kind already has a converter for the same spoke or with another hub, or when the two
    /// types of `converter` have different kinds or the same version.
    #[cfg(feature = "conversion")]
    pub fn convert(&mut self, converter: impl Converter) {
        self.conversions.add(converter);
    }

    /// Lets the defaulter or validator at `path` look things up in `cache`, of which it has a clone: the cache is filled on
    /// each replica, and a review waits until it has been listed. If that takes longer than the review may, the answer is
    /// an error that names the cache, and the `failurePolicy` decides. Conversions cannot wait: nothing could be listed
    /// without them.
    ///
    /// # Panics
    ///
    /// When no defaulter or validator is served at `path`.
    ///
    /// ```no_run
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kbr_runtime::webhook::{AdmissionRequest, BoxError, FieldError, FieldPath, ValidationOutcome, Validator};
    /// use kbr_runtime::{Cache, Manager};
    ///
    /// struct AtMost(Cache<ConfigMap>);
    ///
    /// impl Validator for AtMost {
    ///     type Object = ConfigMap;
    ///
    ///     async fn validate_create(&self, _: &AdmissionRequest, _: &ConfigMap) -> Result<ValidationOutcome, BoxError> {
    ///         let mut outcome = ValidationOutcome::default();
    ///         if self.0.count() >= 1000 {
    ///             outcome.deny(FieldError::forbidden(&FieldPath::new("metadata"), "there are too many"));
    ///         }
    ///         Ok(outcome)
    ///     }
    /// }
    ///
    /// fn register(manager: &mut Manager) {
    ///     const PATH: &str = "/validate-v1-configmap";
    ///     let maps = manager.all::<ConfigMap>();
    ///     manager.webhooks().validate(PATH, AtMost(maps.clone()));
    ///     manager.webhooks().reads(PATH, &maps);
    /// }
    /// ```
    pub fn reads<T: Cached>(&mut self, path: &str, cache: &Cache<T>) {
        let is_served = self.admissions.contains_key(path);
        assert!(is_served, "no defaulter or validator is served at `{path}`");
        cache.on_every_replica();
        let read = self.reads.entry(path.to_owned()).or_default();
        read.push(cache.source());
    }

    /// All paths that are served.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<String> {
        let paths = self.admissions.keys().cloned();
        #[cfg(feature = "conversion")]
        let paths = paths.chain((!self.conversions.is_empty()).then(|| Self::CONVERT.to_owned()));
        paths.collect()
    }

    /// The caches that are read at each path.
    pub(crate) fn caches(&self) -> &BTreeMap<String, Vec<Arc<dyn Source>>> {
        &self.reads
    }

    /// Waits until the caches that are read at `path` have been listed, but not after `deadline`.
    ///
    /// # Errors
    ///
    /// The resource of one that has not been.
    pub(crate) async fn listed(&self, path: &str, deadline: Instant) -> Result<(), &str> {
        for source in self.reads.get(path).into_iter().flatten() {
            let watched = source.watched();
            let listed = timeout_at(deadline, watched.listed()).await;
            listed.map_err(|_| &*watched.resource)?;
        }
        Ok(())
    }

    /// Counts the panics of defaulters and validators.
    pub(crate) fn panics(&self) -> Counter {
        self.panics.clone()
    }

    /// Counts the panics of converters.
    pub(crate) fn conversion_panics(&self) -> Counter {
        #[cfg(feature = "conversion")]
        return self.conversions.panics();
        #[cfg(not(feature = "conversion"))]
        Counter::default()
    }

    fn admit(&mut self, path: &str, admission: Box<dyn Admission>) {
        assert!(path.starts_with('/'), "`{path}` does not begin with `/`");
        assert_ne!(path, Self::CONVERT, "this path is reserved for conversions");
        let before = self.admissions.insert(path.to_owned(), admission);
        assert!(before.is_none(), "two webhooks are served at `{path}`");
    }

    /// The webhook at `path`, if there is one.
    fn at(&self, path: &str) -> Option<Webhook<'_>> {
        #[cfg(feature = "conversion")]
        if path == Self::CONVERT && !self.conversions.is_empty() {
            return Some(Webhook::Conversion(self));
        }
        let (path, admission) = self.admissions.get_key_value(path)?;
        Some(Webhook::Admission(path, &**admission, self))
    }
}

#[cfg_attr(
    not(feature = "certificates"),
    allow(dead_code, reason = "only the issuer asks")
)]
impl Webhooks {
    /// Whether there are defaulters.
    pub(crate) fn has_defaulters(&self) -> bool {
        self.has_defaulters
    }

    /// Whether there are validators.
    pub(crate) fn has_validators(&self) -> bool {
        self.has_validators
    }

    /// The names of the CRDs whose objects are converted.
    pub(crate) fn crds(&self) -> BTreeSet<String> {
        #[cfg(feature = "conversion")]
        return self.conversions.crds();
        #[cfg(not(feature = "conversion"))]
        BTreeSet::new()
    }
}

/// The webhook at one path.
enum Webhook<'a> {
    Admission(&'a str, &'a dyn Admission, &'a Webhooks),
    #[cfg(feature = "conversion")]
    Conversion(&'a Webhooks),
}

impl Webhook<'_> {
    /// Returns the answer to a review, both as JSON, or what is wrong with the review.
    async fn answer(&self, review: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Admission(path, admission, webhooks) => {
                admission.answer(review, path, webhooks).await
            }
            #[cfg(feature = "conversion")]
            Self::Conversion(webhooks) => webhooks.conversions.answer(review, &webhooks.watchdog),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
