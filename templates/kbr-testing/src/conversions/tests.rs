// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A project with two versions of a built-in kind, with made-up schemas.

use kbr_runtime::webhook::copy_fields;
use serde_json::json;

use super::super::folder::Folder;
use super::*;

/// A custom resource with the fields of the built-in kind.
macro_rules! version {
    ($version:ident, $name:literal) => {
        mod $version {
            use k8s_openapi::api::autoscaling::$version as autoscaling;

            #[derive(
                Clone, Debug, Default, kube::CustomResource, serde::Deserialize, serde::Serialize,
            )]
            #[kube(
                                        group = "autoscaling",
                                        version = $name,
                                        kind = "HorizontalPodAutoscaler",
                                        status = "autoscaling::HorizontalPodAutoscalerStatus",
                                        schema = "disabled",
                                        namespaced
                                    )]
            pub struct Spec {
                #[serde(flatten)]
                pub fields: autoscaling::HorizontalPodAutoscalerSpec,
            }
        }
    };
}

version!(v1, "v1");
version!(v2, "v2");

struct Autoscalers;

impl Converter for Autoscalers {
    type Hub = v2::HorizontalPodAutoscaler;
    type Spoke = v1::HorizontalPodAutoscaler;

    fn to_hub(&self, spoke: Self::Spoke) -> Self::Hub {
        let mut hub = Self::Hub::new("", Default::default());
        copy_fields(&spoke, &mut hub);
        hub
    }

    fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke {
        let mut spoke = Self::Spoke::new("", Default::default());
        copy_fields(&hub, &mut spoke);
        spoke
    }
}

/// A version whose spec has these fields, and a number of replicas.
fn version(name: &str, mut fields: Value) -> Value {
    fields["maxReplicas"] = json!({"type": "integer", "format": "int32"});
    let target = json!({"kind": {"type": "string"}, "name": {"type": "string"}});
    fields["scaleTargetRef"] =
        json!({"type": "object", "properties": target, "required": ["kind", "name"]});
    let required = ["maxReplicas", "scaleTargetRef"];
    let spec = json!({"type": "object", "properties": fields, "required": required});
    let schema = json!({"type": "object", "properties": {"spec": spec}, "required": ["spec"]});
    json!({"name": name, "schema": {"openAPIV3Schema": schema}})
}

/// Runs the proof for a project whose CRD has these versions, with a list of carried fields.
fn prove(versions: &[Value], carried: &[(&str, &str)]) {
    let project = Folder::create().unwrap();
    let folder = project.path().join(CRDS);
    fs::create_dir_all(&folder).unwrap();
    let spec = json!({
        "group": "autoscaling",
        "names": {"kind": "HorizontalPodAutoscaler"},
        "versions": versions,
    });
    let crd = json!({"kind": "CustomResourceDefinition", "spec": spec});
    fs::write(folder.join("crd.yaml"), crd.to_string()).unwrap();
    conversion_loses_nothing(project.path(), Autoscalers, carried);
}

fn least() -> Value {
    json!({"type": "integer", "format": "int32", "nullable": true})
}

/// Two versions with a common field, and with one field each that the converter does not map.
fn renamed() -> [Value; 2] {
    let metric = json!({
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string"}, "unknown": {"type": "boolean"}},
    });
    let metrics = json!({"type": "array", "items": metric});
    let target = json!({"minReplicas": least(), "targetCPUUtilizationPercentage": least()});
    [
        version("v1", target),
        version("v2", json!({"metrics": metrics, "minReplicas": least()})),
    ]
}

const TARGET: (&str, &str) = ("v1", "spec.targetCPUUtilizationPercentage");
const METRICS: (&str, &str) = ("v2", "spec.metrics");

#[test]
fn nothing_is_carried_if_every_field_has_a_counterpart() {
    let fields = json!({"minReplicas": least()});
    prove(&[version("v1", fields.clone()), version("v2", fields)], &[]);
}

#[test]
fn a_conversion_that_restores_everything_is_proved() {
    prove(&renamed(), &[TARGET, METRICS]);
    // A path covers what is below it.
    prove(&renamed(), &[("v1", "spec"), METRICS]);
}

#[test]
#[should_panic(expected = "v1 spec.targetCPUUtilizationPercentage: ")]
fn a_field_that_is_renamed_and_forgotten_is_named() {
    prove(&renamed(), &[METRICS]);
}

#[test]
#[should_panic(expected = "v2 spec.metrics: ")]
fn a_forgotten_field_of_the_other_version_is_named_and_a_list_by_its_own_name() {
    prove(&renamed(), &[TARGET, ("v1", "spec.maxReplicas")]);
}

#[test]
#[should_panic(expected = "no schema has them:\n  v1 spec.metrics\n")]
fn a_field_is_listed_for_a_version_that_has_it() {
    prove(&renamed(), &[TARGET, METRICS, ("v1", "spec.metrics")]);
}

