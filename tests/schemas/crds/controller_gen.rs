//! Compares our CRDs with those of controller-gen 0.22, node by node.
//!
//! `tests/data/controller-gen` lists the nodes of its CRDs for the types of kubebuilder's book: version,
//! path, type, and the rest of a node as JSON, without descriptions. `[]` is an element of a list,
//! `{}` a value of a map.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Project;
use crate::support::REPOSITORY;

/// Why a node differs from controller-gen's.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Reason {
    /// Labels and annotations of a template, which controller-gen's CRDs drop.
    Metadata,
    /// A number that neither Go nor Rust could read back.
    IntOrString,
    /// Lists, and times that Rust could not read, which a format alone would accept.
    Timestamp,
    /// Defaults of the API server that the markers of the Go types do not state in plain text.
    Default,
    /// The Go type inlines another type, and controller-gen applies the marker of the inlined type to the
    /// whole. In Kubernetes' own objects each field of such a type has an owner.
    Inlined,
    /// Fields of a Job that stay as they are, according to the markers of its Go type. This is a template for Jobs.
    Immutable,
    /// A minimum length of 0, which allows every text.
    NoBound,
    /// The golden's own type has an additional field.
    ObservedGeneration,
}

const DEFAULTS: [&str; 3] = [
    ".azureDisk.cachingMode",
    ".azureDisk.kind",
    ".onPodConditions[].status",
];

const INLINED: [&str; 4] = [
    "[].configMap",
    "[].envFrom[].configMapRef",
    "[].envFrom[].secretRef",
    ".sources[].secret",
];

/// The keywords of each node, by its path. Sets are sorted, since their order does not matter.
type Nodes = BTreeMap<String, BTreeMap<String, Value>>;

fn sorted(mut value: Value) -> Value {
    if let Some(values) = value.as_array_mut() {
        values.sort_by_key(Value::to_string);
    }
    value
}

fn keywords(entries: Map<String, Value>) -> BTreeMap<String, Value> {
    entries
        .into_iter()
        .map(|(key, value)| {
            let is_set = matches!(&*key, "enum" | "required");
            (key, if is_set { sorted(value) } else { value })
        })
        .collect()
}

fn theirs(file: &str) -> Nodes {
    let path = Path::new(REPOSITORY)
        .join("tests/data/controller-gen")
        .join(file);
    let text = fs::read_to_string(path).expect("the facts");
    let node = |line: &str| {
        let [_, path, kind, rest] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("unexpected line: {line}");
        };
        let mut entries = match rest {
            "" => Map::new(),
            rest => serde_json::from_str(rest).expect("JSON"),
        };
        if kind != "-" {
            entries.insert("type".to_owned(), json!(kind));
        }
        (path.to_owned(), keywords(entries))
    };
    text.lines().map(node).collect()
}

fn ours(crd: &str, version: &str) -> Nodes {
    let mut crd: Value = serde_saphyr::from_str(crd).expect("YAML");
    let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
    let version = versions.iter_mut().find(|one| one["name"] == version);
    let schema = version.expect("the version")["schema"]["openAPIV3Schema"].take();
    let mut nodes = Nodes::new();
    collect(".", schema, &mut nodes);
    nodes
}

fn collect(path: &str, mut schema: Value, nodes: &mut Nodes) {
    let node = schema.as_object_mut().expect("a node");
    node.remove("description");
    if let Some(Value::Object(properties)) = node.remove("properties") {
        for (name, property) in properties {
            let above = if path == "." { "" } else { path };
            collect(&format!("{above}.{name}"), property, nodes);
        }
    }
    for (key, step) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(below) = node.remove(key) {
            collect(&format!("{path}{step}"), below, nodes);
        }
    }
    nodes.insert(path.to_owned(), keywords(std::mem::take(node)));
}

