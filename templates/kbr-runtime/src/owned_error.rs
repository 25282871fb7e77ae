// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why an owned object was not written or read.

/// Why an owned object was not written or read. Return it as the error of the reconcile, which is then retried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnedError {
    /// The controller was not given the cache that this needs, or the cache not the index. Nothing was sent. The message
    /// says what to add.
    #[error("{0}")]
    Undeclared(String),
    /// An object exists, but does not fit the Rust type. The log says what is wrong with it.
    #[error("{resource} `{name}` cannot be read")]
    Unreadable {
        /// The resource and its group, such as `jobs.batch`.
        resource: String,
        /// The name of the object.
        name: String,
    },
    /// An object of that name exists that the owner does not control. It was left as it is.
    ///
    /// No retry is needed: the object is reconciled when the name becomes free.
    #[error("{resource} `{name}` exists, and is not controlled by this {owner}")]
    NameTaken {
        /// The resource and its group, such as `deployments.apps`.
        resource: String,
        /// The name of the object.
        name: String,
        /// The kind of the owner.
        owner: String,
    },
    /// The owner is in a namespace, and the object is not in the same one. Nothing was sent: Kubernetes accepts such an
    /// owner reference, and then [deletes the object or never does][owners].
    ///
    /// [owners]: https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
    #[error(
        "{resource} `{name}` is not in the namespace of this {owner}, which therefore cannot own it"
    )]
    OtherNamespace {
        /// The resource and its group, such as `jobs.batch`.
        resource: String,
        /// The namespace and name of the object.
        name: String,
        /// The kind of the owner.
        owner: String,
    },
    /// The API server refused to create or change it, or did not answer.
    #[error("could not apply {resource} `{name}`")]
    Apply {
        /// The resource and its group, such as `deployments.apps`.
        resource: String,
        /// The name of the object.
        name: String,
        /// The error of the request.
        #[source]
        reason: kube::Error,
    },
    /// The API server refused to delete it, or did not answer.
    #[error("could not delete {resource} `{name}`")]
    Delete {
        /// The resource and its group, such as `deployments.apps`.
        resource: String,
        /// The name of the object.
        name: String,
        /// The error of the request.
        #[source]
        reason: kube::Error,
    },
}
