//! What a row promises about a kind, and about changes to its objects.

use serde_json::{Value, json};

use super::super::{Project, describe, install_crd};
use super::types::{CODE, PROJECT, v1, v1alpha1, v1beta1};
use super::{create, kubectl, object};
use crate::support::api_server::api_server;
use crate::support::{Run, Sandbox};

/// The checks, each with its marker. They build on the objects of the checks above them.
pub const CHECKS: [(&str, fn()); 36] = [
    ("+groupName", group_and_version),
    ("+versionName", group_and_version),
    ("+kubebuilder:resource:path", path),
    ("+kubebuilder:resource:singular", singular),
    ("+kubebuilder:resource:shortName", short_name),
    ("+kubebuilder:resource:categories", category),
    ("+kubebuilder:resource:scope=Namespaced", namespaced),
    ("+kubebuilder:subresource:status", status),
    ("+kubebuilder:subresource:scale", scale),
    ("+kubebuilder:printcolumn", column),
    ("+kubebuilder:selectablefield", selectable_field),
    ("+kubebuilder:metadata", metadata),
    ("metadata.name", name),
    ("+kubebuilder:validation:XValidation", rule_on_a_change),
    ("+k8s:immutable", immutable),
    ("+kubebuilder:example", example),
    ("+kubebuilder:externalDocs", external_docs),
    ("+kubebuilder:title", title),
    ("+listType=atomic", || {
        conflict("atomicList", json!(["a"]), json!(["b"]))
    }),
    ("+listType=set", || {
        merge("set", json!(["a"]), json!(["b"]), json!(["a", "b"]))
    }),
    ("+listType=map", list_map),
    ("+listMapKey", list_map_key),
    ("+mapType=granular", || {
        both_keys("granularMap", "1".into(), "2".into())
    }),
    ("+mapType=atomic", || {
        conflict("atomicMap", json!({ "a": "1" }), json!({ "b": "2" }))
    }),
    ("+structType=granular", || {
        let (one, two) = (json!({ "left": 1 }), json!({ "right": 2 }));
        merge("granularStruct", one, two, json!({ "left": 1, "right": 2 }));
    }),
    ("+structType=atomic", || {
        conflict("atomicStruct", json!({ "left": 1 }), json!({ "right": 2 }))
    }),
    ("+kubebuilder:resource:scope=Cluster", versions),
    ("+kubebuilder:storageversion", stored_version),
    ("+kubebuilder:deprecatedversion", deprecated_version),
    ("+kubebuilder:unservedversion", unserved_version),
    ("+kubebuilder:resource:shortName", || other_names("agd")),
    ("+kubebuilder:resource:categories", || other_names("marks")),
    ("+kubebuilder:metadata", other_label),
    ("+kubebuilder:rbac", role),
    ("+kubebuilder:webhook", webhook),
    ("+kubebuilder:webhookconfiguration", webhook_configuration),
];

const API: &str = "/apis/crds.example.com/v1";
const OBJECTS: &str = "/apis/crds.example.com/v1/namespaces/default/markedthings";

/// Runs kubectl without cached discovery data.
fn fresh(line: &str) -> Run {
    let cache = tempfile::tempdir().expect("a folder");
    kubectl(&format!("{line} --cache-dir={}", cache.path().display()))
}

fn crd(plural: &str) -> Value {
    api_server().get(&format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.crds.example.com"
    ))
}

fn patch(name: &str, patch: &Value) -> Run {
    let patch = patch.to_string();
    kubectl(&format!(
        "patch markedthing {name} --type=merge --patch={patch}"
    ))
}

fn group_and_version() {
    let resources = api_server().get(API);
    let all = resources["resources"].as_array().expect("a list");
    assert!(all.iter().any(|one| one["kind"] == "Marked"), "{resources}");
}

fn path() {
    let spec = json!({ "replicas": 1, "host": "here" });
    create(&object("one", &spec)).success();
    assert_eq!(
        api_server().get(&format!("{OBJECTS}/one"))["kind"],
        "Marked"
    );
}

fn singular() {
    fresh("get markedthing one").success();
}

fn short_name() {
    fresh("get mkd one").success();
}

fn category() {
    let all = fresh("get marks -o name").success().stdout;
    assert!(all.contains("/one\n"), "{all}");
}

fn namespaced() {
    let elsewhere = kubectl("get markedthing one --namespace=kube-system").failure();
    assert!(
        elsewhere.stderr.contains("NotFound"),
        "{}",
        elsewhere.stderr
    );
}

