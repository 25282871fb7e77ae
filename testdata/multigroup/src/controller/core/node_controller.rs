// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Watches `Node` objects, which are Kubernetes' own.

use kbr_runtime::{Action, Controller, Handle, Manager};

/// The kind that this controller watches.
type Object = k8s_openapi::api::core::v1::Node;

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    // Nothing of what their owner wrote is this controller's.
    let controller = Controller::new(manager.all()).takes_over([]);
    manager.add("core-node", controller, reconcile);
}

// +kbr:rbac:groups="",resources=nodes,verbs=list;watch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

/// Runs for every object, and again after every change to it.
async fn reconcile(object: Handle<Object>) -> kube::Result<Action> {
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }

    // Start here. These objects belong to others: write only fields that their owners do not.

    tracing::debug!("seen");
    Ok(Action::await_change())
}
