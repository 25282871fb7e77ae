// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Admission and conversion webhooks: what the API server asks the operator about an object.
//!
//! [`Defaulter`], [`Validator`] and [`Converter`] say what an answer is, with the types of the
//! project and nothing of HTTP or JSON. A [`Manager`](crate::Manager) serves those that are added to
//! its [`Webhooks`], all of them from one thread of their own: they may wait for something with
//! `await`, but what blocks the thread or computes for long keeps the others waiting. One that panics
//! denies the request.

mod admission;
mod certificate;
pub(crate) mod conversion;
mod field;
mod patch;
mod server;

use std::collections::{BTreeMap, BTreeSet};

use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use conversion::copy_fields;
pub use field::{FieldError, FieldPath, ValidationOutcome};

pub(crate) use certificate::Certificate;
pub(crate) use server::Server;

use admission::{Admission, Mutating, Validating};
use conversion::Conversions;

/// Fills in what was left out of an object, before it is validated and stored.
///
/// It is called when an object is created and each time it is changed, and may be called several
/// times for one change: an object that has its defaults stays as it is. It is not called with what
/// does not fit the type: the schema has to refuse that.
pub trait Defaulter: Send + Sync + 'static {
    /// The kind, in the version in which objects are given to [`Defaulter::set_defaults`].
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Serialize;

    /// Changes `object`; the API server is told of these changes and of nothing else.
    fn set_defaults(&self, object: &mut Self::Object);
}

/// Refuses objects for what no schema can say.
///
/// What is not implemented allows everything.
pub trait Validator: Send + Sync + 'static {
    /// The kind, in the version in which objects are given to the methods.
    type Object: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync;

    /// Judges an object that is to be created.
    fn validate_create(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = ValidationOutcome> + Send {
        let _ = object;
        async { ValidationOutcome::default() }
    }

    /// Judges a change of `old` into `new`. Where `old` does not fit the type, `new` is judged as one
    /// that is to be created. Not asked about changes of nothing but the metadata of an object that is
    /// being deleted: whatever is wrong with it, its finalizers must be able to go.
    fn validate_update(
        &self,
        old: &Self::Object,
        new: &Self::Object,
    ) -> impl Future<Output = ValidationOutcome> + Send {
        let _ = (old, new);
        async { ValidationOutcome::default() }
    }

    /// Judges the deletion of an object. Only asked if the webhook's `verbs` have `delete`, and not
    /// about an object that does not fit the type.
    fn validate_delete(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = ValidationOutcome> + Send {
        let _ = object;
        async { ValidationOutcome::default() }
    }
}

/// Converts objects of a kind between its hub version and another one, a spoke.
///
/// Of two spokes, one is converted to the hub and from there to the other. Neither method can fail,
/// because an object that cannot be converted can be neither read nor listed nor deleted. What the
/// other version has no place for may be left out: it is kept in an annotation and comes back. So is
/// what a converter forgets, which `testing::conversion_loses_nothing` finds. Metadata need not be
/// converted: it stays as it is.
pub trait Converter: Send + Sync + 'static {
    /// The kind in the version that all others are converted to.
    type Hub: Resource<DynamicType = ()> + DeserializeOwned + Serialize;
    /// The kind in another version.
    type Spoke: Resource<DynamicType = ()> + DeserializeOwned + Serialize;

    /// The object as the hub has it.
    fn to_hub(&self, spoke: Self::Spoke) -> Self::Hub;

    /// The object as the spoke has it.
    fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke;
}

/// The webhooks that a manager serves.
#[derive(Default)]
pub struct Webhooks {
    admissions: BTreeMap<String, Box<dyn Admission>>,
    conversions: Conversions,
}

impl Webhooks {
    /// Where conversions of all kinds are served.
    pub const CONVERT: &str = "/convert";

    /// Serves `defaulter` at `path`.
    ///
    /// # Panics
    ///
    /// When something else is served there, or `path` does not begin with `/`.
    pub fn mutate(&mut self, path: &str, defaulter: impl Defaulter) {
        self.admit(path, Box::new(Mutating(defaulter)));
    }

    /// Serves `validator` at `path`.
    ///
    /// # Panics
    ///
    /// When something else is served there, or `path` does not begin with `/`.
    pub fn validate(&mut self, path: &str, validator: impl Validator) {
        self.admit(path, Box::new(Validating(validator)));
    }

    /// Serves `converter` at [`Webhooks::CONVERT`].
    ///
    /// # Panics
    ///
    /// When there is one for the same two versions, or for another hub of the kind.
    pub fn convert(&mut self, converter: impl Converter) {
        self.conversions.add(converter);
    }

    /// Every path that is served.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<String> {
        let mut paths: BTreeSet<String> = self.admissions.keys().cloned().collect();
        if !self.conversions.is_empty() {
            paths.insert(Self::CONVERT.to_owned());
        }
        paths
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
        Some(Webhook::Admission(&**admission))
    }
}

/// What answers at one path.
enum Webhook<'a> {
    Admission(&'a dyn Admission),
    Conversion(&'a Conversions),
}

impl Webhook<'_> {
    /// Answers a review, both as JSON, or says what is wrong with it.
    async fn answer(&self, review: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Admission(admission) => admission.answer(review).await,
            Self::Conversion(conversions) => conversions.answer(review),
        }
    }
}