#[test]
fn all_that_is_listed_and_unknown_is_named_at_once() {
    let [v1, v2] = renamed();
    let schemas = [&v1, &v2].map(|version| &version["schema"]["openAPIV3Schema"]);
    let mapping = Mapping::of(Autoscalers, Default::default());
    let (hub, spoke) = (&mapping.hub, &mapping.spoke);
    let [v1, v2] = [(spoke, schemas[0]), (hub, schemas[1])].map(|(version, schema)| Side {
        version,
        schema,
        rewrite: rewrite::<Value>,
    });
    let entries = [
        TARGET,
        METRICS,
        ("v2", "spec.metrics.type"),
        ("v1", "spec.min"),
        ("v1", "spec.maxReplicas.x"),
        ("v3", "spec"),
        ("v1", ""),
    ];
    let message = unknown(&fields(entries), [&v1, &v2]);
    assert_eq!(
        message.as_deref(),
        Some(
            "fields are listed as carried, but no schema has them:\n  \
             v1 \n  v1 spec.maxReplicas.x\n  v1 spec.min\n  v2 spec.metrics.type\n  v3 spec\n\
             Remove them from the list, or correct their paths: `spec.name` is a path, and fields \
             in a list or a map have none."
        )
    );
    assert_eq!(unknown(&fields([TARGET, METRICS]), [&v1, &v2]), None);
}

fn fields<const N: usize>(entries: [(&str, &str); N]) -> Fields {
    let entries = entries.map(|(version, path)| (version.to_owned(), path.to_owned()));
    entries.into()
}

#[test]
fn the_message_has_the_list_to_paste() {
    let found = [
        ("v1", "spec.at", "\"5\" would come back as nothing"),
        ("v2", "spec.zone", "{} would come back as nothing"),
        ("v2", "spec.zone-name", "1 would come back as 2"),
        ("v2", "spec.zone.name", "\"\" would come back as nothing"),
        ("v2", "status", "{} would come back as nothing"),
    ];
    let found = found.map(|(version, path, change)| {
        let field = (version.to_owned(), path.to_owned());
        (field, change.to_owned())
    });
    let listed = [("v1", "status"), ("v2", "spec.zone.name"), ("v2", "status")];
    let message = unlisted(found.into(), fields(listed)).unwrap();
    assert_eq!(
        message,
        r#"these fields are kept only in the annotation:
  v1 spec.at: "5" would come back as nothing
  v2 spec.zone: {} would come back as nothing
  v2 spec.zone-name: 1 would come back as 2
Map each of them in the converter. If the other version has no place for it, list it in the test:
const CARRIED: &[(&str, &str)] = &[
    ("v1", "spec.at"),
    ("v1", "status"),
    ("v2", "spec.zone"),
    ("v2", "spec.zone-name"),
    ("v2", "status"),
];"#
    );
}

#[test]
fn a_path_ends_at_a_map_or_a_list_and_its_names_may_have_dots() {
    let inner = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let schema = json!({"properties": {"spec": {"properties": {
        "dotted.name": inner,
        "list": {"type": "array", "items": inner},
        "map": {"type": "object", "additionalProperties": inner},
    }}}});
    let field = |names: &[&str]| path(&schema, names.iter().map(|name| (*name).to_owned()));
    assert_eq!(field(&["spec", "map", "a", "a"]), "spec.map");
    assert_eq!(field(&["spec", "list", "0", "a"]), "spec.list");
    assert_eq!(field(&["spec", "dotted.name", "a"]), "spec.dotted.name.a");
    assert_eq!(field(&["other"]), "");
    for known in ["spec", "spec.map", "spec.list", "spec.dotted.name.a"] {
        assert!(has_field(&schema, known), "{known}");
    }
    for not_known in [
        "spec.",
        "spec.map.a",
        "spec.list.a",
        "spec.dotted",
        "sp",
        "map",
    ] {
        assert!(!has_field(&schema, not_known), "{not_known}");
    }
}

#[test]
fn the_shortest_example_is_kept() {
    let mut examples = BTreeMap::new();
    for example in ["long", "a", "bc"] {
        keep_shortest(&mut examples, "spec".to_owned(), example.to_owned());
    }
    assert_eq!(examples["spec"], "a");
}

#[test]
#[should_panic(expected = "autoscaling/v2 could not be converted: spec")]
fn an_object_that_no_type_can_read_is_reported() {
    let text = json!({"minReplicas": {"type": "string"}});
    prove(&[version("v1", json!({})), version("v2", text)], &[]);
}

#[test]
#[should_panic(
    expected = "has no HorizontalPodAutoscaler in version v2 of autoscaling; run `kbr manifests`"
)]
fn a_version_without_a_schema_is_named() {
    prove(&[version("v1", json!({}))], &[]);
}

#[test]
#[should_panic(expected = "run `kbr manifests`")]
fn a_project_without_crds_is_told_what_to_do() {
    conversion_loses_nothing("/nowhere", Autoscalers, &[]);
}