fn reason(
    path: &str,
    keyword: &str,
    theirs: Option<&Value>,
    ours: Option<&Value>,
) -> Option<Reason> {
    let is_added = theirs.is_none() && ours.is_some();
    let is_removed = theirs.is_some() && ours.is_none();
    let reason = match keyword {
        "" if path.contains(".metadata.") => Reason::Metadata,
        "" if path == ".status.observedGeneration" => Reason::ObservedGeneration,
        "minimum" if ours == Some(&json!(i32::MIN)) => Reason::IntOrString,
        "maximum" if ours == Some(&json!(i32::MAX)) => Reason::IntOrString,
        "pattern" if ours.is_some_and(|ours| ours.to_string().contains("T[0-9:]")) => {
            Reason::Timestamp
        }
        "minItems" if ours == Some(&json!(1)) => Reason::Timestamp,
        "maxItems" if ours == Some(&json!(0)) => Reason::Timestamp,
        "minLength" if theirs == Some(&json!(0)) => {
            return is_removed.then_some(Reason::NoBound);
        }
        "x-kubernetes-validations" if path.starts_with(".spec.jobTemplate.spec.scheduling") => {
            return is_removed.then_some(Reason::Immutable);
        }
        "default" if DEFAULTS.iter().any(|end| path.ends_with(end)) => Reason::Default,
        "x-kubernetes-map-type" if INLINED.iter().any(|end| path.ends_with(end)) => {
            return is_removed.then_some(Reason::Inlined);
        }
        _ => return None,
    };
    is_added.then_some(reason)
}

/// How many nodes differ for each reason. Every difference must have a reason.
fn compare(theirs: &Nodes, ours: &Nodes) -> BTreeMap<Reason, usize> {
    let mut explained = BTreeSet::new();
    let mut unexplained = Vec::new();
    let mut differ =
        |path: &str, keyword: &str, theirs: Option<&Value>, ours: Option<&Value>| match reason(
            path, keyword, theirs, ours,
        ) {
            Some(reason) => drop(explained.insert((reason, path.to_owned()))),
            None => unexplained.push(format!("{path} {keyword}: {theirs:?}, ours {ours:?}")),
        };
    let present = Some(&Value::Bool(true));
    for path in ours.keys().filter(|path| !theirs.contains_key(*path)) {
        differ(path, "", None, present);
    }
    for (path, node) in theirs {
        let Some(own) = ours.get(path) else {
            differ(path, "", present, None);
            continue;
        };
        for keyword in node.keys().chain(own.keys()) {
            if node.get(keyword) != own.get(keyword) {
                differ(path, keyword, node.get(keyword), own.get(keyword));
            }
        }
    }
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    let mut counts = BTreeMap::new();
    for (reason, _) in explained {
        *counts.entry(reason).or_insert(0) += 1;
    }
    counts
}

fn golden(name: &str) -> String {
    let file = "config/crd/bases/batch.tutorial.kubebuilder.io_cronjobs.yaml";
    let path = Path::new(REPOSITORY).join("testdata").join(name).join(file);
    fs::read_to_string(path).expect("the golden's CRD")
}

#[test]
fn the_cronjob_of_the_tutorial() {
    for (name, bound) in [
        ("cronjob", None),
        ("multiversion", Some((Reason::NoBound, 1))),
    ] {
        let differences = compare(&theirs("cronjob-v1.tsv"), &ours(&golden(name), "v1"));
        let expected = [
            (Reason::Metadata, 24),
            (Reason::IntOrString, 30),
            (Reason::Timestamp, 2),
            (Reason::Default, 3),
            (Reason::Inlined, 9),
            (Reason::Immutable, 4),
            (Reason::ObservedGeneration, 1),
        ];
        let expected = expected.into_iter().chain(bound).collect();
        assert_eq!(differences, expected, "{name}");
    }
}

/// Its data omit everything below `jobTemplate`, which is the same as in v1.
#[test]
fn the_second_version_of_the_cronjob() {
    let mut v2 = ours(&golden("multiversion"), "v2");
    let v1 = ours(&golden("multiversion"), "v1");
    let template = ".spec.jobTemplate.";
    for (path, node) in &v1 {
        assert!(
            !path.starts_with(template) || v2.get(path) == Some(node),
            "{path}"
        );
    }
    v2.retain(|path, _| !path.starts_with(template));
    let differences = compare(&theirs("cronjob-v2.tsv"), &v2);
    let expected = [(Reason::Timestamp, 2), (Reason::ObservedGeneration, 1)];
    assert_eq!(differences, BTreeMap::from(expected));
}

#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "crds.example.com",
    version = "v1alpha1",
    kind = "Memcached",
    plural = "memcacheds",
    status = "MemcachedStatus",
    namespaced
)]
#[serde(rename_all = "camelCase")]
struct MemcachedSpec {
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    size: i32,
    container_port: i32,
}

fn one() -> i32 {
    1
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
struct MemcachedStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition>,
}

#[test]
fn a_kind_with_conditions() {
    let crd = Project::of::<Memcached>().crd();
    let differences = compare(&theirs("memcached.tsv"), &ours(&crd, "v1alpha1"));
    assert_eq!(differences, BTreeMap::from([(Reason::Timestamp, 1)]));
}
