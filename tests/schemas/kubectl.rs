//! What users of kubectl see: three versions of a kind with a whole pod template, applied client-side and
//! explained with the doc comments of the source; a field that is null.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::crdgen::{Project, described};

/// A version of a kind.
macro_rules! fleet {
    ($module:ident, $version:literal) => {
        mod $module {
            use k8s_openapi::api::core::v1::PodTemplateSpec;
            use kube::CustomResource;
            use schemars::JsonSchema;
            use serde::{Deserialize, Serialize};

            /// Ships that sail together.
            #[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
            #[kube(group = "example.com", version = $version, kind = "Fleet", namespaced)]
            pub struct FleetSpec {
                /// Where they sail to.
                /// No port twice.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub port: Option<String>,
                /// What each of them carries.
                #[serde(default)]
                pub template: PodTemplateSpec,
            }
        }
    };
}

fleet!(v1, "v1");
fleet!(v2, "v2");
fleet!(v3, "v3");

fn fleet(name: &str, port: &Value) -> String {
    let metadata = json!({ "name": name, "namespace": "default" });
    let spec = json!({ "port": port });
    json!({ "apiVersion": "example.com/v1", "kind": "Fleet", "metadata": metadata, "spec": spec })
        .to_string()
}

#[test]
fn kubectl_applies_and_explains_three_versions() {
    let project = Project::of(&[
        described::<v1::Fleet>(),
        described::<v2::Fleet>(),
        described::<v3::Fleet>(),
    ]);
    project.kbr("manifests").success();
    let crd = project.crd("fleets").to_string();
    let cluster = Cluster::start();
    for word in ["created", "unchanged"] {
        let applied = cluster.kubectl(&["apply", "-f", "-"], &crd).success();
        let said = (applied.stdout.trim(), applied.stderr.as_str());
        let crd = "customresourcedefinition.apiextensions.k8s.io/fleets.example.com";
        assert_eq!(said, (format!("{crd} {word}").as_str(), ""));
    }
    let established = [
        "wait",
        "--for=condition=Established",
        "crd/fleets.example.com",
    ];
    cluster.kubectl(&established, "").success();

    for (path, words) in [
        ("fleets", "Ships that sail together."),
        ("fleets.spec.port", "Where they sail to. No port twice."),
        ("fleets.spec.template", "What each of them carries."),
    ] {
        for version in ["v1", "v2", "v3"] {
            let version = format!("--api-version=example.com/{version}");
            let explained = explained(&cluster, &[path, &version]);
            let text: Vec<&str> = explained.split_whitespace().collect();
            assert!(text.join(" ").contains(words), "{explained}");
        }
    }
    null_is_not_a_value(&cluster);
}

/// What `kubectl explain` prints, once the API server has published the schema of a new CRD.
fn explained(cluster: &Cluster, args: &[&str]) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let run = cluster.kubectl(&[&["explain"], args].concat(), "");
        if run.code() == Some(0) {
            return run.stdout;
        }
        assert!(Instant::now() < deadline, "{run:?}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// For a field that may be omitted, but not be null.
fn null_is_not_a_value(cluster: &Cluster) {
    let object = fleet("one", &Value::Null);
    cluster.kubectl(&["create", "-f", "-"], &object).success();
    let stored = cluster
        .kubectl(&["get", "fleet", "one", "-o", "json"], "")
        .success();
    let stored: Value = serde_json::from_str(&stored.stdout).expect("JSON");
    assert_eq!(stored["spec"].get("port"), None, "{stored}");

    let applied = cluster.kubectl(
        &["apply", "--server-side", "-f", "-"],
        &fleet("two", &Value::Null),
    );
    let refused = applied.failure().stderr;
    assert!(refused.contains("spec.port"), "{refused}");
}
