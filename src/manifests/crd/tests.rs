//! Merging, order and errors, on the output of crdgen for real types and on small made-up ones.

use super::*;

const CRON_JOB: &str = include_str!("../../../tests/data/crdgen/cronjob.json");
const REFUSED: &str = include_str!("../../../tests/data/crdgen/refused.json");

/// What crdgen prints for a kind whose only field is a string.
fn entry(kind: &str, plural: &str, version: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    json!({
        "type": format!("{version}::{kind}"),
        "crd": {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.example.com") },
            "spec": {
                "group": "example.com",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "scope": "Namespaced",
                "versions": [{ "name": version, "served": true, "storage": true }],
            },
        },
        "serialize": schema,
        "deserialize": schema,
    })
}

/// The documents made from crdgen's JSON.
fn from_json<'s>(
    json: &str,
    stored: impl Fn(&str, &str) -> Option<&'s str>,
) -> Result<Vec<CrdDocument>, Vec<CrdError>> {
    let compiled = read(json).map_err(|error| vec![error])?;
    custom_resource_definitions(compiled, stored)
}

fn make(compiled: &[Value], stored: Option<&str>) -> Result<Vec<CrdDocument>, Vec<CrdError>> {
    from_json(&json!(compiled).to_string(), |_, _| stored)
}

