//! Compares what kbr knows about Kubernetes' own types with the OpenAPI document of a real API server.
//!
//! `KBR_OVERWRITE=1 cargo test --test it kubernetes_types::facts` regenerates the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::REPOSITORY;
use crate::support::api_server::{ApiServer, api_server};

const FACTS: &str = "src/manifests/schema/foreign/kubernetes.txt";

/// The schema of each type that the API server serves, by its name.
fn types(server: &ApiServer) -> BTreeMap<String, Value> {
    let mut types = BTreeMap::new();
    let index = server.get("/openapi/v3");
    // Tests install and delete CRDs, so a group of theirs may no longer exist when it is requested.
    let is_own = |path: &str| {
        let group = path.split('/').nth(1).unwrap_or_default();
        !group.contains('.') || group.ends_with(".k8s.io")
    };
    let index = index["paths"].as_object().expect("an index").iter();
    for (_, group) in index.filter(|(path, _)| is_own(path)) {
        let url = group["serverRelativeURL"].as_str().expect("a path");
        let mut document = server.get(url);
        let schemas = document["components"]["schemas"].as_object_mut();
        types.extend(std::mem::take(schemas.unwrap_or(&mut Default::default())));
    }
    assert!(types.len() > 700, "{} types", types.len());
    types.retain(|name, _| name.starts_with("io.k8s."));
    types
}

/// How lists and maps of a node merge.
fn merging(path: &str, schema: &Value) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(kind) = schema["x-kubernetes-list-type"].as_str() {
        let keys = schema["x-kubernetes-list-map-keys"].as_array();
        let keys = keys.into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<&str> = [path, "list", kind].into_iter().chain(keys).collect();
        facts.push(words.join(" "));
    }
    if let Some(kind) = schema["x-kubernetes-map-type"].as_str() {
        facts.push(format!("{path} map {kind}"));
    }
    facts
}

/// Every line of the file except those at its beginning.
fn facts(types: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for (name, schema) in types {
        facts.extend(merging(name, schema));
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let properties = schema["properties"].as_object();
        for (field, property) in properties.into_iter().flatten() {
            let path = format!("{name}.{field}");
            facts.extend(merging(&path, property));
            let default = &property["default"];
            // A required field has the zero value of its Go type as its default, which is never applied.
            let is_one = !default.is_null() && *default != json!({});
            if is_one && !required.contains(&json!(field)) {
                facts.insert(format!("{path} default {default}"));
            }
        }
    }
    facts
}

#[test]
fn facts_are_those_of_the_api_server() {
    let server = api_server();
    let version = server.get("/version");
    let minor = version["minor"].as_str().expect("a minor");
    let mut text = format!(
        "# What the schemas of k8s-openapi lack for Kubernetes' own types: how lists and maps merge,\n\
         # and the defaults of fields that are not required. From /openapi/v3 of an API server v1.{minor};\n\
         # KBR_OVERWRITE=1 cargo test --test it kubernetes_types::facts regenerates it.\n"
    );
    for fact in facts(&types(server)) {
        text += &fact;
        text += "\n";
    }
    let path = Path::new(REPOSITORY).join(FACTS);
    if std::env::var_os("KBR_OVERWRITE").is_some() {
        fs::write(&path, &text).expect("the file");
    }
    let known = fs::read_to_string(&path).expect("the facts");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (known, served) = (lines(&known), lines(&text));
    let missing: Vec<_> = served.difference(&known).collect();
    let wrong: Vec<_> = known.difference(&served).collect();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "{FACTS} differs from what the API server says; its first lines have the command that regenerates it\n\
         missing: {missing:#?}\nwrong: {wrong:#?}"
    );
}

/// The code assumes this. It is wrong only for these types, which k8s-openapi reads without metadata.
#[test]
fn metadata_is_required_by_no_type_that_others_embed() {
    let is_required = |(name, schema): (String, Value)| {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        required.contains(&json!("metadata")).then_some(name)
    };
    let types: Vec<String> = types(api_server())
        .into_iter()
        .filter_map(is_required)
        .collect();
    assert_eq!(
        types,
        [
            "io.k8s.api.apiserverinternal.v1alpha1.StorageVersion",
            "io.k8s.api.core.v1.Event",
            "io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequest",
        ]
    );
}
