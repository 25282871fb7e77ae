// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! A kind in two versions, whose required fields have other names in each, and a manager that converts them with a
//! certificate of its own.
//!
//! The API server calls it by a Service that leads to this machine. The schemas allow more than the types can read.

use std::borrow::Cow;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::serde::{Deserialize, Serialize};
use kbr_runtime::webhook::Converter;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, CustomResourceExt, Resource};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{PATIENCE, Running, manager_of, servers};

const SERVICE: &str = "conversion";

/// The kind of a group in one version.
macro_rules! version {
    ($module:ident, $group:literal, $plural:literal, $version:literal, $number:ident, $text:ident) => {
        mod $module {
            use super::*;

            #[derive(Clone, Debug, Deserialize, Serialize)]
            #[serde(crate = "k8s_openapi::serde")]
            pub struct Gadget {
                pub metadata: ObjectMeta,
                pub spec: Spec,
            }

            #[derive(Clone, Debug, Deserialize, Serialize)]
            #[serde(crate = "k8s_openapi::serde")]
            pub struct Spec {
                pub $number: u8,
                pub $text: String,
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub note: Option<String>,
            }

            impl Resource for Gadget {
                type DynamicType = ();
                type Scope = NamespaceResourceScope;

                fn kind(_: &()) -> Cow<'_, str> {
                    "Gadget".into()
                }

                fn group(_: &()) -> Cow<'_, str> {
                    $group.into()
                }

                fn version(_: &()) -> Cow<'_, str> {
                    $version.into()
                }

                fn plural(_: &()) -> Cow<'_, str> {
                    $plural.into()
                }

                fn meta(&self) -> &ObjectMeta {
                    &self.metadata
                }

                fn meta_mut(&mut self) -> &mut ObjectMeta {
                    &mut self.metadata
                }
            }

            impl CustomResourceExt for Gadget {
                fn crd() -> CustomResourceDefinition {
                    let number = json!({"type": "integer", "minimum": 0, "maximum": 255});
                    let version = schema($version, [stringify!($number), stringify!($text)], number);
                    serde_json::from_value(crd($group, $plural, &[version], &json!(null))).unwrap()
                }

                fn crd_name() -> &'static str {
                    concat!($plural, ".", $group)
                }

                fn api_resource() -> ApiResource {
                    ApiResource::erase::<Self>(&())
                }

                fn shortnames() -> &'static [&'static str] {
                    &[]
                }
            }
        }
    };
}

/// A version of a CRD.
fn schema(version: &str, [number, text]: [&str; 2], of_number: Value) -> Value {
    json!({
        "name": version,
        "served": true,
        "storage": version == "v2",
        "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
            "spec": {
                "type": "object",
                "required": [number, text],
                "properties": {
                    number: of_number,
                    text: {"type": "string"},
                    "note": {"type": "string"},
                },
            },
        }}},
    })
}

fn crd(group: &str, plural: &str, versions: &[Value], conversion: &Value) -> Value {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "names": {"kind": "Gadget", "plural": plural},
            "scope": "Namespaced",
            "versions": versions,
        },
    });
    if !conversion.is_null() {
        crd["spec"]["conversion"] = conversion.clone();
    }
    crd
}

version!(v1, "versions.example.com", "gadgets", "v1", size, color);
version!(v2, "versions.example.com", "gadgets", "v2", count, paint);

struct Renaming;

impl Converter for Renaming {
    type Hub = v2::Gadget;
    type Spoke = v1::Gadget;

    fn to_hub(&self, spoke: v1::Gadget) -> v2::Gadget {
        let v1::Spec { size, color, note } = spoke.spec;
        let spec = v2::Spec {
            count: size,
            paint: color,
            note,
        };
        v2::Gadget {
            metadata: spoke.metadata,
            spec,
        }
    }

    fn to_spoke(&self, hub: v2::Gadget) -> v1::Gadget {
        let v2::Spec { count, paint, note } = hub.spec;
        let spec = v1::Spec {
            size: count,
            color: paint,
            note,
        };
        v1::Gadget {
            metadata: hub.metadata,
            spec,
        }
    }
}