fn messages(result: Result<Vec<CrdDocument>, Vec<CrdError>>) -> Vec<String> {
    let errors = result.expect_err("it fails");
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn names_and_metadata_of_all_versions_are_merged() {
    let mut compiled = ["v1", "v1beta1", "v1alpha1"].map(|version| entry("Foo", "foos", version));
    let names = |entry: &mut Value, short: &str, team: &str| {
        let crd = &mut entry["crd"];
        crd["spec"]["names"]["shortNames"] = json!(["fo", short]);
        crd["spec"]["names"]["categories"] = json!([short]);
        crd["metadata"]["labels"] = json!({ "team": team, team: short });
        crd["metadata"]["annotations"] = json!({ "team": team });
    };
    names(&mut compiled[0], "new", "a");
    names(&mut compiled[2], "old", "b");
    let crds = make(&compiled, Some("v1alpha1")).expect("they agree");
    let document = &crds[0].document;
    assert_eq!(
        document["spec"]["names"]["shortNames"],
        json!(["fo", "old", "new"])
    );
    assert_eq!(
        document["spec"]["names"]["categories"],
        json!(["old", "new"])
    );
    let metadata = &document["metadata"];
    let labels = json!({ "team": "b", "a": "new", "b": "old" });
    assert_eq!(
        metadata["labels"], labels,
        "the stored version takes precedence"
    );
    assert_eq!(metadata["annotations"], json!({ "team": "b" }));

    compiled[1]["crd"]["spec"]["names"]["singular"] = json!("fool");
    let expected = ["the versions of `Foo.example.com` differ in their singular"];
    assert_eq!(messages(make(&compiled, Some("v1"))), expected);
}

#[test]
fn versions_of_a_kind_become_one_document() {
    let crds = from_json(CRON_JOB, |group, kind| {
        (group == "batch.tutorial.kbr.dev" && kind == "CronJob").then_some("v1beta1")
    });
    let [crd] = crds
        .expect("the tutorial's types are fine")
        .try_into()
        .expect("one kind");
    assert_eq!(
        (crd.group.as_str(), crd.plural.as_str()),
        ("batch.tutorial.kbr.dev", "cronjobs")
    );
    let spec = &crd.document["spec"];
    assert_eq!(crd.document.get("status"), None);
    assert_eq!(
        spec["names"],
        json!({
            "kind": "CronJob",
            "listKind": "CronJobList",
            "plural": "cronjobs",
            "singular": "cronjob",
        })
    );
    let versions: Vec<_> = spec["versions"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    let flags = versions
        .iter()
        .map(|one| (one["name"].as_str(), one["storage"].as_bool()));
    assert_eq!(
        flags.collect::<Vec<_>>(),
        [(Some("v1"), Some(false)), (Some("v1beta1"), Some(true))]
    );
    let keys: Vec<_> = versions[0].as_object().expect("a version").keys().collect();
    assert_eq!(
        keys,
        [
            "additionalPrinterColumns",
            "name",
            "schema",
            "served",
            "storage",
            "subresources"
        ]
    );
    let schema = &versions[1]["schema"]["openAPIV3Schema"];
    let job_name = schema.pointer("/properties/spec/properties/jobName/type");
    assert_eq!(job_name, Some(&json!("string")));
}

#[test]
fn versions_are_in_the_order_of_kubernetes() {
    let versions = ["v1alpha1", "v2", "v1beta2", "v1", "v10beta1"];
    let compiled = versions.map(|version| entry("Foo", "foos", version));
    let crds = make(&compiled, Some("v1")).expect("they agree");
    let names = crds[0].document["spec"]["versions"]
        .as_array()
        .expect("a list");
    let names: Vec<_> = names
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["v2", "v1", "v10beta1", "v1beta2", "v1alpha1"]);
}

#[test]
fn documents_are_sorted_by_name() {
    let compiled = [entry("Zed", "zeds", "v1"), entry("Abc", "abcs", "v1")];
    let crds = make(&compiled, Some("v1")).expect("they are fine");
    let plurals: Vec<_> = crds.iter().map(|crd| crd.plural.as_str()).collect();
    assert_eq!(plurals, ["abcs", "zeds"]);
    assert_eq!(make(&[], None).expect("nothing is fine"), []);
}

#[test]
fn the_stored_version_is_one_of_them() {
    let compiled = [entry("Foo", "foos", "v1"), entry("Foo", "foos", "v1beta1")];
    assert_eq!(
        messages(make(&compiled, None)),
        ["`Foo.example.com` has no stored version"]
    );
    assert_eq!(
        messages(make(&compiled, Some("v2"))),
        ["the stored version `v2` of `Foo.example.com` is not one of `v1`, `v1beta1`"]
    );
}

#[test]
fn versions_that_disagree_are_refused() {
    let twice = [entry("Foo", "foos", "v1"), entry("Foo", "foos", "v1")];
    assert_eq!(
        messages(make(&twice, Some("v1"))),
        ["`Foo.example.com` has two types for version `v1`"]
    );
    let plurals = [entry("Foo", "foos", "v1"), entry("Foo", "fooes", "v2")];
    assert_eq!(
        messages(make(&plurals, Some("v1"))),
        ["the versions of `Foo.example.com` differ in their plural"]
    );
}

#[test]
fn a_refusal_takes_precedence_over_the_panic_it_caused() {
    let messages = messages(from_json(REFUSED, |_, _| Some("v1")));
    let mixed = "`v1::Mixed`: `spec.mixed` is an enum that mixes variants with and without content";
    assert!(
        messages.iter().any(|message| message == mixed),
        "{messages:#?}"
    );
    assert!(
        !messages.iter().any(|message| message.contains("panicked")),
        "{messages:#?}"
    );
}

#[test]
fn a_panic_names_the_type() {
    let mut broken = entry("Foo", "foos", "v1");
    broken["crd"] = Value::Null;
    broken["panic"] = json!("out of words");
    assert_eq!(
        messages(make(&[broken], Some("v1"))),
        ["`v1::Foo` panicked while it described itself: out of words"]
    );
}

#[test]
fn other_output_is_an_error() {
    let messages = messages(from_json("hello", |_, _| None));
    assert_eq!(
        messages,
        [
            "`crdgen` printed something other than its JSON document: expected value at line 1 column 1"
        ]
    );
}

#[test]
fn fields_that_may_be_null_are_known() {
    let text = json!({ "type": ["string", "null"] });
    let inner = json!({ "type": "object", "properties": { "b": text }, "required": ["b"] });
    let schema = json!({
        "type": "object",
        "properties": {
            "left_out": text,
            "always": text,
            "list": { "type": "array", "items": inner },
            "map": { "type": "object", "additionalProperties": text },
        },
        "required": ["always", "list", "map"],
    });
    let mut entry = entry("Foo", "foos", "v1");
    entry["serialize"] = schema.clone();
    entry["deserialize"] = schema;
    let crds = make(&[entry], Some("v1")).expect("it is fine");
    let nullable: Vec<String> = crds[0].nullable_fields().into_iter().collect();
    assert_eq!(nullable, ["always", "list[].b"]);
}
