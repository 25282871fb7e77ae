//! Checks the table of changes against an API server: an object stored under the old CRD is read, updated
//! and applied under the new one, and another object like it is created.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::support::api_server::{ApiServer, api_server};

const TABLE: &str = include_str!("../../../src/manifests/compat/changes.yaml");

/// How long to wait for the API server to use a CRD. Usually it takes moments.
const UPTAKE: Duration = Duration::from_secs(60);

/// A row of the table that an API server can check.
struct Row {
    group: String,
    row: Value,
}

impl Row {
    fn crd(&self, state: &str) -> Value {
        let group = &self.group;
        let field = self.row.get(state);
        let properties = field.map_or(json!({}), |field| json!({ "field": field }));
        let of_field = json!({ "type": "object", "properties": properties });
        let spec = self.row.get(format!("{state}Spec")).unwrap_or(&of_field);
        let mut crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("things.{group}") },
            "spec": {
                "group": group,
                "names": { "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing" },
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "schema": {
                        "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } },
                    },
                }],
            },
        });
        let none = Map::new();
        let edit = self.row.get(format!("{state}Edit"));
        for (pointer, value) in edit.and_then(Value::as_object).unwrap_or(&none) {
            *crd.pointer_mut(pointer).expect("a valid pointer") = value.clone();
        }
        crd
    }

    fn object(&self, name: &str) -> Value {
        let spec = self.row.get("value");
        json!({
            "apiVersion": format!("{}/v1", self.group),
            "kind": "Thing",
            "metadata": { "name": name, "namespace": "default" },
            "spec": spec.map_or(json!({}), |value| json!({ "field": value })),
        })
    }
}

/// Runs a kubectl command on the objects. Returns each object that kubectl printed, by its group.
fn kubectl_on(server: &ApiServer, line: &str, objects: &[Value]) -> BTreeMap<String, Value> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    let run = server.kubectl(&format!("{line} -f - -o json"), &list.to_string());
    let printed = serde_json::Deserializer::from_str(&run.stdout).into_iter::<Value>();
    let printed = printed.map(|it| it.expect("JSON"));
    let items = printed.flat_map(|it| match it["items"].as_array() {
        Some(items) => items.clone(),
        None => vec![it],
    });
    let group = |it: &Value| {
        let group = it["spec"]["group"].as_str();
        let version = it["apiVersion"].as_str().expect("a version");
        let own = version.split('/').next().unwrap_or_default();
        group.unwrap_or(own).to_owned()
    };
    items.map(|it| (group(&it), it)).collect()
}

/// Applies the objects. Returns the groups of those that could be applied.
fn applied(server: &ApiServer, objects: &[Value]) -> Vec<String> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    let line = "apply --server-side --force-conflicts --validate=false -o name -f -";
    let run = server.kubectl(line, &list.to_string());
    // A line is `thing.GROUP/NAME`, or `customresourcedefinition.apiextensions.k8s.io/things.GROUP`.
    let group = |line: &str| {
        let name = match line.strip_prefix("customresourcedefinition.apiextensions.k8s.io/") {
            Some(name) => name,
            None => line.split('/').next().unwrap_or_default(),
        };
        let (_, group) = name.split_once('.').expect("a name with a group");
        group.to_owned()
    };
    run.stdout.lines().map(group).collect()
}

/// Applies the CRDs, and then that of `last`. Once the API server uses `last`, it uses all of them.
fn apply_crds(server: &ApiServer, crds: &[Value], last: &Row, is_new: bool) -> Vec<String> {
    let groups = applied(server, crds);
    let sentinel = last.crd(if is_new { "new" } else { "old" });
    applied(server, &[sentinel]);
    let object = last.object("sentinel").to_string();
    let start = Instant::now();
    let create = "create --dry-run=server --validate=false -f -";
    while (server.kubectl(create, &object).code() == Some(0)) == is_new {
        assert!(start.elapsed() < UPTAKE, "the CRDs are not in use");
        thread::sleep(Duration::from_millis(200));
    }
    groups
}

#[test]
fn an_api_server_agrees_with_the_table() {
    let server = api_server();
    let table: Value = serde_saphyr::from_str(TABLE).expect("the table");
    let rows = ["breaks", "safe"].into_iter().flat_map(|what| {
        let rows = table[what].as_array().expect("rows").iter();
        rows.filter(|row| row.get("server").is_some()).cloned()
    });
    let rows = rows.enumerate().map(|(number, row)| Row {
        group: format!("r{number}.changes.example.com"),
        row,
    });
    let rows: Vec<Row> = rows.collect();
    let last = Row {
        group: "sentinel.changes.example.com".to_owned(),
        row: json!({ "old": { "type": "string" }, "new": { "type": "string", "maxLength": 1 }, "value": "ab" }),
    };
    let all = |of: &dyn Fn(&Row) -> Value| rows.iter().map(of).collect::<Vec<_>>();

    apply_crds(server, &all(&|row| row.crd("old")), &last, false);
    let objects = all(&|row| row.object("old"));
    let create = "create --validate=false";
    let old = kubectl_on(server, create, &objects);
    for row in &rows {
        let created = old.get(&row.group).map(|it| &it["spec"]);
        let wanted = &row.object("old")["spec"];
        assert_eq!(created, Some(wanted), "{}", row.row["name"]);
    }

    let crds = apply_crds(server, &all(&|row| row.crd("new")), &last, true);
    let read = kubectl_on(server, "get", &objects);
    let mut touched: Vec<Value> = old.values().cloned().collect();
    for object in &mut touched {
        object["metadata"]["annotations"] = json!({ "touched": "yes" });
    }
    let updated = kubectl_on(server, "replace --validate=false", &touched);
    let again = applied(server, &objects);
    let created = kubectl_on(server, create, &all(&|row| row.object("new")));

    let mut wrong = Vec::new();
    for row in &rows {
        let spec = &row.object("old")["spec"];
        let has = |objects: &BTreeMap<String, Value>| {
            let found = objects.get(&row.group);
            found.is_some_and(|it| it["spec"] == *spec)
        };
        let works = [
            crds.contains(&row.group),
            has(&read),
            has(&updated),
            again.contains(&row.group),
            has(&created),
        ];
        let says = if works.contains(&false) {
            "breaks"
        } else {
            "works"
        };
        if says == "works" {
            let path = format!("/apis/{}/v1/namespaces/default/things/old", row.group);
            assert_eq!(server.get(&path)["spec"], *spec, "unchanged in the end");
        }
        if row.row["server"] != says {
            wrong.push(format!("{} {says}: {works:?}", row.row["name"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.len() >= 50, "{} rows", rows.len());
}