/// The CRD as a deployer applies it: with both versions and their conversion, or with the second one alone.
fn deployed(conversion: Option<(&str, u16)>) -> Value {
    let number = json!({"type": "integer"});
    let mut versions = vec![schema("v2", ["count", "paint"], number.clone())];
    let conversion = conversion.map(|(namespace, port)| {
        versions.push(schema("v1", ["size", "color"], number));
        let service =
            json!({"name": SERVICE, "namespace": namespace, "port": port, "path": "/convert"});
        json!({"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"service": service},
        }})
    });
    crd(
        "versions.example.com",
        "gadgets",
        &versions,
        &conversion.into(),
    )
}

async fn apply_crd(document: &Value) -> kube::Result<CustomResourceDefinition> {
    let api = Api::<CustomResourceDefinition>::all(servers().admin());
    let params = PatchParams::apply("deploy").force();
    let name = v2::Gadget::crd_name();
    api.patch(name, &params, &Patch::Apply(document)).await
}

/// The objects of one namespace in both versions, and the manager.
struct World {
    v1: Api<DynamicObject>,
    v2: Api<DynamicObject>,
    namespace: String,
    port: u16,
    manager: Running,
}

impl World {
    /// All have one CRD, and follow each other in one test.
    async fn start() -> Self {
        let client = servers().admin();
        let namespace = servers().namespace().await;
        let service = json!({
            "metadata": {"name": SERVICE},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        });
        let service: Service = serde_json::from_value(service).unwrap();
        let services = Api::namespaced(client.clone(), &namespace);
        let created = services.create(&PostParams::default(), &service).await;
        created.unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        apply_crd(&deployed(Some((&namespace, port))))
            .await
            .unwrap();

        let mut config = servers().admin_config();
        config.default_namespace.clone_from(&namespace);
        let mut manager = manager_of(config, |flags| {
            flags.webhook_cert_secret = Some("conversion-cert".to_owned());
            flags.webhook_service = Some(SERVICE.to_owned());
            flags.webhook_host = "127.0.0.1".to_owned();
            flags.webhook_port = port;
        });
        manager.webhooks().convert(Renaming);
        let manager = Running::start(manager);
        let api = |resource| Api::namespaced_with(client.clone(), &namespace, &resource);
        let world = Self {
            v1: api(v1::Gadget::api_resource()),
            v2: api(v2::Gadget::api_resource()),
            namespace: namespace.clone(),
            port,
            manager,
        };
        world.wait_until_it_converts().await;
        world
    }

    async fn wait_until_it_converts(&self) {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = self.create("v1", "probe", 1, &[]).await {
            assert!(self.manager.is_running(), "it has ended: {error}");
            assert!(Instant::now() < deadline, "{error}");
            sleep(Duration::from_millis(100)).await;
        }
    }

    fn api(&self, version: &str) -> &Api<DynamicObject> {
        match version {
            "v1" => &self.v1,
            _ => &self.v2,
        }
    }

