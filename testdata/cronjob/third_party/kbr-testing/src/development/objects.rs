// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects of a CRD, and whether it would accept them today.

use std::collections::BTreeSet;

use http::Request;
use http::header::CONTENT_TYPE;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, ObjectMeta};
use kube::core::Status;
use kube::{Api, Client, Resource};
use serde_json::{Value, json};

use super::{Event, LEARNS};

/// The CRDs of the API server, without what only the API server writes.
pub(super) async fn crds(client: Client) -> kube::Result<Vec<Value>> {
    let crds = Api::<CustomResourceDefinition>::all(client);
    let all = crds.list(&ListParams::default()).await?;
    let values = all.items.into_iter().map(|mut crd| {
        crd.metadata.managed_fields = None;
        let mut value = json!(crd);
        value["apiVersion"] = json!("apiextensions.k8s.io/v1");
        value["kind"] = json!("CustomResourceDefinition");
        value
    });
    Ok(values.collect())
}

/// The stored objects of a CRD.
pub(super) struct Stored {
    resource: ApiResource,
    objects: Vec<DynamicObject>,
}

impl Stored {
    /// Lists the objects of the CRD in `document`, in the version in which they are stored. They must be listed before
    /// the CRD changes: afterwards the API server leaves out the fields that the CRD no longer has.
    pub(super) async fn of(client: &Client, document: &Value) -> kube::Result<Option<Self>> {
        let spec = &document["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let versions = spec["versions"].as_array().into_iter().flatten();
        let stored = versions.filter(|version| version["storage"] == true);
        let Some(version) = stored.map(|version| text(&version["name"])).next() else {
            return Ok(None);
        };
        let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
        let resource = ApiResource {
            api_version: format!("{group}/{version}"),
            plural: text(&spec["names"]["plural"]),
            group,
            version,
            kind,
        };
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
        let objects = api.list(&ListParams::default()).await?.items;
        Ok(Some(Self { resource, objects }))
    }

    /// Tells each field of these objects that the API server would not accept today.
    ///
    /// It tries to create copies and writes none: an update would pass, because the API server does not validate what
    /// an update leaves as it is.
    pub(super) async fn tell_misfits(self, client: Client) {
        tokio::time::sleep(LEARNS).await;
        for object in &self.objects {
            let mut found = BTreeSet::new();
            // The first refuses unknown fields, and then validates nothing else.
            for validation in ["Strict", "Ignore"] {
                let Some(request) = self.try_to_create(object, validation) else {
                    continue;
                };
                if let Err(kube::Error::Api(status)) = client.request::<Value>(request).await {
                    found.extend(misfits(&status));
                }
            }
            let (kind, metadata) = (&self.resource.kind, &object.metadata);
            let namespace = metadata.namespace.iter().map(|it| format!("{it}/"));
            let name = metadata.name.clone().unwrap_or_default();
            let object = format!("{kind} {}{name}", namespace.collect::<String>());
            for (field, reason) in found {
                let object = object.clone();
                Event::Misfit {
                    object,
                    field,
                    reason,
                }
                .tell();
            }
        }
    }

    /// A request that would create a copy of `object`, and does not.
    fn try_to_create(&self, object: &DynamicObject, validation: &str) -> Option<Request<Vec<u8>>> {
        let namespace = object.metadata.namespace.as_deref();
        let path = DynamicObject::url_path(&self.resource, namespace);
        let copy = serde_json::to_vec(&copy(object.clone())).ok()?;
        let url = format!("{path}?dryRun=All&fieldValidation={validation}");
        let request = Request::post(url).header(CONTENT_TYPE, "application/json");
        request.body(copy).ok()
    }
}

/// The same object with a name that no other has.
fn copy(mut object: DynamicObject) -> DynamicObject {
    object.metadata = ObjectMeta {
        generate_name: Some("kbr-dev-".to_owned()),
        namespace: object.metadata.namespace,
        labels: object.metadata.labels,
        annotations: object.metadata.annotations,
        ..ObjectMeta::default()
    };
    object
}

/// The fields that the API server refused, each with the reason.
fn misfits(status: &Status) -> Vec<(String, String)> {
    let unknown = status.message.split("unknown field \"").skip(1);
    let unknown = unknown.filter_map(|rest| Some(rest.split_once('"')?.0));
    let unknown = unknown.map(|field| {
        (
            field.to_owned(),
            "is no longer in the CRD: its value is lost",
        )
    });
    let mut found: Vec<_> = unknown
        .map(|(field, reason)| (field, reason.to_owned()))
        .collect();
    // Another reason may be a webhook that does not answer, or a quota.
    if status.code == 422 {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        found.extend(causes.map(|cause| (cause.field.clone(), cause.message.clone())));
    }
    found
}
