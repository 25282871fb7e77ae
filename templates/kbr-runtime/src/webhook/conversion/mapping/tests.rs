// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// A custom resource.
macro_rules! version {
    ($kind:literal, $spec:ident, $version:literal, $type:ty) => {
        #[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
        #[kube(group = "example.com", version = $version, kind = $kind)]
        struct $spec {
            size: $type,
        }
    };
}

version!("Hub", HubSpec, "v1", i32);
version!("Spoke", SpokeSpec, "v2", f64);

struct Unlucky;

impl Converter for Unlucky {
    type Hub = Hub;
    type Spoke = Spoke;

    fn to_hub(&self, _: Spoke) -> Hub {
        panic!("on purpose")
    }

    fn to_spoke(&self, hub: Hub) -> Spoke {
        let size = hub.spec.size.into();
        Spoke::new("", SpokeSpec { size })
    }
}

#[test]
fn an_unreadable_object_and_a_panic_are_errors() {
    let panics = Counter::default();
    let mapping = Mapping::of(Unlucky, panics.clone());
    let object =
        |kind: &str, size: Value| json!({"kind": kind, "metadata": {}, "spec": {"size": size}});

    let spoke = (mapping.hub.leave)(&object("Hub", json!(1))).unwrap();
    assert_eq!(spoke["spec"], json!({"size": 1}));
    let error = (mapping.hub.leave)(&object("Hub", json!("yes"))).unwrap_err();
    assert!(error.starts_with("spec.size: expected "), "{error}");
    let error = (mapping.spoke.leave)(&object("Spoke", json!(1))).unwrap_err();
    assert_eq!(error, "panic: on purpose");
    assert_eq!(panics.get(), 1);
}

#[test]
fn whole_numbers_are_written_as_the_api_server_does() {
    let mut value = json!({"a": [1.0, -3.0, 0.5, 1e300, -0.0, 9_007_199_254_740_991.0]});
    write_whole_numbers(&mut value);
    let expected = json!({"a": [1, -3, 0.5, 1e300, -0.0, 9_007_199_254_740_991_i64]});
    assert_eq!(value, expected);
    assert_eq!(value.to_string(), expected.to_string());
}

/// Two versions in which every field is required and has another name.
mod renamed {
    use super::*;

    #[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Older")]
    pub struct OlderSpec {
        size: u8,
        color: String,
        mode: Mode,
        #[schemars(range(min = 3))]
        least: i64,
        parts: Vec<OldPart>,
    }

    #[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, Serialize)]
    pub enum Mode {
        #[default]
        Slow,
        Fast,
    }

    #[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
    struct OldPart {
        name: String,
        weight: f64,
    }

    #[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Newer")]
    pub struct NewerSpec {
        count: u8,
        paint: String,
        pace: Mode,
        lowest: i64,
        pieces: Vec<NewPart>,
    }

    #[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
    struct NewPart {
        called: String,
        grams: f64,
    }

    pub struct Renaming;

    impl Converter for Renaming {
        type Hub = Older;
        type Spoke = Newer;

        fn to_hub(&self, new: Newer) -> Older {
            let pieces = new.spec.pieces.into_iter();
            let spec = OlderSpec {
                size: new.spec.count,
                color: new.spec.paint,
                mode: new.spec.pace,
                least: new.spec.lowest,
                parts: pieces
                    .map(|it| OldPart {
                        name: it.called,
                        weight: it.grams,
                    })
                    .collect(),
            };
            Older::new("", spec)
        }

        fn to_spoke(&self, old: Older) -> Newer {
            let parts = old.spec.parts.into_iter();
            let spec = NewerSpec {
                count: old.spec.size,
                paint: old.spec.color,
                pace: old.spec.mode,
                lowest: old.spec.least,
                pieces: parts
                    .map(|it| NewPart {
                        called: it.name,
                        grams: it.weight,
                    })
                    .collect(),
            };
            Newer::new("", spec)
        }
    }
}

