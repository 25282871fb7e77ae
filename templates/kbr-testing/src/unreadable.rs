// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An object that a manager cannot read, whatever its type is.

use std::borrow::Cow;
use std::convert::Infallible;

use http::HeaderValue;
use http::header::USER_AGENT;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kbr_runtime::{Action, BindAddress, Cached, Controller, Flags, Manager};
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Resource};
use serde::Deserialize;
use serde_json::json;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::control_plane::{PAUSE, kube_message};
use super::failure::fail;
use super::operator::{NAME, manage};
use super::{PATIENCE, TestEnv};

/// A type that no object of the kind fits.
#[derive(Clone, Debug, Deserialize)]
struct Unreadable<K> {
    /// A required field, which no object has.
    unreadable: K,
}

impl<K: Resource> Resource for Unreadable<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(kind)
    }

    fn group(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::group(kind)
    }

    fn version(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::version(kind)
    }

    fn plural(kind: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(kind)
    }

    fn meta(&self) -> &ObjectMeta {
        self.unreadable.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.unreadable.meta_mut()
    }
}

impl TestEnv {
    /// Runs a manager with the permissions of the deployed one, for whose type the object `name` does not fit, and
    /// returns the event `Unreadable` that it publishes about the object, once it has repeated it.
    ///
    /// It proves that the roles allow `create` and `patch` of `events` in `events.k8s.io`. The object stays, with one more
    /// label.
    ///
    /// # Panics
    ///
    /// When the API server refuses a request, when there is no event within a minute, and in an environment without
    /// manifests.
    pub async fn report_unreadable<K: Cached<DynamicType: Default>>(
        &self,
        api: &Api<K>,
        name: &str,
    ) -> Event {
        let mut flags = Flags::default();
        flags.health_probe_bind_address = BindAddress::Off;
        let mut config = self.manager_config();
        // A refusal fails the environment, as one of the operator does.
        let agent = HeaderValue::from_static(NAME);
        config.headers.push((USER_AGENT, agent));
        let (namespace, selector) = (api.namespace(), format!("metadata.name={name}"));
        let register = |manager: &mut Manager| {
            let selected = watcher::Config::default().fields(&selector);
            let objects = manager.cache::<Unreadable<K>>(namespace, selected);
            let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
            manager.add("unreadable", Controller::new(objects), reconcile);
        };
        let stop = CancellationToken::new();
        let manager = manage((register, |_: &str| {}), (flags, config), stop.clone());
        let reported = async {
            let reported = timeout(PATIENCE, self.reported(api, name)).await;
            stop.cancel();
            reported
        };
        let (ended, reported) = tokio::select! {
            reason = self.failure().wait() => fail(reason),
            both = async { tokio::join!(manager, reported) } => both,
        };
        match (ended, reported) {
            (Ok(()), Ok(Ok(event))) => event,
            (Err(error), _) => fail(format!("a manager without webhooks ended: {error}")),
            (_, Ok(Err(error))) => fail(kube_message(error)),
            (_, Err(_)) => fail(format!(
                "no event `Unreadable` about `{name}`, and a repetition of it, within {PATIENCE:?}"
            )),
        }
    }

    /// Changes the object once the event is there, and waits for its repetition.
    async fn reported<K: Cached>(&self, api: &Api<K>, name: &str) -> kube::Result<Event> {
        let uid = api.get(name).await?.meta().uid.clone();
        let namespace = api.namespace().unwrap_or("default");
        let events = Api::<Event>::namespaced(self.admin(), namespace);
        let mut is_touched = false;
        loop {
            let all = events.list(&ListParams::default()).await?;
            let mut all = all.items.into_iter();
            let event = all.find(|event| {
                let regarding = event.regarding.as_ref();
                let is_about_it = regarding.is_some_and(|regarding| regarding.uid == uid);
                is_about_it && event.reason.as_deref() == Some("Unreadable")
            });
            match event {
                Some(event) if event.series.is_some() => return Ok(event),
                Some(_) if !is_touched => {
                    let label = json!({ "metadata": { "labels": { "unreadable": "true" } } });
                    let (params, label) = (PatchParams::default(), Patch::Merge(label));
                    api.patch(name, &params, &label).await?;
                    is_touched = true;
                }
                _ => sleep(PAUSE).await,
            }
        }
    }
}
