//! What kbr refuses in the schemas of CRDs, checked with an API server.

use serde_json::{Value, json};

use crate::support::api_server::api_server;

const TABLE: &str = include_str!("../../src/import/documents/schemas.yaml");

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";

fn is_refused(number: usize, row: &Value) -> bool {
    let of_field = json!({
        "type": "object",
        "properties": { "spec": { "type": "object", "properties": { "field": row["schema"] } } },
    });
    let schema = row["schema"].get("whole").unwrap_or(&of_field);
    let group = format!("s{number}.schemas.example.com");
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group,
            "names": { "kind": "Thing", "plural": "things" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
            }],
        },
    });
    api_server().request("POST", CRDS, &crd).status >= 400
}

#[test]
fn an_api_server_agrees_about_schemas() {
    let rows: Vec<Value> = serde_saphyr::from_str(TABLE).expect("the table");
    let rows = rows.iter().enumerate();
    let wrong =
        rows.filter(|(number, row)| is_refused(*number, row) != row.get("refused").is_some());
    let wrong: Vec<String> = wrong.map(|(_, row)| row.to_string()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