    async fn create(
        &self,
        version: &str,
        name: &str,
        number: i32,
        finalizers: &[&str],
    ) -> kube::Result<DynamicObject> {
        let [of_number, of_text, _] = fields(version);
        let object = json!({
            "apiVersion": format!("versions.example.com/{version}"),
            "kind": "Gadget",
            "metadata": {"name": name, "finalizers": finalizers},
            "spec": {of_number: number, of_text: "red", "note": "old"},
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let params = PostParams {
            field_manager: Some("create".to_owned()),
            ..PostParams::default()
        };
        self.api(version).create(&params, &object).await
    }

    /// Applies the fields with those numbers, all with that value.
    async fn apply(
        &self,
        (manager, version): (&str, &str),
        name: &str,
        numbers: usize,
        value: usize,
    ) -> kube::Result<DynamicObject> {
        let mut spec = json!({});
        for (number, field) in fields(version).into_iter().enumerate() {
            if numbers & (1 << number) != 0 {
                spec[field] = if number == 0 {
                    json!(value)
                } else {
                    json!(value.to_string())
                };
            }
        }
        let object = json!({
            "apiVersion": format!("versions.example.com/{version}"),
            "kind": "Gadget",
            "metadata": {"name": name},
            "spec": spec,
        });
        let params = PatchParams::apply(manager).force();
        self.api(version)
            .patch(name, &params, &Patch::Apply(object))
            .await
    }
}

/// The fields of a version: a number and two texts.
fn fields(version: &str) -> [&'static str; 3] {
    match version {
        "v1" => ["size", "color", "note"],
        _ => ["count", "paint", "note"],
    }
}

/// Each subset of fields by one manager in `v1`, each by another in both versions, and then the first one in `v2`.
async fn parts_are_applied_in_each_version(world: &World) {
    for first in 1..1 << 3 {
        for second in 1..1 << 3 {
            for (of_second, is_created) in
                [("v1", true), ("v2", true), ("v1", false), ("v2", false)]
            {
                if !is_created && first != 0b111 {
                    continue;
                }
                let name = format!("part-{first}-{second}-{of_second}-{is_created}");
                if is_created {
                    world.create("v1", &name, 1, &[]).await.unwrap();
                }
                world.apply(("one", "v1"), &name, first, 2).await.unwrap();
                world
                    .apply(("two", of_second), &name, second, 3)
                    .await
                    .unwrap();
                // It gives up its fields to the second one, and the note perhaps to nobody.
                let third = !second & if is_created { 0b011 } else { 0b111 };
                let applied = world.apply(("one", "v2"), &name, third, 4).await;
                let applied = applied.unwrap_or_else(|error| panic!("{name}: {error}"));

                for (number, field) in fields("v2").into_iter().enumerate() {
                    let has = |numbers: usize| numbers & (1 << number) != 0;
                    let expected = match (has(third), has(second), has(first)) {
                        (true, _, _) => Some("4"),
                        (_, true, _) => Some("3"),
                        (_, _, true) => None,
                        _ => Some("old"),
                    };
                    let value = applied.data["spec"].get(field);
                    let value = value.map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
                    assert_eq!(value.as_deref(), expected, "{name}: {field}");
                }
            }
        }
    }
}

/// The type of the hub cannot read it, and its schema does not allow it.
async fn an_object_that_nobody_can_convert_can_be_deleted(world: &World) {
    world
        .create("v2", "large", 300, &["example.com/wait"])
        .await
        .unwrap();
    let shown = world.v1.get("large").await.unwrap();
    assert_eq!(shown.metadata.name.as_deref(), Some("large"));
    let params = PatchParams::default();
    let label = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    world.v1.patch("large", &params, &label).await.unwrap_err();

    world
        .v1
        .delete("large", &DeleteParams::default())
        .await
        .unwrap();
    let stored = world.v2.get("large").await.unwrap();
    assert!(stored.metadata.deletion_timestamp.is_some());
    assert_eq!(stored.data["spec"]["count"], 300);
    world.v1.patch("large", &params, &label).await.unwrap();
    assert_eq!(world.v2.get("large").await.unwrap().data, stored.data);
    let done = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    world.v1.patch("large", &params, &done).await.unwrap();
    assert_eq!(
        world
            .v2
            .get_opt("large")
            .await
            .unwrap()
            .map(|it| it.metadata),
        None
    );
}

/// Whoever has applied the CRD with its conversion can apply it without, while managers run.
async fn a_conversion_can_be_removed(world: &World) {
    let api = Api::<CustomResourceDefinition>::all(servers().admin());
    let name = v2::Gadget::crd_name();
    let mut tries = PATIENCE.as_millis() / 100;
    let is_given_up = |crd: &CustomResourceDefinition| {
        let mut entries = crd.metadata.managed_fields.iter().flatten();
        entries.all(|it| it.manager.as_deref() != Some("webhook-certificates"))
    };
    while !is_given_up(&api.get(name).await.unwrap()) {
        assert!(tries > 0, "the managers keep `caBundle`");
        tries -= 1;
        sleep(Duration::from_millis(100)).await;
    }

    let with = deployed(Some((&world.namespace, world.port)));
    let applied = apply_crd(&with).await.unwrap();
    let applied = json!(applied);
    let client = &applied["spec"]["conversion"]["webhook"]["clientConfig"];
    assert!(client["caBundle"].is_string(), "{applied}");

    // Nobody writes it any more.
    let mut unserved = with;
    unserved["spec"]["versions"][1]["served"] = json!(false);
    apply_crd(&unserved).await.unwrap();
    let applied = json!(apply_crd(&deployed(None)).await.unwrap());
    assert_eq!(applied["spec"]["conversion"], json!({"strategy": "None"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_is_applied_deleted_and_retired_in_two_versions() {
    let world = World::start().await;
    parts_are_applied_in_each_version(&world).await;
    an_object_that_nobody_can_convert_can_be_deleted(&world).await;
    a_conversion_can_be_removed(&world).await;
    world.manager.stop().await;
}
