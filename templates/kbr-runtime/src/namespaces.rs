// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The namespaces that an operator watches, if it does not watch the whole cluster.
//!
//! They are listed in `$WATCH_NAMESPACE`. The operator checks at the start that they exist: if it watched a
//! misspelt one, it would wait forever, and nobody would notice.

use std::collections::HashSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::GetParams;
use kube::core::Request;
use kube::{Client, Resource};

use crate::ManagerError;
use crate::api_server::{ApiServer, pause};
use crate::client::send;
use crate::flags::WATCH_NAMESPACE as VARIABLE;
use crate::key::is_name;

/// The length of the longest DNS label (RFC 1123), which the name of a namespace is.
const LONGEST: usize = 63;

/// The time between two requests that are not answered.
const RETRY: Duration = Duration::from_secs(1);

/// Checks that there is at least one name, that all are valid names of namespaces, and that none is
/// repeated.
///
/// # Errors
///
/// [`ManagerError::Flag`].
pub(crate) fn check(names: &[String]) -> Result<(), ManagerError> {
    const GIVE: &str = "give the namespaces to watch, separated by commas, such as `a,b`";
    let wrong = |problem| ManagerError::Flag {
        flag: VARIABLE,
        problem,
    };
    if names.is_empty() {
        return Err(wrong(format!("is not set: {GIVE}")));
    }
    let mut known = HashSet::new();
    for name in names {
        if !is_name(name) || name.contains('.') || name.len() > LONGEST {
            let name = name.escape_debug();
            let problem = format!("has `{name}`, which cannot be the name of a namespace: {GIVE}");
            return Err(wrong(problem));
        }
        if !known.insert(name) {
            return Err(wrong(format!("has `{name}` twice: {GIVE}")));
        }
    }
    Ok(())
}

/// Waits until the API server has confirmed that all of them exist.
///
/// # Errors
///
/// [`ManagerError::Namespace`] for the first that does not, or in which the operator has no rights.
pub(crate) async fn exist(
    client: &Client,
    server: &ApiServer,
    names: &[String],
) -> Result<(), ManagerError> {
    let namespaces = Request::new(Namespace::url_path(&(), None));
    for name in names {
        let get = || namespaces.get(name, &GetParams::default());
        while let Err(error) = send(client, "get", get()).await {
            let reason = match error {
                kube::Error::Api(status) if status.code == 404 => {
                    format!("it does not exist: create it, or fix `{VARIABLE}`")
                }
                // Without rights in a namespace, the API server does not say whether it exists.
                kube::Error::Api(status) if status.code == 403 => format!(
                    "{}: create it if it does not exist, and bind a Role in it that allows `get` of \
                     `namespaces`; or fix `{VARIABLE}`",
                    status.message
                ),
                // An outage says nothing about the namespace.
                _ => {
                    pause(server, RETRY).await;
                    continue;
                }
            };
            let name = name.clone();
            return Err(ManagerError::Namespace { name, reason });
        }
    }
    tracing::info!(
        namespaces = names.join(","),
        "watching namespaces, not the whole cluster"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
