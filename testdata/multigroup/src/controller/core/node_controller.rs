// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Watches `Node` objects, which are Kubernetes' own.

use std::sync::Arc;

use kbr_runtime::{Controller, Manager};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Api, Client};

/// The kind that this controller watches.
type Object = k8s_openapi::api::core::v1::Node;

/// The name of the controller in logs and metrics.
const NAME: &str = "core-node";

/// What each reconcile gets besides the object.
pub struct Context {
    pub client: Client,
}

/// Adds this controller to `manager`.
pub fn register(manager: &mut Manager) {
    let client = manager.client();
    let objects = Api::<Object>::all(client.clone());
    let controller = Controller::new(objects, watcher::Config::default());
    let context = Context { client };
    manager.add(NAME, controller, reconcile, Arc::new(context));
}

// +kbr:rbac:groups="",resources=nodes,verbs=list;watch

/// Runs for every object, and again after every change to it.
async fn reconcile(object: Arc<Object>, _: Arc<Context>) -> Result<Action, kube::Error> {
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }

    // Start here. These objects belong to others: write only fields that their owners do not.

    tracing::debug!("seen");
    Ok(Action::await_change())
}