fn status() {
    let mut two = object("two", &json!({}));
    two["status"] = json!({ "replicas": 9 });
    create(&two).success();
    assert_eq!(
        api_server().get(&format!("{OBJECTS}/two")).get("status"),
        None
    );
    let status =
        json!({ "status": { "replicas": 2, "selector": "a=b" }, "spec": { "replicas": 7 } });
    kubectl(&format!(
        "patch markedthing one --subresource=status --type=merge --patch={status}"
    ))
    .success();
    let one = api_server().get(&format!("{OBJECTS}/one"));
    assert_eq!(
        (&one["status"]["replicas"], &one["spec"]["replicas"]),
        (&json!(2), &json!(1))
    );
}

fn scale() {
    kubectl("scale markedthing one --replicas=4").success();
    let scale = api_server().get(&format!("{OBJECTS}/one/scale"));
    assert_eq!(scale["spec"]["replicas"], 4);
    assert_eq!(scale["status"], json!({ "replicas": 2, "selector": "a=b" }));
}

fn column() {
    let wide = kubectl("get markedthing one -o wide").success().stdout;
    let words: Vec<&str> = wide.split_whitespace().collect();
    assert_eq!(words, ["NAME", "REPLICAS", "one", "4"]);
    let usual = kubectl("get markedthing one").success().stdout;
    assert!(!usual.contains("REPLICAS"), "its priority is 1: {usual}");
}

fn selectable_field() {
    let selected = |host: &str| {
        kubectl(&format!(
            "get markedthings --field-selector=spec.host={host} -o name"
        ))
    };
    let here = selected("here").success().stdout;
    assert_eq!(here.lines().count(), 1, "{here}");
    assert_eq!(selected("there").success().stdout, "");
}

fn metadata() {
    let metadata = &crd("markedthings")["metadata"];
    assert_eq!(metadata["annotations"]["example.com/team"], "storage");
    assert_eq!(metadata["labels"]["tier"], "backend");
}

fn name() {
    create(&object(&"a".repeat(52), &json!({}))).success();
    let long = create(&object(&"a".repeat(53), &json!({})))
        .failure()
        .stderr;
    assert!(
        long.contains("metadata.name: Invalid value: ") && long.contains("must be no more than 52"),
        "{long}"
    );
}

fn rule_on_a_change() {
    patch("one", &json!({ "spec": { "growing": 3 } })).success();
    let smaller = patch("one", &json!({ "spec": { "growing": 2 } }))
        .failure()
        .stderr;
    assert!(
        smaller.contains("spec.growing: Forbidden: it never shrinks"),
        "{smaller}"
    );
}

fn immutable() {
    patch("one", &json!({ "spec": { "fixed": 3 } })).success();
    let other = patch("one", &json!({ "spec": { "fixed": 4 } }))
        .failure()
        .stderr;
    assert!(
        other.contains("spec.fixed: Invalid value: 4: it stays as it is"),
        "{other}"
    );
    patch("one", &json!({ "spec": { "frozen": { "port": 3 } } })).success();
    let none = json!({ "spec": { "frozen": { "port": null } } });
    let removed = patch("one", &none).failure().stderr;
    assert!(
        removed.contains("spec.frozen: Invalid value: ") && removed.contains("it stays as it is"),
        "{removed}"
    );
}

/// A field's schema in the stored CRD.
fn stored_schema(field: &str) -> Value {
    let mut crd = crd("markedthings");
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"][field].take()
}

fn example() {
    assert_eq!(stored_schema("illustrated")["example"], 8080);
}

fn external_docs() {
    let docs = json!({ "url": "https://example.com", "description": "More" });
    assert_eq!(stored_schema("documented")["externalDocs"], docs);
}

fn title() {
    assert_eq!(stored_schema("titled")["title"], "A title");
}

/// Applies a value for each of two field managers. Returns the second run of kubectl and the stored value.
fn apply_both(field: &str, one: &Value, two: &Value) -> (Run, Value) {
    let name = format!("merge-{}", field.to_lowercase());
    let apply = |manager: &str, value: &Value| {
        let object = object(&name, &json!({ field: value })).to_string();
        let line = format!("apply --server-side --field-manager={manager} -f -");
        api_server().kubectl(&line, &object)
    };
    apply("one", one).success();
    let second = apply("two", two);
    let mut stored = api_server().get(&format!("{OBJECTS}/{name}"));
    (second, stored["spec"][field].take())
}