/// The fields with those numbers; the last two are in the items of a list.
fn subset(names: [&str; 7], fields: usize) -> Value {
    let values = [json!(9), json!("red"), json!("Fast"), json!(7)];
    let items = [json!("wheel"), json!(2)];
    let has = |index: usize| fields & (1 << index) != 0;
    let mut spec = json!({});
    for (index, value) in values
        .into_iter()
        .enumerate()
        .filter(|(index, _)| has(*index))
    {
        spec[names[index]] = value;
    }
    let mut item = json!({});
    for (index, value) in items.into_iter().enumerate() {
        if has(index + 4) {
            item[names[index + 5]] = value;
        }
    }
    if item != json!({}) {
        spec[names[4]] = json!([item]);
    }
    spec
}

/// For server-side apply, the API server converts what one manager owns of an object, or what is left without that.
#[test]
fn each_part_of_an_object_is_converted_field_by_field() {
    const OLD: [&str; 7] = ["size", "color", "mode", "least", "parts", "name", "weight"];
    const NEW: [&str; 7] = [
        "count", "paint", "pace", "lowest", "pieces", "called", "grams",
    ];
    let mapping = Mapping::of(renamed::Renaming, Counter::default());
    let (hub, spoke) = (&mapping.hub, &mapping.spoke);
    for fields in 0..1 << 6 {
        for (from, to, names, expected) in [(hub, spoke, OLD, NEW), (spoke, hub, NEW, OLD)] {
            for metadata in [
                json!({}),
                json!({"name": "a", "uid": "u", "resourceVersion": "7"}),
            ] {
                let part = |side: &Side, names| {
                    let api_version = format!("example.com/{}", side.version);
                    let spec = subset(names, fields);
                    let mut part =
                        json!({"apiVersion": api_version, "kind": "Older", "metadata": metadata});
                    if spec != json!({}) {
                        part["spec"] = spec;
                    }
                    part
                };
                let source = part(from, names);
                let converted = mapping.convert(&source.to_string(), from, to).unwrap();
                let converted: Value = serde_json::from_str(&converted).unwrap();
                assert_eq!(converted, part(to, expected), "{source}");
            }
        }
    }
}

/// A value for a field that only its type knows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(try_from = "String")]
struct Secret(String);

impl TryFrom<String> for Secret {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_right = text == "sesame";
        is_right
            .then_some(Self(text))
            .ok_or_else(|| "wrong".to_owned())
    }
}

#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Closed")]
struct ClosedSpec {
    word: Secret,
    both: u8,
    list: Vec<u8>,
    old: u8,
}

#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v2", kind = "Open")]
struct OpenSpec {
    word: Secret,
    both: u8,
    list: String,
    new: u8,
}

struct Opening;

impl Converter for Opening {
    type Hub = Closed;
    type Spoke = Open;

    fn to_hub(&self, open: Open) -> Closed {
        let (word, both) = (open.spec.word, open.spec.both);
        let (list, old) = (Vec::new(), open.spec.new);
        Closed::new(
            "",
            ClosedSpec {
                word,
                both,
                list,
                old,
            },
        )
    }

    fn to_spoke(&self, closed: Closed) -> Open {
        let (word, both) = (closed.spec.word, closed.spec.both);
        let (list, new) = (String::new(), closed.spec.old);
        Open::new(
            "",
            OpenSpec {
                word,
                both,
                list,
                new,
            },
        )
    }
}

/// A field that the version does not declare would make the API server fail.
#[test]
fn of_a_part_that_cannot_be_converted_nothing_unknown_is_shown_and_nothing_is_lost() {
    let mapping = Mapping::of(Opening, Counter::default());
    let (hub, spoke) = (&mapping.hub, &mapping.spoke);
    let whole = json!({"both": 1, "list": [2], "old": 3});
    for fields in 0..1 << 3 {
        let mut spec = whole.as_object().unwrap().clone();
        let mut number = 0;
        spec.retain(|_, _| {
            number += 1;
            fields & (1 << (number - 1)) != 0
        });
        let part = json!({
            "apiVersion": "example.com/v1", "kind": "Closed", "metadata": {"name": "a"}, "spec": spec,
        });
        let there = mapping.convert(&part.to_string(), hub, spoke).unwrap();
        let shown: Value = serde_json::from_str(&there).unwrap();
        let expected = spec
            .get("both")
            .map_or(json!({}), |both| json!({"both": both}));
        assert_eq!(shown["spec"], expected, "{part}");
        let back = mapping.convert(&there, spoke, hub).unwrap();
        let back: Value = serde_json::from_str(&back).unwrap();
        assert_eq!(back, part);
    }
}