#[track_caller]
fn merge(field: &str, one: Value, two: Value, both: Value) {
    let (second, stored) = apply_both(field, &one, &two);
    second.success();
    assert_eq!(stored, both);
}

#[track_caller]
fn conflict(field: &str, one: Value, two: Value) {
    let (second, stored) = apply_both(field, &one, &two);
    let told = second.failure().stderr;
    assert!(
        told.contains(&format!("conflict with \"one\": .spec.{field}")),
        "{told}"
    );
    assert_eq!(stored, one);
}

fn both_keys(field: &str, one: Value, two: Value) {
    merge(
        field,
        json!({ "a": one }),
        json!({ "b": two }),
        json!({ "a": one, "b": two }),
    );
}

fn list_map() {
    let named = |name: &str, value| json!({ "name": name, "value": value });
    let both = json!([named("a", 1), named("b", 2)]);
    merge(
        "listMap",
        json!([named("a", 1)]),
        json!([named("b", 2)]),
        both,
    );
}

fn list_map_key() {
    let twice = json!({ "listMap": [{ "name": "a" }, { "name": "a", "value": 1 }] });
    let refused = create(&object("list-map-key", &twice)).failure().stderr;
    assert!(
        refused.contains("spec.listMap[1]: Duplicate value: {\"name\":\"a\"}"),
        "{refused}"
    );
}

fn aged() -> Project {
    Project::of_versions(&[
        describe::<v1::Aged>(),
        describe::<v1beta1::Aged>(),
        describe::<v1alpha1::Aged>(),
    ])
}

fn aged_object(version: &str) -> Value {
    json!({
        "apiVersion": format!("crds.example.com/{version}"),
        "kind": "Aged",
        "metadata": { "name": version },
        "spec": {},
    })
}

/// The checks below build on its CRD.
fn versions() {
    install_crd(&aged().crd(), "ageds.crds.example.com");
    assert_eq!(create(&aged_object("v1")).success().stderr, "");
    let stored = api_server().get(&format!("{API}/ageds/v1"));
    assert_eq!(stored["metadata"].get("namespace"), None);
}

fn stored_version() {
    assert_eq!(crd("ageds")["status"]["storedVersions"], json!(["v1"]));
    let project = aged().sandbox.read("PROJECT");
    let line = PROJECT.lines().last().expect("a line");
    let stored = project.lines().filter(|one| one.trim() == line);
    assert_eq!(stored.count(), 1, "{project}");
}

fn deprecated_version() {
    let warned = create(&aged_object("v1beta1")).success().stderr;
    assert_eq!(warned, "Warning: v1beta1 of Aged goes away: write v1\n");
}

fn unserved_version() {
    let raw = "get --raw /apis/crds.example.com/v1alpha1/ageds";
    let refused = kubectl(raw).failure().stderr;
    assert!(refused.contains("NotFound"), "{refused}");
}

/// Names that a version other than the stored one declares.
fn other_names(name: &str) {
    let all = fresh(&format!("get {name} -o name")).success().stdout;
    assert!(all.contains("aged.crds.example.com/v1\n"), "{all}");
}

fn other_label() {
    assert_eq!(crd("ageds")["metadata"]["labels"]["tier"], "backend");
}

/// The file that kbr generates from the markers in code, as the API server accepts it.
fn taken(file: &str) -> Value {
    let sandbox = Sandbox::with_project();
    let markers = CODE.lines().filter(|line| line.starts_with("// +kbr:"));
    let markers: Vec<&str> = markers.collect();
    sandbox.module("a", &markers.join("\n"));
    sandbox.kbr("manifests").success();
    let line = "create --dry-run=server -o json -f -";
    let taken = api_server().kubectl(line, &sandbox.read(file)).success();
    serde_json::from_str(&taken.stdout).expect("JSON")
}

fn role() {
    let rules = taken("config/rbac/role.yaml")["rules"].take();
    let rule =
        json!({ "apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch"] });
    assert_eq!(rules, json!([rule]));
}

fn webhook() {
    let webhook = taken("config/webhook/manifests.yaml")["webhooks"][0].take();
    assert_eq!(webhook["name"], "vjob-v1.batch.example.com");
    assert_eq!(webhook["rules"][0]["resources"], json!(["jobs"]));
}

fn webhook_configuration() {
    let configuration = taken("config/webhook/manifests.yaml");
    assert_eq!(configuration["metadata"]["name"], "checks");
}
